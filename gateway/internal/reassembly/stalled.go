package reassembly

import (
	"math"

	"github.com/sealane/sealane/gateway/internal/held"
	"github.com/sealane/sealane/gateway/internal/tls"
)

// A stalled direction has a hole, or a record that does not open. From time to time, and at its end, the gateway
// searches for a later record. Only when one opens, the bytes before it are given up.

// Acknowledged declares up to which sequence number the receiver has acknowledged a direction, if that is known.
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

// missing returns the sequence number of the first missing byte, and whether later bytes are held.
func (p *Pair) missing(d *Direction, side uint8) (at uint32, behind bool) {
	at = *p.Next[side]
	if d.phase.stopped() {
		at = d.held.Unbroken(d.base, held.MaxRecord)
	}
	return at, d.held.Behind(at)
}

// patience is the factor by which the gateway waits longer for unacknowledged bytes: the sender will repeat them.
const patience = 10

// Tick examines a stalled direction. The search for a later record starts when wait has passed since the receiver
// acknowledged the missing bytes. The record must have been held for wait, because packets may arrive out of order.
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

// press tries all copies in a direction that is stalled or ends. Then it searches for later records.
func (r *Reassembler) press(p *Pair, side uint8, wait int64, end bool) {
	r.Dec.Flush(p.TLS)
	r.collect(p, side)
	d := p.Dir[side]
	if d == nil {
		return
	}
	for s, o := range p.Dir {
		// The beginning of the other direction matters, too.
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

// seek searches for a record that opens after a hole, or after a record that does not open. It must have been held for
// wait. If one opens, the beginning of the direction is over.
func (r *Reassembler) seek(p *Pair, d *Direction, side uint8, wait int64) (found bool) {
	if !p.TLS.Protected(side) {
		return !p.TLS.Waiting() && r.concede(p, d, side)
	}
	next := *p.Next[side]
	if !d.phase.stopped() {
		if !p.TLS.InDispute(side) {
			d.base = next // if TLS has no pending bytes
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

// pass searches for a record that opens, in a direction that TLS has stopped: a copy of that at base, or a later one.
func (r *Reassembler) pass(p *Pair, d *Direction, side uint8, wait int64) bool {
	// Half of the work is for later records.
	kept := max(d.credit/2, 0)
	d.credit -= kept
	v := r.try(p, d, side, true)
	short := d.credit < 0
	if d.credit += kept; v != tls.Refused {
		return v == tls.Taken // while keys may arrive, nothing is given up
	}
	if short && d.looks < maxLooks {
		d.looks++ // an untried copy of the record may open
		return false
	}
	bad := min(len(d.failed), 1) // 1 if a complete record does not open
	if !r.further(p, d, side, d.base, maxIsland, huntNumbers[1], wait) {
		return false
	}
	r.Dec.Stats.BadRecords += uint64(bad)
	d.failed = d.failed[:0]
	return true
}

// further sifts the held bytes from base on, in contiguous parts of at most limit bytes.
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

// concede gives up missing bytes in a direction without keys, in which no record can be found.
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

// Finish reads the remaining bytes of a direction, as far as possible. No more will arrive.
func (r *Reassembler) Finish(p *Pair, side uint8, now int64) {
	r.now = now
	r.press(p, side, 0, true)
	// The rest is only counted.
	d := p.Dir[side]
	if d == nil {
		return
	}
	next := p.Next[side]
	if p.TLS.InDispute(side) {
		*next = d.base
	}
	d.happens(opens)
	// Forged segments may be spread over all sequence numbers, which wrap around. Then a next one always exists.
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
