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

// Keys that come with addresses: before the connection, or in the middle of it; with the exact place or near it.
func TestGivenKeys(t *testing.T) {
	for name, c := range map[string]struct{ handshake, aligned, late bool }{
		"whole connection":             {handshake: true},
		"middle":                       {},
		"middle, exact":                {aligned: true},
		"keys after packets":           {late: true},
		"keys after packets and hello": {handshake: true, late: true},
	} {
		t.Run(name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(1, 2))
			var frames []capture.Frame
			s, conn := traffic.NewSession(traffic.ChaCha20, r), traffic.NewConn(5, &frames)
			conn.Handshake(s, 1000)
			if !c.handshake {
				conn.Send(traffic.Server, s.Data(traffic.Server, make([]byte, 5000), 1000))
			}
			given := tls.Given{Suite: traffic.ChaCha20, Aligned: c.aligned}
			given.Key, given.IV, given.Next = s.Keys(traffic.Server)
			before := len(frames)
			var want []byte
			for i := range 50 {
				data := bytes.Repeat([]byte{byte(i)}, 100+i*50)
				want = append(want, data...)
				conn.Send(traffic.Server, s.Data(traffic.Server, data, 1<<14))
			}
			conn.Close()
			var g packet.Segment
			packet.Parse(&g, packet.LinkEthernet, frames[before].Data)
			k := &Key{Source: g.Tuple.Endpoint(g.Side), Destination: g.Tuple.Endpoint(1 - g.Side), FromServer: true, Given: given, Sequence: g.Seq}
			table := NewKeys(10)
			got := &collector{}
			w := NewWorker(keys.NewStore(1), got, Options{Flows: 10, Keys: table})
			late := before
			if c.late {
				late += 5
			}
			if c.handshake {
				before = 0
			}
			if !c.late {
				late = before
			}
			w.Frames(frames[before:late])
			w.Tick(frames[late].Time + 2e6)
			if err := table.Put(k); err != nil {
				t.Fatal(err)
			}
			w.Tick(frames[late].Time + 4e6)
			w.Frames(frames[late:])
			w.Close()
			if len(got.streams) != 1 {
				t.Fatalf("%d streams, %+v", len(got.streams), w.Stats)
			}
			b := got.streams[0].bytes(1)
			if !bytes.HasSuffix(want, b) || !c.late && len(b) != len(want) || len(b) < len(want)/2 {
				t.Errorf("%d bytes of %d", len(b), len(want))
			}
			if state, n := k.State(); state != KeyEnded || n != given.Next+50 {
				t.Errorf("state %d, next record %d of %d", state, n, given.Next)
			}
			w.Tick(frames[late].Time + 20e9)
			if !bytes.Equal(given.Key, make([]byte, 32)) || len(table.All()) != 0 {
				t.Error("the key was not wiped")
			}
		})
	}
}
