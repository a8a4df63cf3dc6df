package attack

import (
	"bytes"
	"encoding/binary"
	"testing"
	"time"

	"github.com/sealane/sealane/gateway/internal/capture"
	"github.com/sealane/sealane/gateway/internal/engine"
	"github.com/sealane/sealane/gateway/internal/keys"
)

// ends returns the processor time for each packet of connections that say many things at once, and end.
func ends(v *victim, flows, copies int) (time.Duration, engine.Stats) {
	store := keys.NewStore(100)
	log := keys.Log{Store: store}
	log.Write(v.keyLog)
	w := engine.NewWorker(store, nobody{}, engine.Options{Flows: 1000, KeyWait: 50e6, HoleWait: 200e6})
	hello, flight := like(&v.segs[v.firstData(v.client)]), like(&v.segs[v.server[0]])
	var frames []capture.Frame
	for i := range flows {
		for k := range copies {
			for side, f := range []forgery{hello, flight} {
				f.data = bytes.Clone(f.data)
				if k > 0 {
					binary.BigEndian.PutUint32(f.data[60+4*(k%20):], uint32(k)*0x01010101)
				}
				if k%3 == 2 { // pieces that begin anywhere
					f.seq, f.data = f.seq+uint32(k), f.data[k:]
				}
				x := v.forge(v.frames[0].Time+int64(len(frames))*20e3, f)
				at := 14 + 12 // the client's address
				if uint8(side) == 1 {
					at = 14 + 16
				}
				x.Data[at+1], x.Data[at+2] = byte(i>>8), byte(i)
				frames = append(frames, x)
			}
		}
	}
	begin := processor()
	for n := 0; n < len(frames); n += 32 {
		w.Frames(frames[n:min(n+32, len(frames))])
	}
	w.Close()
	return (processor() - begin) / time.Duration(len(frames)), w.Stats
}

// Connections that say many things at once, each a little, and end: there is not much work for each of them.
func TestForgedEnds(t *testing.T) {
	v := load(t, "s-aes256")
	const flows = 3000
	plain := ordinary(650, 1<<13)
	for _, copies := range []int{5, 16} {
		took, did := ends(v, flows, copies)
		t.Logf("%d copies: %.1f times what an ordinary packet costs, %d handshakes read again", copies, float64(took)/float64(plain), did.Replays)
		if did.Replays > 30*flows {
			t.Errorf("%d copies: %d handshakes read again in %d connections", copies, did.Replays, flows)
		}
	}
}
