package quic

import (
	"github.com/sealane/sealane/internal/aead"
)

// Seal encrypts and authenticates the payload of one packet, and appends it with its tag, 16 bytes longer, to dst (RFC 9001, 5.3).
// header is the packet's as it is without protection, its packet number at the end, which are the low bytes of number. It is for QUIC
// implementations that protect payloads and mask headers apart ([Keys.Mask]); [Protect] does both, for many packets at once and in less
// time. dst may be payload[:0], to work in place; nothing is allocated if it has the capacity. Every number may be used once under one
// key.
//
// Seal panics, with nothing written, if the output overlaps header, or payload elsewhere than exactly at its start. If number is above
// 2^62 - 1, or k is of no use, the error is ErrNumber or another one, and nothing is written.
func (k *Keys) Seal(dst []byte, number uint64, payload, header []byte) (sealed []byte, err error) {
	var nonce [12]byte
	if err := k.payloadNonce(&nonce, number); err != nil {
		return nil, err
	}
	switch a := k.aead.(type) { // calls of known types let the nonce stay on the stack
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

// Open decrypts and authenticates what [Keys.Seal] has made, and appends the payload to dst. dst may be sealed[:0], to work in place. If
// the packet is not authentic, the error is ErrAuthentication, and the bytes that the payload would have filled are zeroes; otherwise
// errors and panics are those of Seal. Which of a connection's Keys are the packet's, its key phase and number, is the caller's to find
// out, in a time that does not tell (RFC 9001, 9.5); [Unprotect] does.
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
