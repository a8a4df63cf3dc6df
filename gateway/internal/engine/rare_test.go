package engine

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/sealane/sealane/gateway/internal/capture"
	"github.com/sealane/sealane/gateway/internal/keys"
	"github.com/sealane/sealane/gateway/internal/output"
	"github.com/sealane/sealane/gateway/internal/traffic"
)

// heard keeps the plaintext of the only connection.
type heard [2][]byte

func (s *heard) Data(_ *output.Flow, side uint8, data []byte) { s[side] = append(s[side], data...) }
func (*heard) Gap(*output.Flow, uint8, int)                   {}
func (*heard) End(*output.Flow)                               {}
func (*heard) Flush()                                         {}

// Rare but allowed input costs nothing.
func TestRare(t *testing.T) {
	answer := bytes.Repeat([]byte("an answer "), 300)
	change := []byte{20, 3, 3, 0, 1, 1} // for middleboxes (RFC 8446, section 5)
	for name, c := range map[string]struct {
		log  string                                              // only those lines of the key log that have it
		says func(s *traffic.Session, c *traffic.Conn)           // instead of a handshake
		then func(s *traffic.Session, send func(b []byte))       // by the server, before an answer
		lost func(frames []capture.Frame, at int) (from, to int) // of the frames, of which some were sent from at on
	}{
		"nothing": {},
		"ChangeCipherSpec before each record of the server's handshake": {says: func(s *traffic.Session, c *traffic.Conn) {
			c.Open()
			c.Send(traffic.Client, s.ClientHello())
			b, out := s.ServerFlight(1000), []byte(nil)
			for len(b) > 0 {
				n := 5 + int(b[3])<<8 + int(b[4])
				if b[0] == 23 {
					out = append(out, change...)
				}
				out, b = append(out, b[:n]...), b[n:]
			}
			c.Send(traffic.Server, out)
			c.Send(traffic.Client, s.ClientFinished())
		}},
		"a long handshake without its keys": {log: "TRAFFIC_SECRET_0", says: func(s *traffic.Session, c *traffic.Conn) {
			c.Open()
			c.Send(traffic.Client, s.ClientHello())
			c.Send(traffic.Server, s.ServerFlight(1000))
			for range 120 {
				c.Send(traffic.Server, s.Handshake(traffic.Server, make([]byte, 64)))
			}
			c.Send(traffic.Client, s.ClientFinished())
		}},
		"2,000 records of 0-RTT data that the server refuses": {says: func(s *traffic.Session, c *traffic.Conn) {
			c.Open()
			s.Early = true
			c.Send(traffic.Client, s.ClientHello())
			early := append([]byte{23, 3, 3, 0, 40}, make([]byte, 40)...)
			c.Send(traffic.Client, bytes.Repeat(early, 2000))
			c.Send(traffic.Server, s.ServerFlight(1000))
			c.Send(traffic.Client, s.ClientFinished())
		}},
		"three KeyUpdates in one hole": {then: func(s *traffic.Session, send func(b []byte)) {
			for range 3 {
				send(s.KeyUpdate(traffic.Server))
				send(s.Data(traffic.Server, []byte("lost"), 100))
			}
		}, lost: func(frames []capture.Frame, at int) (int, int) { return at, len(frames) }},
	} {
		s := traffic.NewSession(traffic.AES128, rand.New(rand.NewPCG(6, 6)))
		log := s.KeyLog()
		if c.log != "" {
			var some []byte
			for _, line := range bytes.SplitAfter(log, []byte("\n")) {
				if bytes.Contains(line, []byte(c.log)) && !bytes.Contains(line, []byte("HANDSHAKE")) {
					some = append(some, line...)
				}
			}
			log = some
		}
		var frames []capture.Frame
		conn := traffic.NewConn(1, &frames)
		if c.says != nil {
			c.says(s, conn)
		} else {
			conn.Handshake(s, 1000)
		}
		conn.Send(traffic.Client, s.Data(traffic.Client, []byte("a question"), 1000))
		conn.Send(traffic.Server, s.Data(traffic.Server, []byte("first "), 1000))
		at := len(frames)
		if c.then != nil {
			c.then(s, func(b []byte) { conn.Send(traffic.Server, b) })
		}
		if c.lost != nil {
			from, to := c.lost(frames, at)
			frames = append(frames[:from], frames[to:]...)
		}
		conn.Send(traffic.Server, s.Data(traffic.Server, answer, 1000))
		conn.Close()
		store, got := keys.NewStore(10), &heard{}
		(&keys.Log{Store: store}).Write(log)
		w := NewWorker(store, got, Options{Flows: 10, KeyWait: 50e6})
		w.Frames(frames)
		w.Close()
		if want := "first " + string(answer); string(got[0]) != "a question" || string(got[1]) != want {
			t.Errorf("%s: %d and %d bytes of %d and %d came out: %+v", name, len(got[0]), len(got[1]), len("a question"), len(want), w.Stats.TLS)
		}
		if st := w.Stats.TLS; c.lost == nil && (st.LostBytes > 0 || st.BadRecords > 0) {
			t.Errorf("%s: loss is reported, and there is none: %+v", name, st)
		}
	}
}
