// Package flow is the table of connections.
//
// Connections are stored in slabs and never move. A separate small index uses open addressing with linear probing. A
// slot has eight bytes: 32 bits of the hash, and the number of the connection. A lookup reads a line of the index and
// then the connection's own line. For a million connections the index has 16 MB and is mostly in the cache. The table
// contains no Go pointers, so the garbage collector does not scan it.
package flow

import (
	"unsafe"

	"github.com/sealane/sealane/gateway/internal/packet"
)

// Flags of an entry.
const (
	Started0 = 1 << iota // Next[0] is known
	Started1
	ClientKnown
	ClientIs1 // the client is side 1 of the tuple
	Ignored   // it is not TLS, or cannot be decrypted
	Queued0   // out-of-order segments of side 0 are held
	Queued1
	Acked0 // Acked[0] is known
	Acked1
	Renewing // a SYN of a new connection arrived
	used     // the entry is in use
	life0    // this and the next two bits are its Life
	_
	_
	Late0 // a FIN or RST of side 0 arrived before the data it ends was read
	Late1
)

// An Entry is one connection. Its first line is all that a packet without data needs. S is a line for each side with
// the data for its next record.
type Entry[S any] struct {
	Tuple packet.Tuple
	Flags uint16
	Seen  uint32    // time of the last packet, in units of 2^26 ns (67 ms)
	Next  [2]uint32 // next expected sequence numbers
	Acked [2]uint32 // acknowledged by the other side, if Acked0 or Acked1
	Conn  uint32    // number of its additional state, or 0

	Side [2]S
}

// Line is the size of a cache line, and of S.
const Line = 64

// Wide is 1 if pointers have 8 bytes, otherwise 0. Only then are structures with pointers laid out in cache lines.
const Wide = unsafe.Sizeof(uintptr(0)) / 8

// worth is lower for entries that are removed first when there is no room. Attackers can make connections, but not
// connections with an opened record.
func (e *Entry[S]) worth() int {
	switch {
	case e.Conn == 0:
		return 0
	case !e.Life().Proven():
		return 1
	}
	return 2
}

// Begin copies the state of a connection from another table.
func (e *Entry[S]) Begin(flags uint16, seen uint32, next, acked [2]uint32) {
	e.Flags, e.Seen, e.Next, e.Acked = flags|used, seen, next, acked
}

// Compile-time checks of the layout.
var (
	_ = [1]struct{}{}[unsafe.Offsetof(Entry[[Line]byte]{}.Side)-Line]
	_ = [1]struct{}{}[unsafe.Sizeof(Entry[[Line]byte]{})-3*Line]
)

// Tick converts nanoseconds to the unit of Seen.
func Tick(ns int64) uint32 { return uint32(uint64(ns) >> 26) }

// A Table holds connections up to a limit. It belongs to one core.
type Table[S any] struct {
	// Evict is called before an entry is removed to make room.
	Evict func(e *Entry[S])

	index []uint64 // hash << 32 | number of the entry, or 0
	mask  uint32
	slabs [][]Entry[S]
	shift uint // from numbers to slabs
	made  uint32
	free  uint32 // first of a list through Next[0], or 0
	count int
	limit int
	hand  uint32
}

// New returns a table for at most limit connections, whose index initially has room for some of them. The index grows
// by doubling, which takes 10 ms for a million connections. A connection takes at most 192 + 8 x 2 2/3 bytes, and 4 x 2
// 2/3 more during growth.
func New[S any](limit, room int) *Table[S] {
	t := &Table[S]{limit: limit, shift: 6}
	slots := 64
	for slots*3/4 < min(room, limit) {
		slots *= 2
	}
	t.use(slots)
	for t.shift < 16 && 16<<t.shift < limit {
		t.shift++
	}
	return t
}

func (t *Table[S]) use(slots int) {
	t.index, t.mask = Slab[uint64](slots), uint32(slots-1)
}

// grow doubles the index.
func (t *Table[S]) grow() {
	old := t.index
	t.use(2 * len(old))
	for _, word := range old {
		if word != 0 {
			t.index[t.slot(uint32(word>>32))] = word
		}
	}
}

// slot returns the free slot for a hash.
func (t *Table[S]) slot(hash uint32) uint32 {
	i := hash & t.mask
	for t.index[i] != 0 {
		i = (i + 1) & t.mask
	}
	return i
}

// at returns the entry with a number; numbers start at 1.
func (t *Table[S]) at(number uint32) *Entry[S] {
	number--
	return &t.slabs[number>>t.shift][number&(1<<t.shift-1)]
}

// Count returns the number of connections.
func (t *Table[S]) Count() int { return t.count }

// SlotBytes is the size of a slot in the index.
const SlotBytes = 8

// IndexBytes returns the size of the index.
func (t *Table[S]) IndexBytes() int { return SlotBytes * len(t.index) }

// Made returns the number of entries that have memory, including removed entries, which are reused.
func (t *Table[S]) Made() int { return int(t.made) }

// Home returns the address of the first index slot for a hash.
func (t *Table[S]) Home(hash uint64) unsafe.Pointer {
	return unsafe.Pointer(&t.index[uint32(hash)&t.mask])
}

// Likely returns the entry that Find will most likely return, or nil. It reads only the index.
func (t *Table[S]) Likely(hash uint64) *Entry[S] {
	for i := uint32(hash) & t.mask; ; i = (i + 1) & t.mask {
		word := t.index[i]
		if uint32(word>>32) == uint32(hash) && word != 0 {
			return t.at(uint32(word))
		}
		if word == 0 {
			return nil
		}
	}
}

// Is reports whether e is the connection with this tuple. e may be nil or a removed entry.
func (e *Entry[S]) Is(tuple *packet.Tuple) bool {
	return e != nil && e.Flags&used != 0 && e.Tuple == *tuple
}

// Find returns the entry of a connection, or nil.
func (t *Table[S]) Find(hash uint64, tuple *packet.Tuple) *Entry[S] {
	for i := uint32(hash) & t.mask; ; i = (i + 1) & t.mask {
		word := t.index[i]
		if uint32(word>>32) == uint32(hash) && word != 0 {
			if e := t.at(uint32(word)); e.Tuple == *tuple {
				return e
			}
		}
		if word == 0 {
			return nil
		}
	}
}

// Insert adds a connection that is not in the table. If there is no room, it removes a less important one.
func (t *Table[S]) Insert(hash uint64, tuple *packet.Tuple) *Entry[S] {
	if t.count >= t.limit {
		t.evict()
	}
	if t.count >= len(t.index)*3/4 {
		t.grow()
	}
	number := t.free
	if number != 0 {
		t.free = t.at(number).Next[0]
	} else {
		if t.made&(1<<t.shift-1) == 0 {
			t.slabs = append(t.slabs, Slab[Entry[S]](1<<t.shift))
		}
		t.made++
		number = t.made
	}
	t.index[t.slot(uint32(hash))] = hash<<32 | uint64(number)
	e := t.at(number)
	*e = Entry[S]{Tuple: *tuple, Flags: used}
	t.count++
	return e
}

// evict examines some entries, and removes the longest idle one among those of the lowest worth.
func (t *Table[S]) evict() {
	var worst *Entry[S]
	for seen := 0; seen < 16; t.hand++ {
		e := t.at(t.hand%t.made + 1)
		if e.Flags&used == 0 {
			continue
		}
		seen++
		if worst == nil || e.worth() < worst.worth() || e.worth() == worst.worth() && int32(e.Seen-worst.Seen) < 0 {
			worst = e
		}
	}
	if t.Evict != nil {
		t.Evict(worst)
	}
	t.Remove(worst)
}

// Remove removes an entry. It closes the gap in the index by moving up later slots, unless they are at their home
// position.
func (t *Table[S]) Remove(e *Entry[S]) {
	i := uint32(e.Tuple.Hash()) & t.mask
	for t.index[i] == 0 || t.at(uint32(t.index[i])) != e {
		i = (i + 1) & t.mask
	}
	number := uint32(t.index[i])
	for j := i; ; {
		j = (j + 1) & t.mask
		if t.index[j] == 0 {
			break
		}
		if home := uint32(t.index[j]>>32) & t.mask; (j-home)&t.mask >= (j-i)&t.mask {
			t.index[i] = t.index[j]
			i = j
		}
	}
	t.index[i] = 0
	*e = Entry[S]{}
	e.Next[0], t.free = t.free, number
	t.count--
}

// Sweep looks at the next n entries, in turn, and calls idle for those not seen since. idle may remove its entry.
func (t *Table[S]) Sweep(n int, now uint32, age func(e *Entry[S]) uint32, idle func(e *Entry[S])) {
	for range min(n, int(t.made)) {
		e := t.at(t.hand%t.made + 1)
		t.hand++
		if e.Flags&used != 0 && now-e.Seen > age(e) && int32(now-e.Seen) > 0 {
			idle(e)
		}
	}
}

// All calls each for every connection. each must not remove any.
func (t *Table[S]) All(each func(e *Entry[S])) {
	for number := range t.made {
		if e := t.at(number + 1); e.Flags&used != 0 {
			each(e)
		}
	}
}
