package quic

import (
	"github.com/sealane/sealane/internal/aead"
)

// Seal encrypts and authenticates the payload of one packet, and appends the ciphertext and its 16-byte tag to dst (RFC
// 9001, section 5.3). header is the unprotected packet header, which ends with the packet number, the low bytes of
// number. Seal is for QUIC implementations that protect payloads and headers separately ([Keys.Mask]); [Protect] does
// both, faster and for many packets at once. To work in place, pass payload[:0] as dst. Nothing is allocated if dst has
// enough capacity. Use each number once per key.
//
// Seal panics, with nothing written, if the output overlaps header, or overlaps payload without starting at the same
// byte. If number is above 2^62 - 1 or k is invalid, it returns ErrNumber or another error, and writes nothing.
func (k *Keys) Seal(dst []byte, number uint64, payload, header []byte) (sealed []byte, err error) {
	var nonce [12]byte
	if err := k.payloadNonce(&nonce, number); err != nil {
		return nil, err
	}
	switch a := k.aead.(type) { // with concrete types, the nonce stays on the stack
	case *aead.AESGCM:
		sealed = a.Seal(dst, nonce[:], payload, header)
	case *aead.ChaCha20Poly1305:
		sealed = a.Seal(dst, nonce[:], payload, header)
	default:
		sealed = k.aead.Seal(dst, append([]byte(nil), nonce[:]...), payload, header)
	}
	nonce = [12]byte{}
	return sealed, nil
}

// Open verifies and decrypts the output of [Keys.Seal], and appends the payload to dst. To work in place, pass
// sealed[:0] as dst. If the packet is not authentic, Open returns ErrAuthentication, and the bytes that the payload
// would have filled are zeroes. Other errors and panics are those of Seal.
//
// The caller determines the packet number and the Keys of the packet's key phase. This must take a time that does not
// reveal them (RFC 9001, section 9.5). [Unprotect] does this itself.
func (k *Keys) Open(dst []byte, number uint64, sealed, header []byte) (payload []byte, err error) {
	var nonce [12]byte
	if err := k.payloadNonce(&nonce, number); err != nil {
		return nil, err
	}
	switch a := k.aead.(type) {
	case *aead.AESGCM:
		payload, err = a.Open(dst, nonce[:], sealed, header)
	case *aead.ChaCha20Poly1305:
		payload, err = a.Open(dst, nonce[:], sealed, header)
	default:
		payload, err = k.aead.Open(dst, append([]byte(nil), nonce[:]...), sealed, header)
	}
	nonce = [12]byte{}
	if err != nil {
		return nil, ErrAuthentication
	}
	return payload, nil
}

func (k *Keys) payloadNonce(to *[12]byte, number uint64) error {
	if !k.made() {
		return errNoKeys
	}
	if number > maxNumber {
		return ErrNumber
	}
	k.nonce(to, number)
	return nil
}
