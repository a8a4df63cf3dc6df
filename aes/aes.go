// Package aes implements AES (FIPS 197) in the modes that encrypt and do not authenticate: single blocks, CTR, CBC and XTS.
//
// [NewCipher] takes the place of crypto/aes's: what it returns has what package crypto/cipher looks for, so that
// [cipher.NewCTR], [cipher.NewCBCEncrypter], [cipher.NewCBCDecrypter] and [cipher.NewGCM] of it run the assembly of this module.
// A text is done by one kernel, chosen for the CPU when the first key of the process is made and after it has given a known
// answer. The environment variable SEALANE_CPU limits the choice, SEALANE_ASM=0 forces portable code. On every CPU, also those
// without AES instructions, all of it is constant-time: tables are never indexed by secrets.
//
// None of these modes notices a text that was changed on its way, and CTR and CBC let others change it on purpose: for
// packets, files and messages use packages aesgcm or chacha20poly1305. These modes are for protocols and formats that have
// them and authenticate by other means, and XTS for sectors of storage.
//
// Padding of CBC is the caller's task, as in package crypto/cipher. If a sender learns, by an error or by time, that the padding of
// unauthenticated text was wrong, the sender can decrypt (Vaudenay 2002). Compare a MAC over the ciphertext first. New designs should
// not use CBC.
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

// KeySizeError is the error of a key of another length than 16, 24 or 32 bytes. It is crypto/aes's.
type KeySizeError = aes.KeySizeError

var (
	errFIPS     = errors.New("aes: use of AES of this module is not allowed in FIPS 140-only mode")
	errSelfTest = errors.New("aes: no implementation passes its known-answer test")
)

// A Cipher is an AES key, safe for concurrent use. It is a [cipher.Block] from which package crypto/cipher makes the streams and
// modes of this package.
type Cipher struct {
	key   kernel.AESKey // first, to lie in whole cache lines
	raw   [32]byte      // for GCM, which has a key of its own
	size  uint8
	level kernel.Level
}

// NewCipher is crypto/aes's: a [cipher.Block], which is a [*Cipher]. The key, which is copied, has 16, 24 or 32 bytes, for
// AES-128, AES-192 or AES-256.
func NewCipher(key []byte) (cipher.Block, error) {
	c, err := New(key)
	if err != nil {
		return nil, err
	}
	return c, nil
}

// New is [NewCipher] with the methods of [Cipher].
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

// Implementation returns the name of the level that c runs at.
func (c *Cipher) Implementation() string { return kernel.AESLevels.Name(uint8(c.level)) }

// BlockSize returns 16.
func (c *Cipher) BlockSize() int { return BlockSize }

// Encrypt encrypts the first block of src into dst. It panics as crypto/aes's does if either is shorter, or if they overlap and
// do not begin at the same byte.
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

// EncryptBlocks encrypts every block of src by itself into dst: ECB, which shows where blocks are equal, and is a part of other
// constructions (key wrap, header masks). It panics like [cipher.BlockMode]'s CryptBlocks.
func (c *Cipher) EncryptBlocks(dst, src []byte) {
	checkBlocks(dst, src)
	c.run(kernel.AESECBEncrypt, dst, src, nil)
}

// DecryptBlocks is the inverse of EncryptBlocks.
func (c *Cipher) DecryptBlocks(dst, src []byte) {
	checkBlocks(dst, src)
	c.run(kernel.AESECBDecrypt, dst, src, nil)
}

// NewGCM is what [cipher.NewGCM], [cipher.NewGCMWithNonceSize] and [cipher.NewGCMWithTagSize] call: package aesgcm's.
// [cipher.NewGCMWithRandomNonce] takes keys of crypto/aes alone: aesgcm.NewWithRandomNonce is for keys of this module.
func (c *Cipher) NewGCM(nonceSize, tagSize int) (cipher.AEAD, error) {
	level, err := aead.AESGCMLevel()
	if err != nil {
		return nil, err
	}
	return aead.NewAESGCM(level, c.raw[:c.size], nonceSize, tagSize)
}

// partBytes is the most that is done in one call of a kernel, some microseconds' worth, so that the scheduler and the
// garbage collector need not wait for long; less at levels that are slow.
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

// run does an operation on whole blocks of src. dst has room.
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

// few is run for some blocks, which do not hold the scheduler up.
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
