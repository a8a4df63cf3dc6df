package tls

import (
	"encoding/binary"
	"math/bits"
	"slices"
)

// If an attacker sends a copy of each of a record's twelve segments, there are 4,096 paths through the copies. Trying
// one costs as much as opening the record. But a tag is a mask plus the sum of the segments' contributions. So the tag
// of one path, and those of paths that differ from it in one segment, determine the tags of all. Each half of the
// segments has only 64 sums. If a sum of one half and one of the other add up to the record's tag, they determine the
// path.
const (
	mostSums   = 1 << 12 // most sums of a half
	MostPlaces = 48      // most Places of a record
	MostCopies = 128     // most copies of all Places together, besides the first ones
	perSum     = 256     // cost of a sum, which equals that of opening as many bytes
)

// A Place is a part of a record that has differing copies.
type Place struct {
	At     int
	Copies [][]byte // of one length
	adds   []number // how much each changes the tag, compared with the first copy
}

// number is a tag, or a difference of tags.
type number struct{ hi, lo uint64 }

func numberOf(tag [TagBytes]byte) number {
	return number{binary.LittleEndian.Uint64(tag[8:]), binary.LittleEndian.Uint64(tag[:])}
}

// Poly1305 computes modulo 2^130-5, and a tag is the sum modulo 2^128. Each reduction by 2^130-5 thus adds 5 to the
// tag. A sum of differences may deviate by 5 for each Place. So lookups ignore the lowest slackBits bits.
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

// near returns the key for looking up a number. Each number that deviates from n by at most slack has the key of
// n-slack or that of n+slack.
func (s *tagger) near(n number) number {
	if s.adds {
		n.lo >>= slackBits
	}
	return n
}

// same reports whether two numbers are equal, or deviate by at most slack in Poly1305.
func (s *tagger) same(a, b number) bool {
	x := s.sub(a, b)
	return x == number{} || s.adds && (x.hi == 0 && x.lo <= slack || x.hi == ^uint64(0) && -x.lo <= slack)
}

// count returns the number of paths through Places, or mostSums+1 if there are more.
func count(part []Place) (n int) {
	n = 1
	for _, x := range part {
		n = min(n*len(x.Copies), mostSums+1)
	}
	return n
}

// all returns the sums of all paths through Places. The index of a path has a digit for each Place: the index of its
// copy.
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

// put copies the bytes of a path into a record.
func put(b []byte, part []Place, way int) {
	for _, x := range slices.Backward(part) {
		copy(b[x.At:], x.Copies[way%len(x.Copies)])
		way /= len(x.Copies)
	}
}

// BySums searches for the paths through the Places of a direction's next record that have the tag of b. It calls test
// with each candidate, until test returns true. The other bytes are those of b, which BySums changes. It subtracts the
// cost from work, and does nothing if work is less than that.
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
	defer func() { // the sums reveal products with the authentication key
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

// A tagger computes the tag that the next record of a direction would have with other bytes. A tag is a sum over the
// blocks of ciphertext, by GHASH (NIST SP 800-38D, section 6.4) or Poly1305 (RFC 8439, section 2.5), plus a mask that
// all paths share. The tag of AES-CCM is not a sum.
//
// It seals with the key and nonce of the record. The results stay in this process, which has the key anyway.
type tagger struct {
	half   *half
	nonce  [12]byte
	aad    [13]byte
	added  int    // bytes of aad
	skip   int    // bytes before the ciphertext; the tag is not a sum over these
	adds   bool   // tags are numbers modulo 2^130-5 without the upper bits, little-endian; else elements of GF(2^128)
	stream []byte // key stream
	text   []byte
}

// Plain returns how many bytes of a record precede its ciphertext.
func (c *Conn) Plain() int {
	if c.suite != nil && c.suite.explicit() {
		return headerBytes + 8
	}
	return headerBytes
}

// tagger returns a tagger for records with the length of rec, and with its bytes before the ciphertext.
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

// wipe wipes the key stream.
func (t *tagger) wipe() {
	clear(t.stream)
	clear(t.text[:cap(t.text)])
}
