package engine

import (
	"slices"

	"github.com/sealane/sealane/gateway/internal/flow"
	"github.com/sealane/sealane/gateway/internal/packet"
	"github.com/sealane/sealane/gateway/internal/tls"
)

// An orphan is a connection without a captured SYN or ClientHello, because it is older than the gateway. If its data looks like TLS 1.3
// records, and there is a key log, the worker tries the secrets there on one record. When it opens, reading starts at that record.
//
//	a record is                          it is
//	complete in one packet               tried, if none is being tried, or one more than twice as long
//	in several consecutive packets       collected up to its end
//
//	secrets of                           are tried with record numbers
//	the last randomsTried randoms        up to 64, then up to 4096; again when new ones arrive
//	that no connection has used
//
// A gate blocks all data of orphans.
type orphan struct {
	tuple   packet.Tuple
	side    uint8 // side of the tuple that sent the record
	seq     uint32
	rec     []byte // the available part of the record
	size    int
	randoms [][32]byte // to be tried
	next    int        // index of the first untried one
	far     bool       // the low numbers were tried
	step    int        // step within next
	changes uint64     // state of the store when randoms were taken
}

const (
	maxOrphans   = 256
	randomsTried = 64
	nearNumbers  = 64
	farNumbers   = 4096
	// The limit of bytes to open at a time for all orphans, and the time until the next one gets a turn.
	orphanWork      = 8 << 20
	orphanWorkNanos = 50
)

// orphaned handles a packet of no connection. It returns an entry if the connection is now known.
func (w *Worker) orphaned(s *packet.Segment, hash uint64, time int64) *entry {
	p := s.Payload
	if w.dec.Store.Changes() == 0 || w.o.Gate != nil || s.Tuple.Zone&rivalZone != 0 || s.Flags&(packet.SYN|packet.RST) != 0 {
		return nil
	}
	o := w.orphans[s.Tuple]
	size := tls.DataRecord(p)
	switch {
	case o != nil && o.side == s.Side && len(o.rec) < o.size && s.Seq == o.seq+uint32(len(o.rec)):
		o.rec = append(o.rec, p[:min(len(p), o.size-len(o.rec))]...)
	case size == 0:
		return nil
	case o == nil:
		if len(w.orphanList) == maxOrphans {
			delete(w.orphans, w.orphanList[0].tuple)
			w.orphanList = slices.Delete(w.orphanList, 0, 1)
		}
		o = &orphan{tuple: s.Tuple}
		w.orphans[s.Tuple] = o
		w.orphanList = append(w.orphanList, o)
		fallthrough
	case size <= len(p) && (len(o.rec) < o.size || 2*size < o.size), len(o.rec) < o.size && (s.Side != o.side || s.Seq != o.seq):
		*o = orphan{tuple: o.tuple, side: s.Side, seq: s.Seq, size: size, rec: append(o.rec[:0], p[:min(len(p), size)]...)}
	default:
		return nil
	}
	return w.identify(o, time)
}

// identify tries secrets on the record of an orphan, within the limit of work.
func (w *Worker) identify(o *orphan, time int64) *entry {
	if len(o.rec) < o.size {
		return nil
	}
	if changes := w.dec.Store.Changes(); changes != o.changes {
		o.randoms, o.next, o.step, o.far, o.changes = w.dec.Store.Unused(o.randoms[:0], randomsTried), 0, 0, false, changes
	}
	if o.next == len(o.randoms) {
		return nil
	}
	if w.now > w.orphanSpared {
		w.orphanWork = min(w.orphanWork+int(min(w.now-w.orphanSpared, 1e9)/orphanWorkNanos), orphanWork)
		w.orphanSpared = w.now
	}
	for w.orphanWork > 0 {
		if o.next == len(o.randoms) {
			if o.far {
				break
			}
			o.next, o.far = 0, true
		}
		from, to := uint64(0), uint64(nearNumbers)
		if o.far {
			from, to = nearNumbers, farNumbers
		}
		id, found := w.dec.Identify(&o.randoms[o.next], o.rec, from, to, &o.step, &w.orphanWork)
		if found {
			return w.adopt(o, &id, time)
		}
		if o.step == 0 {
			o.next++
		}
	}
	return nil
}

// adopt makes a connection of an orphan, and reads its record.
func (w *Worker) adopt(o *orphan, id *tls.Identity, time int64) *entry {
	delete(w.orphans, o.tuple)
	w.orphanList = slices.DeleteFunc(w.orphanList, func(x *orphan) bool { return x == o })
	hash := o.tuple.Hash()
	if w.table.Find(hash, &o.tuple) != nil {
		return nil // it has started again
	}
	w.Stats.Flows++
	w.Stats.Joined++
	e := w.table.Insert(hash, &o.tuple)
	e.Seen = flow.Tick(time)
	w.setClient(e, o.side^id.Side)
	e.Next[o.side] = o.seq + uint32(o.size)
	e.Flags |= started(o.side)
	w.open(e)
	c := w.conn(e.Conn)
	w.dec.Join(&c.tls, id)
	w.dec.Feed(&c.tls, id.Side, o.rec)
	clear(o.rec)
	w.mark(c, e)
	return e
}

// pollOrphans continues where the limit of work was reached, and when new secrets have arrived.
func (w *Worker) pollOrphans() {
	w.dec.Mark = w.clock.last
	for i := 0; i < len(w.orphanList); {
		if o := w.orphanList[i]; w.identify(o, w.now) == nil {
			i++
		}
	}
}
