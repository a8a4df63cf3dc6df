package aead

import "github.com/sealane/sealane/internal/kernel"

// The ciphers as values, for programs with very many keys that choose where each lies, beside a packet's other data. A zero value holds no key and must not be used; assigning it wipes the key.
type (
	ChaCha20Poly1305 = chaCha20Poly1305
	AESGCM           = aesGCM
)

// SetChaCha20Poly1305 gives k a key, as [NewChaCha20Poly1305] does.
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

// SetAESGCM gives k a key for nonces of 12 bytes and tags of 16, as [NewAESGCM] does.
func SetAESGCM(k *AESGCM, level kernel.Level, key []byte) error {
	if err := gcmKeyMistake(key); err != nil {
		return err
	}
	*k = AESGCM{level: level, usual: level, nonceSize: nonceSize, tagSize: tagSize}
	kernel.AESGCMSetup(level, &k.key, key)
	return nil
}
