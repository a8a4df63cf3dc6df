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
					if c.mode[side] == disputed {
						d.keep(c, side, p)
					} else {
						d.hold(c, side, p)
					}
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
			switch c.mode[side] {
			case disputed:
				d.keep(c, side, d.takePart(c, side))
				d.keep(c, side, p)
				d.dropPart(c, side)
			case reading:
				d.hold(c, side, d.takePart(c, side))
				d.hold(c, side, p)
				d.dropPart(c, side)
			}
			return
		}
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
			if d.unframed(c, side) == refused {
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

// A verdict is what became of a record.
type verdict uint8

const (
	taken   verdict = iota
	delayed         // until there are keys, or the other direction has gone on
	refused         // with Dispute: it does not open; nothing has changed but that its epoch is entered
)

// whole takes a whole record. It returns false if the direction stops before it.
func (d *Decrypter) whole(c *Conn, side uint8, rec []byte) bool {
	d.took = false
	v := d.take(c, side, rec)
	if d.took && d.Read != nil {
		d.Read(c, side, rec)
	}
	if v == refused {
		d.dispute(c, side)
	}
	return v == taken
}

func (d *Decrypter) take(c *Conn, side uint8, rec []byte) verdict {
	h := &c.half[side]
	if c.mode[side] == counting && !d.late(c, side) {
		if plausible(rec) {
			if rec[0] == typeData || c.version == version12 {
				h.seq++
				// If the keys come yet, there is a hole before what they open.
				c.rest[side].gone++
				h.missing = min(h.missing+uint32(len(rec)), 1<<30)
			}
			return taken
		}
		d.abandon(c, side)
		return taken
	}
	if c.mode[1-side].holds() && d.behind(c, side) {
		return delayed
	}
	if h.next != plain && rec[0] == typeData {
		if !d.enter(c, side) {
			return delayed
		}
		if c.mode[side] != reading {
			return taken
		}
	}
	// The usual case first.
	if h.epoch == application && rec[0] == typeData && len(rec) >= minRecord && len(rec) <= headerBytes+maxText13 {
		if text := d.open13(h, h.seq, rec); text != nil {
			h.seq++
			h.fails, h.doubt = 0, 0
			d.inner13(c, side, text)
			return taken
		}
		return d.mismatch(c, side, rec)
	}
	if !plausible(rec) {
		return d.unframed(c, side)
	}
	switch h.epoch {
	case plain:
		if !d.plainRecord(c, side, rec) {
			return delayed
		}
		return taken
	case protected12:
		if text := d.open12(c.suite, h, h.seq, rec); text != nil {
			h.seq++
			h.fails, h.doubt = 0, 0
			d.inner12(c, side, rec[0], text)
			return taken
		}
		return d.mismatch(c, side, rec)
	}
	if (rec[0] == typeCCS && len(rec) == headerBytes+1 || rec[0] == typeAlert && len(rec) == headerBytes+2) &&
		(!d.Dispute || c.proof[side] == unproved) {
		d.took = true
		return taken // for middleboxes, or from a side without keys; never after a record that was authenticated
	}
	if rec[0] == typeData && len(rec) >= minRecord && len(rec) <= headerBytes+maxText13 && h.epoch != blind {
		if text := d.open13(h, h.seq, rec); text != nil {
			h.seq++
			h.fails, h.doubt = 0, 0
			d.inner13(c, side, text)
			return taken
		}
	}
	return d.mismatch(c, side, rec)
}

// behind tells whether a direction has its keys before the other one, which holds bytes, and must not overtake it.
func (d *Decrypter) behind(c *Conn, side uint8) bool {
	h := &c.half[side]
	return (h.epoch >= application || h.next == application) && d.patient(c, side)
}

// unframed is called where a record should begin and does not.
func (d *Decrypter) unframed(c *Conn, side uint8) verdict {
	h := &c.half[side]
	if h.epoch == plain && (h.next == plain || !d.enter(c, side) || c.mode[side] != reading) {
		d.giveUp(c, side, NotTLS)
		return taken
	}
	c.rest[side].why = Unauthentic
	if h.aead == nil {
		d.Stats.BadRecords++
		d.abandon(c, side) // there is nothing to search with
		return taken
	}
	if d.Dispute {
		return refused
	}
	d.Stats.BadRecords++
	d.lost(c, side, headerBytes)
	d.beginScan(c, side, 0)
	return taken
}
