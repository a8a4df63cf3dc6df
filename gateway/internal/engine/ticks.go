package engine

import (
	"github.com/sealane/sealane/gateway/internal/flow"
)

// The assumed time to check a connection, in nanoseconds.
const eachLook = 2000

// Tick does the work that is due at a time: it gives up waiting for keys and segments, and checks for idle connections.
// Frames calls it with the time of packets.
func (w *Worker) Tick(now int64) {
	w.now = w.clock.pass(now)
	w.due()
}

func (w *Worker) due() {
	if now := w.now; now-w.polled >= 1e6 {
		w.polled = now
		w.pollGiven()
		w.pollOrphans()
		if len(w.given) > 0 && now-w.reported >= 1e8 {
			w.reported = now
			for tuple := range w.given {
				if e := w.findAnywhere(tuple); e != nil && e.Conn != 0 && w.conn(e.Conn).given {
					w.reportGiven(w.conn(e.Conn), false)
				}
			}
		}
		w.polling = true
		if len(w.waiting) > 0 {
			w.pollWaiting(now)
		}
		if len(w.queued) > 0 && now-w.sought >= int64(len(w.queued))*eachLook {
			w.sought = now
			w.pollQueued(now)
		}
		w.polling, w.leaving = false, 0
		w.quic.Tick(now)
		if w.o.Gate != nil {
			w.settleGates()
			w.pollStalled(now)
		}
		// The whole table is checked about once in ten seconds.
		const round = 10e9
		if n := int64(w.table.Made()) * min(now-w.swept, round) / round; n > 0 {
			w.swept = now
			w.table.Sweep(int(n), flow.Tick(now), w.age, func(e *entry) { w.end(e, flow.Silence) })
			w.embryos.Sweep(int(n), flow.Tick(now), func(*embryo) uint32 { return flow.Tick(embryonicIdle) }, w.embryos.Remove)
		}
	}
}

func (w *Worker) pollWaiting(now int64) {
	// The more there are, the less often all are checked. A connection at its deadline is always checked, with all keys
	// so far.
	all, news := now-w.waited >= int64(len(w.waiting))*eachLook, false
	if all {
		changes := w.dec.Store.Changes()
		news = changes != w.changes
		w.waited, w.changes = now, changes
	}
	kept := w.waiting[:0]
	for i, c := range w.waiting {
		w.looked++
		if !all && c.used && now-c.tls.Since < w.o.KeyWait {
			kept = append(kept, w.waiting[i:]...) // they are in order of arrival
			break
		}
		if c.used {
			if news {
				w.dec.Mark = w.clock.last
				w.dec.Retry(&c.tls)
				w.order.Retry(&c.pair, now, true)
				w.mark(c, c.entry)
			}
			switch {
			case !c.tls.Waiting() && !c.pair.Contested():
				w.Stats.Late++
			case now-c.tls.Since >= w.o.KeyWait:
				w.dec.Expire(&c.tls)
				w.order.Retry(&c.pair, now, false)
				w.mark(c, c.entry)
			default:
				kept = append(kept, c)
				continue
			}
			if w.late(c.entry); c.entry.Life() == flow.Closing {
				w.over(c.entry)
			}
		}
		c.listed &^= listWaiting
		if !c.used && c.listed == 0 {
			w.release(c)
		}
	}
	clear(w.waiting[len(kept):])
	w.waiting = kept
}

// tellAck passes on the acknowledgements of a side's receiver.
func (w *Worker) tellAck(c *conn, side uint8) {
	of := side ^ c.client
	c.pair.Acknowledged(side, c.entry.Acked[of], c.entry.Flags&(flow.Acked0<<of) != 0, w.now)
}

func (w *Worker) pollQueued(now int64) {
	kept := w.queued[:0]
	for _, c := range w.queued {
		w.looked++
		if c.used {
			e := c.entry
			w.dec.Mark = w.clock.last
			for side := range uint8(2) {
				if c.pair.Stalled(side) || c.tls.InDispute(side) {
					w.tellAck(c, side)
					w.order.Tick(&c.pair, side, now, w.o.HoleWait)
				}
			}
			if w.doubted(c) && now-c.turned >= w.o.HoleWait && c.pair.News() {
				w.tryTurned(c, true, false)
			}
			w.mark(c, e)
			if w.doubted(c) || c.pair.Stalled(0) || c.pair.Stalled(1) || c.tls.InDispute(0) || c.tls.InDispute(1) {
				kept = append(kept, c)
				continue
			}
			if w.late(e); e.Life() == flow.Closing {
				w.over(e)
			}
		}
		c.listed &^= listQueued
		if !c.used && c.listed == 0 {
			w.release(c)
		}
	}
	clear(w.queued[len(kept):])
	w.queued = kept
}
