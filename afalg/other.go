//go:build !linux

package afalg

import (
	"crypto/cipher"
	"fmt"
	"runtime"
)

// AEAD is an AEAD of the Linux kernel. There is none here.
type AEAD struct{ cipher.AEAD }

// New returns an error here: AF_ALG belongs to Linux.
func New(Algorithm, []byte) (*AEAD, error) {
	return nil, fmt.Errorf("%w: AF_ALG belongs to Linux, and this is %s", ErrUnsupported, runtime.GOOS)
}

// Close does nothing here.
func (a *AEAD) Close() error { return nil }

// Driver returns "" here.
func (a *AEAD) Driver() string { return "" }

// InProcess returns 0 here.
func (a *AEAD) InProcess() uint64 { return 0 }

// Available reports both algorithms as not usable here.
func Available() []Support {
	var s []Support
	for _, a := range []Algorithm{ChaCha20Poly1305, AESGCM} {
		s = append(s, Support{Algorithm: a, Why: "AF_ALG belongs to Linux, and this is " + runtime.GOOS})
	}
	return s
}

// Selections returns nil here.
func Selections() []Selection { return nil }
