package packet

import (
	"bytes"
	"math/rand/v2"
	"net"
	"net/netip"
	"reflect"
	"testing"

	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"
)

// oracle is gopacket's view of a frame: the innermost IP layer outside tunnels, and TCP on it.
func oracle(frame []byte) (ip gopacket.Layer, tcp *layers.TCP) {
	p := gopacket.NewPacket(frame, layers.LayerTypeEthernet, gopacket.Default)
	for _, l := range p.Layers() {
		switch l.LayerType() {
		case layers.LayerTypeIPv4, layers.LayerTypeIPv6:
			if ip != nil {
				return ip, nil // a tunnel
			}
			ip = l
		case layers.LayerTypeTCP:
			return ip, l.(*layers.TCP)
		}
	}
	return ip, nil
}

// build makes a frame with gopacket.
func build(r *rand.Rand) []byte {
	var ls []gopacket.SerializableLayer
	eth := &layers.Ethernet{SrcMAC: net.HardwareAddr{2, 0, 0, 0, 0, 1}, DstMAC: net.HardwareAddr{2, 0, 0, 0, 0, 2}}
	ls = append(ls, eth)
	next := &eth.EthernetType
	for range r.IntN(3) {
		*next = layers.EthernetTypeDot1Q
		tag := &layers.Dot1Q{VLANIdentifier: uint16(r.IntN(4095))}
		ls = append(ls, tag)
		next = &tag.Type
	}
	tcp := &layers.TCP{SrcPort: layers.TCPPort(r.Uint32()), DstPort: layers.TCPPort(r.Uint32()), Seq: r.Uint32(), Ack: r.Uint32(),
		FIN: r.IntN(2) == 0, SYN: r.IntN(2) == 0, ACK: r.IntN(2) == 0, Window: 100}
	if r.IntN(2) == 0 {
		tcp.Options = []layers.TCPOption{{OptionType: layers.TCPOptionKindTimestamps, OptionLength: 10, OptionData: make([]byte, 8)}}
	}
	payload := make([]byte, r.IntN(1400))
	for i := range payload {
		payload[i] = byte(r.Uint32())
	}
	var a, b [16]byte
	for i := range a {
		a[i], b[i] = byte(r.Uint32()), byte(r.Uint32())
	}
	if r.IntN(2) == 0 {
		*next = layers.EthernetTypeIPv4
		ip := &layers.IPv4{Version: 4, TTL: 64, Protocol: layers.IPProtocolTCP, SrcIP: a[:4], DstIP: b[:4]}
		if r.IntN(4) == 0 {
			ip.Options = []layers.IPv4Option{{OptionType: 148, OptionLength: 4, OptionData: []byte{0, 0}}}
		}
		tcp.SetNetworkLayerForChecksum(ip)
		ls = append(ls, ip, tcp)
	} else {
		*next = layers.EthernetTypeIPv6
		ip := &layers.IPv6{Version: 6, HopLimit: 64, NextHeader: layers.IPProtocolTCP, SrcIP: a[:], DstIP: b[:]}
		tcp.SetNetworkLayerForChecksum(ip)
		ls = append(ls, ip)
		if r.IntN(3) == 0 {
			ip.NextHeader = layers.IPProtocolIPv6Destination
			d := &layers.IPv6Destination{}
			d.NextHeader = layers.IPProtocolTCP
			d.Options = []*layers.IPv6DestinationOption{{OptionType: 1, OptionData: make([]byte, 4)}}
			ls = append(ls, d)
		}
		ls = append(ls, tcp)
	}
	ls = append(ls, gopacket.Payload(payload))
	buf := gopacket.NewSerializeBuffer()
	if err := gopacket.SerializeLayers(buf, gopacket.SerializeOptions{FixLengths: true, ComputeChecksums: true}, ls...); err != nil {
		panic(err)
	}
	frame := buf.Bytes()
	if len(frame) < 60 { // Ethernet pads
		frame = append(frame, make([]byte, 60-len(frame))...)
	}
	return frame
}

func check(t *testing.T, frame []byte) {
	t.Helper()
	var s Segment
	v := Parse(&s, LinkEthernet, frame)
	ip, tcp := oracle(frame)
	if tcp == nil || v != TCP {
		t.Fatalf("%v, gopacket has TCP %v in %x", v, tcp != nil, frame)
	}
	var src, dst netip.Addr
	switch l := ip.(type) {
	case *layers.IPv4:
		src, _ = netip.AddrFromSlice(l.SrcIP)
		dst, _ = netip.AddrFromSlice(l.DstIP)
	case *layers.IPv6:
		src, _ = netip.AddrFromSlice(l.SrcIP)
		dst, _ = netip.AddrFromSlice(l.DstIP)
	}
	from, to := s.Tuple.Endpoint(s.Side), s.Tuple.Endpoint(1-s.Side)
	if from != netip.AddrPortFrom(src.Unmap(), uint16(tcp.SrcPort)) || to != netip.AddrPortFrom(dst.Unmap(), uint16(tcp.DstPort)) {
		t.Errorf("%v to %v, gopacket has %v %v to %v %v", from, to, src, tcp.SrcPort, dst, tcp.DstPort)
	}
	if s.Seq != tcp.Seq || s.Ack != tcp.Ack || s.Flags&SYN != 0 != tcp.SYN || s.Flags&FIN != 0 != tcp.FIN {
		t.Errorf("%+v, gopacket has %+v", s, tcp)
	}
	if !bytes.Equal(s.Payload, tcp.Payload) || s.Missing != 0 {
		t.Errorf("%d bytes of payload, %d missing, gopacket has %d", len(s.Payload), s.Missing, len(tcp.Payload))
	}
	tuple, side := TupleOf(from, to)
	tuple.Zone = s.Tuple.Zone
	if tuple != s.Tuple || side != s.Side {
		t.Errorf("TupleOf differs")
	}
}

func TestParseAsGopacket(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 5000 {
		check(t, build(r))
	}
}

func TestBothDirectionsAreOne(t *testing.T) {
	a, b := netip.MustParseAddrPort("[2001:db8::1]:443"), netip.MustParseAddrPort("10.0.0.1:5000")
	t1, s1 := TupleOf(a, b)
	t2, s2 := TupleOf(b, a)
	if t1 != t2 || s1 == s2 || t1.Hash() != t2.Hash() {
		t.Errorf("%v %d and %v %d", t1, s1, t2, s2)
	}
}

// Every frame cut anywhere is malformed, or its payload is cut, and nothing panics.
func TestCutFrames(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 200 {
		frame := build(r)
		var whole, s Segment
		Parse(&whole, LinkEthernet, frame)
		for n := range frame {
			if v := Parse(&s, LinkEthernet, frame[:n:n]); v == TCP {
				if len(s.Payload)+s.Missing != len(whole.Payload) || !bytes.HasPrefix(whole.Payload, s.Payload) {
					t.Fatalf("%d bytes of %d: payload %d, missing %d, of %d", n, len(frame), len(s.Payload), s.Missing, len(whole.Payload))
				}
			} else if v != Malformed {
				t.Fatalf("%d bytes of %d: %v", n, len(frame), v)
			}
		}
	}
}

func TestFragments(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for {
		frame := build(r)
		var s Segment
		if Parse(&s, LinkEthernet, frame); !s.IPv6 && s.VLAN == 0 {
			frame[14+6] |= 0x20
			if v := Parse(&s, LinkEthernet, frame); v != Fragment {
				t.Errorf("more fragments: %v", v)
			}
			return
		}
	}
}

// gopacket and its checksums accept the output of Build.
func TestBuildAsGopacket(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	for i := range 2000 {
		var link [12]byte
		link[5], link[11] = 1, 2
		var a, b [16]byte
		for i := range a {
			a[i], b[i] = byte(r.Uint32()), byte(r.Uint32())
		}
		v6 := i%2 == 1
		if !v6 {
			a, b = netip.AddrFrom4([4]byte(a[:4])).As16(), netip.AddrFrom4([4]byte(b[:4])).As16()
		}
		var tpl Template
		tpl.Init(&link, uint16(i%3), v6, &a, &b, 1000, 2000)
		payload := make([]byte, r.IntN(3000))
		for i := range payload {
			payload[i] = byte(r.Uint32() | r.Uint32())
		}
		frame := make([]byte, tpl.Size()+len(payload))
		if n := tpl.Build(frame, 1, 2, ACK, uint16(i), payload, true); n != len(frame) {
			t.Fatalf("%d bytes of %d", n, len(frame))
		}
		check(t, frame)
		ip, tcp := oracle(frame)
		again := gopacket.NewSerializeBuffer()
		got := tcp.Checksum
		switch l := ip.(type) {
		case *layers.IPv4:
			tcp.SetNetworkLayerForChecksum(l)
			if Checksum(0, l.Contents) != 0 {
				t.Fatalf("IP checksum of %x", l.Contents)
			}
		case *layers.IPv6:
			tcp.SetNetworkLayerForChecksum(l)
		}
		if err := gopacket.SerializeLayers(again, gopacket.SerializeOptions{ComputeChecksums: true}, tcp, gopacket.Payload(payload)); err != nil {
			t.Fatal(err)
		}
		if want := be.Uint16(again.Bytes()[16:]); got != want {
			t.Fatalf("TCP checksum %04x, gopacket computes %04x", got, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	r := rand.New(rand.NewPCG(9, 10))
	for range 20 {
		b := build(r)
		f.Add(uint16(LinkEthernet), b)
		if b = bytes.Clone(b); be.Uint16(b[12:]) == TypeIPv4 {
			b[14+9] = ProtoUDP
		} else {
			b[14+6] = ProtoUDP
		}
		f.Add(uint16(LinkEthernet), b)
	}
	for _, l := range []LinkType{LinkNull, LinkRaw, LinkLinuxSLL, LinkLinuxSLL2} {
		f.Add(uint16(l), build(r)[14:])
	}
	place := NewPlacement()
	f.Fuzz(func(t *testing.T, link uint16, frame []byte) {
		var s Segment
		v := Parse(&s, LinkType(link), frame)
		var slow Segment
		d := decoder{s: &slow}
		if w := d.frame(LinkType(link), frame); w != v || (v == TCP || v == UDP) && !reflect.DeepEqual(slow, s) {
			t.Errorf("%v %+v, in the usual way %v %+v", w, slow, v, s)
		}
		if v != TCP {
			return
		}
		if len(s.Payload) > len(frame) || s.Missing < 0 || s.Side > 1 || s.Tuple.swapped() {
			t.Errorf("%+v", s)
		}
		if LinkType(link) != LinkEthernet {
			return
		}
		if h, ok := place.Usual(frame); ok && h != place.Hash(&s.Tuple) {
			t.Errorf("%+v is dealt out as another one", s.Tuple)
		}
		// This package reads the same as gopacket, if that reads without complaint.
		p := gopacket.NewPacket(frame, layers.LayerTypeEthernet, gopacket.NoCopy)
		if _, tcp := oracle(frame); tcp != nil && p.ErrorLayer() == nil && !p.Metadata().Truncated && s.Missing == 0 {
			if tcp.Seq != s.Seq || uint16(tcp.SrcPort) != s.Tuple.Port[s.Side] {
				t.Errorf("%+v, gopacket has %+v", s, tcp)
			}
		}
	})
}

func BenchmarkParse(b *testing.B) {
	r := rand.New(rand.NewPCG(3, 3))
	var frames [][]byte
	for len(frames) < 64 {
		var s Segment
		if f := build(r); Parse(&s, LinkEthernet, f) == TCP && s.VLAN == 0 {
			frames = append(frames, f)
		}
	}
	var s Segment
	for i := range b.N {
		Parse(&s, LinkEthernet, frames[i%len(frames)])
	}
}

// A segment has timestamps if the option is there and whole.
func TestStamped(t *testing.T) {
	for _, c := range []struct {
		options string
		want    bool
	}{
		{"", false},
		{"\x01\x01\x08\x0a\x00\x00\x00\x01\x00\x00\x00\x02", true},
		{"\x02\x04\x05\xb4\x04\x02\x08\x0a\x00\x00\x00\x01\x00\x00\x00\x02", true}, // after the segment size
		{"\x00\x00\x08\x0a\x00\x00\x00\x01\x00\x00\x00\x02", false},                // after the end of all options
		{"\x08\x0a\x00\x00", false},
		{"\x08\x04\x00\x00", false},
		{"\x05\x00\x08\x0a\x00\x00\x00\x01\x00\x00\x00\x02", false}, // of no length
		{"\x05\x01\x08\x0a\x00\x00\x00\x01\x00\x00\x00\x02", false},
		{"\x01\x01\x01\x08", false},
	} {
		tcp := make([]byte, 20, 64)
		tcp[12] = byte(20+len(c.options)) << 2
		b := append([]byte{0x45, 9: 6, 19: 1}, append(append(tcp, c.options...), "\x08\x0a234567890"...)...)
		be.PutUint16(b[2:], uint16(len(b)))
		var s Segment
		if v := Parse(&s, LinkRaw, b); v != TCP {
			t.Fatalf("%x: %v", c.options, v)
		}
		if got := s.Stamped(); got != c.want {
			t.Errorf("%x: %v", c.options, got)
		}
	}
}
