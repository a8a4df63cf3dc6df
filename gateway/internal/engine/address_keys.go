package engine

import (
	"encoding/hex"
	"errors"
	"fmt"
	"net/netip"
	"sync"
	"sync/atomic"

	"github.com/sealane/sealane/gateway/internal/flow"
	"github.com/sealane/sealane/gateway/internal/packet"
	"github.com/sealane/sealane/gateway/internal/tls"
)

// A Key is one direction of a connection whose keys are given with its addresses, as for network cards. The direction
// may be in the middle of its stream.
type Key struct {
	Source, Destination netip.AddrPort
	FromServer          bool
	Given               tls.Given
	Sequence            uint32 // TCP sequence number of record Given.Next, if Given.Aligned

	state  atomic.Uint32
	number atomic.Uint64
}

// States of a Key.
const (
	KeyWaiting uint32 = iota // for packets
	KeyReading
	KeyEnded
)

// State returns the state, and the number of the next record.
func (k *Key) State() (state uint32, number uint64) { return k.state.Load(), k.number.Load() }

// Tell sets the values for State, for readers of the connection other than a Worker.
func (k *Key) Tell(state uint32, number uint64) {
	k.state.Store(state)
	k.number.Store(number)
}

type keyName [2]netip.AddrPort

// Keys is the table of given keys. It is safe for concurrent use; workers use it through Options.Keys.
type Keys struct {
	mu      sync.Mutex
	limit   int
	all     map[keyName]*Key
	changes []change // not yet seen by the slowest worker
	base    uint64   // number of the first entry of changes
	latest  atomic.Uint64
	workers []*Worker
	// OnEnd, if set, is called when the connection of a key has ended.
	OnEnd func(*Key)
}

type change struct {
	key  *Key
	kind uint8
}

const (
	put     = iota
	remove  // the connection ended
	replace // another key replaced it
)

// NewKeys returns a table for at most limit directions.
func NewKeys(limit int) *Keys { return &Keys{limit: limit, all: make(map[keyName]*Key)} }

// ErrFull means that the table has no room.
var ErrFull = errors.New("the table of flows is full")

func nameOf(source, destination netip.AddrPort) keyName {
	return keyName{netip.AddrPortFrom(source.Addr().Unmap(), source.Port()), netip.AddrPortFrom(destination.Addr().Unmap(), destination.Port())}
}

// Put adds or replaces directions: all, or none if it returns an error. The keys belong to the table from then on.
func (t *Keys) Put(ks ...*Key) error {
	names := make([]keyName, len(ks))
	for i, k := range ks {
		if !k.Source.IsValid() || !k.Destination.IsValid() {
			return errors.New("source and destination are needed")
		}
		if err := k.Given.Complete(); err != nil {
			return err
		}
		names[i] = nameOf(k.Source, k.Destination)
		k.number.Store(k.Given.Next)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	added := make(map[keyName]struct{})
	for _, name := range names {
		if t.all[name] == nil {
			added[name] = struct{}{}
		}
	}
	if len(t.all)+len(added) > t.limit {
		return ErrFull
	}
	for i, k := range ks {
		if old := t.all[names[i]]; old != nil {
			t.change(change{old, replace})
		}
		t.all[names[i]] = k
		t.change(change{k, put})
	}
	return nil
}

// change appends to changes. The caller holds the lock.
func (t *Keys) change(c change) {
	if len(t.workers) == 0 {
		c.wipe()
		return
	}
	t.changes = append(t.changes, c)
	t.latest.Add(1)
}

// Delete removes a direction, and reports whether it existed. Its connection is no longer read.
func (t *Keys) Delete(source, destination netip.AddrPort) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	k := t.all[nameOf(source, destination)]
	if k == nil {
		return false
	}
	delete(t.all, nameOf(source, destination))
	t.change(change{k, remove})
	return true
}

// Get returns a direction, or nil.
func (t *Keys) Get(source, destination netip.AddrPort) *Key {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.all[nameOf(source, destination)]
}

// All returns all directions.
func (t *Keys) All() []*Key {
	t.mu.Lock()
	defer t.mu.Unlock()
	all := make([]*Key, 0, len(t.all))
	for _, k := range t.all {
		all = append(all, k)
	}
	return all
}

// join adds a worker, which gets all existing keys.
func (t *Keys) join(w *Worker) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.workers = append(t.workers, w)
	w.given = make(map[packet.Tuple][]*Key)
	w.givenSeen = t.latest.Load()
	for _, k := range t.all {
		w.take(change{k, put})
	}
}

// pollGiven applies the changes since the last call. Only the worker calls it.
func (w *Worker) pollGiven() {
	t := w.o.Keys
	if t == nil || t.latest.Load() == w.givenSeen {
		return
	}
	t.mu.Lock()
	seen := t.latest.Load()
	news := append([]change(nil), t.changes[w.givenSeen-t.base:]...)
	t.mu.Unlock()
	for _, c := range news {
		w.take(c)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	w.givenSeen = seen
	slowest := seen
	for _, o := range t.workers {
		slowest = min(slowest, o.givenSeen)
	}
	for i := range t.changes[:slowest-t.base] {
		t.changes[i].wipe() // no longer in use
		t.changes[i] = change{}
	}
	t.changes = t.changes[slowest-t.base:]
	t.base = slowest
}

func (c *change) wipe() {
	if c.kind != put {
		c.key.Given.Wipe()
	}
}

func (w *Worker) take(c change) {
	if c.kind == replace {
		return
	}
	tuple, side := packet.TupleOf(c.key.Source, c.key.Destination)
	kept := w.given[tuple][:0]
	for _, k := range w.given[tuple] {
		if k.Source != c.key.Source {
			kept = append(kept, k)
		}
	}
	if c.kind == put {
		kept = append(kept, c.key)
	}
	if len(kept) == 0 {
		delete(w.given, tuple)
	} else {
		w.given[tuple] = kept
	}
	e := w.findAnywhere(tuple)
	if e == nil {
		return
	}
	hash := e.Tuple.Hash()
	if c.kind == remove {
		w.end(e, flow.Over)
		return
	}
	// The connection exists already, perhaps without keys.
	if e.Conn != 0 && (w.conn(e.Conn).given || w.conn(e.Conn).tls.State() == tls.Readable) {
		if !w.conn(e.Conn).given {
			return // its own keys are better
		}
		w.giveTo(e, c.key, side, false)
		return
	}
	if e.Flags&flow.Ignored != 0 || e.Conn != 0 {
		w.finish(e, flow.Over)
		e.Flags &^= flow.Ignored
	}
	w.beginGiven(e, hash, kept, w.now, false)
}

// anywhere returns the tuple of given keys without a zone: they apply to the first connection with their addresses.
func anywhere(tuple packet.Tuple) packet.Tuple {
	if tuple.Zone&rivalZone == 0 {
		tuple.Zone = 0
	}
	return tuple
}

// findAnywhere returns the entry of a connection in any zone, or nil. It tries the usual zones.
func (w *Worker) findAnywhere(tuple packet.Tuple) (e *entry) {
	packet.EachZone(1024, func(zone uint16) bool {
		tuple.Zone = zone
		e = w.table.Find(tuple.Hash(), &tuple)
		return e == nil
	})
	return e
}

// beginGiven sets the given keys of an entry.
func (w *Worker) beginGiven(e *entry, hash uint64, ks []*Key, time int64, fresh bool) {
	client := ks[0].Source
	if ks[0].FromServer {
		client = ks[0].Destination
	}
	side := uint8(0)
	if e.Tuple.Endpoint(1) == client {
		side = 1
	}
	w.setClient(e, side)
	w.open(e)
	w.conn(e.Conn).given = true
	for _, k := range ks {
		_, side := packet.TupleOf(k.Source, k.Destination)
		w.giveTo(e, k, side, fresh)
	}
}

func (w *Worker) giveTo(e *entry, k *Key, side uint8, fresh bool) {
	c := w.conn(e.Conn)
	g := k.Given
	if fresh {
		g.Search = 16 // the handshake precedes the data
	}
	if g.Aligned {
		if e.Flags&started(side) != 0 && k.Sequence-e.Next[side] > 1<<30 {
			g.Aligned = false // the start has already passed
		} else {
			e.Next[side] = k.Sequence
			e.Flags |= started(side)
		}
	}
	if w.dec.Give(&c.tls, side^c.client, &g) != nil {
		return
	}
	k.state.Store(KeyReading)
	c.keys[side] = k
	w.mark(c, e)
}

// reportGiven updates the states of connections with given keys.
func (w *Worker) reportGiven(c *conn, ended bool) {
	for side, k := range c.keys {
		if k == nil {
			continue
		}
		n, _, _ := w.dec.Position(&c.tls, uint8(side)^c.client)
		k.number.Store(n)
		if ended {
			k.state.Store(KeyEnded)
			w.forgetGiven(k)
			delete(w.given, anywhere(c.entry.Tuple))
			c.keys[side] = nil
		}
	}
}

// forgetGiven wipes a key whose connection has ended.
func (w *Worker) forgetGiven(k *Key) {
	t := w.o.Keys
	t.mu.Lock()
	if name := nameOf(k.Source, k.Destination); t.all[name] == k {
		delete(t.all, name)
		t.change(change{k, remove})
	}
	t.mu.Unlock()
	if t.OnEnd != nil {
		t.OnEnd(k)
	}
}

// String never contains the key.
func (k *Key) String() string {
	return fmt.Sprintf("%v to %v, suite %s", k.Source, k.Destination, hex.EncodeToString([]byte{byte(k.Given.Suite >> 8), byte(k.Given.Suite)}))
}
