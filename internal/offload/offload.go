// Package offload lets a package that seals packets outside the process, afalg, provide a cipher. So the cipher
// packages do not depend on code for a single operating system.
package offload

import (
	"crypto/cipher"
	"sync"

	"github.com/sealane/sealane/internal/dispatch"
)

// Variable returns the value of SEALANE_AFALG: "auto" asks for that package, "off" and "" do not, and other values are
// invalid.
var Variable = sync.OnceValue(func() string { return dispatch.Getenv("SEALANE_AFALG") })

// New returns a cipher that replaces inProcess, which has the same key, or returns inProcess itself. primitive is
// "chacha20poly1305" or "aesgcm". New is nil unless a package sets it during its initialization.
var New func(primitive string, key []byte, inProcess cipher.AEAD) cipher.AEAD
