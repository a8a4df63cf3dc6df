package attack

import (
	"bytes"
	"encoding/binary"
	"runtime"
	"slices"
	"testing"

	"github.com/sealane/sealane/gateway/internal/capture"
	"github.com/sealane/sealane/gateway/internal/engine"
	"github.com/sealane/sealane/gateway/internal/keys"
	"github.com/sealane/sealane/gateway/internal/packet"
)

// crowd sends that many different clients.
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

// Whatever other connections send, memory stays below its limit. A connection with little data keeps its place and
// its held data.
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
			// The neighbor is in the middle of it: reordered, and its keys are late.
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
				t.Errorf("%s: the neighbor %s has %d bytes of %d: %+v", name, v.name, got, v.bytes, w.Stats)
			}
			if grown > memory {
				t.Errorf("%s: %d MB of memory, %d are allowed: %+v", name, grown>>20, memory>>20, w.Stats)
			}
			t.Logf("%s: %d MB, %d reclaims, %d paid", name, grown>>20, w.Stats.Reclaims, w.Stats.Paid)
			runtime.KeepAlive(w)
		}
	}
}

// elsewhere returns the connection with other addresses.
func (v *victim) elsewhere(n byte) *victim {
	x := *v
	x.segs, x.frames = slices.Clone(v.segs), nil
	for i := range x.segs {
		x.segs[i].Tuple.Addr[v.client][15] ^= n
	}
	for i := range x.segs {
		x.frames = append(x.frames, x.forge(v.frames[i].Time, like(&x.segs[i])))
	}
	x.id = x.segs[0].Tuple.Endpoint(v.client).String() + " " + x.segs[0].Tuple.Endpoint(1-v.client).String()
	return &x
}

// An attacker sends 34,000 segments of one byte, out of order, on a connection that is read, on one that is never
// read, and on one without keys. A neighbor whose segments are out of order as well is read completely. So is the
// attacked connection, if it has keys. Memory stays below its budget, and the work does not grow with the held
// segments.
func TestSingleBytes(t *testing.T) {
	const segments, budget = 34000, 1 << 20
	neighbour := load(t, "s-aes256")
	other := load(t, "s-aes128")
	type outcome struct {
		got   *sink
		stats engine.Stats
		most  int // bytes of memory
	}
	// try sends these segments, spread over the neighbor's stream, on another connection at its frame at.
	try := func(on *victim, keyLog []byte, at, segments int) outcome {
		store, s := keys.NewStore(100), &sink{}
		log := keys.Log{Store: store}
		log.Write(neighbour.keyLog)
		log.Write(keyLog)
		w := engine.NewWorker(store, s, engine.Options{Flows: 64, KeyWait: 50e6, HoleWait: 200e6, Memory: budget})
		w.Frames(on.frames[:at])
		var m runtime.MemStats
		heap := func() int {
			runtime.GC()
			runtime.ReadMemStats(&m)
			return int(m.HeapAlloc)
		}
		before, most := heap(), 0
		seq := on.isn(1 - on.client)
		for i := range on.segs[:at] {
			if s := &on.segs[i]; s.Side != on.client {
				seq = s.Seq + uint32(len(s.Payload))
			}
		}
		n := len(neighbour.frames)
		single := uint32(0)
		for i := range neighbour.frames {
			k := i
			// Every two of a side change places, except those that begin and end the connection.
			if j := i ^ 1; i > 7 && max(i, j) < n-4 && neighbour.segs[i].Side == neighbour.segs[j].Side {
				k = j
			}
			f := neighbour.frames[k]
			f.Time = neighbour.frames[0].Time + int64(i)*1e6
			w.Frames([]capture.Frame{f})
			for int(single) < segments*(i+1)/n {
				x := forgery{side: 1 - on.client, seq: seq + 3000 + single*7919%uint32(segments)*2, ack: on.segs[at-1].Ack, flags: packet.ACK, data: []byte{byte(single)}}
				w.Frames([]capture.Frame{on.forge(f.Time, x)})
				if single++; single%4000 == 0 {
					most = max(most, heap()-before)
				}
			}
		}
		w.Frames(on.frames[at:])
		w.Close()
		return outcome{s, w.Stats, most}
	}
	for name, c := range map[string]struct {
		at    int
		known bool // its keys are
	}{
		"read":                {other.server[len(other.server)/2], true},
		"before the hellos":   {4, true},
		"between the hellos":  {other.server[0], true},
		"without keys":        {other.server[len(other.server)/2], false},
		"without keys, hello": {other.server[0], false},
	} {
		on := other.elsewhere(64)
		var keyLog []byte
		if c.known {
			keyLog = on.keyLog
		}
		alone, x := try(on, keyLog, c.at, 0), try(on, keyLog, c.at, segments)
		for id, want := range map[string]*victim{neighbour.id: neighbour, on.id: on} {
			p := x.got.plain[id]
			if want == on && !c.known {
				if p != nil {
					t.Errorf("%s: something came out without keys", name)
				}
				continue
			}
			for side := range want.plain {
				if p == nil || !bytes.Equal(p[side], want.plain[side]) {
					t.Errorf("%s: not all that side %d of %s said came out, or something else: %+v", name, side, id, x.stats)
				}
			}
		}
		if alone.stats.Reordered < 10 {
			t.Errorf("%s: the neighbor is in order: %+v", name, alone.stats)
		}
		if x.most > budget {
			t.Errorf("%s: %d KB of memory, %d are allowed: %+v", name, x.most>>10, budget>>10, x.stats)
		}
		// Few of them are a reason to read anything again.
		if x.stats.TLS.Trials > alone.stats.TLS.Trials+segments/100 || x.stats.Replays > alone.stats.Replays+200 {
			t.Errorf("%s: %d records tried and %d handshakes read again, %d and %d without them", name, x.stats.TLS.Trials, x.stats.Replays, alone.stats.TLS.Trials, alone.stats.Replays)
		}
		t.Logf("%s: %d KB of memory, %d trials and %d handshakes read again, %d and %d without", name, x.most>>10, x.stats.TLS.Trials, x.stats.Replays, alone.stats.TLS.Trials, alone.stats.Replays)
	}
}
