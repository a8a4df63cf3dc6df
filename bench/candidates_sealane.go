package main

import (
	"crypto/cipher"

	"github.com/sealane/sealane/chacha20poly1305"
	"github.com/sealane/sealane/internal/aead"
	"github.com/sealane/sealane/internal/dispatch"
	"github.com/sealane/sealane/internal/kernel"
)

// sealaneCandidates lists the levels that this CPU runs, best first. The chosen one goes through the public package.
func sealaneCandidates() []goCandidate {
	var all []goCandidate
	for _, r := range kernel.ChaCha20Poly1305Levels.Report() {
		if !r.Passed {
			continue
		}
		c := goCandidate{
			candidate{Name: "sealane " + r.Name, Library: "sealane", Version: "this tree", Level: r.Name,
				How: "level " + r.Name},
			func(key []byte) (cipher.AEAD, error) {
				return aead.NewChaCha20Poly1305(kernel.Level(r.Level), key)
			},
		}
		if r.Status == dispatch.Chosen {
			c.How, c.New = "chacha20poly1305.New", chacha20poly1305.New
		}
		all = append(all, c)
	}
	return all
}
