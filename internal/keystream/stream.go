package keystream

import (
	"crypto/subtle"

	"github.com/sealane/sealane/internal/alias"
	"github.com/sealane/sealane/internal/kernel"
)

// mostBytes is the longest text that the 32-bit counter allows.
const mostBytes = blockBytes << 32

// A Stream is the keystream of one key and nonce, starting at block 0. It has the methods of x/crypto's chacha20.Cipher
// that SSH calls, and Poly1305 with its first 32 bytes as the one-time key. It does not allocate, and is not safe for
// concurrent use.
type Stream struct {
	key   [32]byte
	nonce [12]byte
	level kernel.Level
	at    uint64           // bytes already used
	made  bool             // block contains the keystream at position at
	block [blockBytes]byte // of keystream
}

// Init sets s to the stream of a 32-byte key and a 12-byte nonce. For other lengths, and if this process has no kernel
// for the CPU, it returns false and leaves s unusable.
func (s *Stream) Init(key, nonce []byte) bool {
	level, ok := kernel.ChaCha20Poly1305Levels.Choose()
	if !ok || kernel.Level(level) == kernel.Portable || len(key) != len(s.key) || len(nonce) != len(s.nonce) {
		return false
	}
	s.init(kernel.Level(level), key, nonce)
	return true
}

func (s *Stream) init(level kernel.Level, key, nonce []byte) {
	*s = Stream{key: [32]byte(key), nonce: [12]byte(nonce), level: level}
}

// XORKeyStream XORs the next len(src) bytes of keystream into src, and writes the result to dst. It panics, with
// nothing written, if dst is shorter than src or overlaps it without starting at the same byte. It also panics if the
// keystream is exhausted.
func (s *Stream) XORKeyStream(dst, src []byte) {
	if len(dst) < len(src) {
		panic("chacha20: output smaller than input")
	}
	dst = dst[:len(src)]
	if alias.Inexact(dst, src) {
		panic("chacha20: invalid buffer overlap")
	}
	if s.at+uint64(len(src)) > mostBytes {
		panic("chacha20: counter overflow")
	}
	for len(src) > 0 {
		counter, offset := uint32(s.at/blockBytes), int(s.at%blockBytes)
		if offset == 0 && len(src) >= blockBytes {
			Crypt(s.level, &s.key, &s.nonce, counter, dst, src)
			s.at += uint64(len(src))
			return
		}
		if !s.made {
			Crypt(s.level, &s.key, &s.nonce, counter, s.block[:], s.block[:])
			s.made = true
		}
		n := subtle.XORBytes(dst, src, s.block[offset:])
		if dst, src = dst[n:], src[n:]; offset+n == blockBytes {
			clear(s.block[:])
			s.made = false
		}
		s.at += uint64(n)
	}
}

// Sum writes the Poly1305 tag of text to tag.
func (s *Stream) Sum(tag *[tagBytes]byte, text []byte) {
	Authenticate(s.level, &s.key, &s.nonce, tag, text)
}

// Verify reports, in constant time, whether tag is the Poly1305 tag of text.
func (s *Stream) Verify(tag *[tagBytes]byte, text []byte) bool {
	var want [tagBytes]byte
	s.Sum(&want, text)
	same := subtle.ConstantTimeCompare(want[:], tag[:]) == 1
	clear(want[:])
	return same
}
