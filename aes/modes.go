package aes

import (
	"crypto/cipher"
	"encoding/binary"
	"unsafe"

	"github.com/sealane/sealane/internal/alias"
	"github.com/sealane/sealane/internal/kernel"
)

// ctr is counter mode (NIST SP 800-38A, section 6.5). Texts may come in pieces of any length.
type ctr struct {
	c       *Cipher
	counter [BlockSize]byte // counter of the next block after stream
	stream  [BlockSize]byte // key stream
	left    int             // unused bytes at the end of stream
	blocks  uint64          // blocks until the counter is exhausted; 0 if it wraps around
}

// NewCTR returns counter mode with a 128-bit counter that starts at iv and wraps around, as in SSH (RFC 4344).
// [cipher.NewCTR] calls it. Never use a counter value twice with one key: equal key streams reveal the XOR of both
// texts. NewCTR panics unless iv has 16 bytes. The stream is not safe for concurrent use.
func (c *Cipher) NewCTR(iv []byte) cipher.Stream {
	if len(iv) != BlockSize {
		panic("bad IV length") // the message of crypto/aes
	}
	return &ctr{c: c, counter: [BlockSize]byte(iv)}
}

// NewCTR32 returns counter mode whose counter is the last 4 bytes of the 16-byte block iv, as in IPsec (RFC 3686).
// There, the other bytes are the nonce and the initialization vector, and the counter starts at 1. XORKeyStream panics,
// with nothing written, if the counter would wrap around. NewCTR32 panics unless iv has 16 bytes.
func (c *Cipher) NewCTR32(iv []byte) cipher.Stream {
	if len(iv) != BlockSize {
		panic("bad IV length") // the message of crypto/aes
	}
	return &ctr{c: c, counter: [BlockSize]byte(iv), blocks: 1<<32 - uint64(binary.BigEndian.Uint32(iv[12:]))}
}

// plain processes a few whole blocks in one call; the counter does not carry.
func (s *ctr) plain(dst, src []byte) {
	var a kernel.ModeArgs
	a.Out, a.In, a.Bytes = unsafe.Pointer(unsafe.SliceData(dst)), unsafe.Pointer(unsafe.SliceData(src)), uint64(len(src))
	a.Key, a.State, a.Operation = unsafe.Pointer(&s.c.key), &s.counter, kernel.AESCTR
	kernel.AES(s.c.level, &a)
}

// isPlain reports whether n bytes are a few whole blocks for which the counter does not carry.
func (s *ctr) isPlain(n int) bool {
	return n <= slowPartBytes && uint64(binary.BigEndian.Uint32(s.counter[12:]))+slowPartBytes/BlockSize < 1<<32
}

// exhausted marks a counter with no blocks left, since 0 means no limit.
const exhausted = 1 << 63

// XORKeyStream panics like that of crypto/aes.
func (s *ctr) XORKeyStream(dst, src []byte) {
	if len(dst) < len(src) {
		panic("crypto/aes: len(dst) < len(src)")
	}
	if alias.Inexact(dst[:len(src)], src) {
		panic("crypto/aes: invalid buffer overlap")
	}
	if s.left == 0 && s.blocks == 0 && len(src)%BlockSize == 0 && s.isPlain(len(src)) {
		s.plain(dst, src)
		return
	}
	if s.blocks != 0 {
		blocks := (uint64(max(len(src)-s.left, 0)) + BlockSize - 1) / BlockSize
		if blocks > s.blocks&^exhausted {
			panic("aes: the 32-bit counter would wrap around")
		}
		if s.blocks -= blocks; s.blocks == 0 {
			s.blocks = exhausted
		}
	}
	if s.left > 0 {
		n := xorFew(dst, src, s.stream[BlockSize-s.left:])
		s.left -= n
		dst, src = dst[n:], src[n:]
	}
	if whole := len(src) &^ (BlockSize - 1); whole > 0 {
		s.whole(dst, src[:whole])
		dst, src = dst[whole:], src[whole:]
	}
	if len(src) > 0 {
		s.stream = [BlockSize]byte{}
		s.whole(s.stream[:], s.stream[:])
		n := xorFew(dst, src, s.stream[:])
		s.left = BlockSize - n
	}
}

// xorFew is subtle.XORBytes for less than a block, where the call would cost more than the work.
func xorFew(dst, src, stream []byte) int {
	n := min(len(src), len(stream))
	dst, src, stream = dst[:n], src[:n], stream[:n]
	for i, x := range src {
		dst[i] = x ^ stream[i]
	}
	return n
}

// whole processes whole blocks. Kernels count with 32 bits, so each kernel call ends where that counter wraps around,
// and whole carries into the upper bits.
func (s *ctr) whole(dst, src []byte) {
	if s.isPlain(len(src)) {
		s.plain(dst, src)
		return
	}
	for len(src) > 0 {
		until := (1<<32 - uint64(binary.BigEndian.Uint32(s.counter[12:]))) * BlockSize
		n := int(min(uint64(len(src)), until))
		s.c.run(kernel.AESCTR, dst[:n], src[:n], &s.counter)
		for i := 11; i >= 0 && uint64(n) == until; i-- {
			if s.counter[i]++; s.counter[i] != 0 {
				break
			}
		}
		dst, src = dst[n:], src[n:]
	}
}

// cbc is cipher block chaining (NIST SP 800-38A, section 6.2).
type cbc struct {
	c       *Cipher
	iv      [BlockSize]byte
	decrypt bool
}

// NewCBCEncrypter returns a cipher block chaining encrypter; [cipher.NewCBCEncrypter] calls it. It panics unless iv has
// 16 bytes. iv must be new for each text, and unpredictable to anyone who chooses the text.
func (c *Cipher) NewCBCEncrypter(iv []byte) cipher.BlockMode {
	if len(iv) != BlockSize {
		panic("cipher.NewCBCEncrypter: IV length must equal block size")
	}
	return &cbc{c: c, iv: [BlockSize]byte(iv)}
}

// NewCBCDecrypter returns a cipher block chaining decrypter; [cipher.NewCBCDecrypter] calls it. It panics unless iv has
// 16 bytes.
func (c *Cipher) NewCBCDecrypter(iv []byte) cipher.BlockMode {
	if len(iv) != BlockSize {
		panic("cipher.NewCBCDecrypter: IV length must equal block size")
	}
	return &cbc{c: c, iv: [BlockSize]byte(iv), decrypt: true}
}

func (m *cbc) BlockSize() int { return BlockSize }

// SetIV starts a new text, like SetIV in the standard library.
func (m *cbc) SetIV(iv []byte) {
	if len(iv) != BlockSize {
		panic("cipher: incorrect length IV")
	}
	m.iv = [BlockSize]byte(iv)
}

// CryptBlocks has the panics of [cipher.BlockMode].
func (m *cbc) CryptBlocks(dst, src []byte) {
	checkBlocks(dst, src)
	if m.decrypt {
		m.c.run(kernel.AESCBCDecrypt, dst, src, &m.iv)
		return
	}
	var lane [1]kernel.ModeLane
	for len(src) > 0 {
		n := min(len(src), slowPartBytes)
		lane[0] = laneOf(m.c, dst, src, &m.iv)
		runLanes(m.c.level, lane[:], n)
		dst, src = dst[n:], src[n:]
	}
}

func laneOf(c *Cipher, dst, src []byte, iv *[BlockSize]byte) (l kernel.ModeLane) {
	l.Out, l.In = unsafe.Pointer(unsafe.SliceData(dst)), unsafe.Pointer(unsafe.SliceData(src))
	l.Key, l.Chain = unsafe.Pointer(&c.key), iv
	return l
}

func runLanes(level kernel.Level, lanes []kernel.ModeLane, n int) {
	a := kernel.ModeLanes(lanes, kernel.AESCBCEncrypt)
	a.BytesEach = uint64(n)
	kernel.AES(level, a.Mode())
}

// A CBCText is one of several texts that are encrypted side by side. A block must wait for the previous block of its
// own text, but not for those of other texts.
type CBCText struct {
	Cipher   *Cipher
	IV       *[BlockSize]byte // initial value; replaced by the last block of the ciphertext
	Dst, Src []byte           // Src has whole blocks; Dst is at least as long, and equal to Src or disjoint
}

// EncryptCBC encrypts texts by cipher block chaining, with any mix of keys and lengths, several times as fast as one
// after the other. The output of one text must not overlap anything of another. EncryptCBC panics like CryptBlocks,
// with nothing written.
func EncryptCBC(texts []CBCText) {
	for i := range texts {
		checkBlocks(texts[i].Dst, texts[i].Src)
	}
	var r cbcRun
	for i := range texts {
		if len(texts[i].Src) == 0 {
			continue
		}
		if r.count == len(r.lanes) || r.count > 0 && (r.level != texts[i].Cipher.level || r.size != texts[i].Cipher.size) {
			r.until(len(r.lanes) - 1)
		}
		for r.count > 0 && (r.level != texts[i].Cipher.level || r.size != texts[i].Cipher.size) {
			r.until(0)
		}
		r.add(&texts[i])
	}
	r.until(0)
}

// cbcRun holds the texts in progress: eight of one level and key size. When one ends, the next text takes its place.
type cbcRun struct {
	lanes [8]kernel.ModeLane
	left  [8]int
	count int
	level kernel.Level
	size  uint8
}

func (r *cbcRun) add(t *CBCText) {
	r.lanes[r.count] = laneOf(t.Cipher, t.Dst, t.Src, t.IV)
	r.left[r.count] = len(t.Src)
	r.level, r.size = t.Cipher.level, t.Cipher.size
	r.count++
}

// until continues until at most count texts are left.
func (r *cbcRun) until(count int) {
	for r.count > count {
		n := slowPartBytes
		for _, left := range r.left[:r.count] {
			n = min(n, left)
		}
		runLanes(r.level, r.lanes[:r.count], n)
		kept := 0
		for i := range r.count {
			if r.left[i] -= n; r.left[i] > 0 {
				r.lanes[kept], r.left[kept] = r.lanes[i], r.left[i]
				r.lanes[kept].Out, r.lanes[kept].In = unsafe.Add(r.lanes[kept].Out, n), unsafe.Add(r.lanes[kept].In, n)
				kept++
			}
		}
		r.count = kept
	}
}
