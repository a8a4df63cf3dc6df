package aes

import (
	"crypto/subtle"
	"sync"
	"unsafe"

	"github.com/sealane/sealane/internal/aead"
	"github.com/sealane/sealane/internal/kernel"
)

// A job is a text in progress, one of several whose blocks are chained side by side. It has no pointer to memory that
// may be on the stack.
type job struct {
	c     *Cipher
	at    int // index of its text or packet
	chain [BlockSize]byte
	now   []byte              // whole blocks to chain next
	rest  [2][]byte           // associated data and text that are not in now yet; for CMAC the text
	part  int                 // index into rest
	block [2 * BlockSize]byte // storage for now

	k            *ccm // nil for CMAC
	open         bool
	out, in, ret []byte
	tag          []byte // tag to compare with
	ctr          ctr
	mask         [BlockSize]byte
}

// results are the texts or packets of a call, which stay on its stack.
type results struct {
	macs []CMACText
	ops  []aead.Op
}

// next sets now to the next blocks, or returns false at the end.
func (j *job) next() bool {
	if j.k == nil {
		return j.nextCMAC()
	}
	for ; j.part < len(j.rest); j.part++ {
		rest := j.rest[j.part]
		if whole := len(rest) &^ (BlockSize - 1); whole > 0 {
			j.now, j.rest[j.part] = rest[:whole], rest[whole:]
			return true
		}
		if len(rest) > 0 {
			clear(j.block[copy(j.block[:], rest):])
			j.now = j.block[:BlockSize]
			j.part++
			return true
		}
	}
	return false
}

// nextCMAC is next for CMAC. After the chained E(0) come the text without its last block, and then the last block.
func (j *job) nextCMAC() bool {
	text := j.rest[0]
	whole := max(len(text)-1, 0) &^ (BlockSize - 1)
	switch j.part {
	case 0:
		addLast(&j.chain, text[whole:])
		copy(j.block[:], j.chain[:])
		j.chain = [BlockSize]byte{}
		if whole > 0 {
			j.part, j.now = 1, text[:whole]
			return true
		}
		fallthrough
	case 1:
		j.part, j.now = 2, j.block[:BlockSize]
		return true
	}
	return false
}

// end stores the result. It returns 1 unless a packet is forged.
func (j *job) end(r results) int {
	if j.k == nil {
		r.macs[j.at].MAC = j.chain
		return 1
	}
	op := &r.ops[j.at]
	op.Out, op.Err = j.ret, nil
	if !j.open {
		j.ctr.XORKeyStream(j.out, j.in)
	}
	subtle.XORBytes(j.mask[:], j.mask[:], j.chain[:])
	if !j.open {
		copy(j.ret[len(j.ret)-j.k.tagSize:], j.mask[:])
	} else if subtle.ConstantTimeCompare(j.mask[:j.k.tagSize], j.tag) != 1 {
		clear(j.out)
		op.Out, op.Err = nil, errCCMOpen
		return 0
	}
	return 1
}

// A sideBySide holds the texts in progress, all of one level and key size: the first count entries of in. When one
// ends, the next takes its place.
type sideBySide struct {
	lanes   [8]kernel.ModeLane
	of      [8]*job
	jobs    [8]job
	count   int
	longest int // largest step so far
	good    int
	unused  [8][absorbBytes / 2]byte
}

var sidesBySide = sync.Pool{New: func() any {
	s := new(sideBySide)
	for i := range s.of {
		s.of[i] = &s.jobs[i]
	}
	return s
}}

func newSideBySide() *sideBySide { return sidesBySide.Get().(*sideBySide) }

// done wipes the data of the calls, also after a panic. Packets that were in progress then may be forgeries.
func (s *sideBySide) done() {
	for _, j := range s.of[:s.count] {
		if j.open {
			clear(j.out)
		}
	}
	clear(s.jobs[:])
	for i := range s.unused {
		clear(s.unused[i][:s.longest])
	}
	clear(s.lanes[:])
	s.count, s.longest, s.good = 0, 0, 0
	sidesBySide.Put(s)
}

// room returns an entry in which to prepare a text with this key, and waits until one is free.
func (s *sideBySide) room(c *Cipher, at int, r results) *job {
	if other := s.of[0].c; s.count > 0 && (other.level != c.level || other.size != c.size) {
		s.until(0, r)
	}
	s.until(len(s.of)-1, r)
	j := s.of[s.count]
	*j = job{c: c, at: at}
	return j
}

// add starts the text that was prepared in that entry.
func (s *sideBySide) add(j *job) {
	at := (uintptr(unsafe.Pointer(j)) - uintptr(unsafe.Pointer(&s.jobs[0]))) / unsafe.Sizeof(*j)
	s.lanes[s.count] = laneOf(j.c, s.unused[at][:], j.now, &j.chain)
	s.count++
}

// until continues until at most count texts are left.
func (s *sideBySide) until(count int, r results) {
	for s.count > count {
		n := len(s.unused[0])
		for _, j := range s.of[:s.count] {
			n = min(n, len(j.now))
		}
		s.longest = max(s.longest, n)
		runLanes(s.of[0].c.level, s.lanes[:s.count], n)
		for i := s.count - 1; i >= 0; i-- {
			j := s.of[i]
			if j.now = j.now[n:]; len(j.now) > 0 || j.next() {
				s.lanes[i].In = unsafe.Pointer(unsafe.SliceData(j.now))
				continue
			}
			s.good += j.end(r)
			s.count--
			s.of[i], s.of[s.count] = s.of[s.count], j
			s.lanes[i] = s.lanes[s.count]
		}
	}
}

// A CMACText is one of several texts whose MACs are computed side by side. A block must wait for the previous block of
// its own text, but not for those of other texts.
type CMACText struct {
	Cipher *Cipher
	Text   []byte
	MAC    [BlockSize]byte // result
}

// SumCMAC computes the MACs of texts like [Cipher.NewCMAC], with any mix of keys and lengths, several times as fast as
// one after the other. Texts may overlap. Compare MACs with [crypto/subtle.ConstantTimeCompare].
func SumCMAC(texts []CMACText) {
	r := results{macs: texts}
	s := newSideBySide()
	defer s.done()
	for i := range texts {
		j := s.room(texts[i].Cipher, i, r)
		j.rest[0], j.now = texts[i].Text, j.block[:BlockSize]
		s.add(j)
	}
	s.until(0, r)
}

// ccmBatch seals or opens CCM packets, and returns how many succeeded. It panics where Seal and Open would.
func ccmBatch(ops []aead.Op, open bool) int {
	r := results{ops: ops}
	s := newSideBySide()
	defer s.done()
	for i := range ops {
		op := &ops[i]
		k := op.AEAD.(*aead.SideBySide).AEAD.(*ccm)
		ret, out, ok := op.Dst, op.Src, true
		if open {
			ret, out, ok = k.opening(op.Dst, op.Nonce, op.Src, op.AD)
		} else {
			ret, out = k.sealing(op.Dst, op.Nonce, op.Src, op.AD)
			out = out[:len(op.Src)]
		}
		if !ok {
			op.Out, op.Err = nil, errCCMOpen
			continue
		}
		j := s.room(k.c, i, r)
		j.k, j.open, j.ret, j.out, j.in, j.tag = k, open, ret, out, op.Src[:len(out)], op.Src[len(out):]
		j.now, j.rest[0] = k.lengths(&j.block, op.Nonce, op.AD, uint64(len(out)))
		k.counters(&j.ctr, &j.mask, op.Nonce)
		if open {
			j.ctr.XORKeyStream(out, j.in)
			j.rest[1] = out
		} else {
			j.rest[1] = j.in
		}
		s.add(j)
	}
	s.until(0, r)
	return s.good
}
