package reassembly

import "github.com/sealane/sealane/gateway/internal/held"

// Held segments lie in order of their places, and copies side by side. The memory of all directions bounds them.
//
//	a segment comes                  there are too many            no memory
//	anywhere                         the furthest ahead goes       the direction that holds most drops its furthest segment
//	where MaxCrowd are for a record  the worst goes: see Crowded   the same
//
// Only attackers send that many for one record. A direction that begins is one crowd.

// keep puts a segment among those that are held, and makes room if there is none.
func (r *Reassembler) keep(p *Pair, d *Direction, side uint8, seq uint32, data []byte, class held.Class) Result {
	if p.spurious(side, len(data), class) {
		r.Stats.BadSums++
		return Repeated
	}
	h, usual, early := &d.held, p.Usual[side], d.phase.early()
	before := len(h.Segs)
	if h.Crowded(&r.Pool, early, seq, len(data), class, usual) {
		r.Stats.Evicted++
		return Repeated
	}
	r.Stats.Evicted += uint64(before - len(h.Segs))
	x := h.Novel(seq, data, class, usual)
	if x.Known {
		r.Stats.Repeated++
		return Repeated
	}
	if x.Copies >= held.MaxCopies {
		r.Stats.Evicted++
		if !h.Replace(&r.Pool, &x, seq, len(data), class, usual, early) {
			return Repeated
		}
	}
	r.order++
	if early && !x.Conflict && h.Joins(&r.Pool, seq, class, r.order, p.newest, data) {
		p.keeps(r.order)
		return Held
	}
	// What is missing may not come: the receiver has it, or there is no memory to wait for it.
	room := r.Pool.Room(len(data))
	many := (h.Bytes+len(data))/held.MaxBytes > h.Bytes/held.MaxBytes || len(h.Segs)%held.MaxCrowd == held.MaxCrowd-1
	if d.credit > burst/2 && !early && (!room || many && d.receipt == received) && r.seek(p, d, side, 0) {
		r.stream(p, d, side)
		return r.segment(p, d, side, seq, data, class) // it may be due now
	}
	for !r.Pool.Room(len(data)) || len(h.Segs) >= held.MaxSegments {
		if !r.furthest(d, seq) {
			r.Stats.Evicted++
			return Repeated
		}
	}
	if x.Conflict {
		r.Stats.Conflicts++
		h.Doubt = true
	}
	h.Insert(&r.Pool, seq, class, r.order, r.Dec.Mark, data)
	p.keeps(r.order)
	// One of very many copies is tried when there is time.
	if x.Copies < held.MaxCopies && int32(seq-d.base) < held.MaxRecord {
		d.happens(comes)
	}
	if r.largest == nil || h.Bytes > r.largest.held.Bytes {
		r.largest = d
	}
	return Held
}

func (p *Pair) keeps(order uint64) { p.newest, p.news = order, p.news+1 }

// furthest has the direction that holds most drop something, or this one what is further ahead than a place. It returns false if there
// is nothing.
func (r *Reassembler) furthest(d *Direction, seq uint32) bool {
	from := d
	if l := r.largest; l != nil && l.held.Bytes > d.held.Bytes && len(d.held.Segs) < held.MaxSegments {
		from = l
	}
	n := len(from.held.Segs)
	if n == 0 || from == d && !held.After(d.held.Segs[n-1].Seq, seq) {
		return false
	}
	r.Stats.Evicted++
	from.held.Remove(&r.Pool, from.held.Segs[n-1])
	return true
}

// Holds returns about how much memory a connection takes for what it holds.
func (p *Pair) Holds() (n int) {
	for _, d := range p.Dir {
		if d != nil {
			n += d.held.Bytes + len(d.held.Segs)*(held.SegmentBytes+64)
		}
	}
	return n
}

// Pay drops n bytes that a connection holds, the furthest ahead first. It returns how many it dropped.
func (r *Reassembler) Pay(p *Pair, n int) (freed int) {
	for _, d := range p.Dir {
		if d == nil {
			continue
		}
		for len(d.held.Segs) > 0 && freed < n {
			r.Stats.Evicted++
			before := r.Pool.Held
			d.held.Remove(&r.Pool, d.held.Segs[len(d.held.Segs)-1])
			freed += before - r.Pool.Held
		}
		if len(d.held.Segs) == 0 {
			d.held = held.List{Doubt: d.held.Doubt}
		}
	}
	return freed
}
