package engine

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/sealane/sealane/gateway/internal/capture"
	"github.com/sealane/sealane/gateway/internal/keys"
	"github.com/sealane/sealane/gateway/internal/output"
	"github.com/sealane/sealane/gateway/internal/seed"
	"github.com/sealane/sealane/gateway/internal/tls"
	"github.com/sealane/sealane/gateway/internal/traffic"
)

// Keys that arrive while ciphertext waits cost nothing. With later keys, or more ciphertext than the limit, data is
// missing, and the loss is reported.
func TestLateKeys(t *testing.T) {
	const wait = 50e6
	for _, c := range []struct {
		late  int64 // nanoseconds after the first packet
		bytes int
		held  int // that may wait
		whole bool
	}{
		{0, 30000, 1 << 20, true},
		{10e6, 30000, 1 << 20, true},
		{40e6, 30000, 1 << 20, true},
		{60e6, 30000, 1 << 20, false},
		{1e9, 30000, 1 << 20, false},
		{40e6, 100000, 50000, false},
	} {
		for _, suite := range []uint16{traffic.AES128, traffic.AES256, traffic.ChaCha20} {
			t.Run(fmt.Sprintf("%d ms, %d bytes of %d, %#x", c.late/1e6, c.bytes, c.held, suite), func(t *testing.T) {
				var frames []capture.Frame
				s, conn := traffic.NewSession(suite, rand.New(rand.NewPCG(1, 1))), traffic.NewConn(1, &frames)
				conn.Step = 100e3
				conn.Handshake(s, 1000)
				conn.Send(traffic.Server, s.Data(traffic.Server, make([]byte, c.bytes), 1<<14))
				conn.Time = frames[0].Time + 2e9
				conn.Send(traffic.Server, s.Data(traffic.Server, make([]byte, 777), 1<<14))
				conn.Close()
				limits := tls.DefaultLimits
				limits.HeldFlow = c.held
				store, got := keys.NewStore(10), &collector{}
				w := NewWorker(store, got, Options{Flows: 10, KeyWait: wait, TLS: limits})
				come := frames[0].Time + c.late
				for _, f := range frames {
					if come > 0 && f.Time > come {
						w.Tick(come)
						(&keys.Log{Store: store}).Write(s.KeyLog())
						w.Tick(come + 2e6)
						come = 0
					}
					w.Frames([]capture.Frame{f})
				}
				w.Close()
				if len(got.streams) != 1 {
					t.Fatalf("%d streams: %+v", len(got.streams), w.Stats)
				}
				n, gaps := len(got.streams[0].bytes(1)), got.streams[0].gaps()
				if whole := n == c.bytes+777 && gaps == 0; whole != c.whole {
					t.Errorf("%d bytes of %d, %d gaps: %+v", n, c.bytes+777, gaps, w.Stats)
				}
				if !c.whole && (n < 777 || gaps == 0) {
					t.Errorf("%d bytes, %d gaps: %+v", n, gaps, w.Stats)
				}
			})
		}
	}
}

// spoken is a Sink that records the data of both sides in one order.
type spoken struct {
	drain
	said []string
	when []int64
}

func (s *spoken) Data(f *output.Flow, side uint8, data []byte) {
	s.when = append(s.when, *f.Time)
	s.said = append(s.said, fmt.Sprintf("%d %s", side, data))
}

// Data that waited for keys is released in the order of arrival, also if the keys of one direction come first.
func TestLateKeysOrder(t *testing.T) {
	for _, suite := range []uint16{traffic.AES128, traffic.AES256, traffic.ChaCha20} {
		var frames []capture.Frame
		s, conn := traffic.NewSession(suite, rand.New(rand.NewPCG(1, 1))), traffic.NewConn(1, &frames)
		conn.Step = 1e3
		conn.Handshake(s, 1000)
		var want []string
		for i := range 20 {
			for _, side := range []int{traffic.Client, traffic.Server} {
				text := fmt.Sprintf("%d %d", i, side)
				conn.Send(side, s.Data(side, []byte(text), 1<<14))
				want = append(want, fmt.Sprintf("%d %s", side, text))
			}
		}
		conn.Close()
		var of [2][]byte // lines of the key log, by direction
		for line := range bytes.Lines(s.KeyLog()) {
			side := 0
			if bytes.HasPrefix(line, []byte("SERVER")) {
				side = 1
			}
			of[side] = append(of[side], line...)
		}
		for first := range of {
			store, got := keys.NewStore(10), &spoken{}
			w := NewWorker(store, got, Options{Flows: 10, KeyWait: 1e9})
			log := keys.Log{Store: store}
			for i, f := range frames {
				switch i {
				case len(frames) / 2:
					log.Write(of[first])
				case len(frames) * 3 / 4:
					log.Write(of[1-first])
				}
				f.Time = frames[0].Time + int64(i)*2e6
				w.Frames([]capture.Frame{f})
			}
			w.Close()
			if !slices.Equal(got.said, want) {
				t.Errorf("%#x, keys of side %d first: %q, and it was %q", suite, first, got.said, want)
			}
			if !slices.IsSorted(got.when) || len(slices.Compact(got.when)) != len(want) {
				t.Errorf("%#x: said at %d", suite, got.when)
			}
		}
	}
}

// A direction with too much data waiting for keys continues without them, and is read again once the keys are there.
// The other direction still waits, and none of its data is lost.
func TestLateKeysOneDirectionFull(t *testing.T) {
	for _, suite := range []uint16{traffic.AES128, traffic.AES256, traffic.ChaCha20} {
		var frames []capture.Frame
		s, conn := traffic.NewSession(suite, rand.New(rand.NewPCG(1, 1))), traffic.NewConn(1, &frames)
		conn.Step = 1e3
		conn.Handshake(s, 1000)
		conn.Send(traffic.Client, s.Data(traffic.Client, make([]byte, 100), 1<<14))
		conn.Send(traffic.Server, s.Data(traffic.Server, make([]byte, 700000), 1<<14))
		conn.Send(traffic.Client, s.Data(traffic.Client, make([]byte, 100), 1<<14))
		conn.Close()
		limits := tls.DefaultLimits
		limits.HeldFlow = 50000
		store, got := keys.NewStore(10), &collector{}
		w := NewWorker(store, got, Options{Flows: 10, KeyWait: 1e9, TLS: limits})
		for i, f := range frames {
			if i == len(frames)/2 {
				(&keys.Log{Store: store}).Write(s.KeyLog())
				w.Tick(f.Time)
			}
			w.Frames([]capture.Frame{f})
		}
		w.Close()
		if len(got.streams) != 1 {
			t.Fatalf("%d streams: %+v", len(got.streams), w.Stats)
		}
		client, server := len(got.streams[0].bytes(0)), len(got.streams[0].bytes(1))
		if client != 200 || server < 300000 || got.streams[0].gaps() != 1 || w.Stats.TLS.BadRecords > 0 {
			t.Errorf("%#x: %d and %d bytes, %d gaps: %+v", suite, client, server, got.streams[0].gaps(), w.Stats)
		}
		// Missing data is counted, with all the records around it.
		if lost := int(w.Stats.TLS.LostBytes); lost < 700000-server || lost > 720000-server {
			t.Errorf("%#x: %d bytes lost, %d are said to be", suite, 700000-server, lost)
		}
	}
}

// turns joins consecutive data of the same side.
func (s *spoken) turns() (all []string) {
	for _, text := range s.said {
		if n := len(all) - 1; n >= 0 && all[n][0] == text[0] {
			all[n] += text[2:]
		} else {
			all = append(all, text)
		}
	}
	return all
}

// Two cores handle two copies of a connection, as mirrors send them. The end of one copy does not remove the keys of
// the other, whether that is in progress or still to come.
func TestTwoCopies(t *testing.T) {
	for _, suite := range []uint16{traffic.AES128, traffic.AES256, traffic.ChaCha20} {
		var frames []capture.Frame
		s, conn := traffic.NewSession(suite, rand.New(rand.NewPCG(1, 1))), traffic.NewConn(1, &frames)
		conn.Handshake(s, 1000)
		conn.Send(traffic.Server, s.Data(traffic.Server, make([]byte, 50000), 1<<14))
		conn.Close()
		for _, ahead := range []int{0, 3, 5, len(frames) / 2, len(frames) - 1} {
			store := keys.NewStore(10)
			(&keys.Log{Store: store}).Write(s.KeyLog())
			var workers [3]*Worker
			var got [3]collector
			for i := range workers {
				workers[i] = NewWorker(store, &got[i], Options{Flows: 10})
			}
			if ahead >= len(frames)/2 {
				store.Linger = 0 // the second copy keeps them for the third
			}
			workers[1].Frames(frames[:ahead])
			workers[0].Frames(frames)
			workers[0].Close()
			workers[2].Frames(frames)
			workers[1].Frames(frames[ahead:])
			workers[1].Close()
			workers[2].Close()
			for i := range got {
				if len(got[i].streams) != 1 || len(got[i].streams[0].bytes(1)) != 50000 {
					t.Errorf("%#x, %d frames ahead: copy %d was not read: %+v", suite, ahead, i, workers[i].Stats)
				}
			}
		}
	}
}

// A slowLog is a connection with altered segments, whose key log arrives in two parts.
type slowLog struct {
	name   string
	frames []capture.Frame
	lots   [2][]byte
	at     [2]int // they come before these frames
}

func newSlowLog(r *rand.Rand, all []original) *slowLog {
	o := &all[r.IntN(len(all))]
	c := &slowLog{name: o.name}
	c.frames = mangle(r, o, faults{split: r.IntN(70), merge: r.IntN(100), repeat: r.IntN(30), reorder: r.IntN(40), overlap: r.IntN(20)})
	for line := range bytes.Lines(o.keyLog) {
		n := r.IntN(2)
		c.lots[n] = append(c.lots[n], line...)
	}
	c.at = [2]int{r.IntN(len(c.frames)), r.IntN(len(c.frames))}
	return c
}

// read returns the plaintext if the keys come before the frames at, or that many nanoseconds after the last one.
func (c *slowLog) read(at [2]int, after int64) []string {
	store, got := keys.NewStore(10), &spoken{}
	w := NewWorker(store, got, Options{Flows: 10, KeyWait: 100e9})
	for i := range len(c.frames) + 1 {
		now := c.frames[min(i, len(c.frames)-1)].Time
		if i == len(c.frames) {
			now += after
			w.Tick(now)
		}
		for n, lot := range c.lots {
			if at[n] == i {
				(&keys.Log{Store: store}).Write(lot)
				w.Tick(now + 2e6)
			}
		}
		if i < len(c.frames) {
			w.Frames(c.frames[i : i+1])
		}
	}
	w.Close()
	return got.turns()
}

// Whatever happens to segments, keys that arrive within the wait change neither the data nor its order.
func TestAnySegmentsSlowKeys(t *testing.T) {
	const runs = 300
	begun := seed.Of(t)
	all := originals(t)
	i := 0
	for begin := time.Now(); more(i, runs, begin); i++ {
		c := newSlowLog(rand.New(rand.NewPCG(begun, uint64(i))), all)
		if early, late := c.read([2]int{}, 0), c.read(c.at, 0); !slices.Equal(early, late) || len(early) == 0 {
			t.Fatalf("run %d, %s, keys at %d of %d: %d turns, and with keys from the beginning %d", i, c.name, c.at, len(c.frames), len(late), len(early))
		}
	}
	t.Logf("%d connections", i)
}

// A direction has its keys, and its next record is complete but in doubt. It must not overtake the other direction,
// which waits for its own keys. That is not a hole: neither time nor the end of the connection makes the engine
// search after it.
func TestSlowKeysNoHole(t *testing.T) {
	c := newSlowLog(rand.New(rand.NewPCG(1795380892014319578, 107)), originals(t))
	early := c.read([2]int{}, 0)
	for name, late := range map[string][]string{
		"keys at the end":         c.read(c.at, 0),
		"and after three seconds": c.read([2]int{len(c.frames), c.at[1]}, 3e9),
	} {
		if !slices.Equal(early, late) || len(early) != 2 {
			t.Errorf("%s: %d turns, and with keys from the beginning %d", name, len(late), len(early))
		}
	}
}

// A direction is read again because another beginning arrived. Its data gets the time at which that beginning
// arrived. It does not come after all data that waited in the other direction meanwhile.
func TestSlowKeysReadAgain(t *testing.T) {
	all := originals(t)
	for _, of := range [][2]uint64{
		{1795382676662897502, 17124}, // one of them, and the other has its keys
		{1795383454009347348, 38027}, // both, and more than is tried
	} {
		c := newSlowLog(rand.New(rand.NewPCG(of[0], of[1])), all)
		if early, late := c.read([2]int{}, 0), c.read(c.at, 0); !slices.Equal(early, late) || len(early) != 3 {
			t.Errorf("run %d: %d turns, and with keys from the beginning %d", of[1], len(late), len(early))
		}
	}
}
