package doctor

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/sealane/sealane/gateway/internal/capture"
	"github.com/sealane/sealane/gateway/internal/engine"
	"github.com/sealane/sealane/gateway/internal/keys"
	"github.com/sealane/sealane/gateway/internal/output"
	"github.com/sealane/sealane/gateway/internal/packet"
	"github.com/sealane/sealane/gateway/internal/tls"
	"github.com/sealane/sealane/gateway/internal/traffic"
)

// received counts bytes of plaintext by side.
type received [2]int

func (r *received) Data(_ *output.Flow, side uint8, data []byte) { r[side] += len(data) }
func (r *received) Gap(*output.Flow, uint8, int)                 {}
func (r *received) End(*output.Flow)                             {}
func (r *received) Flush()                                       {}

// The abilities of a one-direction tap, as docs/gateway-keys.md states them, are compared with the engine.
func TestOneDirection(t *testing.T) {
	const request, answer = 100, 5000
	var frames []capture.Frame
	s := traffic.NewSession(traffic.AES128, rand.New(rand.NewPCG(1, 7)))
	c := traffic.NewConn(1, &frames)
	c.Handshake(s, 1000)
	given := tls.Given{Suite: traffic.AES128}
	given.Key, given.IV, given.Next = s.Keys(traffic.Server)
	c.Send(traffic.Client, s.Data(traffic.Client, bytes.Repeat([]byte("a"), request), 1000))
	before := len(frames)
	c.Send(traffic.Server, s.Data(traffic.Server, bytes.Repeat([]byte("b"), answer), 1000))
	var first packet.Segment
	packet.Parse(&first, packet.LinkEthernet, frames[before].Data)
	client := first.Tuple.Endpoint(1 - first.Side)
	c.Close()
	up, down := keep(frames, from(client.Port())), keep(frames, from(443))

	for _, row := range []struct {
		name       string
		frames     []capture.Frame
		log, api   bool
		oneNetwork bool
		want       received
	}{
		{"both, key log", frames, true, false, false, received{request, answer}},
		{"client to server, key log", up, true, false, false, received{}},
		{"server to client, key log", down, true, false, false, received{}},
		{"server to client, keys by address", down, false, true, false, received{0, answer}},
		{"one direction tagged", slices.Concat(up[:2], tagged(down), up[2:]), true, false, false, received{}},
		{"one direction tagged, --one-network", slices.Concat(up[:2], tagged(down), up[2:]), true, false, true, received{request, answer}},
	} {
		store := keys.NewStore(10)
		if row.log {
			log := keys.Log{Store: store}
			log.Write(s.KeyLog())
		}
		o := engine.Options{Flows: 16, OneNetwork: row.oneNetwork}
		if row.api {
			o.Keys = engine.NewKeys(10)
			g := given
			g.Key, g.IV = bytes.Clone(g.Key), bytes.Clone(g.IV)
			if err := o.Keys.Put(&engine.Key{Source: first.Tuple.Endpoint(first.Side), Destination: client, FromServer: true, Given: g, Sequence: first.Seq}); err != nil {
				t.Fatal(err)
			}
		}
		got := new(received)
		w := engine.NewWorker(store, got, o)
		w.Tick(row.frames[0].Time)
		w.Frames(row.frames)
		w.Close()
		if *got != row.want {
			t.Errorf("%s: %v bytes, want %v", row.name, *got, row.want)
		}
	}
}
