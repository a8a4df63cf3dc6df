// Package aead implements cipher.AEAD with the packet kernels. It checks arguments, splits long inputs into parts,
// compares tags and clears the output of a failed Open. A key contains its level, so all levels can be used in one
// process.
package aead

import (
	"crypto/cipher"
	"encoding/binary"
	"errors"
	"unsafe"

	"github.com/sealane/sealane/internal/alias"
	"github.com/sealane/sealane/internal/kernel"
	"github.com/sealane/sealane/internal/packet"
)

const (
	keySize    = 32
	nonceSize  = 12
	nonceSizeX = 24
	tagSize    = 16

	// The 32-bit block counter starts at 1 (RFC 8439, section 2.8).
	maxText = 1<<38 - 64
)

const (
	overlapsInput = "chacha20poly1305: invalid buffer overlap of output and input"
	overlapsAD    = "chacha20poly1305: invalid buffer overlap of output and additional data"
)

var (
	errOpen      = errors.New("chacha20poly1305: message authentication failed")
	errKeyLength = errors.New("chacha20poly1305: bad key length")
	errFIPS      = errors.New("chacha20poly1305: use of ChaCha20Poly1305 is not allowed in FIPS 140-only mode")
	errSelfTest  = errors.New("chacha20poly1305: no implementation passes its known-answer test")
)

type chaCha20Poly1305 struct {
	key   [keySize]byte
	level kernel.Level
}

type xChaCha20Poly1305 struct{ chaCha20Poly1305 }

// ChaCha20Poly1305Level returns the level that this process uses.
func ChaCha20Poly1305Level() (kernel.Level, error) {
	level, ok := kernel.ChaCha20Poly1305Levels.Choose()
	if !ok {
		return 0, errSelfTest
	}
	return kernel.Level(level), nil
}

// NewChaCha20Poly1305 returns ChaCha20-Poly1305 (RFC 8439) at a level whose features the CPU has.
func NewChaCha20Poly1305(level kernel.Level, key []byte) (cipher.AEAD, error) {
	k := new(chaCha20Poly1305)
	if err := SetChaCha20Poly1305(k, level, key); err != nil {
		return nil, err
	}
	return k, nil
}

// NewXChaCha20Poly1305 returns XChaCha20-Poly1305 (draft-irtf-cfrg-xchacha-03) at a level whose features the CPU has.
func NewXChaCha20Poly1305(level kernel.Level, key []byte) (cipher.AEAD, error) {
	k := new(xChaCha20Poly1305)
	if err := SetChaCha20Poly1305(&k.chaCha20Poly1305, level, key); err != nil {
		return nil, err
	}
	return k, nil
}

func (k *chaCha20Poly1305) NonceSize() int { return nonceSize }
func (k *chaCha20Poly1305) Overhead() int  { return tagSize }

// Implementation returns the name of the level that k uses.
func (k *chaCha20Poly1305) Implementation() string {
	return kernel.ChaCha20Poly1305Levels.Name(uint8(k.level))
}

func (k *chaCha20Poly1305) Seal(dst, nonce, plaintext, additionalData []byte) []byte {
	if len(nonce) != nonceSize {
		panic("chacha20poly1305: bad nonce length passed to Seal")
	}
	return seal(k.level, &k.key, dst, (*[nonceSize]byte)(nonce), plaintext, additionalData)
}

func (k *chaCha20Poly1305) Open(dst, nonce, ciphertext, additionalData []byte) ([]byte, error) {
	if len(nonce) != nonceSize {
		panic("chacha20poly1305: bad nonce length passed to Open")
	}
	return open(k.level, &k.key, dst, (*[nonceSize]byte)(nonce), ciphertext, additionalData)
}

func (k *xChaCha20Poly1305) NonceSize() int { return nonceSizeX }

// A oneTime is the ChaCha20-Poly1305 key and nonce for one XChaCha20-Poly1305 packet.
type oneTime struct {
	_     [0]uint64 // aligns it, so that an array of them is zeroed in words
	key   [keySize]byte
	nonce [nonceSize]byte
}

func (o *oneTime) derive(key *[keySize]byte, nonce *[nonceSizeX]byte) {
	kernel.HChaCha20(&o.key, key, (*[16]byte)(nonce[:16]))
	copy(o.nonce[4:], nonce[16:])
}

// wipe is deferred, because the code after derive may panic.
func (o *oneTime) wipe() { o.key = [keySize]byte{} }

func (k *xChaCha20Poly1305) Seal(dst, nonce, plaintext, additionalData []byte) []byte {
	if len(nonce) != nonceSizeX {
		panic("chacha20poly1305: bad nonce length passed to Seal")
	}
	var o oneTime
	defer o.wipe()
	o.derive(&k.key, (*[nonceSizeX]byte)(nonce))
	return seal(k.level, &o.key, dst, &o.nonce, plaintext, additionalData)
}

func (k *xChaCha20Poly1305) Open(dst, nonce, ciphertext, additionalData []byte) ([]byte, error) {
	if len(nonce) != nonceSizeX {
		panic("chacha20poly1305: bad nonce length passed to Open")
	}
	var o oneTime
	defer o.wipe()
	o.derive(&k.key, (*[nonceSizeX]byte)(nonce))
	return open(k.level, &o.key, dst, &o.nonce, ciphertext, additionalData)
}

func seal(level kernel.Level, key *[keySize]byte, dst []byte, nonce *[nonceSize]byte, plaintext, ad []byte) []byte {
	n := len(plaintext)
	if uint64(n) > maxText {
		panic("chacha20poly1305: plaintext too large")
	}
	ret := extend(dst, n+tagSize)
	out := ret[len(dst):]
	if alias.Inexact(out, plaintext) {
		panic(overlapsInput)
	}
	if alias.Overlap(out, ad) {
		panic(overlapsAD)
	}
	// Fields are set one by one: a composite literal would be built elsewhere and copied with loads that stall on its
	// stores.
	var args kernel.PacketArgs
	args.Out = unsafe.Pointer(unsafe.SliceData(out))
	args.In = unsafe.Pointer(unsafe.SliceData(plaintext))
	args.Bytes = uint64(n)
	args.AD = unsafe.Pointer(unsafe.SliceData(ad))
	args.ADBytes = uint64(len(ad))
	args.Key = unsafe.Pointer(key)
	args.Nonce = unsafe.Pointer(nonce)
	args.Tag = unsafe.Pointer(&out[n])
	args.Total = uint64(n)
	args.Flags = kernel.FlagFirst | kernel.FlagLast
	if (args.Bytes | args.ADBytes) > packet.PartBytes {
		packet.ChaCha20Poly1305(level, &args)
	} else {
		kernel.ChaCha20Poly1305(level, &args)
	}
	return ret
}

func open(level kernel.Level, key *[keySize]byte, dst []byte, nonce *[nonceSize]byte, ciphertext, ad []byte) ([]byte, error) {
	n := len(ciphertext) - tagSize
	if n < 0 {
		return nil, errOpen
	}
	if uint64(n) > maxText {
		panic("chacha20poly1305: ciphertext too large")
	}
	ret := extend(dst, n)
	out := ret[len(dst):]
	if alias.Inexact(out, ciphertext[:n]) {
		panic(overlapsInput)
	}
	if alias.Overlap(out, ad) {
		panic(overlapsAD)
	}
	// Read the tag first: out may overwrite it, if out starts where the ciphertext ends.
	tag0, tag1 := binary.NativeEndian.Uint64(ciphertext[n:]), binary.NativeEndian.Uint64(ciphertext[n+8:])
	var tag [2]uint64
	var args kernel.PacketArgs
	args.Out = unsafe.Pointer(unsafe.SliceData(out))
	args.In = unsafe.Pointer(unsafe.SliceData(ciphertext))
	args.Bytes = uint64(n)
	args.AD = unsafe.Pointer(unsafe.SliceData(ad))
	args.ADBytes = uint64(len(ad))
	args.Key = unsafe.Pointer(key)
	args.Nonce = unsafe.Pointer(nonce)
	args.Tag = unsafe.Pointer(&tag)
	args.Total = uint64(n)
	args.Flags = kernel.FlagFirst | kernel.FlagLast | kernel.FlagOpen
	if (args.Bytes | args.ADBytes) > packet.PartBytes {
		packet.ChaCha20Poly1305(level, &args)
	} else {
		kernel.ChaCha20Poly1305(level, &args)
	}
	differ := (tag[0] ^ tag0) | (tag[1] ^ tag1)
	tag = [2]uint64{}
	if differ != 0 {
		clear(out)
		return nil, errOpen
	}
	return ret, nil
}

// extend returns dst with n more bytes, in its own array if they fit.
func extend(dst []byte, n int) []byte {
	total := len(dst) + n
	if total <= cap(dst) {
		return dst[:total]
	}
	return grow(dst, total)
}

//go:noinline
func grow(dst []byte, total int) []byte {
	grown := make([]byte, total)
	copy(grown, dst)
	return grown
}
