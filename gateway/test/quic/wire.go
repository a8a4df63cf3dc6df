package main

import (
	"encoding/binary"
	"net"
	"os"
	"sync"
	"time"
)

// A wire is a network of UDP in memory, with a capture of all datagrams.
type wire struct {
	mu     sync.Mutex
	ends   map[string]*end
	frames [][]byte // Ethernet
	times  []time.Time
	cut    bool // nothing arrives any more
}

// An end is a socket on a wire.
type end struct {
	w        *wire
	address  *net.UDPAddr
	in       chan datagram
	closed   chan struct{}
	once     sync.Once
	mu       sync.Mutex
	deadline time.Time
	changed  chan struct{}
}

type datagram struct {
	from *net.UDPAddr
	data []byte
}

func (w *wire) open(ip string, port int) *end {
	e := &end{w: w, address: &net.UDPAddr{IP: net.ParseIP(ip), Port: port}, in: make(chan datagram, 1024), closed: make(chan struct{}), changed: make(chan struct{})}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ends == nil {
		w.ends = map[string]*end{}
	}
	w.ends[e.address.String()] = e
	return e
}

// move gives an end another port, as a translator of addresses does that has forgotten it.
func (w *wire) move(e *end, port int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.ends, e.address.String())
	e.mu.Lock()
	e.address = &net.UDPAddr{IP: e.address.IP, Port: port}
	e.mu.Unlock()
	w.ends[e.address.String()] = e
}

func (w *wire) send(from *net.UDPAddr, to *net.UDPAddr, b []byte) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.frames, w.times = append(w.frames, frame(from, to, b)), append(w.times, time.Now())
	if e := w.ends[to.String()]; e != nil && !w.cut {
		select {
		case e.in <- datagram{from, append([]byte(nil), b...)}:
		default: // it is full: a loss
		}
	}
}

// frame is an Ethernet frame with a datagram in IPv4 or IPv6, without UDP's checksum.
func frame(from, to *net.UDPAddr, b []byte) []byte {
	be := binary.BigEndian
	f := []byte{2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1}
	if from.Port == 443 {
		f = []byte{2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2}
	}
	udp := be.AppendUint16(be.AppendUint16(nil, uint16(from.Port)), uint16(to.Port))
	udp = append(be.AppendUint16(udp, uint16(8+len(b))), 0, 0)
	udp = append(udp, b...)
	if src := from.IP.To4(); src != nil {
		f = append(f, 8, 0)
		ip := append(be.AppendUint16([]byte{0x45, 0}, uint16(20+len(udp))), 0, 0, 0x40, 0, 64, 17, 0, 0)
		ip = append(append(ip, src...), to.IP.To4()...)
		sum := uint32(0)
		for i := 0; i < 20; i += 2 {
			sum += uint32(be.Uint16(ip[i:]))
		}
		sum = sum>>16 + sum&0xffff
		be.PutUint16(ip[10:], ^uint16(sum>>16+sum))
		return append(append(f, ip...), udp...)
	}
	f = append(f, 0x86, 0xdd, 0x60, 0, 0, 0)
	f = append(be.AppendUint16(f, uint16(len(udp))), 17, 64)
	f = append(append(f, from.IP.To16()...), to.IP.To16()...)
	return append(f, udp...)
}

// write writes the frames as a pcap file.
func (w *wire) write(name string) error {
	le := binary.LittleEndian
	b := le.AppendUint32(nil, 0xa1b23c4d)
	b = le.AppendUint16(le.AppendUint16(b, 2), 4)
	b = append(b, make([]byte, 8)...)
	b = le.AppendUint32(le.AppendUint32(b, 1<<18), 1)
	w.mu.Lock()
	defer w.mu.Unlock()
	for i, f := range w.frames {
		t := w.times[i].UnixNano()
		b = le.AppendUint32(le.AppendUint32(b, uint32(t/1e9)), uint32(t%1e9))
		b = le.AppendUint32(le.AppendUint32(b, uint32(len(f))), uint32(len(f)))
		b = append(b, f...)
	}
	return os.WriteFile(name, b, 0o644)
}

func (e *end) ReadFrom(b []byte) (int, net.Addr, error) {
	for {
		e.mu.Lock()
		deadline, changed := e.deadline, e.changed
		e.mu.Unlock()
		var expired <-chan time.Time
		if !deadline.IsZero() {
			expired = time.After(time.Until(deadline))
		}
		select {
		case d := <-e.in:
			return copy(b, d.data), d.from, nil
		case <-e.closed:
			return 0, nil, net.ErrClosed
		case <-expired:
			return 0, nil, os.ErrDeadlineExceeded
		case <-changed:
		}
	}
}

func (e *end) WriteTo(b []byte, to net.Addr) (int, error) {
	e.mu.Lock()
	from := e.address
	e.mu.Unlock()
	e.w.send(from, to.(*net.UDPAddr), b)
	return len(b), nil
}

func (e *end) Close() error {
	e.once.Do(func() { close(e.closed) })
	return nil
}

func (e *end) LocalAddr() net.Addr { return e.address }

func (e *end) SetReadDeadline(t time.Time) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.deadline = t
	close(e.changed)
	e.changed = make(chan struct{})
	return nil
}

func (e *end) SetDeadline(t time.Time) error { return e.SetReadDeadline(t) }

func (e *end) SetWriteDeadline(time.Time) error { return nil }
