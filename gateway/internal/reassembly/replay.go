package reassembly

import (
	"hash/maphash"
	"math"
	"slices"

	"github.com/sealane/sealane/gateway/internal/held"
	"github.com/sealane/sealane/gateway/internal/tls"
)

// looksLikeHello reports whether data starts like the hello of a side.
func looksLikeHello(data []byte, side uint8) bool {
	return len(data) >= 6 && tls.MayBeHello(data, side)
}

const (
	maxOrigins    = 8
	maxCandidates = 200
	maxRead       = 1024 // most remembered pairs of beginnings with which no record opens
)

// maxStart is the length of a beginning within which a record must open.
const maxStart = 40 << 10

// A candidate is a possible beginning of a direction.
type candidate struct {
	origin uint32
	bytes  []byte
	hash   uint64 // of bytes and origin
}

// begin keeps a segment of a direction that is beginning, unless it has nothing new, or too many copies are held.
func (r *Reassembler) begin(p *Pair, d *Direction, side uint8, seq uint32, data []byte, class held.Class) Result {
	result := r.keep(p, d, side, seq, data, class)
	if r.named(p, side, data, r.Dec.Mark); result == Repeated {
		return Repeated
	}
	if side == tls.Client && p.claim < granted && len(d.held.Segs) >= 2*int(p.asked) && len(d.held.Segs) <= fewAsked {
		p.asked = 0 // there are twice as many as last time
	}
	if held.After(d.origin, seq) || looksLikeHello(data, side) && seq-d.origin > maxBeginning {
		d.held.Doubt = true // another beginning
	}
	return Held
}

// origins returns where a direction may begin, the likeliest first: its last origin, hellos that have keys, the
// sequence numbers from SYNs, and other hellos.
func (r *Reassembler) origins(d *Direction, side uint8) []uint32 {
	all := []uint32{d.origin}
	others := slices.DeleteFunc(slices.Clone(d.maybe[:]), func(at uint32) bool { return at == 0 || at == d.origin })
	d.credit -= len(d.held.Segs) * held.PerOverlap
	for _, s := range d.held.Segs {
		if !looksLikeHello(s.Buf, side) || slices.Contains(all, s.Seq) || slices.Contains(others, s.Seq) {
			continue
		}
		if known := r.known(s.Buf, side); known && len(all) < maxOrigins {
			all = append(all, s.Seq)
		} else if !known && len(others) < 2*maxOrigins {
			others = append(others, s.Seq)
		}
	}
	return append(all, others...)
}

// known reports whether there are keys for the random of a ClientHello.
func (r *Reassembler) known(b []byte, side uint8) bool {
	return side == tls.Client && len(b) >= toRandom+32 && r.Dec.Store.Has((*[32]byte)(b[toRandom:]))
}

// candidates returns the possible beginnings of a direction, the likeliest first.
func (r *Reassembler) candidates(p *Pair, d *Direction, side uint8, deep bool) (all []candidate) {
	seen, usual := held.Set{}, p.Usual[side]
	origins := r.origins(d, side)
	chains := r.chains(p, d, side, origins, deep)
	for _, origin := range origins { // without chains, because a hello may span records, or bytes are missing
		chains = append(chains, chain{fork: fork{origin: origin}})
	}
	for policy := range uint8(held.Policies) {
		for i := range chains {
			c := &chains[i]
			if policy > 0 && d.credit < 0 || len(all) == maxCandidates {
				return all
			}
			end := d.held.Covered(c.origin, maxStart, math.MaxUint64)
			n := int(end - c.origin)
			before := r.make.Arena
			b := r.make.Take(n)
			d.credit -= held.Paint(r.make.Arrange(&d.held, usual, c.origin, end, d.policy^policy), c.origin, b) + n/4
			copy(b, c.bytes)
			hash := maphash.Bytes(r.make.Seed, b) ^ uint64(c.origin)
			if n == 0 || b[0] != 22 && b[0] != 21 || !seen.Add(hash) {
				r.make.Arena = before
				continue
			}
			all = append(all, candidate{origin: c.origin, bytes: b, hash: hash})
		}
	}
	return all
}

// likely returns at most 12 of the client's candidates: those whose random has secrets, or any if there are none. A
// hello has little else that matters to the other side's keys.
func (r *Reassembler) likely(p *Pair, all []candidate) []candidate {
	var kept []candidate
	for _, c := range all {
		if r.known(c.bytes, tls.Client) {
			r.named(p, tls.Client, c.bytes, r.Dec.Mark)
			kept = append(kept, c)
		}
	}
	if len(kept) == 0 {
		kept = all
	}
	return kept[:min(len(kept), 12)]
}

// perRead is the cost of starting to read a direction again, and perKey that of deriving keys.
const perRead, perKey = 1 << 10, 8 << 10

// leastSearch is the work that a connection without a claim must have saved before it is searched.
const leastSearch = 2*perKey + 4*perRead

// replay reads a handshake again from differing copies, until a record opens. It reports whether one opened.
func (r *Reassembler) replay(p *Pair, deep bool) bool {
	if !r.keyed(p) {
		return false
	}
	mark := r.Dec.Mark
	defer func(a held.Arena) { r.Dec.Mark, r.make.Arena = mark, a }(r.make.Arena)
	all := [2][]candidate{{{}}, {{}}}
	var first *Direction // first direction that is beginning
	for side, d := range p.Dir {
		if d == nil || d.phase != beginning || p.TLS.Proved(uint8(side)) {
			continue
		}
		if d.credit < 0 || p.claim != granted && d.credit < leastSearch {
			r.Stats.Deferred++
			return false
		}
		if first == nil {
			first = d
		}
		if c := r.candidates(p, d, uint8(side), deep); len(c) > 0 {
			all[side] = c
		}
	}
	p.news = 0
	if !p.TLS.Proved(0) && !p.TLS.Proved(1) {
		all[0] = r.likely(p, all[0])
	}
search:
	for sum := 0; sum < len(all[0])+len(all[1])-1; sum++ {
		for i := max(0, sum-len(all[1])+1); i <= min(sum, len(all[0])-1); i++ {
			client, server := &all[0][i], &all[1][sum-i]
			const odd = 0x9e3779b97f4a7c15
			pair := client.hash*odd ^ server.hash
			if deep {
				pair = ^pair
			}
			if slices.Contains(first.read, pair) {
				continue
			}
			if r.read(p, client, server, true, deep) {
				return true
			}
			if len(first.read) == maxRead {
				first.read = first.read[:0]
			}
			if !p.TLS.Waiting() { // without keys, the pair is read again; otherwise only when more bytes or keys arrive
				first.read = append(first.read, pair)
			}
			if p.either(func(d *Direction) bool { return d.credit < 0 }) {
				p.news++
				break search
			}
		}
	}
	return r.read(p, &all[0][0], &all[1][0], false, deep)
}

// read feeds two beginnings to TLS. If searches, it also tries other copies of the first protected record. It reports
// whether a record opened.
func (r *Reassembler) read(p *Pair, client, server *candidate, searches, deep bool) (proved bool) {
	r.Stats.Replays++
	derived := r.Dec.Derived
	both := [2]*candidate{client, server}
	if !p.TLS.Proved(0) && !p.TLS.Proved(1) {
		r.Dec.Reset(p.TLS)
	}
	var begun [2]bool
	for side := range uint8(2) {
		if d := p.Dir[side]; d != nil && d.phase == beginning && !p.TLS.Proved(side) {
			begun[side] = true
			if p.TLS.Proved(1 - side) {
				r.Dec.Rewind(p.TLS, side)
			}
			if c := both[side]; c.bytes != nil {
				d.origin = c.origin
			}
			*p.Next[side] = d.origin
			d.mark, d.order = math.MinInt64, 0
			d.credit -= len(both[side].bytes) + len(d.held.Segs)*held.PerOverlap + perRead
		}
	}
	r.play(p, both[:])
	for i, d := range p.Dir {
		side := uint8(i)
		if searches && begun[side] && d.phase == beginning && !p.TLS.Proved(side) && p.TLS.InDispute(side) && p.TLS.Protected(side) {
			r.collect(p, side)
			r.proof(p, d, side, func() bool { return r.try(p, d, side, deep) == tls.Taken })
		}
		if begun[side] {
			d.credit -= int(r.Dec.Derived-derived) * perKey
			if p.TLS.Proved(side) {
				proved = true
				r.prove(p, d, side, both[side].bytes)
				d.happens(rereads)
			}
		}
		if p.TLS.InDispute(side) {
			r.collect(p, side)
		}
	}
	return proved
}

// play feeds the bytes of both directions in order of arrival. With beginnings, it feeds their bytes, and then the held
// bytes of a direction of which a record has opened. Without beginnings, it feeds the held bytes of both.
func (r *Reassembler) play(p *Pair, both []*candidate) {
	for {
		side, first := uint8(0), uint64(math.MaxUint64)
		var due held.Seat
		var bytes []byte // to feed instead of the segment's
		for i, d := range p.Dir {
			if d == nil || d.phase != beginning && d.phase != again {
				continue
			}
			var rest []byte
			if both != nil {
				rest = both[i].bytes[min(int(*p.Next[i]-d.origin), len(both[i].bytes)):]
			}
			if len(rest) == 0 && (p.TLS.InDispute(uint8(i)) || both != nil && !p.TLS.Proved(uint8(i))) {
				continue
			}
			s := r.best(p, d, uint8(i), *p.Next[i])
			if s.Segment != nil && max(d.order, s.Order) < first {
				side, first, due, bytes = uint8(i), max(d.order, s.Order), s, rest
			}
		}
		if due.Segment == nil {
			return
		}
		r.feed(p, p.Dir[side], side, due, bytes)
	}
}

// proof accepts records of a beginning in which TLS has stopped, until a protected one opens. Unprotected ones may
// precede it, for middleboxes.
func (r *Reassembler) proof(p *Pair, d *Direction, side uint8, take func() bool) bool {
	for take() {
		if p.TLS.Proved(side) {
			d.happens(opens)
			return true
		}
		r.Dec.Stop(p.TLS, side)
	}
	return false
}

// protectedFrom returns how many bytes of a beginning are unprotected records, which anyone may have sent.
func protectedFrom(b []byte) (n int) {
	for kind := byte(0); len(b)-n >= 5 && tls.Frame(b[n:]) > 0 && b[n] != 23 && kind != 20; {
		kind = b[n]
		n += tls.Frame(b[n:])
	}
	return min(n, len(b))
}
