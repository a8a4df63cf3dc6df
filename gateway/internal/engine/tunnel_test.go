package engine

import (
	"bytes"
	stdtls "crypto/tls"
	"fmt"
	"io"
	mathrand "math/rand/v2"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sealane/sealane/gateway/internal/capture"
	"github.com/sealane/sealane/gateway/internal/keys"
	"github.com/sealane/sealane/gateway/internal/packet"
	"github.com/sealane/sealane/gateway/internal/seed"
	"github.com/sealane/sealane/gateway/internal/traffic"
	"github.com/sealane/sealane/gateway/internal/wrap"
)

// Connections in each tunnel, and in fragments, are read whole, by one worker and by three. Two networks have the same addresses.
func TestTunnelsAndFragments(t *testing.T) {
	all := originals(t)
	for i := range wrap.Tunnels {
		for _, cut := range []bool{false, true} {
			o := &all[i%len(all)]
			tunnel := &wrap.Tunnels[i]
			r := mathrand.New(mathrand.NewPCG(uint64(i), 1))
			networks := 1
			if tunnel.Zone {
				networks = 2
			}
			var frames []capture.Frame
			id := uint16(0)
			second := map[*byte]bool{}
			for j := range o.segments {
				for n := range networks {
					id++
					f := frameOf(&o.segments[j], int64(1700000000e9)+int64(len(frames))*1000)
					f.Data = o.frames[j].Data
					if f.Data[12] == 8 && f.Data[13] == 0 { // its own packets, with the checksums that they had
						f.Data = f.Data[:14+int(f.Data[16])<<8+int(f.Data[17])]
					}
					out := tunnel.Around(f.Data, uint32(10+n))
					parts := [][]byte{out}
					if kind := int(out[12])<<8 | int(out[13]); cut && len(out) > 200 && (kind == 0x0800 || kind == 0x86dd) {
						parts = nil
						for _, p := range wrap.Split(out[14:], len(out)/3, id) {
							parts = append(parts, wrap.Ether(wrap.Type(p), p))
						}
						r.Shuffle(len(parts), func(a, b int) { parts[a], parts[b] = parts[b], parts[a] })
					}
					for _, p := range parts {
						f.Data = p
						second[&p[0]] = n == 1
						frames = append(frames, f)
					}
				}
			}
			for _, workers := range []int{1, 3} {
				if networks == 2 && workers > 1 {
					// The store forgets keys when the first of two connections with this random ends on another core.
					networks = 1
					frames = slices.DeleteFunc(frames, func(f capture.Frame) bool { return second[&f.Data[0]] })
				}
				got, stats := decrypt(t, bytes.NewReader(traffic.Pcap(frames)), o.keyLog, workers)
				name := fmt.Sprintf("%s, %s, cut %v, %d workers", o.name, tunnel.Name, cut, workers)
				if len(got.streams) != networks || stats.Decrypted != uint64(networks) {
					t.Errorf("%s: %d streams, %d decrypted", name, len(got.streams), stats.Decrypted)
					continue
				}
				for _, s := range got.streams {
					for side := range 2 {
						if !bytes.Equal(s.bytes(side), o.plain[side]) {
							t.Errorf("%s: %d bytes of %d", name, len(s.bytes(side)), len(o.plain[side]))
						}
					}
				}
				if cut && stats.Fragments.Seen > 0 && stats.Fragments.Whole == 0 {
					t.Errorf("%s: %+v", name, stats.Fragments)
				}
			}
		}
	}
}

// Without zones the two networks of the test above would be one, which shows that the test can fail.
func TestOneNetworkMixes(t *testing.T) {
	o := originals(t)[0]
	var frames []capture.Frame
	for j := range o.segments {
		for n := range uint32(2) {
			f := o.frames[j]
			f.Data = wrap.Tunnels[0].Around(f.Data, 10+n)
			frames = append(frames, f)
		}
	}
	store := keys.NewStore(10)
	log := keys.Log{Store: store}
	log.Write(o.keyLog)
	log.Flush()
	w := NewWorker(store, &collector{}, Options{OneNetwork: true})
	w.Frames(frames)
	w.Close()
	if w.Stats.Flows != 1 || w.Stats.Decrypted != 1 {
		t.Errorf("%d connections, %d decrypted", w.Stats.Flows, w.Stats.Decrypted)
	}
}

// A step of a dialogue before TLS.
type step struct {
	side int
	text string
}

// dialogues has the dialogues in the documentation that precede TLS.
var dialogues = map[string][]step{
	"SMTP (RFC 3207)": {{1, "220 mail.example ESMTP\r\n"}, {0, "EHLO client.example\r\n"}, {1, "250-mail.example\r\n250 STARTTLS\r\n"},
		{0, "STARTTLS\r\n"}, {1, "220 Go ahead\r\n"}},
	"IMAP (RFC 9051)": {{1, "* OK [CAPABILITY STARTTLS LOGINDISABLED IMAP4rev2]\r\n"}, {0, "a001 STARTTLS\r\n"}, {1, "a001 OK Begin TLS negotiation now\r\n"}},
	"POP3 (RFC 2595)": {{1, "+OK POP3 server ready\r\n"}, {0, "STLS\r\n"}, {1, "+OK Begin TLS negotiation\r\n"}},
	"LDAP (RFC 4511)": {{0, "0\x1d\x02\x01\x01w\x18\x80\x161.3.6.1.4.1.1466.20037"},
		{1, "0$\x02\x01\x01x\x1f\n\x01\x00\x04\x00\x04\x00\x8a\x161.3.6.1.4.1.1466.20037"}},
	"PostgreSQL (protocol 3, 53.2.10)": {{0, "\x00\x00\x00\x08\x04\xd2\x16\x2f"}, {1, "S"}},
	"XMPP (RFC 6120)": {{0, "<stream:stream to='example' xmlns='jabber:client' xmlns:stream='http://etherx.jabber.org/streams' version='1.0'>"},
		{1, "<stream:features><starttls xmlns='urn:ietf:params:xml:ns:xmpp-tls'/></stream:features>"},
		{0, "<starttls xmlns='urn:ietf:params:xml:ns:xmpp-tls'/>"}, {1, "<proceed xmlns='urn:ietf:params:xml:ns:xmpp-tls'/>"}},
	"HTTP CONNECT (RFC 9110)": {{0, "CONNECT www.example:443 HTTP/1.1\r\nHost: www.example:443\r\n\r\n"}, {1, "HTTP/1.1 200 OK\r\n\r\n"}},
	"PROXY 1":                 {{0, "PROXY TCP4 192.0.2.1 192.0.2.2 40000 443\r\n"}},
	"PROXY 2":                 {{0, "\r\n\r\n\x00\r\nQUIT\n\x21\x11\x00\x0c\xc0\x00\x02\x01\xc0\x00\x02\x02\x9c\x40\x01\xbb"}},
	"PROXY 2, then SMTP": {{0, "\r\n\r\n\x00\r\nQUIT\n\x20\x00\x00\x00"}, {1, "220 mail.example ESMTP\r\n"}, {0, "EHLO x\r\n"}, {1, "250 STARTTLS\r\n"},
		{0, "STARTTLS\r\n"}, {1, "220 Go ahead\r\n"}},
}

// prefaced is one end of a connection. It captures the sent data, after the dialogue that precedes TLS.
type prefaced struct {
	net.Conn
	side   int
	mu     *sync.Mutex
	conn   *traffic.Conn
	before *[]byte // sent in the same segment as the next bytes
}

func (c *prefaced) Write(b []byte) (int, error) {
	c.mu.Lock()
	out := b
	if c.side == traffic.Client && len(*c.before) > 0 {
		out = append(bytes.Clone(*c.before), b...)
		*c.before = nil
	}
	c.conn.Send(c.side, out)
	c.mu.Unlock()
	return c.Conn.Write(b)
}

// preface returns the frames and the key log of a connection with a preface before TLS, a question, and the same text
// as its answer.
func preface(t *testing.T, cert stdtls.Certificate, number int, steps []step, joined bool, version uint16) (
	frames []capture.Frame, keyLog, question []byte) {
	t.Helper()
	var mu sync.Mutex
	conn := traffic.NewConn(number, &frames)
	conn.Open()
	var before []byte
	for i, s := range steps {
		if joined && i == len(steps)-1 {
			before = []byte(s.text)
			break
		}
		conn.Send(s.side, []byte(s.text))
	}
	a, b := net.Pipe()
	a.SetDeadline(time.Now().Add(time.Minute))
	b.SetDeadline(time.Now().Add(time.Minute))
	var log locked
	server := stdtls.Server(&prefaced{a, traffic.Server, &mu, conn, &before}, &stdtls.Config{
		Certificates: []stdtls.Certificate{cert}, SessionTicketsDisabled: true,
	})
	client := stdtls.Client(&prefaced{b, traffic.Client, &mu, conn, &before}, &stdtls.Config{
		InsecureSkipVerify: true, KeyLogWriter: &log, MaxVersion: version, ServerName: "sealane.test",
	})
	question = make([]byte, 3000)
	r := mathrand.New(mathrand.NewPCG(seed.Of(t), uint64(number)))
	for i := range question {
		question[i] = byte(r.Uint32())
	}
	done := make(chan error, 1)
	go func() {
		_, err := io.ReadFull(server, make([]byte, len(question)))
		if err == nil {
			_, err = server.Write(question)
		}
		done <- err
	}()
	if _, err := client.Write(question); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(client, make([]byte, len(question))); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	mu.Lock()
	conn.Close()
	mu.Unlock()
	return frames, log.b.Bytes(), question
}

// Connections in which TLS follows another protocol are read, from their beginning or from their middle on. They are
// also read with a PROXY header in the same segment as the first bytes of TLS.
func TestBeforeTLS(t *testing.T) {
	cert := certificate(t)
	number := 100
	for name, steps := range dialogues {
		for _, c := range []struct {
			name           string
			joined, midway bool
			version        uint16
		}{{"1.3", false, false, stdtls.VersionTLS13}, {"1.2", false, false, stdtls.VersionTLS12}, {"from the middle", false, true, stdtls.VersionTLS13}, {"in one segment", true, false, stdtls.VersionTLS13}} {
			last := steps[len(steps)-1]
			if c.joined && !strings.HasPrefix(name, "PROXY") || c.joined && last.side == 1 {
				continue
			}
			t.Run(name+", "+c.name, func(t *testing.T) {
				number++
				frames, log, question := preface(t, cert, number, steps, c.joined, c.version)
				if c.midway {
					frames = frames[3:]
				}
				got, stats := runFrames(frames, log, Options{})
				if len(got.streams) != 1 || !bytes.Equal(got.streams[0].bytes(0), question) || !bytes.Equal(got.streams[0].bytes(1), question) {
					t.Errorf("%d streams; %+v", len(got.streams), stats)
				}
				if stats.Prefaced == 0 && !c.midway {
					t.Error("that something was before TLS is not counted")
				}
			})
		}
	}
}

// Forged data in the middle of such a dialogue, from either side, changes nothing: other hellos, headers and
// answers, text without end, and ends.
func TestForgedBeforeTLS(t *testing.T) {
	cert := certificate(t)
	number := 400
	for name, steps := range dialogues {
		number++
		frames, log, question := preface(t, cert, number, steps, false, stdtls.VersionTLS13)
		var segs []packet.Segment
		hello, flight := 0, 0
		for i, f := range frames {
			var s packet.Segment
			if packet.Parse(&s, f.Link, f.Data) != packet.TCP {
				t.Fatal("no segment")
			}
			if segs = append(segs, s); len(s.Payload) > 5 && s.Payload[0] == 22 && s.Payload[5] == 1 && hello == 0 {
				hello = i
			}
			if len(s.Payload) > 5 && s.Payload[0] == 22 && s.Payload[5] == 2 && flight == 0 {
				flight = i
			}
		}
		other := bytes.Clone(segs[hello].Payload)
		other[15] ^= 1 // its random
		greeting := bytes.Clone(segs[flight].Payload)
		greeting[15] ^= 1
		for i := 5 + int(greeting[3])<<8 + int(greeting[4]); i < len(greeting); i++ {
			greeting[i] ^= 0x5a // bytes that the server encrypts are new
		}
		says := map[string][2][]byte{
			"a ClientHello":             {other, nil},
			"a ServerHello":             {nil, greeting},
			"both":                      {other, greeting},
			"hellos the other way":      {greeting, other},
			"a header of PROXY":         {[]byte("PROXY TCP4 192.0.2.1 192.0.2.2 1 2\r\n"), nil},
			"half of one":               {[]byte("PROXY TCP4 192.0.2"), nil},
			"answers":                   {[]byte("STARTTLS\r\n"), []byte("220 Go ahead\r\n")},
			"text, much of it":          {bytes.Repeat([]byte("x"), 1400), bytes.Repeat([]byte("y"), 1400)},
			"two bytes as of a hello":   {{22, 3}, {22, 3}},
			"ends (flags without data)": {{}, {}},
		}
		for what, text := range says {
			for at := 3; at <= flight; at++ {
				var all []capture.Frame
				all = append(all, frames[:at]...)
				for side, p := range text {
					if p == nil {
						continue
					}
					sender := side ^ int(segs[hello].Side)
					all = append(all, forgeBehind(segs[:at], frames[at-1].Time, uint8(sender), p))
				}
				all = append(all, frames[at:]...)
				got, stats := runFrames(all, log, Options{})
				if len(got.streams) != 1 || !bytes.Equal(got.streams[0].bytes(0), question) ||
					!bytes.Equal(got.streams[0].bytes(1), question) {
					t.Errorf("%s, %s before frame %d (%d is the hello): %d streams; %+v",
						name, what, at, hello, len(got.streams), stats)
				}
			}
		}
	}
}

// forgeBehind makes a segment at the current place of a side: with data, or without data a FIN and a RST.
func forgeBehind(segs []packet.Segment, at int64, side uint8, data []byte) capture.Frame {
	var next [2]uint32
	for i := range segs {
		s := &segs[i]
		end := s.Seq + uint32(len(s.Payload))
		if s.Flags&packet.SYN != 0 {
			end++
		}
		next[s.Side] = end
	}
	like := &segs[0]
	var t packet.Template
	link := [12]byte{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}
	from, to := like.Tuple.Port[side], like.Tuple.Port[1-side]
	t.Init(&link, 0, like.IPv6, &like.Tuple.Addr[side], &like.Tuple.Addr[1-side], from, to)
	flags := uint8(packet.ACK | packet.PSH)
	if len(data) == 0 {
		flags = packet.FIN | packet.ACK
	}
	b := make([]byte, t.Size()+len(data))
	t.Build(b, next[side], next[1-side], flags, 7, data, true)
	return capture.Frame{Time: at, Data: b, Link: packet.LinkEthernet}
}
