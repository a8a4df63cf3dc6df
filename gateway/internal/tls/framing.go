package tls

// Framing cuts the bytes of a direction into records. The direction's mode determines how they are processed:
//
//	mode       its bytes are                       next mode and its reason
//	reading    processed, record by record         armed     nothing is unusual
//	                                               holding   keys may arrive, or the other direction must be first
//	                                               disputed  a record does not open, or none starts here (with Dispute)
//	                                               scanning  the same (without Dispute), or bytes are missing
//	                                               counting  there are no keys, and the Decrypter does not wait for them
//	                                               ignoring  it is not TLS, or cannot be opened, and nothing was read
//	                                               losing    the same, but something was read or could have been
//	armed      opened by the Line alone (Take)     reading   anything but a complete small data record; settle
//	holding    kept, up to Limits                  due       Retry, Expire, a hello of the other direction, or the limit
//	due        kept, as before                     reading   the call ends; the kept bytes follow in order of arrival
//	disputed   kept, for the search for copies     reading   TryRecord, Seek, Resume, Rewind, Reset
//	scanning   searched for a record that opens    reading   one opens
//	counting   only counted, as records            reading   keys have arrived
//	                                               losing    the next bytes are not a record
//	ignoring   discarded                           reading   Reset, Rewind: before any record opened; Give, Advance
//	losing     discarded, and counted as lost      reading   the same

func (d *Decrypter) feed(c *Conn, side uint8, p []byte) {
	h := &c.half[side]
	for len(p) > 0 {
		switch c.mode[side] {
		case ignoring:
			return
		case losing:
			d.Stats.LostBytes += uint64(len(p))
			return
		case holding, due:
			d.hold(c, side, p)
			return
		case disputed:
			d.keep(c, side, p)
			return
		case scanning:
			d.scan(c, side, p)
			return
		}
		if h.skip > 0 {
			n := min(int(h.skip), len(p))
			h.skip -= uint32(n)
			p = p[n:]
			continue
		}
		if h.have == 0 && len(p) >= headerBytes {
			if size := headerBytes + int(be.Uint16(p[3:])); len(p) >= size {
				if !d.whole(c, side, p[:size]) {
					d.store(c, side, p)
					return
				}
				// No header starts at p, so the scan skips its first byte.
				if c.mode[side] == scanning {
					d.scan(c, side, p)
					return
				}
				p = p[size:]
				continue
			}
		}
		n, ok := d.gather(c, side, p)
		p = p[n:]
		if !ok {
			if c.mode[side] == disputed || c.mode[side] == reading {
				d.store(c, side, d.takePart(c, side))
				d.store(c, side, p)
				d.dropPart(c, side)
			}
			return
		}
	}
}

// store keeps the bytes of a direction that stops.
func (d *Decrypter) store(c *Conn, side uint8, p []byte) {
	if c.mode[side] == disputed {
		d.keep(c, side, p)
	} else {
		d.hold(c, side, p)
	}
}

// gather adds bytes to the partial record. It returns how many it took, and false if the record has to wait: then the
// record remains in part.
func (d *Decrypter) gather(c *Conn, side uint8, p []byte) (int, bool) {
	h, r := &c.half[side], &c.rest[side]
	n := 0
	if h.have < headerBytes {
		n = copy(r.head[h.have:], p)
		h.have += uint16(n)
		if h.have < headerBytes {
			return n, true
		}
		if !plausible(r.head[:]) {
			h.have = 0
			if d.unframed(c, side) == Refused {
				d.dispute(c, side)
				h.have = headerBytes
				return n, false
			}
			if c.mode[side] == scanning {
				d.scan(c, side, r.head[:])
			}
			return n, true
		}
		h.size = headerBytes + uint32(be.Uint16(r.head[3:]))
		if !d.takeBuffer(c, side) {
			d.Stats.PartialOut++
			h.have = 0
			h.skip = h.size - headerBytes
			d.passOver(c, side, h.size)
			return n, true
		}
	}
	m := min(int(h.size)-int(h.have), len(p)-n)
	copy(r.part[h.have:h.size], p[n:n+m])
	h.have += uint16(m)
	n += m
	if uint32(h.have) < h.size {
		return n, true
	}
	if !d.whole(c, side, r.part[:h.size]) {
		return n, false
	}
	if c.mode[side] == scanning {
		rec := r.part[:h.size]
		keep := r.part
		r.part, h.have = nil, 0
		d.scan(c, side, rec)
		d.giveBuffer(keep)
		return n, true
	}
	d.dropPart(c, side)
	return n, true
}

func (d *Decrypter) takePart(c *Conn, side uint8) []byte {
	h, r := &c.half[side], &c.rest[side]
	if r.part == nil {
		return r.head[:h.have]
	}
	return r.part[:h.have]
}

func (d *Decrypter) dropPart(c *Conn, side uint8) {
	h, r := &c.half[side], &c.rest[side]
	if r.part != nil {
		d.giveBuffer(r.part)
		r.part = nil
	}
	h.have, h.size = 0, 0
}

const smallRecord = 2048

func (d *Decrypter) takeBuffer(c *Conn, side uint8) bool {
	h, r := &c.half[side], &c.rest[side]
	pool, size := &d.large, maxRecord
	if h.size <= smallRecord {
		pool, size = &d.small, smallRecord
	}
	if d.partial+size > d.Limits.Partial {
		return false
	}
	d.partial += size
	if n := len(*pool); n > 0 {
		r.part = (*pool)[n-1]
		*pool = (*pool)[:n-1]
	} else {
		r.part = make([]byte, size)
	}
	copy(r.part, r.head[:])
	return true
}

func (d *Decrypter) giveBuffer(b []byte) {
	b = b[:cap(b)]
	d.partial -= len(b)
	pool := &d.large
	if len(b) == smallRecord {
		pool = &d.small
	}
	if len(*pool) < 4096 {
		*pool = append(*pool, b)
	}
}

// hold keeps bytes until the direction can continue.
func (d *Decrypter) hold(c *Conn, side uint8, p []byte) {
	r := &c.rest[side]
	if c.mode[side] != due {
		c.mode[side] = holding
	}
	c.disarm(1 - side)
	if len(p) == 0 {
		return
	}
	if len(r.held)+len(p) > d.Limits.HeldFlow || d.held+len(p) > d.Limits.Held {
		if c.patience[side] != patient {
			// It does not wait for keys: the other direction has not arrived.
			d.Stats.HeldOut += uint64(len(r.held) + len(p))
			r.why = TooMuch
			d.giveUp(c, side, Undecryptable)
			return
		}
		// Continue without keys. The records are counted, so late keys can still open later ones.
		c.patience[side], c.mode[side] = overfull, due
	}
	r.held = append(r.held, p...)
	d.held += len(p) + c.note(side, len(p), d.Mark)
}

// A Verdict is the result of a trial of a record, and then the outcome for the record.
type Verdict uint8

// Verdicts. The unexported ones are results of open only: become returns one of the others.
const (
	Taken     Verdict = iota // it opens
	Postponed                // until keys arrive, or the other direction continues
	Refused                  // it does not open
	passed                   // the same, and the direction continues after it
	keyless                  // nothing can open it
	unsealed                 // it has no tag: an unprotected record of the handshake, or one for middleboxes
	misshapen                // its header is not that of a record
)

// whole processes a complete record. It returns false if the direction stops before it.
func (d *Decrypter) whole(c *Conn, side uint8, rec []byte) bool {
	h := &c.half[side]
	d.took = false
	v := Taken
	if c.mode[side] != counting || d.late(c, side) {
		o, is := d.open(c, side, rec)
		v = d.become(c, side, rec, o, is)
	} else if !plausible(rec) {
		d.abandon(c, side)
	} else if rec[0] == typeData || c.version == version12 {
		h.seq++
		// If keys arrive later, the records before them are a hole.
		c.rest[side].gone++
		h.missing = min(h.missing+uint32(len(rec)), 1<<30)
	}
	if d.took && d.Read != nil {
		d.Read(c, side, rec)
	}
	if v == Refused {
		d.dispute(c, side)
	}
	return v == Taken
}

// open tries a record as the next one of a direction. It changes no state, so a trial ends here. Otherwise, become
// accepts the result.
func (d *Decrypter) open(c *Conn, side uint8, rec []byte) (o opening, v Verdict) {
	h := &c.half[side]
	if c.mode[1-side].holds() && d.behind(c, side) {
		return o, Postponed
	}
	if h.next != plain && rec[0] == typeData {
		e, k, ok := d.coming(c, side)
		switch {
		case !ok:
			return o, Postponed
		case e == plain:
			return o, keyless
		case k != nil:
			h, o.rekeyed = &half{aead: k.aead, iv: k.iv, epoch: e}, true
		default:
			h = &half{epoch: e}
		}
	}
	o.number, o.epoch = h.seq, h.epoch
	sealed := mayOpen13(rec)
	switch {
	case h.epoch == application && sealed: // the usual case
	case !plausible(rec):
		return o, misshapen
	case h.epoch == plain:
		return o, unsealed
	case h.epoch == protected12:
		if o.text = d.open12(c.suite, h, h.seq, rec); o.text != nil {
			return o, Taken
		}
		sealed = false
	case (rec[0] == typeCCS && len(rec) == headerBytes+1 || rec[0] == typeAlert && len(rec) == headerBytes+2) &&
		(!d.Dispute || c.proof[side] == unproved):
		return o, unsealed // for middleboxes, or from a side without keys; never after an authenticated record
	}
	if sealed && h.epoch != blind {
		if o.text = d.open13(h, h.seq, rec); o.text != nil {
			return o, Taken
		}
	}
	return d.otherwise(c, side, h, rec)
}

// become makes a direction continue with a record for which open returned v. It returns Refused or Postponed if the
// direction stops before it.
func (d *Decrypter) become(c *Conn, side uint8, rec []byte, o opening, v Verdict) Verdict {
	h := &c.half[side]
	switch v {
	case Taken:
		d.accept(c, side, rec, o)
		return Taken
	case Postponed:
		return Postponed
	case misshapen:
		return d.unframed(c, side)
	case unsealed:
		if h.epoch != plain {
			d.took = true
		} else if !d.plainRecord(c, side, rec) {
			return Postponed
		}
		return Taken
	}
	if h.next != plain && rec[0] == typeData && (!d.enter(c, side) || c.mode[side] != reading) {
		return Taken
	}
	switch {
	case v == passed:
		if h.fails++; h.epoch == handshake {
			d.Stats.EarlyDropped += uint64(len(rec))
			c.rest[side].why = NoKeys
		} else if h.fails > 1<<10 { // RFC 8449 allows records of 64 bytes; 64 KiB of certificates are not expected
			d.undecryptable(c, side)
		}
	case d.Dispute:
		return Refused
	case c.trials > maxConnTrials:
		d.abandon(c, side)
	default:
		d.bad(c, side, len(rec))
	}
	return Taken
}

// behind reports whether a direction has reached its application epoch, and must not overtake the other one, which
// holds bytes.
func (d *Decrypter) behind(c *Conn, side uint8) bool {
	h := &c.half[side]
	return (h.epoch >= application || h.next == application) && d.patient(c, side)
}

// unframed is called if bytes do not start with a record header where one should be.
func (d *Decrypter) unframed(c *Conn, side uint8) Verdict {
	h := &c.half[side]
	if h.epoch == plain && (h.next == plain || !d.enter(c, side) || c.mode[side] != reading) {
		d.giveUp(c, side, NotTLS)
		return Taken
	}
	c.rest[side].why = Unauthentic
	if h.aead == nil {
		d.Stats.BadRecords++
		d.abandon(c, side) // without keys, no later record can be found
		return Taken
	}
	if d.Dispute {
		return Refused
	}
	d.Stats.BadRecords++
	d.lost(c, side, headerBytes)
	d.beginScan(c, side, 0)
	return Taken
}
