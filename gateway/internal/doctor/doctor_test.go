package doctor

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/sealane/sealane/gateway/internal/capture"
	"github.com/sealane/sealane/gateway/internal/keys"
	"github.com/sealane/sealane/gateway/internal/packet"
	"github.com/sealane/sealane/gateway/internal/traffic"
)

// connection makes one with data of both sides, and its key log.
func connection(number int) ([]capture.Frame, []byte) {
	var frames []capture.Frame
	s := traffic.NewSession(traffic.AES128, rand.New(rand.NewPCG(uint64(number), 7)))
	s.Name = "www.example"
	c := traffic.NewConn(number, &frames)
	c.Handshake(s, 1000)
	c.Send(traffic.Client, s.Data(traffic.Client, []byte("GET / HTTP/1.1\r\n\r\n"), 1000))
	c.Send(traffic.Server, s.Data(traffic.Server, bytes.Repeat([]byte("x"), 5000), 1000))
	c.Close()
	return frames, s.KeyLog()
}

// hellos makes a connection with these bytes as its hellos.
func hellos(client, server []byte) []capture.Frame {
	var frames []capture.Frame
	c := traffic.NewConn(1, &frames)
	c.Open()
	c.Send(traffic.Client, client)
	c.Send(traffic.Server, server)
	c.Send(traffic.Server, []byte("\x17\x03\x03\x00\x30................................................"))
	return frames
}

func clientHelloOf(extensions ...byte) []byte {
	body := append([]byte{3, 3}, make([]byte, 32)...)
	body = append(body, 0, 0, 2, 0x13, 1, 1, 0, 0, byte(len(extensions)))
	body = append(body, extensions...)
	return append([]byte{22, 3, 1, 0, byte(len(body) + 4), 1, 0, 0, byte(len(body))}, body...)
}

func serverHelloOf(version, suite uint16) []byte {
	body := append(binary.BigEndian.AppendUint16(nil, version), make([]byte, 32)...)
	body = append(binary.BigEndian.AppendUint16(append(body, 0), suite), 0, 0, 0)
	return append([]byte{22, 3, 3, 0, byte(len(body) + 4), 2, 0, 0, byte(len(body))}, body...)
}

// keep returns the frames that are wanted.
func keep(frames []capture.Frame, wanted func(i int, s *packet.Segment) bool) (kept []capture.Frame) {
	for i, f := range frames {
		var s packet.Segment
		if packet.Parse(&s, f.Link, f.Data) == packet.TCP && wanted(i, &s) {
			kept = append(kept, f)
		}
	}
	return kept
}

func from(port uint16) func(int, *packet.Segment) bool {
	return func(_ int, s *packet.Segment) bool { return s.Tuple.Port[s.Side] == port }
}

// tagged puts a VLAN tag into each frame.
func tagged(frames []capture.Frame) (all []capture.Frame) {
	for _, f := range frames {
		f.Data = slices.Concat(f.Data[:12], []byte{0x81, 0, 0, 5}, f.Data[12:])
		all = append(all, f)
	}
	return all
}

// ip makes a frame of IPv4 with some protocol.
func ip(protocol byte, payload ...byte) []capture.Frame {
	b := append(make([]byte, 12), 8, 0, 0x45, 0, 0, byte(20+len(payload)), 0, 0, 0, 0, 64, protocol, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2)
	return []capture.Frame{{Time: 1, Link: packet.LinkEthernet, Data: append(b, payload...)}}
}

func udp(port uint16) []capture.Frame {
	return ip(17, append(binary.BigEndian.AppendUint16([]byte{0xea, 0x60}, port), 0, 16, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8)...)
}

// quicCapture returns a connection of QUIC and its key log.
func quicCapture(t *testing.T) (frames []capture.Frame, keyLog []byte) {
	t.Helper()
	file, err := os.Open("../../testdata/quic/q-v1.pcap")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	r, err := capture.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	var b capture.Block
	if err := r.ReadBlock(&b); err != nil {
		t.Fatal(err)
	}
	if keyLog, err = os.ReadFile("../../testdata/quic/q-v1.keys"); err != nil {
		t.Fatal(err)
	}
	return b.Frames, keyLog
}

// examine returns the causes that are found.
func examine(t *testing.T, frames []capture.Frame, keyLog []byte, setup func(*Doctor)) (Summary, []Finding) {
	t.Helper()
	d := New(keys.NewStore(100), false)
	if keyLog != nil {
		if err := d.Keys("keys.log", bytes.NewReader(keyLog)); err != nil {
			t.Fatal(err)
		}
	}
	if setup != nil {
		setup(d)
	}
	for len(frames) > 0 {
		n := min(len(frames), 7)
		d.Frames(frames[:n])
		frames = frames[n:]
	}
	return d.Findings()
}

func causesOf(all []Finding) string {
	var names []string
	for _, f := range all {
		names = append(names, f.Cause)
	}
	return strings.Join(names, "; ")
}

// Each case is a capture with one fault, and the doctor's words for it.
func TestCauses(t *testing.T) {
	whole, keyLog := connection(1)
	_, others := connection(2)
	var client packet.Segment
	packet.Parse(&client, whole[0].Link, whole[0].Data)
	random, _, _ := bytes.Cut(keyLog[bytes.IndexByte(keyLog, ' ')+1:], []byte(" "))
	cut := func(frames []capture.Frame, n int) (all []capture.Frame) {
		for _, f := range frames {
			f.Data = f.Data[:min(len(f.Data), n)]
			all = append(all, f)
		}
		return all
	}
	hello := func(s *packet.Segment) bool { return len(s.Payload) > 5 && s.Payload[0] == 22 }
	quicFrames, quicLog := quicCapture(t)
	covered := map[string]bool{}
	for _, c := range []struct {
		name   string
		frames []capture.Frame
		keys   string
		setup  func(*Doctor)
		want   string
		tls    int
		opened int
	}{
		{"all is well", whole, string(keyLog), nil, "", 1, 1},
		{"other keys beside the right ones", whole, string(others) + string(keyLog), nil, "", 1, 1},
		{"nothing", nil, "", nil, "no packets", 0, 0},
		{"only ping", ip(1, 8, 0, 0, 0), "", nil, "no TCP", 0, 0},
		{"WireGuard", udp(51820), "", nil, "no TCP; tunnel", 0, 0},
		{"IPsec", slices.Concat(whole, ip(50, 1, 2, 3, 4)), string(keyLog), nil, "tunnel", 1, 1},
		{"a tunnel by EtherType", slices.Concat(whole, []capture.Frame{{Link: packet.LinkEthernet, Data: append(make([]byte, 12), 0x89, 0x4f, 1, 2, 3, 4)}}), string(keyLog), nil, "tunnel", 1, 1},
		{"QUIC", udp(443), "", nil, "no TCP; QUIC", 0, 0},
		{"QUIC without keys", quicFrames, "", nil, "no TCP; QUIC", 0, 0},
		{"QUIC with keys", quicFrames, string(quicLog), nil, "", 0, 0},
		{"no keys", whole, "", nil, "no keys", 1, 0},
		{"keys of another connection", whole, string(others), nil, "keys of other connections", 1, 0},
		{"encrypted ClientHello", hellos(clientHelloOf(0xfe, 0x0d, 0, 1, 0), serverHelloOf(0x0303, 0xc02f)), string(others), nil, "keys of other connections, or encrypted ClientHello", 1, 0},
		{"only handshake keys", whole, string(bytes.Join(bytes.SplitAfter(keyLog, []byte("\n"))[0:1], nil)), nil, "half the keys", 1, 0},
		{"another secret", whole, "CLIENT_TRAFFIC_SECRET_0 " + string(random) + " " + strings.Repeat("ab", 32) +
			"\nSERVER_TRAFFIC_SECRET_0 " + string(random) + " " + strings.Repeat("cd", 32) + "\n", nil, "nothing opens", 1, 0},
		{"before the data", keep(whole, func(i int, s *packet.Segment) bool { return i < 4 || i == 4 && s.Flags&packet.SYN == 0 }), string(keyLog), nil, "no ServerHello", 1, 0},
		{"refused by the server", hellosOf(string(clientHelloOf()), "\x15\x03\x03\x00\x02\x02\x28"), string(keyLog), nil, "no ServerHello", 1, 0},
		{"handshake alone", hellosOnly(), "CLIENT_RANDOM " + strings.Repeat("00", 32) + " " + strings.Repeat("ab", 48) + "\n", nil, "no data yet", 1, 0},
		{"from the client alone", keep(whole, from(client.Tuple.Port[client.Side])), string(keyLog), nil, "one direction", 1, 0},
		{"from the server alone", keep(whole, from(443)), string(keyLog), nil, "one direction", 1, 0},
		{"a mirror that tags one direction", slices.Concat(keep(whole, from(client.Tuple.Port[client.Side])), tagged(keep(whole, from(443)))), string(keyLog), nil, "one network", 2, 0},
		{"joined late", keep(whole, func(i int, s *packet.Segment) bool { return s.Flags&packet.SYN == 0 && !hello(s) }), string(others), nil, "joined late", 1, 0},
		{"joined late, with its keys", keep(whole, func(i int, s *packet.Segment) bool { return s.Flags&packet.SYN == 0 && !hello(s) }), string(keyLog), nil, "", 1, 1},
		{"without the ClientHello", keep(whole, func(_ int, s *packet.Segment) bool { return !hello(s) || s.Tuple.Port[s.Side] == 443 }), string(keyLog), nil, "lost segments; no ClientHello", 1, 0},
		{"plain HTTP", hellosOf("GET / HTTP/1.1\r\n\r\n", "HTTP/1.1 200 OK\r\n\r\n"), string(keyLog), nil, "not TLS", 0, 0},
		{"TLS 1.0", hellos(clientHelloOf(), serverHelloOf(0x0301, 0xc013)), string(keyLog), nil, "old version", 1, 0},
		{"TLS 1.2 with CBC", hellos(clientHelloOf(), serverHelloOf(0x0303, 0xc013)), string(keyLog), nil, "unsupported suite", 1, 0},
		{"cut by tcpdump -s", cut(whole, 96), string(keyLog), nil, "lost segments; cut packets; cut packets", 1, 0},
		{"a snapped packet after others", slices.Concat(whole, cut(whole[:5], 60)), string(keyLog), nil, "cut packets", 1, 1},
		{"a private key", whole, "-----BEGIN PRIVATE KEY-----\nMIGH\n", nil, "private key; no keys", 1, 0},
		{"an empty key log", whole, "\n", nil, "no key log; no keys", 1, 0},
		{"drops", whole, string(keyLog), func(d *Doctor) { d.Dropped = 3 }, "lost by the kernel", 1, 1},
		{"checksums left to the card", badSums(whole), string(keyLog), nil, "offload", 1, 1},
		{"a short packet", slices.Concat(whole, cut(whole[:1], 20)), string(keyLog), nil, "damaged packets", 1, 1},
	} {
		var keyLog []byte
		if c.keys != "" {
			keyLog = []byte(c.keys)
		}
		s, all := examine(t, c.frames, keyLog, c.setup)
		if got := causesOf(all); got != c.want || s.TLS != c.tls || s.Decrypted != c.opened {
			t.Errorf("%s: %q, %d TLS, %d decrypted; want %q, %d, %d", c.name, got, s.TLS, s.Decrypted, c.want, c.tls, c.opened)
		}
		for _, f := range all {
			covered[f.Cause] = true
			if f.What == "" || f.Do == "" || !strings.HasSuffix(f.What, ".") || !strings.HasSuffix(f.Do, ".") {
				t.Errorf("%s: %+v", c.name, f)
			}
		}
	}
	for _, c := range causes {
		if c.name != "" && !covered[c.name] {
			t.Errorf("no row has %q", c.name)
		}
	}
}

func hellosOnly() []capture.Frame {
	var frames []capture.Frame
	c := traffic.NewConn(1, &frames)
	c.Open()
	c.Send(traffic.Client, clientHelloOf())
	c.Send(traffic.Server, serverHelloOf(0x0303, 0xc02f))
	return frames
}

func hellosOf(client, server string) []capture.Frame {
	var frames []capture.Frame
	c := traffic.NewConn(1, &frames)
	c.Open()
	c.Send(traffic.Client, []byte(client))
	c.Send(traffic.Server, []byte(server))
	return frames
}

// badSums breaks TCP's checksum in each frame.
func badSums(frames []capture.Frame) (all []capture.Frame) {
	for _, f := range frames {
		f.Data = bytes.Clone(f.Data)
		f.Data[14+20+16] ^= 0xff
		all = append(all, f)
	}
	return all
}

// The example names the connection and its server name, and nothing that a terminal would obey.
func TestExample(t *testing.T) {
	whole, _ := connection(1)
	_, all := examine(t, whole, nil, nil)
	if len(all) != 1 || !strings.Contains(all[0].Of, ":443 (www.example), TLS 1.3, TLS_AES_128_GCM_SHA256") {
		t.Errorf("%+v", all)
	}
	_, all = examine(t, hellos(clientHelloOf(0, 0, 0, 9, 0, 7, 0, 0, 4, 'a', 0x1b, '[', 'J'), serverHelloOf(0x0301, 5)), nil, nil)
	if len(all) != 1 || !strings.Contains(all[0].Of, "(a?[J)") {
		t.Errorf("%+v", all)
	}
}

// There are more connections than the doctor examines. It reports that, and how many it examined.
func TestManyConnections(t *testing.T) {
	var frames []capture.Frame
	for i := range maxConnections + 10 {
		c := traffic.NewConn(i*16, &frames)
		c.Open()
	}
	s, _ := examine(t, frames, nil, nil)
	if s.TCP != maxConnections || s.Unseen == 0 {
		t.Errorf("%+v", s)
	}
}

// The doctor accepts any input.
func FuzzExamine(f *testing.F) {
	whole, _ := connection(1)
	for _, frame := range whole[:6] {
		f.Add(uint16(frame.Link), frame.Data)
	}
	f.Add(uint16(1), udp(443)[0].Data)
	f.Add(uint16(276), make([]byte, 30))
	f.Fuzz(func(t *testing.T, link uint16, b []byte) {
		if packet.LinkType(link) >= packet.LinkPart {
			return // of this program
		}
		_, all := examine(t, []capture.Frame{{Data: b, Link: packet.LinkType(link)}}, nil, nil)
		for _, f := range all {
			if strings.ContainsFunc(f.What+f.Of, func(r rune) bool { return r < ' ' || r == 0x7f }) {
				t.Errorf("%+v", f)
			}
		}
	})
}
