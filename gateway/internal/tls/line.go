package tls

import (
	"unsafe"

	"github.com/sealane/sealane/internal/aead"

	"github.com/sealane/sealane/gateway/internal/flow"
)

// A Line is what the next record of a direction needs as long as nothing is unusual, and nothing else is looked at then. It
// is a cache line, to be kept where the user finds it first. It has no pointers.
//
// While it is armed, the number of the next record is here and not in the Conn. Whatever is not a whole small record in
// the usual place takes it back first, with settle.
type Line struct {
	chacha aead.ChaCha20Poly1305
	iv     [12]byte
	armed  bool
	age    uint8 // of the keys
	queued uint8 // records in the batch
	side   uint8
	gcm    uint32 // number of the key; 0: it is chacha
	seq    uint64
}

var _ = [1]struct{}{}[unsafe.Sizeof(Line{})-flow.Line]

// Attach gives a direction its Line, which must stay where it is until Close.
func (c *Conn) Attach(side uint8, l *Line) {
	*l = Line{side: side}
	c.half[side].line = l
}

// arm has records opened by what is in the Lines, where that is all that they need.
func (c *Conn) arm() {
	if c.state != Readable || c.waiting || c.wake != [2]bool{} {
		return
	}
	for side := range c.half {
		h := &c.half[side]
		l := h.line
		if l == nil || l.armed || h.epoch != application || h.next != plain || h.mode != reading ||
			h.have|h.fails != 0 || h.skip|h.doubt|h.missing != 0 {
			continue
		}
		l.chacha, l.gcm, l.iv, l.age, l.seq, l.armed = h.chacha, h.gcm, h.iv, h.age, h.seq, true
	}
}

// disarm takes back what the Lines know better.
func (c *Conn) disarm() {
	for side := range c.half {
		if h := &c.half[side]; h.line != nil && h.line.armed {
			h.opened = h.opened || h.seq != h.line.seq
			h.seq, h.line.armed = h.line.seq, false
		}
	}
}

// forget wipes the keys of a Line.
func (l *Line) forget() {
	l.chacha, l.iv, l.gcm, l.armed = aead.ChaCha20Poly1305{}, [12]byte{}, 0, false
}

// settle delivers what the batch has, and disarms the Lines of a connection.
func (d *Decrypter) settle(c *Conn) {
	d.Flush(c)
	c.disarm()
}

// Ahead appends the addresses of what the next record of a direction needs besides its Line. It reads the Line.
func (d *Decrypter) Ahead(to []unsafe.Pointer, l *Line, c *Conn) []unsafe.Pointer {
	if !l.armed {
		h, r := unsafe.Pointer(&c.half[l.side]), unsafe.Pointer(&c.rest[l.side])
		return append(to, unsafe.Pointer(c), h, unsafe.Add(h, 64), r, unsafe.Add(r, 64))
	}
	if l.gcm != 0 {
		k := unsafe.Pointer(d.gcm.at(l.gcm))
		return append(to, k, unsafe.Add(k, 64), unsafe.Add(k, 128))
	}
	return to
}

// gcmKeys are the keys of AES-GCM of all connections. They take a kilobyte each.
type gcmKeys struct {
	slabs [][]aead.AESGCM
	free  []uint32
}

const gcmShift = 11 // two megabytes

// at returns the key with a number, which begin with 1.
func (k *gcmKeys) at(number uint32) *aead.AESGCM {
	number--
	return &k.slabs[number>>gcmShift][number%(1<<gcmShift)]
}

func (k *gcmKeys) take() uint32 {
	if len(k.free) == 0 {
		k.slabs = append(k.slabs, flow.Slab[aead.AESGCM](1<<gcmShift))
		for n := uint32(len(k.slabs)) << gcmShift; n > uint32(len(k.slabs)-1)<<gcmShift; n-- {
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
