package engine

import (
	"slices"
)

// One budget limits the memory of all connections of a worker. It covers segments and their copies, ciphertext that
// waits for keys, and incomplete records and messages. It also covers 0-RTT data, and data that a gate keeps until it
// is acknowledged. When it is used up, the largest holders are evicted first, down to a level that all can have.
// Connections with less lose nothing.

// held returns the number of bytes that connections hold.
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

// reclaim frees an eighth of the budget. Connections without an opened record are evicted first, because strangers can
// make those.
func (w *Worker) reclaim() {
	w.dec.FlushAll()
	w.Stats.Reclaims++
	// The group, TCP or QUIC, that holds more than half of the budget is evicted.
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

// levy evicts data of the largest holders, down to a level at which enough is free.
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
			// The rest is records and messages, which cannot be split.
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
