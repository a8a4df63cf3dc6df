// Package rival compares sealane's ChaCha20-Poly1305 with the code that a program had before it was built on sealane. That
// code stays in the program, and a CPU on which it is the faster one uses it.
package rival

import (
	"bytes"
	"crypto/cipher"
	"sync"
	"sync/atomic"

	"github.com/sealane/sealane/internal/dispatch"
	"github.com/sealane/sealane/internal/kernel"
)

// A Choice is made once in a process, when the first key of a cipher is made. It is safe for concurrent use.
type Choice struct {
	Ours func(level kernel.Level, key []byte) (cipher.AEAD, error)

	made atomic.Uint32 // one of the constants
	mu   sync.Mutex
	last Comparison
}

const ours, theirs = 1, 2 // of a choice that was made

// A Comparison is what a choice rests on.
type Comparison struct {
	Made         bool // not if somebody named a level, or nothing is to be measured
	Ours, Theirs dispatch.Times
	Beaten       bool // theirs is used
}

// Theirs says whether theirs is to be used, which makes the other cipher of a 32-byte key, instead of ours at the level that
// was chosen. The first call measures and waits for others, all later ones read what it found.
func (c *Choice) Theirs(level kernel.Level, their func(key []byte) (cipher.AEAD, error)) bool {
	made := c.made.Load()
	if made == 0 {
		made = c.make(level, their)
	}
	return made == theirs
}

//go:noinline
func (c *Choice) make(level kernel.Level, their func(key []byte) (cipher.AEAD, error)) uint32 {
	c.mu.Lock()
	defer c.mu.Unlock()
	if made := c.made.Load(); made != 0 {
		return made
	}
	made := uint32(ours)
	if c.last = c.compare(level, their); c.last.Beaten {
		made = theirs
	}
	c.made.Store(made)
	return made
}

// Last returns the comparison that the choice was made by.
func (c *Choice) Last() Comparison {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.last
}

// The packets that levels are compared by.
const short, long = 64, 1420

// A contender seals packets of zeroes.
type contender struct {
	cipher.AEAD
	nonce, text []byte
	sealed      [2][]byte
}

func newContender(a cipher.AEAD) *contender {
	tag := a.Overhead()
	return &contender{AEAD: a, nonce: make([]byte, a.NonceSize()), text: make([]byte, long),
		sealed: [2][]byte{make([]byte, 0, short+tag), make([]byte, 0, long+tag)}}
}

func (c *contender) samples() dispatch.Samples {
	return dispatch.Samples{
		func() { c.sealed[0] = c.Seal(c.sealed[0][:0], c.nonce, c.text[:short], nil) },
		func() { c.sealed[1] = c.Seal(c.sealed[1][:0], c.nonce, c.text, nil) },
	}
}

// agrees says whether c makes the packets of other, whose known answers are tested, opens them and refuses a forged one.
func (c *contender) agrees(other *contender) bool {
	for i, sealed := range other.sealed {
		if len(sealed) == 0 || !bytes.Equal(c.sealed[i], sealed) {
			return false
		}
		text, err := c.Open(nil, c.nonce, sealed, nil)
		if err != nil || !bytes.Equal(text, c.text[:len(text)]) || len(text) != len(sealed)-c.Overhead() {
			return false
		}
		sealed[len(sealed)/2] ^= 1
		if _, err := c.Open(nil, c.nonce, sealed, nil); err == nil {
			return false
		}
	}
	return true
}

func (c *Choice) compare(level kernel.Level, their func(key []byte) (cipher.AEAD, error)) (found Comparison) {
	key := make([]byte, 32)
	a, err := c.Ours(level, key)
	if err != nil {
		return found
	}
	b, err := their(key)
	if err != nil || b.NonceSize() != a.NonceSize() || b.Overhead() != a.Overhead() {
		return found
	}
	our, other := newContender(a), newContender(b)
	beaten, made, took := dispatch.Beaten(our.samples(), other.samples())
	return Comparison{Made: made, Ours: took[0], Theirs: took[1], Beaten: beaten && other.agrees(our)}
}
