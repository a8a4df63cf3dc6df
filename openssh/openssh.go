// Package openssh implements chacha20-poly1305@openssh.com, the cipher of SSH packets that PROTOCOL.chacha20poly1305 of
// OpenSSH specifies. It uses the kernels of package chacha20poly1305. One key encrypts the packet length, and another
// one the rest of the packet; the nonce is the packet's sequence number. The code is constant-time, wipes its
// intermediate values, and does not allocate if dst has enough capacity.
package openssh

import (
	"encoding/binary"
	"errors"
	"slices"
	"unsafe"

	"github.com/sealane/sealane/internal/aead"
	"github.com/sealane/sealane/internal/alias"
	"github.com/sealane/sealane/internal/kernel"
	"github.com/sealane/sealane/internal/keystream"
)

const (
	// KeySize is the size of the key that SSH derives, in bytes.
	KeySize = 64

	// Overhead is the size of the tag, in bytes.
	Overhead = 16

	// LengthSize is the size of the length field at the start of a packet, in bytes.
	LengthSize = 4
)

var (
	errKeySize  = errors.New("openssh: bad key length")
	errOpen     = errors.New("openssh: message authentication failed")
	errSelfTest = errors.New("openssh: no implementation passes its known-answer test")
	errFIPS     = errors.New("openssh: use of ChaCha20-Poly1305 is not allowed in FIPS 140-only mode")
)

// A Cipher is a key for one direction of a connection. It is safe for concurrent use.
type Cipher struct {
	text, length [32]byte
	level        kernel.Level
	masks        kernel.Level // level that encrypts the lengths
}

// New returns a cipher with a copy of the given 64-byte key.
func New(key []byte) (*Cipher, error) {
	level, err := aead.ChaCha20Poly1305Level()
	if err != nil {
		return nil, err
	}
	masks, ok := kernel.ChaCha20MasksLevels.Choose()
	if !ok {
		return nil, errSelfTest
	}
	return newAt(level, kernel.Level(masks), key)
}

func newAt(level, masks kernel.Level, key []byte) (*Cipher, error) {
	if aead.FIPS140Only() {
		return nil, errFIPS
	}
	if len(key) != KeySize {
		return nil, errKeySize
	}
	return &Cipher{[32]byte(key), [32]byte(key[32:]), level, masks}, nil
}

// Implementation returns the name of the level that c uses.
func (c *Cipher) Implementation() string { return kernel.ChaCha20Poly1305Levels.Name(uint8(c.level)) }

// Length decrypts the length of an incoming packet from its first 4 bytes. The result counts the bytes after these 4,
// without the tag. It is not authentic until Open has succeeded, so check it against a limit before use. Length panics
// if packet has fewer than 4 bytes.
func (c *Cipher) Length(sequence uint32, packet []byte) uint32 {
	var length [LengthSize]byte
	nonce := nonceOf(sequence)
	c.cryptLength(&nonce, length[:], packet[:LengthSize])
	n := binary.BigEndian.Uint32(length[:])
	clear(length[:])
	return n
}

// Seal encrypts a packet, which starts with its length field, and appends the result and its tag to dst. It panics,
// with nothing written, if the packet has fewer than 4 bytes. It also panics if the output overlaps the packet
// without starting at the same byte.
func (c *Cipher) Seal(dst []byte, sequence uint32, packet []byte) []byte {
	n := len(packet)
	if n < LengthSize {
		panic("openssh: a packet without its length")
	}
	ret := slices.Grow(dst, n+Overhead)[:len(dst)+n+Overhead]
	out := ret[len(dst):]
	checkOverlap(out, packet)
	nonce := nonceOf(sequence)
	c.both(&nonce, out[:n], packet)
	keystream.Authenticate(c.level, &c.text, &nonce, (*[Overhead]byte)(out[n:]), out[:n])
	return ret
}

// Open verifies the tag at the end of sealed, decrypts the packet, and appends it with its length field to dst. If it
// fails, the bytes that the packet would have filled are zero. It panics, with nothing written, if the output overlaps
// the input without starting at the same byte.
func (c *Cipher) Open(dst []byte, sequence uint32, sealed []byte) ([]byte, error) {
	n := len(sealed) - Overhead
	if n < LengthSize {
		return nil, errOpen
	}
	ret := slices.Grow(dst, n)[:len(dst)+n]
	out := ret[len(dst):]
	checkOverlap(out, sealed)
	var tag [Overhead]byte
	nonce := nonceOf(sequence)
	keystream.Authenticate(c.level, &c.text, &nonce, &tag, sealed[:n])
	came := sealed[n:]
	differ := (binary.NativeEndian.Uint64(tag[:8]) ^ binary.NativeEndian.Uint64(came)) |
		(binary.NativeEndian.Uint64(tag[8:]) ^ binary.NativeEndian.Uint64(came[8:]))
	clear(tag[:])
	if differ != 0 {
		clear(out)
		return nil, errOpen
	}
	c.both(&nonce, out, sealed[:n])
	return ret, nil
}

// nonceOf returns the nonce in RFC 8439's layout. Its first bytes are the upper half of the counter here, which is 0
// because no packet is that long.
func nonceOf(sequence uint32) (nonce [12]byte) {
	binary.BigEndian.PutUint32(nonce[8:], sequence)
	return nonce
}

func (c *Cipher) both(nonce *[12]byte, out, in []byte) {
	c.cryptLength(nonce, out, in)
	keystream.Crypt(c.level, &c.text, nonce, 1, out[LengthSize:], in[LengthSize:])
}

// cryptLength encrypts or decrypts the length with the first bytes of block 0, which a QUIC header mask kernel can
// make.
func (c *Cipher) cryptLength(nonce *[12]byte, out, in []byte) {
	var counterAndNonce [16]byte
	var mask [8]byte
	var lane [1]kernel.ModeLane
	copy(counterAndNonce[4:], nonce[:])
	lane[0].Out, lane[0].In = unsafe.Pointer(&mask), unsafe.Pointer(&counterAndNonce)
	lane[0].Key = unsafe.Pointer(&c.length)
	a := kernel.ModeLanes(lane[:], kernel.AESMasks)
	kernel.ChaCha20Masks(c.masks, a.Mode())
	binary.NativeEndian.PutUint32(out, binary.NativeEndian.Uint32(in)^binary.NativeEndian.Uint32(mask[:]))
	clear(mask[:])
}

func checkOverlap(out, in []byte) {
	if alias.Inexact(out, in) {
		panic("openssh: invalid buffer overlap")
	}
}
