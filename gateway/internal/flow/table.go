// Package flow is the table of connections: open addressing with linear probing in one block of memory.
//
// An entry is 128 bytes and so aligned, two cache lines that the processor fetches as a pair. The first line is all that a
// packet without new data needs: whose it is, what is due in each direction, when it was last seen, and where the state of
// TLS is. The second has what is needed at the beginning and end of a connection, and counters. Entries move when another
// is removed, so a pointer to one is good until then only.
package flow

import (
	"unsafe"

	"github.com/sealane/sealane/gateway/internal/packet"
)

// Flags of an entry.
const (
	Started0 = 1 << iota // Next[0] is known
	Started1
	Fin0 // side 0 has sent its last byte, and all are here
	Fin1
	ClientKnown
	ClientIs1 // the client is side 1 of the tuple
	Ignored   // it is not TLS, or nothing can be done with it
	Queued0   // segments of side 0 are held out of order
	Queued1
	Acked0 // Acked[0] is known
	Acked1
	Renewing // a SYN for a new connection was seen
	Unread   // it is TLS and cannot be read
)

// An Entry is one connection. C is what hangs on it.
type Entry[C any] struct {
	Tuple packet.Tuple
	tag   uint32 // of the hash; 0 if the slot is free
	Seen  uint32 // time of the last packet, in units of 2^26 ns (67 ms)
	Next  [2]uint32
	Flags uint16
	_     [2]byte
	Conn  *C

	First    int64 // time of the first packet
	Bytes    [2]uint64
	Packets  [2]uint32
	Link     [12]byte // Ethernet addresses as in packets of side LinkSide
	LinkSide uint8
	HasLink  bool
	_        [2]byte
	Renew    uint32    // sequence number of the SYN for a new connection
	Acked    [2]uint32 // what the other side has received from this one, if Acks
	_        [4]byte
}

// The layout is checked when this is compiled.
var _ = [1]struct{}{}[unsafe.Sizeof(Entry[int]{})-128]
var _ = [1]struct{}{}[unsafe.Offsetof(Entry[int]{}.First)-64]

// Tick converts nanoseconds to the unit of Seen.
func Tick(ns int64) uint32 { return uint32(uint64(ns) >> 26) }

// A Table holds up to a fixed number of connections. It belongs to one core.
type Table[C any] struct {
	// Evict is called before an entry is removed to make room.
	Evict func(e *Entry[C])

	// Moves grows when entries move or go: pointers from before are void.
	Moves uint64

	slots []Entry[C]
	mask  uint32
	count int
	limit int
	hand  uint32
}

// New returns a table for at most limit connections, with room for some of them. It grows by doubling, which takes a
// quarter of a second for a million: who cannot wait has room for all at once. At most it takes 128 x 2 2/3 x limit bytes,
// and half as much again while it grows.
func New[C any](limit, room int) *Table[C] {
	t := &Table[C]{limit: limit}
	slots := 64
	for slots*3/4 < min(room, limit) {
		slots *= 2
	}
	t.use(slots)
	return t
}

func (t *Table[C]) use(slots int) {
	t.slots, t.mask, t.hand = make([]Entry[C], slots), uint32(slots-1), 0
	Huge(t.slots)
}

// grow doubles the room.
func (t *Table[C]) grow() {
	t.Moves++
	old := t.slots
	t.use(2 * len(old))
	for i := range old {
		if tag := old[i].tag; tag != 0 {
			*t.free(tag) = old[i]
		}
	}
}

// free returns the slot for a new entry.
func (t *Table[C]) free(tag uint32) *Entry[C] {
	i := tag & t.mask
	for t.slots[i].tag != 0 {
		i = (i + 1) & t.mask
	}
	return &t.slots[i]
}

// Count returns the number of connections.
func (t *Table[C]) Count() int { return t.count }

// Slots returns the number of slots, free or not.
func (t *Table[C]) Slots() int { return len(t.slots) }

func tagOf(hash uint64) uint32 { return max(uint32(hash), 1) }

// Lines appends the addresses of the cache lines that finding a connection needs, most likely.
func (t *Table[C]) Lines(to []unsafe.Pointer, hash uint64) []unsafe.Pointer {
	i := tagOf(hash) & t.mask
	e := &t.slots[i]
	return append(to, unsafe.Pointer(e), unsafe.Pointer(&e.First), unsafe.Pointer(&t.slots[(i+1)&t.mask]))
}

// Find returns the entry of a connection, or nil.
func (t *Table[C]) Find(hash uint64, tuple *packet.Tuple) *Entry[C] {
	tag := tagOf(hash)
	for i := tag & t.mask; ; i = (i + 1) & t.mask {
		e := &t.slots[i]
		if e.tag == tag && e.Tuple == *tuple {
			return e
		}
		if e.tag == 0 {
			return nil
		}
	}
}

// Insert adds a connection that is not in the table, and removes one that matters less if there is no room.
func (t *Table[C]) Insert(hash uint64, tuple *packet.Tuple) *Entry[C] {
	if t.count >= t.limit {
		t.evict()
	}
	if t.count >= len(t.slots)*3/4 {
		t.grow()
	}
	tag := tagOf(hash)
	e := t.free(tag)
	*e = Entry[C]{Tuple: *tuple, tag: tag}
	t.count++
	return e
}

// evict removes, out of some entries, the one that was idle for longest, first of those that have nothing to lose.
func (t *Table[C]) evict() {
	var worst *Entry[C]
	for seen := 0; seen < 16; t.hand = (t.hand + 1) & t.mask {
		e := &t.slots[t.hand]
		if e.tag == 0 {
			continue
		}
		seen++
		if worst == nil || (e.Conn == nil) != (worst.Conn == nil) && e.Conn == nil ||
			(e.Conn == nil) == (worst.Conn == nil) && int32(e.Seen-worst.Seen) < 0 {
			worst = e
		}
	}
	if t.Evict != nil {
		t.Evict(worst)
	}
	t.Remove(worst)
}

// Remove takes an entry out, and closes the hole: those behind it move up, unless they are where they belong.
func (t *Table[C]) Remove(e *Entry[C]) {
	t.Moves++
	t.count--
	i := uint32((uintptr(unsafe.Pointer(e)) - uintptr(unsafe.Pointer(&t.slots[0]))) / unsafe.Sizeof(*e))
	for j := i; ; {
		j = (j + 1) & t.mask
		if t.slots[j].tag == 0 {
			break
		}
		if home := t.slots[j].tag & t.mask; (j-home)&t.mask >= (j-i)&t.mask {
			t.slots[i] = t.slots[j]
			i = j
		}
	}
	t.slots[i] = Entry[C]{}
}

// Sweep looks at the next n slots, in turn, and calls idle for those not seen since. idle may remove its entry.
func (t *Table[C]) Sweep(n int, now uint32, age func(e *Entry[C]) uint32, idle func(e *Entry[C])) {
	for range min(n, len(t.slots)) {
		if t.count == 0 {
			return // the memory may never have been touched
		}
		e := &t.slots[t.hand]
		if e.tag != 0 && now-e.Seen > age(e) && int32(now-e.Seen) > 0 {
			idle(e)
			if e.tag != 0 && now-e.Seen > age(e) {
				continue // another has moved here
			}
		}
		t.hand = (t.hand + 1) & t.mask
	}
}

// All calls each for every connection. each must not remove any.
func (t *Table[C]) All(each func(e *Entry[C])) {
	left := t.count
	for i := 0; left > 0; i++ {
		if t.slots[i].tag != 0 {
			left--
			each(&t.slots[i])
		}
	}
}
