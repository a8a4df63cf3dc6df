package reassembly

import (
	"bytes"
	"hash/maphash"
	"math"
	"slices"

	"github.com/sealane/sealane/gateway/internal/held"
	"github.com/sealane/sealane/gateway/internal/tls"
)

// If a direction gets keys for the middle of its stream, the gateway searches it for the first record that opens. Until
// then, no record's start or number is known, nor which copy of a segment is genuine. So nothing is fed to TLS, and at
// least the last 128 KiB are kept.
//
//	candidates       each possible record, in each order of copies and along paths through them
//	numbers          the next 64, then the next 4096
//	when             contiguous bytes arrive: the new ones; after a while: all, also after holes
//	work             256 MiB for each search, then as for all directions
//	a record opens   reading continues after it; the bytes before it are lost

// A hunt is the progress of the search in a direction.
type hunt struct {
	sought int      // contiguous bytes in which every complete record was tried, in the first order of copies
	full   int      // the same, in all orders and along paths
	late   int      // bytes that arrived since full was set
	tried  held.Set // hashes of records that did not open
}

const (
	// If more than huntMost bytes are searched, the last huntKept stay, because other copies of them may arrive.
	huntKept, huntMost = 128 << 10, 256 << 10
	// Each search has this work, with or without a claim.
	huntCredit = 256 << 20
	maxTried   = 1 << 13
	perHeader  = 64
	maxSpots   = 64
)

var huntNumbers = [...]int{64, 4096}

// A spot is a part of the bytes that may be a record.
type spot struct{ at, size int }

// spots returns the parts of b that may be records. rest is the start of the first incomplete one.
func spots(b []byte) (all []spot, rest int) {
	rest = max(len(b)-4, 0)
	for i := 0; len(b)-i >= 5; i++ {
		// All protected records have version 3.3 (RFC 8446, section 5.1).
		at := bytes.Index(b[i+1:], []byte{3, 3})
		if i += at; at < 0 || len(b)-i < 5 {
			break
		}
		size := tls.Frame(b[i:])
		if i+size > len(b) {
			rest = min(rest, i)
		} else if behind := b[i+size:]; size > 5+8 && (len(behind) < 5 || tls.Frame(behind) > 0) {
			all = append(all, spot{i, size})
		}
	}
	return all, rest
}

// hunt searches the contiguous bytes of a direction for a record that opens, after those it has already tried. The
// segment that arrived last starts at seq and has n bytes.
func (r *Reassembler) hunt(p *Pair, d *Direction, side uint8, seq uint32, n int, wait int64) bool {
	if d.hunt == nil {
		d.hunt = &hunt{tried: held.Set{}}
		d.credit += huntCredit
	}
	next := p.Next[side]
	if b := r.Dec.TakeHeld(p.TLS, side); len(b) > 0 {
		*next -= uint32(len(b))
		r.order++
		d.held.Insert(&r.Pool, *next, held.Class{}, r.order, r.Dec.Mark, b)
	}
	end := d.held.Covered(*next, held.MaxBytes, math.MaxUint64)
	total, h := int(end-*next), d.hunt
	if d.held.Doubt {
		h.full = max(0, min(h.full, int(int32(seq-*next))-held.MaxRecord))
	}
	h.late += n
	all := d.held.Doubt && h.late >= held.MaxRecord/2
	from := min(h.sought, total)
	if all {
		from = min(h.full, total)
	}
	rest := total - from
	for _, numbers := range huntNumbers {
		found, whole := r.sift(p, d, side, *next+uint32(from), end, numbers, all, wait)
		if found {
			return true
		}
		rest = min(rest, whole)
	}
	h.sought = max(h.sought, from+rest)
	if all && d.credit >= 0 {
		h.full, h.late = from+rest, 0
	} else if !d.held.Doubt {
		h.full = h.sought
	}
	if n := min(total-huntKept, h.full); total > huntMost && n > 0 {
		r.Dec.Pass(p.TLS, side, n)
		*next += uint32(n)
		h.sought, h.full = h.sought-n, h.full-n
		d.held.Prune(&r.Pool, *next)
	}
	return false
}

// sift tries each part that may be a record between two sequence numbers.
func (r *Reassembler) sift(p *Pair, d *Direction, side uint8, start, end uint32, numbers int, every bool, wait int64) (found bool, rest int) {
	rest = int(end - start)
	defer func(a held.Arena) { r.make.Arena = a }(r.make.Arena)
	b, usual := r.make.Take(rest), p.Usual[side]
	for policy := range uint8(held.Policies + 1) {
		ways := policy == held.Policies // at last, in the first order again: paths through the copies of a possible record
		if policy > 0 && (!every || !d.held.Doubt) || ways && numbers > huntNumbers[0] || policy > 0 && !ways && d.credit < 0 {
			break
		}
		d.credit -= held.Paint(r.make.Arrange(&d.held, usual, start, end, d.policy^policy%held.Policies), start, b)
		all, whole := spots(b)
		if ways || len(all) > maxSpots && d.hunt != nil { // the longest first: each costs an attacker as many bytes
			slices.SortStableFunc(all, func(a, b spot) int { return b.size - a.size })
		}
		if ways {
			all = all[:min(len(all), maxSpots)]
		}
		d.credit -= len(all) * perHeader
		rest = min(rest, whole)
		for _, s := range all {
			at, before, recs := start+uint32(s.at), r.make.Arena, [][]byte{b[s.at : s.at+s.size]}
			if ways {
				recs = r.some(d, usual, at, s.size, fewWays, false, func(way []byte) bool { return bytes.Equal(way[:5], b[s.at:s.at+5]) })
			}
			for _, rec := range recs {
				if ok, short := r.bid(p, d, side, at, rec, numbers, wait); ok || short {
					return ok, min(rest, s.at)
				}
			}
			r.make.Arena = before
		}
	}
	return false, rest
}

// bid tries a record at a sequence number, with this many record numbers. short means that there is not enough work. A
// hunt tries each record only once.
func (r *Reassembler) bid(p *Pair, d *Direction, side uint8, at uint32, rec []byte, numbers int, wait int64) (ok, short bool) {
	if wait > 0 && !d.held.Had(at, rec, r.Dec.Mark, wait) {
		d.Since = min(d.Since, r.now-wait*3/4) // examine it again soon, when it has been held for wait
		return false, false
	}
	h, base, most, least := d.hunt, *p.Next[side], d.credit, 1
	if h != nil {
		cost := numbers * tls.TrialBytes(len(rec))
		most, least = min(cost, most), min(cost, maxCredit/2)
	}
	if most < least {
		return false, true
	}
	if h != nil {
		if len(h.tried) >= maxTried {
			clear(h.tried)
		}
		if !h.tried.Add(maphash.Bytes(r.make.Seed, rec) + uint64(numbers)) {
			return false, false
		}
	}
	left := most
	found := r.Dec.Seek(p.TLS, side, rec, int(at-base), &left)
	if d.credit -= most - left; !found {
		return false, false
	}
	r.learn(p, d, side, at, rec)
	if hole := d.held.Covered(base, held.MaxBytes, math.MaxUint64); held.After(at, hole) {
		r.Stats.Holes++
		r.Stats.HoleBytes += uint64(at - hole)
	}
	*p.Next[side] = at + uint32(len(rec))
	d.hunt, d.looks, d.Since, d.credit = nil, 0, r.now, min(d.credit, 4*maxCredit)
	return true, false
}

// overleap searches for a record that opens after a hole, in a direction with a hunt. If one opens, the hole is given
// up.
func (r *Reassembler) overleap(p *Pair, d *Direction, side uint8, wait int64) bool {
	if r.hunt(p, d, side, *p.Next[side], 0, wait) {
		return true
	}
	for _, numbers := range huntNumbers {
		if r.further(p, d, side, *p.Next[side], held.MaxBytes, numbers, wait) {
			return true
		}
	}
	return false
}
