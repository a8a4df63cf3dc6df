package aes

import (
	"crypto/subtle"
	"encoding/binary"
	"errors"

	"github.com/sealane/sealane/internal/alias"
	"github.com/sealane/sealane/internal/kernel"
)

var (
	errXTSKeySize = errors.New("aes: an XTS key has 32 or 64 bytes")
	errXTSHalves  = errors.New("aes: the halves of an XTS key are equal")
)

// XTS is AES-XTS (IEEE 1619, NIST SP 800-38E) for storage sectors. It is safe for concurrent use. It hides the content
// of a sector, but reveals whether a sector has changed. A changed ciphertext decrypts to other text, without an error.
type XTS struct {
	data, tweak *Cipher
}

// maxXTS is the largest data unit in bytes: 2^20 blocks (IEEE 1619, section 5.1).
const maxXTS = 1 << 24

// NewXTS returns AES-128-XTS for a 32-byte key and AES-256-XTS for a 64-byte key. The halves of the key must differ
// (NIST IG C.I, FIPS 140-3); otherwise NewXTS returns an error.
func NewXTS(key []byte) (*XTS, error) {
	level, ok := kernel.AESLevels.Choose()
	if !ok {
		return nil, errSelfTest
	}
	return newXTSAt(kernel.Level(level), key)
}

func newXTSAt(level kernel.Level, key []byte) (*XTS, error) {
	if len(key) != 32 && len(key) != 64 {
		return nil, errXTSKeySize
	}
	half := len(key) / 2
	if subtle.ConstantTimeCompare(key[:half], key[half:]) == 1 {
		return nil, errXTSHalves
	}
	data, err := newAt(level, key[:half])
	if err != nil {
		return nil, err
	}
	tweak, err := newAt(level, key[half:])
	if err != nil {
		return nil, err
	}
	return &XTS{data, tweak}, nil
}

// Encrypt encrypts a sector. Like x/crypto/xts it encodes the sector number as the tweak, but it takes any length from
// 16 to 2^24 bytes, not only whole blocks. dst may be equal to src or disjoint from it. Encrypt panics, with nothing
// written, if they overlap otherwise, if dst is shorter than src, or if the length of src is out of range.
func (x *XTS) Encrypt(dst, src []byte, sector uint64) {
	var tweak [BlockSize]byte
	binary.LittleEndian.PutUint64(tweak[:], sector)
	x.crypt(dst, src, &tweak, kernel.AESXTSEncrypt)
}

// Decrypt decrypts a sector, with the panics of Encrypt.
func (x *XTS) Decrypt(dst, src []byte, sector uint64) {
	var tweak [BlockSize]byte
	binary.LittleEndian.PutUint64(tweak[:], sector)
	x.crypt(dst, src, &tweak, kernel.AESXTSDecrypt)
}

// EncryptTweak is Encrypt with a 16-byte tweak instead of a sector number. The tweak is public.
func (x *XTS) EncryptTweak(dst, src []byte, tweak [BlockSize]byte) {
	x.crypt(dst, src, &tweak, kernel.AESXTSEncrypt)
}

// DecryptTweak is Decrypt with a 16-byte tweak.
func (x *XTS) DecryptTweak(dst, src []byte, tweak [BlockSize]byte) {
	x.crypt(dst, src, &tweak, kernel.AESXTSDecrypt)
}

func (x *XTS) crypt(dst, src []byte, tweak *[BlockSize]byte, operation uint64) {
	if len(dst) < len(src) {
		panic("xts: output is smaller than input")
	}
	if len(src) < BlockSize || len(src) > maxXTS {
		panic("xts: input has less than 16 bytes or more than 2^24")
	}
	if alias.Inexact(dst[:len(src)], src) {
		panic("xts: invalid buffer overlap")
	}
	x.tweak.run(kernel.AESECBEncrypt, tweak[:], tweak[:], nil)
	whole := len(src) &^ (BlockSize - 1)
	if whole == len(src) {
		x.data.run(operation, dst, src, tweak)
	} else {
		x.steal(dst[:len(src)], src, tweak, operation)
	}
	*tweak = [BlockSize]byte{}
}

// steal processes a text that does not end with a whole block (ciphertext stealing, IEEE 1619, section 5.3.2). The last
// block is filled up from the output of the previous block, whose remaining bytes become the last output. The two
// outputs are stored in swapped order, and for decryption the tweaks are swapped too.
func (x *XTS) steal(dst, src []byte, tweak *[BlockSize]byte, operation uint64) {
	whole := len(src) &^ (BlockSize - 1)
	before, rest := whole-BlockSize, len(src)-whole
	var last, other [BlockSize]byte
	x.data.run(operation, dst, src[:before], tweak)
	first, second := *tweak, *tweak
	if operation == kernel.AESXTSDecrypt {
		kernel.XTSDouble(&first)
	} else {
		kernel.XTSDouble(&second)
	}
	copy(last[:], src[whole:])
	x.data.run(operation, other[:], src[before:whole], &first)
	copy(last[rest:], other[rest:])
	x.data.run(operation, last[:], last[:], &second)
	copy(dst[before:], last[:])
	copy(dst[whole:], other[:rest])
	last, other, first, second = [BlockSize]byte{}, [BlockSize]byte{}, [BlockSize]byte{}, [BlockSize]byte{}
}
