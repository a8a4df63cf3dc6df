package packet

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sealane/sealane/gateway/internal/wrap"
)

// plainFrame is a frame without tags, and its IP packet.
func plainFrame(r *rand.Rand) (frame, ip []byte) {
	for {
		var s Segment
		if frame = build(r); Parse(&s, LinkEthernet, frame) == TCP && s.VLAN == 0 && s.Tuple.Zone == 0 && len(s.Payload) < 1200 {
			return frame, s.ip
		}
	}
}

// Through each tunnel, and through two nested ones, the segment is the same as without a tunnel.
func TestTunnels(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 12))
	var p Parser
	for i := range wrap.Tunnels {
		for j := -1; j < len(wrap.Tunnels); j++ {
			frame, _ := plainFrame(r)
			var plain, s Segment
			Parse(&plain, LinkEthernet, frame)
			name := wrap.Tunnels[i].Name
			out := wrap.Tunnels[i].Around(frame, 77)
			if j >= 0 {
				name += " in " + wrap.Tunnels[j].Name
				if !wrap.Tunnels[j].Ether && ipLike(out) == nil {
					continue
				}
				out = wrap.Tunnels[j].Around(out, 88)
			}
			if v := p.Parse(&s, LinkEthernet, out, 0); v != TCP {
				t.Fatalf("%s: %v in %x", name, v, out)
			}
			zone := s.Tuple.Zone
			if want := wrap.Tunnels[i].Zone || j >= 0 && wrap.Tunnels[j].Zone; zone != 0 != want {
				t.Errorf("%s: zone %d", name, zone)
			}
			s.Tuple.Zone = 0
			if s.Tuple != plain.Tuple || s.Side != plain.Side || s.Seq != plain.Seq || !bytes.Equal(s.Payload, plain.Payload) || s.Missing != 0 || s.Sum() != SumGood {
				t.Errorf("%s: %+v, without %+v", name, s, plain)
			}
			// The other direction has the same zone, another network another one.
			if j < 0 && wrap.Tunnels[i].Zone {
				p.Parse(&s, LinkEthernet, wrap.Tunnels[i].Around(frame, 78), 0)
				if s.Tuple.Zone == zone || s.Tuple.Zone == 0 {
					t.Errorf("%s: networks 77 and 78 are both %d", name, zone)
				}
				one := Parser{OneNetwork: true}
				if one.Parse(&s, LinkEthernet, out, 0); s.Tuple.Zone != 0 {
					t.Errorf("%s: there is one network", name)
				}
			}
			// Cut anywhere, it is malformed, or its payload is cut.
			for n := range out {
				if v := p.Parse(&s, LinkEthernet, out[:n:n], 0); v == TCP {
					if len(s.Payload)+s.Missing != len(plain.Payload) || !bytes.HasPrefix(plain.Payload, s.Payload) {
						t.Fatalf("%s: %d bytes of %d: payload %d, missing %d, of %d", name, n, len(out), len(s.Payload), s.Missing, len(plain.Payload))
					}
				} else if v != Malformed {
					t.Fatalf("%s: %d bytes of %d: %v", name, n, len(out), v)
				}
			}
		}
	}
	for name, n := range map[string]uint64{"VXLAN": p.Tunnels.VXLAN, "GENEVE": p.Tunnels.GENEVE, "GTP": p.Tunnels.GTP, "GRE": p.Tunnels.GRE,
		"ERSPAN": p.Tunnels.ERSPAN, "IP in IP": p.Tunnels.IPinIP, "MPLS": p.Tunnels.MPLS, "PPPoE": p.Tunnels.PPPoE, "LLC": p.Tunnels.LLC} {
		if n == 0 {
			t.Errorf("%s is not counted", name)
		}
	}
}

// ipLike returns the IP packet of a frame, if there is nothing between.
func ipLike(frame []byte) []byte {
	if kind := be.Uint16(frame[12:]); kind == TypeIPv4 || kind == TypeIPv6 {
		return frame[14:]
	}
	return nil
}

// tshark finds the same segments.
func TestTunnelsAsTshark(t *testing.T) {
	if _, err := exec.LookPath("tshark"); err != nil {
		t.Skip("not run: there is no tshark")
	}
	r := rand.New(rand.NewPCG(13, 14))
	le := binary.LittleEndian
	file := le.AppendUint32(nil, 0xa1b2c3d4)
	file = append(file, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 0, 1, 0, 0, 0)
	var want []string
	for i := range wrap.Tunnels {
		frame, _ := plainFrame(r)
		out := wrap.Tunnels[i].Around(frame, 77)
		var s Segment
		if Parse(&s, LinkEthernet, out) != TCP {
			t.Fatal(wrap.Tunnels[i].Name)
		}
		want = append(want, fmt.Sprintf("%d\t%d\t%d", s.Tuple.Port[s.Side], s.Seq, len(s.Payload)))
		file = append(file, make([]byte, 8)...)
		file = le.AppendUint32(le.AppendUint32(file, uint32(len(out))), uint32(len(out)))
		file = append(file, out...)
	}
	name := filepath.Join(t.TempDir(), "tunnels.pcap")
	if err := os.WriteFile(name, file, 0o600); err != nil {
		t.Fatal(err)
	}
	said, err := exec.Command("tshark", "-n", "-r", name, "-o", "tcp.relative_sequence_numbers:FALSE", "-o", "mpls.flowlabel_in_mpls_header:FALSE",
		"-o", "vlan.qinq_ethertype:0x9200",
		"-d", "udp.port==8472,vxlan", "-d", "mpls.label==34,pwethcw", "-T", "fields", "-e", "tcp.srcport", "-e", "tcp.seq_raw", "-e", "tcp.len").Output()
	if err != nil {
		t.Fatal(err)
	}
	got := strings.Split(strings.TrimRight(string(said), "\n"), "\n")
	for i := range want {
		if i >= len(got) || got[i] != want[i] {
			t.Errorf("%s: %q, tshark has %q", wrap.Tunnels[i].Name, want[i], slices.Concat(got, make([]string, len(want)))[i])
		}
	}
}

// Malformed tunnels are refused, and tunnels in tunnels have a limit.
func TestMalformedTunnels(t *testing.T) {
	r := rand.New(rand.NewPCG(15, 16))
	frame, ip := plainFrame(r)
	deep := frame
	for range maxTunnels + 1 {
		deep = wrap.Ether(TypeIPv4, wrap.UDPv4(PortVXLAN, []byte{8, 0, 0, 0, 0, 0, 1, 0}, deep))
	}
	var p Parser
	for _, c := range []struct {
		name  string
		frame []byte
		want  Verdict
	}{
		{"too deep", deep, Other},
		{"VXLAN without network", wrap.Ether(TypeIPv4, wrap.UDPv4(PortVXLAN, make([]byte, 8), frame)), Other},
		{"GENEVE of another version", wrap.Ether(TypeIPv4, wrap.UDPv4(PortGENEVE, []byte{0x40, 0, 0x65, 0x58, 0, 0, 1, 0}, frame)), Other},
		{"GENEVE, options longer than the packet", wrap.Ether(TypeIPv4, wrap.UDPv4(PortGENEVE, []byte{0x3f, 0, 0x65, 0x58, 0, 0, 1, 0}, frame[:40])), Malformed},
		{"GTP-U, an extension without length", wrap.Ether(TypeIPv4, wrap.UDPv4(PortGTP, []byte{0x34, 255, 0, 9, 0, 0, 0, 1, 0, 0, 0, 0x85, 0}, ip)), Malformed},
		{"GTP-U, extensions without end", wrap.Ether(TypeIPv4, wrap.UDPv4(PortGTP, append([]byte{0x34, 255, 0, 9, 0, 0, 0, 1, 0, 0, 0, 0x85}, bytes.Repeat([]byte{1, 0, 0, 0x85}, 20)...), ip)), Malformed},
		{"GTP-U echo", wrap.Ether(TypeIPv4, wrap.UDPv4(PortGTP, []byte{0x32, 1, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0})), Other},
		{"GRE of PPTP", wrap.Ether(TypeIPv4, wrap.IPv4(ProtoGRE, wrap.Words(0x2001, 0x880b, 0, 0), ip)), Other},
		{"GRE with routing", wrap.Ether(TypeIPv4, wrap.IPv4(ProtoGRE, wrap.Words(0x4000, TypeIPv4, 0, 0), ip)), Other},
		{"ERSPAN of an unknown version", wrap.Ether(TypeIPv4, wrap.IPv4(ProtoGRE, wrap.Words(0x1000, TypeERSPAN, 0, 1, 0x3000, 0, 0, 0), frame)), Other},
		{"labels without end", wrap.Ether(TypeMPLS, bytes.Repeat([]byte{0, 1, 0, 64}, 20), ip), Malformed},
		{"tags without end", wrap.Ether(TypeVLAN, bytes.Repeat(wrap.Words(1, TypeVLAN), 20), ip), Malformed},
		{"PPPoE discovery", wrap.Ether(TypePPPoE, wrap.Words(0x1109, 1, 40, 0x21), ip), Other},
		{"PPPoE of another version", wrap.Ether(TypePPPoE, wrap.Words(0x2100, 1, 40, 0x21), ip), Malformed},
		{"spanning tree", wrap.Ether(38, []byte{0x42, 0x42, 3}, make([]byte, 35)), Other},
		{"SNAP of a vendor", wrap.Ether(60, []byte{0xaa, 0xaa, 3, 0, 0, 0x0c, 0x20, 0}, make([]byte, 52)), Other},
		{"SNAP whose type is a length", wrap.Ether(60, []byte{0xaa, 0xaa, 3, 0, 0, 0, 0, 60}, make([]byte, 52)), Other},
		{"UDP of something else", wrap.Ether(TypeIPv4, wrap.UDPv4(53, make([]byte, 8), frame)), UDP},
	} {
		var s Segment
		if v := p.Parse(&s, LinkEthernet, c.frame, 0); v != c.want {
			t.Errorf("%s: %v", c.name, v)
		}
	}
	if p.Tunnels.Deep != 1 {
		t.Errorf("%d too deep", p.Tunnels.Deep)
	}
}

// More zones than there are numbers share them, and each keeps its own.
func TestZones(t *testing.T) {
	const zonesOf = 40000
	numbers := make([]uint16, zonesOf)
	shared := 0
	for round := range 2 {
		for i := range numbers {
			n, s := zoneNumber(mixZone(0, 1<<60|uint64(i)))
			if n == 0 || n >= 1<<zoneBits {
				t.Fatalf("number %d", n)
			}
			if round == 1 && n != numbers[i] {
				t.Fatalf("zone %d was %d and is %d", i, numbers[i], n)
			}
			numbers[i] = n
			if s {
				shared++
			}
		}
	}
	if shared == 0 {
		t.Error("none is shared")
	}
	for i := range zones { // for other tests
		zones[i].Store(0)
	}
}

func FuzzTunnels(f *testing.F) {
	r := rand.New(rand.NewPCG(17, 18))
	for i := range wrap.Tunnels {
		frame, _ := plainFrame(r)
		f.Add(wrap.Tunnels[i].Around(frame, 7))
	}
	var p Parser
	f.Fuzz(func(t *testing.T, frame []byte) {
		var s Segment
		v := p.Parse(&s, LinkEthernet, frame, 0)
		if v == TCP {
			s.Sum()
			if len(s.Payload) > len(frame) && !s.Whole || s.Missing < 0 || s.Side > 1 || s.Tuple.Zone >= 1<<zoneBits {
				t.Errorf("%+v", s)
			}
			var again Segment
			if w := p.Parse(&again, LinkWhole, s.AppendFrame(nil), 0); w != TCP || again.Tuple != s.Tuple || !bytes.Equal(again.Payload, s.Payload) {
				t.Errorf("again: %v %+v, was %+v", w, again, s)
			}
		}
		p.Release()
	})
}
