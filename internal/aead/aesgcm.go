package aead

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/subtle"
	"encoding/binary"
	"errors"
	"unsafe"

	"github.com/sealane/sealane/internal/alias"
	"github.com/sealane/sealane/internal/kernel"
	"github.com/sealane/sealane/internal/packet"
)

const (
	gcmNonceSize  = 12
	gcmMinTagSize = 12

	// The 32-bit block counter starts at 2 for the text, and must not return to J0 (NIST SP 800-38D, section 5.2.1.1).
	gcmMaxText = 1<<36 - 32
)

// The messages are those of crypto/cipher.
const (
	gcmOverlapsInput = "crypto/cipher: invalid buffer overlap of output and input"
	gcmOverlapsAD    = "crypto/cipher: invalid buffer overlap of output and additional data"
	gcmBadNonce      = "crypto/cipher: incorrect nonce length given to GCM"
	gcmTooLarge      = "crypto/cipher: message too large for GCM"
)

var (
	errGCMOpen      = errors.New("cipher: message authentication failed")
	errGCMNonceSize = errors.New("cipher: the nonce can't have zero length")
	errGCMTagSize   = errors.New("cipher: incorrect tag size given to GCM")
	errGCMFIPS      = errors.New("aesgcm: use of AES-GCM of this module is not allowed in FIPS 140-only mode")
	errGCMSelfTest  = errors.New("aesgcm: no implementation passes its known-answer test")
)

type aesGCM struct {
	key       kernel.GCMKey // first, to align with cache lines
	nonceSize int
	tagSize   uint8
	level     kernel.Level
	usual     kernel.Level // equal to level if nonces and tags have the usual sizes, otherwise 0
}

// FIPS140Only reports whether the program must refuse algorithms that FIPS 140-3 does not approve or that no validated
// module implements.
func FIPS140Only() bool { return fips140Only() }

// AESGCMLevel returns the level that this process uses.
func AESGCMLevel() (kernel.Level, error) {
	level, ok := kernel.AESGCMLevels.Choose()
	if !ok {
		return 0, errGCMSelfTest
	}
	return kernel.Level(level), nil
}

// NewAESGCM returns AES-GCM (NIST SP 800-38D) at a level whose features the CPU has.
func NewAESGCM(level kernel.Level, key []byte, nonceBytes, tagBytes int) (cipher.AEAD, error) {
	if err := gcmKeyMistake(key); err != nil {
		return nil, err
	}
	if tagBytes < gcmMinTagSize || tagBytes > tagSize {
		return nil, errGCMTagSize
	}
	if nonceBytes <= 0 {
		return nil, errGCMNonceSize
	}
	k := &aesGCM{level: level, nonceSize: nonceBytes, tagSize: uint8(tagBytes)}
	if nonceBytes == gcmNonceSize && tagBytes == tagSize {
		k.usual = level
	}
	kernel.AESGCMSetup(level, &k.key, key)
	return k, nil
}

func gcmKeyMistake(key []byte) error {
	if fips140Only() {
		return errGCMFIPS
	}
	switch len(key) {
	case 16, 24, 32:
		return nil
	}
	return aes.KeySizeError(len(key))
}

func (k *aesGCM) NonceSize() int { return k.nonceSize }
func (k *aesGCM) Overhead() int  { return int(k.tagSize) }

// Implementation returns the name of the level that k uses.
func (k *aesGCM) Implementation() string { return kernel.AESGCMLevels.Name(uint8(k.level)) }

// Seal handles nearly all packets itself, in few instructions, because every packet pays for them.
func (k *aesGCM) Seal(dst, nonce, plaintext, additionalData []byte) []byte {
	n := len(plaintext)
	if k.usual == 0 || len(nonce) != gcmNonceSize || uint(n)|uint(len(additionalData)) > packet.PartBytes {
		return k.sealAny(dst, nonce, plaintext, additionalData)
	}
	ret := extend(dst, n+tagSize)
	out := unsafe.Add(unsafe.Pointer(unsafe.SliceData(ret)), len(dst))
	in, ad := unsafe.Pointer(unsafe.SliceData(plaintext)), unsafe.Pointer(unsafe.SliceData(additionalData))
	if n != 0 && out != in && alias.Touch(out, n+tagSize, in, n) {
		panic(gcmOverlapsInput)
	}
	if len(additionalData) != 0 && alias.Touch(out, n+tagSize, ad, len(additionalData)) {
		panic(gcmOverlapsAD)
	}
	var args kernel.PacketArgs
	args.Out, args.In, args.Bytes, args.Total = out, in, uint64(n), uint64(n)
	args.AD, args.ADBytes = ad, uint64(len(additionalData))
	args.Key, args.Nonce = unsafe.Pointer(&k.key), unsafe.Pointer(unsafe.SliceData(nonce))
	args.Flags = kernel.FlagFirst | kernel.FlagLast | kernel.FlagNonce
	args.Tag = unsafe.Add(out, n)
	kernel.AESGCM(k.usual, &args)
	return ret
}

// sealAny seals packets that Seal does not handle: other nonce and tag sizes, long packets, mistakes.
//
//go:noinline
func (k *aesGCM) sealAny(dst, nonce, plaintext, additionalData []byte) []byte {
	if len(nonce) != k.nonceSize {
		panic(gcmBadNonce)
	}
	n := len(plaintext)
	if uint64(n) > gcmMaxText {
		panic(gcmTooLarge)
	}
	ret := extend(dst, n+int(k.tagSize))
	out := ret[len(dst):]
	checkGCMOverlap(out, plaintext, additionalData)
	var tag [tagSize]byte
	k.run(&tag, out, plaintext, nonce, additionalData, n, 0)
	copy(out[n:], tag[:])
	return ret
}

func (k *aesGCM) Open(dst, nonce, ciphertext, additionalData []byte) ([]byte, error) {
	n := len(ciphertext) - tagSize
	if k.usual == 0 || len(nonce) != gcmNonceSize || n <= 0 || uint(n)|uint(len(additionalData)) > packet.PartBytes {
		return k.openAny(dst, nonce, ciphertext, additionalData)
	}
	ret := extend(dst, n)
	out := unsafe.Add(unsafe.Pointer(unsafe.SliceData(ret)), len(dst))
	in, ad := unsafe.Pointer(unsafe.SliceData(ciphertext)), unsafe.Pointer(unsafe.SliceData(additionalData))
	if out != in && alias.Touch(out, n, in, n+tagSize) {
		panic(gcmOverlapsInput)
	}
	if len(additionalData) != 0 && alias.Touch(out, n, ad, len(additionalData)) {
		panic(gcmOverlapsAD)
	}
	var tag [2]uint64
	var args kernel.PacketArgs
	args.Out, args.In, args.Bytes, args.Total = out, in, uint64(n), uint64(n)
	args.AD, args.ADBytes = ad, uint64(len(additionalData))
	args.Key, args.Nonce = unsafe.Pointer(&k.key), unsafe.Pointer(unsafe.SliceData(nonce))
	args.Flags = kernel.FlagFirst | kernel.FlagLast | kernel.FlagNonce | kernel.FlagOpen
	args.Tag = unsafe.Pointer(&tag)
	kernel.AESGCM(k.usual, &args)
	came := ciphertext[n:]
	differ := (tag[0] ^ binary.NativeEndian.Uint64(came)) | (tag[1] ^ binary.NativeEndian.Uint64(came[8:]))
	tag = [2]uint64{}
	if differ != 0 {
		clear(ret[len(dst):])
		return nil, errGCMOpen
	}
	return ret, nil
}

// openAny opens packets that Open does not handle: other nonce and tag sizes, empty and long packets, mistakes.
//
//go:noinline
func (k *aesGCM) openAny(dst, nonce, ciphertext, additionalData []byte) ([]byte, error) {
	if len(nonce) != k.nonceSize {
		panic(gcmBadNonce)
	}
	n := len(ciphertext) - int(k.tagSize)
	if n < 0 || uint64(n) > gcmMaxText {
		return nil, errGCMOpen
	}
	ret := extend(dst, n)
	out := ret[len(dst):]
	checkGCMOverlap(out, ciphertext, additionalData)
	var tag [tagSize]byte
	k.run(&tag, out, ciphertext, nonce, additionalData, n, kernel.FlagOpen)
	same := subtle.ConstantTimeCompare(tag[:k.tagSize], ciphertext[n:])
	tag = [tagSize]byte{}
	if same == 0 {
		clear(out)
		return nil, errGCMOpen
	}
	return ret, nil
}

// run processes a packet with a nonce of any size, in parts if it is long, and computes its tag.
func (k *aesGCM) run(tag *[tagSize]byte, out, in, nonce, ad []byte, n int, direction uint64) {
	var args kernel.PacketArgs
	args.Out, args.In = unsafe.Pointer(unsafe.SliceData(out)), unsafe.Pointer(unsafe.SliceData(in))
	args.Bytes, args.Total = uint64(n), uint64(n)
	args.AD, args.ADBytes = unsafe.Pointer(unsafe.SliceData(ad)), uint64(len(ad))
	args.Key, args.Nonce, args.Tag = unsafe.Pointer(&k.key), unsafe.Pointer(unsafe.SliceData(nonce)), unsafe.Pointer(tag)
	args.Flags = kernel.FlagFirst | kernel.FlagLast | kernel.FlagNonce | direction
	if args.Bytes|args.ADBytes <= packet.PartBytes && k.nonceSize == gcmNonceSize {
		kernel.AESGCM(k.level, &args)
	} else {
		packet.AESGCM(k.level, &args, k.nonceSize)
	}
}

func checkGCMOverlap(out, in, ad []byte) {
	if alias.Inexact(out, in) {
		panic(gcmOverlapsInput)
	}
	if alias.Overlap(out, ad) {
		panic(gcmOverlapsAD)
	}
}
