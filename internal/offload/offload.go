// Package offload is where a package that seals packets outside the process, afalg, is asked for a cipher. It keeps the
// packages of the ciphers free of anything that belongs to one operating system.
package offload

import (
	"crypto/cipher"
	"sync"

	"github.com/sealane/sealane/internal/dispatch"
)

// Variable has the value of SEALANE_AFALG: "auto" asks for that package. "off" and "" do not, and other values mean nothing.
var Variable = sync.OnceValue(func() string { return dispatch.Getenv("SEALANE_AFALG") })

// New returns a cipher to use in place of inProcess, which has the same key, or inProcess itself. The primitive is
// "chacha20poly1305" or "aesgcm". It is nil unless a package has set it, which it does when it is initialized.
var New func(primitive string, key []byte, inProcess cipher.AEAD) cipher.AEAD
