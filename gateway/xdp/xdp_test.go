//go:build linux

package xdp

import (
	"bytes"
	"crypto/cipher"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"

	"github.com/sealane/sealane/chacha20poly1305"

	"github.com/sealane/sealane/gateway/internal/seed"
)

// Verdicts of XDP.
const (
	xdpDrop     = 1
	xdpPass     = 2
	xdpRedirect = 4
)

func load(t testing.TB, strict bool) *Program {
	t.Helper()
	p, err := Load(1024, strict)
	var rejected *ebpf.VerifierError // which also is a lack of permission
	if errors.As(err, &rejected) {
		t.Fatalf("%+v", rejected)
	}
	if errors.Is(err, os.ErrPermission) || errors.Is(err, ebpf.ErrNotSupported) {
		t.Skipf("NOT RUN: BPF is not permitted here: %v", err)
	}
	if err != nil {
		t.Fatalf("%+v", err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	return p
}

var (
	tuple4 = Tuple{netip.MustParseAddrPort("192.0.2.1:443"), netip.MustParseAddrPort("198.51.100.7:40000")}
	tuple6 = Tuple{netip.MustParseAddrPort("[2001:db8::1]:443"), netip.MustParseAddrPort("[2001:db8::abcd]:40000")}
)

// A sender makes the packets of one flow.
type sender struct {
	tuple    Tuple
	flow     Flow
	aead     cipher.AEAD
	vlans    int
	options  []layers.TCPOption
	hop      bool // IPv6 with a hop-by-hop header
	flags    func(*layers.TCP)
	trailing int // bytes after the IP packet, as in short Ethernet frames
}

func newSender(t testing.TB, tuple Tuple) *sender {
	t.Helper()
	s := &sender{tuple: tuple, flow: Flow{Number: 5, Sequence: 0xffffff00}}
	for i := range s.flow.Key {
		s.flow.Key[i] = byte(7*i + 1)
	}
	for i := range s.flow.IV {
		s.flow.IV[i] = byte(201 + 5*i)
	}
	var err error
	s.aead, err = chacha20poly1305.New(s.flow.Key[:])
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// record seals content as record number n.
func (s *sender) record(n uint64, inner byte, padding int, content []byte) []byte {
	length := len(content) + 1 + padding + chacha20poly1305.Overhead
	header := []byte{23, 3, 3, byte(length >> 8), byte(length)}
	nonce := s.flow.IV
	for i := range 8 {
		nonce[4+i] ^= byte(n >> (56 - 8*i))
	}
	text := append(append(bytes.Clone(content), inner), make([]byte, padding)...)
	return s.aead.Seal(header, nonce[:], text, header)
}

func (s *sender) packet(t testing.TB, sequence uint32, payload []byte) []byte {
	t.Helper()
	eth := &layers.Ethernet{SrcMAC: []byte{2, 0, 0, 0, 0, 1}, DstMAC: []byte{2, 0, 0, 0, 0, 2}}
	tcp := &layers.TCP{SrcPort: layers.TCPPort(s.tuple.Source.Port()), DstPort: layers.TCPPort(s.tuple.Destination.Port()), Seq: sequence, Ack: 77, ACK: true, PSH: true, Window: 500, Options: s.options}
	if s.flags != nil {
		s.flags(tcp)
	}
	stack := []gopacket.SerializableLayer{eth}
	next := &eth.EthernetType
	for i := range s.vlans {
		*next = layers.EthernetTypeDot1Q
		v := &layers.Dot1Q{VLANIdentifier: uint16(10 + i)}
		stack, next = append(stack, v), &v.Type
	}
	if s.tuple.Source.Addr().Is4() {
		*next = layers.EthernetTypeIPv4
		ip := &layers.IPv4{Version: 4, TTL: 64, Protocol: layers.IPProtocolTCP, SrcIP: s.tuple.Source.Addr().AsSlice(), DstIP: s.tuple.Destination.Addr().AsSlice()}
		if err := tcp.SetNetworkLayerForChecksum(ip); err != nil {
			t.Fatal(err)
		}
		stack = append(stack, ip)
	} else {
		*next = layers.EthernetTypeIPv6
		ip := &layers.IPv6{Version: 6, HopLimit: 64, NextHeader: layers.IPProtocolTCP, SrcIP: s.tuple.Source.Addr().AsSlice(), DstIP: s.tuple.Destination.Addr().AsSlice()}
		if err := tcp.SetNetworkLayerForChecksum(ip); err != nil {
			t.Fatal(err)
		}
		stack = append(stack, ip)
		if s.hop {
			ip.NextHeader = layers.IPProtocolIPv6Destination
			stack = append(stack, gopacket.Payload{6, 0, 1, 4, 0, 0, 0, 0})
		}
	}
	b := gopacket.NewSerializeBuffer()
	stack = append(stack, tcp, gopacket.Payload(payload))
	if err := gopacket.SerializeLayers(b, gopacket.SerializeOptions{FixLengths: true, ComputeChecksums: true}, stack...); err != nil {
		t.Fatal(err)
	}
	return append(bytes.Clone(b.Bytes()), make([]byte, s.trailing)...)
}

func run(t testing.TB, p *Program, packet []byte) (uint32, []byte) {
	t.Helper()
	out := make([]byte, len(packet)+256)
	options := ebpf.RunOptions{Data: packet, DataOut: out}
	verdict, err := p.objects.Sealane.Run(&options)
	if errors.Is(err, ebpf.ErrNotSupported) {
		t.Skipf("NOT RUN: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	return verdict, options.DataOut
}

// checked returns the TCP payload of a packet whose checksums are right.
func checked(t testing.TB, packet []byte) []byte {
	t.Helper()
	g := gopacket.NewPacket(packet, layers.LayerTypeEthernet, gopacket.Default)
	if e := g.ErrorLayer(); e != nil {
		t.Fatal(e.Error())
	}
	tcp := g.Layer(layers.LayerTypeTCP).(*layers.TCP)
	if err := tcp.SetNetworkLayerForChecksum(g.NetworkLayer()); err != nil {
		t.Fatal(err)
	}
	if sum, err := tcp.ComputeChecksum(); err != nil || sum != 0 { // over itself
		t.Fatalf("TCP checksum %#x is wrong by %#x (%v)", tcp.Checksum, sum, err)
	}
	return tcp.Payload
}

// plain is the program's output for a record.
func plain(record, content []byte) []byte {
	p := append(bytes.Clone(record[:5]), content...)
	p = append(p, make([]byte, len(record)-len(p))...)
	binary.BigEndian.PutUint16(p[len(p)-2:], uint16(len(content)))
	return p
}

func content(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i*i + 3*i + n + 1)
	}
	return b
}

// TestLengths opens records of every length, one after the other in one flow, over IPv4 and IPv6.
func TestLengths(t *testing.T) {
	for name, change := range map[string]func(*sender){
		"IPv4": func(*sender) {},
		"IPv4 options": func(s *sender) {
			s.options = []layers.TCPOption{{OptionType: 8, OptionLength: 10, OptionData: make([]byte, 8)}}
		},
		"IPv6":      func(s *sender) { s.tuple = tuple6 },
		"IPv6 hop":  func(s *sender) { s.tuple, s.hop = tuple6, true },
		"VLAN":      func(s *sender) { s.vlans = 1 },
		"two VLANs": func(s *sender) { s.tuple, s.vlans = tuple6, 2 },
		"trailing":  func(s *sender) { s.trailing = 9 },
	} {
		t.Run(name, func(t *testing.T) {
			p, s := load(t, false), newSender(t, tuple4)
			change(s)
			if err := p.Put(s.tuple, s.flow); err != nil {
				t.Fatal(err)
			}
			number, sequence := s.flow.Number, s.flow.Sequence
			longest := 1420
			for n := 0; n <= longest; n++ {
				record := s.record(number, 23, n%3, content(n))
				verdict, out := run(t, p, s.packet(t, sequence, record))
				if verdict != xdpPass {
					f, c, err := p.Get(s.tuple)
					t.Fatalf("%d bytes: verdict %d; %+v %+v %v", n, verdict, f, c, err)
				}
				if got, want := checked(t, out), plain(record, content(n)); !bytes.Equal(got, want) {
					t.Fatalf("%d bytes: got %x\nwant %x", n, got, want)
				}
				number++
				sequence += uint32(len(record))
			}
			f, c, err := p.Get(s.tuple)
			if err != nil || f.Number != number || f.Sequence != sequence || c != (Counts{Opened: uint64(longest) + 1}) {
				t.Errorf("%+v %+v %v", f, c, err)
			}
		})
	}
}

// TestKeys: many keys, nonces and record numbers, and ciphertext of ones, whose sums are long.
func TestKeys(t *testing.T) {
	p, s := load(t, false), newSender(t, tuple4)
	random := rand.New(rand.NewPCG(seed.Of(t), 1))
	for i := range 1500 {
		for j := range s.flow.Key {
			s.flow.Key[j] = byte(random.Uint32())
		}
		for j := range s.flow.IV {
			s.flow.IV[j] = byte(random.Uint32())
		}
		s.flow.Number = random.Uint64() >> random.IntN(64) &^ 1 // whose low half is not the largest
		var err error
		if s.aead, err = chacha20poly1305.New(s.flow.Key[:]); err != nil {
			t.Fatal(err)
		}
		c := make([]byte, random.IntN(400))
		if i%2 == 0 {
			stream := s.record(s.flow.Number, 23, 0, c)[5:]
			for j := range c {
				c[j] = ^stream[j]
			}
		}
		record := s.record(s.flow.Number, 23, 0, c)
		if err := p.Put(s.tuple, s.flow); err != nil {
			t.Fatal(err)
		}
		verdict, out := run(t, p, s.packet(t, s.flow.Sequence, record))
		if verdict != xdpPass || !bytes.Equal(checked(t, out), plain(record, c)) {
			t.Fatalf("%d: verdict %d, %+v", i, verdict, s.flow)
		}
	}
}

// TestForged: no flipped bit of a record passes, and the record number stays.
func TestForged(t *testing.T) {
	p, s := load(t, false), newSender(t, tuple4)
	if err := p.Put(s.tuple, s.flow); err != nil {
		t.Fatal(err)
	}
	record := s.record(s.flow.Number, 23, 0, content(70))
	for bit := range 8 * len(record) {
		forged := bytes.Clone(record)
		forged[bit/8] ^= 1 << (bit % 8)
		packet := s.packet(t, s.flow.Sequence, forged)
		verdict, out := run(t, p, packet)
		if verdict != xdpDrop {
			t.Fatalf("bit %d: verdict %d", bit, verdict)
		}
		if !bytes.Equal(out[len(out)-len(forged):], forged) {
			t.Fatalf("bit %d: the packet was changed", bit)
		}
	}
	f, c, err := p.Get(s.tuple)
	if err != nil || f.Number != s.flow.Number || f.Sequence != s.flow.Sequence || c.Opened != 0 || c.Dropped != uint64(8*len(record)) || c.Forged != 8*uint64(len(record)-5) {
		t.Errorf("%+v %+v %v", f, c, err)
	}
	if verdict, _ := run(t, p, s.packet(t, s.flow.Sequence, record)); verdict != xdpPass {
		t.Errorf("after all that: verdict %d", verdict)
	}
}

// TestNotPassed has packets of a registered flow that the program must not pass, and packets that it may.
func TestNotPassed(t *testing.T) {
	s := newSender(t, tuple4)
	next := s.record(5, 23, 0, content(100))
	for name, c := range map[string]struct {
		sequence uint32
		payload  []byte
		flags    func(*layers.TCP)
		verdict  uint32
	}{
		"a record":                      {s.flow.Sequence, next, nil, xdpPass},
		"no payload":                    {s.flow.Sequence, nil, nil, xdpPass},
		"SYN":                           {s.flow.Sequence - 1, nil, func(l *layers.TCP) { l.SYN = true }, xdpPass},
		"RST":                           {s.flow.Sequence, nil, func(l *layers.TCP) { l.RST = true }, xdpPass},
		"a record with FIN":             {s.flow.Sequence, next, func(l *layers.TCP) { l.FIN = true }, xdpPass},
		"another number":                {s.flow.Sequence, s.record(6, 23, 0, content(100)), nil, xdpDrop},
		"another sequence number":       {s.flow.Sequence + 1, next, nil, xdpDrop},
		"trailing byte":                 {s.flow.Sequence, append(bytes.Clone(next), 0), nil, xdpDrop},
		"a byte short":                  {s.flow.Sequence, next[:len(next)-1], nil, xdpDrop},
		"two records":                   {s.flow.Sequence, append(bytes.Clone(next), next...), nil, xdpDrop},
		"keep-alive":                    {s.flow.Sequence - 1, []byte{0}, nil, xdpDrop},
		"plaintext":                     {s.flow.Sequence, []byte("GET / HTTP/1.1\r\n\r\n and more than a record's least"), nil, xdpDrop},
		"handshake inside":              {s.flow.Sequence, s.record(5, 22, 0, content(100)), nil, xdpDrop},
		"alert inside":                  {s.flow.Sequence, s.record(5, 21, 0, content(2)), nil, xdpDrop},
		"all padding":                   {s.flow.Sequence, s.record(5, 0, 20, nil), nil, xdpDrop},
		"much padding":                  {s.flow.Sequence, s.record(5, 23, 40, content(9)), nil, xdpDrop},
		"some padding":                  {s.flow.Sequence, s.record(5, 23, 31, content(9)), nil, xdpPass},
		"only padding and type":         {s.flow.Sequence, s.record(5, 23, 31, nil), nil, xdpPass},
		"alert":                         {s.flow.Sequence, []byte{21, 3, 3, 0, 2, 1, 0}, nil, xdpDrop},
		"another version":               {s.flow.Sequence, append([]byte{23, 3, 1}, next[3:]...), nil, xdpDrop},
		"a record of a tag and nothing": {s.flow.Sequence, append([]byte{23, 3, 3, 0, 16}, make([]byte, 16)...), nil, xdpDrop},
	} {
		t.Run(name, func(t *testing.T) {
			p, s := load(t, false), newSender(t, tuple4)
			if err := p.Put(s.tuple, s.flow); err != nil {
				t.Fatal(err)
			}
			s.flags = c.flags
			packet := s.packet(t, c.sequence, c.payload)
			verdict, out := run(t, p, packet)
			if verdict != c.verdict {
				t.Fatalf("verdict %d, want %d", verdict, c.verdict)
			}
			if verdict == xdpDrop && !bytes.Equal(out[len(out)-len(packet):], packet) {
				t.Error("the packet was changed")
			}
		})
	}
}

// TestOthers: flows that are not registered pass as they are, fragments and oddities of registered ones do not.
func TestOthers(t *testing.T) {
	for _, strict := range []bool{false, true} {
		t.Run(fmt.Sprintf("strict %v", strict), func(t *testing.T) {
			p, s := load(t, strict), newSender(t, tuple4)
			if err := p.Put(s.tuple, s.flow); err != nil {
				t.Fatal(err)
			}
			record := s.record(5, 23, 0, content(100))
			good := s.packet(t, s.flow.Sequence, record)
			unlookable := uint32(xdpPass)
			if strict {
				unlookable = xdpDrop
			}
			change := func(f func(b []byte)) []byte {
				b := bytes.Clone(good)
				f(b)
				return b
			}
			other := newSender(t, Tuple{tuple4.Destination, tuple4.Source})
			for name, c := range map[string]struct {
				packet  []byte
				verdict uint32
			}{
				"the other direction":  {other.packet(t, s.flow.Sequence, record), xdpPass},
				"another port":         {change(func(b []byte) { b[34]++ }), xdpPass},
				"another address":      {change(func(b []byte) { b[29]++ }), xdpPass},
				"UDP":                  {change(func(b []byte) { b[23] = 17 }), xdpPass},
				"ARP":                  {change(func(b []byte) { b[13] = 6 }), xdpPass},
				"first fragment":       {change(func(b []byte) { b[20] = 0x20 }), xdpDrop},
				"later fragment":       {change(func(b []byte) { b[21] = 9 }), unlookable},
				"too long a length":    {change(func(b []byte) { b[17] += 40 }), xdpDrop},
				"TCP header too long":  {change(func(b []byte) { b[46] = 0xf0; b[17] = 60; b[16] = 0 }), xdpDrop},
				"TCP header too short": {change(func(b []byte) { b[46] = 0x10 }), xdpDrop},
				"cut off in TCP":       {good[:50], unlookable},
				"cut off in IP":        {good[:30], xdpPass},
			} {
				t.Run(name, func(t *testing.T) {
					verdict, out := run(t, p, c.packet)
					if verdict != c.verdict || verdict == xdpPass && !bytes.Equal(out, c.packet) {
						t.Errorf("verdict %d, want %d", verdict, c.verdict)
					}
				})
			}
		})
	}
}

// TestRetransmission: a record that was opened is opened again, sixteen records back, and does not move the flow.
func TestRetransmission(t *testing.T) {
	p, s := load(t, false), newSender(t, tuple4)
	if err := p.Put(s.tuple, s.flow); err != nil {
		t.Fatal(err)
	}
	var packets, records [][]byte
	sequence := s.flow.Sequence
	for i := range 20 {
		record := s.record(s.flow.Number+uint64(i), 23, 0, content(30+i))
		packets = append(packets, s.packet(t, sequence, record))
		records = append(records, record)
		sequence += uint32(len(record))
		if verdict, _ := run(t, p, packets[i]); verdict != xdpPass {
			t.Fatal(i, verdict)
		}
	}
	for i := range 20 {
		verdict, out := run(t, p, packets[i])
		if want := uint32(xdpPass); i < 4 {
			if verdict != xdpDrop {
				t.Errorf("record %d: verdict %d", i, verdict)
			}
		} else if verdict != want || !bytes.Equal(checked(t, out), plain(records[i], content(30+i))) {
			t.Errorf("record %d: verdict %d", i, verdict)
		}
	}
	// Another record in the place of one that was opened is a forgery.
	forged := s.record(s.flow.Number+20, 23, 0, content(49))
	if verdict, _ := run(t, p, s.packet(t, sequence-uint32(len(records[19])), forged)); verdict != xdpDrop {
		t.Errorf("another record in an old place: verdict %d", verdict)
	}
	f, c, err := p.Get(s.tuple)
	if err != nil || f.Number != s.flow.Number+20 || f.Sequence != sequence || c != (Counts{Opened: 20, Again: 16, Forged: 1, Dropped: 5}) {
		t.Errorf("%+v %+v %v", f, c, err)
	}
}

func TestSteer(t *testing.T) {
	p, s := load(t, false), newSender(t, tuple4)
	s.flow.Mode = Steer
	if err := p.Put(s.tuple, s.flow); err != nil {
		t.Fatal(err)
	}
	packet := s.packet(t, s.flow.Sequence, s.record(5, 23, 0, content(100)))
	if verdict, _ := run(t, p, packet); verdict != xdpDrop { // no program listens
		t.Errorf("verdict %d", verdict)
	}
	s.flow.Mode = Open
	if err := p.Put(s.tuple, s.flow); err != nil {
		t.Fatal(err)
	}
	if verdict, _ := run(t, p, packet); verdict != xdpPass {
		t.Errorf("given back: verdict %d", verdict)
	}
	if err := p.Delete(s.tuple); err != nil {
		t.Fatal(err)
	}
	if verdict, out := run(t, p, packet); verdict != xdpPass || !bytes.Equal(out, packet) {
		t.Errorf("deleted: verdict %d", verdict)
	}
}

// TestVerifier: the kernel accepts the program, which stays within its limits.
func TestVerifier(t *testing.T) {
	load(t, false)
	spec, err := ebpf.LoadCollectionSpecFromReader(bytes.NewReader(object))
	if err != nil {
		t.Fatal(err)
	}
	c, err := ebpf.NewCollectionWithOptions(spec, ebpf.CollectionOptions{Programs: ebpf.ProgramOptions{LogLevel: ebpf.LogLevelStats}})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_, log, _ := strings.Cut(c.Programs["sealane"].VerifierLog, "processed ")
	var n int
	if _, err := fmt.Sscan(log, &n); err != nil {
		t.Skipf("NOT RUN: the verifier does not say how many instructions it processed: %v", err)
	}
	t.Logf("%d instructions processed", n)
	if n > 60000 {
		t.Errorf("%d instructions processed", n)
	}
}

// BenchmarkClock runs a program of two instructions. It measures a call and the kernel's clock, which are part of the
// other figures.
func BenchmarkClock(b *testing.B) {
	load(b, false)
	p, err := ebpf.NewProgram(&ebpf.ProgramSpec{Type: ebpf.XDP, License: "Dual BSD/GPL", Instructions: asm.Instructions{asm.Mov.Imm(asm.R0, xdpPass), asm.Return()}})
	if err != nil {
		b.Fatal(err)
	}
	defer p.Close()
	best := time.Duration(1 << 62)
	for b.Loop() {
		_, took, err := p.Benchmark(make([]byte, 64), 1, nil)
		if err != nil {
			b.Fatal(err)
		}
		best = min(best, took)
	}
	b.ReportMetric(float64(best.Nanoseconds()), "ns/packet")
}

// BenchmarkPass is a packet that is not looked into.
func BenchmarkPass(b *testing.B) {
	p, s := load(b, false), newSender(b, tuple4)
	packet := s.packet(b, s.flow.Sequence, nil)
	packet[23] = 17
	best := time.Duration(1 << 62)
	for b.Loop() {
		verdict, took, err := p.objects.Sealane.Benchmark(packet, 1, nil)
		if err != nil || verdict != xdpPass {
			b.Fatal(verdict, err)
		}
		best = min(best, took)
	}
	b.ReportMetric(float64(best.Nanoseconds()), "ns/packet")
}

func BenchmarkOpen(b *testing.B) {
	for _, n := range []int{64, 256, 512, 1024, 1400} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			p, s := load(b, false), newSender(b, tuple4)
			if err := p.Put(s.tuple, s.flow); err != nil {
				b.Fatal(err)
			}
			// A run changes the packet and the flow, so each run is one packet of a flow in its first state. The
			// kernel's clock is part of the measured time.
			packet := s.packet(b, s.flow.Sequence, s.record(5, 23, 0, content(n-1)))
			best := time.Duration(1 << 62)
			for b.Loop() {
				if err := p.Put(s.tuple, s.flow); err != nil {
					b.Fatal(err)
				}
				verdict, took, err := p.objects.Sealane.Benchmark(packet, 1, nil)
				if err != nil || verdict != xdpPass {
					b.Fatal(verdict, err)
				}
				best = min(best, took)
			}
			b.ReportMetric(float64(best.Nanoseconds()), "ns/packet")
		})
	}
}
