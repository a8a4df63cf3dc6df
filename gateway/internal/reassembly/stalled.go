package reassembly

import (
	"math"

	"github.com/sealane/sealane/gateway/internal/held"
	"github.com/sealane/sealane/gateway/internal/tls"
)

// A direction that is stalled has a hole, or a record that does not open. From time to time, and at its end, a record
// behind that is looked for; only one that opens gives up what is before it.

// Acknowledged says up to where the receiver has a direction, if that is known.
func (p *Pair) Acknowledged(side uint8, ack uint32, known bool, now int64) {
	d := p.Dir[side]
	if d == nil {
		return
	}
	missing, behind := p.missing(d, side)
	was := d.receipt
	if d.receipt = lacking; !known || held.After(ack, missing) || ack == missing && !behind {
		d.receipt = received
	}
	if was == lacking && d.receipt == received {
		d.Since = now
	}
}

// missing returns the first place of which nothing is there, and whether there is something behind it.
func (p *Pair) missing(d *Direction, side uint8) (at uint32, behind bool) {
	at = *p.Next[side]
	if d.phase.stopped() {
		at = d.held.Unbroken(d.base, held.MaxRecord)
	}
	return at, d.held.Behind(at)
}

// The factor by which bytes without an acknowledgment are waited for longer: they will be sent again.
const patience = 10

// Tick looks after a direction that is stalled. Something behind it is looked for after a wait, from when the receiver
// has acknowledged what is missing. It has to be there for as long, as packets that come together may be out of order.
func (r *Reassembler) Tick(p *Pair, side uint8, now, wait int64) {
	d := p.Dir[side]
	if d == nil {
		return
	}
	if d.receipt == lacking {
		wait *= patience
	}
	if now-d.Since < wait {
		return
	}
	d.Since, r.now = now, now
	r.press(p, side, wait, false)
}

// press tries all that differs in a direction that is stalled, or ends, and looks for records behind what is missing or does not open.
func (r *Reassembler) press(p *Pair, side uint8, wait int64, end bool) {
	r.Dec.Flush(p.TLS)
	r.collect(p, side)
	d := p.Dir[side]
	if d == nil {
		return
	}
	for s, o := range p.Dir {
		// What the other one began with counts as well.
		if o != nil && (s == int(side) || end && o.phase.early() && !p.TLS.Proved(uint8(s))) {
			r.fund(p, o, end)
			o.failed = o.failed[:0]
		}
	}
	if d.phase.early() || end {
		p.asked = 0
		r.settle(p, side, end || p.Contested())
		if d = p.Dir[side]; d != nil && d.phase.early() && !p.TLS.Proved(side) {
			if r.fund(p, d, end); r.seek(p, d, side, wait) {
				r.settle(p, side, false)
			}
		}
	}
	for range 1 << 12 {
		if d = p.Dir[side]; d == nil || d.phase.early() || !p.Stalled(side) || end && !p.TLS.Protected(side) {
			return
		}
		if end {
			d.looks = maxLooks
			r.fund(p, d, true)
		}
		if !r.seek(p, d, side, wait) {
			return
		}
		r.settle(p, side, false)
		if !end && (d.credit <= burst || !p.TLS.Protected(side)) {
			return
		}
	}
}

// seek looks for a record that opens behind what is missing or does not open. It has to have been there for wait. In a direction that begins
// the beginning is over then.
func (r *Reassembler) seek(p *Pair, d *Direction, side uint8, wait int64) (found bool) {
	if !p.TLS.Protected(side) {
		return !p.TLS.Waiting() && r.concede(p, d, side)
	}
	next := *p.Next[side]
	if !d.phase.stopped() {
		if !p.TLS.InDispute(side) {
			d.base = next // for a side that has nothing pending
			r.Dec.Stop(p.TLS, side)
		}
		if p.TLS.Searching(side) {
			return r.overleap(p, d, side, wait)
		}
		if !p.TLS.InDispute(side) {
			return r.concede(p, d, side)
		}
		r.collect(p, side)
	}
	if d.phase.early() {
		*p.Next[side] = d.base
		if found = r.proof(p, d, side, func() bool { return r.pass(p, d, side, wait) }); !found {
			*p.Next[side] = next
		}
		return found
	}
	if found = r.pass(p, d, side, wait); found {
		d.happens(opens)
	}
	return found
}

// pass looks for a record that opens from base on, in a direction that TLS has stopped: copies of the next one, or one further on.
func (r *Reassembler) pass(p *Pair, d *Direction, side uint8, wait int64) bool {
	// Half of the work is for what is further on.
	kept := max(d.credit/2, 0)
	d.credit -= kept
	v := r.try(p, d, side, true)
	short := d.credit < 0
	if d.credit += kept; v != tls.Refused {
		return v == tls.Taken // nothing is missing while keys may come
	}
	if short && d.looks < maxLooks {
		d.looks++ // the record may be there, among its copies
		return false
	}
	bad := min(len(d.failed), 1) // a whole record that does not open
	if !r.further(p, d, side, d.base, maxIsland, huntNumbers[1], wait) {
		return false
	}
	r.Dec.Stats.BadRecords += uint64(bad)
	d.failed = d.failed[:0]
	return true
}

// further sifts what is held from a place on: at most limit bytes without a hole at a time.
func (r *Reassembler) further(p *Pair, d *Direction, side uint8, base uint32, limit, numbers int, wait int64) bool {
	for _, s := range d.held.Segs {
		if d.credit <= 0 || !held.After(s.End, base) {
			continue
		}
		start := base
		if held.After(s.Seq, base) {
			start = s.Seq
		}
		base = d.held.Covered(start, limit, math.MaxUint64)
		if found, _ := r.sift(p, d, side, start, base, numbers, true, wait); found {
			return true
		}
	}
	return false
}

// concede gives up what is missing in a direction that nothing can be looked for in.
func (r *Reassembler) concede(p *Pair, d *Direction, side uint8) bool {
	if d.phase.early() {
		return false
	}
	next := p.Next[side]
	i := d.held.Find(*next + 1)
	if i == len(d.held.Segs) || !held.After(d.held.Segs[i].Seq, *next) {
		return false
	}
	n := int(d.held.Segs[i].Seq - *next)
	r.Stats.Holes++
	r.Stats.HoleBytes += uint64(n)
	*next += uint32(n)
	r.Dec.Lose(p.TLS, side, n)
	return true
}

// Finish reads what can be read of a direction at its end; nothing more will come.
func (r *Reassembler) Finish(p *Pair, side uint8, now int64) {
	r.now = now
	r.press(p, side, 0, true)
	// The rest is counted.
	d := p.Dir[side]
	if d == nil {
		return
	}
	next := p.Next[side]
	if p.TLS.InDispute(side) {
		*next = d.base
	}
	d.happens(opens)
	// Forged segments may stand all around the circle of sequence numbers, where one is ahead of the next without an end.
	for passed := uint32(0); passed <= held.MaxAhead; {
		r.Dec.Flush(p.TLS)
		r.Dec.Resume(p.TLS, side)
		before := *next
		if s := r.best(p, d, side, *next); s.Segment != nil {
			r.feed(p, d, side, s, nil)
		} else if !r.concede(p, d, side) {
			break
		}
		passed += *next - before
	}
	r.release(p, int(side))
}
