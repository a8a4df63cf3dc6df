package attack

import (
	"bytes"
	"encoding/binary"
	"runtime"
	"testing"

	"github.com/sealane/sealane/gateway/internal/capture"
	"github.com/sealane/sealane/gateway/internal/engine"
	"github.com/sealane/sealane/gateway/internal/keys"
	"github.com/sealane/sealane/gateway/internal/packet"
)

// crowd sends as many different clients.
type crowd struct {
	w    *engine.Worker
	to   packet.Template
	at   int64
	some []capture.Frame
}

func (c *crowd) send(client int, flags uint8, seq uint32, p []byte) {
	src := [16]byte{10: 255, 11: 255, 12: 172, 13: byte(client >> 16), 14: byte(client >> 8), 15: byte(client)}
	dst := [16]byte{10: 255, 11: 255, 12: 10, 13: 1, 14: 1, 15: 2}
	link := [12]byte{1}
	c.to.Init(&link, 0, false, &src, &dst, 1000, 443)
	b := make([]byte, c.to.Size()+len(p))
	c.to.Build(b, seq, 1, flags, 0, p, true)
	c.some = append(c.some, capture.Frame{Time: c.at, Data: b, Link: packet.LinkEthernet})
	if len(c.some) == 32 {
		c.flush()
	}
}

func (c *crowd) flush() {
	c.w.Frames(c.some)
	c.some = c.some[:0]
}

// Whatever others send, memory stays below what is allowed, and a connection that needs little loses nothing: neither its place nor
// what it holds.
func TestBudget(t *testing.T) {
	opens, flows, memory := 100_000, 1<<12, 32<<20
	if *long > 0 {
		opens, flows, memory = 1_000_000, 1<<16, 256<<20
	}
	var m runtime.MemStats
	heap := func() int {
		runtime.GC()
		runtime.ReadMemStats(&m)
		return int(m.HeapAlloc)
	}
	hello := append([]byte{22, 3, 1, 0x40, 0, 1, 0, 0x7f, 0, 3, 3}, make([]byte, 1400)...)
	rubbish := bytes.Repeat([]byte{23, 3, 3, 0, 30}, 280)
	for name, attack := range map[string]func(c *crowd){
		"half-open connections": func(c *crowd) {
			for i := range opens {
				c.send(i, packet.SYN, uint32(i), nil)
			}
		},
		"connections with a byte": func(c *crowd) {
			for i := range opens {
				c.send(i, packet.ACK|packet.SYN, uint32(i), nil)
				c.send(i, packet.ACK, uint32(i), []byte{'x'})
			}
		},
		"endless handshakes": func(c *crowd) {
			for i := range flows * 3 / 2 {
				for n := range uint32(12) {
					p := hello
					if n > 0 {
						p = rubbish
					}
					c.send(i, packet.ACK, uint32(i)+n*1411, p)
				}
			}
		},
		"segments with holes between them": func(c *crowd) {
			for i := range flows {
				c.send(i, packet.ACK, uint32(i), hello[:700])
				for n := range uint32(20) {
					c.send(i, packet.ACK, uint32(i)+4000+n*3000, rubbish)
				}
			}
		},
		"one connection with all it can": func(c *crowd) {
			c.send(1, packet.ACK, 1, hello[:700])
			for n := range uint32(2000) {
				for copies := range uint32(4) {
					p := bytes.Clone(rubbish)
					binary.BigEndian.PutUint32(p[100:], copies)
					c.send(1, packet.ACK, 4000+n*1300, p)
				}
			}
		},
		"34,000 bytes, each alone and out of order": func(c *crowd) {
			c.send(1, packet.ACK, 1, hello[:700])
			for n := range uint32(34000) {
				c.send(1, packet.ACK, 2000+(n*7919)%34000*2, []byte{byte(n)})
			}
		},
	} {
		for _, v := range []*victim{load(t, "s-aes256"), load(t, "s-12chacha")} {
			store, s := keys.NewStore(10), &sink{}
			before := heap()
			w := engine.NewWorker(store, s, engine.Options{Flows: flows, KeyWait: 5e9, HoleWait: 200e6, Memory: memory / 8})
			c := &crowd{w: w, at: v.frames[0].Time}
			// The neighbour is in the middle of it: reordered, and its keys are late.
			log := keys.Log{Store: store}
			n := len(v.frames) / 2
			var frames []capture.Frame
			for i := 0; i < n; i += 2 {
				if i+1 < n && v.segs[i].Side == v.segs[i+1].Side && len(v.segs[i].Payload) > 0 && len(v.segs[i+1].Payload) > 0 {
					frames = append(frames, v.frames[i+1], v.frames[i])
				} else {
					frames = append(frames, v.frames[i:min(i+2, n)]...)
				}
			}
			log.Write(v.keyLog)
			w.Frames(frames[:n-3])
			hole := v.frames[n:]
			w.Frames(hole[1:min(3, len(hole))])
			attack(c)
			c.flush()
			grown := heap() - before
			w.Frames(frames[n-3:])
			w.Frames(hole[:1])
			w.Frames(hole[min(3, len(hole)):])
			w.Close()
			if got := v.authentic(t, name, s); got != v.bytes {
				t.Errorf("%s: the neighbour %s has %d bytes of %d: %+v", name, v.name, got, v.bytes, w.Stats)
			}
			if grown > memory {
				t.Errorf("%s: %d MB of memory, %d are allowed: %+v", name, grown>>20, memory>>20, w.Stats)
			}
			t.Logf("%s: %d MB, %d reclaims, %d paid", name, grown>>20, w.Stats.Reclaims, w.Stats.Paid)
			runtime.KeepAlive(w)
		}
	}
}
