package reassembly

import (
	"bytes"
	"slices"

	"github.com/sealane/sealane/gateway/internal/held"
	"github.com/sealane/sealane/gateway/internal/packet"
	"github.com/sealane/sealane/gateway/internal/tls"
)

// The next bytes of a direction are fed to TLS as they arrive. Bytes of a beginning are kept, too. When TLS stops, it
// returns the unread bytes, which are then held like those that arrived ahead.

// Segment processes a segment of a connection, unless it is simply the next one of an Idle direction. data is the
// payload of the packet from, possibly without its first bytes. If from is nil, the class of the bytes is unknown.
func (r *Reassembler) Segment(p *Pair, side uint8, seq uint32, data []byte, from *packet.Segment, now int64) Result {
	r.now = now
	d, class := r.direction(p, int(side)), held.ClassOf(from)
	if d.phase.early() && !d.held.Doubt && seq == *p.Next[side] && !p.TLS.Proved(side) && !d.held.Behind(seq) && d.held.Bytes+len(data) < maxBeginning &&
		len(d.held.Segs) < held.MaxCrowd && r.Pool.Room(len(data)) && !p.TLS.InDispute(side) {
		// The usual case: a handshake in order.
		d.begin(seq)
		d.Since = now
		r.order++
		*p.Next[side] += uint32(len(data))
		d.mark, d.order = max(d.mark, r.Dec.Mark), r.order
		r.Dec.Feed(p.TLS, side, data)
		if r.opens(p, side, len(data)) {
			p.authentic(side, class, len(data))
			r.release(p, int(side))
			return Taken
		}
		if !d.held.Joins(&r.Pool, seq, class, r.order, p.newest, data) {
			d.held.Insert(&r.Pool, seq, class, r.order, r.Dec.Mark, data)
		}
		p.keeps(r.order)
		r.settle(p, side, false)
		return Taken
	}
	r.Dec.Flush(p.TLS)
	r.collect(p, side)
	d.earn(p, len(data))
	d.last, d.lastBytes = seq, len(data)
	if from != nil {
		if at, is := from.Urgent(); is && at-r.base(p, d, side) < held.MaxBytes && !slices.Contains(d.urgent, at) {
			d.urgent = append(d.urgent[max(len(d.urgent)-maxUrgent+1, 0):], at)
		}
	}
	result := r.segment(p, d, side, seq, data, class)
	if result != Repeated || !r.settled(p) {
		r.settle(p, side, false)
	}
	return result
}

// opens reports whether the last n bytes of a handshake in order opened a record, and nothing unusual has happened.
// Then the direction streams, and none of its bytes need be held.
func (r *Reassembler) opens(p *Pair, side uint8, n int) bool {
	other := 1 - side
	return p.TLS.Opened(side) && !p.TLS.InDispute(side) && !p.TLS.Searching(side) &&
		len(r.Dec.Pending(p.TLS, side)) < n && !p.TLS.InDispute(other) && (p.Dir[other] == nil || !p.TLS.Proved(other))
}

// settled reports whether settle would change nothing, provided that no bytes have arrived since its last call.
func (r *Reassembler) settled(p *Pair) bool {
	for side, d := range p.Dir {
		switch {
		case d == nil:
			if p.TLS.InDispute(uint8(side)) {
				return false
			}
		case d.phase.early() && p.News(), d.phase == again, d.phase == streaming, d.phase == contested && d.credit >= 0:
			return false
		}
	}
	return true
}

func (r *Reassembler) segment(p *Pair, d *Direction, side uint8, seq uint32, data []byte, class held.Class) Result {
	next := p.Next[side]
	if d.phase == unbegun {
		if seq != *next && looksLikeHello(data, side) && len(d.held.Segs) == 0 {
			*next = seq // regardless of the SYN
		}
		d.begin(*next)
	}
	if d.phase == beginning && d.held.Bytes+len(data) > maxBeginning && !d.held.Doubt && len(d.held.Segs) > 0 {
		// It waits for keys, and has no differing copies. From now on, its bytes are fed as they arrive, and no longer
		// kept.
		d.happens(opens)
		d.usual = d.held.Segs[len(d.held.Segs)-1].Class
		d.held.Prune(&r.Pool, r.base(p, d, side))
	}
	if d.phase == beginning && !d.near(seq) && tls.MayBeHello(data, side) {
		p.Maybe(side, seq) // the SYN may be forged
	}
	base := r.base(p, d, side)
	if d.phase == beginning && (d.near(seq) || base-seq < maxBeginning || looksLikeHello(data, side)) {
		base = seq // it may belong to another beginning
	}
	if old := base - seq; int32(old) > 0 {
		if uint64(old) >= uint64(len(data)) {
			r.Stats.Repeated++
			return Repeated
		}
		seq, data = seq+old, data[old:]
	}
	if seq-base > held.MaxAhead {
		r.Stats.Unrelated++
		return Unrelated
	}
	ahead := int32(seq - *next)
	if missing, behind := p.missing(d, side); !behind && (held.After(seq, missing) || !p.Stalled(side)) {
		d.Since = r.now // bytes are missing from now on
	}
	if d.phase == beginning {
		if r.begin(p, d, side, seq, data, class) == Repeated {
			return Repeated
		}
	} else if d.phase.stopped() || ahead > 0 || p.TLS.Searching(side) {
		if r.keep(p, d, side, seq, data, class) == Repeated {
			return Repeated
		}
	} else {
		// These bytes were fed to TLS, and no tag has confirmed them.
		if n := min(-int(ahead), len(data)); n > 0 {
			pending := r.Dec.Pending(p.TLS, side)
			if at := int(seq - base); at+n <= len(pending) && !bytes.Equal(pending[at:at+n], data[:n]) {
				r.Stats.Conflicts++
				d.held.Doubt = true
				return r.keep(p, d, side, seq, data, class)
			}
			if data = data[n:]; len(data) == 0 {
				r.Stats.Repeated++
				return Repeated
			}
		}
		*next += uint32(len(data))
		r.order++
		d.feeds(*next, r.order, class)
		r.Dec.Feed(p.TLS, side, data)
		return Taken
	}
	if ahead > 0 {
		r.Stats.Reordered++
		return Held
	}
	return Taken
}

// begin starts a direction at a sequence number, if it has not begun.
func (d *Direction) begin(seq uint32) {
	if d.phase == unbegun {
		d.origin, d.maybe[0] = seq, seq
		d.happens(begins)
	}
}

// near reports whether a sequence number is within one of the possible beginnings of a direction.
func (d *Direction) near(seq uint32) bool {
	return seq-d.origin < maxBeginning ||
		slices.ContainsFunc(d.maybe[:], func(at uint32) bool { return at != 0 && seq-at < maxBeginning })
}

// base returns the sequence number of the first byte that no tag has confirmed.
func (r *Reassembler) base(p *Pair, d *Direction, side uint8) uint32 {
	if d.phase.early() {
		return d.origin
	}
	return r.Confirmed(p, side)
}

// collect takes back the bytes that TLS has not read, if it has stopped.
func (r *Reassembler) collect(p *Pair, side uint8) {
	if !p.TLS.InDispute(side) {
		return
	}
	b := r.Dec.TakeHeld(p.TLS, side)
	d := r.direction(p, int(side))
	if d.phase.early() && !p.TLS.Proved(side) {
		if len(b) > 0 {
			d.base = *p.Next[side] - uint32(len(b))
		}
		d.held.Doubt = true
		return // all bytes are still held
	}
	if len(b) == 0 && d.phase.stopped() {
		return
	}
	next := p.Next[side]
	base := *next - uint32(len(b))
	if !d.phase.stopped() {
		d.happens(stops)
		d.base, d.failed = base, d.failed[:0]
		r.Stats.Contested++
		d.Since = r.now
		d.held.Prune(&r.Pool, base)
	}
	*next = d.base
	fed := d.fed
	for at := base; len(b) > 0; {
		n, order, class := min(len(b), 1<<15), uint64(0), held.Class{}
		for len(fed) > 0 && !held.After(fed[0].end, at) {
			fed = fed[1:]
		}
		if len(fed) > 0 {
			n, order, class = min(n, int(fed[0].end-at)), fed[0].order, fed[0].class
		}
		if x := d.held.Novel(at, b[:n], class, p.Usual[side]); !x.Known {
			d.held.Doubt = d.held.Doubt || x.Conflict
			d.held.Insert(&r.Pool, at, class, order, r.Dec.Mark, b[:n])
		}
		at, b = at+uint32(n), b[n:]
	}
	d.fed = d.fed[:0]
}

// feeds records the arrival and class of bytes that are fed to TLS.
func (d *Direction) feeds(end uint32, order uint64, class held.Class) {
	if len(d.fed) == maxFed {
		d.fed = append(d.fed[:0], d.fed[maxFed/2:]...)
	}
	d.fed = append(d.fed, fed{end, order, class})
}

// settle reads both directions as far as possible, after bytes of one side have arrived. If deep, for a direction that
// is stalled or ends, it tries more copies.
func (r *Reassembler) settle(p *Pair, side uint8, deep bool) {
	for s := range uint8(2) {
		d := p.Dir[s]
		if d == nil && !p.TLS.InDispute(s) {
			continue
		}
		r.collect(p, s)
		if d = p.Dir[s]; d == nil {
			continue
		}
		if d.phase.early() {
			r.advance(p, d, s)
			if p.TLS.Proved(s) {
				r.prove(p, d, s, nil)
			} else if (d.held.Doubt || p.Contested() && d.held.Bytes <= maxStart) && d.phase == beginning && s == side && (p.News() || deep) && r.replay(p, deep) {
				// In a direction without differing copies, bytes after maxStart do not change the result.
				r.play(p, nil)
				r.settle(p, 1-side, deep)
			}
			if d = p.Dir[s]; d == nil || d.phase.early() {
				continue
			}
		}
		if d.usual.Known && p.TLS.Proved(s) {
			p.authentic(s, d.usual, 0)
			d.usual = held.Class{}
		}
		if p.TLS.Searching(s) && (s != side || !r.hunt(p, d, s, d.last, d.lastBytes, 0)) {
			continue
		}
		if !d.phase.stopped() {
			r.stream(p, d, s)
		}
		for d.phase == contested && r.try(p, d, s, deep) == tls.Taken {
			d.happens(opens)
			r.Stats.Settled++
			r.stream(p, d, s)
			d.Since = r.now
		}
		d.happens(settles)
		if !d.phase.stopped() && len(d.held.Segs) == 0 && len(d.urgent) == 0 {
			r.release(p, int(s))
		}
	}
}

// stream feeds held bytes in order, until bytes are missing or a record does not open.
func (r *Reassembler) stream(p *Pair, d *Direction, side uint8) {
	r.advance(p, d, side)
	if !d.phase.stopped() && (d.held.Doubt || len(d.urgent) > 0) {
		// The incomplete record in TLS may never become complete, while another copy of its bytes already is.
		base := r.base(p, d, side)
		copied := d.held.Doubt && slices.ContainsFunc(d.held.Over(base, *p.Next[side]), func(s held.Seat) bool { return s.Within(base, *p.Next[side]) })
		if len(r.Dec.Pending(p.TLS, side)) > 0 && (copied || d.urges(base, *p.Next[side]) && p.TLS.Protected(side)) {
			r.Dec.Stop(p.TLS, side)
			r.collect(p, side)
		}
	}
	if !d.phase.stopped() {
		base := r.base(p, d, side)
		d.urgent = slices.DeleteFunc(d.urgent, func(at uint32) bool { return held.After(base, at) })
		d.held.Prune(&r.Pool, base)
	}
}

// urges reports whether there is an urgent byte between two sequence numbers.
func (d *Direction) urges(from, to uint32) bool {
	return slices.ContainsFunc(d.urgent, func(at uint32) bool { return at-from < to-from })
}

func (r *Reassembler) advance(p *Pair, d *Direction, side uint8) {
	next := p.Next[side]
	for !d.phase.stopped() {
		if p.TLS.InDispute(side) {
			r.collect(p, side)
			return
		}
		s := r.best(p, d, side, *next)
		if s.Segment == nil {
			return
		}
		r.feed(p, d, side, s, nil)
	}
}

// feed feeds the next bytes from a segment, or as many bytes of instead, if that is not empty.
func (r *Reassembler) feed(p *Pair, d *Direction, side uint8, s held.Seat, instead []byte) {
	next, mark := p.Next[side], r.Dec.Mark
	if d.phase <= again {
		d.mark, d.order = max(d.mark, s.Mark), max(d.order, s.Order)
		r.Dec.Mark = d.mark
	}
	b := s.From(*next)
	if len(instead) > 0 {
		b = instead[:min(len(b), len(instead))]
	} else {
		d.Since = r.now
	}
	*next += uint32(len(b))
	d.feeds(*next, s.Order, s.Class)
	r.Dec.Feed(p.TLS, side, b)
	r.Dec.Mark = mark
	if !d.phase.early() && !p.TLS.InDispute(side) {
		d.held.Prune(&r.Pool, r.base(p, d, side))
	}
}

// best returns the segment with which to continue at a sequence number. Among those of the highest rank, it is the
// first or the last to arrive, depending on the policy.
func (r *Reassembler) best(p *Pair, d *Direction, side uint8, at uint32) (best held.Seat) {
	most := -1
	for _, s := range d.held.At(at) {
		if s.From(at) == nil {
			continue
		}
		if n := s.Class.Rank(p.Usual[side]); n > most || n == most && (s.Order < best.Order) == (d.policy&1 == 0) {
			best, most = s, n
		}
	}
	return best
}
