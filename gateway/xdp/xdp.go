//go:build linux

// Package xdp opens TLS 1.3 records with ChaCha20-Poly1305 on the packet path. An XDP program authenticates and
// decrypts records of registered flows before the host's network stack sees them. It passes all other data of these
// flows to user space. bpf/sealane_xdp.c describes how it handles each packet.
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

// A Mode determines where the records of a flow are opened.
type Mode uint32

const (
	Open  Mode = 0 // in the XDP program if a packet is exactly one record, otherwise in user space
	Steer Mode = 1 // in user space
)

// A Flow is a registered flow: its traffic key and its position.
type Flow struct {
	Key      [32]byte // TLS 1.3 traffic key (RFC 8446, section 7.3)
	IV       [12]byte
	Number   uint64 // number of the next record
	Sequence uint32 // TCP sequence number of its first byte
	Mode     Mode
	ToUser   bool // opened packets go to user space instead of the host

	// The traffic secret of Key and IV, or nil. With it, a Path continues in user space after a KeyUpdate.
	Secret []byte
}

// Counts count the packets of a flow.
type Counts struct {
	Opened, Again            uint64 // opened, and opened again because of retransmission
	Forged, Steered, Dropped uint64 // not authentic; passed to user space; dropped, because no program was listening there
}

const history = 16

// inPlace makes the kernel overwrite a flow, instead of replacing it and freeing the old one with its key.
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
	Untouched = 2 // unchanged
)

// ParseMeta returns the metadata in the bytes before a packet. ok is false if there is none.
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

// Load loads the program for at most maxFlows flows. In strict mode, TCP packets that cannot be looked up (later
// fragments, too many IPv6 extension headers) are dropped while the program runs. Otherwise they pass.
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

// Attach runs the program on packets that an interface receives. It runs in the driver if that is supported,
// otherwise, or with generic, in the kernel's generic hook.
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

// Put registers a flow, or updates its state. Its counters restart at 0.
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

// Get returns the state of a flow, and its counters.
func (p *Program) Get(t Tuple) (Flow, Counts, error) {
	var v flowValue
	if err := p.objects.Flows.Lookup(t.key(), &v); err != nil {
		return Flow{}, Counts{}, fmt.Errorf("xdp: flow %v to %v: %w", t.Source, t.Destination, err)
	}
	f := Flow{Key: v.Key, IV: v.IV, Mode: Mode(v.Mode), Number: uint64(v.High)<<32 | v.Cursor>>32, Sequence: uint32(v.Cursor), ToUser: v.Deliver != 0}
	return f, v.Counts, nil
}

// Move sets the position of a flow, if it is registered, to give it back from user space. Packets that arrive at the
// same time may be missing in the counters.
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

// Delete removes a flow. Its packets pass from then on. Delete overwrites the key first, because the kernel frees its
// memory without wiping.
func (p *Program) Delete(t Tuple) error {
	if err := p.objects.Flows.Update(t.key(), flowValue{Mode: uint32(Steer)}, inPlace|ebpf.UpdateExist); err != nil {
		return fmt.Errorf("xdp: flow %v to %v: %w", t.Source, t.Destination, err)
	}
	if err := p.objects.Flows.Delete(t.key()); err != nil {
		return fmt.Errorf("xdp: flow %v to %v: %w", t.Source, t.Destination, err)
	}
	return nil
}

// Socket sets the AF_XDP socket for the packets of a queue.
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
