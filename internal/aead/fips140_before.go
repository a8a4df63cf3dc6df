//go:build !go1.26

package aead

import (
	"crypto/aes"
	"crypto/cipher"
	"sync"
)

// fips140Only says whether the program was told to refuse algorithms that FIPS 140-3 does not approve. Go tells it from
// 1.26 on. Before, its own AES-GCM with nonces of the caller's, which is the same question, gives the answer: it is refused
// in that mode, which a process is started in, and in no other.
var fips140Only = sync.OnceValue(func() bool {
	block, err := aes.NewCipher(make([]byte, 16))
	if err == nil {
		_, err = cipher.NewGCM(block)
	}
	return err != nil
})
