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
}

// number is a tag, or a difference of tags.
type number struct{ hi, lo uint64 }

// sums has the arithmetic of tags.
type sums struct{ adds bool }

func (s sums) of(tag [tagBytes]byte) number {
	return number{binary.LittleEndian.Uint64(tag[8:]), binary.LittleEndian.Uint64(tag[:])}
}

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
	if !s.adds {
		return number{a.hi ^ b.hi, a.lo ^ b.lo}
	}
	lo, borrow := bits.Sub64(a.lo, b.lo, 0)
	hi, _ := bits.Sub64(a.hi, b.hi, borrow)
	return number{hi, lo}
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

// halve cuts places into two parts with about as many sums; false if these are too many.
func halve(all []place) (left, right []place, ok bool) {
	ways := func(part []place) int {
		n := 1
		for _, s := range part {
			if n *= len(s.copies); n > mostSums {
				return mostSums + 1
			}
		}
		return n
	}
	for cut := range len(all) + 1 {
		if ways(all[:cut]) >= ways(all[cut:]) {
			return all[:cut], all[cut:], ways(all[:cut]) <= mostSums && ways(all[cut:]) <= mostSums
		}
	}
	return nil, nil, false
}

// each calls f with the number of every way through the places of a half, and its sum, until it returns true.
func (s sums) each(h half, f func(way int, sum number) bool) bool {
	var walk func(k, way int, sum number) bool
	walk = func(k, way int, sum number) bool {
		if k == len(h.places) {
			return f(way, sum)
		}
		for i := range h.places[k].copies {
			if walk(k+1, way*len(h.places[k].copies)+i, s.add(sum, h.adds[k][i])) {
				return true
			}
		}
		return false
	}
	return walk(0, 0, number{})
}

// put puts the bytes of a way into a record.
func put(b []byte, part []place, way int) {
	for k := len(part) - 1; k >= 0; k-- {
		n := len(part[k].copies)
		copy(b[part[k].at:], part[k].copies[way%n])
		way /= n
	}
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
	left, right, ok := halve(all)
	total := 2
	for _, s := range all {
		total += len(s.copies) - 1
	}
	cost := total * tls.TrialBytes(n)
	if !ok || d.credit < cost {
		return false
	}
	d.credit -= cost
	t, ok := r.Dec.Tagger(p.TLS, side, b)
	if !ok {
		return false
	}
	defer t.Wipe()
	s := sums{t.Adds}
	first := s.of(t.Tag(b))
	adds := s.differences(t, b, first, all)
	defer wipe(adds)
	want := s.sub(s.of([tagBytes]byte(tag)), first)
	k := len(left)
	return s.meet(d, want, half{left, adds[:k]}, half{right, adds[k:]}, func(l, r int) bool {
		put(b, left, l)
		put(b, right, r)
		return test(b)
	})
}

// differences returns what each copy adds to the tag of a record that has the first of all.
func (s sums) differences(t *tls.Tagger, b []byte, first number, all []place) (adds [][]number) {
	for _, x := range all {
		of := make([]number, len(x.copies))
		for i, c := range x.copies[1:] {
			copy(b[x.at:], c)
			of[i+1] = s.sub(s.of(t.Tag(b)), first)
		}
		copy(b[x.at:], x.copies[0])
		adds = append(adds, of)
	}
	return adds
}

// wipe forgets what copies add: who has that has what the key makes of each block.
func wipe(adds [][]number) {
	for _, of := range adds {
		clear(of)
	}
}

// A half are some of the places of a record.
type half struct {
	places []place
	adds   [][]number
}

// meet calls found for ways through both halves that together add what is wanted, until it returns true.
func (s sums) meet(d *Direction, want number, left, right half, found func(left, right int) bool) bool {
	known := make(map[number]way)
	defer clear(known)
	s.each(left, func(n int, sum number) bool {
		known[s.near(sum)] = way{n, sum}
		return false
	})
	d.credit -= len(known) * perSum
	done := false
	s.each(right, func(n int, sum number) bool {
		rest := s.sub(want, sum)
		d.credit -= perSum
		for _, at := range [...]number{s.near(s.sub(rest, s.slack())), s.near(s.add(rest, s.slack()))} {
			if other, there := known[at]; there && s.same(rest, other.sum) {
				if done = found(other.number, n); done {
					return true
				}
			}
			if !s.adds {
				break
			}
		}
		return d.credit < 0
	})
	return done
}

// A way goes through half of the places, and has a number.
type way struct {
	number int
	sum    number
}

// Numbers mod 2^130-5 that pass it lose a multiple of it: of the bits that tags have, a multiple of 5 is gained for
// each copy at most.
const (
	slackBits = 9
	slack     = 1<<(slackBits-1) - 1
)

var _ = [1]struct{}{}[5*mostPlaces/slack]

func (s sums) slack() number {
	if !s.adds {
		return number{}
	}
	return number{0, slack}
}

// near is equal for most numbers that are equal except for their gain, and otherwise for one that is slack away.
func (s sums) near(n number) number {
	if !s.adds {
		return n
	}
	return number{n.hi, n.lo >> slackBits}
}

// same tells whether two numbers are equal except for their gain.
func (s sums) same(a, b number) bool {
	if !s.adds {
		return a == b
	}
	x := s.sub(a, b)
	return x.hi == 0 && x.lo <= slack || x.hi == ^uint64(0) && -x.lo <= slack
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
