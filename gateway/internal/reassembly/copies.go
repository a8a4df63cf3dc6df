package reassembly

import (
	"bytes"
	"cmp"
	"hash/maphash"
	"slices"

	"github.com/sealane/sealane/gateway/internal/tls"
)

// A record of which copies differ is put together in one order of copies after the other, and tried, until it opens or
// there is no work left for it.

// A policy is an order of copies. The first ones come first, or the last ones; rank goes before that, or not.
const policies = 4

// arrange puts those segments that overlap a range into the order in which they are painted: the best last. Of copies that begin and
// end together there is the best.
func (r *Reassembler) arrange(d *Direction, usual Class, base, end uint32, policy uint8) []seat {
	before := func(a, b seat) int {
		if policy < 2 {
			if x, y := a.Class().rank(usual), b.Class().rank(usual); x != y {
				return x - y
			}
		}
		if (a.order > b.order) == (policy&1 == 0) {
			return -1
		}
		return 1
	}
	l := r.list[:0]
	for _, s := range d.held.over(base, end) {
		switch n := len(l); {
		case !s.within(base, end):
		case n == 0 || l[n-1].seq != s.seq || l[n-1].end != s.end:
			l = append(l, s)
		case before(l[n-1], s) < 0:
			l[n-1] = s
		}
	}
	slices.SortStableFunc(l, before)
	r.list = l
	return l
}

// perPainted is what a segment costs that is put into its place, in bytes that are opened.
const perPainted = 256

// paint puts the bytes from base on into b. It returns what that costs.
func (d *Direction) paint(list []seat, base uint32, b []byte) (n int) {
	for _, s := range list {
		if at := int32(s.seq - base); at >= 0 {
			if int(at) < len(b) {
				n += copy(b[at:], s.buf) / 4
			}
		} else if int(-at) < len(s.buf) {
			n += copy(b, s.buf[-at:]) / 4
		}
		n += perPainted
	}
	return n
}

// frame returns how long a record with a header is, or 0 if it is none.
func frame(b []byte) int {
	n := 5 + int(b[3])<<8 + int(b[4])
	if b[0] < 20 || b[0] > 23 || b[1] != 3 || b[2] > 4 || n == 5 || n > maxRecord {
		return 0
	}
	return n
}

// try looks for copies with which the record at base opens.
func (r *Reassembler) try(p *Pair, d *Direction, side uint8) bool {
	defer func(a arena) { r.arena = a }(r.arena)
	base := d.base
	d.fresh, d.postponed = false, false
	have := int(d.held.unbroken(base, maxRecord) - base)
	if have < 5 {
		return false
	}
	usual := p.Usual[side]
	end := base + uint32(have)
	done, stop := false, false
	// attempt tries the record that b begins with, without some bytes that are urgent, and returns its bytes.
	attempt := func(b []byte, urgent int) []byte {
		n := frame(b)
		if skip := p.TLS.Prefix(side, b); skip > 0 && len(b)-skip >= 5 {
			n = skip + frame(b[skip:])
		}
		if n == 0 || n > len(b) {
			return b
		}
		h := maphash.Bytes(r.seed, b[:n]) ^ d.salt
		if slices.Contains(d.failed, h) {
			return b[:n]
		}
		if d.credit < 0 || len(d.failed) >= maxFailed {
			r.Stats.Deferred++
			stop, d.fresh = true, true
			return b[:n]
		}
		trials := r.Dec.Stats.Trials
		outcome := r.Dec.TryRecord(p.TLS, side, b[:n])
		d.credit -= tls.TrialBytes(n) * int(1+r.Dec.Stats.Trials-trials)
		switch outcome {
		case tls.Taken:
			if urgent == 0 {
				r.learn(p, d, side, base, b[:n])
			}
			d.base += uint32(n + urgent)
			*p.Next[side] = d.base
			d.phase, d.failed, d.looks, done = streaming, d.failed[:0], 0, true
		case tls.Refused:
			d.failed = append(d.failed, h)
		case tls.Postponed:
			stop, d.fresh, d.postponed = true, true, true
		}
		return b[:n]
	}
	// test tries it with all bytes, and then without those of which any may be none of the stream.
	test := func(b []byte) []byte {
		rec := attempt(b, 0)
		for ways := 1; ways < 1<<len(d.urgent) && !done && !stop; ways++ {
			if x, n := d.lacking(ways, base, b, r.arena.take(len(b))); n > 0 {
				attempt(x, n)
			}
		}
		return rec
	}
	// one paints in an order, and tries what that gives.
	one := func(list []seat) []byte {
		b := r.record[:have]
		if d.credit < 0 {
			r.Stats.Deferred++
			stop, d.fresh = true, true
			return b
		}
		d.credit -= d.paint(list, base, b)
		return test(b)
	}
	if d.credit < 0 {
		r.Stats.Deferred++
		d.fresh = true
		return false
	}
	var first []byte
	for i := range uint8(policies) {
		policy := d.policy ^ i
		b := one(r.arrange(d, usual, base, end, policy))
		if done {
			d.policy = policy
			return true
		}
		if stop {
			return false
		}
		if i == 0 {
			first = append(r.other[:0], b...)
			if !d.conflict {
				return false
			}
		}
	}
	// Copies of its header come first: they say how long it is.
	list := slices.DeleteFunc(slices.Clone(d.held.over(base, end)), func(s seat) bool { return !s.within(base, end) })
	var heads [][]byte
	r.alternatives(d, usual, base, 5, func(head []byte) bool {
		if n := frame(head); n > 0 && n <= have {
			heads = append(heads, head)
		}
		return len(heads) < maxHellos
	})
	if d.deep {
		// Whoever says all of a place again, or before, says each part as often; what was lost on its way comes last.
		last := slices.MaxFunc(list, func(a, b seat) int { return cmp.Compare(a.order, b.order) })
		for _, said := range d.nth(list) {
			copy(r.record, first)
			for _, some := range [][]seat{said, {last}} {
				if one(some); done || stop {
					return done
				}
			}
		}
	}
	for _, head := range heads {
		if d.deep && r.sumUp(p, d, side, list, head, func(b []byte) bool { test(b); return done || stop }) {
			return done
		}
	}
	// The ways through the copies, the likeliest first.
	most := fewWays
	if d.deep {
		most = maxWays
	}
	for _, head := range heads {
		ways := 0
		r.alternatives(d, usual, base, frame(head), func(b []byte) bool {
			if bytes.Equal(b[:5], head) {
				test(b)
				ways++
			}
			return ways < most && !done && !stop
		})
		if done || stop {
			return done
		}
	}
	return false
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
		size := frame(all)
		for n < len(cuts) && cuts[n] < size {
			n++
		}
	}
	return all, n
}

// nth parts a list by how many segments came before with a byte of the same place.
func (d *Direction) nth(list []seat) (all [][]seat) {
	for _, s := range list {
		n := 0
		for _, o := range d.held.over(s.seq, s.end) {
			if o.order < s.order && o.within(s.seq, s.end) {
				n++
			}
			d.credit--
		}
		for len(all) <= n {
			all = append(all, nil)
		}
		all[n] = append(all[n], s)
	}
	return all
}

// learn remembers what the packets are like that were authenticated: those whose bytes are in what has opened.
func (r *Reassembler) learn(p *Pair, d *Direction, side uint8, base uint32, b []byte) {
	for _, s := range d.held.over(base, base+uint32(len(b))) {
		if !s.within(base, base+uint32(len(b))) {
			continue
		}
		x, y := b, s.buf
		if at := int32(s.seq - base); at >= 0 {
			x = b[at:]
		} else {
			y = s.from(base)
		}
		if n := min(len(x), len(y)); n >= 5 && same(x, y) == n && s.Class().Known {
			p.authentic(side, s.Class(), len(s.buf))
		}
	}
}
