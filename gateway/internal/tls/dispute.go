package tls

import (
	"bytes"

	"github.com/sealane/sealane/gateway/internal/keys"
)

// With Decrypter.Dispute, a direction stops if its next record does not open. The bytes may be forged, and other copies
// of them may be held or still arrive. The user takes the waiting bytes, and decides how to continue:
//
//	state      event                                     next state
//	reading    a record does not open, or is invalid     disputed; Disputed is called, TakeHeld has the bytes
//	disputed   TryRecord: another copy opens             reading, after it
//	disputed   Seek: a later record opens                reading, after it; the bytes before it are lost
//	disputed   Resume: there are no other copies         scanning; reading, if there are no keys
//	any        Rewind, Reset: before any record opened   reading, from the start

func (d *Decrypter) dispute(c *Conn, side uint8) {
	d.halt(c, side)
	if d.Disputed != nil {
		d.Disputed(c)
	}
}

// halt stops a direction, in the epoch of its next record if that can be read.
func (d *Decrypter) halt(c *Conn, side uint8) {
	if c.half[side].next != plain {
		if e, k, ok := d.coming(c, side); ok && e != plain {
			d.begin(c, side, e, k != nil)
		}
	}
	c.mode[side] = disputed
}

// keep adds bytes to a disputed direction.
func (d *Decrypter) keep(c *Conn, side uint8, p []byte) {
	r := &c.rest[side]
	r.held = append(r.held, p...)
	d.held += len(p)
}

// InDispute reports whether a direction has stopped.
func (c *Conn) InDispute(side uint8) bool { return c.mode[side] == disputed }

// Proved reports whether a record of a direction has opened, so that its keys and the hellos that they follow from are
// right.
func (c *Conn) Proved(side uint8) bool { return c.proof[side] != unproved || c.Given() }

// Opened reports whether a record of a direction has opened.
func (c *Conn) Opened(side uint8) bool { return c.proof[side] != unproved }

// Foremost reports whether this is one of the first connections with its client random and an opened record.
func (c *Conn) Foremost() bool { return c.nth <= keys.Claims }

// Searching reports whether a direction is searched for its next record, because its keys are for the middle of the
// stream.
func (c *Conn) Searching(side uint8) bool { return c.mode[side] == scanning }

// Protected reports whether the tag of its next record decides about a direction: its keys are there.
func (c *Conn) Protected(side uint8) bool {
	h := &c.half[side]
	return h.aead != nil && !c.mode[side].over() && c.mode[side] != counting
}

// Partial reports whether the pending bytes of a direction are the start of a record.
func (c *Conn) Partial(side uint8) bool { return c.mode[side] == reading && c.half[side].have > 0 }

// Hello reports whether a ClientHello was read.
func (c *Conn) Hello() bool { return c.hellos != unheard }

// Pending returns the last bytes fed that no tag has confirmed: the start of a record, or waiting bytes. They are valid
// until the next call.
func (d *Decrypter) Pending(c *Conn, side uint8) []byte {
	r := &c.rest[side]
	switch c.mode[side] {
	case holding, due, disputed:
		return r.held
	case reading, armed, counting:
		return d.takePart(c, side)
	}
	return nil
}

// TakeHeld returns and removes the waiting bytes of a disputed or searched direction.
func (d *Decrypter) TakeHeld(c *Conn, side uint8) []byte {
	r := &c.rest[side]
	b := r.held
	r.held = nil
	d.held -= len(b)
	return b
}

// changeBytes is the size of a ChangeCipherSpec record. In the TLS 1.3 handshake one may precede any record, for
// middleboxes (RFC 8446, section 5). Nothing shows its sender until the next record opens.
const changeBytes = headerBytes + 1

// Prefix returns how many bytes at the start of a disputed direction's data must be tried together with the next
// record.
func (c *Conn) Prefix(side uint8, b []byte) int {
	e := c.half[side].epoch
	if (e == early || e == handshake) && bytes.HasPrefix(b, []byte{typeCCS, 3, 3, 0, 1, 1}) {
		return changeBytes
	}
	return 0
}

// TryRecord accepts a record as the next one of a disputed direction, if it opens. A Prefix may precede it.
func (d *Decrypter) TryRecord(c *Conn, side uint8, rec []byte) Verdict {
	d.settle(c)
	skip := 0
	if len(rec) > changeBytes {
		skip = c.Prefix(side, rec)
	}
	o, v := d.open(c, side, rec[skip:])
	if v == Postponed || v == Refused {
		return v
	}
	c.mode[side], d.took = reading, false
	v = d.become(c, side, rec[skip:], o, v)
	if d.took && d.Read != nil {
		d.Read(c, side, rec)
	}
	if v != Taken { // a hello decides
		c.mode[side] = disputed
		return v
	}
	d.wakeUp(c)
	c.arm(side)
	return Taken
}

// Resume makes a disputed direction continue with its own bytes, because there are no other copies. It searches for
// later records that open.
func (d *Decrypter) Resume(c *Conn, side uint8) {
	if c.mode[side] != disputed {
		return
	}
	b := d.TakeHeld(c, side)
	if c.half[side].aead == nil {
		c.mode[side] = reading
		d.Feed(c, side, b)
		return
	}
	d.Stats.BadRecords++
	d.beginScan(c, side, 0)
	d.scan(c, side, b)
}

// Seek accepts a record after a gap of missing or unopened bytes, if it opens with one of its possible numbers. The
// direction is disputed or searched. If the record does not open, nothing changes. Seek subtracts the bytes of all
// trials from work. It tries as many numbers as work allows, but at least one.
func (d *Decrypter) Seek(c *Conn, side uint8, rec []byte, gap int, work *int) bool {
	h, r := &c.half[side], &c.rest[side]
	if h.aead == nil || h.epoch != protected12 && rec[0] != typeData {
		return false
	}
	d.settle(c)
	doubt := uint32(min(int(h.doubt)+gap/c.shortest()+1, maxTrials, max(1, *work/TrialBytes(len(rec)))))
	trials := d.Stats.Trials
	o, ok := d.look(c, side, h, rec, 0, doubt)
	*work -= int(d.Stats.Trials-trials) * TrialBytes(len(rec))
	if !ok {
		return false
	}
	d.Stats.Resyncs++
	d.Stats.LostBytes += uint64(gap)
	if c.mode[side] == scanning { // the bytes searched so far precede it
		d.Stats.LostBytes += uint64(len(r.held))
		d.held -= len(r.held)
		r.held = nil
	}
	h.missing = uint32(min(uint64(h.missing)+uint64(gap), 1<<30))
	c.mode[side] = reading
	r.hs.reset()
	r.hs.lost = h.epoch == handshake || h.epoch == early
	d.accept(c, side, rec, o)
	d.wakeUp(c)
	c.arm(side)
	return true
}

// TrialBytes is the cost of opening a record of n bytes, in bytes.
func TrialBytes(n int) int { return n + 256 }

// Pass declares that the next bytes of a searched direction belong to no record that will open.
func (d *Decrypter) Pass(c *Conn, side uint8, n int) {
	h := &c.half[side]
	d.lost(c, side, n)
	h.doubt = uint32(min(int(h.doubt)+n/c.shortest(), maxTrials))
}

// Stop makes a direction wait as if its next record had not opened.
func (d *Decrypter) Stop(c *Conn, side uint8) {
	d.settle(c)
	if c.mode[side] == reading {
		d.halt(c, side)
		d.keep(c, side, d.takePart(c, side))
		d.dropPart(c, side)
	}
}

// Reset restarts a connection without an opened record.
func (d *Decrypter) Reset(c *Conn) {
	d.settle(c)
	if c.waits != nil {
		d.held -= len(c.waits.early) + len(c.waits.order)*partBytes
		clear(c.waits.early)
		c.waits = nil
	}
	for s := range uint8(2) {
		d.rewind(c, s)
	}
	d.dropSecrets(c)
	c.hellos, c.version, c.state, c.early, c.suite = unheard, 0, Starting, earlyNone, nil
	c.random = [2][32]byte{}
}

func (d *Decrypter) rewind(c *Conn, side uint8) {
	h, r := &c.half[side], &c.rest[side]
	if c.mode[side].over() {
		d.Stats.GivenUp-- // undoes the count
	}
	d.held -= len(r.held)
	d.dropPart(c, side)
	d.dropKeys(c, side)
	r.hs.reset()
	*h, *r, c.mode[side] = half{line: h.line, age: h.age + 1}, rest{}, reading
	if d.Again != nil {
		d.Again(c, side)
	}
}

// Rewind restarts a direction without an opened record; the other direction has opened records.
func (d *Decrypter) Rewind(c *Conn, side uint8) {
	d.settle(c)
	d.held -= c.drop(side)
	d.rewind(c, side)
	h := &c.half[side]
	if c.version == version13 {
		h.next = handshake
		if side == Client && (c.early == earlyOffered || c.early == earlyAccepted) {
			h.next = early
		}
	}
}
