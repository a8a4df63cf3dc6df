package reassembly

import "slices"

// Held segments are at hand, in order: those that are due or near, at most MaxSegments and MaxBytes,
// as the search through copies looks at all of them. Segments further ahead are far: they wait in a heap, the nearest on
// top, and come to hand as the direction goes on. Memory bounds it, and MaxFar; the largest window of TCP does as
// well.
//
//	a segment comes                  no room at hand                  no memory
//	behind the nearest that is far   it is far as well                the direction that holds most drops its furthest segment
//	before that                      the last half becomes far        the same
//	for a record that is crowded     the one least like the rest goes, then the smallest
//
// A record is crowded if all segments at hand are for it: only attackers do that.

// keep puts a segment among those that are held, and makes room if there is none.
func (r *Reassembler) keep(p *Pair, d *Direction, side uint8, seq uint32, data []byte, of *source, now int64) Result {
	if p.spurious(side, len(data), of) {
		r.Stats.BadSums++
		return Repeated
	}
	if d.held.empty() {
		d.Since = now
	}
	for {
		r.recall(p, d, side)
		if d.held.beyond(seq) && d.held.crowded(len(data)) {
			r.Stats.Evicted++
			return Repeated
		}
		if d.held.beyond(seq) && r.Pool.room(len(data)) {
			r.order++
			r.Stats.Evicted += d.held.later(&r.Pool, d.held.made(&r.Pool, seq, of.Class(), r.order, r.Dec.Mark, data))
			r.kept(p, d)
			return Held
		}
		// What is no better than what was let go of is not looked at.
		var x novelty
		worse := d.floorBase != 0 && d.held.full(len(data)) && r.below(p, d, side, seq, len(data), of)
		if !worse {
			x = d.held.novel(seq, data, of, p.Usual[side])
			if len(x.rest) == 0 {
				r.Stats.Repeated++
				return Repeated
			}
			if x.conflict && !r.fewer(d, &x, of, p.Usual[side]) {
				r.Stats.Evicted++
				return Repeated
			}
			if d.phase == beginning && !x.conflict && d.held.joins(&r.Pool, x.from, of, r.order+1, p.newest(1-side), x.rest) {
				r.order++
				p.news(true)
				return Held
			}
		}
		if !worse && !d.held.full(len(x.rest)) && r.Pool.room(len(x.rest)) {
			if x.conflict {
				r.Stats.Conflicts++
				d.conflict = true
			}
			r.order++
			d.held.insert(&r.Pool, x.from, of.Class(), r.order, r.Dec.Mark, x.rest)
			// One of very many copies is tried when there is time.
			d.fresh = d.fresh || x.copies < maxCopies && int32(x.from-d.base) < maxRecord
			r.kept(p, d)
			return Held
		}
		// What is missing may not come: the receiver has it, or there is no memory to wait for it.
		if d.credit > burst/2 && d.phase != beginning && (!d.unacked || !r.Pool.room(len(data))) && r.seek(p, d, side) {
			r.stream(p, d, side)
			if old := r.base(p, d, side) - seq; int32(old) > 0 {
				if uint64(old) >= uint64(len(data)) {
					return Repeated
				}
				seq, data = seq+old, data[old:]
			}
			continue
		}
		if !worse && d.phase != beginning && r.Pool.room(len(x.rest)) {
			if ok, gone := d.held.spill(&r.Pool, r.base(p, d, side)+maxRecord); ok {
				r.Stats.Evicted += gone
				continue
			}
		}
		n := len(x.rest)
		if worse || !r.Pool.room(n) && !r.furthest(d, x.from) || d.held.full(n) && !r.evict(p, d, side, x.from, n, of) {
			r.Stats.Evicted++
			return Repeated
		}
	}
}

// kept notes that a direction holds more.
func (r *Reassembler) kept(p *Pair, d *Direction) {
	p.news(true)
	if r.largest == nil || d.held.all() > r.largest.held.all() {
		r.largest = d
	}
}

// newest returns when the last segment came that is held of a side.
func (p *Pair) newest(side uint8) uint64 {
	if d := p.Dir[side]; d != nil {
		return d.held.newest
	}
	return 0
}

// recall brings to hand what is due soon.
func (r *Reassembler) recall(p *Pair, d *Direction, side uint8) {
	h := &d.held
	for len(h.far) > 0 {
		base, s := r.base(p, d, side), h.far[0].segment
		if !After(base+maxRecord, s.seq) && (len(h.segs) > MaxSegments/2 || h.bytes > MaxBytes/2) {
			return
		}
		h.nearest()
		x, of := novelty{}, &source{class: s.Class()}
		if After(s.end(), base) {
			x = h.novel(s.seq, s.buf, of, p.Usual[side])
		}
		switch {
		case len(x.rest) == 0:
			r.Stats.Repeated++
		case x.conflict && !r.fewer(d, &x, of, p.Usual[side]),
			h.full(len(x.rest)) && !r.evict(p, d, side, x.from, len(x.rest), of):
			r.Stats.Evicted++
		default:
			if x.conflict {
				r.Stats.Conflicts++
				d.conflict = true
			}
			h.insert(&r.Pool, x.from, s.Class(), s.order, s.mark, x.rest)
			d.fresh = d.fresh || int32(x.from-d.base) < maxRecord
		}
		r.Pool.drop(s)
	}
}

// furthest has the direction that holds most drop something, or this one the segments further ahead than a place. It
// returns false if there is nothing.
func (r *Reassembler) furthest(d *Direction, seq uint32) bool {
	if l := r.largest; l != nil && l != d && l.held.all() > d.held.all() {
		r.Stats.Evicted++
		l.held.letGo(&r.Pool)
		return true
	}
	h := &d.held
	if h.empty() {
		return false
	}
	last := h.segs[max(len(h.segs)-1, 0):]
	if n := len(h.far); n > 0 && !After(h.far[n-1].seq, seq) || n == 0 && !After(last[0].seq, seq) {
		return false
	}
	r.Stats.Evicted++
	h.letGo(&r.Pool)
	return true
}

// fewer tells whether there may be another copy of a place. If there are many it takes the place of the
// last one of those least like the rest: the first ones stay, and the last.
// Hellos are excepted, because each is read, and so are small copies.
func (r *Reassembler) fewer(d *Direction, x *novelty, of *source, usual Class) bool {
	if x.copies < maxCopies {
		return true
	}
	rank := d.held.segs[x.worst].Class().rank(usual)
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
			n += d.held.all() + (len(d.held.segs)+len(d.held.far))*(segmentBytes+64)
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
		for !d.held.empty() && freed < n {
			r.Stats.Evicted++
			before := r.Pool.Held
			d.held.letGo(&r.Pool)
			freed += before - r.Pool.Held
		}
		if d.held.empty() && cap(d.held.segs) > 64 {
			d.held = held{newest: d.held.newest}
		}
	}
	return freed
}

// A merit tells which segment goes first when there is no room: the least. What is least like the rest does, then,
// where there are too many, the smallest, and then what is furthest from where it is due.
type merit struct{ rank, size, near int }

func (a merit) less(b merit) bool {
	if a.rank != b.rank {
		return a.rank < b.rank
	}
	if a.size != b.size {
		return a.size < b.size
	}
	return a.near < b.near
}

func meritOf(rank int, base uint32, many bool, seq uint32, n int) merit {
	if !many {
		n = 0
	}
	return merit{rank, n, -int(seq - base)}
}

// below tells whether a segment is no better than what was let go of.
func (r *Reassembler) below(p *Pair, d *Direction, side uint8, seq uint32, n int, of *source) bool {
	base, usual, many := r.base(p, d, side), p.Usual[side], len(d.held.segs) >= MaxSegments
	if d.floorBase != base || d.floorMany != many || d.floorUsual != usual {
		return false
	}
	// Most are so at any rank.
	return !d.floor.less(meritOf(maxRank, base, many, seq, n)) ||
		!d.floor.less(meritOf(of.Class().rank(usual), base, many, seq, n))
}

// evict makes room for a segment at a place: the worst eighth of the segments at hand goes. It returns false if the new one
// would be among these. As long as the held segments only get better, that is known without a look at them.
func (r *Reassembler) evict(p *Pair, d *Direction, side uint8, seq uint32, n int, from *source) bool {
	many := len(d.held.segs) >= MaxSegments
	base, usual := r.base(p, d, side), p.Usual[side]
	if r.below(p, d, side, seq, n, from) {
		return false
	}
	of := func(seq uint32, n int, class Class) merit { return meritOf(class.rank(usual), base, many, seq, n) }
	mine := of(seq, n, from.Class())
	all := r.merits[:0]
	for _, s := range d.held.segs {
		all = append(all, of(s.seq, len(s.buf), s.Class()))
	}
	r.merits = all
	out := max(len(all)/8, 1)
	sorted := append(r.sorted[:0], all...)
	r.sorted = sorted
	slices.SortFunc(sorted, func(a, b merit) int {
		if a.less(b) {
			return -1
		} else if b.less(a) {
			return 1
		}
		return 0
	})
	d.floor, d.floorBase, d.floorMany, d.floorUsual = sorted[out-1], base, many, usual
	if !d.floor.less(mine) {
		d.floor = sorted[0]
		if out = 1; !d.floor.less(mine) {
			return false
		}
	}
	kept := 0
	for i, s := range d.held.segs {
		if out > 0 && !d.floor.less(all[i]) {
			out--
			r.Stats.Evicted++
			d.held.bytes -= len(s.buf)
			r.Pool.drop(s)
			continue
		}
		d.held.segs[kept] = s
		kept++
	}
	clear(d.held.segs[kept:])
	d.held.segs = d.held.segs[:kept]
	d.held.recompute()
	return true
}
