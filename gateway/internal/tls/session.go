package tls

// plainRecord processes an unprotected record. It returns false if the record must wait.
func (d *Decrypter) plainRecord(c *Conn, side uint8, rec []byte) bool {
	_, r := &c.half[side], &c.rest[side]
	body := rec[headerBytes:]
	switch rec[0] {
	case typeHandshake:
		if side == Server && !c.greeted(Client) {
			return false // captured before the ClientHello
		}
		d.current, d.side = c, side
		d.handshake(r, body)
		if r.hs.lost {
			d.giveUp(c, side, NotTLS)
		}
		d.took = c.mode[side] == reading
		return true
	case typeAlert:
		d.took = true
	case typeCCS:
		if !c.greeted(Server) && !c.retry() {
			return false
		}
		if c.version == version12 {
			d.took = d.protect12(c, side)
			return d.took
		}
		d.took = true
		return true
	case typeData:
		if c.hellos == retried {
			d.Stats.EarlyDropped += uint64(len(body)) // 0-RTT data before the second ClientHello
			return true
		}
		if !c.greeted(Server) {
			return false
		}
		// Not TLS 1.3, which would have entered an epoch by now.
		d.giveUp(c, side, NotTLS)
	}
	return true
}

// handshake cuts the contents of handshake records into messages. Incomplete messages count as partial records in
// Limits.
func (d *Decrypter) handshake(r *rest, b []byte) {
	r.hs.held, r.hs.most, r.hs.more = &d.partial, d.Limits.Partial, d.Message != nil
	d.updated = false
	r.hs.feed(b, d.each)
	if d.updated {
		r.hs.reset()
	}
}

// message processes a handshake message.
func (d *Decrypter) message(c *Conn, side, kind uint8, body []byte) {
	h, r := &c.half[side], &c.rest[side]
	if d.Message != nil && body != nil && (c.proof == [2]proof{} || kind > msgServerHello) {
		d.Message(c, side, kind, body)
	}
	switch {
	case d.updated:
		d.Stats.Surplus++
	case kind == msgClientHello && side == Client:
		hello, ok := parseClientHello(body)
		if !ok {
			d.giveUp(c, side, NotTLS)
			return
		}
		if h.epoch == protected12 {
			d.renewal(c).random[Client] = hello.random
			return
		}
		if c.proof != [2]proof{} {
			// The open records follow from the earlier hellos. Different ones do not belong to this connection.
			if c.random[Client] != hello.random {
				d.giveUp(c, side, NotTLS)
			}
			return
		}
		if c.random[Client] != hello.random {
			if c.half[Client].aead != nil || c.half[Server].aead != nil {
				// Keys follow from the earlier ClientHello, and records may still open with them.
				d.giveUp(c, side, NotTLS)
				return
			}
			d.dropSecrets(c)
			c.random[Client] = hello.random
		}
		if d.Hello != nil {
			d.Hello(c, body)
		}
		c.early = earlyNone
		if hello.earlyData && !c.retry() {
			c.early = earlyOffered
		}
		c.hear(clientGreets)
		c.wake(Server)
	case kind == msgServerHello && side == Server:
		d.serverHello(c, body)
	case kind == msgEncryptedExtensions && side == Server && h.epoch == handshake:
		if accepted, ok := acceptsEarlyData(body); ok && c.early == earlyOffered {
			d.decideEarly(c, accepted)
		}
	case kind == msgFinished && c.version == version13 && h.epoch == handshake:
		h.next = application
	case kind == msgEndOfEarlyData && side == Client && h.epoch == early:
		d.decideEarly(c, true)
		h.next = handshake
	case kind == msgKeyUpdate && h.epoch == application:
		d.Stats.KeyUpdates++
		d.updated = true
		if c.lineage[side] == bare || !d.newKeys().update(c.suite, &r.secret) {
			r.why = NoSecret
			d.undecryptable(c, side)
			return
		}
		d.install(c, side)
		h.epoch, c.lineage[side] = application, afterUpdate[c.lineage[side]]
	}
}

// A renewal is a renegotiation: a handshake of TLS 1.2 within a connection (RFC 5246, section 7.4.1.1), whose hellos
// were in opened records. From the first ChangeCipherSpec of either side on, the next keys of both sides follow from
// it.
type renewal struct {
	random [2][32]byte
	suite  *suite
}

func (d *Decrypter) renewal(c *Conn) *renewal {
	if c.waits == nil {
		c.waits = new(waits)
	}
	if c.waits.renewal == nil {
		c.waits.renewal = new(renewal)
	}
	return c.waits.renewal
}

// renew makes the next keys follow from the last hellos. Records of the other side are read with the old keys until its
// own ChangeCipherSpec. So nonces and tags must have the same form in both suites.
func (d *Decrypter) renew(c *Conn) {
	if c.waits == nil || c.waits.renewal == nil || c.waits.renewal.suite == nil {
		return
	}
	n := c.waits.renewal
	if n.suite.version != version12 || n.suite.explicit() != c.suite.explicit() || n.suite.tag != c.suite.tag {
		return
	}
	d.Store.Forget(&c.random[Client])
	d.dropSecrets(c)
	c.random, c.suite, c.waits.renewal = n.random, n.suite, nil
	d.Store.Use(&c.random[Client])
}

func (d *Decrypter) serverHello(c *Conn, body []byte) {
	hello, ok := parseServerHello(body)
	if !ok {
		d.giveUp(c, Server, NotTLS)
		return
	}
	if c.half[Server].epoch == protected12 {
		n := d.renewal(c)
		n.random[Server], n.suite = hello.random, suites[hello.suite]
		return
	}
	if c.proof != [2]proof{} && c.suite != nil {
		c.hear(serverGreets)
		// In TLS 1.3, no key used here depends on the server's random.
		if c.version == version12 && c.random[Server] != hello.random {
			d.giveUp(c, Server, NotTLS)
		}
		return
	}
	if hello.retry {
		c.hear(serverRetries)
		c.wake(Client)
		if c.early != earlyNone {
			c.early = earlyRejected
		}
		return
	}
	c.version, c.random[Server] = hello.version, hello.random
	c.suite = suites[hello.suite]
	if c.suite == nil || c.suite.version != c.version {
		c.suite = nil
		d.giveUp(c, Server, Unsupported)
		return
	}
	c.hear(serverGreets)
	c.wake(Client)
	if c.version == version13 {
		c.half[Server].next = handshake
		c.half[Client].next = handshake
		if c.early == earlyOffered {
			c.half[Client].next = early
		}
	}
}

// decideEarly delivers or drops 0-RTT data.
func (d *Decrypter) decideEarly(c *Conn, accepted bool) {
	if c.early != earlyOffered {
		return
	}
	var data []byte
	if c.waits != nil {
		data, c.waits.early = c.waits.early, nil
	}
	d.held -= len(data)
	if !accepted {
		c.early = earlyRejected
		d.Stats.EarlyDropped += uint64(len(data))
		clear(data)
		return
	}
	c.early = earlyAccepted
	d.Stats.EarlyAccepted += uint64(len(data))
	d.deliver(c, Client, data)
	clear(data)
}

func (d *Decrypter) deliver(c *Conn, side uint8, data []byte) {
	if len(data) == 0 {
		return
	}
	if c.half[side].missing > 0 {
		d.reportLost(c, side)
	}
	d.Stats.Bytes += uint64(len(data))
	d.Plaintext(c, side, data)
}

// inner13 processes the contents of a record of TLS 1.3 (RFC 8446, section 5.4).
func (d *Decrypter) inner13(c *Conn, side uint8, text []byte) {
	h, r := &c.half[side], &c.rest[side]
	n := len(text) - 1
	for n >= 0 && text[n] == 0 {
		n--
	}
	d.Stats.Records++
	d.took = true
	c.proof[side] = current
	if c.state != Readable {
		d.readable(c)
	}
	if n < 0 {
		d.Stats.BadPadding++
		return
	}
	kind := text[n]
	text = text[:n]
	switch kind {
	case typeData:
		switch h.epoch {
		case application:
			d.deliver(c, side, text)
		case early:
			d.earlyData(c, text)
		}
	case typeHandshake:
		d.current, d.side = c, side
		d.handshake(r, text)
	}
}

func (d *Decrypter) earlyData(c *Conn, text []byte) {
	if c.waits == nil {
		c.waits = new(waits)
	}
	switch w := c.waits; {
	case c.early == earlyAccepted:
		d.Stats.EarlyAccepted += uint64(len(text))
		d.deliver(c, Client, text)
	case c.early == earlyOffered && len(w.early)+len(text) <= d.Limits.HeldFlow && d.held+len(text) <= d.Limits.Held:
		d.held += len(text)
		w.early = append(w.early, text...)
	default:
		d.Stats.EarlyDropped += uint64(len(text))
	}
}

func (d *Decrypter) inner12(c *Conn, side, kind uint8, text []byte) {
	d.Stats.Records++
	d.took = true
	c.proof[side] = current
	if c.state != Readable {
		d.readable(c)
	}
	r := &c.rest[side]
	switch kind {
	case typeData:
		d.deliver(c, side, text)
	case typeHandshake: // a renegotiation
		d.current, d.side = c, side
		d.handshake(r, text)
	case typeCCS:
		if !d.protect12(c, side) {
			d.undecryptable(c, side) // the keys of a renegotiation are late
		}
	}
}

func (d *Decrypter) readable(c *Conn) {
	c.state = Readable
	if !c.Given() {
		c.nth = uint8(min(d.Store.Use(&c.random[Client]), 255))
	}
	if d.Opened != nil {
		d.Opened(c)
	}
}
