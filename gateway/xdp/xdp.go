//go:build linux

// Package xdp opens TLS 1.3 records with ChaCha20-Poly1305 on the packet path: an XDP program authenticates and decrypts
// those of registered flows before the host's network stack sees them, and hands everything else of these flows to user
// space. What it does with a packet is said in bpf/sealane_xdp.c.
//
// It needs Linux 5.18 or later, CAP_BPF and CAP_NET_ADMIN.
package xdp

import (
	"bytes"
	_ "embed"
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"
)

//go:embed bpf/sealane_xdp.elf
var object []byte

// A Tuple is one direction of a TCP connection.
type Tuple struct {
	Source, Destination netip.AddrPort
}

// flowKey is struct flow_key.
type flowKey struct {
	Source, Destination         [16]byte
	SourcePort, DestinationPort [2]byte
}

func (t Tuple) key() flowKey {
	k := flowKey{Source: t.Source.Addr().As16(), Destination: t.Destination.Addr().As16()}
	binary.BigEndian.PutUint16(k.SourcePort[:], t.Source.Port())
	binary.BigEndian.PutUint16(k.DestinationPort[:], t.Destination.Port())
	return k
}

// A Mode says who opens the records of a flow.
type Mode uint32

const (
	Open  Mode = 0 // the XDP program, where a packet is one record; user space otherwise
	Steer Mode = 1 // user space
)

// A Flow is a registered flow: its traffic key and where it stands.
type Flow struct {
	Key      [32]byte // TLS 1.3 traffic key (RFC 8446, 7.3)
	IV       [12]byte
	Number   uint64 // of the next record
	Sequence uint32 // TCP sequence number at which it begins
	Mode     Mode
	ToUser   bool // opened packets go to user space instead of the host

	// The traffic secret that Key and IV follow from, or nil. A Path goes on with it after a KeyUpdate, in user space.
	Secret []byte
}

// Counts are packets of a flow.
type Counts struct {
	Opened, Again            uint64 // opened; again, being retransmissions
	Forged, Steered, Dropped uint64 // not authentic; given to user space; dropped, because no program listened there
}

const history = 16

// inPlace has the kernel write over a flow, not put another in its place and free the old one with its key.
const inPlace = ebpf.UpdateLock

// flowValue is struct flow.
type flowValue struct {
	Key     [32]byte
	IV      [12]byte
	Mode    uint32
	Cursor  uint64
	High    uint32
	Deliver uint32
	History [history]uint64
	Counts  Counts
	Lock    uint32
	_       uint32
}

// Meta precedes a packet in user space: struct meta.
type Meta struct {
	Magic   uint32
	Kind    uint16
	Payload uint16
	Number  uint64
}

const (
	metaMagic = 0x6b6c6173
	metaBytes = 16

	Opened    = 1 // the packet's record is plaintext
	Untouched = 2 // as it came
)

// ParseMeta returns the metadata in the bytes in front of a packet; ok is false if there are none.
func ParseMeta(front []byte) (m Meta, ok bool) {
	if len(front) < metaBytes {
		return m, false
	}
	b := front[len(front)-metaBytes:]
	m = Meta{binary.NativeEndian.Uint32(b), binary.NativeEndian.Uint16(b[4:]), binary.NativeEndian.Uint16(b[6:]), binary.NativeEndian.Uint64(b[8:])}
	return m, m.Magic == metaMagic
}

type settings struct{ Strict, Registered uint32 }

// A Program is the loaded XDP program with its tables. Its methods are safe for concurrent use, except Close.
type Program struct {
	objects struct {
		Sealane *ebpf.Program `ebpf:"sealane"`
		Flows   *ebpf.Map     `ebpf:"flows"`
		Sockets *ebpf.Map     `ebpf:"sockets"`
		Options *ebpf.Map     `ebpf:"options"`
		Works   *ebpf.Map     `ebpf:"works"`
	}
	links []link.Link
}

// Load loads the program for at most maxFlows flows. In strict mode TCP packets that cannot be looked up (later fragments, too
// many IPv6 extension headers) are dropped as long as the program runs; otherwise they pass.
func Load(maxFlows int, strict bool) (*Program, error) {
	spec, err := ebpf.LoadCollectionSpecFromReader(bytes.NewReader(object))
	if err != nil {
		return nil, fmt.Errorf("xdp: %w", err)
	}
	if maxFlows < 1 {
		return nil, fmt.Errorf("xdp: a table of %d flows", maxFlows)
	}
	spec.Maps["flows"].MaxEntries = uint32(maxFlows)
	p := new(Program)
	if err := spec.LoadAndAssign(&p.objects, nil); err != nil {
		return nil, fmt.Errorf("xdp: %w", err)
	}
	s := settings{Registered: 1}
	if strict {
		s.Strict = 1
	}
	if err := p.objects.Options.Put(uint32(0), s); err != nil {
		return nil, errors.Join(fmt.Errorf("xdp: %w", err), p.Close())
	}
	return p, nil
}

// Attach runs the program on what an interface receives: in the driver where that can, else in the kernel's generic hook;
// with generic it is always the latter.
func (p *Program) Attach(index int, generic bool) error {
	flags := link.XDPDriverMode
	if generic {
		flags = link.XDPGenericMode
	}
	l, err := link.AttachXDP(link.XDPOptions{Program: p.objects.Sealane, Interface: index, Flags: flags})
	if err != nil && !generic {
		l, err = link.AttachXDP(link.XDPOptions{Program: p.objects.Sealane, Interface: index, Flags: link.XDPGenericMode})
	}
	if err != nil {
		return fmt.Errorf("xdp: interface %d: %w", index, err)
	}
	p.links = append(p.links, l)
	return nil
}

// Put registers a flow, or takes it to another state. Counts begin anew.
func (p *Program) Put(t Tuple, f Flow) error {
	v := flowValue{Key: f.Key, IV: f.IV, Mode: uint32(f.Mode), Cursor: f.Number<<32 | uint64(f.Sequence), High: uint32(f.Number >> 32)}
	if f.ToUser {
		v.Deliver = 1
	}
	err := p.objects.Flows.Update(t.key(), v, inPlace)
	clear(v.Key[:])
	if err != nil {
		return fmt.Errorf("xdp: flow %v to %v: %w", t.Source, t.Destination, err)
	}
	return nil
}

// Get returns how a flow stands, and its counts.
func (p *Program) Get(t Tuple) (Flow, Counts, error) {
	var v flowValue
	if err := p.objects.Flows.Lookup(t.key(), &v); err != nil {
		return Flow{}, Counts{}, fmt.Errorf("xdp: flow %v to %v: %w", t.Source, t.Destination, err)
	}
	f := Flow{Key: v.Key, IV: v.IV, Mode: Mode(v.Mode), Number: uint64(v.High)<<32 | v.Cursor>>32, Sequence: uint32(v.Cursor), ToUser: v.Deliver != 0}
	return f, v.Counts, nil
}

// Move takes a flow to another place, if it is registered: so user space gives back what it had taken. Packets that come
// meanwhile may be missing in the counts.
func (p *Program) Move(t Tuple, number uint64, sequence uint32) error {
	var v flowValue
	k := t.key()
	defer clear(v.Key[:])
	if err := p.objects.Flows.Lookup(k, &v); err != nil {
		return fmt.Errorf("xdp: flow %v to %v: %w", t.Source, t.Destination, err)
	}
	v.Cursor, v.High, v.History = number<<32|uint64(sequence), uint32(number>>32), [history]uint64{}
	if err := p.objects.Flows.Update(k, v, inPlace|ebpf.UpdateExist); err != nil {
		return fmt.Errorf("xdp: flow %v to %v: %w", t.Source, t.Destination, err)
	}
	return nil
}

// Delete forgets a flow: its packets pass from now on. The kernel frees the memory that held its key without wiping it, so it
// is overwritten first.
func (p *Program) Delete(t Tuple) error {
	if err := p.objects.Flows.Update(t.key(), flowValue{Mode: uint32(Steer)}, inPlace|ebpf.UpdateExist); err != nil {
		return fmt.Errorf("xdp: flow %v to %v: %w", t.Source, t.Destination, err)
	}
	if err := p.objects.Flows.Delete(t.key()); err != nil {
		return fmt.Errorf("xdp: flow %v to %v: %w", t.Source, t.Destination, err)
	}
	return nil
}

// Socket makes an AF_XDP socket the one that a queue's packets go to.
func (p *Program) Socket(queue, fd int) error {
	if err := p.objects.Sockets.Put(uint32(queue), uint32(fd)); err != nil {
		return fmt.Errorf("xdp: socket of queue %d: %w", queue, err)
	}
	return nil
}

// Close detaches the program and frees its tables.
func (p *Program) Close() error {
	var errs []error
	for _, l := range p.links {
		errs = append(errs, l.Close())
	}
	for _, m := range []*ebpf.Map{p.objects.Flows, p.objects.Sockets, p.objects.Options, p.objects.Works} {
		errs = append(errs, m.Close())
	}
	return errors.Join(append(errs, p.objects.Sealane.Close())...)
}
