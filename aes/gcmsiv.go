package aes

import (
	"crypto/cipher"
	"crypto/subtle"
	"encoding/binary"
	"errors"
	"slices"
	"unsafe"

	"github.com/sealane/sealane/internal/aead"
	"github.com/sealane/sealane/internal/kernel"
)

const (
	sivNonceSize = 12
	sivTagSize   = 16
	sivMaxBytes  = 1 << 36 // RFC 8452, section 6
)

var (
	errSIVKeySize = errors.New("aes: an AES-GCM-SIV key has 16 or 32 bytes")
	errSIVOpen    = errors.New("aes: message authentication failed")
)

// gcmSIV is AES-GCM-SIV (RFC 8452), composed of AES and AES-GCM kernels.
type gcmSIV struct {
	generating *Cipher
	level      kernel.Level // of AES-GCM
}

// NewGCMSIV returns AES-GCM-SIV (RFC 8452), with 12-byte nonces and 16-byte tags. The key has 16 or 32 bytes and is
// copied. A repeated nonce reveals only whether packets are equal, so nonces may be random, even when several machines
// share a key. It is slower than AES-GCM, because each nonce has its own keys and the text is read twice.
//
// Seal panics if the nonce is not 12 bytes, or if the plaintext or the additional data is longer than 2^36 bytes. Open
// panics if the nonce is not 12 bytes. Both panic, with nothing written, if the output overlaps the additional data, or
// overlaps the input without starting at the same byte. If Open fails, the bytes that the plaintext would have filled
// are zero. The returned AEAD is safe for concurrent use.
func NewGCMSIV(key []byte) (cipher.AEAD, error) {
	aesLevel, ok := kernel.AESLevels.Choose()
	if !ok {
		return nil, errSelfTest
	}
	gcmLevel, err := aead.AESGCMLevel()
	if err != nil {
		return nil, err
	}
	return newGCMSIVAt(kernel.Level(aesLevel), gcmLevel, key)
}

func newGCMSIVAt(aesLevel, gcmLevel kernel.Level, key []byte) (cipher.AEAD, error) {
	if len(key) != 16 && len(key) != 32 {
		return nil, errSIVKeySize
	}
	c, err := newAt(aesLevel, key)
	if err != nil {
		return nil, err
	}
	return &gcmSIV{c, gcmLevel}, nil
}

func (k *gcmSIV) NonceSize() int { return sivNonceSize }
func (k *gcmSIV) Overhead() int  { return sivTagSize }

func (k *gcmSIV) Seal(dst, nonce, plaintext, additionalData []byte) []byte {
	if len(nonce) != sivNonceSize {
		panic("crypto/cipher: incorrect nonce length given to GCM-SIV")
	}
	if uint64(len(plaintext)) > sivMaxBytes || uint64(len(additionalData)) > sivMaxBytes {
		panic("crypto/cipher: message too large for GCM-SIV")
	}
	n := len(plaintext)
	ret := slices.Grow(dst, n+sivTagSize)[:len(dst)+n+sivTagSize]
	out := ret[len(dst):]
	checkAEAD(out, plaintext, additionalData)
	var p sivPacket
	p.derive(k, nonce, max(n, len(additionalData)))
	p.makeTag(nonce, plaintext, additionalData)
	p.crypt(out[:n], plaintext, &p.tag)
	copy(out[n:], p.tag[:])
	p.wipe()
	return ret
}

func (k *gcmSIV) Open(dst, nonce, ciphertext, additionalData []byte) ([]byte, error) {
	if len(nonce) != sivNonceSize {
		panic("crypto/cipher: incorrect nonce length given to GCM-SIV")
	}
	n := len(ciphertext) - sivTagSize
	if n < 0 || uint64(n) > sivMaxBytes || uint64(len(additionalData)) > sivMaxBytes {
		return nil, errSIVOpen
	}
	ret := slices.Grow(dst, n)[:len(dst)+n]
	out := ret[len(dst):]
	checkAEAD(out, ciphertext, additionalData)
	var p sivPacket
	tag := [sivTagSize]byte(ciphertext[n:])
	p.derive(k, nonce, max(n, len(additionalData)))
	p.crypt(out, ciphertext[:n], &tag)
	p.makeTag(nonce, out, additionalData)
	same := subtle.ConstantTimeCompare(p.tag[:], tag[:])
	p.wipe()
	if same != 1 {
		clear(out)
		return nil, errSIVOpen
	}
	return ret, nil
}

// A GCMKey holds a whole AESKey, with the schedule in the same place.
var (
	_ = [unsafe.Sizeof(kernel.GCMKey{})]byte{}[unsafe.Sizeof(kernel.AESKey{})-1]
	_ = [1]byte{}[unsafe.Offsetof(kernel.AESKey{}.Schedule)-unsafe.Offsetof(kernel.GCMKey{}.Schedule)]
	_ = [1]byte{}[unsafe.Offsetof(kernel.AESKey{}.Rounds)-unsafe.Offsetof(kernel.GCMKey{}.Rounds)]
)

// A sivPacket is a packet in progress. gcmsiv_kernels.go makes its parts with POLYVAL kernels, and gcmsiv_ofgcm.go does
// so on CPUs without them.
type sivPacket struct {
	key      kernel.GCMKey   // the message key's schedule, laid out as in an AESKey, and the hash key's table
	hashKey  [BlockSize]byte // aligned for words
	tag      [BlockSize]byte
	aes, gcm kernel.Level
	sivWork
}

// blocks runs an operation on whole blocks under the message key. The caller splits long texts.
func (p *sivPacket) blocks(operation uint64, out, in []byte, state *[BlockSize]byte) {
	var a kernel.ModeArgs
	a.Out, a.In, a.Bytes = unsafe.Pointer(unsafe.SliceData(out)), unsafe.Pointer(unsafe.SliceData(in)), uint64(len(in))
	a.Key, a.State, a.Operation = unsafe.Pointer(&p.key), state, operation
	kernel.AES(p.aes, &a)
}

func (p *sivPacket) wipe() { clear(bytesOf(p)) }

// bytesOf returns the memory of a value without pointers. Compilers clear a slice faster than a structure.
func bytesOf[T any](value *T) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(value)), unsafe.Sizeof(*value))
}

// derive makes the keys of one nonce, 8 bytes from each block (section 4). longest is the larger of the lengths of text
// and associated data.
func (p *sivPacket) derive(k *gcmSIV, nonce []byte, longest int) {
	var blocks [6][4]uint32
	var raw [8]uint32
	size := int(k.generating.size)
	derivationBlocks(k.generating, bytesOf(&blocks)[:BlockSize*(2+size/8)], nonce)
	*(*[4]uint32)(unsafe.Pointer(&p.hashKey)) = [4]uint32{blocks[0][0], blocks[0][1], blocks[1][0], blocks[1][1]}
	for i := range size / 8 {
		raw[2*i], raw[2*i+1] = blocks[2+i][0], blocks[2+i][1]
	}
	p.aes, p.gcm = k.generating.level, k.level
	kernel.AESEncryptionKeySetup(p.aes, (*kernel.AESKey)(unsafe.Pointer(&p.key)), bytesOf(&raw)[:size])
	p.setHashKey(longest) // after the schedule: some kernels always make decryption keys, which end in the table
	clear(bytesOf(&blocks))
	clear(bytesOf(&raw))
}

// makeTag computes the tag of plaintext and associated data (section 4).
func (p *sivPacket) makeTag(nonce, text, ad []byte) {
	var sum [BlockSize]byte
	p.polyval(&sum, text, ad)
	binary.LittleEndian.PutUint64(sum[:], binary.LittleEndian.Uint64(sum[:])^binary.LittleEndian.Uint64(nonce))
	binary.LittleEndian.PutUint32(sum[8:], binary.LittleEndian.Uint32(sum[8:])^binary.LittleEndian.Uint32(nonce[8:]))
	sum[15] &= 0x7f
	p.blocks(kernel.AESECBEncrypt, p.tag[:], sum[:], nil)
	clear(sum[:])
}

// crypt XORs key stream into the text. The first four bytes of the counter block count, little-endian, and wrap around.
func (p *sivPacket) crypt(out, in []byte, tag *[BlockSize]byte) {
	block := *tag
	block[15] |= 0x80
	p.count(out, in, &block)
}
