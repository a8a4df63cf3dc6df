package engine

import (
	"slices"
)

// One budget bounds what all connections of a worker hold: segments, copies of them, ciphertext that waits for keys, records and
// messages that are not whole, 0-RTT data, and data that a gate keeps until it is acknowledged. When it is used up, the largest holders
// are evicted first, down to a level that all can have. Connections that hold less lose nothing.

// held returns how many bytes connections hold.
func (w *Worker) held() int {
	return w.order.Pool.Held + w.dec.Held() + w.gateBytes + w.quic.Held()
}

func (c *conn) holds() int {
	n := c.pair.Holds() + c.tls.Holds()
	if c.gate != nil {
		n += len(c.gate.half[0].mem) + len(c.gate.half[1].mem)
	}
	return n
}

type holder struct {
	c *conn
	n int
}

// reclaim makes an eighth of the budget free. Connections of which no record opened pay first: strangers can make those.
func (w *Worker) reclaim() {
	w.dec.FlushAll()
	w.Stats.Reclaims++
	// Of those over TCP and those of QUIC, who hold more than half of it pay.
	if w.quic.Held() > w.o.Memory/2 {
		w.quic.Pay(w.quic.Held() - w.o.Memory/8*3)
		return
	}
	for _, proven := range []bool{false, true} {
		if excess := w.held() - w.o.Memory/8*7; excess > 0 {
			w.levy(excess, proven)
		}
	}
}

// levy has connections pay that hold most, down to a level at which it is enough.
func (w *Worker) levy(excess int, proven bool) {
	all := w.holders[:0]
	for _, slab := range w.conns {
		for i := range slab {
			if c := &slab[i]; c.used && c.entry.Life().Proven() == proven {
				if n := c.holds(); n > 0 {
					all = append(all, holder{c, n})
				}
			}
		}
	}
	slices.SortFunc(all, func(a, b holder) int { return b.n - a.n })
	sum, level := 0, 0
	for i := range all {
		sum += all[i].n
		if level = (sum - excess) / (i + 1); sum >= excess && (i+1 == len(all) || level >= all[i+1].n) {
			break
		}
	}
	level = max(level, 0)
	for _, h := range all {
		if h.n <= level || w.held() <= w.o.Memory/8*7 {
			break
		}
		w.Stats.Paid++
		if freed := w.order.Pay(&h.c.pair, h.n-level); freed < h.n-level {
			// The rest are records and messages: there is no half of them.
			w.dec.Surrender(&h.c.tls)
			if g := h.c.gate; g != nil {
				w.shut(&g.half[0])
				w.shut(&g.half[1])
			}
		}
		w.mark(h.c, h.c.entry)
	}
	clear(all)
	w.holders = all[:0]
}
