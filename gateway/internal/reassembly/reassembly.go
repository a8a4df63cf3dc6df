// Package reassembly puts the segments of TCP in order on a wire that strangers write to.
//
// Only a tag decides which bytes are real. A direction holds the bytes that no tag has confirmed. For places with different
// bytes it holds all copies, up to a bound. The record that opens commits its bytes; the other copies for their places go.
// Nothing else ends or advances a connection: a hole is given up when a record behind it opens.
//
//	a direction is   bytes in order                 earlier bytes that differ             when its next record does not open
//	beginning        is kept and fed to TLS         is kept; copies are tried from the    copies are tried from the beginning
//	                                                beginning
//	streaming        is fed to TLS                  is kept                               contested
//	contested        is kept; copies are tried      is kept; copies are tried             a record further on is looked for
//	unprotected      is fed to TLS                  goes                                  it has no keys: records are only counted
//
// A direction begins until a record of it opens. Before that nothing was delivered, so the whole handshake can be read again
// from other copies; the hellos that count are those with which a record opens. It is unprotected when its keys are not there
// and not waited for.
package reassembly

import (
	"hash/maphash"
	"math"
	"slices"

	"github.com/sealane/sealane/gateway/internal/held"
	"github.com/sealane/sealane/gateway/internal/packet"
	"github.com/sealane/sealane/gateway/internal/tls"
)

// Stats count what strangers did, or loss.
type Stats struct {
	Repeated  uint64 // segments seen before
	Reordered uint64 // segments that came before their turn
	Conflicts uint64 // segments that contradict bytes held for the same place
	Holes     uint64 // holes that were given up
	HoleBytes uint64
	Unrelated uint64 // segments outside of the window
	Evicted   uint64 // segments dropped because too many were held
	Contested uint64 // records that did not open with the first copy of their bytes
	Settled   uint64 // of these, other copies opened
	Replays   uint64 // handshakes read again, from other copies
	Deferred  uint64 // times that copies were not tried because too many had been
	BadSums   uint64 // segments dropped for their checksum, on a way where all others have good ones
}

// A Direction is what one direction holds that no tag has confirmed.
type Direction struct {
	Since int64 // when it came to a stop
	// Of the bytes fed last, while it begins or was read again: the latest of all before them.
	mark      int64
	order     uint64
	held      held.List
	origin    uint32 // where it begins, while it does
	last      uint32 // where the last segment is
	lastBytes int
	maybe     [5]uint32  // where it may begin, what was said first, and then the last first; 0 is nowhere
	base      uint32     // of the contested bytes, or where TLS stopped in the beginning
	usual     held.Class // of the beginning's packets, if the direction streams before its keys are there
	phase     phase
	receipt   receipt  // when it was looked at last
	policy    uint8    // the order of copies with which a record opened last
	looks     uint8    // without enough work, for a record that is contested or behind a hole
	urgent    []uint32 // places of bytes that may be none of the stream
	fed       []fed    // bytes that TLS got last
	hunt      *hunt    // while it is searched, or nil
	credit    int      // bytes that may be tried
	failed    []uint64 // records that did not open
	read      []uint64 // pairs of beginnings with which none did
}

// fed are bytes that were fed to TLS, up to a place.
type fed struct {
	end   uint32
	order uint64 // of their arrival
	class held.Class
}

// A Pair is what hangs on a connection.
type Pair struct {
	TLS    *tls.Conn
	Next   [2]*uint32 // sequence numbers that are due, by side of TLS
	Dir    [2]*Direction
	Usual  [2]held.Class // of packets that were authenticated
	clean  [2]int32      // how long the longest of these was; -1: the checksum of one was bad
	claim  claim
	asked  uint8  // how many segments of the client there were when its hellos were looked at for claim
	news   uint32 // what came since the handshake was read last, so that it may be read otherwise now
	newest uint64 // the order of the last segment that is held
}

// A Reassembler serves many connections. It belongs to one core.
type Reassembler struct {
	Dec   *tls.Decrypter
	Pool  held.Pool
	Stats Stats

	now     int64
	spare   int   // bytes that may be tried in directions that are stalled
	spared  int64 // when that was computed
	order   uint64
	free    []*Direction
	make    held.Maker
	largest *Direction
}

// New returns a Reassembler that feeds d.
func New(d *tls.Decrypter, limit int) *Reassembler {
	d.Dispute = true
	return &Reassembler{
		Dec: d, Pool: held.Pool{Limit: limit}, spare: maxSpare,
		make: held.Maker{Seed: maphash.MakeSeed(), Arena: make(held.Arena, 0, held.ArenaBlock)},
	}
}

const (
	// What is kept of a handshake, for reading it again.
	maxBeginning = 256 << 10
	maxFailed    = 512
	// The most ways through the copies of a record that are tried as they come, and when it is stalled.
	fewWays, maxWays = 8, 256
	maxFed           = 64
	maxUrgent        = 3
	// The most bytes behind a hole that are searched at once, and how often a hole waits for more work.
	maxIsland = 128 << 10
	maxLooks  = 8
)

// Begin has a direction kept from its beginning on.
func (r *Reassembler) Begin(p *Pair) {
	for side := range p.Dir {
		r.direction(p, side).phase = unbegun
	}
}

func (r *Reassembler) direction(p *Pair, side int) *Direction {
	if p.Dir[side] == nil {
		if n := len(r.free); n > 0 {
			p.Dir[side] = r.free[n-1]
			r.free = r.free[:n-1]
		} else {
			p.Dir[side] = new(Direction)
		}
		d := p.Dir[side]
		d.phase, d.credit, d.Since = streaming, firstCredit, r.now
		if p.claim == granted {
			r.lend(d, burst)
		} else {
			r.entitled(p)
		}
	}
	return p.Dir[side]
}

func (r *Reassembler) release(p *Pair, side int) {
	d := p.Dir[side]
	if d == nil {
		return
	}
	for _, s := range d.held.Segs {
		r.Pool.Drop(s.Segment)
	}
	clear(d.held.Segs)
	r.spare = min(r.spare+min(max(d.credit, 0), burst), maxSpare) // for others
	*d = Direction{held: held.List{Segs: d.held.Segs[:0]}, fed: d.fed[:0], failed: d.failed[:0], read: d.read[:0], urgent: d.urgent[:0]}
	if r.largest == d {
		r.largest = nil
	}
	if len(r.free) < 1<<12 {
		r.free = append(r.free, d)
	}
	p.Dir[side] = nil
}

// Release forgets what a connection holds.
func (r *Reassembler) Release(p *Pair) {
	r.release(p, 0)
	r.release(p, 1)
}

// Stalled tells whether a direction waits for bytes, or for copies of them.
func (p *Pair) Stalled(side uint8) bool {
	d := p.Dir[side]
	return d != nil && (d.phase.stopped() || d.held.Behind(*p.Next[side]))
}

// Maybe says that a direction may begin at a place.
func (p *Pair) Maybe(side uint8, seq uint32) {
	if d := p.Dir[side]; d != nil && d.phase.early() && !(d.phase == beginning && seq == d.origin) && !slices.Contains(d.maybe[:], seq) {
		copy(d.maybe[2:], d.maybe[1:])
		d.maybe[1] = seq
		d.held.Doubt = true
		p.news++
	}
}

// Confirmed returns the place up to which a direction was read: the bytes behind it wait, or are incomplete.
func (r *Reassembler) Confirmed(p *Pair, side uint8) uint32 {
	pending := r.Dec.Pending(p.TLS, side)
	if d := p.Dir[side]; d != nil && (d.phase.stopped() || p.TLS.InDispute(side) && len(pending) == 0) {
		return d.base
	}
	return *p.Next[side] - uint32(len(pending))
}

// Origin returns where a direction begins, while it does.
func (p *Pair) Origin(side uint8) (seq uint32, ok bool) {
	if d := p.Dir[side]; d != nil && d.phase == beginning {
		return d.origin, true
	}
	return 0, false
}

// Idle tells whether nothing is held of a direction, and it can be read on elsewhere.
func (p *Pair) Idle(side uint8) bool {
	return p.Dir[side] == nil && !p.TLS.InDispute(side) && !p.TLS.Searching(side)
}

// Hopeless tells whether much has come of a direction of which no record opens.
func (p *Pair) Hopeless(side uint8) bool {
	d := p.Dir[side]
	return d != nil && d.phase.stopped() && d.held.Bytes > 32<<10 && !p.TLS.Opened(side)
}

// either tells whether something is so of a direction of which something is held.
func (p *Pair) either(is func(d *Direction) bool) bool {
	return slices.ContainsFunc(p.Dir[:], func(d *Direction) bool { return d != nil && is(d) })
}

// Contested tells whether a handshake has copies that differ.
func (p *Pair) Contested() bool {
	return p.either(func(d *Direction) bool { return d.phase.early() && d.held.Doubt })
}

// Greeting tells whether what a client said first looks like a ClientHello, though it may not be one: what makes it none may be forged,
// and the real bytes of that place may still come.
func (p *Pair) Greeting() bool {
	d := p.Dir[tls.Client]
	return d != nil && d.phase == beginning && slices.ContainsFunc(d.held.At(d.origin), func(s held.Seat) bool {
		return looksLikeHello(s.From(d.origin), tls.Client)
	})
}

// A Result is what became of a segment.
type Result uint8

// Results.
const (
	Taken Result = iota // its bytes were due
	Held
	Repeated
	Unrelated // it cannot be of the stream
)

// prove is called when the first record of a direction has opened. read is what it was read with again, or nil.
func (r *Reassembler) prove(p *Pair, d *Direction, side uint8, read []byte) {
	base := *p.Next[side] - uint32(len(r.Dec.Pending(p.TLS, side)))
	n := int(base - d.origin)
	if d.phase == beginning && n > 0 && n <= maxBeginning {
		all := make([]byte, n)
		held.Paint(r.make.Arrange(&d.held, p.Usual[side], d.origin, base, d.policy), d.origin, all)
		copy(all, read)
		plain := protectedFrom(all) // what was sent in plain text may be anybody's
		r.learn(p, d, side, d.origin+uint32(plain), all[plain:])
	}
	d.happens(opens)
	d.held.Prune(&r.Pool, base)
}

// authentic records the class of an authenticated packet with n bytes of payload.
func (p *Pair) authentic(side uint8, class held.Class, n int) {
	p.Usual[side] = class
	switch {
	case class.Sum == packet.SumBad:
		p.clean[side] = -1
	case class.Sum == packet.SumGood && p.clean[side] >= 0:
		p.clean[side] = max(p.clean[side], int32(n))
	}
}

// spurious tells whether no receiver takes a packet: its checksum is bad, and the tap sees those that senders made. Where all that was
// authenticated has good ones, only what a network card has put together has not, and that is longer.
func (p *Pair) spurious(side uint8, n int, class held.Class) bool {
	return int32(n) <= p.clean[side] && class.Sum == packet.SumBad
}

// Jump says that all before a place was read elsewhere: TLS knows.
func (r *Reassembler) Jump(p *Pair, side uint8, seq uint32, now int64) {
	r.now, *p.Next[side] = now, seq
	d := p.Dir[side]
	if d == nil {
		return
	}
	d.fed = d.fed[:0]
	d.happens(opens)
	d.held.Prune(&r.Pool, seq)
	r.settle(p, side, false)
}

// News tells whether a handshake may be read otherwise than it was.
func (p *Pair) News() bool { return p.news > 0 }

// CanTurn tells whether all that came of a connection can be read again, the other way round: no record of it has opened.
func (r *Reassembler) CanTurn(p *Pair) bool {
	for side, d := range p.Dir {
		if d == nil || !d.phase.early() || p.TLS.Proved(uint8(side)) {
			return false
		}
	}
	return true
}

// Turn makes the client the server, and the server the client, in a connection that CanTurn.
func (r *Reassembler) Turn(p *Pair) {
	r.Dec.Reset(p.TLS)
	p.asked = 0
	p.news++
	p.Dir[0], p.Dir[1] = p.Dir[1], p.Dir[0]
	p.Next[0], p.Next[1] = p.Next[1], p.Next[0]
	p.Usual[0], p.Usual[1] = p.Usual[1], p.Usual[0]
	p.clean[0], p.clean[1] = p.clean[1], p.clean[0]
	for side, d := range p.Dir {
		if d.phase == beginning {
			*p.Next[side] = d.origin
		}
		d.held.Doubt = true
		d.mark, d.order = math.MinInt64, 0
	}
}

// Search looks with patience for beginnings with which a record opens, in a connection that CanTurn, and for a record behind them that has been
// there for wait. At the end of the connection there is some work for it in any case.
func (r *Reassembler) Search(p *Pair, now, wait int64, end bool) {
	r.now = now
	for side := range uint8(2) {
		if r.CanTurn(p) && p.Contested() && r.keyed(p) {
			r.press(p, side, wait, end)
		}
	}
}

// Retry is called when keys may have come, which is news, or will not.
func (r *Reassembler) Retry(p *Pair, now int64, news bool) {
	r.now = now
	p.news++
	if news {
		p.asked = 0
	}
	for _, d := range p.Dir {
		if d != nil {
			d.read = d.read[:0]
			if d.phase.early() {
				d.failed = d.failed[:0]
			}
		}
	}
	r.settle(p, 0, false)
	r.settle(p, 1, false)
}
