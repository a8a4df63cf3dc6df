// Package handover is the user-space companion of a packet filter that opens TLS records itself in the simple case.
// That case is one record in one packet, in order. The other frames of a registered direction come here. They have
// records that span packets or share one, and segments that are out of order, repeated, or incomplete. Records
// opened here are authentic; no other data is delivered.
//
//	path := handover.New(handover.Options{Plaintext: deliver})
//	path.Put(flow)                        // when it is registered with the filter
//	switch path.Feed(frame, now) { ... }  // for each frame that the filter steers to user space
//	if number, sequence, ok := path.Position(source, destination); ok {
//		// at a record boundary: the filter may continue from here
//	}
//	path.Advance(source, destination, n, s) // the filter has opened all records before record n, which starts at sequence number s
//
// A Path is not safe for concurrent use.
package handover

import (
	"errors"
	"net/netip"

	"github.com/sealane/sealane/gateway/internal/held"
	"github.com/sealane/sealane/gateway/internal/keys"
	"github.com/sealane/sealane/gateway/internal/packet"
	"github.com/sealane/sealane/gateway/internal/reassembly"
	"github.com/sealane/sealane/gateway/internal/tls"
)

// A Flow is one direction of a connection, with its position.
type Flow struct {
	Source, Destination netip.AddrPort

	Suite    uint16 // TLS 1.3: 0x1301 to 0x1305; TLS 1.2: suites with AES-GCM, AES-CCM or ChaCha20-Poly1305
	Key, IV  []byte // keys of this direction (RFC 8446, section 7.3)
	Secret   []byte // the traffic secret of Key and IV, or nil: then the direction ends at a KeyUpdate
	Number   uint64 // number of the next record
	Sequence uint32 // TCP sequence number of its first byte
}

// A Verdict is the result for a frame.
type Verdict uint8

// Verdicts.
const (
	Unregistered Verdict = iota // does not belong to a registered direction; the caller may pass it on
	Empty                       // registered direction, but no payload; the caller may pass it on
	Taken                       // its bytes were next in sequence; the records that they completed were delivered
	Held                        // it arrived early, and is kept
	Repeated                    // it contains nothing new
	Refused                     // it does not fit the stream, or the direction was given up because its records do not open
)

// Options of a Path.
type Options struct {
	// Plaintext gets the application data of each record. data is valid only during the call.
	Plaintext func(source, destination netip.AddrPort, data []byte)
	// Lost, if set, is called when about this many bytes of plaintext are missing before the next data.
	Lost func(source, destination netip.AddrPort, bytes int)

	HoleWait int64 // how long later segments wait for an earlier one, in nanoseconds; 0: two seconds
	Queued   int   // limit of bytes in all out-of-order segments; 0: 64 MiB
}

// direction is the state of a direction.
type direction struct {
	tls                 tls.Conn
	pair                reassembly.Pair
	next                uint32
	source, destination netip.AddrPort
}

// A Path opens the records of registered directions. It is not safe for concurrent use.
type Path struct {
	o     Options
	flows map[[2]netip.AddrPort]*direction
	dec   *tls.Decrypter
	order *reassembly.Reassembler
}

// side is the side of TLS of a direction; records do not depend on it.
const side = tls.Client

// New returns a Path with no flows.
func New(o Options) *Path {
	if o.HoleWait == 0 {
		o.HoleWait = 2e9
	}
	if o.Queued == 0 {
		o.Queued = 64 << 20
	}
	p := &Path{o: o, flows: make(map[[2]netip.AddrPort]*direction), dec: tls.NewDecrypter(keys.NewStore(1))}
	p.order = reassembly.New(p.dec, o.Queued)
	p.dec.Plaintext = func(c *tls.Conn, _ uint8, data []byte) {
		d := c.Owner.(*direction)
		o.Plaintext(d.source, d.destination, data)
	}
	p.dec.Lost = func(c *tls.Conn, _ uint8, n int) {
		if d := c.Owner.(*direction); o.Lost != nil {
			o.Lost(d.source, d.destination, n)
		}
	}
	return p
}

func unmap(a netip.AddrPort) netip.AddrPort { return netip.AddrPortFrom(a.Addr().Unmap(), a.Port()) }

// Put registers a direction, or replaces it. Key and IV are copied.
func (p *Path) Put(f Flow) error {
	f.Source, f.Destination = unmap(f.Source), unmap(f.Destination)
	d := &direction{next: f.Sequence, source: f.Source, destination: f.Destination}
	d.tls.Owner = d
	d.pair.TLS, d.pair.Next[side] = &d.tls, &d.next
	given := tls.Given{Suite: f.Suite, Key: f.Key, IV: f.IV, Secret: f.Secret, Next: f.Number, Aligned: true}
	if err := p.dec.Give(&d.tls, side, &given); err != nil {
		return err
	}
	p.Delete(f.Source, f.Destination)
	p.flows[[2]netip.AddrPort{f.Source, f.Destination}] = d
	return nil
}

// Delete removes a direction and wipes its keys.
func (p *Path) Delete(source, destination netip.AddrPort) {
	k := [2]netip.AddrPort{unmap(source), unmap(destination)}
	if d := p.flows[k]; d != nil {
		p.order.Release(&d.pair)
		p.dec.Close(&d.tls)
		delete(p.flows, k)
	}
}

// Feed processes an Ethernet frame, captured at time in nanoseconds.
func (p *Path) Feed(frame []byte, time int64) Verdict {
	var s packet.Segment
	if packet.Parse(&s, packet.LinkEthernet, frame) != packet.TCP {
		return Unregistered
	}
	d := p.flows[[2]netip.AddrPort{s.Tuple.Endpoint(s.Side), s.Tuple.Endpoint(1 - s.Side)}]
	switch {
	case d == nil:
		return Unregistered
	case len(s.Payload) == 0:
		return Empty
	case d.tls.GaveUp(side):
		return Refused
	}
	v := p.segment(d, &s, time)
	if d.tls.GaveUp(side) || d.pair.Hopeless(side) {
		return Refused
	}
	return v
}

func (p *Path) segment(d *direction, s *packet.Segment, time int64) Verdict {
	p.dec.Mark = time
	if d.pair.Idle(side) && s.Seq == d.next {
		d.next += uint32(len(s.Payload))
		p.dec.Feed(&d.tls, side, s.Payload)
		return Taken
	}
	if d.pair.Stalled(side) {
		p.order.Tick(&d.pair, side, time, p.o.HoleWait)
	}
	switch p.order.Segment(&d.pair, side, s.Seq, s.Payload, s, time) {
	case reassembly.Taken:
		return Taken
	case reassembly.Held:
		return Held
	case reassembly.Repeated:
		return Repeated
	}
	return Refused
}

// Position returns the number of a direction's next record and the sequence number of its first byte. ok is true if
// no byte of that record has arrived, no later segment is held, and the keys are those from Put. The filter may then
// continue from here.
func (p *Path) Position(source, destination netip.AddrPort) (number uint64, sequence uint32, ok bool) {
	d := p.flows[[2]netip.AddrPort{unmap(source), unmap(destination)}]
	if d == nil {
		return 0, 0, false
	}
	number, have, exact := p.dec.Position(&d.tls, side)
	return number, d.next - uint32(have), exact && have == 0 && d.pair.Idle(side)
}

// ErrBehind means that a position precedes data that the path has already read.
var ErrBehind = errors.New("the path has read further than that")

// Advance informs the path that all records before a record, which starts at a sequence number, were opened elsewhere.
func (p *Path) Advance(source, destination netip.AddrPort, number uint64, sequence uint32) error {
	d := p.flows[[2]netip.AddrPort{unmap(source), unmap(destination)}]
	if d == nil {
		return errors.New("no such flow")
	}
	if held.After(d.next, sequence) {
		return ErrBehind
	}
	p.dec.Advance(&d.tls, side, number)
	p.order.Jump(&d.pair, side, sequence, p.dec.Mark)
	return nil
}
