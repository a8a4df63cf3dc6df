package engine

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/sealane/sealane/gateway/internal/capture"
	"github.com/sealane/sealane/gateway/internal/keys"
	"github.com/sealane/sealane/gateway/internal/traffic"
)

// middle is a connection without its start: the first `before` records of each side are missing.
func middle(suite uint16, i, before, size int) (s *traffic.Session, frames []capture.Frame, want [2][]byte) {
	r := rand.New(rand.NewPCG(uint64(suite), uint64(i)))
	s = traffic.NewSession(suite, r)
	c := traffic.NewConn(i, &frames)
	c.Handshake(s, 1000)
	for range before {
		c.Send(traffic.Server, s.Data(traffic.Server, make([]byte, 10), 10))
		c.Send(traffic.Client, s.Data(traffic.Client, make([]byte, 10), 10))
	}
	n := len(frames)
	c.Step = 50e6
	for k := range 5 {
		for _, side := range []int{traffic.Server, traffic.Client} {
			text := bytes.Repeat([]byte{byte(16*k + side)}, size+k)
			c.Send(side, s.Data(side, text, 1<<14))
			want[side] = append(want[side], text...)
		}
	}
	return s, frames[n:], want
}

// A connection without its beginning is read completely from the first record on, whether its secrets are there or
// come later. In the latter case the earlier data is missing.
func TestMiddle(t *testing.T) {
	for _, suite := range []uint16{traffic.AES128, traffic.AES256, traffic.ChaCha20, traffic.CCM, traffic.CCM8} {
		for _, c := range []struct {
			before, size, others int
			late                 bool
		}{
			{0, 100, 0, false}, {50, 100, 20, false}, {3000, 100, 3, false}, {20, 9000, 5, false}, {20, 100, 5, true}, {5, 9000, 0, true},
		} {
			s, frames, want := middle(suite, 1, c.before, c.size)
			store, got := keys.NewStore(100), &collector{}
			log := keys.Log{Store: store}
			for k := range c.others {
				other, _, _ := middle(suite, 100+k, 0, 10)
				log.Write(other.KeyLog())
			}
			w := NewWorker(store, got, Options{Flows: 100, KeyWait: 50e6, HoleWait: 200e6})
			if !c.late {
				log.Write(s.KeyLog())
			}
			least := [2]int{len(want[0]), len(want[1])}
			if c.before > nearNumbers {
				least = [2]int{1, 1} // its work is done in time
			}
			for i, f := range frames {
				if c.late && i == len(frames)/2 {
					log.Write(s.KeyLog())
					least = [2]int{1, 1}
				}
				w.Frames([]capture.Frame{f})
				w.Tick(f.Time + 2e6)
			}
			for at := frames[len(frames)-1].Time; at < frames[len(frames)-1].Time+10e9; at += 100e6 {
				w.Tick(at)
			}
			w.Close()
			if w.Stats.Joined != 1 || len(got.streams) != 1 {
				t.Errorf("%#x, %+v: joined %d, %d streams", suite, c, w.Stats.Joined, len(got.streams))
				continue
			}
			for side := range 2 {
				b := got.streams[0].bytes(side)
				if len(b) < least[side] || !bytes.HasSuffix(want[side], b) && least[side] > 1 {
					t.Errorf("%#x, %+v, side %d: %d bytes of %d", suite, c, side, len(b), len(want[side]))
				}
			}
		}
	}
}

// Forged data costs no more than the work limit, and hides nothing for long.
func TestMiddleBudget(t *testing.T) {
	store, got := keys.NewStore(1000), &collector{}
	log := keys.Log{Store: store}
	for k := range 200 {
		s, _, _ := middle(traffic.AES128, 1000+k, 0, 10)
		log.Write(s.KeyLog())
	}
	w := NewWorker(store, got, Options{Flows: 100, KeyWait: 50e6})
	var frames []capture.Frame
	junk := append([]byte{23, 3, 3, 3, 0}, make([]byte, 768)...)
	begin := int64(1700000000e9)
	for i := range 2000 {
		c := traffic.NewConn(i, &frames)
		c.Time = begin + int64(i)*1e6
		c.Send(traffic.Client, junk)
	}
	for _, f := range frames {
		w.Frames([]capture.Frame{f})
	}
	work := uint64(orphanWork) + 2*1e9/orphanWorkNanos
	if n := w.Snapshot().TLS.Trials * 768; n == 0 || n > work {
		t.Errorf("%d bytes were tried in two seconds, it may be %d", n, work)
	}
	if len(w.orphans) > maxOrphans || len(w.orphans) != len(w.orphanList) || w.Stats.Active+w.Stats.Joined != 0 {
		t.Errorf("%d orphans, %d in the list: %+v", len(w.orphans), len(w.orphanList), w.Stats)
	}
	// No record matches the last secret.
	s, mine, want := middle(traffic.AES128, 5000, 3, 50)
	log.Write(s.KeyLog())
	for i, f := range mine {
		f.Time = begin + 5e9 + int64(i)*500e6
		w.Frames([]capture.Frame{f})
	}
	w.Close()
	if len(got.streams) != 1 || len(got.streams[0].bytes(1)) < len(want[1])/2 {
		t.Errorf("%d streams", len(got.streams))
	}
}

// A SYN begins a connection, though its tuple was an orphan's.
func TestMiddleBegins(t *testing.T) {
	_, frames, _ := middle(traffic.AES128, 7, 0, 100)
	s := traffic.NewSession(traffic.AES256, rand.New(rand.NewPCG(1, 2)))
	var fresh []capture.Frame
	c := traffic.NewConn(7, &fresh)
	c.Handshake(s, 100)
	c.Send(traffic.Server, s.Data(traffic.Server, []byte("hello"), 100))
	store, got := keys.NewStore(10), &collector{}
	(&keys.Log{Store: store}).Write(s.KeyLog())
	w := NewWorker(store, got, Options{Flows: 10})
	for _, f := range append(frames, fresh...) {
		w.Frames([]capture.Frame{f})
	}
	w.Close()
	if len(got.streams) != 1 || string(got.streams[0].bytes(1)) != "hello" || w.Stats.Joined != 0 {
		t.Errorf("%d streams: %+v", len(got.streams), w.Stats)
	}
}
