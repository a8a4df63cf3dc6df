package tls

import (
	"bytes"

	"github.com/sealane/sealane/gateway/internal/keys"
)

// A direction whose next record does not open stops there, if the user asks for that with Decrypter.Dispute: the bytes may be
// forged, and other copies of them may be there or come. The user takes what waits, and decides how it goes on:
//
//	state      what happens                              state after it
//	reading    a record does not open, or is none        disputed; Disputed tells, TakeHeld has the bytes
//	disputed   TryRecord: another copy opens             reading, behind it
//	disputed   Seek: a record further on opens           reading, behind it; what is before it is lost
//	disputed   Resume: nothing else will come            scanning; reading, if there are no keys
//	any        Rewind, Reset: before any record opened   reading, from the beginning

func (d *Decrypter) dispute(c *Conn, side uint8) {
	d.halt(c, side)
	if d.Disputed != nil {
		d.Disputed(c)
	}
}

// halt has a direction stop, in the epoch of its next record if that can be read.
func (d *Decrypter) halt(c *Conn, side uint8) {
	if c.half[side].next != plain {
		if e, k, ok := d.coming(c, side); ok && e != plain {
			d.begin(c, side, e, k != nil)
		}
	}
	c.mode[side] = disputed
}

// keep adds to what a disputed direction has.
func (d *Decrypter) keep(c *Conn, side uint8, p []byte) {
	r := &c.rest[side]
	r.held = append(r.held, p...)
	d.held += len(p)
}

// InDispute tells whether a direction has stopped.
func (c *Conn) InDispute(side uint8) bool { return c.mode[side] == disputed }

// Proved tells whether a record of a direction was opened: its keys, and the hellos that they follow from, are right.
func (c *Conn) Proved(side uint8) bool { return c.proof[side] != unproved || c.Given() }

// Opened tells whether a record of a direction was opened.
func (c *Conn) Opened(side uint8) bool { return c.proof[side] != unproved }

// Foremost tells whether this is one of the first connections with its client random of which a record opened.
func (c *Conn) Foremost() bool { return c.nth <= keys.Claims }

// Searching tells whether a direction is searched for its next record, as keys came for the middle of it.
func (c *Conn) Searching(side uint8) bool { return c.mode[side] == scanning }

// Protected tells whether the tag of its next record decides what a direction is: its keys are there.
func (c *Conn) Protected(side uint8) bool {
	h := &c.half[side]
	return h.aead != nil && !c.mode[side].over() && c.mode[side] != counting
}

// Partial tells whether what is pending of a direction is the beginning of a record.
func (c *Conn) Partial(side uint8) bool { return c.mode[side] == reading && c.half[side].have > 0 }

// Hello tells whether a ClientHello was read.
func (c *Conn) Hello() bool { return c.hellos != unheard }

// Pending returns the bytes that were fed last and that no tag has confirmed: the beginning of a record, or waiting bytes. They
// are valid until the next call.
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

// TakeHeld returns what waits in a direction that is disputed, or searched, and leaves nothing there.
func (d *Decrypter) TakeHeld(c *Conn, side uint8) []byte {
	r := &c.rest[side]
	b := r.held
	r.held = nil
	d.held -= len(b)
	return b
}

// changeBytes is what a ChangeCipherSpec takes. In the handshake of TLS 1.3 one may come before any record, for
// middleboxes (RFC 8446, section 5); but nothing shows who sent it until the record behind it opens.
const changeBytes = headerBytes + 1

// Prefix returns how many bytes at the beginning of a disputed direction's data are to be tried together with the
// record behind them.
func (c *Conn) Prefix(side uint8, b []byte) int {
	e := c.half[side].epoch
	if (e == early || e == handshake) && bytes.HasPrefix(b, []byte{typeCCS, 3, 3, 0, 1, 1}) {
		return changeBytes
	}
	return 0
}

// TryRecord takes a record as the next one of a disputed direction, if it opens. Before it there may be a Prefix.
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
	if v != Taken { // as a hello says
		c.mode[side] = disputed
		return v
	}
	d.wakeUp(c)
	c.arm(side)
	return Taken
}

// Resume has a disputed direction go on with its bytes, as nothing else will come: what opens behind those that do not is looked for.
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

// Seek takes a record behind gap bytes that are missing or do not open, if it opens with one of the numbers that it may have: in a direction
// that is disputed, or is searched. If it does not, nothing has changed. Of work it takes the bytes that it tried to open; it tries as many
// numbers as there is work for, and one at least.
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
	if c.mode[side] == scanning { // what was searched until now is before it
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

// Pass says that the next bytes of a direction that is searched are of no record that will open.
func (d *Decrypter) Pass(c *Conn, side uint8, n int) {
	h := &c.half[side]
	d.lost(c, side, n)
	h.doubt = uint32(min(int(h.doubt)+n/c.shortest(), maxTrials))
}

// Stop has a direction wait as if its next record had not opened.
func (d *Decrypter) Stop(c *Conn, side uint8) {
	d.settle(c)
	if c.mode[side] == reading {
		d.halt(c, side)
		d.keep(c, side, d.takePart(c, side))
		d.dropPart(c, side)
	}
}

// Reset has a connection of which no record was opened begin anew.
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
		d.Stats.GivenUp-- // it was not, after all
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

// Rewind has one direction, of which no record was opened, begin anew. Of the other one, records were.
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
