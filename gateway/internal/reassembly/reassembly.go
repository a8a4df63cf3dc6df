// Package reassembly puts TCP segments in order on a network into which attackers can inject packets.
//
// Only a tag decides which bytes are genuine. A direction holds the bytes that no tag has confirmed. Where segments
// differ, it holds all copies, up to a limit. When a record opens, its bytes are confirmed, and other copies of them
// are dropped. Nothing else ends or advances a connection: a hole is given up when a later record opens.
//
//	a direction is   bytes in order               differing earlier bytes             if its next record does not open
//	beginning        are kept and fed to TLS      are kept and tried from the start   copies are tried from the start
//	streaming        are fed to TLS               are kept                            it is contested
//	contested        are kept; copies are tried   are kept and tried                  a later record is searched for
//	unprotected      are fed to TLS               are dropped                         (records are only counted)
//
// A direction is beginning until one of its records opens. Nothing is delivered before that, so the whole handshake can
// be read again from other copies. The hellos that count are those with which a record opens. A direction is
// unprotected if its keys are missing and the gateway does not wait for them.
package reassembly

import (
	"hash/maphash"
	"math"
	"slices"

	"github.com/sealane/sealane/gateway/internal/held"
	"github.com/sealane/sealane/gateway/internal/packet"
	"github.com/sealane/sealane/gateway/internal/tls"
)

// Stats counts signs of attacks and of loss.
type Stats struct {
	Repeated  uint64 // segments without new bytes
	Reordered uint64 // segments that arrived ahead of missing bytes
	Conflicts uint64 // segments that differ from held bytes with the same sequence numbers
	Holes     uint64 // holes that were given up
	HoleBytes uint64
	Unrelated uint64 // segments outside the window
	Evicted   uint64 // segments dropped because too many were held
	Contested uint64 // records that did not open with the first copy of their bytes
	Settled   uint64 // contested records that opened with other copies
	Replays   uint64 // attempts to read a handshake again from other copies
	Deferred  uint64 // times that copies were not tried because the work was used up
	BadSums   uint64 // segments dropped for a bad checksum; all authenticated packets of the direction have good ones
}

// A Direction is the state of one direction that has bytes no tag has confirmed.
type Direction struct {
	Since int64 // when its stall began
	// While the direction is beginning or read again: the latest arrival of all bytes fed so far, as time and number.
	mark      int64
	order     uint64
	held      held.List
	origin    uint32     // its first sequence number, while it is beginning
	last      uint32     // sequence number of the segment that arrived last
	lastBytes int        // length of that segment
	maybe     [5]uint32  // possible first sequence numbers: the oldest, then the others, newest first; 0: none
	base      uint32     // start of the contested bytes, or where TLS stopped in the beginning
	usual     held.Class // of the beginning's last segment, if the direction streams before its keys arrive
	phase     phase
	receipt   receipt  // when last examined
	policy    uint8    // order of copies with which the last record opened
	looks     uint8    // how many examinations of this stall lacked work
	urgent    []uint32 // sequence numbers of urgent bytes, which may not belong to the stream
	fed       []fed    // the latest bytes fed to TLS
	hunt      *hunt    // state of a search for the first record, or nil
	credit    int      // work that may be done for it; the unit is the opening of one byte
	failed    []uint64 // hashes of records that did not open
	read      []uint64 // hashes of pairs of beginnings with which none opened
}

// fed describes bytes that were fed to TLS, up to a sequence number.
type fed struct {
	end   uint32
	order uint64 // number in order of arrival
	class held.Class
}

// A Pair is the state of a connection.
type Pair struct {
	TLS    *tls.Conn
	Next   [2]*uint32 // sequence numbers of the next bytes for TLS, by side of TLS
	Dir    [2]*Direction
	Usual  [2]held.Class // of the last authenticated packets
	clean  [2]int32      // longest authenticated payload with a good checksum; -1: one had a bad checksum
	claim  claim
	asked  uint8  // how many client segments there were when its hellos were last searched for a claim
	news   uint32 // number of events since the handshake was last read that may change the result
	newest uint64 // order of the last segment that was kept
}

// A Reassembler serves many connections. It belongs to one core.
type Reassembler struct {
	Dec   *tls.Decrypter
	Pool  held.Pool
	Stats Stats

	now     int64
	spare   int   // shared fund of work; see lend
	spared  int64 // when spare was computed
	order   uint64
	free    []*Direction
	make    held.Maker
	largest *Direction // holds the most bytes, or nil
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
	// How many bytes of a beginning are kept, to read the handshake again.
	maxBeginning = 256 << 10
	maxFailed    = 512
	// The most paths through the copies of a record that are tried when segments arrive, and when the direction is
	// stalled.
	fewWays, maxWays = 8, 256
	maxFed           = 64
	maxUrgent        = 3
	// The most contiguous bytes after a hole that are searched at once, and how often a stall waits for more work.
	maxIsland = 128 << 10
	maxLooks  = 8
)

// Begin prepares a connection whose directions are kept from their beginnings on.
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
	r.spare = min(r.spare+min(max(d.credit, 0), burst), maxSpare) // unused work returns to the fund
	*d = Direction{held: held.List{Segs: d.held.Segs[:0]}, fed: d.fed[:0], failed: d.failed[:0], read: d.read[:0], urgent: d.urgent[:0]}
	if r.largest == d {
		r.largest = nil
	}
	if len(r.free) < 1<<12 {
		r.free = append(r.free, d)
	}
	p.Dir[side] = nil
}

// Release drops all held bytes of a connection.
func (r *Reassembler) Release(p *Pair) {
	r.release(p, 0)
	r.release(p, 1)
}

// Stalled reports whether a direction waits for missing bytes, or for other copies.
func (p *Pair) Stalled(side uint8) bool {
	d := p.Dir[side]
	return d != nil && (d.phase.stopped() || d.held.Behind(*p.Next[side]))
}

// Maybe declares that a direction may begin at a sequence number.
func (p *Pair) Maybe(side uint8, seq uint32) {
	if d := p.Dir[side]; d != nil && d.phase.early() && !(d.phase == beginning && seq == d.origin) && !slices.Contains(d.maybe[:], seq) {
		copy(d.maybe[2:], d.maybe[1:])
		d.maybe[1] = seq
		d.held.Doubt = true
		p.news++
	}
}

// Confirmed returns the sequence number up to which a direction was read. The bytes after it wait, or are the start of
// a record.
func (r *Reassembler) Confirmed(p *Pair, side uint8) uint32 {
	pending := r.Dec.Pending(p.TLS, side)
	if d := p.Dir[side]; d != nil && (d.phase.stopped() || p.TLS.InDispute(side) && len(pending) == 0) {
		return d.base
	}
	return *p.Next[side] - uint32(len(pending))
}

// Origin returns the first sequence number of a direction that is beginning.
func (p *Pair) Origin(side uint8) (seq uint32, ok bool) {
	if d := p.Dir[side]; d != nil && d.phase == beginning {
		return d.origin, true
	}
	return 0, false
}

// Idle reports whether nothing of a direction is held, so its next segments can be read without this package.
func (p *Pair) Idle(side uint8) bool {
	return p.Dir[side] == nil && !p.TLS.InDispute(side) && !p.TLS.Searching(side)
}

// Hopeless reports whether a direction has stopped, holds many bytes, and no record of it has opened.
func (p *Pair) Hopeless(side uint8) bool {
	d := p.Dir[side]
	return d != nil && d.phase.stopped() && d.held.Bytes > 32<<10 && !p.TLS.Opened(side)
}

// either reports whether a condition is true for one of the directions.
func (p *Pair) either(is func(d *Direction) bool) bool {
	return slices.ContainsFunc(p.Dir[:], func(d *Direction) bool { return d != nil && is(d) })
}

// Contested reports whether a handshake has differing copies, or an uncertain start.
func (p *Pair) Contested() bool {
	return p.either(func(d *Direction) bool { return d.phase.early() && d.held.Doubt })
}

// Greeting reports whether a copy of the client's first bytes looks like a ClientHello. If TLS finds it invalid, some
// of its bytes may be forged, and the genuine ones may still arrive.
func (p *Pair) Greeting() bool {
	d := p.Dir[tls.Client]
	return d != nil && d.phase == beginning && slices.ContainsFunc(d.held.At(d.origin), func(s held.Seat) bool {
		return looksLikeHello(s.From(d.origin), tls.Client)
	})
}

// A Result is the outcome of Segment.
type Result uint8

// Results.
const (
	Taken Result = iota // its bytes were the next ones
	Held
	Repeated
	Unrelated // it cannot belong to the stream
)

// prove is called when the first record of a direction has opened. read has the beginning with which it was read again,
// or is nil.
func (r *Reassembler) prove(p *Pair, d *Direction, side uint8, read []byte) {
	base := *p.Next[side] - uint32(len(r.Dec.Pending(p.TLS, side)))
	n := int(base - d.origin)
	if d.phase == beginning && n > 0 && n <= maxBeginning {
		all := make([]byte, n)
		held.Paint(r.make.Arrange(&d.held, p.Usual[side], d.origin, base, d.policy), d.origin, all)
		copy(all, read)
		plain := protectedFrom(all) // anyone may have sent the unprotected records
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

// spurious reports whether receivers discard a packet for its bad checksum. If all authenticated packets have good
// checksums, the gateway sees the checksums that senders computed. Packets that a network card has merged are an
// exception, but they are longer.
func (p *Pair) spurious(side uint8, n int, class held.Class) bool {
	return int32(n) <= p.clean[side] && class.Sum == packet.SumBad
}

// Jump declares that all bytes before a sequence number were read elsewhere. TLS has been informed.
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

// News reports whether reading the handshake again may have a different result.
func (p *Pair) News() bool { return p.news > 0 }

// CanTurn reports whether a connection can be read again with client and server exchanged: no record of it has opened,
// and everything is held.
func (r *Reassembler) CanTurn(p *Pair) bool {
	for side, d := range p.Dir {
		if d == nil || !d.phase.early() || p.TLS.Proved(uint8(side)) {
			return false
		}
	}
	return true
}

// Turn exchanges client and server of a connection for which CanTurn returns true.
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

// Search tries many beginnings of a connection for which CanTurn returns true, until a record opens. It also searches
// for a later record, which must have been held for wait. At the end of a connection with a claim, there is some work
// for this even if the fund is empty.
func (r *Reassembler) Search(p *Pair, now, wait int64, end bool) {
	r.now = now
	for side := range uint8(2) {
		if r.CanTurn(p) && p.Contested() && r.keyed(p) {
			r.press(p, side, wait, end)
		}
	}
}

// Retry is called when keys may have arrived, then with news, or when they will not arrive.
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
