//go:build linux

package xdp

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"net"
	"testing"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/link"

	"github.com/sealane/sealane/gateway/internal/traffic"
)

// lose drops one of n packets before they reach an interface here, and returns how many it has dropped. An interface
// has one program, so this is a classifier of the other end's packets.
func (w *wire) lose(n int) func() uint64 {
	w.t.Helper()
	dropped, err := ebpf.NewMap(&ebpf.MapSpec{Type: ebpf.Array, KeySize: 4, ValueSize: 8, MaxEntries: 1})
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { dropped.Close() })
	program, err := ebpf.NewProgram(&ebpf.ProgramSpec{Type: ebpf.SchedCLS, License: "Dual BSD/GPL", Instructions: asm.Instructions{
		asm.FnGetPrandomU32.Call(),
		asm.Mod.Imm32(asm.R0, int32(n)),
		asm.JNE.Imm(asm.R0, 0, "pass"),
		asm.StoreImm(asm.RFP, -4, 0, asm.Word),
		asm.LoadMapPtr(asm.R1, dropped.FD()),
		asm.Mov.Reg(asm.R2, asm.RFP),
		asm.Add.Imm(asm.R2, -4),
		asm.FnMapLookupElem.Call(),
		asm.JEq.Imm(asm.R0, 0, "pass"),
		asm.Mov.Imm(asm.R1, 1),
		asm.AddAtomic.Mem(asm.R0, asm.R1, asm.DWord, 0),
		asm.Mov.Imm(asm.R0, 2), // TC_ACT_SHOT
		asm.Return(),
		asm.Mov.Imm(asm.R0, 0).WithSymbol("pass"), // TC_ACT_OK
		asm.Return(),
	}})
	if err != nil {
		w.t.Skipf("NOT RUN: %v", err)
	}
	w.t.Cleanup(func() { program.Close() })
	w.in(func() {
		there, err := net.InterfaceByName(w.there)
		if err != nil {
			w.t.Error(err)
			return
		}
		l, err := link.AttachTCX(link.TCXOptions{Program: program, Attach: ebpf.AttachTCXEgress, Interface: there.Index})
		if err != nil {
			w.t.Logf("NOT RUN: loss before the interface: %v", err) // Linux 6.6
			return
		}
		w.t.Cleanup(func() { l.Close() })
	})
	return func() (n uint64) {
		if err := dropped.Lookup(uint32(0), &n); err != nil {
			w.t.Error(err)
		}
		return n
	}
}

// TestPath: over a real connection, records of all lengths are sent, one per segment, many per segment, or spanning
// them, with loss. All plaintext arrives in order, partly through the program and partly through user space.
//
// Packets are lost before the program. They are also lost after it, where it has opened them and handles their
// retransmission.
func TestPath(t *testing.T) {
	for _, c := range []struct {
		name    string
		generic bool
		lose    int
		mode    Mode
	}{
		{"native", false, 0, Open},
		{"native, loss", false, 15, Open},
		{"generic, loss", true, 15, Open},
		{"steered, loss", false, 15, Steer},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, w := load(t, false), newWire(t)
			if err := p.Attach(w.here.Index, c.generic); err != nil {
				t.Skipf("NOT RUN: %v", err)
			}
			socket, err := p.OpenSocket(w.here.Index, 0)
			if err != nil {
				t.Skipf("NOT RUN: %v", err)
			}
			defer socket.Close()
			// Lost data is retransmitted soon: after duplicate acknowledgements, the only ones that the test sends,
			// or 20 ms.
			command(t, "ip netns exec "+w.namespace+" sh -c echo${IFS}0>/proc/sys/net/ipv4/tcp_sack")
			command(t, "ip -n "+w.namespace+" route change "+network+"0/24 dev "+w.there+" rto_min 20ms")
			here, there, tuple := w.connect()
			if err := there.SetNoDelay(true); err != nil {
				t.Fatal(err)
			}
			s := newSender(t, tuple)
			s.flow.Number, s.flow.Sequence, s.flow.Mode = 0, sequence(t, there), c.mode
			var got []byte
			path := NewPath(p, PathOptions{
				Plaintext: func(_ Tuple, data []byte) { got = append(got, data...) },
				Lost:      func(_ Tuple, n int) { t.Errorf("%d bytes lost", n) },
				HoleWait:  time.Minute,
			})
			if err := path.Put(tuple, s.flow); err != nil {
				t.Fatal(err)
			}
			// The connection's own end, here: handled data is acknowledged in its name.
			before, behind := func() uint64 { return 0 }, 0
			if c.lose > 0 {
				before = w.lose(c.lose)
			}
			acks := newAcknowledger(t, w, here, tuple)

			random := rand.New(rand.NewPCG(7, uint64(c.lose)))
			lengths := rand.New(rand.NewPCG(8, uint64(c.lose)))
			var want, stream []byte
			var number uint64
			more := func(n int) {
				b := content(n)
				want = append(want, b...)
				stream = append(stream, s.record(number, 23, 0, b)...)
				number++
			}
			const turns = 120
			finished := make(chan error, 1)
			writes := make(chan []byte, turns)
			go func() {
				for b := range writes {
					if _, err := there.Write(b); err != nil {
						finished <- err
						return
					}
					time.Sleep(2 * time.Millisecond)
				}
				finished <- nil
			}()
			for i := range turns {
				switch {
				case i%10 < 6: // one a segment
					more(lengths.IntN(1300))
				case i%10 == 6: // many small ones
					for range 5 {
						more(lengths.IntN(100))
					}
				case i%10 == 7: // one over many segments
					more(lengths.IntN(9000))
				case i%10 == 8: // a part, and the rest with the next
					more(500)
					writes <- stream[:200]
					stream = stream[200:]
				default:
					more(1)
				}
				writes <- stream
				stream = nil
			}
			close(writes)
			for deadline := time.Now().Add(60 * time.Second); len(got) < len(want); {
				if time.Now().After(deadline) {
					f, counts, _ := p.Get(tuple)
					t.Fatalf("%d bytes of %d; %+v; at %d, %+v", len(got), len(want), path.Stats, f.Number, counts)
				}
				now := time.Now().UnixNano()
				if _, err := socket.Receive(20, func(b []byte, meta Meta, ok bool) {
					if c.lose > 0 && random.IntN(c.lose) == 0 { // as when no program fetches them in time
						behind++
						return
					}
					path.Handle(b, meta, ok, now)
				}); err != nil {
					t.Fatal(err)
				}
				if err := path.GiveBack(); err != nil {
					t.Fatal(err)
				}
				acks.send(path, tuple)
			}
			if !bytes.Equal(got, want) {
				t.Fatal("the plaintext is another")
			}
			if err := <-finished; err != nil {
				t.Error(err)
			}
			t.Logf("%+v; %d packets lost before the interface, %d after it", path.Stats, before(), behind)
			if c.lose > 0 && behind == 0 {
				t.Error("nothing was lost")
			}
			if c.mode == Open && (path.Stats.Opened == 0 || path.Stats.User == 0 || path.Stats.Back == 0) || c.mode == Steer && path.Stats.Opened > 0 {
				t.Errorf("not all ways were gone: %+v", path.Stats)
			}
			if err := path.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestPathKeyUpdate: the program opens records up to a KeyUpdate; then the flow stays in user space, if its secret is known.
func TestPathKeyUpdate(t *testing.T) {
	p, w := load(t, false), newWire(t)
	if err := p.Attach(w.here.Index, false); err != nil {
		t.Skipf("NOT RUN: %v", err)
	}
	socket, err := p.OpenSocket(w.here.Index, 0)
	if err != nil {
		t.Skipf("NOT RUN: %v", err)
	}
	defer socket.Close()
	here, there, tuple := w.connect()
	if err := there.SetNoDelay(true); err != nil {
		t.Fatal(err)
	}
	s := traffic.NewSession(traffic.ChaCha20, rand.New(rand.NewPCG(1, 1)))
	key, iv, number := s.Keys(traffic.Server)
	f := Flow{Number: number, Sequence: sequence(t, there), Mode: Open, Secret: s.Secret(traffic.Server)}
	copy(f.Key[:], key)
	copy(f.IV[:], iv)
	var got, want []byte
	path := NewPath(p, PathOptions{Plaintext: func(_ Tuple, data []byte) { got = append(got, data...) }, Lost: func(_ Tuple, n int) { t.Errorf("%d bytes lost", n) }})
	if err := path.Put(tuple, f); err != nil {
		t.Fatal(err)
	}
	acks := newAcknowledger(t, w, here, tuple)
	send := func(b []byte) {
		if _, err := there.Write(b); err != nil {
			t.Fatal(err)
		}
		for deadline := time.Now().Add(time.Minute); len(got) < len(want) || path.Stats.Opened+path.Stats.User == 0; {
			if time.Now().After(deadline) {
				t.Fatalf("%d bytes of %d, %+v", len(got), len(want), path.Stats)
			}
			if _, err := path.Receive(socket, 20); err != nil {
				t.Fatal(err)
			}
			acks.send(path, tuple)
		}
	}
	for i := range 30 {
		if i == 10 || i == 20 {
			send(s.KeyUpdate(traffic.Server))
		}
		data := content(300 + i)
		want = append(want, data...)
		send(s.Data(traffic.Server, data, 1<<14))
	}
	if !bytes.Equal(got, want) {
		t.Error("the plaintext is another")
	}
	_, counts, err := p.Get(tuple)
	if path.Stats.Opened != 10 || path.Stats.User < 20 || path.Stats.Back != 0 || counts.Forged != 0 || err != nil {
		t.Errorf("%+v, %+v, %v", path.Stats, counts, err)
	}
	if err := path.Close(); err != nil {
		t.Error(err)
	}
}

// An acknowledger tells the other end of a connection how far user space is. The program hides the packets from this
// host's stack, so the kernel's own end of the connection does not.
type acknowledger struct {
	t     testing.TB
	w     *wire
	raw   net.PacketConn
	tuple Tuple
	next  uint32 // next sequence number of this end
	last  uint32
	since time.Time
}

func newAcknowledger(t testing.TB, w *wire, here *net.TCPConn, tuple Tuple) *acknowledger {
	t.Helper()
	a := &acknowledger{t: t, w: w, tuple: tuple, next: sequence(t, here)}
	var err error
	a.raw, err = net.ListenPacket("ip4:tcp", addressHere)
	if err != nil {
		t.Skipf("NOT RUN: %v", err)
	}
	t.Cleanup(func() { a.raw.Close() })
	return a
}

// send acknowledges the data that user space has in order. A repeated acknowledgement requests lost data.
func (a *acknowledger) send(p *Path, tuple Tuple) {
	at, _ := p.Received(tuple)
	if at == a.last && time.Since(a.since) < 10*time.Millisecond {
		return
	}
	a.last, a.since = at, time.Now()
	b := make([]byte, 20)
	binary.BigEndian.PutUint16(b, tuple.Destination.Port())
	binary.BigEndian.PutUint16(b[2:], tuple.Source.Port())
	binary.BigEndian.PutUint32(b[4:], a.next)
	binary.BigEndian.PutUint32(b[8:], at)
	b[12], b[13] = 5<<4, 0x10
	binary.BigEndian.PutUint16(b[14:], 500)
	source, destination := tuple.Destination.Addr().As4(), tuple.Source.Addr().As4()
	sum := uint32(6 + 20)
	for _, part := range [][]byte{source[:], destination[:], b} {
		for i := 0; i < len(part); i += 2 {
			sum += uint32(binary.BigEndian.Uint16(part[i:]))
		}
	}
	for sum > 0xffff {
		sum = sum&0xffff + sum>>16
	}
	binary.BigEndian.PutUint16(b[16:], ^uint16(sum))
	if _, err := a.raw.WriteTo(b, &net.IPAddr{IP: net.IP(destination[:])}); err != nil {
		a.t.Log(fmt.Errorf("acknowledging: %w", err))
	}
}

// TestKeyOf: user space finds in a packet the flow that the program found.
func TestKeyOf(t *testing.T) {
	for name, change := range map[string]func(*sender){
		"IPv4":      func(*sender) {},
		"IPv6":      func(s *sender) { s.tuple = tuple6 },
		"IPv6 hop":  func(s *sender) { s.tuple, s.hop = tuple6, true },
		"VLAN":      func(s *sender) { s.vlans = 1 },
		"two VLANs": func(s *sender) { s.tuple, s.vlans = tuple6, 2 },
	} {
		s := newSender(t, tuple4)
		change(s)
		packet := s.packet(t, 0x12345678, []byte("text"))
		key, sequence, ok := keyOf(packet)
		if !ok || key != s.tuple.key() || sequence != 0x12345678 {
			t.Errorf("%s: %v, %x, %v", name, key, sequence, ok)
		}
		for n := range len(packet) - 4 - 20 {
			if _, _, ok := keyOf(packet[:n]); ok {
				t.Errorf("%s: found in %d bytes", name, n)
			}
		}
	}
}

// TestPathGap: records that the program opened and that did not come here are waited for, and then given up; duplicates are
// delivered once.
func TestPathGap(t *testing.T) {
	p, s := load(t, false), newSender(t, tuple4)
	var got []byte
	lost := 0
	path := NewPath(p, PathOptions{HoleWait: time.Second,
		Plaintext: func(_ Tuple, data []byte) { got = append(got, data...) },
		Lost:      func(_ Tuple, n int) { lost += n; got = append(got, '?') }})
	if err := path.Put(s.tuple, s.flow); err != nil {
		t.Fatal(err)
	}
	const size = 5 + 1 + 1 + 16
	opened := func(n uint64, at time.Duration) {
		c := []byte{'a' + byte(n)}
		record := s.record(s.flow.Number+n, 23, 0, c)
		packet := s.packet(t, s.flow.Sequence+uint32(n)*size, plain(record, c))
		path.Handle(packet, Meta{metaMagic, Opened, uint16(len(packet) - size), s.flow.Number + n}, true, int64(at))
	}
	opened(0, 0)
	opened(2, 0)
	opened(1, 0)
	opened(1, 0)
	opened(5, 0)
	opened(4, time.Second/2)
	opened(5, time.Second/2)
	if string(got) != "abc" || lost != 0 {
		t.Fatalf("%s, %d bytes lost", got, lost)
	}
	opened(6, 2*time.Second)
	opened(3, 2*time.Second) // too late
	opened(7, 2*time.Second)
	if string(got) != "abc?efgh" || lost != size {
		t.Fatalf("%s, %d bytes lost", got, lost)
	}
	// User space now takes over where the program ended.
	c := []byte("in user space")
	packet := s.packet(t, s.flow.Sequence+8*size, s.record(s.flow.Number+8, 23, 0, c))
	path.Handle(packet, Meta{metaMagic, Untouched, uint16(len(packet) - size), 0}, true, 0)
	if err := path.GiveBack(); err != nil {
		t.Fatal(err)
	}
	f, _, err := p.Get(s.tuple)
	if err != nil || string(got) != "abc?efgh"+string(c) || f.Number != s.flow.Number+9 {
		t.Errorf("%s, at record %d, %v", got, f.Number, err)
	}
}
