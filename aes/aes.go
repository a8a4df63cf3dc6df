// Package aes implements AES (FIPS 197): single blocks and the unauthenticated modes CTR, CBC and XTS, and also CCM,
// CMAC and GCM-SIV.
//
// [NewCipher] replaces NewCipher of crypto/aes. Its result implements the interfaces that package crypto/cipher looks
// for, so [cipher.NewCTR], [cipher.NewCBCEncrypter], [cipher.NewCBCDecrypter] and [cipher.NewGCM] use the assembly of
// this module. One kernel processes a whole text. The first key of the process selects the kernel for the CPU, after a
// known-answer test. The environment variable SEALANE_CPU limits the choice, and SEALANE_ASM=0 forces portable code.
// The code is constant-time on every CPU, including those without AES instructions: secrets never index a table.
//
// CTR, CBC and XTS do not detect modified text, and with CTR and CBC an attacker can change it in a chosen way. For
// packets, files and messages use packages aesgcm or chacha20poly1305. CTR and CBC are for protocols and formats that
// require them and authenticate by other means, and XTS is for storage sectors.
//
// As in package crypto/cipher, the caller handles CBC padding. If a sender learns, from an error or from timing, that
// the padding of unauthenticated text was wrong, the sender can decrypt (Vaudenay 2002). Verify a MAC over the
// ciphertext first. New designs should not use CBC.
package aes

import (
	"crypto/aes"
	"crypto/cipher"
	"errors"
	"unsafe"

	"github.com/sealane/sealane/internal/aead"
	"github.com/sealane/sealane/internal/alias"
	"github.com/sealane/sealane/internal/kernel"
)

// BlockSize is the AES block size in bytes.
const BlockSize = 16

// KeySizeError is the error for a key that does not have 16, 24 or 32 bytes. It is the type of crypto/aes.
type KeySizeError = aes.KeySizeError

var (
	errFIPS     = errors.New("aes: use of AES of this module is not allowed in FIPS 140-only mode")
	errSelfTest = errors.New("aes: no implementation passes its known-answer test")
)

// A Cipher is an AES key. It is safe for concurrent use. Package crypto/cipher accepts it as a [cipher.Block] and then
// uses the streams and modes of this package.
type Cipher struct {
	key   kernel.AESKey // first, to align with cache lines
	raw   [32]byte      // for GCM, which has its own key schedule
	size  uint8
	level kernel.Level
}

// NewCipher replaces NewCipher of crypto/aes. The returned [cipher.Block] is a [*Cipher]. The key has 16, 24 or 32
// bytes, for AES-128, AES-192 or AES-256, and is copied.
func NewCipher(key []byte) (cipher.Block, error) {
	c, err := New(key)
	if err != nil {
		return nil, err
	}
	return c, nil
}

// New is like [NewCipher], but returns the concrete type.
func New(key []byte) (*Cipher, error) {
	level, ok := kernel.AESLevels.Choose()
	if !ok {
		return nil, errSelfTest
	}
	return newAt(kernel.Level(level), key)
}

func newAt(level kernel.Level, key []byte) (*Cipher, error) {
	if aead.FIPS140Only() {
		return nil, errFIPS
	}
	switch len(key) {
	default:
		return nil, KeySizeError(len(key))
	case 16, 24, 32:
	}
	c := &Cipher{level: level, size: uint8(len(key))}
	copy(c.raw[:], key)
	kernel.AESKeySetup(level, &c.key, key)
	return c, nil
}

// Implementation returns the name of the level that c uses.
func (c *Cipher) Implementation() string { return kernel.AESLevels.Name(uint8(c.level)) }

// BlockSize returns 16.
func (c *Cipher) BlockSize() int { return BlockSize }

// Encrypt encrypts the first block of src into dst. Like crypto/aes, it panics if either is shorter than a block, or if
// they overlap without starting at the same byte.
func (c *Cipher) Encrypt(dst, src []byte) { c.block(dst, src, kernel.AESECBEncrypt) }

// Decrypt decrypts the first block of src into dst, with the panics of Encrypt.
func (c *Cipher) Decrypt(dst, src []byte) { c.block(dst, src, kernel.AESECBDecrypt) }

func (c *Cipher) block(dst, src []byte, operation uint64) {
	if len(src) < BlockSize {
		panic("crypto/aes: input not full block")
	}
	if len(dst) < BlockSize {
		panic("crypto/aes: output not full block")
	}
	if alias.Inexact(dst[:BlockSize], src[:BlockSize]) {
		panic("crypto/aes: invalid buffer overlap")
	}
	c.run(operation, dst, src[:BlockSize], nil)
}

// EncryptBlocks encrypts each block of src independently into dst (ECB mode). ECB reveals which blocks are equal; use
// it only as a part of other constructions (key wrap, header masks). It panics like CryptBlocks of [cipher.BlockMode].
func (c *Cipher) EncryptBlocks(dst, src []byte) {
	checkBlocks(dst, src)
	c.run(kernel.AESECBEncrypt, dst, src, nil)
}

// DecryptBlocks is the inverse of EncryptBlocks, with the same panics.
func (c *Cipher) DecryptBlocks(dst, src []byte) {
	checkBlocks(dst, src)
	c.run(kernel.AESECBDecrypt, dst, src, nil)
}

// NewGCM returns AES-GCM of package aesgcm. [cipher.NewGCM], [cipher.NewGCMWithNonceSize] and
// [cipher.NewGCMWithTagSize] call it. [cipher.NewGCMWithRandomNonce] accepts only keys of crypto/aes; use
// aesgcm.NewWithRandomNonce instead.
func (c *Cipher) NewGCM(nonceSize, tagSize int) (cipher.AEAD, error) {
	level, err := aead.AESGCMLevel()
	if err != nil {
		return nil, err
	}
	return aead.NewAESGCM(level, c.raw[:c.size], nonceSize, tagSize)
}

// A kernel call processes at most partBytes, which takes some microseconds, or slowPartBytes at slow levels. Longer
// calls would delay the scheduler and the garbage collector.
const (
	partBytes     = 64 << 10
	slowPartBytes = 4 << 10
)

func partOf(level kernel.Level) int {
	if level.SlowAES() {
		return slowPartBytes
	}
	return partBytes
}

// run applies an operation to the whole blocks of src. dst has room.
func (c *Cipher) run(operation uint64, dst, src []byte, state *[BlockSize]byte) {
	out, in := unsafe.Pointer(unsafe.SliceData(dst)), unsafe.Pointer(unsafe.SliceData(src))
	var a kernel.ModeArgs
	a.Key, a.State, a.Operation = unsafe.Pointer(&c.key), state, operation
	for left := len(src); left > 0; {
		n := min(left, partOf(c.level))
		a.Out, a.In, a.Bytes = out, in, uint64(n)
		kernel.AES(c.level, &a)
		if left -= n; left > 0 {
			out, in = unsafe.Add(out, n), unsafe.Add(in, n)
		}
	}
}

// few is run for a few blocks, which do not delay the scheduler.
func (c *Cipher) few(operation uint64, dst, src []byte, state *[BlockSize]byte) {
	var a kernel.ModeArgs
	a.Out, a.In, a.Bytes = unsafe.Pointer(unsafe.SliceData(dst)), unsafe.Pointer(unsafe.SliceData(src)), uint64(len(src))
	a.Key, a.State, a.Operation = unsafe.Pointer(&c.key), state, operation
	kernel.AES(c.level, &a)
}

func checkBlocks(dst, src []byte) {
	if len(src)%BlockSize != 0 {
		panic("crypto/cipher: input not full blocks")
	}
	if len(dst) < len(src) {
		panic("crypto/cipher: output smaller than input")
	}
	if alias.Inexact(dst[:len(src)], src) {
		panic("crypto/cipher: invalid buffer overlap")
	}
}
