package tls

import (
	"encoding/binary"
	"math/bits"
	"slices"
)

// A record of twelve segments, of each of which a stranger sent one copy, has four thousand ways, and each that is
// tried costs a record. But a tag is a mask and the sum of its segments' contributions: with the tag of one way, and of
// those in which one segment is another copy, there is the tag of every way. Half of the segments have some dozens of
// sums, and so has the other half. Where a sum of one half and a sum of the other give the tag of the record, that is its way.
const (
	mostSums   = 1 << 12 // of a half
	MostPlaces = 48      // places of a record where copies differ
	MostCopies = 128     // of them all
	perSum     = 256     // what a sum costs, in bytes that are opened
)

// A Place is a part of a record of which there are copies that differ.
type Place struct {
	At     int
	Copies [][]byte // all as long
	adds   []number // what each adds to the tag of a record that has the first of all
}

// number is a tag, or a difference of tags.
type number struct{ hi, lo uint64 }

func numberOf(tag [TagBytes]byte) number {
	return number{binary.LittleEndian.Uint64(tag[8:]), binary.LittleEndian.Uint64(tag[:])}
}

// Numbers mod 2^130-5 that pass it lose a multiple of it: of the bits that tags have, a multiple of 5 is gained for each copy at most. So
// they are looked up without their last slackBits.
const (
	slackBits = 9
	slack     = 1<<(slackBits-1) - 1
)

var _ = [1]struct{}{}[5*MostPlaces/slack]

func (s *tagger) add(a, b number) number {
	if !s.adds {
		return number{a.hi ^ b.hi, a.lo ^ b.lo}
	}
	lo, carry := bits.Add64(a.lo, b.lo, 0)
	hi, _ := bits.Add64(a.hi, b.hi, carry)
	return number{hi, lo}
}

// sub undoes add.
func (s *tagger) sub(a, b number) number {
	if s.adds {
		b = number{^b.hi, -b.lo}
		if b.lo == 0 {
			b.hi++
		}
	}
	return s.add(a, b)
}

// near is equal for most numbers that are equal except for their gain, and otherwise for one that is slack away.
func (s *tagger) near(n number) number {
	if s.adds {
		n.lo >>= slackBits
	}
	return n
}

// same tells whether two numbers are equal except for their gain.
func (s *tagger) same(a, b number) bool {
	x := s.sub(a, b)
	return x == number{} || s.adds && (x.hi == 0 && x.lo <= slack || x.hi == ^uint64(0) && -x.lo <= slack)
}

// count returns how many ways there are through places, or more than mostSums.
func count(part []Place) (n int) {
	n = 1
	for _, x := range part {
		n = min(n*len(x.Copies), mostSums+1)
	}
	return n
}

// all returns the sums of all ways through places: a way's number has a digit for each of them.
func (s *tagger) all(part []Place) []number {
	sums := []number{{}}
	for _, x := range part {
		next := make([]number, 0, len(sums)*len(x.adds))
		for _, sum := range sums {
			for _, more := range x.adds {
				next = append(next, s.add(sum, more))
			}
		}
		clear(sums)
		sums = next
	}
	return sums
}

// put puts the bytes of a way into a record.
func put(b []byte, part []Place, way int) {
	for _, x := range slices.Backward(part) {
		copy(b[x.At:], x.Copies[way%len(x.Copies)])
		way /= len(x.Copies)
	}
}

// BySums looks for the ways through the places of the next record of a direction that have its tag, and has test try each until it returns
// true. The other bytes are those of b, which changes. What it costs is taken from work, and it does nothing without as much.
func (d *Decrypter) BySums(c *Conn, side uint8, b []byte, all []Place, work *int, test func(b []byte) bool) bool {
	n := len(b)
	total, cut := 2, 0
	for _, x := range all {
		total += len(x.Copies) - 1
	}
	for count(all[:cut]) < count(all[cut:]) {
		cut++
	}
	left, right := all[:cut], all[cut:]
	cost := total*TrialBytes(n) + (count(left)+count(right))*perSum
	if count(left) > mostSums || count(right) > mostSums || *work < cost {
		return false
	}
	s, ok := d.tagger(c, side, b)
	if !ok {
		return false
	}
	defer s.wipe()
	*work -= cost
	first := numberOf(s.tag(b))
	for k := range all {
		x := &all[k]
		x.adds = append(x.adds, number{})
		for _, other := range x.Copies[1:] {
			copy(b[x.At:], other)
			x.adds = append(x.adds, s.sub(numberOf(s.tag(b)), first))
		}
		copy(b[x.At:], x.Copies[0])
	}
	want := s.sub(numberOf([TagBytes]byte(b[n-TagBytes:])), first)
	lefts, rights := s.all(left), s.all(right)
	known := make(map[number]int)
	defer func() { // who has that has what the key makes of each block
		clear(known)
		clear(lefts)
		clear(rights)
		for _, x := range all {
			clear(x.adds)
		}
	}()
	for i, sum := range lefts {
		known[s.near(sum)] = i
	}
	for i, sum := range rights {
		rest := s.sub(want, sum)
		keys := []number{rest}
		if s.adds {
			keys = []number{s.sub(rest, number{0, slack}), s.add(rest, number{0, slack})}
		}
		for _, key := range keys {
			if other, there := known[s.near(key)]; there && s.same(rest, lefts[other]) {
				put(b, left, other)
				put(b, right, i)
				if test(b) {
					return true
				}
			}
		}
	}
	return false
}

// A tagger computes the tag that the next record of a direction would have, had it other bytes: what a record with
// copies that differ is put together from is found by tags of a few of them, as these add up. A tag is a sum over the
// blocks of ciphertext, of GHASH (NIST SP 800-38D, section 6.4) or Poly1305 (RFC 8439, section 2.5), and a mask that is
// the same for all of them. That of AES-CCM is no sum.
//
// It seals with the key and nonce of the record. Nothing of that leaves the process, where the key is.
type tagger struct {
	half   *half
	nonce  [12]byte
	aad    [13]byte
	added  int    // bytes of aad
	skip   int    // bytes before the ciphertext, which tags are not sums of
	adds   bool   // tags are numbers mod 2^130-5 without their upper bits, little-endian; else elements of GF(2^128)
	stream []byte // of the cipher
	text   []byte
}

// Plain is how many bytes of a record of a direction come before its ciphertext.
func (c *Conn) Plain() int {
	if c.suite != nil && c.suite.explicit() {
		return headerBytes + 8
	}
	return headerBytes
}

// tagger returns one for a record, whose length and bytes before the ciphertext are those of rec.
func (d *Decrypter) tagger(c *Conn, side uint8, rec []byte) (*tagger, bool) {
	h := &c.half[side]
	t := &tagger{half: h, nonce: h.iv, skip: c.Plain()}
	n := len(rec) - t.skip - TagBytes
	keyed := h.aead != nil && c.suite != nil && c.suite.kind != ccm && h.epoch != plain && h.epoch != blind && h.next == plain
	if !keyed || n < 0 || len(rec) > maxRecord {
		return nil, false
	}
	t.adds = c.suite.kind == chacha
	if h.epoch != protected12 {
		t.added = copy(t.aad[:], rec[:headerBytes])
	} else {
		be.PutUint64(t.aad[:], h.seq)
		copy(t.aad[8:], rec[:3])
		be.PutUint16(t.aad[11:], uint16(n))
		t.added = len(t.aad)
	}
	if c.suite.explicit() {
		copy(t.nonce[4:], rec[headerBytes:])
	} else {
		be.PutUint64(t.nonce[4:], be.Uint64(t.nonce[4:])^h.seq)
	}
	t.text = make([]byte, n, n+TagBytes)
	t.stream = h.aead.Seal(nil, t.nonce[:], t.text, t.aad[:t.added])[:n]
	return t, true
}

// tag returns the tag for the ciphertext in rec.
func (t *tagger) tag(rec []byte) (tag [TagBytes]byte) {
	text := t.text[:len(t.stream)]
	for i, k := range t.stream {
		text[i] = rec[t.skip+i] ^ k
	}
	sealed := t.half.aead.Seal(text[:0], t.nonce[:], text, t.aad[:t.added])
	copy(tag[:], sealed[len(text):])
	return tag
}

// wipe forgets the key stream.
func (t *tagger) wipe() {
	clear(t.stream)
	clear(t.text[:cap(t.text)])
}
