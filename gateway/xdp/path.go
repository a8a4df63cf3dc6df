//go:build linux

package xdp

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/maphash"
	"net/netip"
	"slices"
	"time"

	"github.com/sealane/sealane/gateway/handover"
)

// chacha20Poly1305SHA256 is the only suite that the program supports.
const chacha20Poly1305SHA256 = 0x1303

// A Path combines the program and user space. It takes over records that the program opened, and orders and opens the
// packets that the program steers to user space. When such a flow is at the start of a record again, the program gets
// it back. A Path is not safe for concurrent use. Several Paths may share a program, with different flows.
type Path struct {
	o       PathOptions
	program *Program
	user    *handover.Path
	flows   map[flowKey]*pathFlow
	steered []*pathFlow // flows with packets here, which will be given back
	Stats   PathStats
}

// PathOptions are the destinations of plaintext, and limits.
type PathOptions struct {
	// Plaintext receives the application data of each record, in order. data is valid only during the call.
	Plaintext func(t Tuple, data []byte)
	// Lost, if set, is called when about this many bytes of plaintext are missing before the next data.
	Lost func(t Tuple, bytes int)
	// HoleWait is how long later segments wait for an earlier one; 0: two seconds.
	HoleWait time.Duration
}

// PathStats count packets, and flows that were given back.
type PathStats struct {
	Opened   uint64 // by the program
	User     uint64 // processed by user space
	Repeated uint64 // without new data, according to the program or user space
	Refused  uint64 // not part of the stream, or not authentic
	Back     uint64 // flows given back to the program
}

// Add adds the counters of another Path.
func (s *PathStats) Add(o *PathStats) {
	s.Opened += o.Opened
	s.User += o.User
	s.Repeated += o.Repeated
	s.Refused += o.Refused
	s.Back += o.Back
}

type pathFlow struct {
	tuple    Tuple
	mode     Mode
	number   uint64 // of the next record after those that the program opened
	sequence uint32
	ahead    bool // the program is ahead of user space
	listed   bool
	held     []openedRecord // opened by the program, but out of order
	since    int64          // arrival of the first of them
}

// An openedRecord is a record that the program has opened.
type openedRecord struct {
	number        uint64
	sequence, end uint32
	content       []byte
}

// NewPath returns a Path for a program, without flows.
func NewPath(p *Program, o PathOptions) *Path {
	if o.HoleWait == 0 {
		o.HoleWait = 2 * time.Second
	}
	path := &Path{o: o, program: p, flows: make(map[flowKey]*pathFlow)}
	path.user = handover.New(handover.Options{
		HoleWait:  o.HoleWait.Nanoseconds(),
		Plaintext: func(source, destination netip.AddrPort, data []byte) { o.Plaintext(Tuple{source, destination}, data) },
		Lost: func(source, destination netip.AddrPort, n int) {
			if o.Lost != nil {
				o.Lost(Tuple{source, destination}, n)
			}
		},
	})
	return path
}

// Put registers a flow. All of its data comes to this Path, regardless of f.ToUser.
func (p *Path) Put(t Tuple, f Flow) error {
	return p.put(t, f, handover.Flow{Suite: chacha20Poly1305SHA256, Key: f.Key[:], IV: f.IV[:], Secret: f.Secret})
}

// PutUser registers a flow with any suite; the program steers all of it to user space.
func (p *Path) PutUser(f handover.Flow) error {
	return p.put(Tuple{f.Source, f.Destination}, Flow{Number: f.Number, Sequence: f.Sequence, Mode: Steer}, f)
}

func (p *Path) put(t Tuple, f Flow, user handover.Flow) error {
	user.Source, user.Destination, user.Number, user.Sequence = t.Source, t.Destination, f.Number, f.Sequence
	if err := p.user.Put(user); err != nil {
		return fmt.Errorf("xdp: flow %v to %v: %w", t.Source, t.Destination, err)
	}
	f.ToUser = true
	if err := p.program.Put(t, f); err != nil {
		p.user.Delete(t.Source, t.Destination)
		return err
	}
	p.flows[t.key()] = &pathFlow{tuple: t, mode: f.Mode, number: f.Number, sequence: f.Sequence}
	return nil
}

// Delete removes a flow. Its packets pass from then on.
func (p *Path) Delete(t Tuple) error {
	p.user.Delete(t.Source, t.Destination)
	if f := p.flows[t.key()]; f != nil {
		for _, h := range f.held {
			clear(h.content)
		}
		delete(p.flows, t.key())
	}
	return p.program.Delete(t)
}

// Position returns the number of the next record of a flow.
func (p *Path) Position(t Tuple) (number uint64, ok bool) {
	f := p.flows[t.key()]
	if f == nil {
		return 0, false
	}
	if f.ahead {
		return f.number, true
	}
	number, _, _ = p.user.Position(t.Source, t.Destination)
	return number, true
}

// Received returns the TCP sequence number up to which all bytes of a flow have arrived, including those of a partial
// record.
func (p *Path) Received(t Tuple) (sequence uint32, ok bool) {
	f := p.flows[t.key()]
	if f == nil {
		return 0, false
	}
	if f.ahead {
		return f.sequence, true
	}
	return p.user.Received(t.Source, t.Destination)
}

// Close removes all flows.
func (p *Path) Close() error {
	var errs []error
	for _, f := range p.flows {
		errs = append(errs, p.Delete(f.tuple))
	}
	return errors.Join(errs...)
}

// Receive processes the packets of a socket, waits at most the given milliseconds for one, and then gives flows back.
func (p *Path) Receive(s *Socket, milliseconds int) (packets int, err error) {
	var now int64
	n, err := s.Receive(milliseconds, func(packet []byte, meta Meta, ok bool) {
		if now == 0 {
			now = time.Now().UnixNano()
		}
		p.Handle(packet, meta, ok, now)
	})
	return n, errors.Join(err, p.GiveBack())
}

// Handle processes a packet with its metadata, received at now, in nanoseconds.
func (p *Path) Handle(packet []byte, meta Meta, ok bool, now int64) {
	key, sequence, found := keyOf(packet)
	f := p.flows[key]
	if !ok || !found || f == nil {
		return
	}
	if meta.Kind == Opened {
		p.opened(f, packet, meta, sequence, now)
		return
	}
	if f.ahead && !p.catchUp(f) {
		return
	}
	switch p.user.Feed(packet, now) {
	case handover.Taken, handover.Held:
		p.Stats.User++
	case handover.Repeated:
		p.Stats.Repeated++
	case handover.Refused:
		p.Stats.Refused++
	}
	if !f.listed && f.mode == Open {
		f.listed = true
		p.steered = append(p.steered, f)
	}
}

// catchUp tells user space the position of the program.
func (p *Path) catchUp(f *pathFlow) bool {
	err := p.user.Advance(f.tuple.Source, f.tuple.Destination, f.number, f.sequence)
	if err != nil && !errors.Is(err, handover.ErrBehind) { // otherwise user space has read further
		return false
	}
	f.ahead = false
	return true
}

// opened takes over a record: its header, the content, zeroes, and the length of the content.
func (p *Path) opened(f *pathFlow, packet []byte, meta Meta, sequence uint32, now int64) {
	payload := packet[min(int(meta.Payload), len(packet)):]
	const header, tag = 5, 16
	if len(payload) < header+1+tag {
		return
	}
	bytes := header + int(binary.BigEndian.Uint16(payload[3:])) // padding of a short frame may follow
	if bytes > len(payload) || bytes < header+1+tag {
		return
	}
	content := int(binary.BigEndian.Uint16(payload[bytes-2:]))
	if content > bytes-header-1-tag {
		return
	}
	r := openedRecord{meta.Number, sequence, sequence + uint32(bytes), payload[header : header+content]}
	waiting := false
	if !f.ahead {
		// User space had the flow before. Later segments may be waiting there.
		var aligned bool
		f.number, f.sequence, aligned = p.user.Position(f.tuple.Source, f.tuple.Destination)
		waiting = !aligned
	}
	switch {
	case r.number < f.number:
		p.Stats.Repeated++
		return
	case r.number > f.number && !p.hold(f, r, now):
		return
	case r.number == f.number:
		p.deliver(f, r)
	}
	for len(f.held) > 0 && f.held[0].number <= f.number {
		if f.held[0].number == f.number {
			p.deliver(f, f.held[0])
		}
		clear(f.held[0].content)
		f.held = f.held[1:]
	}
	if waiting && f.ahead {
		p.catchUp(f)
	}
}

func (p *Path) deliver(f *pathFlow, r openedRecord) {
	p.Stats.Opened++
	f.number, f.sequence, f.ahead = r.number+1, r.end, true
	p.o.Plaintext(f.tuple, r.content)
}

// Records are lost between the program and user space if they are not fetched in time. The sender gets no
// acknowledgement for them, so it retransmits them, and the program remembers their position. If they do not arrive,
// they are given up.
const mostHeld = 64

// hold keeps an out-of-order record. It returns true if the missing records were given up, and the held ones are next.
func (p *Path) hold(f *pathFlow, r openedRecord, now int64) bool {
	if len(f.held) == 0 {
		f.since = now
	}
	i, again := slices.BinarySearchFunc(f.held, r.number, func(h openedRecord, n uint64) int { return cmp.Compare(h.number, n) })
	if again {
		p.Stats.Repeated++
	} else {
		r.content = slices.Clone(r.content)
		f.held = slices.Insert(f.held, i, r)
	}
	if len(f.held) < mostHeld && now-f.since < p.o.HoleWait.Nanoseconds() {
		return false
	}
	first := f.held[0]
	if p.o.Lost != nil {
		p.o.Lost(f.tuple, int(first.sequence-f.sequence))
	}
	f.number, f.sequence, f.ahead = first.number, first.sequence, true
	return true
}

// GiveBack makes the program continue at the position of user space, if that is the start of a record. Call it when all
// available packets have been processed, because waiting packets precede the position.
func (p *Path) GiveBack() error {
	var errs []error
	for _, f := range p.steered {
		f.listed = false
		if f.ahead || p.flows[f.tuple.key()] != f {
			continue
		}
		number, sequence, ok := p.user.Position(f.tuple.Source, f.tuple.Destination)
		if !ok {
			continue
		}
		f.number, f.sequence = number, sequence
		p.Stats.Back++
		errs = append(errs, p.program.Move(f.tuple, number, sequence))
	}
	p.steered = p.steered[:0]
	return errors.Join(errs...)
}

// Each process has another seed, so that an attacker cannot direct connections to one queue.
var connectionSeed = maphash.MakeSeed()

func (k *flowKey) connection() uint64 {
	var a, b [18]byte
	copy(a[copy(a[:], k.Source[:]):], k.SourcePort[:])
	copy(b[copy(b[:], k.Destination[:]):], k.DestinationPort[:])
	return maphash.Bytes(connectionSeed, a[:]) + maphash.Bytes(connectionSeed, b[:])
}

// Connection returns the same number for both directions of a connection. It assigns flows to Paths with a queue each
// that share a program, whichever queue their packets arrive at.
func (t Tuple) Connection() uint64 {
	k := t.key()
	return k.connection()
}

// Connection returns the number of a packet's connection. ok is false for packets that the program does not process.
func Connection(packet []byte) (number uint64, ok bool) {
	k, _, ok := keyOf(packet)
	if !ok {
		return 0, false
	}
	return k.connection(), true
}

// keyOf returns the tuple and sequence number of a packet that the program has processed.
func keyOf(packet []byte) (key flowKey, sequence uint32, ok bool) {
	at := 12
	for range 2 {
		if len(packet) < at+6 {
			return key, 0, false
		}
		if t := binary.BigEndian.Uint16(packet[at:]); t == 0x8100 || t == 0x88a8 {
			at += 4
		}
	}
	kind := binary.BigEndian.Uint16(packet[at:])
	ip := packet[at+2:]
	var tcp []byte
	switch {
	case kind == 0x0800 && len(ip) >= 20 && int(ip[0]&15)*4 <= len(ip):
		key.Source[10], key.Source[11], key.Destination[10], key.Destination[11] = 0xff, 0xff, 0xff, 0xff
		copy(key.Source[12:], ip[12:16])
		copy(key.Destination[12:], ip[16:20])
		tcp = ip[ip[0]&15*4:]
	case kind == 0x86dd && len(ip) >= 40:
		copy(key.Source[:], ip[8:24])
		copy(key.Destination[:], ip[24:40])
		next := ip[6]
		tcp = ip[40:]
		for next != 6 && len(tcp) >= 8 { // extension headers, of which the program allows only a few
			n := 8 + int(tcp[1])*8
			if next == 44 {
				n = 8
			}
			if next = tcp[0]; n > len(tcp) {
				return key, 0, false
			}
			tcp = tcp[n:]
		}
	}
	if len(tcp) < 20 {
		return key, 0, false
	}
	copy(key.SourcePort[:], tcp)
	copy(key.DestinationPort[:], tcp[2:])
	return key, binary.BigEndian.Uint32(tcp[4:]), true
}
