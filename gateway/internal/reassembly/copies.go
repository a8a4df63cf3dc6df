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

// A record of which copies differ is put together in one order of copies after the other, and tried, until it opens or
// there is no work left for it.

// some returns the likeliest of these that are wanted.
func (r *Reassembler) some(d *Direction, usual held.Class, at uint32, n, most int, deep bool, wanted func(b []byte) bool) (all [][]byte) {
	r.make.Ways(&d.held, usual, at, n, deep, &d.credit, func(b []byte) bool {
		if wanted(b) {
			all = append(all, b)
		}
		return len(all) < most
	})
	return all
}

// try looks for copies with which the record at base opens, and takes it. It returns Postponed if it may open once keys have come, of this
// direction or of the other one.
func (r *Reassembler) try(p *Pair, d *Direction, side uint8, deep bool) (v tls.Verdict) {
	over := false // one opens, or is postponed, or there is not enough work
	defer func(a held.Arena) {
		switch r.make.Arena = a; {
		case !over:
			d.happens(fails)
		case v != tls.Taken:
			d.happens(comes) // it has to be tried yet
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
	keys := maphash.Bytes(r.make.Seed, random[:]) ^ uint64(suite) ^ uint64(version)<<16 // stands for those with which records do not open
	for b := range r.copies(p, d, side, have, deep) {
		// With all bytes, and then without those of which any may be none of the stream.
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

// copies yields what `have` bytes from base on may be, the likeliest first.
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
			d.policy = policy ^ i // so it stays if that opens
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
		// Copies of its header come first: they say how long it is.
		heads := r.some(d, usual, base, 5, maxHellos, deep, func(head []byte) bool {
			n := tls.Frame(head)
			return n > 0 && n <= have
		})
		most := fewWays
		if deep {
			most = maxWays
			list := slices.DeleteFunc(slices.Clone(d.held.Over(base, end)), func(s held.Seat) bool { return !s.Within(base, end) })
			// Whoever says all of a place again, or before, says each part as often; what was lost on its way comes last.
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
		// The ways through the copies, the likeliest first.
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

// lacking puts bytes from a place on into x, without those urgent ones that ways says. It returns how many of them are missing in the record
// that the others begin with.
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

// learn remembers what the packets are like that were authenticated: those whose bytes are in what has opened.
func (r *Reassembler) learn(p *Pair, d *Direction, side uint8, base uint32, b []byte) {
	for _, s := range d.held.Over(base, base+uint32(len(b))) {
		if own, opened := s.Overlap(base, b); len(own) >= 5 && bytes.Equal(own, opened) && s.Class.Known {
			p.authentic(side, s.Class, len(s.Buf))
		}
	}
}

// places returns where copies of a record differ from one of its bytes on to another, and its bytes with the first copy
// of each.
func places(list []held.Seat, base uint32, from, n int) (b []byte, all []tls.Place, ok bool) {
	b = make([]byte, n)
	total, size := 0, 0
	for at := from; at < n; at += size {
		size = n - at
		for _, s := range list { // up to where the next one begins or ends
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

// bySums looks for a record by the sums of tags, with all that one with a header may begin with before its ciphertext, and all tags that it
// may have.
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
