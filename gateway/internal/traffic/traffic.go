// Package traffic generates TLS 1.3 connections for tests and benchmarks: packets as in a capture, and their key log.
//
// The handshakes have no real content (such as certificates), but records, keys and epochs follow RFC 8446. The key
// derivation is that of the standard library, not the gateway's.
package traffic

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/binary"
	"fmt"
	"hash"
	"math/rand/v2"
	"net/netip"

	sealaneaes "github.com/sealane/sealane/aes"
	"github.com/sealane/sealane/chacha20poly1305"

	"github.com/sealane/sealane/gateway/internal/capture"
	"github.com/sealane/sealane/gateway/internal/packet"
)

// Cipher suites.
const (
	AES128   = 0x1301
	AES256   = 0x1302
	ChaCha20 = 0x1303
	CCM      = 0x1304
	CCM8     = 0x1305
)

// Sides.
const (
	Client = 0
	Server = 1
)

var be = binary.BigEndian

type keys struct {
	secret []byte
	aead   cipher.AEAD
	iv     []byte
	seq    uint64
}

// A Session is the TLS state of one connection.
type Session struct {
	Name  string // server name in the ClientHello
	Early bool   // it offers 0-RTT data

	suite     uint16
	random    [32]byte
	handshake [2]keys
	traffic   [2]keys
}

func (s *Session) hash() func() hash.Hash {
	if s.suite == AES256 {
		return sha512.New384
	}
	return sha256.New
}

func (s *Session) expand(secret []byte, label string, n int) []byte {
	info := append(be.AppendUint16(nil, uint16(n)), byte(6+len(label)))
	info = append(append(info, "tls13 "+label...), 0)
	out, err := hkdf.Expand(s.hash(), secret, string(info), n)
	if err != nil {
		panic(err)
	}
	return out
}

func (s *Session) keys(secret []byte) keys {
	k := keys{secret: secret, iv: s.expand(secret, "iv", 12)}
	var err error
	switch s.suite {
	case ChaCha20:
		k.aead, err = chacha20poly1305.New(s.expand(secret, "key", 32))
	case CCM, CCM8:
		block, e := sealaneaes.New(s.expand(secret, "key", 16))
		if e != nil {
			panic(e)
		}
		k.aead, err = block.NewCCM(12, s.tag())
	default:
		size := 16
		if s.suite == AES256 {
			size = 32
		}
		block, e := aes.NewCipher(s.expand(secret, "key", size))
		if e != nil {
			panic(e)
		}
		k.aead, err = cipher.NewGCM(block)
	}
	if err != nil {
		panic(err)
	}
	return k
}

func (s *Session) tag() int {
	if s.suite == CCM8 {
		return 8
	}
	return 16
}

// NewSession returns a session with its own secrets.
func NewSession(suite uint16, r *rand.Rand) *Session {
	s := &Session{suite: suite}
	fill := func(b []byte) []byte {
		for i := range b {
			b[i] = byte(r.Uint32())
		}
		return b
	}
	fill(s.random[:])
	for side := range 2 {
		size := s.hash()().Size()
		s.handshake[side] = s.keys(fill(make([]byte, size)))
		s.traffic[side] = s.keys(fill(make([]byte, size)))
	}
	return s
}

// KeyLog returns the key log lines of the session.
func (s *Session) KeyLog() []byte {
	var b []byte
	for side, name := range []string{"CLIENT", "SERVER"} {
		b = fmt.Appendf(b, "%s_HANDSHAKE_TRAFFIC_SECRET %x %x\n", name, s.random, s.handshake[side].secret)
		b = fmt.Appendf(b, "%s_TRAFFIC_SECRET_0 %x %x\n", name, s.random, s.traffic[side].secret)
	}
	return b
}

// Keys returns key, IV and the number of the next record of a direction.
func (s *Session) Keys(side int) (key, iv []byte, next uint64) {
	size := 32
	switch s.suite {
	case AES128, CCM, CCM8:
		size = 16
	}
	k := &s.traffic[side]
	return s.expand(k.secret, "key", size), k.iv, k.seq
}

// Secret returns the traffic secret of a direction.
func (s *Session) Secret(side int) []byte { return append([]byte(nil), s.traffic[side].secret...) }

func record(kind byte, body []byte) []byte {
	return append(be.AppendUint16([]byte{kind, 3, 3}, uint16(len(body))), body...)
}

func message(kind byte, body []byte) []byte {
	return append(be.AppendUint32(nil, uint32(kind)<<24|uint32(len(body))), body...)
}

func (k *keys) seal(kind byte, text []byte, pad int) []byte {
	inner := append(append([]byte(nil), text...), kind)
	inner = append(inner, make([]byte, pad)...)
	header := be.AppendUint16([]byte{23, 3, 3}, uint16(len(inner)+k.aead.Overhead()))
	nonce := append([]byte(nil), k.iv...)
	be.PutUint64(nonce[4:], be.Uint64(nonce[4:])^k.seq)
	k.seq++
	return k.aead.Seal(header, nonce, inner, header)
}

// ClientHello returns the first flight.
func (s *Session) ClientHello() []byte {
	body := append([]byte{3, 3}, s.random[:]...)
	body = append(body, 32)
	body = append(body, make([]byte, 32)...)
	body = append(body, 0, 2, byte(s.suite>>8), byte(s.suite), 1, 0)
	ext := []byte{0, 43, 0, 3, 2, 3, 4, 0, 51, 0, 200}
	ext = append(ext, make([]byte, 200)...)
	if s.Early {
		ext = append(ext, 0, 42, 0, 0)
	}
	if n := len(s.Name); n > 0 {
		ext = append(ext, 0, 0, 0, byte(n+5), 0, byte(n+3), 0, 0, byte(n))
		ext = append(ext, s.Name...)
	}
	body = append(be.AppendUint16(body, uint16(len(ext))), ext...)
	return record(22, message(1, body))
}

// ServerHello returns the server's first record.
func (s *Session) ServerHello() []byte {
	body := append([]byte{3, 3}, make([]byte, 32)...)
	body = append(body, 32)
	body = append(body, make([]byte, 32)...)
	body = append(body, byte(s.suite>>8), byte(s.suite), 0, 0, 6, 0, 43, 0, 2, 3, 4)
	return record(22, message(2, body))
}

// ServerFlight returns ServerHello to Finished, with a certificate of some size.
func (s *Session) ServerFlight(certificate int) []byte {
	b := append(s.ServerHello(), record(20, []byte{1})...)
	k := &s.handshake[Server]
	b = append(b, k.seal(22, message(8, []byte{0, 0}), 0)...)
	b = append(b, k.seal(22, message(11, make([]byte, certificate)), 0)...)
	b = append(b, k.seal(22, message(15, make([]byte, 260)), 0)...)
	return append(b, k.seal(22, message(20, make([]byte, s.hash()().Size())), 0)...)
}

// ClientFinished returns the client's last flight.
func (s *Session) ClientFinished() []byte {
	return append(record(20, []byte{1}), s.handshake[Client].seal(22, message(20, make([]byte, s.hash()().Size())), 0)...)
}

// Tickets returns two session tickets.
func (s *Session) Tickets() []byte {
	b := s.traffic[Server].seal(22, message(4, make([]byte, 220)), 0)
	return append(b, s.traffic[Server].seal(22, message(4, make([]byte, 220)), 0)...)
}

// Data returns application data in records of some size.
func (s *Session) Data(side int, data []byte, size int) []byte {
	b := make([]byte, 0, len(data)+(len(data)/size+1)*22)
	for len(data) > 0 {
		n := min(size, len(data))
		b = append(b, s.traffic[side].seal(23, data[:n], 0)...)
		data = data[n:]
	}
	return b
}

// Seal returns a record of any type, with the given padding.
func (s *Session) Seal(side int, kind byte, text []byte, pad int) []byte {
	return s.traffic[side].seal(kind, text, pad)
}

// Handshake returns a handshake record, for use after the flights.
func (s *Session) Handshake(side int, body []byte) []byte {
	return s.handshake[side].seal(22, body, 0)
}

// CloseNotify returns the alert that ends a direction.
func (s *Session) CloseNotify(side int) []byte { return s.traffic[side].seal(21, []byte{1, 0}, 0) }

// KeyUpdate returns the message, and updates the keys.
func (s *Session) KeyUpdate(side int) []byte {
	k := &s.traffic[side]
	b := k.seal(22, message(24, []byte{0}), 0)
	*k = s.keys(s.expand(k.secret, "traffic upd", s.hash()().Size()))
	return b
}

// A Conn sends bytes in packets.
type Conn struct {
	Time int64 // of the next packet; increases by Step
	Step int64
	MSS  int

	ends [2]netip.AddrPort
	to   [2]packet.Template
	seq  [2]uint32
	id   uint16
	out  *[]capture.Frame
}

// NewConn returns connection number i for some addresses, whose packets are appended to out.
func NewConn(i int, out *[]capture.Frame) *Conn {
	c := &Conn{Time: 1700000000e9, Step: 1000, MSS: 1460, out: out}
	c.ends[0] = netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, byte(i >> 20), byte(i >> 12), byte(i >> 4)}), uint16(1024+i%50000))
	c.ends[1] = netip.AddrPortFrom(netip.AddrFrom4([4]byte{192, 168, 0, byte(1 + i%4)}), 443)
	c.seq = [2]uint32{uint32(i) * 7919, uint32(i) * 104729}
	link := [12]byte{2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2}
	for side := range 2 {
		a, b := c.ends[side].Addr().As16(), c.ends[1-side].Addr().As16()
		c.to[side].Init(&link, 0, false, &a, &b, c.ends[side].Port(), c.ends[1-side].Port())
	}
	return c
}

// Ends returns the addresses of client and server.
func (c *Conn) Ends() [2]netip.AddrPort { return c.ends }

func (c *Conn) packet(side int, flags uint8, p []byte) {
	b := make([]byte, c.to[side].Size()+len(p))
	c.id++
	c.to[side].Build(b, c.seq[side], c.seq[1-side], flags, c.id, p, true)
	*c.out = append(*c.out, capture.Frame{Time: c.Time, Data: b, Link: packet.LinkEthernet})
	c.Time += c.Step
}

// Open performs the TCP handshake.
func (c *Conn) Open() {
	c.packet(Client, packet.SYN, nil)
	c.seq[Client]++
	c.packet(Server, packet.SYN|packet.ACK, nil)
	c.seq[Server]++
	c.packet(Client, packet.ACK, nil)
}

// Send sends bytes in segments; every second one is acknowledged.
func (c *Conn) Send(side int, p []byte) {
	for i := 0; len(p) > 0; i++ {
		n := min(len(p), c.MSS)
		c.packet(side, packet.ACK|packet.PSH, p[:n])
		c.seq[side] += uint32(n)
		p = p[n:]
		if i%2 == 1 || len(p) == 0 {
			c.packet(1-side, packet.ACK, nil)
		}
	}
}

// Close ends both directions.
func (c *Conn) Close() {
	c.packet(Client, packet.FIN|packet.ACK, nil)
	c.seq[Client]++
	c.packet(Server, packet.FIN|packet.ACK, nil)
	c.seq[Server]++
	c.packet(Client, packet.ACK, nil)
}

// Handshake performs the TCP and TLS handshakes.
func (c *Conn) Handshake(s *Session, certificate int) {
	c.Open()
	c.Send(Client, s.ClientHello())
	c.Send(Server, s.ServerFlight(certificate))
	c.Send(Client, s.ClientFinished())
}

// Pcap returns frames as a capture.
func Pcap(frames []capture.Frame) []byte {
	le := binary.LittleEndian
	b := make([]byte, 24, 1<<20)
	le.PutUint32(b, 0xa1b23c4d)
	le.PutUint16(b[4:], 2)
	le.PutUint16(b[6:], 4)
	le.PutUint32(b[16:], 1<<18)
	le.PutUint32(b[20:], 1)
	for _, f := range frames {
		b = le.AppendUint32(b, uint32(f.Time/1e9))
		b = le.AppendUint32(b, uint32(f.Time%1e9))
		b = le.AppendUint32(b, uint32(len(f.Data)))
		b = le.AppendUint32(b, uint32(len(f.Data)))
		b = append(b, f.Data...)
	}
	return b
}

// Rewrite converts a frame of another connection to one of c, at the same stream position.
func (c *Conn) Rewrite(f capture.Frame) capture.Frame {
	var s packet.Segment
	if packet.Parse(&s, f.Link, f.Data) != packet.TCP {
		panic("not TCP")
	}
	side := Server
	if s.Tuple.Port[1-s.Side] == 443 {
		side = Client
	}
	if s.Flags&packet.SYN != 0 && side == Client {
		c.seq = [2]uint32{}
	}
	b := make([]byte, c.to[side].Size()+len(s.Payload))
	c.to[side].Build(b, s.Seq, s.Ack, s.Flags, 0, s.Payload, true)
	if end := s.Seq + uint32(len(s.Payload)); end > c.seq[side] {
		c.seq[side] = end
	}
	return capture.Frame{Time: f.Time, Data: b, Link: f.Link}
}

// Next returns the next segment of c, in the memory of old. It has no checksums.
func (c *Conn) Next(old capture.Frame, side int, p []byte) capture.Frame {
	n := c.to[side].Size() + len(p)
	b := old.Data
	if cap(b) < n {
		b = make([]byte, n)
	}
	b = b[:n]
	c.to[side].Build(b, c.seq[side], c.seq[1-side], packet.ACK, 0, p, false)
	c.seq[side] += uint32(len(p))
	return capture.Frame{Time: c.Time, Data: b, Link: packet.LinkEthernet}
}
