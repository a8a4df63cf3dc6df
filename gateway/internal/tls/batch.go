package tls

import (
	"github.com/sealane/sealane/batch"
)

// Small records of many connections are opened together, in the lanes of the CPU's vectors.
//
// A record goes into the batch if only its tag can prevent its delivery. It is opened with the number that it has if
// all records before it open. Afterwards, the records of the batch are processed in order. If an earlier one did not
// open, or changed the keys, a record is opened again in the ordinary way: its ciphertext is still available.

const (
	batchOps   = 64
	batchBytes = 128 << 10
	// Longer records fill the vectors by themselves.
	batchRecord = 2048
)

type pending struct {
	l     *Line
	c     *Conn
	rec   []byte
	mark  int64
	seq   uint64
	nonce [12]byte
	age   uint8 // of the keys
}

type batchState struct {
	ops     [batchOps]batch.Op
	pending [batchOps]pending
	n       int
	used    int
	memory  []byte
	busy    bool
}

// Take replaces Feed if p is a single small record and the state is the usual one; otherwise it returns false. It reads
// only the Line of the direction.
func (d *Decrypter) Take(l *Line, c *Conn, p []byte) bool {
	if !l.armed || len(p) < headerBytes+1+TagBytes || len(p) > batchRecord || p[0] != typeData || int(be.Uint16(p[3:])) != len(p)-headerBytes ||
		!d.Batch || d.batch.busy {
		return false
	}
	b := &d.batch
	if b.memory == nil {
		b.memory = make([]byte, batchBytes)
	}
	x, op := &b.pending[b.n], &b.ops[b.n]
	x.l, x.c, x.rec, x.age, x.mark = l, c, p, l.age, d.Mark
	x.seq = l.seq + uint64(l.queued)
	x.nonce = l.iv
	be.PutUint64(x.nonce[4:], be.Uint64(x.nonce[4:])^x.seq)
	l.queued++
	if l.gcm != 0 {
		op.AEAD = d.gcm.at(l.gcm)
	} else {
		op.AEAD = &l.chacha
	}
	op.Nonce, op.Src, op.AD = x.nonce[:], p[headerBytes:], p[:headerBytes]
	n := len(p) - headerBytes - TagBytes
	op.Dst = b.memory[b.used : b.used : b.used+n]
	// The next record starts on a new cache line.
	b.used += (n + 63) &^ 63
	if b.n++; b.n == batchOps {
		d.FlushAll()
	}
	return true
}

// Flush delivers all records of the batch, if some of them belong to a connection.
func (d *Decrypter) Flush(c *Conn) {
	for side, m := range c.mode {
		if m == armed && c.half[side].line.queued != 0 {
			d.FlushAll()
			return
		}
	}
}

// FlushAll opens the records of the batch, and delivers their contents. Their input memory must remain valid until
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
		d.Mark = x.mark
		x.l.queued--
		d.opened(x, op)
		*x = pending{}
		op.AEAD, op.Src, op.AD, op.Out = nil, nil, nil, nil
	}
	d.Mark = mark
	b.n, b.used, b.busy = 0, 0, false
}

// opened processes a record of the batch.
func (d *Decrypter) opened(x *pending, op *batch.Op) {
	l, c := x.l, x.c
	// The tag belongs to these keys and this number, so no other record can take its place.
	ok := op.Err == nil && l.armed && l.seq == x.seq && l.age == x.age
	if ok {
		text := op.Out
		n := len(text) - 1
		for n > 0 && text[n] == 0 {
			n--
		}
		if text[n] == typeData {
			l.seq++
			d.Stats.Records++
			if n > 0 {
				d.Stats.Bytes += uint64(n)
				d.Plaintext(c, l.side, text[:n])
			}
			if d.Read != nil {
				d.Read(c, l.side, x.rec)
			}
			return
		}
	}
	c.disarm(l.side)
	if h := &c.half[l.side]; ok {
		h.seq++
		d.inner13(c, l.side, op.Out)
		if d.Read != nil {
			d.Read(c, l.side, x.rec)
		}
	} else {
		d.feed(c, l.side, x.rec)
	}
	d.wakeUp(c)
	c.arm(l.side)
}
