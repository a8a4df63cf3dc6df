package exchange

import (
	"encoding/binary"
	"sync"
	"testing"
	"time"
)

// Cores send each other far more than memory can hold. They lose nothing, and keep the order between each pair.
func TestExchange(t *testing.T) {
	const cores, packets = 4, 5000
	m := New[uint32](cores)
	var running sync.WaitGroup
	for self := range cores {
		running.Add(1)
		go func() {
			defer running.Done()
			var next [cores]uint32
			p := m.Port(self, func(items []Item[uint32]) {
				for _, it := range items {
					from, i := it.About>>24, it.About&0xffffff
					if next[from] != i || binary.LittleEndian.Uint32(it.Data) != i || len(it.Data) != 4+int(i)%3000 {
						t.Errorf("%d to %d: packet %d of %d bytes after %d", from, self, i, len(it.Data), next[from])
					}
					next[from] = i + 1
				}
			})
			data := make([]byte, 3004)
			for i := range uint32(packets) {
				for to := range cores {
					if to != self {
						binary.LittleEndian.PutUint32(data, i)
						p.Give(to, data[:4+i%3000], uint32(self)<<24|i)
					}
				}
				if self == 0 && i%1000 == 0 {
					p.Receive()
				}
			}
			p.End()
			for from, n := range next {
				if from != self && n != packets {
					t.Errorf("%d to %d: %d of %d", from, self, n, packets)
				}
			}
			if p.Moved.Load() != packets*(cores-1) {
				t.Errorf("core %d: %d moved", self, p.Moved.Load())
			}
		}()
	}
	done := make(chan struct{})
	go func() { running.Wait(); close(done) }()
	select {
	case <-done:
	case <-time.After(time.Minute):
		t.Fatal("they wait for each other")
	}
}
