package reassembly

import (
	"bytes"
	"cmp"
	"hash/maphash"
	"iter"
	"slices"

	"github.com/sealane/sealane/gateway/internal/held"
	"github.com/sealane/sealane/gateway/internal/tls"
)

// If copies of a record differ, the gateway assembles the record in one order of copies after the other, then along
// paths through the copies. It tries each candidate, until one opens or the work is used up.

// some returns at most `most` candidates for the n bytes from at on: the likeliest that are wanted.
func (r *Reassembler) some(d *Direction, usual held.Class, at uint32, n, most int, deep bool, wanted func(b []byte) bool) (all [][]byte) {
	r.make.Ways(&d.held, usual, at, n, deep, &d.credit, func(b []byte) bool {
		if wanted(b) {
			all = append(all, b)
		}
		return len(all) < most
	})
	return all
}

// try searches for copies with which the record at base opens, and accepts it. It returns Postponed if the record may
// open later, when keys of either direction have arrived.
func (r *Reassembler) try(p *Pair, d *Direction, side uint8, deep bool) (v tls.Verdict) {
	over := false // one opens or is postponed, or the work is used up
	defer func(a held.Arena) {
		switch r.make.Arena = a; {
		case !over:
			d.happens(fails)
		case v != tls.Taken:
			d.happens(comes) // not all copies were tried
		}
	}(r.make.Arena)
	v = tls.Refused
	base := d.base
	have := int(d.held.Unbroken(base, held.MaxRecord) - base)
	if have < 5 {
		return v
	}
	spent := func() bool {
		if d.credit < 0 || len(d.failed) >= maxFailed {
			r.Stats.Deferred++
			over = true
		}
		return over
	}
	if spent() {
		return v
	}
	random := p.TLS.Random()
	suite, version := p.TLS.Suite()
	keys := maphash.Bytes(r.make.Seed, random[:]) ^ uint64(suite) ^ uint64(version)<<16 // the keys of the trials
	for b := range r.copies(p, d, side, have, deep) {
		// First with all bytes, then without each combination of urgent bytes: these may not belong to the stream.
		for ways := 0; ways < 1<<len(d.urgent); ways++ {
			x, urgent := b, 0
			if ways > 0 {
				if x, urgent = d.lacking(ways, base, b, r.make.Take(len(b))); urgent == 0 {
					continue
				}
			}
			n := tls.Frame(x)
			if skip := p.TLS.Prefix(side, x); skip > 0 && len(x)-skip >= 5 {
				n = skip + tls.Frame(x[skip:])
			}
			if n == 0 || n > len(x) {
				continue
			}
			h := maphash.Bytes(r.make.Seed, x[:n]) ^ keys
			if slices.Contains(d.failed, h) {
				continue
			}
			trials := r.Dec.Stats.Trials
			v = r.Dec.TryRecord(p.TLS, side, x[:n])
			d.credit -= tls.TrialBytes(n) * int(1+r.Dec.Stats.Trials-trials)
			if v == tls.Refused {
				d.failed = append(d.failed, h)
				continue
			}
			if over = true; v == tls.Taken {
				if urgent == 0 {
					r.learn(p, d, side, base, x[:n])
				}
				d.base += uint32(n + urgent)
				*p.Next[side] = d.base
				d.failed, d.looks = d.failed[:0], 0
			}
			return v
		}
		if spent() {
			return v
		}
	}
	return v
}

// copies yields candidates for the `have` bytes from base on, the likeliest first.
func (r *Reassembler) copies(p *Pair, d *Direction, side uint8, have int, deep bool) iter.Seq[[]byte] {
	return func(yield func(b []byte) bool) {
		base, usual, whole := d.base, p.Usual[side], r.make.Take(have)
		end := base + uint32(have)
		one := func(list []held.Seat) bool {
			d.credit -= held.Paint(list, base, whole)
			return yield(whole)
		}
		var first []byte
		policy := d.policy
		for i := range uint8(held.Policies) {
			d.policy = policy ^ i // it stays if the record opens
			if !one(r.make.Arrange(&d.held, usual, base, end, d.policy)) {
				return
			}
			if i == 0 {
				if !d.held.Doubt {
					return
				}
				first = r.make.Join(whole, nil)
			}
		}
		d.policy = policy
		// The copies of the header come first, because they contain the length.
		heads := r.some(d, usual, base, 5, maxHellos, deep, func(head []byte) bool {
			n := tls.Frame(head)
			return n > 0 && n <= have
		})
		most := fewWays
		if deep {
			most = maxWays
			list := slices.DeleteFunc(slices.Clone(d.held.Over(base, end)), func(s held.Seat) bool { return !s.Within(base, end) })
			// If forged segments copy the whole record, before or after it, they repeat each part of it equally often.
			// So the genuine segments all have the same number of earlier copies. A retransmitted one is the last
			// segment.
			last := slices.MaxFunc(list, func(a, b held.Seat) int { return cmp.Compare(a.Order, b.Order) })
			for _, said := range d.held.Nth(list, &d.credit) {
				if copy(whole, first); !one(said) || !one([]held.Seat{last}) {
					return
				}
			}
			for _, head := range heads {
				if r.bySums(p, d, side, list, head, func(b []byte) bool { return !yield(b) }) {
					return
				}
			}
		}
		// Paths through the copies, the likeliest first.
		more := true
		for _, head := range heads {
			ways := 0
			r.make.Ways(&d.held, usual, base, tls.Frame(head), deep, &d.credit, func(b []byte) bool {
				if bytes.Equal(b[:5], head) {
					more = yield(b)
					ways++
				}
				return more && ways < most
			})
			if !more {
				return
			}
		}
	}
}

// lacking copies b, which starts at base, into x. It omits the urgent bytes whose bits are set in ways. It returns the
// result, and how many of the omitted bytes lie within the first record of it.
func (d *Direction) lacking(ways int, base uint32, b, x []byte) (all []byte, n int) {
	all = x[:0]
	for i, c := range b {
		if k := slices.Index(d.urgent, base+uint32(i)); k < 0 || ways>>k&1 == 0 {
			all = append(all, c)
		} else if len(all) < 5 || len(all) < tls.Frame(all) {
			n++
		}
	}
	return all, n
}

// learn records the class of the packets whose bytes are part of the opened bytes b.
func (r *Reassembler) learn(p *Pair, d *Direction, side uint8, base uint32, b []byte) {
	for _, s := range d.held.Over(base, base+uint32(len(b))) {
		if own, opened := s.Overlap(base, b); len(own) >= 5 && bytes.Equal(own, opened) && s.Class.Known {
			p.authentic(side, s.Class, len(s.Buf))
		}
	}
}

// places returns the parts of a record in which copies differ, between its bytes `from` and n. It also returns its
// first n bytes, with the first copy of each part. ok is false if there are too few copies or too many.
func places(list []held.Seat, base uint32, from, n int) (b []byte, all []tls.Place, ok bool) {
	b = make([]byte, n)
	total, size := 0, 0
	for at := from; at < n; at += size {
		size = n - at
		for _, s := range list { // the part ends where a segment starts or ends
			for _, cut := range [...]uint32{s.Seq, s.End} {
				if k := int(int32(cut-base)) - at; k > 0 {
					size = min(size, k)
				}
			}
		}
		s := tls.Place{At: at}
		for _, o := range list {
			x := o.From(base + uint32(at))
			if len(x) >= size && !slices.ContainsFunc(s.Copies, func(o []byte) bool { return bytes.Equal(o, x[:size]) }) {
				s.Copies = append(s.Copies, x[:size])
			}
		}
		if len(s.Copies) == 0 {
			return nil, nil, false
		}
		copy(b[at:], s.Copies[0])
		if len(s.Copies) > 1 {
			all = append(all, s)
			total += len(s.Copies) - 1
		}
	}
	return b, all, len(all) > 0 && len(all) <= tls.MostPlaces && total <= tls.MostCopies
}

// bySums searches for a record with this header by sums of tags. It combines the likeliest copies of the bytes before
// the ciphertext with those of the tag.
func (r *Reassembler) bySums(p *Pair, d *Direction, side uint8, list []held.Seat, head []byte, test func(b []byte) bool) bool {
	n, skip, usual := tls.Frame(head), p.TLS.Plain(), p.Usual[side]
	if n < skip+tls.TagBytes {
		return false
	}
	tags := r.some(d, usual, d.base+uint32(n-tls.TagBytes), tls.TagBytes, maxHellos, true, func([]byte) bool { return true })
	for _, front := range r.some(d, usual, d.base, skip, maxHellos, true, func(b []byte) bool { return bytes.HasPrefix(b, head) }) {
		for _, tag := range tags {
			b, all, ok := places(list, d.base, len(front), n-tls.TagBytes)
			if copy(b, front); ok && r.Dec.BySums(p.TLS, side, append(b, tag...), all, &d.credit, test) {
				return true
			}
		}
	}
	return false
}
