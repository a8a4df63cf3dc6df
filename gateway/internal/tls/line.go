package tls

import (
	"unsafe"

	"github.com/sealane/sealane/internal/aead"

	"github.com/sealane/sealane/gateway/internal/flow"
)

// A Line is a cache line with all state for the next record of a direction, as long as nothing is unusual. No other
// state is read then. The user should store it next to the data that it reads first. It has no pointers.
//
// While it is armed, it has the number of the next record, and the Conn does not. Anything but a complete small record
// first moves the number back to the Conn, with disarm.
type Line struct {
	chacha aead.ChaCha20Poly1305
	iv     [12]byte
	armed  bool
	age    uint8 // of the keys
	queued uint8 // records in the batch
	side   uint8
	gcm    uint32 // number of the AES-GCM key; 0: the key is chacha
	seq    uint64
}

var _ = [1]struct{}{}[unsafe.Sizeof(Line{})-flow.Line]

// Attach gives a direction its Line, which must stay at its address until Move or Close.
func (c *Conn) Attach(side uint8, l *Line) {
	*l = Line{side: side}
	c.half[side].line = l
}

// Move declares that the Line of a direction is now at another address, with the same contents.
func (c *Conn) Move(side uint8, l *Line) { c.half[side].line = l }

// arm lets Take open the records of a direction with its Line alone, if they need no other state.
func (c *Conn) arm(side uint8) {
	h := &c.half[side]
	if l := h.line; l != nil && h.epoch == application && h.next == plain && c.mode[side] == reading &&
		h.have|h.fails == 0 && h.skip|h.doubt|h.missing == 0 && c.state == Readable && !c.Waiting() && !isCCM(h.aead) {
		l.chacha, l.gcm, l.iv, l.age, l.seq, l.armed = h.chacha, h.gcm, h.iv, h.age, h.seq, true
		c.mode[side] = armed
	}
}

// disarm moves the state in the Line of a direction back to the Conn.
func (c *Conn) disarm(side uint8) {
	if c.mode[side] == armed {
		h := &c.half[side]
		if h.seq != h.line.seq {
			c.proof[side] = current
		}
		h.seq, h.line.armed, c.mode[side] = h.line.seq, false, reading
	}
}

// forget wipes the keys in the Line of a direction.
func (c *Conn) forget(side uint8) {
	if l := c.half[side].line; l != nil {
		l.chacha, l.iv, l.gcm, l.armed = aead.ChaCha20Poly1305{}, [12]byte{}, 0, false
	}
	if c.mode[side] == armed {
		c.mode[side] = reading
	}
}

// settle delivers the batch if it has records of a connection, and disarms the connection's Lines.
func (d *Decrypter) settle(c *Conn) {
	d.Flush(c)
	c.disarm(Client)
	c.disarm(Server)
}

// Ahead prefetches the memory that the next record of a direction needs, except the Line itself.
func (d *Decrypter) Ahead(l *Line, c *Conn) {
	if !l.armed {
		// Not &c.half: Go would check c by reading from it, and wait for the memory.
		p := unsafe.Pointer(c)
		h := unsafe.Add(p, unsafe.Offsetof(c.half)+uintptr(l.side)*unsafe.Sizeof(half{}))
		r := unsafe.Add(p, unsafe.Offsetof(c.rest)+uintptr(l.side)*unsafe.Sizeof(rest{}))
		flow.Prefetch([]unsafe.Pointer{p, h, unsafe.Add(h, flow.Line), r})
	}
	if l.gcm != 0 {
		flow.PrefetchBytes(unsafe.Slice((*byte)(unsafe.Pointer(d.gcm.at(l.gcm))), unsafe.Sizeof(gcmKey{})))
	}
}

// A gcmKey is a key of AES-GCM, in whole cache lines.
type gcmKey struct {
	aead.AESGCM
	_ [flow.Line - unsafe.Sizeof(aead.AESGCM{})%flow.Line]byte
}

// KeyBytes is the size of a gcmKey.
const KeyBytes = int(unsafe.Sizeof(gcmKey{}))

// gcmKeys has the AES-GCM keys of all connections. Each takes about a kilobyte.
type gcmKeys struct {
	slabs [][]gcmKey
	free  []uint32
	shift uint8 // a slab has 1<<shift keys
}

const gcmShift = 11 // two megabytes

// expect sets the size of a slab: enough for this many connections, but at most two megabytes.
func (k *gcmKeys) expect(connections int) {
	for k.shift = 4; k.shift < gcmShift && 1<<k.shift < 2*connections; {
		k.shift++
	}
}

// at returns the key with a number. The first key has number 1.
func (k *gcmKeys) at(number uint32) *aead.AESGCM {
	number--
	return &k.slabs[number>>k.shift][number&(1<<k.shift-1)].AESGCM
}

func (k *gcmKeys) take() uint32 {
	if len(k.free) == 0 {
		k.slabs = append(k.slabs, flow.Slab[gcmKey](1<<k.shift))
		for n := uint32(len(k.slabs)) << k.shift; n > uint32(len(k.slabs)-1)<<k.shift; n-- {
			k.free = append(k.free, n)
		}
	}
	n := k.free[len(k.free)-1]
	k.free = k.free[:len(k.free)-1]
	return n
}

// give wipes a key.
func (k *gcmKeys) give(number uint32) {
	*k.at(number) = aead.AESGCM{}
	k.free = append(k.free, number)
}
