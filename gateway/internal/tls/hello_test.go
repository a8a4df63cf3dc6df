package tls

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/sealane/sealane/gateway/internal/keys"
	"github.com/sealane/sealane/gateway/internal/traffic"
)

// FuzzMessages cuts a stream of handshake messages in different ways. The messages found must be the same.
func FuzzMessages(f *testing.F) {
	s := traffic.NewSession(traffic.AES128, rand.New(rand.NewPCG(1, 1)))
	f.Add(s.ClientHello()[5:], 7)
	f.Add(s.ServerFlight(100)[5:], 3)
	f.Add([]byte{20, 0, 0, 0, 24, 0, 0, 1, 0}, 1)
	f.Fuzz(func(t *testing.T, stream []byte, size int) {
		read := func(size int) (events []string, lost bool) {
			var m messages
			for b := stream; len(b) > 0 && !m.lost; {
				n := min(size, len(b))
				m.feed(b[:n], func(kind uint8, body []byte) {
					events = append(events, fmt.Sprintf("%d %x", kind, body))
					parseClientHello(body)
					parseServerHello(body)
					acceptsEarlyData(body)
				})
				b = b[n:]
			}
			return events, m.lost
		}
		a, lostA := read(max(1, len(stream)))
		b, lostB := read(1 + max(0, size)%64)
		if fmt.Sprint(a) != fmt.Sprint(b) || lostA != lostB {
			t.Errorf("whole: %v %v\nin pieces: %v %v", a, lostA, b, lostB)
		}
	})
}

// FuzzStreams feeds arbitrary bytes to both directions after a handshake with real keys. Only sealed data may come out.
func FuzzStreams(f *testing.F) {
	f.Add([]byte{23, 3, 3, 0, 40, 1, 2, 3}, uint8(0), uint16(10))
	f.Add(bytes.Repeat([]byte{22, 3, 3, 0, 1, 24}, 50), uint8(3), uint16(0))
	f.Add([]byte{20, 3, 3, 0, 1, 1, 21, 3, 3, 0, 2, 1, 0}, uint8(2), uint16(700))
	f.Fuzz(func(t *testing.T, junk []byte, how uint8, at uint16) {
		s := traffic.NewSession([]uint16{traffic.AES128, traffic.AES256, traffic.ChaCha20}[how%3], rand.New(rand.NewPCG(uint64(how), 1)))
		store := keys.NewStore(10)
		if how&4 == 0 {
			(&keys.Log{Store: store}).Write(s.KeyLog())
		}
		d := NewDecrypter(store)
		d.Wait, d.Batch = how&8 != 0, how&16 != 0
		want := bytes.Repeat([]byte("sealed "), 100)
		d.Plaintext = func(_ *Conn, _ uint8, data []byte) {
			if !bytes.Contains(want, data) {
				t.Errorf("%d bytes that were not sealed", len(data))
			}
		}
		d.Lost = func(*Conn, uint8, int) {}
		var c Conn
		var lines [2]Line
		c.Attach(Client, &lines[Client])
		c.Attach(Server, &lines[Server])
		feed := func(c *Conn, side uint8, p []byte) {
			if !d.Take(&lines[side], c, p) {
				d.Feed(c, side, p)
			}
		}
		streams := [2][]byte{s.ClientHello(), s.ServerFlight(300)}
		streams[0] = append(append(streams[0], s.ClientFinished()...), s.Data(traffic.Client, want, 60)...)
		streams[1] = append(streams[1], s.Data(traffic.Server, want, 90)...)
		side := how >> 5 & 1
		b := streams[side]
		i := int(at) % (len(b) + 1)
		if how&128 != 0 { // overwrites
			copy(b[i:], junk)
		} else {
			streams[side] = append(append(append([]byte(nil), b[:i]...), junk...), b[i:]...)
		}
		hello := len(s.ClientHello())
		feed(&c, Client, streams[0][:min(hello, len(streams[0]))])
		feed(&c, Server, streams[1])
		feed(&c, Client, streams[0][min(hello, len(streams[0])):])
		if how&64 != 0 {
			d.Lose(&c, side, int(at))
			feed(&c, side, s.Data(int(side), want, 50))
		}
		d.Expire(&c)
		d.FlushAll()
		d.Close(&c)
		if d.held != 0 || d.partial != 0 {
			t.Errorf("%d bytes held, %d of partial records", d.held, d.partial)
		}
	})
}
