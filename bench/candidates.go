package main

import (
	"crypto/aes"
	"crypto/cipher"
	"runtime"
	"runtime/debug"
	"strings"

	xcrypto "golang.org/x/crypto/chacha20poly1305"
)

// A goCandidate is an implementation that is linked into this program.
type goCandidate struct {
	candidate
	New    func(key []byte) (cipher.AEAD, error)
	chosen bool // the level that programs get on this CPU
}

// goCandidates lists first the peers, then sealane's levels, best first.
func goCandidates() []goCandidate {
	if alg.Name != "ChaCha20-Poly1305" {
		return append([]goCandidate{{
			candidate{Name: "standard library", Library: "standard library", Version: runtime.Version(),
				How: "cipher.NewGCM of aes.NewCipher"},
			newStandardGCM, false,
		}}, sealaneGCMCandidates()...)
	}
	all := []goCandidate{{
		candidate{Name: "x/crypto", Library: "x/crypto", Version: moduleVersion("golang.org/x/crypto"),
			How: "chacha20poly1305.New"},
		xcrypto.New, false,
	}}
	all = append(all, platformCandidates()...)
	return append(all, sealaneCandidates()...)
}

func newStandardGCM(key []byte) (cipher.AEAD, error) {
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	return cipher.NewGCM(block)
}

func moduleVersion(path string) string {
	info, _ := debug.ReadBuildInfo()
	if info == nil {
		return "unknown"
	}
	for _, m := range info.Deps {
		if m.Path == path {
			return strings.TrimPrefix(m.Version, "v")
		}
	}
	return "unknown"
}
