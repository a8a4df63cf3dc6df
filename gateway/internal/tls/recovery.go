package tls

import (
	"math"

	"github.com/sealane/sealane/gateway/internal/keys"
)

// Recovery after loss. A hole within a record whose header has arrived loses only that record: the start and number of
// the next one are known. Otherwise the Decrypter searches the stream for bytes that look like a record, and tries the
// numbers that it may have. The tag decides. The lost records may have changed the keys, so the next keys are tried,
// too.

const (
	// If this many consecutive records do not open, the keys are wrong.
	maxFails = 16
	// The most numbers tried for one record, and the most trials in the life of a connection. They limit the work that
	// an attacker can cause.
	maxTrials     = 4096
	maxConnTrials = 1 << 16
	// The most KeyUpdates that a hole may hide.
	maxUpdates = 3
)

// Lose declares that the next n bytes of a direction will not arrive.
func (d *Decrypter) Lose(c *Conn, side uint8, n int) {
	h, r := &c.half[side], &c.rest[side]
	if n <= 0 {
		return
	}
	d.settle(c)
	if !c.mode[side].over() && c.mode[side] != counting {
		r.why = Missing
	}
	switch c.mode[side] {
	case ignoring, losing:
		return
	case counting:
		// Later records could be found only by opening them.
		d.dropPart(c, side)
		d.abandon(c, side)
		return
	case holding, due:
		n += len(r.held)
		d.Stats.HeldOut += uint64(len(r.held))
		d.held -= c.drop(side)
		c.mode[side] = reading
		if h.next != plain && !d.enter(c, side) {
			// Without keys there is nothing to search with.
			d.abandon(c, side)
			return
		}
		if c.mode[side] != reading {
			return
		}
	case scanning:
		// A hole in the searched bytes: the incomplete record before it cannot become complete.
		n += len(r.held)
		d.held -= len(r.held)
		r.held = r.held[:0]
		d.lost(c, side, n)
		h.doubt = min(h.doubt+uint32(min(n, 1<<30)/c.shortest())+1, maxTrials)
		return
	}
	if h.aead == nil && h.epoch != plain && h.epoch != blind {
		d.abandon(c, side)
		return
	}
	if left := int(h.size) - int(h.have); h.have >= headerBytes && n <= left && (h.epoch != plain || c.greeted(Server)) {
		h.skip = uint32(left - n)
		size := h.size
		d.dropPart(c, side)
		d.passOver(c, side, size)
		return
	}
	if h.epoch == plain && h.next == plain {
		// The start of the next record of an unprotected handshake is unknown.
		d.giveUp(c, side, Undecryptable)
		return
	}
	if h.next != plain {
		if !d.enter(c, side) || c.mode[side] != reading {
			d.abandon(c, side)
			return
		}
	}
	if int(h.skip) >= n {
		h.skip -= uint32(n)
		return
	}
	n -= int(h.skip)
	h.skip = 0
	if h.have > 0 {
		n += int(h.have)
		d.dropPart(c, side)
	}
	d.lost(c, side, n)
	d.beginScan(c, side, n)
}

// passOver skips a record of known size.
func (d *Decrypter) passOver(c *Conn, side uint8, size uint32) {
	h, r := &c.half[side], &c.rest[side]
	h.seq++
	r.gone++
	h.doubt = min(h.doubt+1, maxTrials)
	r.hs.reset()
	r.hs.lost = h.epoch == handshake || h.epoch == early
	d.lost(c, side, int(size))
}

// lost records that n bytes of the stream will not be opened. The report precedes the next delivered bytes, because the
// number of lost records is known only then.
func (d *Decrypter) lost(c *Conn, side uint8, n int) {
	h := &c.half[side]
	if h.epoch != plain {
		d.Stats.LostBytes += uint64(n)
		h.missing = uint32(min(uint64(h.missing)+uint64(n), 1<<30))
	}
}

func (d *Decrypter) reportLost(c *Conn, side uint8) {
	h, r := &c.half[side], &c.rest[side]
	n := max(1, int(h.missing)-int(r.gone)*c.overhead())
	h.missing, r.gone = 0, 0
	d.Lost(c, side, n)
}

func (d *Decrypter) beginScan(c *Conn, side uint8, lost int) {
	h, r := &c.half[side], &c.rest[side]
	c.mode[side] = scanning
	r.held = nil
	h.doubt = uint32(min(int(h.doubt)+lost/c.shortest()+1, maxTrials))
	r.hs.reset()
	r.hs.lost = h.epoch == handshake || h.epoch == early
}

// scan searches for the next record that opens.
func (d *Decrypter) scan(c *Conn, side uint8, p []byte) {
	h, r := &c.half[side], &c.rest[side]
	c.mode[side] = scanning
	r.held = append(r.held, p...)
	d.held += len(p)
	b := r.held
	i := 0
	for ; len(b)-i >= headerBytes; i++ {
		if !plausible(b[i:]) {
			continue
		}
		size := headerBytes + int(be.Uint16(b[i+3:]))
		if len(b)-i < size {
			break
		}
		if rest := b[i+size:]; len(rest) >= headerBytes && !plausible(rest) {
			continue
		}
		if o, ok := d.find(c, side, h, b[i:i+size], 0); ok {
			// The bytes before it belong to lost records.
			h.missing = uint32(min(uint64(h.missing)+uint64(i), 1<<30))
			d.accept(c, side, b[i:i+size], o)
			d.Stats.Resyncs++
			d.Stats.LostBytes += uint64(i)
			d.held -= len(r.held) // 0 if accept has given up the direction
			r.held = nil
			if c.mode[side] == scanning {
				c.mode[side] = reading
			}
			d.feed(c, side, b[i+size:])
			return
		}
		if c.trials > maxConnTrials && !d.Dispute {
			d.abandon(c, side)
			d.held -= len(r.held)
			r.held = nil
			return
		}
	}
	d.lost(c, side, i)
	h.doubt = uint32(min(int(h.doubt)+i/c.shortest(), maxTrials))
	d.held -= i
	r.held = append(r.held[:0], b[i:]...)
}

// otherwise tries other keys and numbers for a record that does not open with the key and number in h.
func (d *Decrypter) otherwise(c *Conn, side uint8, h *half, rec []byte) (o opening, v Verdict) {
	if h.epoch == early || h.epoch == blind {
		// The next keys may be late, too.
		next := application
		if h.epoch == early {
			next = handshake
		}
		if _, wait := d.secret(c, side, labelOf[next][side]); wait {
			return o, Postponed
		}
	}
	ok, first := false, h != &c.half[side] || c.proof[side] != current
	if first {
		o, ok = d.otherSecret(c, side, h, rec)
	}
	if !ok {
		o, ok = d.find(c, side, h, rec, 1)
	}
	switch {
	case ok:
		return o, Taken
	case h.epoch == blind: // a record of the handshake
		return o, passed
	case side == Client && h.epoch == handshake && first && c.early != earlyNone && h.fails < math.MaxUint16:
		return o, passed // 0-RTT data that the server rejects, or that has no key
	}
	return o, Refused
}

// An opening is a record that opens. It changes no state until accept.
type opening struct {
	text    []byte // in the scratch memory: valid until the next trial
	number  uint64 // of the record
	lost    uint32 // how many records before it accept gives up
	rekeyed bool   // it opens with the keys derived last, instead of the installed ones
	epoch   epoch  // of its keys
	updated bool   // its keys follow from the installed ones by lost KeyUpdates
}

// accept makes a direction continue after a record that opens, and delivers its contents.
func (d *Decrypter) accept(c *Conn, side uint8, rec []byte, o opening) {
	h := &c.half[side]
	if o.rekeyed {
		if o.epoch != h.epoch && o.number == 0 {
			h.missing, c.rest[side].gone = 0, 0 // only handshake records were lost
		}
		d.install(c, side)
		if o.updated {
			c.lineage[side] = afterUpdate[c.lineage[side]]
		}
		h.epoch, h.next = o.epoch, plain // a later enter would restart the numbers
		d.enough(c)
	}
	if o.lost > 0 { // the condition saves access to another cache line
		c.rest[side].gone += o.lost
	}
	h.seq, h.doubt, h.fails = o.number+1, 0, 0
	if c.mode[side] == scanning {
		c.mode[side] = reading
	}
	if h.epoch == protected12 {
		d.inner12(c, side, rec[0], o.text)
	} else {
		d.inner13(c, side, o.text)
	}
}

// otherSecret tries all secrets on the first record of an epoch, if there are several for the client random.
func (d *Decrypter) otherSecret(c *Conn, side uint8, h *half, rec []byte) (o opening, ok bool) {
	if c.Given() || c.suite == nil || h.epoch == plain || h.epoch == blind || h.seq != 0 {
		return o, false
	}
	label := keys.Master
	if h.epoch != protected12 {
		if label = labelOf[h.epoch][side]; !mayOpen13(rec) {
			return o, false
		}
	}
	if s, _ := d.secret(c, side, label); s == nil || !c.secrets.Ambiguous() {
		return o, false
	}
	k := d.newKeys()
	o = opening{rekeyed: true, epoch: h.epoch}
	for n := 0; ; n++ {
		s := c.secrets.Candidate(label, n)
		if s == nil {
			k.wipe()
			return o, false
		}
		d.Stats.Trials++
		if h.epoch == protected12 {
			if k.fromMaster(c.suite, side, s, &c.random[Client], &c.random[Server]) {
				o.text = d.open12(c.suite, &half{aead: k.aead, iv: k.iv}, 0, rec)
			}
		} else if k.fromTraffic(c.suite, s) {
			o.text = d.open13(&half{aead: k.aead, iv: k.iv}, 0, rec)
		}
		if o.text != nil {
			return o, true
		}
	}
}

// bad skips a record that does not open.
func (d *Decrypter) bad(c *Conn, side uint8, size int) {
	h, r := &c.half[side], &c.rest[side]
	d.Stats.BadRecords++
	h.fails++
	h.seq++
	r.gone++
	h.doubt = min(h.doubt+1, maxTrials)
	r.why = Unauthentic
	if c.proof[side] != current && h.fails >= maxFails {
		if c.proof[side] == unproved {
			r.why = WrongKeys
		}
		d.abandon(c, side)
		return
	}
	d.lost(c, side, size)
}

// mayOpen13 reports whether a record may be a protected one of TLS 1.3.
func mayOpen13(rec []byte) bool {
	return rec[0] == typeData && len(rec) >= minRecord && len(rec) <= headerBytes+maxText13
}

// find is look, limited by the trials in the life of a connection.
func (d *Decrypter) find(c *Conn, side uint8, h *half, rec []byte, from uint32) (o opening, ok bool) {
	if c.trials > maxConnTrials {
		return o, false
	}
	before := d.Stats.Trials
	o, ok = d.look(c, side, h, rec, from, h.doubt)
	c.trials += uint32(d.Stats.Trials - before)
	return o, ok
}

// look tries the keys and numbers that a record may have, if up to `doubt` records before it were lost. With the
// installed key, it assumes that at least `from` records were lost.
func (d *Decrypter) look(c *Conn, side uint8, h *half, rec []byte, from, doubt uint32) (o opening, ok bool) {
	tls12 := h.epoch == protected12
	if !tls12 && !mayOpen13(rec) {
		return o, false
	}
	if h.epoch != blind && h.epoch != plain {
		for n := from; n <= doubt; n++ {
			d.Stats.Trials++
			o = opening{number: h.seq + uint64(n), lost: n}
			if tls12 {
				o.text = d.open12(c.suite, h, o.number, rec)
			} else {
				o.text = d.open13(h, o.number, rec)
			}
			if o.text != nil {
				return o, true
			}
		}
	}
	if tls12 {
		return o, false
	}
	return d.lookNext(c, side, h, rec, doubt)
}

// lookNext tries the keys of the next epochs, and those after KeyUpdates.
func (d *Decrypter) lookNext(c *Conn, side uint8, h *half, rec []byte, doubt uint32) (o opening, ok bool) {
	r := &c.rest[side]
	if c.suite == nil || c.lineage[side] == bare {
		return o, false
	}
	k := d.newKeys()
	before := d.Stats.Trials
	try := h.epoch
	for {
		switch try {
		case early:
			try = handshake
		case handshake, blind:
			try = application
		default:
			// Only loss, or a record that did not open, can hide KeyUpdates.
			secret := r.secret
			defer clear(secret[:])
			for n := uint32(0); try == h.epoch && n < min(doubt, maxUpdates); n++ {
				if k = d.newKeys(); !k.update(c.suite, &secret) {
					break
				}
				secret = k.secret
				if o, ok = d.tryKeys(k, rec, doubt); ok {
					o.epoch, o.updated = application, true
					return o, true
				}
			}
			return o, false
		}
		// Finished has been read, unless records before this one are lost.
		if h.epoch == handshake && doubt == 0 && !r.hs.lost {
			return o, false
		}
		if secret, _ := d.secret(c, side, labelOf[try][side]); secret != nil {
			for n := 0; ; n++ {
				if secret = c.secrets.Candidate(labelOf[try][side], n); secret == nil {
					break
				}
				if k.fromTraffic(c.suite, secret) {
					if o, ok = d.tryKeys(k, rec, doubt); ok {
						o.epoch = try
						return o, true
					}
				}
				if k = d.newKeys(); n > 0 && d.Stats.Trials-before > maxConnTrials {
					break
				}
			}
		}
		if try == application {
			return o, false
		}
	}
}

// tryKeys tries newly derived keys, with the numbers from 0 to doubt.
func (d *Decrypter) tryKeys(k *keySet, rec []byte, doubt uint32) (o opening, ok bool) {
	h := half{aead: k.aead, iv: k.iv}
	for n := range doubt + 1 {
		d.Stats.Trials++
		if text := d.open13(&h, uint64(n), rec); text != nil {
			return opening{text: text, number: uint64(n), lost: n, rekeyed: true}, true
		}
	}
	k.wipe()
	return o, false
}

// abandon stops reading a direction.
func (d *Decrypter) abandon(c *Conn, side uint8) {
	c.mode[side] = losing
	d.Stats.GivenUp++
	d.lost(c, side, 1)
	if c.state == Starting {
		c.state = Undecryptable
	}
}

// giveUp stops reading a connection because of one side's data. It continues with the other side, if a record of that
// has opened or may open.
func (d *Decrypter) giveUp(c *Conn, side uint8, why State) {
	c.disarm(Client)
	c.disarm(Server)
	if c.state != Readable {
		c.state = why
	}
	for s := range uint8(2) {
		if s != side && (c.proof[s] != unproved || d.Dispute && c.greeted(side)) {
			continue // the hello of side is enough to read s
		}
		if r := &c.rest[s]; why == NotTLS && c.state != Readable {
			r.why = Foreign
		} else if why == NotTLS {
			r.why = Unauthentic
		} else if why == Unsupported {
			r.why = NoCipher
		} else if r.why == Nothing {
			r.why = Missing
		}
		d.held -= c.drop(s)
		d.dropPart(c, s)
		if !c.mode[s].over() {
			d.Stats.GivenUp++
			if c.mode[s] = ignoring; c.state == Readable {
				c.mode[s] = losing
			}
		}
	}
}

// undecryptable declares that a direction has no keys now. Its records are counted, so keys that arrive later find the
// right number.
func (d *Decrypter) undecryptable(c *Conn, side uint8) {
	c.mode[side] = counting
	if r := &c.rest[side]; r.why == Nothing {
		r.why = NoKeys
	}
	if c.state == Starting {
		c.state = Undecryptable
	}
}
