package tls

// Framing cuts the bytes of a direction into records. What becomes of them is the direction's mode:
//
//	mode       what its bytes are                     goes on to
//	reading    records, taken one by one              armed     all is as usual
//	                                                  holding   keys may come yet, or the other direction has to be first
//	                                                  disputed  a record does not open, or none begins here (with Dispute)
//	                                                  scanning  the same (without Dispute), or bytes are missing
//	                                                  counting  there are no keys, and none are waited for
//	                                                  ignoring  it is not TLS, or nothing can open it, and nothing was read
//	                                                  losing    the same, and something was read or could have been
//	armed      records, by the Line alone (Take)      reading   whatever is not a whole small record of data; settle
//	holding    kept, up to Limits                     due       Retry, Expire, a hello of the other direction; or too many are kept
//	due        kept, as before                        reading   when the call that made it so ends, in the order in which they came
//	disputed   kept, for the search for copies        reading   TryRecord, Seek, Resume, Rewind, Reset
//	scanning   searched for a record that opens       reading   one opens
//	counting   records, that are only counted         reading   keys have come
//	                                                  losing    the next bytes are no record
//	ignoring   thrown away                            reading   Reset, Rewind: before any record opened; Give, Advance
//	losing     thrown away, and counted as lost       reading   the same

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
				// A scan begins behind the byte that is no header.
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

// store keeps bytes of a direction that stops.
func (d *Decrypter) store(c *Conn, side uint8, p []byte) {
	if c.mode[side] == disputed {
		d.keep(c, side, p)
	} else {
		d.hold(c, side, p)
	}
}

// gather adds to the partial record. It returns how many bytes it took, and false if the record has to wait: then it is
// still in part.
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

// hold keeps bytes until the direction can go on.
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
			// It is not keys that it waits for: the other direction never came.
			d.Stats.HeldOut += uint64(len(r.held) + len(p))
			r.why = TooMuch
			d.giveUp(c, side, Undecryptable)
			return
		}
		// Go on without keys: records are counted, and found again if the keys come yet.
		c.patience[side], c.mode[side] = overfull, due
	}
	r.held = append(r.held, p...)
	d.held += len(p) + c.note(side, len(p), d.Mark)
}

// A Verdict is what a record is found to be, and then what became of it.
type Verdict uint8

// Verdicts. Those that follow are of records that no trial decides.
const (
	Taken     Verdict = iota // it opens
	Postponed                // until there are keys, or the other direction has gone on
	Refused                  // it does not open
	passed                   // the same, and the direction goes on behind it
	keyless                  // nothing can open it
	unsealed                 // it has no tag: a record of the handshake in plain text, or one for middleboxes
	misshapen                // no record begins so
)

// whole takes a whole record. It returns false if the direction stops before it.
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
		// If the keys come yet, there is a hole before what they open.
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

// open tries a record as the next one of a direction. Nothing has changed then: become takes what opens, and a trial ends here.
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
		return o, unsealed // for middleboxes, or from a side without keys; never after a record that was authenticated
	}
	if sealed && h.epoch != blind {
		if o.text = d.open13(h, h.seq, rec); o.text != nil {
			return o, Taken
		}
	}
	return d.otherwise(c, side, h, rec)
}

// become has a direction go on with a record, which open found to be what v says. It returns refused if the direction stops before it.
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
		} else if h.fails > 1<<10 { // a record may hold as little as 64 bytes (RFC 8449); certificates of 64 KiB would be a surprise
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

// behind tells whether a direction has its keys before the other one, which holds bytes, and must not overtake it.
func (d *Decrypter) behind(c *Conn, side uint8) bool {
	h := &c.half[side]
	return (h.epoch >= application || h.next == application) && d.patient(c, side)
}

// unframed is called where a record should begin and does not.
func (d *Decrypter) unframed(c *Conn, side uint8) Verdict {
	h := &c.half[side]
	if h.epoch == plain && (h.next == plain || !d.enter(c, side) || c.mode[side] != reading) {
		d.giveUp(c, side, NotTLS)
		return Taken
	}
	c.rest[side].why = Unauthentic
	if h.aead == nil {
		d.Stats.BadRecords++
		d.abandon(c, side) // there is nothing to search with
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
