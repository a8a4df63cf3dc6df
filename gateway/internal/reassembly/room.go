package reassembly

import "github.com/sealane/sealane/gateway/internal/held"

// Held segments are sorted by sequence number, with copies side by side. All directions share the memory for them.
//
//	a segment arrives                there are too many            no memory
//	anywhere                         the last one is dropped       the direction that holds most drops its last segment
//	where MaxCrowd are for a record  see Crowded                   the same
//
// Only attackers send that many for one record. In a beginning, all segments count as if for one record.

// keep adds a segment to the held ones, and makes room if necessary.
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
	// The missing bytes may never arrive: the receiver has them, or there is no memory to wait for them.
	room := r.Pool.Room(len(data))
	many := (h.Bytes+len(data))/held.MaxBytes > h.Bytes/held.MaxBytes || len(h.Segs)%held.MaxCrowd == held.MaxCrowd-1
	if d.credit > burst/2 && !early && (!room || many && d.receipt == received) && r.seek(p, d, side, 0) {
		r.stream(p, d, side)
		return r.segment(p, d, side, seq, data, class) // its bytes may be the next ones now
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
	// If there are very many copies, a new one waits for the next examination of the direction.
	if x.Copies < held.MaxCopies && int32(seq-d.base) < held.MaxRecord {
		d.happens(comes)
	}
	if r.largest == nil || h.Bytes > r.largest.held.Bytes {
		r.largest = d
	}
	return Held
}

func (p *Pair) keeps(order uint64) { p.newest, p.news = order, p.news+1 }

// furthest drops the last segment of the direction that holds the most. If that is d, or d has too many segments, it
// drops the last segment of d, which must be after seq. It reports whether it dropped one.
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

// Holds returns roughly the memory that the held segments of a connection take.
func (p *Pair) Holds() (n int) {
	for _, d := range p.Dir {
		if d != nil {
			n += d.held.Bytes + len(d.held.Segs)*(held.SegmentBytes+64)
		}
	}
	return n
}

// Pay frees at least n bytes of a connection's held segments if it has as many, the last segments first. It returns how
// many bytes it freed.
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
