package engine

import (
	"bytes"
	"math/rand/v2"
	"net/netip"
	"slices"
	"testing"

	"github.com/sealane/sealane/gateway/internal/capture"
	"github.com/sealane/sealane/gateway/internal/flow"
	"github.com/sealane/sealane/gateway/internal/keys"
	"github.com/sealane/sealane/gateway/internal/output"
	"github.com/sealane/sealane/gateway/internal/tls"
	"github.com/sealane/sealane/gateway/internal/traffic"
)

// Connections send data, are silent for half a day, and continue. While there is room, all of it is read. Without
// room, the one silent for longest is removed. After the time of a flag, all silent ones are removed. Each removal
// and its reason is reported.
func TestSilence(t *testing.T) {
	const connections, silence = 3, 12 * 3600e9
	for _, c := range []struct {
		name  string
		idle  int64
		more  int // connections that begin after the silence
		ended []flow.Life
		read  int // connections that are read completely
	}{
		{"room for all", 0, 0, nil, connections},
		{"one more than there is room for", 0, 1, []flow.Life{flow.Evicted}, connections - 1},
		{"a flag of an hour", 3600e9, 0, []flow.Life{flow.Idle, flow.Idle, flow.Idle}, 0},
		{"a flag of a day", 24 * 3600e9, 0, nil, connections},
	} {
		r := rand.New(rand.NewPCG(1, 1))
		store, got := keys.NewStore(10), &collector{}
		log := keys.Log{Store: store}
		w := NewWorker(store, got, Options{Flows: connections, KeyWait: 50e6, HoleWait: 200e6, Idle: c.idle})
		var ended []flow.Life
		var first []netip.AddrPort
		w.Ended = func(f *output.Flow, _ *tls.Conn, how flow.Life) {
			ended, first = append(ended, how), append(first, f.Client)
		}
		frames := []capture.Frame(nil)
		send := func() {
			w.Frames(frames)
			frames = frames[:0]
		}
		var conns []*traffic.Conn
		var sessions []*traffic.Session
		begin := func(at int64) {
			s, conn := traffic.NewSession(traffic.AES128, r), traffic.NewConn(len(conns), &frames)
			log.Write(s.KeyLog())
			conn.Time = max(conn.Time, at)
			conn.Handshake(s, 1000)
			conns, sessions = append(conns, conn), append(sessions, s)
		}
		text := bytes.Repeat([]byte("said "), 500)
		say := func(i int) {
			for side := range 2 {
				conns[i].Send(side, sessions[i].Data(side, text, 1000))
			}
		}
		now := int64(0)
		for i := range connections {
			begin(now)
			say(i)
			now = conns[i].Time + 2e9
			send()
		}
		for until := now + silence; now < until; now += 2e9 {
			w.Tick(now)
		}
		for range c.more {
			begin(now)
			send()
		}
		for i := range connections {
			conns[i].Time = now
			say(i)
			send()
		}
		if !slices.Equal(ended, c.ended) {
			t.Errorf("%s: ended are %v", c.name, ended)
		}
		if c.more > 0 && (len(first) == 0 || first[0] != conns[0].Ends()[0]) {
			t.Errorf("%s: %v went", c.name, first)
		}
		for _, how := range []flow.Life{flow.Ended, flow.Idle, flow.Evicted} {
			want := 0
			for _, x := range c.ended {
				if x == how {
					want++
				}
			}
			if n := w.Snapshot().Ends[how-flow.Ended]; int(n) != want {
				t.Errorf("%s: %d are said to be %v", c.name, n, how)
			}
		}
		w.Close()
		read := 0
		for _, s := range got.streams {
			if want := bytes.Repeat(text, 2); bytes.Equal(s.bytes(0), want) && bytes.Equal(s.bytes(1), want) {
				read++
			}
		}
		if read != c.read {
			t.Errorf("%s: all is read of %d connections: %+v", c.name, read, w.Stats)
		}
	}
}
