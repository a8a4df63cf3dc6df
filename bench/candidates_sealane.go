package main

import (
	"crypto/cipher"

	"github.com/sealane/sealane/aesgcm"
	"github.com/sealane/sealane/chacha20poly1305"
	"github.com/sealane/sealane/internal/aead"
	"github.com/sealane/sealane/internal/dispatch"
	"github.com/sealane/sealane/internal/kernel"
	levels "github.com/sealane/sealane/internal/report"
)

func sealaneCandidates() []goCandidate {
	return levelCandidates(&kernel.ChaCha20Poly1305Levels, "chacha20poly1305.New", chacha20poly1305.New,
		func(level uint8, key []byte) (cipher.AEAD, error) {
			return aead.NewChaCha20Poly1305(kernel.Level(level), key)
		})
}

func sealaneGCMCandidates() []goCandidate {
	return levelCandidates(&kernel.AESGCMLevels, "aesgcm.New", aesgcm.New,
		func(level uint8, key []byte) (cipher.AEAD, error) {
			return aead.NewAESGCM(kernel.Level(level), key, aesgcm.NonceSize, aesgcm.Overhead)
		})
}

// levelCandidates lists the levels that this CPU runs, best first. The chosen one uses the public package.
func levelCandidates(table *dispatch.Table, name string, public func([]byte) (cipher.AEAD, error),
	at func(level uint8, key []byte) (cipher.AEAD, error)) []goCandidate {
	var all []goCandidate
	for _, r := range levels.Levels(table) {
		if !r.Passed {
			continue
		}
		c := goCandidate{
			candidate{Name: "sealane " + r.Name, Library: "sealane", Version: "this tree", Level: r.Name,
				How: "level " + r.Name},
			func(key []byte) (cipher.AEAD, error) { return at(r.Level, key) }, r.Status == levels.Chosen,
		}
		if c.chosen {
			c.How, c.New = name, public
		}
		all = append(all, c)
	}
	return all
}
