package aead

import "github.com/sealane/sealane/internal/kernel"

// The ciphers as values, for programs with very many keys that place each key next to a packet's other data. A zero
// value holds no key and must not be used; assigning it wipes the key.
type (
	ChaCha20Poly1305 = chaCha20Poly1305
	AESGCM           = aesGCM
)

// SetChaCha20Poly1305 sets the key of k, like [NewChaCha20Poly1305].
func SetChaCha20Poly1305(k *ChaCha20Poly1305, level kernel.Level, key []byte) error {
	if fips140Only() {
		return errFIPS
	}
	if len(key) != keySize {
		return errKeyLength
	}
	k.key, k.level = [keySize]byte(key), level
	return nil
}

// SetAESGCM sets the key of k for 12-byte nonces and 16-byte tags, like [NewAESGCM].
func SetAESGCM(k *AESGCM, level kernel.Level, key []byte) error {
	if err := gcmKeyMistake(key); err != nil {
		return err
	}
	*k = AESGCM{level: level, usual: level, nonceSize: nonceSize, tagSize: tagSize}
	kernel.AESGCMSetup(level, &k.key, key)
	return nil
}
