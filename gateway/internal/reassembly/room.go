package reassembly

// Held segments lie in order of their places, and copies side by side. The memory of all directions bounds them.
//
//	a segment comes                  there are too many            no memory
//	anywhere                         the furthest ahead goes       the direction that holds most drops its furthest segment
//	where maxCrowd are for a record  the worst goes: see crowded   the same
//
// Only attackers send that many for one record. A direction that begins is one crowd.

// keep puts a segment among those that are held, and makes room if there is none.
func (r *Reassembler) keep(p *Pair, d *Direction, side uint8, seq uint32, data []byte, of *source) Result {
	if p.spurious(side, len(data), of) {
		r.Stats.BadSums++
		return Repeated
	}
	h := &d.held
	if len(h.segs) == 0 {
		d.Since = r.now
	}
	for {
		before := len(h.segs)
		if h.crowded(&r.Pool, d.phase == beginning, seq, len(data), of, p.Usual[side]) {
			r.Stats.Evicted++
			return Repeated
		}
		r.Stats.Evicted += uint64(before - len(h.segs))
		x := h.novel(seq, data, of, p.Usual[side])
		n := len(x.rest)
		if n == 0 {
			r.Stats.Repeated++
			return Repeated
		}
		if x.conflict && !r.fewer(d, &x, of, p.Usual[side]) {
			r.Stats.Evicted++
			return Repeated
		}
		if d.phase == beginning && !x.conflict && h.joins(&r.Pool, x.from, of, r.order+1, p.newest(1-side), x.rest) {
			r.order++
			p.news(true)
			return Held
		}
		// What is missing may not come: the receiver has it, or there is no memory to wait for it.
		room := r.Pool.room(n)
		many := (h.bytes+n)/MaxBytes > h.bytes/MaxBytes || len(h.segs)%maxCrowd == maxCrowd-1
		if d.credit > burst/2 && d.phase != beginning && (!room || many && !d.unacked) && r.seek(p, d, side) {
			r.stream(p, d, side)
			if old := r.base(p, d, side) - seq; int32(old) > 0 {
				if uint64(old) >= uint64(len(data)) {
					return Repeated
				}
				seq, data = seq+old, data[old:]
			}
			continue
		}
		if !room || len(h.segs) >= MaxSegments {
			if r.furthest(d, x.from) {
				continue
			}
			r.Stats.Evicted++
			return Repeated
		}
		if x.conflict {
			r.Stats.Conflicts++
			d.conflict = true
		}
		r.order++
		h.insert(&r.Pool, x.from, of.Class(), r.order, r.Dec.Mark, x.rest)
		// One of very many copies is tried when there is time.
		d.fresh = d.fresh || x.copies < maxCopies && int32(x.from-d.base) < maxRecord
		p.news(true)
		if r.largest == nil || h.bytes > r.largest.held.bytes {
			r.largest = d
		}
		return Held
	}
}

// newest returns when the last segment came that is held of a side.
func (p *Pair) newest(side uint8) uint64 {
	if d := p.Dir[side]; d != nil {
		return d.held.newest
	}
	return 0
}

// furthest has the direction that holds most drop something, or this one what is further ahead than a place. It returns false if there
// is nothing.
func (r *Reassembler) furthest(d *Direction, seq uint32) bool {
	from := d
	if l := r.largest; l != nil && l.held.bytes > d.held.bytes && len(d.held.segs) < MaxSegments {
		from = l
	}
	if n := len(from.held.segs); n == 0 || from == d && !After(d.held.segs[n-1].seq, seq) {
		return false
	}
	r.Stats.Evicted++
	from.held.letGo(&r.Pool)
	return true
}

// letGo drops what is furthest ahead.
func (h *held) letGo(p *Pool) { h.remove(p, h.segs[len(h.segs)-1]) }

// fewer tells whether there may be another copy of a place. If there are many it takes the place of the
// last one of those least like the rest: the first ones stay, and the last.
// Hellos are excepted, because each is read, and so are small copies.
func (r *Reassembler) fewer(d *Direction, x *novelty, of *source, usual Class) bool {
	if x.copies < maxCopies {
		return true
	}
	rank := x.worst.Class().rank(usual)
	if d.phase == beginning || len(x.rest) < sizes[0] {
		rank++ // it has to be better
	}
	if of.Class().rank(usual) < rank {
		return false
	}
	r.Stats.Evicted++
	d.held.remove(&r.Pool, x.worst)
	return true
}

// Holds returns about how much memory a connection takes for what it holds.
func (p *Pair) Holds() (n int) {
	for _, d := range p.Dir {
		if d != nil {
			n += d.held.bytes + len(d.held.segs)*(segmentBytes+64)
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
		for len(d.held.segs) > 0 && freed < n {
			r.Stats.Evicted++
			before := r.Pool.Held
			d.held.letGo(&r.Pool)
			freed += before - r.Pool.Held
		}
		if len(d.held.segs) == 0 {
			d.held = held{newest: d.held.newest}
		}
	}
	return freed
}
