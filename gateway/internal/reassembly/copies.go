package reassembly

import (
	"bytes"
	"cmp"
	"hash/maphash"
	"slices"

	"github.com/sealane/sealane/gateway/internal/held"
	"github.com/sealane/sealane/gateway/internal/tls"
)

// A record of which copies differ is put together in one order of copies after the other, and tried, until it opens or
// there is no work left for it.

// paint puts the bytes that are held from a place on into b, in an order of copies.
func (r *Reassembler) paint(d *Direction, usual held.Class, policy uint8, at uint32, b []byte) {
	d.credit -= held.Paint(r.make.Arrange(&d.held, usual, at, at+uint32(len(b)), policy), at, b)
}

// alternatives calls each with the different bytes that n of them from a place on may be: see Ways.
func (r *Reassembler) alternatives(d *Direction, usual held.Class, at uint32, n int, each func(b []byte) bool) {
	r.make.Ways(&d.held, usual, at, n, r.deep, &d.credit, each)
}

// try looks for copies with which the record at base opens, and takes it. It returns Postponed if it may open once keys have come, of this
// direction or of the other one.
func (r *Reassembler) try(p *Pair, d *Direction, side uint8) (v tls.Verdict) {
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
	random := p.TLS.Random()
	suite, version := p.TLS.Suite()
	keys := maphash.Bytes(r.make.Seed, random[:]) ^ uint64(suite) ^ uint64(version)<<16 // stands for those with which records do not open
	usual := p.Usual[side]
	end := base + uint32(have)
	whole := r.make.Take(have)
	// attempt tries the record that b begins with, without some bytes that are urgent, and returns its bytes.
	attempt := func(b []byte, urgent int) []byte {
		n := tls.Frame(b)
		if skip := p.TLS.Prefix(side, b); skip > 0 && len(b)-skip >= 5 {
			n = skip + tls.Frame(b[skip:])
		}
		if n == 0 || n > len(b) {
			return b
		}
		h := maphash.Bytes(r.make.Seed, b[:n]) ^ keys
		if slices.Contains(d.failed, h) {
			return b[:n]
		}
		if spent() {
			return b[:n]
		}
		trials := r.Dec.Stats.Trials
		v = r.Dec.TryRecord(p.TLS, side, b[:n])
		d.credit -= tls.TrialBytes(n) * int(1+r.Dec.Stats.Trials-trials)
		over = v != tls.Refused
		switch v {
		case tls.Taken:
			if urgent == 0 {
				r.learn(p, d, side, base, b[:n])
			}
			d.base += uint32(n + urgent)
			*p.Next[side] = d.base
			d.failed, d.looks = d.failed[:0], 0
		case tls.Refused:
			d.failed = append(d.failed, h)
		}
		return b[:n]
	}
	// test tries it with all bytes, and then without those of which any may be none of the stream.
	test := func(b []byte) []byte {
		rec := attempt(b, 0)
		for ways := 1; ways < 1<<len(d.urgent) && !over; ways++ {
			if x, n := d.lacking(ways, base, b, r.make.Take(len(b))); n > 0 {
				attempt(x, n)
			}
		}
		return rec
	}
	// one paints in an order, and tries what that gives.
	one := func(list []held.Seat) []byte {
		b := whole
		if spent() {
			return b
		}
		d.credit -= held.Paint(list, base, b)
		return test(b)
	}
	if spent() {
		return v
	}
	var first []byte
	for i := range uint8(held.Policies) {
		policy := d.policy ^ i
		b := one(r.make.Arrange(&d.held, usual, base, end, policy))
		if v == tls.Taken {
			d.policy = policy
		}
		if over || i == 0 && !d.held.Doubt {
			return v
		}
		if i == 0 {
			first = r.make.Join(b, nil)
		}
	}
	// Copies of its header come first: they say how long it is.
	list := slices.DeleteFunc(slices.Clone(d.held.Over(base, end)), func(s held.Seat) bool { return !s.Within(base, end) })
	var heads [][]byte
	r.alternatives(d, usual, base, 5, func(head []byte) bool {
		if n := tls.Frame(head); n > 0 && n <= have {
			heads = append(heads, head)
		}
		return len(heads) < maxHellos
	})
	if r.deep {
		// Whoever says all of a place again, or before, says each part as often; what was lost on its way comes last.
		last := slices.MaxFunc(list, func(a, b held.Seat) int { return cmp.Compare(a.Order, b.Order) })
		for _, said := range d.held.Nth(list, &d.credit) {
			copy(whole, first)
			for _, some := range [][]held.Seat{said, {last}} {
				if one(some); over {
					return v
				}
			}
		}
	}
	for _, head := range heads {
		if r.deep && r.bySums(p, d, side, list, head, func(b []byte) bool { test(b); return over }) {
			return v
		}
	}
	// The ways through the copies, the likeliest first.
	most := fewWays
	if r.deep {
		most = maxWays
	}
	for _, head := range heads {
		ways := 0
		r.alternatives(d, usual, base, tls.Frame(head), func(b []byte) bool {
			if bytes.Equal(b[:5], head) {
				test(b)
				ways++
			}
			return ways < most && !over
		})
		if over {
			return v
		}
	}
	return v
}

// lacking puts bytes from a place on into x, without those urgent ones that ways says. It returns how many of them are missing in the record
// that the others begin with.
func (d *Direction) lacking(ways int, base uint32, b, x []byte) (all []byte, n int) {
	all = x[:0]
	var cuts []int
	for i, c := range b {
		if k := slices.Index(d.urgent, base+uint32(i)); k >= 0 && ways>>k&1 != 0 {
			cuts = append(cuts, len(all))
			continue
		}
		all = append(all, c)
	}
	if len(all) >= 5 {
		size := tls.Frame(all)
		for n < len(cuts) && cuts[n] < size {
			n++
		}
	}
	return all, n
}

// learn remembers what the packets are like that were authenticated: those whose bytes are in what has opened.
func (r *Reassembler) learn(p *Pair, d *Direction, side uint8, base uint32, b []byte) {
	for _, s := range d.held.Over(base, base+uint32(len(b))) {
		if !s.Within(base, base+uint32(len(b))) {
			continue
		}
		x, y := b, s.Buf
		if at := int32(s.Seq - base); at >= 0 {
			x = b[at:]
		} else {
			y = s.From(base)
		}
		if n := min(len(x), len(y)); n >= 5 && held.Same(x, y) == n && s.Class().Known {
			p.authentic(side, s.Class(), len(s.Buf))
		}
	}
}
