//go:build !go1.26

package aead

import (
	"crypto/aes"
	"crypto/cipher"
	"sync"
)

// fips140Only reports whether the program must refuse algorithms that FIPS 140-3 does not approve. Go reports this
// directly since 1.26. Before, only that mode refuses the standard library's AES-GCM with caller-chosen nonces. A
// process cannot change the mode after its start.
var fips140Only = sync.OnceValue(func() bool {
	block, err := aes.NewCipher(make([]byte, 16))
	if err == nil {
		_, err = cipher.NewGCM(block)
	}
	return err != nil
})
