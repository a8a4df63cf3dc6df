package reassembly

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"slices"

	"github.com/sealane/sealane/gateway/internal/tls"
)

// A record of twelve segments, of each of which a stranger sent one copy, has four thousand ways, and each that is
// tried costs a record. But a tag is a mask and the sum of its segments' contributions: with the tag of one way, and of
// those in which one segment is another copy, there is the tag of every way. Half of the segments have some dozens of
// sums, and so has the other half. Where a sum of one half and a sum of the other give the tag of the record, that is its way.
const (
	mostSums   = 1 << 12 // of a half
	mostPlaces = 48      // places of a record where copies differ
	mostCopies = 128     // of them all
	perSum     = 256     // what a sum costs, in bytes that are opened
	tagBytes   = 16
)

// A place is a part of a record of which there are copies that differ.
type place struct {
	at     int
	copies [][]byte // all as long
	adds   []number // what each adds to the tag of a record that has the first of all
}

// number is a tag, or a difference of tags.
type number struct{ hi, lo uint64 }

func numberOf(tag [tagBytes]byte) number {
	return number{binary.LittleEndian.Uint64(tag[8:]), binary.LittleEndian.Uint64(tag[:])}
}

// sums is the arithmetic of tags. Numbers mod 2^130-5 that pass it lose a multiple of it: of the bits that tags have, a multiple of 5 is
// gained for each copy at most. So they are looked up without their last slackBits.
type sums struct{ adds bool }

const (
	slackBits = 9
	slack     = 1<<(slackBits-1) - 1
)

var _ = [1]struct{}{}[5*mostPlaces/slack]

func (s sums) add(a, b number) number {
	if !s.adds {
		return number{a.hi ^ b.hi, a.lo ^ b.lo}
	}
	lo, carry := bits.Add64(a.lo, b.lo, 0)
	hi, _ := bits.Add64(a.hi, b.hi, carry)
	return number{hi, lo}
}

// sub undoes add.
func (s sums) sub(a, b number) number {
	if s.adds {
		b = number{^b.hi, -b.lo}
		if b.lo == 0 {
			b.hi++
		}
	}
	return s.add(a, b)
}

// near is equal for most numbers that are equal except for their gain, and otherwise for one that is slack away.
func (s sums) near(n number) number {
	if s.adds {
		n.lo >>= slackBits
	}
	return n
}

// same tells whether two numbers are equal except for their gain.
func (s sums) same(a, b number) bool {
	x := s.sub(a, b)
	return x == number{} || s.adds && (x.hi == 0 && x.lo <= slack || x.hi == ^uint64(0) && -x.lo <= slack)
}

// count returns how many ways there are through places, or more than mostSums.
func count(part []place) (n int) {
	n = 1
	for _, x := range part {
		n = min(n*len(x.copies), mostSums+1)
	}
	return n
}

// all returns the sums of all ways through places: a way's number has a digit for each of them.
func (s sums) all(part []place) []number {
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
func put(b []byte, part []place, way int) {
	for _, x := range slices.Backward(part) {
		copy(b[x.at:], x.copies[way%len(x.copies)])
		way /= len(x.copies)
	}
}

// places returns where copies of a record differ from one of its bytes on to another, and its bytes with the first copy
// of each.
func (d *Direction) places(list []seat, base uint32, from, n int) (b []byte, all []place, ok bool) {
	cuts := []int{from, n}
	for _, s := range list {
		for _, at := range [...]int{int(int32(s.seq - base)), int(int32(s.end - base))} {
			if at > from && at < n {
				cuts = append(cuts, at)
			}
		}
	}
	slices.Sort(cuts)
	cuts = slices.Compact(cuts)
	b = make([]byte, n)
	total := 0
	for k := range len(cuts) - 1 {
		at, size := cuts[k], cuts[k+1]-cuts[k]
		s := place{at: at}
		for _, o := range list {
			x := o.from(base + uint32(at))
			if len(x) >= size && !slices.ContainsFunc(s.copies, func(o []byte) bool { return bytes.Equal(o, x[:size]) }) {
				s.copies = append(s.copies, x[:size])
			}
		}
		if len(s.copies) == 0 {
			return nil, nil, false
		}
		copy(b[at:], s.copies[0])
		if len(s.copies) > 1 {
			all = append(all, s)
			total += len(s.copies) - 1
		}
	}
	return b, all, len(all) <= mostPlaces && total <= mostCopies
}

// bySums looks for the way through the copies of a record, of which the beginning and the end are front and tag, and has test try it.
func (r *Reassembler) bySums(p *Pair, d *Direction, side uint8, list []seat, front, tag []byte, test func([]byte) bool) bool {
	n := frame(front)
	b, all, ok := d.places(list, d.base, len(front), n-tagBytes)
	if !ok || len(all) == 0 {
		return false
	}
	b = append(b, tag...)
	copy(b, front)
	total, cut := 2, 0
	for _, x := range all {
		total += len(x.copies) - 1
	}
	for count(all[:cut]) < count(all[cut:]) {
		cut++
	}
	left, right := all[:cut], all[cut:]
	cost := total*tls.TrialBytes(n) + (count(left)+count(right))*perSum
	if count(left) > mostSums || count(right) > mostSums || d.credit < cost {
		return false
	}
	t, ok := r.Dec.Tagger(p.TLS, side, b)
	if !ok {
		return false
	}
	defer t.Wipe()
	d.credit -= cost
	s := sums{t.Adds}
	first := numberOf(t.Tag(b))
	for k := range all {
		x := &all[k]
		x.adds = append(x.adds, number{})
		for _, c := range x.copies[1:] {
			copy(b[x.at:], c)
			x.adds = append(x.adds, s.sub(numberOf(t.Tag(b)), first))
		}
		copy(b[x.at:], x.copies[0])
	}
	want := s.sub(numberOf([tagBytes]byte(tag)), first)
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

// sumUp is bySums for all that a record with a header may begin with before its ciphertext, and for all tags that it
// may have.
func (r *Reassembler) sumUp(p *Pair, d *Direction, side uint8, list []seat, head []byte, test func(b []byte) bool) bool {
	n, skip, usual := frame(head), p.TLS.Plain(), p.Usual[side]
	if n < skip+tagBytes {
		return false
	}
	var fronts, tags [][]byte
	collect := func(at uint32, size int, into *[][]byte) {
		r.alternatives(d, usual, at, size, func(b []byte) bool {
			if *into = append(*into, b); into == &fronts && !bytes.Equal(b[:len(head)], head) {
				*into = (*into)[:len(*into)-1]
			}
			return len(*into) < maxHellos
		})
	}
	collect(d.base, skip, &fronts)
	collect(d.base+uint32(n-tagBytes), tagBytes, &tags)
	for _, front := range fronts {
		for _, tag := range tags {
			if r.bySums(p, d, side, list, front, tag, test) {
				return true
			}
		}
	}
	return false
}
