package reassembly

import (
	"math"

	"github.com/sealane/sealane/gateway/internal/held"
	"github.com/sealane/sealane/gateway/internal/tls"
)

// Searching for the genuine one of several copies is work, whose unit is the opening of one byte. The direction that
// needs the search pays for it. A direction earns by its incoming bytes, about what reading as many ordinary bytes
// costs. All directions of a worker share a fund. It lends more work to connections with a claim: a burst, work for
// stalled directions, and some at the end.
//
// An attacker can forge everything except keys: the key log has few client randoms, and each belongs to one connection.
// The first connection that sends a random has a claim. So does the next, because a mirror may send a connection twice.
// An attacker who copies an observed random to other connections is later, and gets no claim.
//
//	a connection has                             its claim
//	keys that came with its addresses            granted
//	a record that opened                         granted if it is one of the first with this random; else refused
//	a ClientHello whose random has secrets       granted if it was one of the first with it; else late
//	no such hello                                unkeyed: nothing can open, so it is not searched
type claim uint8

const (
	unkeyed claim = iota
	late          // others sent the random before
	refused       // permanently: records of others with the random opened before
	granted
)

const (
	// The work of one direction: at first, in a burst, and at most. It earns work per incoming byte and segment, and at
	// the end per held byte.
	firstCredit = 4 << 10
	burst       = 1 << 20
	maxCredit   = 4 * burst
	perByte     = 2
	perSegment  = 96
	perLast     = 4
	// All directions of a worker share 100 MB of trials per second, a few percent of the bytes that a core can open.
	nanosecondsPerByte = 10
	maxSpare           = 64 << 20
	// A direction takes at most this fraction of the fund at a time, so some remains for others.
	largestPart = 8
)

// entitled determines whether a connection has a claim.
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

// ask looks for the randoms of ClientHellos in the held segments of a client. It has its own work, even if the
// direction's is used up.
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

// maxAsked limits the paths through segments that are examined for a random. While there are at most fewAsked segments,
// they are examined each time that their number has doubled.
const maxAsked, fewAsked = 128, 64

// toRandom is the offset of a ClientHello's random, after the headers of record and message and the version.
const toRandom = 5 + 4 + 2

// named examines bytes that may start with a ClientHello and arrived at mark: its random may give the connection a
// claim.
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

// keyed reports whether there may be keys with which a record of a connection opens.
func (r *Reassembler) keyed(p *Pair) bool { return r.entitled(p) || p.claim != unkeyed }

// Keyless reports whether no hello of a connection has keys, if none of its records has opened. It returns false while
// a hello is incomplete, or if no work is left to examine them.
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

// earn adds the work that a direction earns by incoming bytes. Without a claim it is half, because keeping copies costs
// more than reading on.
func (d *Direction) earn(p *Pair, bytes int) {
	n := bytes*perByte + perSegment
	if p.claim != granted {
		n /= 2
	}
	if d.credit < maxCredit {
		d.credit += n
	}
}

// lend raises the work of a direction to most, as far as the fund allows.
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

// fund gives a stalled direction more work, if its connection has a claim. At the end of the connection, it adds what
// the held bytes are worth, even if the fund is empty.
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
