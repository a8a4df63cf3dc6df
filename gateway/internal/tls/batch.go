package tls

import (
	"github.com/sealane/sealane/batch"
)

// Small records of many connections are opened together, in the lanes of the CPU's vectors.
//
// A record is taken into the batch if nothing but its tag can be in the way of delivering it, and with the number that it
// has if all before it open. When the batch is done, its records are taken in order. Where one before it did not open, or
// changed the keys, a record is opened again in the ordinary way: its ciphertext is still there.

const (
	batchOps   = 64
	batchBytes = 128 << 10
	// Longer records fill the vectors alone.
	batchRecord = 2048
)

type pending struct {
	c     *Conn
	rec   []byte
	mark  int64
	seq   uint64
	side  uint8
	age   uint8 // of the keys
	nonce [12]byte
}

type batchState struct {
	ops     [batchOps]batch.Op
	pending [batchOps]pending
	n       int
	used    int
	memory  []byte
	busy    bool
}

// enqueue takes p into the batch, if it is one small record.
func (d *Decrypter) enqueue(c *Conn, side uint8, p []byte) bool {
	h := &c.half[side]
	if h.epoch != application || h.mode != reading || h.have|h.fails != 0 || h.skip|h.doubt|h.missing != 0 || h.next != plain ||
		len(p) < minRecord || len(p) > batchRecord || p[0] != typeData || int(be.Uint16(p[3:])) != len(p)-headerBytes ||
		c.state != Readable || c.waiting || c.wake != [2]bool{} || !d.Batch || d.batch.busy {
		return false
	}
	b := &d.batch
	if b.memory == nil {
		b.memory = make([]byte, batchBytes)
	}
	x, op := &b.pending[b.n], &b.ops[b.n]
	x.c, x.rec, x.side, x.age, x.mark = c, p, side, h.age, d.Mark
	x.seq = h.seq + uint64(h.queued)
	x.nonce = h.iv
	be.PutUint64(x.nonce[4:], be.Uint64(x.nonce[4:])^x.seq)
	h.queued++
	op.AEAD, op.Nonce, op.Src, op.AD = h.aead, x.nonce[:], p[headerBytes:], p[:headerBytes]
	n := len(p) - headerBytes - tagBytes
	op.Dst = b.memory[b.used : b.used : b.used+n]
	// The next begins on a cache line of its own.
	b.used += (n + 63) &^ 63
	if b.n++; b.n == batchOps {
		d.FlushAll()
	}
	return true
}

// Flush delivers what the batch has of a connection, and of all others.
func (d *Decrypter) Flush(c *Conn) {
	if c.half[0].queued|c.half[1].queued != 0 {
		d.FlushAll()
	}
}

// FlushAll opens the records of the batch and delivers what was in them. The memory that they came in is needed until
// then.
func (d *Decrypter) FlushAll() {
	b := &d.batch
	if b.n == 0 || b.busy {
		return
	}
	b.busy = true
	batch.OpenBatch(b.ops[:b.n])
	mark := d.Mark
	for i := range b.n {
		x, op := &b.pending[i], &b.ops[i]
		c, h := x.c, &x.c.half[x.side]
		d.Mark = x.mark
		h.queued--
		// The tag belongs to these keys and this number: nobody else's record can be in its place.
		if op.Err == nil && h.seq == x.seq && h.age == x.age && h.epoch == application && h.mode == reading {
			h.seq++
			h.fails, h.doubt, h.opened = 0, 0, true
			d.inner13(c, x.side, op.Out)
		} else {
			d.feed(c, x.side, x.rec)
		}
		d.wakeUp(c)
		*x = pending{}
		op.AEAD, op.Src, op.AD, op.Out = nil, nil, nil, nil
	}
	d.Mark = mark
	b.n, b.used, b.busy = 0, 0, false
}
