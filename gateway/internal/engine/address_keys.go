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

// A Key is one direction of a connection whose keys are given with its addresses, as network cards take them. It may be in
// the middle of its stream.
type Key struct {
	Source, Destination netip.AddrPort
	FromServer          bool
	Given               tls.Given
	Sequence            uint32 // of TCP, where record Given.Next begins, if Given.Aligned

	state  atomic.Uint32
	number atomic.Uint64
}

// States of a Key.
const (
	KeyWaiting uint32 = iota // for packets
	KeyReading
	KeyEnded
)

// State returns how far it is, and the number of the next record.
func (k *Key) State() (state uint32, number uint64) { return k.state.Load(), k.number.Load() }

// Tell sets what State returns, for those who read the connection in another way than with a Worker.
func (k *Key) Tell(state uint32, number uint64) {
	k.state.Store(state)
	k.number.Store(number)
}

type keyName [2]netip.AddrPort

// Keys is the table of given keys. It is safe for concurrent use; workers take part in it with Options.Keys.
type Keys struct {
	mu      sync.Mutex
	limit   int
	all     map[keyName]*Key
	changes []change // since the slowest worker looked
	base    uint64   // number of the first change
	latest  atomic.Uint64
	workers []*Worker
	// OnEnd, if set, is told that the connection of a key is over.
	OnEnd func(*Key)
}

type change struct {
	key  *Key
	kind uint8
}

const (
	put     = iota
	remove  // its connection ends
	replace // another took its place
)

// NewKeys returns a table for at most limit directions.
func NewKeys(limit int) *Keys { return &Keys{limit: limit, all: make(map[keyName]*Key)} }

// ErrFull says that the table has no room.
var ErrFull = errors.New("the table of flows is full")

func nameOf(source, destination netip.AddrPort) keyName {
	return keyName{netip.AddrPortFrom(source.Addr().Unmap(), source.Port()), netip.AddrPortFrom(destination.Addr().Unmap(), destination.Port())}
}

// Put adds directions, or replaces them: all, or none if there is an error. The keys belong to the table from now on.
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

// change needs the lock.
func (t *Keys) change(c change) {
	if len(t.workers) == 0 {
		c.wipe()
		return
	}
	t.changes = append(t.changes, c)
	t.latest.Add(1)
}

// Delete removes a direction and says whether it was there. Its connection is not read any more.
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

// join adds a worker, which gets all that are there.
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

// poll takes what has changed. It belongs to the worker.
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
		t.changes[i].wipe() // it is no longer read
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
	// The connection is here already, perhaps without anything to read it with.
	if e.Conn != 0 && (w.conn(e.Conn).given || w.conn(e.Conn).tls.State() == tls.Readable) {
		if !w.conn(e.Conn).given {
			return // it has better keys
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

// anywhere is the tuple of given keys, which name no zone: they are for the first connection with their addresses.
func anywhere(tuple packet.Tuple) packet.Tuple {
	if tuple.Zone&rivalZone == 0 {
		tuple.Zone = 0
	}
	return tuple
}

// findAnywhere returns the entry of a connection in whatever zone it is, or nil. It looks into as many as are customary.
func (w *Worker) findAnywhere(tuple packet.Tuple) (e *entry) {
	packet.EachZone(1024, func(zone uint16) bool {
		tuple.Zone = zone
		e = w.table.Find(tuple.Hash(), &tuple)
		return e == nil
	})
	return e
}

// beginGiven gives an entry the keys that are there for it.
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
		g.Search = 16 // the handshake comes first
	}
	if g.Aligned {
		if e.Flags&started(side) != 0 && k.Sequence-e.Next[side] > 1<<30 {
			g.Aligned = false // the beginning has gone by
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

// reportGiven says how far the connections with given keys are.
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

// forgetGiven wipes a key whose connection is over.
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

// String never shows the key.
func (k *Key) String() string {
	return fmt.Sprintf("%v to %v, suite %s", k.Source, k.Destination, hex.EncodeToString([]byte{byte(k.Given.Suite >> 8), byte(k.Given.Suite)}))
}
