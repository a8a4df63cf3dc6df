package rules

import (
	"encoding/binary"
	"math/rand/v2"
	"net/netip"
	"testing"

	"github.com/sealane/sealane/gateway/internal/packet"
	"github.com/sealane/sealane/gateway/internal/wrap"
)

// FuzzFrame: the rules and the gateway see the same in a frame, if both see TCP in a packet of its own. The frame has
// the bytes of its headers.
func FuzzFrame(f *testing.F) {
	r := rand.New(rand.NewPCG(5, 6))
	for i := range 8 {
		var a, b [16]byte
		binary.NativeEndian.PutUint64(a[8:], r.Uint64())
		binary.NativeEndian.PutUint64(b[8:], r.Uint64())
		var t packet.Template
		t.Init(&[12]byte{2, 4}, uint16(i&2), i&1 == 1, &a, &b, uint16(r.Uint32()), 443)
		frame := make([]byte, t.Size()+20*i)
		t.Build(frame, r.Uint32(), r.Uint32(), packet.ACK, 1, frame[:20*i], true)
		f.Add(frame)
		if i&2 == 0 {
			for k := range wrap.Tunnels {
				f.Add(wrap.Tunnels[k].Around(frame, 7))
			}
			if i&1 == 1 { // with headers in between
				head := append([]byte(nil), frame[:54]...)
				head[20] = 60
				f.Add(append(append(head, 6, 1, 0x1e, 12, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0), frame[54:]...))
			}
		}
	}
	f.Fuzz(func(t *testing.T, frame []byte) {
		p, ip, tcp, ok := packet.OuterOf(frame)
		if !ok || tcp == 0 {
			return
		}
		if tcp < ip+20 || tcp+int(frame[tcp+12]>>4)*4 > len(frame) || p.Proto != 6 {
			t.Fatalf("IP at %d, TCP at %d of %d: %+v", ip, tcp, len(frame), p)
		}
		var s packet.Segment
		if packet.Parse(&s, packet.LinkEthernet, frame) == packet.TCP && (s.Seq != binary.BigEndian.Uint32(frame[tcp+4:]) || Of(&s.Tuple) != p && Of(&s.Tuple) != (Packet{Proto: 6, Addr: [2]netip.Addr{p.Addr[1], p.Addr[0]}, Port: [2]uint16{p.Port[1], p.Port[0]}})) {
			t.Errorf("%+v, but the gateway reads %+v", p, s.Tuple)
		}
	})
}

// FuzzRule: a rule is refused with a reason, or taken, and its text parses to the same rule.
func FuzzRule(f *testing.F) {
	for _, text := range []string{"proto=udp,net=10.0.0.53,port=53", "sni=*.bank.example", "proto=tcp,port=8000-8010,peer=fd00::/8", "net=::ffff:10.0.0.1,proto=47"} {
		f.Add(text)
	}
	p := Packet{Proto: 6, Addr: [2]netip.Addr{netip.MustParseAddr("10.0.0.53"), netip.MustParseAddr("fd00::1")}, Port: [2]uint16{53, 8001}}
	f.Fuzz(func(t *testing.T, text string) {
		r, err := Parse(text)
		if err != nil {
			return
		}
		again, err := Parse(r.String())
		if err != nil || again != r {
			t.Fatalf("%+v, and again %+v, %v", r, again, err)
		}
		deny, both := Set{Deny: []Rule{r}}, Set{Deny: []Rule{r}, Allow: []Rule{r}}
		if deny.Packet(&p) != both.Packet(&p) || deny.Name(&p, "www.bank.example.") != both.Name(&p, "www.bank.example.") {
			t.Errorf("%s: what is denied is allowed", text)
		}
	})
}
