// Package reassembly puts the segments of TCP in order on a wire that strangers write to.
//
// Only a tag decides which bytes are real. A direction holds what no tag has confirmed, and of places for which different
// bytes came, up to a bound, all copies. The record that opens commits its bytes; what else there was for their places goes.
// Nothing else ends or advances a connection: a hole is given up when a record behind it opens.
//
//	a direction is   what comes in order            what is before that, and differs      when its next record does not open
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
	"bytes"
	"cmp"
	"hash/maphash"
	"math"
	"slices"

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
}

// A phase is how a direction is read: the first column of the table above. What is unprotected streams.
//
//	phase       goes on to
//	beginning   streaming: a record opens; too much waits for keys; nothing more comes
//	            contested: a record further on opens, and what is before it does not (leave)
//	streaming   contested: the next record does not open, or something is missing that will not come
//	contested   streaming: another copy opens, or a record further on; it was read elsewhere; nothing more comes
//	            beginning: nothing further on opened (leave)
type phase uint8

const (
	streaming phase = iota
	beginning
	contested
)

// A Direction is what one direction holds that no tag has confirmed.
type Direction struct {
	Since int64 // when it came to a stop
	// Of what was fed last, while it begins or was read again: the latest of all before it.
	mark      int64
	order     uint64
	held      held
	origin    uint32 // where it begins, while it does
	first     uint32 // what that was at first; 0 is nowhere
	last      uint32 // where the last segment is
	lastBytes int
	maybe     [4]uint32 // where else it may begin, the last first; 0 is nowhere
	base      uint32    // of what is contested, or where TLS stopped in the beginning
	phase     phase
	begun     bool // origin is known
	conflict  bool // copies differ
	fresh     bool // something came since the last try
	news      bool // something has come since the handshake was read last
	again     bool // it was read again: what is due now came before
	deep      bool // it is stalled: all that differs is tried
	endowed   bool // it has had its burst
	unacked   bool // what is missing was so when it was looked at last
	postponed bool // the record that is due may open once keys have come, of this direction or of the other one
	policy    uint8
	looks     uint8    // for a record behind a hole, without enough work
	fed       []fed    // bytes that TLS got last
	hunt      *hunt    // while it is searched, or nil
	credit    int      // bytes that may be tried
	failed    []uint64 // records that did not open
	read      []uint64 // pairs of beginnings with which none did
	salt      uint64   // stands for the keys with which records do not open
	owner     *Pair
	// What was let go of when there was no room; nothing that is no better is taken.
	floor      merit
	floorBase  uint32
	floorMany  bool
	floorUsual Class
}

// fed are bytes that were fed to TLS, up to a place.
type fed struct {
	end   uint32
	order uint64 // of their arrival
	class Class
}

// A Pair is what hangs on a connection.
type Pair struct {
	TLS   *tls.Conn
	Next  [2]*uint32 // sequence numbers that are due, by side of TLS
	Dir   [2]*Direction
	Usual [2]Class // of packets that were authenticated
	claim claim
	asked uint8 // how many segments of the client there were when its hellos were looked at for claim
}

// A Reassembler serves many connections. It belongs to one core.
type Reassembler struct {
	Dec   *tls.Decrypter
	Pool  Pool
	Stats Stats

	now     int64
	spare   int   // bytes that may be tried in directions that are stalled
	spared  int64 // when that was computed
	order   uint64
	free    []*Direction
	seed    maphash.Seed
	largest *Direction
	list    []int
	record  []byte
	other   []byte
	merits  []merit // of what is held, for evict
	sorted  []merit
	ways    []*ways  // of walks that are over
	unknown [32]byte // a client random that had no secrets when there were so many changes of the store
	changes uint64
	arena   arena
}

// New returns a Reassembler that feeds d.
func New(d *tls.Decrypter, limit int) *Reassembler {
	d.Dispute = true
	return &Reassembler{
		Dec: d, Pool: Pool{Limit: limit}, seed: maphash.MakeSeed(), spare: maxSpare, record: make([]byte, maxRecord), other: make([]byte, maxRecord),
	}
}

const (
	maxRecord = 5 + 1<<14 + 2048
	// What is kept of a handshake, for reading it again.
	maxBeginning = 256 << 10
	maxCopies    = 16
	maxFailed    = 512
	// So many ways through the copies of a record are tried as they come, and when it is stalled.
	fewWays, maxWays = 8, 256
	maxOdd           = 24
	maxInvolved      = 20
	maxFed           = 64
	// Of bytes behind a hole so many are looked through at once, and so often a hole waits for more work.
	maxIsland  = 128 << 10
	maxLooks   = 8
	maxForgone = 16 << 10
)

// Begin has a direction kept from its beginning on.
func (r *Reassembler) Begin(p *Pair) {
	for side := range p.Dir {
		d := r.direction(p, side)
		d.phase = beginning
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
		d.owner, d.credit, d.Since = p, firstCredit, r.now
		r.endow(p, d)
	}
	return p.Dir[side]
}

func (r *Reassembler) release(p *Pair, side int) {
	d := p.Dir[side]
	if d == nil {
		return
	}
	for !d.held.empty() {
		d.held.letGo(&r.Pool)
	}
	r.spare = min(r.spare+min(max(d.credit, 0), burst), maxSpare) // for others
	segs, tops, failed, read, fed := d.held.segs[:0], d.held.tops[:0], d.failed[:0], d.read[:0], d.fed[:0]
	*d = Direction{}
	d.held.segs, d.held.tops, d.failed, d.read, d.fed = segs, tops, failed, read, fed
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
	if d == nil {
		return false
	}
	return d.phase == contested || len(d.held.far) > 0 || len(d.held.segs) > 0 && After(d.held.segs[len(d.held.segs)-1].end(), *p.Next[side])
}

// Maybe says that a direction may begin at a place.
func (p *Pair) Maybe(side uint8, seq uint32) {
	if d := p.Dir[side]; d != nil && d.phase == beginning && !(d.begun && seq == d.origin) && !slices.Contains(d.maybe[:], seq) {
		copy(d.maybe[1:], d.maybe[:])
		d.maybe[0] = seq
		d.conflict, d.news = true, true
	}
}

// Confirmed returns the place up to which a direction was read: what comes behind it waits, or is not whole.
func (r *Reassembler) Confirmed(p *Pair, side uint8) uint32 {
	d := p.Dir[side]
	pending := r.Dec.Pending(p.TLS, side)
	if d != nil && (d.phase == contested || p.TLS.InDispute(side) && len(pending) == 0) {
		return d.base
	}
	return *p.Next[side] - uint32(len(pending))
}

// news says whether something has come since a handshake was read last, so that it may be read otherwise now.
func (p *Pair) news(is bool) {
	for _, d := range p.Dir {
		if d != nil {
			d.news = is
		}
	}
}

// Origin returns where a direction begins, while it does.
func (p *Pair) Origin(side uint8) (seq uint32, ok bool) {
	if d := p.Dir[side]; d != nil && d.phase == beginning && d.begun {
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
	return d != nil && d.phase == contested && d.held.bytes > 32<<10 && !p.TLS.Opened(side)
}

// Contested tells whether a handshake has copies that differ.
func (p *Pair) Contested() bool {
	for _, d := range p.Dir {
		if d != nil && d.phase == beginning && d.conflict {
			return true
		}
	}
	return false
}

// Greeting tells whether what a client said first looks like a ClientHello, though it may not be one: what makes it none may be forged,
// and the real bytes of that place may still come.
func (p *Pair) Greeting() bool {
	d := p.Dir[tls.Client]
	return d != nil && d.phase == beginning && d.begun && d.looksLikeHello(d.origin, tls.Client)
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

// Segment takes a segment that is not simply the next one of a direction that streams. Its bytes are those of a packet,
// perhaps without the first ones; without one, nothing is known of their way.
func (r *Reassembler) Segment(p *Pair, side uint8, seq uint32, data []byte, from *packet.Segment, now int64) Result {
	r.now = now
	d := r.direction(p, int(side))
	if d.phase == beginning && !d.conflict && seq == *p.Next[side] && !p.TLS.Proved(side) && d.held.ends(seq) && d.held.bytes+len(data) < maxBeginning &&
		!d.held.full(len(data)) && r.Pool.room(len(data)) && !p.TLS.InDispute(side) {
		// A handshake as it should be.
		if !d.begun {
			d.begun, d.origin, d.first = true, seq, seq
		}
		d.Since = now
		r.order++
		p.news(true)
		*p.Next[side] += uint32(len(data))
		d.mark, d.order = max(d.mark, r.Dec.Mark), r.order
		r.Dec.Feed(p.TLS, side, data)
		if r.opens(p, side, len(data)) {
			of := source{packet: from}
			p.Usual[side] = of.Class()
			r.release(p, int(side))
			return Taken
		}
		if of := (source{packet: from}); d.held.joins(&r.Pool, seq, &of, r.order, p.newest(1-side), data) {
			// It lies beside the one before.
		} else if from != nil && len(from.Payload) == len(data) {
			d.held.lazily(&r.Pool, from, seq, r.order, r.Dec.Mark)
		} else {
			of := source{packet: from}
			d.held.insert(&r.Pool, seq, of.Class(), r.order, r.Dec.Mark, data)
		}
		for s := range p.Dir {
			if p.Dir[s] != nil && p.TLS.Proved(uint8(s)) || p.TLS.InDispute(uint8(s)) {
				r.settle(p, side, now)
				break
			}
		}
		return Taken
	}
	r.Dec.Flush(p.TLS)
	r.collect(p, side)
	d.earn(p, len(data))
	d.last, d.lastBytes = seq, len(data)
	result := r.segment(p, d, side, seq, data, &source{packet: from}, now)
	if result != Repeated || !p.settled() {
		r.settle(p, side, now)
	}
	return result
}

// opens tells whether with the last so many bytes of a handshake as it should be a record has opened, and nothing else
// has happened: then the direction streams, and nothing need be held of it.
func (r *Reassembler) opens(p *Pair, side uint8, n int) bool {
	other := 1 - side
	return p.TLS.Opened(side) && !p.TLS.InDispute(side) && !p.TLS.Searching(side) &&
		len(r.Dec.Pending(p.TLS, side)) < n && !p.TLS.InDispute(other) && (p.Dir[other] == nil || !p.TLS.Proved(other))
}

// settled tells whether nothing would come of settle, if nothing came since it was called last.
func (p *Pair) settled() bool {
	for side, d := range p.Dir {
		switch {
		case d == nil:
			if p.TLS.InDispute(uint8(side)) {
				return false
			}
		case d.phase == beginning && (d.news || d.deep), d.phase == streaming, d.phase == contested && d.fresh:
			return false
		}
	}
	return true
}

func (r *Reassembler) segment(
	p *Pair, d *Direction, side uint8, seq uint32, data []byte, of *source, now int64,
) Result {
	next := p.Next[side]
	if d.phase == beginning && !d.begun {
		if seq != *next && looksLikeHello(data, side) && len(d.held.segs) == 0 {
			*next = seq // whatever the SYN said
		}
		d.begun, d.origin, d.first = true, *next, *next
	}
	if d.phase == beginning && !d.near(seq) && mayBeHello(data, side) {
		p.Maybe(side, seq) // the SYN that was seen may be another's
	}
	base := r.base(p, d, side)
	if d.phase == beginning && d.near(seq) {
		base = seq
	}
	if old := base - seq; int32(old) > 0 && !(d.phase == beginning && (old < maxBeginning || looksLikeHello(data, side))) {
		if uint64(old) >= uint64(len(data)) {
			r.Stats.Repeated++
			return Repeated
		}
		seq, data = seq+old, data[old:]
	}
	if seq-base > MaxAhead && !(d.phase == beginning && (base-seq < maxBeginning || looksLikeHello(data, side))) {
		r.Stats.Unrelated++
		return Unrelated
	}
	ahead := int32(seq - *next)
	if !p.Stalled(side) {
		d.Since = now
	}
	if d.phase == beginning {
		if r.begin(p, d, side, seq, data, of, now) == Repeated {
			return Repeated
		}
	} else if d.phase == contested || ahead > 0 || p.TLS.Searching(side) {
		if r.keep(p, d, side, seq, data, of, now) == Repeated {
			return Repeated
		}
	} else {
		// What is fed to TLS and not confirmed yet.
		if n := min(-int(ahead), len(data)); n > 0 {
			pending := r.Dec.Pending(p.TLS, side)
			if at := int(seq - base); at+n <= len(pending) && !bytes.Equal(pending[at:at+n], data[:n]) {
				r.Stats.Conflicts++
				d.conflict = true
				r.keep(p, d, side, seq, data, of, now)
				if d.phase != contested && seq+uint32(n) == *next {
					r.Dec.Stop(p.TLS, side)
					r.collect(p, side)
				}
				if d.phase == contested || seq+uint32(n) != *next {
					return Taken
				}
			}
			data = data[n:]
			if len(data) == 0 {
				r.Stats.Repeated++
				return Repeated
			}
		}
		*next += uint32(len(data))
		r.order++
		d.feeds(*next, r.order, of.Class())
		r.Dec.Feed(p.TLS, side, data)
		return Taken
	}
	if ahead > 0 {
		r.Stats.Reordered++
		return Held
	}
	return Taken
}

// near tells whether a place is in the beginning of a direction, wherever that is.
func (d *Direction) near(seq uint32) bool {
	if seq-d.origin < maxBeginning || d.first != 0 && seq-d.first < maxBeginning {
		return true
	}
	for _, at := range d.maybe {
		if at != 0 && seq-at < maxBeginning {
			return true
		}
	}
	return false
}

// base returns the place of the first byte that no tag has confirmed.
func (r *Reassembler) base(p *Pair, d *Direction, side uint8) uint32 {
	switch {
	case d.phase == beginning:
		return d.origin
	case d.phase == contested:
		return d.base
	}
	return *p.Next[side] - uint32(len(r.Dec.Pending(p.TLS, side)))
}

// collect takes what TLS stopped at.
func (r *Reassembler) collect(p *Pair, side uint8) {
	if !p.TLS.InDispute(side) {
		return
	}
	b := r.Dec.TakeDisputed(p.TLS, side)
	d := r.direction(p, int(side))
	if d.phase == beginning && !p.TLS.Proved(side) {
		if len(b) > 0 {
			d.base = *p.Next[side] - uint32(len(b))
		}
		d.conflict = true
		return // it is all there
	}
	if len(b) == 0 && d.phase == contested {
		return
	}
	next := p.Next[side]
	base := *next - uint32(len(b))
	if d.phase != contested {
		d.phase, d.base, d.fresh = contested, base, true
		d.failed = d.failed[:0]
		r.Stats.Contested++
		d.Since = r.now
		d.held.prune(&r.Pool, base)
	}
	*next = d.base
	fed := d.fed
	for at := base; len(b) > 0; {
		n, order, class := min(len(b), 1<<15), uint64(0), Class{}
		for len(fed) > 0 && !After(fed[0].end, at) {
			fed = fed[1:]
		}
		if len(fed) > 0 {
			n, order, class = min(n, int(fed[0].end-at)), fed[0].order, fed[0].class
		}
		if x := d.held.novel(at, b[:n], &source{class: class}, p.Usual[side]); len(x.rest) > 0 {
			d.conflict = d.conflict || x.conflict
			d.held.insert(&r.Pool, x.from, class, order, r.Dec.Mark, x.rest)
		}
		at, b = at+uint32(n), b[n:]
	}
	d.fed = d.fed[:0]
}

// feeds notes when bytes were fed to TLS.
func (d *Direction) feeds(end uint32, order uint64, class Class) {
	if len(d.fed) == maxFed {
		d.fed = append(d.fed[:0], d.fed[maxFed/2:]...)
	}
	d.fed = append(d.fed, fed{end, order, class})
}

// settle brings a direction as far as it comes.
func (r *Reassembler) settle(p *Pair, side uint8, now int64) {
	for s := range uint8(2) {
		d := p.Dir[s]
		if d == nil && !p.TLS.InDispute(s) {
			continue
		}
		r.collect(p, s)
		if d = p.Dir[s]; d == nil {
			continue
		}
		if d.phase == beginning {
			r.advance(p, d, s)
			if p.TLS.Proved(s) {
				r.prove(p, d, s)
			} else if (d.conflict || p.Contested() && d.held.bytes <= lengths[len(lengths)-1]) && d.begun && s == side && (d.news || d.deep) && r.replay(p) {
				// Of a direction without copies, what is further on decides nothing.
				r.catchUp(p)
				r.settle(p, 1-side, now)
			}
			if d = p.Dir[s]; d == nil || d.phase == beginning {
				continue
			}
		}
		if p.TLS.Searching(s) && (s != side || !r.hunt(p, d, s, d.last, d.lastBytes)) {
			continue
		}
		if d.phase != contested {
			r.stream(p, d, s)
		}
		for d.phase == contested && d.fresh && r.try(p, d, s) {
			r.Stats.Settled++
			r.stream(p, d, s)
			d.Since = now
		}
		d.again = false
		if d.phase != contested && d.held.empty() {
			r.release(p, int(s))
		}
	}
}

// stream feeds what is held and due. It ends where nothing is, or a record does not open.
func (r *Reassembler) stream(p *Pair, d *Direction, side uint8) {
	r.advance(p, d, side)
	if d.phase != contested && d.conflict {
		// What TLS has may never become a record, and another copy of it be one already.
		base := r.base(p, d, side)
		if i := d.held.near(base); len(r.Dec.Pending(p.TLS, side)) > 0 && i < len(d.held.segs) && After(*p.Next[side], d.held.segs[0].seq) &&
			After(d.held.segs[i].end(), base) {
			r.Dec.Stop(p.TLS, side)
			r.collect(p, side)
		}
	}
	if d.phase != contested {
		base := r.base(p, d, side)
		d.held.prune(&r.Pool, base)
		if len(d.held.segs) == 0 {
			d.conflict = false
		}
	}
}

func (r *Reassembler) advance(p *Pair, d *Direction, side uint8) {
	next := p.Next[side]
	for d.phase != contested {
		if p.TLS.InDispute(side) {
			r.collect(p, side)
			return
		}
		s := r.best(p, d, side, *next)
		if s == nil && len(d.held.far) > 0 {
			r.recall(p, d, side)
			s = r.best(p, d, side, *next)
		}
		if s == nil {
			return
		}
		r.feed(p, d, side, s)
	}
}

// feed feeds a segment that is due.
func (r *Reassembler) feed(p *Pair, d *Direction, side uint8, s *segment) {
	next, mark := p.Next[side], r.Dec.Mark
	if d.phase == beginning || d.again {
		d.mark, d.order = max(d.mark, s.mark), max(d.order, s.order)
		r.Dec.Mark = d.mark
	}
	b := s.from(*next)
	*next += uint32(len(b))
	d.feeds(*next, s.order, s.Class())
	d.Since = r.now
	r.Dec.Feed(p.TLS, side, b)
	r.Dec.Mark = mark
	if d.phase != beginning && !p.TLS.InDispute(side) {
		d.held.prune(&r.Pool, r.base(p, d, side))
	}
}

// catchUp feeds what both directions have behind what was read again, in the order in which it came.
func (r *Reassembler) catchUp(p *Pair) {
	for {
		var due [2]*segment
		first := -1
		for side, d := range p.Dir {
			if d == nil || d.phase == contested || p.TLS.InDispute(uint8(side)) || !d.again && !(d.phase == beginning && d.begun) {
				continue
			}
			s := r.best(p, d, uint8(side), *p.Next[side])
			if due[side] = s; s != nil && (first < 0 || max(d.order, s.order) < max(p.Dir[first].order, due[first].order)) {
				first = side
			}
		}
		if first < 0 {
			return
		}
		r.feed(p, p.Dir[first], uint8(first), due[first])
	}
}

// best returns the segment to go on with at a place.
func (r *Reassembler) best(p *Pair, d *Direction, side uint8, at uint32) (best *segment) {
	usual := p.Usual[side]
	for i := d.held.near(at); i < len(d.held.segs) && !After(d.held.segs[i].seq, at); i++ {
		s := d.held.segs[i]
		if s.from(at) == nil {
			continue
		}
		if best == nil || s.Class().rank(usual) > best.Class().rank(usual) ||
			s.Class().rank(usual) == best.Class().rank(usual) && (s.order < best.order) == (d.policy&1 == 0) {
			best = s
		}
	}
	return best
}

// A policy is an order of copies. The first ones come first, or the last ones; rank goes before that, or not.
const policies = 4

// arrange puts those segments that overlap a range into the order in which they are painted: the best last.
func (r *Reassembler) arrange(d *Direction, usual Class, base, end uint32, policy uint8) []int {
	l := r.list[:0]
	for i := d.held.near(base); i < len(d.held.segs) && After(end, d.held.segs[i].seq); i++ {
		if After(d.held.segs[i].end(), base) {
			l = append(l, i)
		}
	}
	slices.SortStableFunc(l, func(i, j int) int {
		a, b := d.held.segs[i], d.held.segs[j]
		if policy < 2 {
			if x, y := a.Class().rank(usual), b.Class().rank(usual); x != y {
				return x - y
			}
		}
		if (a.order > b.order) == (policy&1 == 0) {
			return -1
		}
		return 1
	})
	r.list = l
	return l
}

// perPainted is what a segment costs that is put into its place, in bytes that are opened.
const perPainted = 256

// paint puts the bytes from base on into b. It returns what that costs.
func (d *Direction) paint(list []int, base uint32, b []byte) (n int) {
	for _, i := range list {
		s := d.held.segs[i]
		if at := int32(s.seq - base); at >= 0 {
			if int(at) < len(b) {
				n += copy(b[at:], s.buf) / 4
			}
		} else if int(-at) < len(s.buf) {
			n += copy(b, s.buf[-at:]) / 4
		}
		n += perPainted
	}
	return n
}

// frame returns how long a record with a header is, or 0 if it is none.
func frame(b []byte) int {
	n := 5 + int(b[3])<<8 + int(b[4])
	if b[0] < 20 || b[0] > 23 || b[1] != 3 || b[2] > 4 || n == 5 || n > maxRecord {
		return 0
	}
	return n
}

// try looks for copies with which the record at base opens.
func (r *Reassembler) try(p *Pair, d *Direction, side uint8) bool {
	defer r.arena.release(r.arena.mark())
	r.recall(p, d, side)
	base := d.base
	d.fresh, d.postponed = false, false
	have := int(d.held.unbroken(base, maxRecord) - base)
	if have < 5 {
		return false
	}
	usual := p.Usual[side]
	end := base + uint32(have)
	done, stop := false, false
	// test tries the record that b begins with, and returns its bytes.
	test := func(b []byte) []byte {
		n := frame(b)
		if skip := p.TLS.Prefix(side, b); skip > 0 && len(b)-skip >= 5 {
			n = skip + frame(b[skip:])
		}
		if n == 0 || n > len(b) {
			return b
		}
		h := maphash.Bytes(r.seed, b[:n]) ^ d.salt
		if slices.Contains(d.failed, h) {
			return b[:n]
		}
		if d.credit < 0 || len(d.failed) >= maxFailed {
			r.Stats.Deferred++
			stop, d.fresh = true, true
			return b[:n]
		}
		trials := r.Dec.Stats.Trials
		outcome := r.Dec.TryRecord(p.TLS, side, b[:n])
		d.credit -= tls.TrialBytes(n) * int(1+r.Dec.Stats.Trials-trials)
		switch outcome {
		case tls.Taken:
			r.learn(p, d, side, base, b[:n])
			d.base += uint32(n)
			*p.Next[side] = d.base
			d.phase, d.failed, done = streaming, d.failed[:0], true
		case tls.Refused:
			d.failed = append(d.failed, h)
		case tls.Postponed:
			stop, d.fresh, d.postponed = true, true, true
		}
		return b[:n]
	}
	// one paints in an order, and tries what that gives.
	one := func(list []int) []byte {
		b := r.record[:have]
		if d.credit < 0 {
			r.Stats.Deferred++
			stop, d.fresh = true, true
			return b
		}
		d.credit -= d.paint(list, base, b)
		return test(b)
	}
	if d.credit < 0 {
		r.Stats.Deferred++
		d.fresh = true
		return false
	}
	var first []byte
	for i := range uint8(policies) {
		policy := d.policy ^ i
		b := one(r.arrange(d, usual, base, end, policy))
		if done {
			d.policy = policy
			return true
		}
		if stop {
			return false
		}
		if i == 0 {
			first = append(r.other[:0], b...)
			if !d.conflict {
				return false
			}
		}
	}
	// Those that differ from the first choice, each alone and then together.
	list := slices.Clone(r.arrange(d, usual, base, end, d.policy))
	var heads [][]byte
	r.alternatives(d, usual, base, 5, func(head []byte) bool {
		if n := frame(head); n > 0 && n <= have {
			heads = append(heads, head)
		}
		return len(heads) < maxHellos
	})
	for _, head := range heads {
		if d.deep && r.sumUp(p, d, side, list, head, func(b []byte) bool { test(b); return done || stop }) {
			return done
		}
	}
	order := make([]int, 0, len(list)+1)
	for i := range uint8(2) {
		list = append(list[:0], r.arrange(d, usual, base, end, d.policy^i)...)
		if i > 0 {
			d.credit -= d.paint(list, base, first)
		}
		for _, k := range d.odd(list, base, first) {
			order = append(append(order[:0], list...), k)
			if one(order); done || stop {
				return done
			}
		}
	}
	// The ways through the copies, the likeliest first.
	most := fewWays
	if d.deep {
		most = maxWays
	}
	for _, head := range heads {
		ways := 0
		r.alternatives(d, usual, base, frame(head), func(b []byte) bool {
			if bytes.Equal(b[:5], head) {
				test(b)
				ways++
			}
			return ways < most && !done && !stop
		})
		if done || stop {
			return done
		}
	}
	if !d.deep {
		return false
	}
	// Forged ones are left out, one and two at a time.
	involved := d.involved(list)
	for policy := range uint8(2) {
		list = append(list[:0], r.arrange(d, usual, base, end, policy)...)
		for a := range involved {
			for b := range a + 1 {
				order = without(order, list, involved[a], involved[b])
				if one(order); done || stop {
					return done
				}
			}
		}
	}
	return false
}

// odd returns those of a list that are not in what all of them are painted to, the largest first, as a real segment is rarely the smallest;
// if nothing is stalled only what came last, which has not been tried in any order.
func (d *Direction) odd(list []int, base uint32, first []byte) (odd []int) {
	last := uint64(0)
	for _, i := range list {
		s := d.held.segs[i]
		at, b := int32(s.seq-base), s.buf
		if at < 0 {
			b, at = b[-at:], 0
		}
		if int(at) < len(first) && same(first[at:], b) < min(len(b), len(first)-int(at)) {
			odd, last = append(odd, i), max(last, s.order)
		}
	}
	if !d.deep {
		odd = slices.DeleteFunc(odd, func(i int) bool { return d.held.segs[i].order != last })
	}
	slices.SortStableFunc(odd, func(i, j int) int { return len(d.held.segs[j].buf) - len(d.held.segs[i].buf) })
	return odd[:min(len(odd), maxOdd)]
}

// without puts two of a list in front, where they count only if nothing else is there.
func without(into, list []int, a, b int) []int {
	into = into[:0]
	for _, i := range list {
		if i == a || i == b {
			into = append(into, i)
		}
	}
	for _, i := range list {
		if i != a && i != b {
			into = append(into, i)
		}
	}
	return into
}

// involved returns those of a list that differ from another, at most maxInvolved.
func (d *Direction) involved(list []int) (all []int) {
	for _, i := range list {
		for _, j := range list {
			a, b := d.held.segs[i], d.held.segs[j]
			if After(a.seq, b.seq) {
				a, b = b, a
			}
			if x := a.from(b.seq); i != j && x != nil && same(x, b.buf) < min(len(x), len(b.buf)) {
				all = append(all, i)
				break
			}
		}
		if len(all) == maxInvolved {
			break
		}
	}
	return all
}

// learn remembers what the packets are like that were authenticated: those whose bytes are in what has opened.
func (r *Reassembler) learn(p *Pair, d *Direction, side uint8, base uint32, b []byte) {
	for i := d.held.near(base); i < len(d.held.segs); i++ {
		s := d.held.segs[i]
		at := int32(s.seq - base)
		if at >= int32(len(b)) {
			return
		}
		x, y := b, s.buf
		if at >= 0 {
			x = b[at:]
		} else {
			y = s.from(base)
		}
		if n := min(len(x), len(y)); n >= 5 && same(x, y) == n && s.Class().Known {
			p.Usual[side] = s.Class()
		}
	}
}

// prove is called when the first record of a direction has opened.
func (r *Reassembler) prove(p *Pair, d *Direction, side uint8) {
	next := *p.Next[side]
	base := next - uint32(len(r.Dec.Pending(p.TLS, side)))
	if !d.conflict {
		for i := len(d.held.segs) - 1; i >= 0; i-- {
			if s := d.held.segs[i]; After(base, s.seq) {
				p.Usual[side] = s.Class()
				break
			}
		}
	} else if n := int(base - d.origin); n > 0 && n <= maxBeginning {
		// What was sent in plain text may be anybody's.
		b := make([]byte, 0, n)
		for at := d.origin; at != base; {
			s := r.best(p, d, side, at)
			if s == nil {
				break
			}
			x := s.from(at)
			x = x[:min(len(x), int(base-at))]
			b = append(b, x...)
			at += uint32(len(x))
		}
		plain := protectedFrom(b)
		r.learn(p, d, side, d.origin+uint32(plain), b[plain:])
	}
	d.phase = streaming
	d.held.prune(&r.Pool, base)
	if len(d.held.segs) == 0 {
		d.conflict = false
	}
}

// Acknowledged says up to where the receiver has a direction, if that is known.
func (p *Pair) Acknowledged(side uint8, ack uint32, known bool, now int64) {
	d := p.Dir[side]
	if d == nil {
		return
	}
	missing, last := *p.Next[side], len(d.held.segs)-1
	if d.phase == contested {
		missing = d.held.unbroken(d.base, maxRecord)
	}
	acked := !known || After(ack, missing) || ack == missing && last >= 0 && !After(d.held.segs[last].reach, missing)
	if acked && d.unacked {
		d.Since = now
	}
	d.unacked = !acked
}

// What the receiver has not acknowledged is waited for so many times longer: it will be sent again.
const patience = 10

// Tick looks after a direction that is stalled. Something behind it is looked for after a wait, from when the receiver has acknowledged
// what is missing.
func (r *Reassembler) Tick(p *Pair, side uint8, now, wait int64) {
	d := p.Dir[side]
	if d == nil {
		return
	}
	if d.unacked {
		wait *= patience
	}
	if now-d.Since < wait {
		return
	}
	d.Since, r.now = now, now
	r.Dec.Flush(p.TLS)
	r.collect(p, side)
	r.allow(p, d, now, maxCredit)
	d.failed = d.failed[:0]
	if d.phase == beginning {
		d.deep, p.asked = p.Contested(), 0
		r.settle(p, side, now)
		if d = p.Dir[side]; d != nil && d.phase == beginning {
			d.deep = false
			r.allow(p, d, now, maxCredit)
			r.leave(p, d, side, now)
		}
		return
	}
	if r.seek(p, d, side) {
		r.settle(p, side, now)
	}
	// Records behind one that was contested may be so as well, and wait for nothing else.
	for d = p.Dir[side]; d != nil && d.phase == contested && d.conflict && d.credit > burst; d = p.Dir[side] {
		d.deep = true
		ok := r.try(p, d, side)
		if d.deep = false; !ok {
			return
		}
		r.Stats.Settled++
		r.settle(p, side, now)
	}
}

// leave looks for a record further on in a direction that begins, and of which a part is missing or does not open. If there is
// one, the beginning is over.
func (r *Reassembler) leave(p *Pair, d *Direction, side uint8, now int64) bool {
	if !p.TLS.Protected(side) || p.TLS.Proved(side) {
		return false
	}
	next := *p.Next[side]
	if !p.TLS.InDispute(side) {
		d.base = next
		r.Dec.Stop(p.TLS, side)
		if !p.TLS.InDispute(side) {
			return false
		}
	}
	r.collect(p, side)
	d.phase = contested
	*p.Next[side] = d.base
	if r.seek(p, d, side) {
		r.settle(p, side, now)
		return true
	}
	d.phase = beginning
	*p.Next[side] = next
	return false
}

// seek looks for a record that opens behind what is missing or does not open.
func (r *Reassembler) seek(p *Pair, d *Direction, side uint8) bool {
	if !p.TLS.Protected(side) {
		return !p.TLS.Waiting() && r.concede(p, d, side)
	}
	if d.phase != contested {
		r.Dec.Stop(p.TLS, side)
		if p.TLS.Searching(side) {
			return r.overleap(p, d, side)
		}
		if !p.TLS.InDispute(side) {
			return r.concede(p, d, side)
		}
		d.base = *p.Next[side] // for who has nothing pending
		r.collect(p, side)
		if d.phase != contested {
			d.phase, d.base, d.fresh = contested, *p.Next[side], true
		}
	}
	// Half of the work is for what is further on.
	kept := max(d.credit/2, 0)
	d.credit -= kept
	d.deep = true
	tried0 := r.try(p, d, side)
	d.credit += kept
	if d.deep = false; tried0 || d.postponed {
		return tried0 // nothing is missing while keys may come
	}
	base := d.base
	bad := uint64(0) // whether there is a whole record that does not open
	if n := int(d.held.covered(base, maxRecord, math.MaxUint64) - base); n >= 5 {
		b := r.record[:n]
		d.paint(r.arrange(d, p.Usual[side], base, base+uint32(n), d.policy), base, b)
		if n := frame(b); n > 0 && n <= len(b) {
			bad = 1
		}
	}
	if r.islands(p, d, side, base) {
		r.Dec.Stats.BadRecords += bad
		return true
	}
	if len(d.held.far) == 0 || d.credit < 0 {
		return false
	}
	// What is far is put in order, and looked at part by part.
	hand, all := d.held, make([]*segment, len(d.held.far))
	for i := range all {
		all[i] = hand.far[i].segment
	}
	d.credit -= len(all) * perOverlap
	slices.SortFunc(all, func(a, b *segment) int { return cmp.Or(int(int32(a.seq-b.seq)), cmp.Compare(a.order, b.order)) })
	found := false
	for part := range slices.Chunk(all, MaxSegments) {
		d.held = held{segs: part}
		d.held.recompute()
		if found = r.islands(p, d, side, base); found || d.credit < 0 {
			break
		}
	}
	if d.held = hand; found {
		r.Dec.Stats.BadRecords += bad
	}
	return found
}

// islands looks for a record that opens, behind a place, in what is at hand.
func (r *Reassembler) islands(p *Pair, d *Direction, side uint8, base uint32) bool {
	if cap(r.other) < maxIsland {
		r.other = make([]byte, maxIsland)
	}
	tried := 0
	for i := 0; i < len(d.held.segs) && tried < 16 && d.credit > 0; tried++ {
		start := d.held.segs[i].seq
		if !After(d.held.segs[i].end(), base) {
			i++
			continue
		}
		if After(base, start) {
			start = base
		}
		end := d.held.covered(start, maxIsland, math.MaxUint64)
		for j := i; ; j++ {
			if j == len(d.held.segs) || After(d.held.segs[j].seq, end) {
				i = max(j, i+1)
				break
			}
		}
		n := int(end - start)
		if n < 5 {
			continue
		}
		for k := range uint8(policies) {
			if k > 0 && !d.conflict {
				break
			}
			b := r.other[:n]
			d.paint(r.arrange(d, p.Usual[side], start, end, d.policy^k), start, b)
			skip := 0
			if start == base {
				skip = 1 // it is the one that does not open
			}
			d.credit -= n / 4
			if m := r.Dec.Seek(p.TLS, side, b[skip:], int(start-base)+skip, &d.credit); m > 0 {
				if start != base {
					r.Stats.Holes++
					r.Stats.HoleBytes += uint64(start - base)
				}
				*p.Next[side] = start + uint32(skip+m)
				d.phase, d.failed = streaming, d.failed[:0]
				return true
			}
		}
	}
	return false
}

// concede gives up what is missing in a direction that nothing can be looked for in.
func (r *Reassembler) concede(p *Pair, d *Direction, side uint8) bool {
	if d.phase == beginning {
		return false
	}
	r.recall(p, d, side)
	next := p.Next[side]
	for i := d.held.near(*next); i < len(d.held.segs); i++ {
		if s := d.held.segs[i]; After(s.seq, *next) {
			n := int(s.seq - *next)
			r.Stats.Holes++
			r.Stats.HoleBytes += uint64(n)
			*next = s.seq
			r.Dec.Lose(p.TLS, side, n)
			return true
		}
	}
	return false
}

// Jump says that all before a place was read elsewhere: TLS knows.
func (r *Reassembler) Jump(p *Pair, side uint8, seq uint32, now int64) {
	*p.Next[side] = seq
	d := p.Dir[side]
	if d == nil {
		return
	}
	if d.fed = d.fed[:0]; d.phase == contested {
		d.phase = streaming
	}
	d.held.prune(&r.Pool, seq)
	r.settle(p, side, now)
}

// Finish reads what can be read of a direction at its end; nothing more will come.
func (r *Reassembler) Finish(p *Pair, side uint8, now int64) {
	r.now = now
	r.Dec.Flush(p.TLS)
	r.collect(p, side)
	d := p.Dir[side]
	if d == nil {
		return
	}
	// What the other one began with counts as well.
	for s, o := range p.Dir {
		if o != nil && (s == int(side) || o.phase == beginning && !p.TLS.Proved(uint8(s))) {
			r.last(p, o, now)
			o.deep, o.failed = o.phase == beginning, o.failed[:0]
		}
	}
	r.settle(p, side, now)
	for _, o := range p.Dir {
		if o != nil {
			o.deep = false
		}
	}
	d = p.Dir[side]
	if d != nil && d.phase == beginning {
		r.last(p, d, now)
		r.leave(p, d, side, now)
	}
	for i := 0; i < 1<<12; i++ {
		if d = p.Dir[side]; d == nil || d.phase == beginning || d.phase != contested && !p.Stalled(side) || !p.TLS.Protected(side) {
			break
		}
		if r.last(p, d, now); !r.seek(p, d, side) {
			break
		}
		r.settle(p, side, now)
	}
	// What is left is counted.
	d = p.Dir[side]
	if d == nil {
		return
	}
	next := p.Next[side]
	if p.TLS.InDispute(side) {
		*next = d.base
	}
	r.Dec.Dispute = false
	r.Dec.Resume(p.TLS, side)
	d.phase = streaming
	// Forged segments may stand all around the circle of sequence numbers, where one is ahead of the next without an end.
	for passed := uint32(0); passed <= MaxAhead; {
		r.Dec.Flush(p.TLS)
		before := *next
		if s := r.best(p, d, side, *next); s != nil {
			b := s.from(*next)
			*next += uint32(len(b))
			r.Dec.Feed(p.TLS, side, b)
		} else if !r.concede(p, d, side) {
			break
		}
		passed += *next - before
	}
	r.Dec.Dispute = true
	r.release(p, int(side))
}

// News tells whether something came since a handshake was read last.
func (p *Pair) News() bool {
	for _, d := range p.Dir {
		if d != nil && d.news {
			return true
		}
	}
	return false
}

// CanTurn tells whether all that came of a connection can be read again, the other way round: no record of it has opened.
func (r *Reassembler) CanTurn(p *Pair) bool {
	for side, d := range p.Dir {
		if d == nil || d.phase != beginning || p.TLS.Proved(uint8(side)) {
			return false
		}
	}
	return true
}

// Turn makes the client the server, and the server the client, in a connection that CanTurn.
func (r *Reassembler) Turn(p *Pair) {
	r.Dec.Reset(p.TLS)
	p.asked = 0
	p.Dir[0], p.Dir[1] = p.Dir[1], p.Dir[0]
	p.Next[0], p.Next[1] = p.Next[1], p.Next[0]
	p.Usual[0], p.Usual[1] = p.Usual[1], p.Usual[0]
	for side, d := range p.Dir {
		if d.begun {
			*p.Next[side] = d.origin
		}
		d.conflict, d.news = true, true
		d.mark, d.order = math.MinInt64, 0
	}
}

// Search looks with patience for beginnings with which a record opens, in a connection that CanTurn. At the end of the connection there is
// some work for it in any case.
func (r *Reassembler) Search(p *Pair, now int64, end bool) {
	if !r.CanTurn(p) || !p.Contested() || !r.keyed(p) {
		return
	}
	r.now = now
	for _, d := range p.Dir {
		if end {
			r.last(p, d, now)
		} else {
			r.allow(p, d, now, maxCredit)
		}
		d.deep, d.failed = true, d.failed[:0]
	}
	r.settle(p, tls.Client, now)
	if r.CanTurn(p) {
		r.settle(p, tls.Server, now)
	}
	for _, d := range p.Dir {
		if d != nil {
			d.deep = false
		}
	}
}

// Retry is called when keys may have come, which is news, or will not.
func (r *Reassembler) Retry(p *Pair, now int64, news bool) {
	r.now = now
	p.news(true)
	if news {
		p.asked = 0
	}
	for _, d := range p.Dir {
		if d != nil {
			d.read = d.read[:0]
			if d.phase == beginning {
				d.failed = d.failed[:0]
			}
		}
	}
	r.settle(p, 0, now)
	r.settle(p, 1, now)
}
