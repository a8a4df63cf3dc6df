package engine

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/sealane/sealane/gateway/internal/capture"
	"github.com/sealane/sealane/gateway/internal/keys"
	"github.com/sealane/sealane/gateway/internal/packet"
	"github.com/sealane/sealane/gateway/internal/tls"
	"github.com/sealane/sealane/gateway/internal/traffic"
)

// A midway is a connection whose keys arrive in the middle of it, with its addresses. Its first record is incomplete.
type midway struct {
	want  []byte // data of its server
	segs  []packet.Segment
	given tls.Given
}

const midwayRecord = 1 << 14

func newMidway(suite uint16, records int) *midway {
	r := rand.New(rand.NewPCG(3, 4))
	var frames []capture.Frame
	s, conn := traffic.NewSession(suite, r), traffic.NewConn(5, &frames)
	conn.Handshake(s, 1000)
	m := &midway{given: tls.Given{Suite: suite}}
	m.given.Key, m.given.IV, m.given.Next = s.Keys(traffic.Server)
	begin := len(frames)
	for range records {
		data := make([]byte, midwayRecord)
		for i := range data {
			data[i] = byte(r.Uint32())
		}
		m.want = append(m.want, data...)
		conn.Send(traffic.Server, s.Data(traffic.Server, data, midwayRecord))
	}
	for _, f := range frames[begin:] {
		var g packet.Segment
		if packet.Parse(&g, packet.LinkEthernet, f.Data) == packet.TCP && len(g.Payload) > 0 {
			m.segs = append(m.segs, g)
		}
	}
	m.segs = m.segs[2:]
	return m
}

// read sends the segments that each returns for a segment, in their order, a millisecond apart.
func (m *midway) read(t *testing.T, each func(i int, s packet.Segment) []packet.Segment) (lost int, w *Worker) {
	t.Helper()
	g := &m.segs[0]
	table, got := NewKeys(10), &collector{}
	given := m.given
	given.Key, given.IV = bytes.Clone(given.Key), bytes.Clone(given.IV)
	if err := table.Put(&Key{Source: g.Tuple.Endpoint(g.Side), Destination: g.Tuple.Endpoint(1 - g.Side), FromServer: true, Given: given}); err != nil {
		t.Fatal(err)
	}
	w = NewWorker(keys.NewStore(1), got, Options{Flows: 10, Keys: table, KeyWait: 50e6, HoleWait: 200e6})
	at := int64(1700000000e9)
	w.Tick(at)
	at += 2e6
	w.Tick(at)
	for i, s := range m.segs {
		for _, x := range each(i, s) {
			f := frameOf(&x, at)
			w.Frames([]capture.Frame{f})
		}
		at += 1e6
	}
	for range 2000 { // silence without an end
		at += 10e6
		w.Tick(at)
	}
	b := []byte(nil)
	if len(got.streams) == 1 {
		b = got.streams[0].bytes(1)
	}
	// Records come out whole, and in order.
	n := 0
	for rest := m.want; len(b) >= midwayRecord && len(rest) > 0; rest = rest[midwayRecord:] {
		if bytes.Equal(b[:midwayRecord], rest[:midwayRecord]) {
			n, b = n+1, b[midwayRecord:]
		}
	}
	if len(b) > 0 {
		t.Errorf("%d bytes came out that were not sent", len(b))
	}
	return len(m.want)/midwayRecord - n, w
}

func other(s packet.Segment, b byte) packet.Segment {
	s.Payload = bytes.Clone(s.Payload)
	for i := range s.Payload {
		s.Payload[i] ^= b
	}
	return s
}

// Forged copies of segments come before or after the real ones while the first record is searched for. At most one
// record is lost, besides the incomplete first one.
func TestGivenSearchCopies(t *testing.T) {
	headers := func(s packet.Segment, length byte) packet.Segment {
		s.Payload = bytes.Repeat(append([]byte{23, 3, 3, 0, length}, make([]byte, length)...), len(s.Payload)/(5+int(length))+1)[:len(s.Payload)]
		return s
	}
	for name, each := range map[string]func(i int, s packet.Segment) []packet.Segment{
		"nothing":     func(i int, s packet.Segment) []packet.Segment { return []packet.Segment{s} },
		"before each": func(i int, s packet.Segment) []packet.Segment { return []packet.Segment{other(s, 0xa5), s} },
		"after each":  func(i int, s packet.Segment) []packet.Segment { return []packet.Segment{s, other(s, 0xa5)} },
		"two before each": func(i int, s packet.Segment) []packet.Segment {
			return []packet.Segment{other(s, 0xa5), other(s, 0x5a), s}
		},
		"before one in a dozen": func(i int, s packet.Segment) []packet.Segment {
			if i%12 == 5 {
				return []packet.Segment{other(s, 0xa5), s}
			}
			return []packet.Segment{s}
		},
		"before one, after another": func(i int, s packet.Segment) []packet.Segment {
			switch i % 12 {
			case 5:
				return []packet.Segment{other(s, 0xa5), s}
			case 8:
				return []packet.Segment{s, other(s, 0xa5)}
			}
			return []packet.Segment{s}
		},
		"one ahead, each time": func(i int, s packet.Segment) []packet.Segment {
			x := other(s, 0xa5)
			x.Seq += 20000
			return []packet.Segment{x, s}
		},
		"headers before each of the first": func(i int, s packet.Segment) []packet.Segment {
			if i < 100 {
				return []packet.Segment{headers(s, 17), s}
			}
			return []packet.Segment{s}
		},
		"headers before each": func(i int, s packet.Segment) []packet.Segment { return []packet.Segment{headers(s, 60), s} },
	} {
		for _, suite := range []uint16{traffic.AES128, traffic.ChaCha20} {
			m := newMidway(suite, 30)
			if lost, w := m.read(t, each); lost > 2 {
				t.Errorf("%s, suite %x: %d of %d records lost: %+v %+v", name, suite, lost, len(m.want)/midwayRecord, w.Stats.Stats, w.Snapshot().TLS)
			}
		}
	}
}

// 40 KiB of segments are really lost. The second half of the hole has more candidates for records than the work limit
// allows. Reading continues after it, without waiting for the end of the connection.
func TestGivenSearchHole(t *testing.T) {
	for _, suite := range []uint16{traffic.AES128, traffic.ChaCha20} {
		m := newMidway(suite, 30)
		r := rand.New(rand.NewPCG(5, 6))
		lost, w := m.read(t, func(i int, s packet.Segment) []packet.Segment {
			if i < 3 || i >= 31 {
				return []packet.Segment{s}
			}
			if i < 17 {
				return nil
			}
			x := s
			x.Payload = nil
			for len(x.Payload) < len(s.Payload)-40 {
				n := 30 + r.IntN(20)
				b := make([]byte, n)
				for k := range b {
					b[k] = byte(r.Uint32())
				}
				x.Payload = append(append(x.Payload, 23, 3, 3, 0, byte(n)), b...)
			}
			return []packet.Segment{x}
		})
		if lost > 5 {
			t.Errorf("suite %x: %d of %d records lost: %+v %+v", suite, lost, len(m.want)/midwayRecord, w.Stats.Stats, w.Snapshot().TLS)
		}
	}
}
