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
	sivChunk     = 2048    // bytes that are reversed, or counted, at a time
)

var (
	errSIVKeySize = errors.New("aes: an AES-GCM-SIV key has 16 or 32 bytes")
	errSIVOpen    = errors.New("aes: message authentication failed")
)

// gcmSIV is AES-GCM-SIV (RFC 8452), put together of the kernels of AES and AES-GCM.
type gcmSIV struct {
	generating *Cipher
	level      kernel.Level // of AES-GCM
}

// NewGCMSIV returns AES-GCM-SIV (RFC 8452), with nonces of 12 bytes and tags of 16. The key, which is copied, has 16
// or 32 bytes. A nonce that is used twice tells no more than whether packets are equal, so that nonces may be random,
// of many machines under one key. It is slower than AES-GCM, as each nonce has its own keys and the text is read
// twice.
//
// Seal panics if the nonce is not 12 bytes, or the text or the additional data longer than 2^36; Open panics for the
// nonce. Both panic, with nothing written, if the output overlaps the additional data, or the input elsewhere than
// exactly at its start. If Open fails, the bytes that the plaintext would have filled are zero. What is returned is
// safe for concurrent use.
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
	p.derive(k, nonce)
	p.makeTag(nonce, plaintext, additionalData)
	p.crypt(out[:n], plaintext, &p.tag)
	copy(out[n:], p.tag[:])
	p = sivPacket{}
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
	p.derive(k, nonce)
	p.crypt(out, ciphertext[:n], &tag)
	p.makeTag(nonce, out, additionalData)
	same := subtle.ConstantTimeCompare(p.tag[:], tag[:])
	p = sivPacket{}
	if same != 1 {
		clear(out)
		return nil, errSIVOpen
	}
	return ret, nil
}

// sivPacket is a packet in progress. POLYVAL is GHASH of blocks whose bytes are reversed, with a hash key that is
// reversed and multiplied by x, its result reversed again (RFC 8452, appendix A). A kernel of AES-GCM takes such
// blocks as ciphertext; what it opens them to, under a key of zeroes, is thrown away.
type sivPacket struct {
	message  Cipher
	gcm      kernel.GCMKey
	gcmLevel kernel.Level
	state    kernel.GCMState
	flags    uint64
	held     int // bytes of chunk that wait
	hashKey  [BlockSize]byte
	tag      [BlockSize]byte
	chunk    [sivChunk]byte
}

// derive makes the keys of one nonce, 8 bytes of each block (section 4).
func (p *sivPacket) derive(k *gcmSIV, nonce []byte) {
	var blocks [6 * BlockSize]byte
	var raw [32]byte
	size := int(k.generating.size)
	used := blocks[:BlockSize*(2+size/8)]
	for i := 0; i < len(used); i += BlockSize {
		used[i] = byte(i / BlockSize)
		copy(used[i+4:], nonce)
	}
	k.generating.run(kernel.AESECBEncrypt, used, used, nil)
	copy(p.hashKey[:8], used)
	copy(p.hashKey[8:], used[BlockSize:])
	for i := 0; i < size; i += 8 {
		copy(raw[i:i+8], used[2*BlockSize+2*i:])
	}
	p.message.level, p.message.size = k.generating.level, k.generating.size
	kernel.AESKeySetup(p.message.level, &p.message.key, raw[:size])
	p.gcmLevel = k.level
	clear(blocks[:])
	clear(raw[:])
}

// reverse reverses the bytes of whole blocks.
func reverse(out, in []byte) {
	for len(in) >= BlockSize && len(out) >= BlockSize {
		first, last := binary.LittleEndian.Uint64(in), binary.LittleEndian.Uint64(in[8:])
		binary.BigEndian.PutUint64(out, last)
		binary.BigEndian.PutUint64(out[8:], first)
		in, out = in[BlockSize:], out[BlockSize:]
	}
}

// begin takes the hash key, for a text of that many blocks. Zero blocks before them make their number a multiple of 4
// and do not change the sum.
func (p *sivPacket) begin(blocks uint64) {
	var h [BlockSize]byte
	reverse(h[:], p.hashKey[:])
	high, low := binary.BigEndian.Uint64(h[:8]), binary.BigEndian.Uint64(h[8:])
	binary.BigEndian.PutUint64(h[:8], high>>1^0xe1<<56&-(low&1))
	binary.BigEndian.PutUint64(h[8:], low>>1|high<<63)
	p.gcm.Rounds = 10
	kernel.AESGCMHashKey(p.gcmLevel, &p.gcm, &h)
	p.flags, p.held = kernel.FlagFirst, int(-blocks%4)*BlockSize
	clear(p.chunk[:p.held])
	clear(h[:])
}

// flush absorbs what waits: a multiple of 64 bytes.
func (p *sivPacket) flush() {
	var none [sivNonceSize]byte
	var a kernel.PacketArgs
	a.Out, a.In, a.Bytes = unsafe.Pointer(&p.chunk), unsafe.Pointer(&p.chunk), uint64(p.held)
	a.Key, a.Nonce, a.State = unsafe.Pointer(&p.gcm), unsafe.Pointer(&none), p.state.State()
	a.Flags = p.flags | kernel.FlagOpen | kernel.FlagNonce
	kernel.AESGCM(p.gcmLevel, &a)
	p.flags, p.held = 0, 0
}

// absorb absorbs data, filled up with zeroes to whole blocks.
func (p *sivPacket) absorb(in []byte) {
	for len(in) > 0 {
		if p.held == sivChunk {
			p.flush()
		}
		n := min(len(in), sivChunk-p.held)
		whole := n &^ (BlockSize - 1)
		reverse(p.chunk[p.held:], in[:whole])
		p.held += whole
		if whole < n {
			var last [BlockSize]byte
			copy(last[:], in[whole:n])
			reverse(p.chunk[p.held:], last[:])
			p.held += BlockSize
			clear(last[:])
		}
		in = in[n:]
	}
}

// makeTag makes the tag of plaintext and associated data (section 4).
func (p *sivPacket) makeTag(nonce, text, ad []byte) {
	var sum [BlockSize]byte
	p.begin(blocksOf(ad) + blocksOf(text) + 1)
	binary.LittleEndian.PutUint64(sum[:8], 8*uint64(len(ad)))
	binary.LittleEndian.PutUint64(sum[8:], 8*uint64(len(text)))
	p.absorb(ad)
	p.absorb(text)
	p.absorb(sum[:])
	p.flush()
	reverse(sum[:], p.state.Y[:])
	for i, x := range nonce {
		sum[i] ^= x
	}
	sum[15] &= 0x7f
	p.message.run(kernel.AESECBEncrypt, p.tag[:], sum[:], nil)
	clear(sum[:])
}

func blocksOf(b []byte) uint64 { return (uint64(len(b)) + BlockSize - 1) / BlockSize }

// crypt adds key stream to the text. The first four bytes of the counter block count, little-endian, and wrap around.
func (p *sivPacket) crypt(out, in []byte, tag *[BlockSize]byte) {
	low, high := binary.LittleEndian.Uint64(tag[:8]), binary.LittleEndian.Uint64(tag[8:])|1<<63
	for len(in) > 0 {
		n := min(len(in), sivChunk)
		stream := p.chunk[:(n+BlockSize-1)&^(BlockSize-1)]
		for i := 0; i < len(stream); i += BlockSize {
			binary.LittleEndian.PutUint64(stream[i:], low)
			binary.LittleEndian.PutUint64(stream[i+8:], high)
			low = low&^0xffffffff | uint64(uint32(low)+1)
		}
		p.message.run(kernel.AESECBEncrypt, stream, stream, nil)
		subtle.XORBytes(out, in[:n], stream)
		out, in = out[n:], in[n:]
	}
}
