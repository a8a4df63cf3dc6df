//go:build !linux

package afalg

import (
	"crypto/cipher"
	"fmt"
	"runtime"
)

// AEAD is an AEAD of the Linux kernel. This system has none.
type AEAD struct{ cipher.AEAD }

// New always returns an error on this system, because AF_ALG exists only on Linux.
func New(Algorithm, []byte) (*AEAD, error) {
	return nil, fmt.Errorf("%w: AF_ALG belongs to Linux, and this is %s", ErrUnsupported, runtime.GOOS)
}

// Close does nothing on this system.
func (a *AEAD) Close() error { return nil }

// Driver returns "" on this system.
func (a *AEAD) Driver() string { return "" }

// InProcess returns 0 on this system.
func (a *AEAD) InProcess() uint64 { return 0 }

// Available reports both algorithms as not usable on this system.
func Available() []Support {
	var s []Support
	for _, a := range []Algorithm{ChaCha20Poly1305, AESGCM} {
		s = append(s, Support{Algorithm: a, Why: "AF_ALG belongs to Linux, and this is " + runtime.GOOS})
	}
	return s
}

// Selections returns nil on this system.
func Selections() []Selection { return nil }
