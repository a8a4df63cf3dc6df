package reassembly

import (
	"math"

	"github.com/sealane/sealane/gateway/internal/held"
	"github.com/sealane/sealane/gateway/internal/tls"
)

// A worker's search for the real one of several copies has a price, in bytes that are opened. The direction that needs the
// search pays. A direction earns by its incoming bytes, about the cost of as many ordinary bytes; it can have no more of its
// own. A fund that all directions of a worker share lends more: a burst, work for stalled directions, and some
// at the end. That is for connections with a claim.
//
// A stranger can forge all but keys: the client randoms that the key log has are few, and each is of one connection.
// Whoever names one first has a claim, and a few behind him, as a mirror may send a connection more than once. Who sees
// a random on the wire and names it in other connections comes later than that one, and has none.
//
//	a connection has                             its claim
//	keys that came with its addresses            granted
//	a record that opened                         granted if it was one of the first of which one did, with this random
//	a ClientHello whose random has secrets       granted if that came as one of the first
//	no such hello                                unkeyed, as there is nothing to be found; it is not searched
type claim uint8

const (
	unkeyed claim = iota
	late          // others named the random before
	refused       // for good: others opened records before
	granted
)

const (
	// Work that one direction may have done for it: some of it at once, and the rest by incoming bytes.
	firstCredit = 4 << 10
	burst       = 1 << 20
	maxCredit   = 4 * burst
	perByte     = 2
	perSegment  = 96
	perLast     = 4
	// All directions of a worker share 100 MB of trials in a second, a few percent of the bytes that a core opens.
	nanosecondsPerByte = 10
	maxSpare           = 64 << 20
	// One of them takes at most this part of the fund at a time: some is left for the next.
	largestPart = 8
)

// entitled tells whether a connection has a claim.
func (r *Reassembler) entitled(p *Pair) bool {
	opened := p.TLS.Opened(0) || p.TLS.Opened(1)
	switch d := p.Dir[tls.Client]; {
	case p.TLS.Given() || p.claim < refused && opened && p.TLS.Foremost():
		r.grant(p)
	case p.claim >= refused:
	case opened:
		p.claim = refused
	case d != nil && p.asked == 0:
		p.asked = uint8(min(max(len(d.held.Segs), 1), 255))
		if len(d.held.Segs) > 0 {
			r.ask(p, d)
		}
	}
	return p.claim == granted
}

// ask looks for the randoms of ClientHellos in what is held of a client. Whatever else was tried, there is work for that.
func (r *Reassembler) ask(p *Pair, d *Direction) {
	defer func(a held.Arena) { r.make.Arena = a }(r.make.Arena)
	d.credit -= len(d.held.Segs) * held.PerOverlap
	work := maxAsked * held.PerBranch
	looked := held.Seat{}
	for _, s := range d.held.Segs {
		if p.claim < granted && (looked.Segment == nil || looked.Seq != s.Seq) && s.Buf[0] == 22 {
			r.make.Ways(&d.held, held.Class{}, s.Seq, toRandom+32, false, &work, func(b []byte) bool {
				if r.known(b, tls.Client) {
					r.named(p, tls.Client, b, d.held.Said(s.Seq, b))
				}
				return p.claim < granted
			})
			looked = s
		}
	}
}

// The most ways through segments that are looked at for a random, and the most segments as they come.
const maxAsked, fewAsked = 128, 64

// toRandom is where a ClientHello has its random, behind the headers of the record and of the message.
const toRandom = 5 + 4 + 2

// named looks at what begins like a ClientHello, and came at a time, for a random that gives its connection a claim.
func (r *Reassembler) named(p *Pair, side uint8, b []byte, mark int64) {
	if p.claim >= refused || side != tls.Client || len(b) < toRandom+32 || !looksLikeHello(b, side) {
		return
	}
	if first, known := r.Dec.Store.Claim((*[32]byte)(b[toRandom:]), mark); first {
		r.grant(p)
	} else if known {
		p.claim = late
	}
}

// keyed tells whether there may be keys with which a record of a connection opens.
func (r *Reassembler) keyed(p *Pair) bool { return r.entitled(p) || p.claim != unkeyed }

// Keyless tells whether there are no keys for any hello that came of a connection of which no record has opened. It does not while one
// is incomplete, or if there is no work left to look.
func (r *Reassembler) Keyless(p *Pair) bool {
	const enough = toRandom + 32
	if d := p.Dir[tls.Client]; d != nil && (d.credit < 0 || len(d.held.Segs) > 0 && d.held.Covered(d.origin, enough, math.MaxUint64)-d.origin < enough) {
		return false
	}
	p.asked = 0
	return !r.keyed(p)
}

// grant gives a connection a claim, and each direction its burst.
func (r *Reassembler) grant(p *Pair) {
	if p.claim == granted {
		return
	}
	p.claim = granted
	for _, d := range p.Dir {
		if d != nil {
			r.lend(d, burst)
		}
	}
}

// earn adds what bytes that came are worth. Without a claim it is half as much: to keep copies costs more than to read
// on.
func (d *Direction) earn(p *Pair, bytes int) {
	n := bytes*perByte + perSegment
	if p.claim != granted {
		n /= 2
	}
	if d.credit < maxCredit {
		d.credit += n
	}
}

// lend brings a direction up to so much work, or as far as that goes.
func (r *Reassembler) lend(d *Direction, most int) {
	if r.now > r.spared {
		r.spare = min(r.spare+int(min(r.now-r.spared, 1e9)/nanosecondsPerByte), maxSpare)
		r.spared = r.now
	}
	if n := min(most-d.credit, r.spare/largestPart); n > 0 {
		d.credit += n
		r.spare -= n
	}
}

// fund gives a direction that is stalled more work to be done, if its connection has a claim. At its end that is in any case as much as its
// bytes have earned.
func (r *Reassembler) fund(p *Pair, d *Direction, end bool) {
	switch {
	case !r.entitled(p):
	case end:
		r.lend(d, 4*maxCredit)
		d.credit = max(d.credit, min(burst, d.held.Bytes*perLast))
	default:
		r.lend(d, maxCredit)
	}
}
