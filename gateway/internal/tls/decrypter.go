package tls

import (
	"crypto/cipher"
	"crypto/subtle"
	"errors"
	"fmt"

	"github.com/sealane/sealane/internal/aead"

	"github.com/sealane/sealane/gateway/internal/keys"
)

// Stats count what a Decrypter did.
type Stats struct {
	Records       uint64 // opened
	Bytes         uint64 // of application data delivered
	BadRecords    uint64 // did not open with any key that was due
	BadPadding    uint64 // opened, and held nothing but zeroes
	LostBytes     uint64 // of the stream, as far as they may have held application data
	Trials        uint64 // openings tried after loss
	Resyncs       uint64 // times that reading went on after loss
	KeyUpdates    uint64 //
	Surplus       uint64 // handshake messages behind one, in the same record
	EarlyAccepted uint64 // bytes of 0-RTT data delivered
	EarlyDropped  uint64 // bytes of 0-RTT data that the server did not accept
	GivenUp       uint64 // directions of which nothing more will be read
	HeldOut       uint64 // bytes dropped because too many waited
	PartialOut    uint64 // records dropped because too many were partial
}

// Limits bound the memory of a Decrypter, in bytes.
type Limits struct {
	HeldFlow int // ciphertext and 0-RTT data waiting in one direction
	Held     int // all ciphertext waiting
	Partial  int // all partial records
}

// DefaultLimits fit a machine with a few hundred MB to spare.
var DefaultLimits = Limits{HeldFlow: 4 << 20, Held: 64 << 20, Partial: 128 << 20}

// A Decrypter reads many connections. It is not safe for concurrent use: there is one for each core.
type Decrypter struct {
	Store  *keys.Store
	Limits Limits
	Wait   bool // keys may come after the records that need them
	Batch  bool // small records may be delivered late, with FlushAll; p of Feed must stay as it is until then
	// Dispute has a direction stop at a record that does not open, with what follows it, until TryRecord, Seek or Concede:
	// there may be other copies of its bytes.
	Dispute bool

	// Mark is for the user. While a record is delivered, it has the value that it had when the record came.
	Mark int64

	// Plaintext gets application data. data is valid until it returns.
	Plaintext func(c *Conn, side uint8, data []byte)
	// Lost is told about a hole in the application data. bytes is how much is missing: exactly if the lost records held
	// nothing else and had no padding, else an estimate.
	Lost func(c *Conn, side uint8, bytes int)
	// Opened, if set, is called when the first record of a connection has been opened.
	Opened func(c *Conn)
	// Message, if set, gets the bodies of hellos, of EncryptedExtensions and of certificates as far as they count: it may get
	// some more than once, and forged ones before those that belong to what opens.
	Message func(c *Conn, side, kind uint8, body []byte)
	// Disputed, if set, is told that a direction has stopped.
	Disputed func(c *Conn)
	// Read, if set, gets the bytes of each record that was opened, or was read as it is in the handshake, header and all, after what
	// was in it is delivered. They are those of the stream, in order; Again tells that a direction begins anew.
	Read  func(c *Conn, side uint8, record []byte)
	Again func(c *Conn, side uint8)
	// Hello, if set, gets the body of each ClientHello that may be the connection's.
	Hello func(c *Conn, body []byte)

	Stats Stats

	held    int
	partial int
	scratch []byte
	nonce   [12]byte
	aad     [13]byte
	small   [][]byte
	large   [][]byte
	secrets []*keys.Secrets
	batch   batchState
	keys    keySet // being derived
	gcm     gcmKeys
	each    func(kind uint8, body []byte)
	current *Conn // for each
	took    bool  // the record that whole looks at was read
	updated bool  // the keys were, by the handshake record that is read: nothing may follow in it (RFC 8446, section 5.1)
	side    uint8
}

// NewDecrypter returns one that takes secrets from store.
func NewDecrypter(store *keys.Store) *Decrypter {
	d := &Decrypter{Store: store, Limits: DefaultLimits, scratch: make([]byte, maxRecord)}
	d.each = func(kind uint8, body []byte) { d.message(d.current, d.side, kind, body) }
	return d
}

// Feed takes the next bytes of a direction. p is not kept and not changed.
func (d *Decrypter) Feed(c *Conn, side uint8, p []byte) {
	d.Flush(c)
	c.disarm(side)
	d.feed(c, side, p)
	d.wakeUp(c)
	c.arm(side)
}

func (d *Decrypter) wakeUp(c *Conn) {
	for c.wake != [2]bool{} {
		c.wake = [2]bool{}
		d.resume(c)
	}
}

// Retry is called when keys may have come for a connection that waits.
func (d *Decrypter) Retry(c *Conn) {
	d.settle(c)
	if c.expired || d.Store.Has(&c.random[Client]) {
		c.wake = [2]bool{true, true}
		d.wakeUp(c)
	}
}

// Expire ends the waiting for keys.
func (d *Decrypter) Expire(c *Conn) {
	if !c.expired {
		c.expired = true
		d.Retry(c)
	}
}

// resume feeds what the directions held, in the order in which it came: an answer stays behind its question.
func (d *Decrypter) resume(c *Conn) {
	var held [2][]byte
	for s := range held {
		if h, r := &c.half[s], &c.rest[s]; h.mode == holding {
			held[s], r.held, h.mode = r.held, nil, reading
			d.held -= len(held[s])
		}
	}
	if c.waits != nil {
		order, mark := c.waits.order, d.Mark
		c.waits.order = nil
		d.held -= len(order) * partBytes
		for _, p := range order {
			d.Mark = p.mark
			n := min(int(p.n), len(held[p.side]))
			b := held[p.side][:n]
			held[p.side] = held[p.side][n:]
			d.feed(c, p.side, b)
		}
		d.Mark = mark
	}
	if c.half[0].mode != holding && c.half[1].mode != holding {
		c.waiting = false
	}
}

func (d *Decrypter) feed(c *Conn, side uint8, p []byte) {
	h, r := &c.half[side], &c.rest[side]
	for len(p) > 0 {
		switch h.mode {
		case ignoring:
			if r.cut {
				d.Stats.LostBytes += uint64(len(p))
			}
			return
		case holding:
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
					if h.mode == disputed {
						d.keep(c, side, p)
					} else {
						d.hold(c, side, p)
					}
					return
				}
				// A scan begins behind the byte that is no header.
				if h.mode == scanning {
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
			switch h.mode {
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
			if !d.unframed(c, side) {
				h.have = headerBytes
				return n, false
			}
			if h.mode == scanning {
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
	if h.mode == scanning {
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
	h, r := &c.half[side], &c.rest[side]
	h.mode = holding
	c.waiting = true
	c.disarm(1 - side)
	if len(p) == 0 {
		return
	}
	if len(r.held)+len(p) > d.Limits.HeldFlow || d.held+len(p) > d.Limits.Held {
		if c.expired || c.full[side] {
			// It is not keys that it waits for: the other direction never came.
			d.Stats.HeldOut += uint64(len(r.held) + len(p))
			r.why = TooMuch
			d.giveUp(c, side, Undecryptable)
			return
		}
		// Go on without keys: records are counted, and found again if the keys come yet.
		c.full[side], c.wake[side] = true, true
	}
	r.held = append(r.held, p...)
	d.held += len(p) + c.note(side, len(p), d.Mark)
}

// whole takes a whole record. It returns false if the record has to wait.
func (d *Decrypter) whole(c *Conn, side uint8, rec []byte) bool {
	d.took = false
	ok := d.take(c, side, rec)
	if d.took && d.Read != nil {
		d.Read(c, side, rec)
	}
	return ok
}

func (d *Decrypter) take(c *Conn, side uint8, rec []byte) bool {
	h := &c.half[side]
	if h.mode == counting && !d.late(c, side) {
		if plausible(rec) {
			if rec[0] == typeData || c.version == version12 {
				h.seq++
				// If the keys come yet, there is a hole before what they open.
				c.rest[side].gone++
				h.missing = min(h.missing+uint32(len(rec)), 1<<30)
			}
			return true
		}
		d.abandon(c, side)
		return true
	}
	if c.waiting && d.behind(c, side) {
		return false
	}
	if h.next != plain && rec[0] == typeData {
		if !d.enter(c, side) {
			return false
		}
		if h.mode != reading {
			return true
		}
	}
	// The usual case first.
	if h.epoch == application && rec[0] == typeData && len(rec) >= minRecord && len(rec) <= headerBytes+maxText13 {
		if text := d.open13(h, h.seq, rec); text != nil {
			h.seq++
			h.fails, h.doubt, h.opened = 0, 0, true
			d.inner13(c, side, text)
			return true
		}
		return d.mismatch(c, side, rec)
	}
	if !plausible(rec) {
		return d.unframed(c, side)
	}
	switch h.epoch {
	case plain:
		return d.plainRecord(c, side, rec)
	case protected12:
		if text := d.open12(c.suite, h, h.seq, rec); text != nil {
			h.seq++
			h.fails, h.doubt, h.opened = 0, 0, true
			d.inner12(c, side, rec[0], text)
			return true
		}
		return d.mismatch(c, side, rec)
	}
	if (rec[0] == typeCCS && len(rec) == headerBytes+1 || rec[0] == typeAlert && len(rec) == headerBytes+2) &&
		(!d.Dispute || !c.proved[side]) {
		d.took = true
		return true // for middleboxes, or from a side without keys; never after a record that was authenticated
	}
	if rec[0] == typeData && len(rec) >= minRecord && len(rec) <= headerBytes+maxText13 && h.epoch != blind {
		if text := d.open13(h, h.seq, rec); text != nil {
			h.seq++
			h.fails, h.doubt, h.opened = 0, 0, true
			d.inner13(c, side, text)
			return true
		}
	}
	return d.mismatch(c, side, rec)
}

// behind tells whether a direction has its keys before the other one, and must not overtake it.
func (d *Decrypter) behind(c *Conn, side uint8) bool {
	h := &c.half[side]
	return (h.epoch >= application || h.next == application) && c.half[1-side].mode == holding && d.Wait && !c.expired && !c.full[side]
}

// unframed is called where a record should begin and does not.
//
// It returns false if the direction stops there.
func (d *Decrypter) unframed(c *Conn, side uint8) bool {
	h := &c.half[side]
	if h.epoch == plain && (h.next == plain || !d.enter(c, side) || h.mode != reading) {
		d.giveUp(c, side, NotTLS)
		return true
	}
	c.rest[side].why = Unauthentic
	if h.aead == nil {
		d.Stats.BadRecords++
		d.abandon(c, side) // there is nothing to search with
		return true
	}
	if d.Dispute {
		d.dispute(c, side)
		return false
	}
	d.Stats.BadRecords++
	d.lost(c, side, headerBytes)
	d.beginScan(c, side, 0)
	return true
}

// abandon ends the reading of a direction.
func (d *Decrypter) abandon(c *Conn, side uint8) {
	h, r := &c.half[side], &c.rest[side]
	h.mode, r.cut = ignoring, true
	d.Stats.GivenUp++
	d.lost(c, side, 1)
	if c.state == Starting {
		c.state = Undecryptable
	}
}

// giveUp ends the reading of a connection because of what one side sent; the other side's is read on if a record of it was
// opened, or may be.
func (d *Decrypter) giveUp(c *Conn, side uint8, why State) {
	c.disarm(Client)
	c.disarm(Server)
	if c.state != Readable {
		c.state = why
	}
	for s := range uint8(2) {
		if s != side && (c.proved[s] || d.Dispute && c.hello[side]) {
			continue // this side's hello is enough for the other one
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
		h, r := &c.half[s], &c.rest[s]
		d.held -= c.drop(s)
		d.dropPart(c, s)
		if h.mode != ignoring {
			d.Stats.GivenUp++
			h.mode, r.cut = ignoring, c.state == Readable
		}
	}
	c.waiting = false
}

// undecryptable says that one direction cannot be opened now. Its records are counted, so that later keys find them.
func (d *Decrypter) undecryptable(c *Conn, side uint8) {
	c.half[side].mode = counting
	if r := &c.rest[side]; r.why == Nothing {
		r.why = NoKeys
	}
	if c.state == Starting {
		c.state = Undecryptable
	}
}

// plainRecord takes a record that is not encrypted.
func (d *Decrypter) plainRecord(c *Conn, side uint8, rec []byte) bool {
	_, r := &c.half[side], &c.rest[side]
	body := rec[headerBytes:]
	switch rec[0] {
	case typeHandshake:
		if side == Server && !c.hello[Client] {
			return false // captured before the ClientHello
		}
		d.current, d.side = c, side
		d.handshake(r, body)
		if r.hs.lost {
			d.giveUp(c, side, NotTLS)
		}
		d.took = c.half[side].mode == reading
		return true
	case typeAlert:
		d.took = true
	case typeCCS:
		if !c.hello[Server] && !c.retried {
			return false
		}
		if c.version == version12 {
			d.took = d.protect12(c, side)
			return d.took
		}
		d.took = true
		return true
	case typeData:
		if c.retried && c.hellos < 2 {
			d.Stats.EarlyDropped += uint64(len(body)) // 0-RTT data before the second ClientHello
			return true
		}
		if !c.hello[Server] {
			return false
		}
		// TLS 1.3 enters its first epoch through next.
		d.giveUp(c, side, NotTLS)
	}
	return true
}

// handshake cuts what handshake records hold into messages. What is kept of them shares the memory of partial records.
func (d *Decrypter) handshake(r *rest, b []byte) {
	r.hs.held, r.hs.most, r.hs.more = &d.partial, d.Limits.Partial, d.Message != nil
	d.updated = false
	r.hs.feed(b, d.each)
	if d.updated {
		r.hs.reset()
	}
}

// message takes a handshake message.
func (d *Decrypter) message(c *Conn, side, kind uint8, body []byte) {
	h, r := &c.half[side], &c.rest[side]
	if d.Message != nil && body != nil && (c.proved == [2]bool{} || kind > msgServerHello) {
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
		if c.proved != [2]bool{} {
			// What has opened follows from the hellos that there were. Others are no part of this connection.
			if c.random[Client] != hello.random {
				d.giveUp(c, side, NotTLS)
			}
			return
		}
		if c.random[Client] != hello.random {
			d.dropSecrets(c)
			c.found = false
			c.random[Client] = hello.random
		}
		if d.Hello != nil {
			d.Hello(c, body)
		}
		c.early = earlyNone
		if hello.earlyData && !c.retried {
			c.early = earlyOffered
		}
		c.hello = [2]bool{true, false}
		c.hellos++
		c.wake[Server] = true
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
		if r.last || !d.newKeys().update(c.suite, &r.secret) {
			r.why = NoSecret
			d.undecryptable(c, side)
			return
		}
		d.install(c, side)
		h.epoch, r.updated = application, true
	}
}

func (d *Decrypter) serverHello(c *Conn, body []byte) {
	hello, ok := parseServerHello(body)
	if !ok {
		d.giveUp(c, Server, NotTLS)
		return
	}
	if c.proved != [2]bool{} && c.suite != nil {
		c.hello[Server] = true
		// In TLS 1.3 no key that is used here follows from it.
		if c.version == version12 && c.random[Server] != hello.random {
			d.giveUp(c, Server, NotTLS)
		}
		return
	}
	if hello.retry {
		c.retried = true
		c.wake[Client] = true
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
	c.hello[Server] = true
	c.wake[Client] = true
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

// inner13 takes what a record of TLS 1.3 held (RFC 8446, section 5.4).
func (d *Decrypter) inner13(c *Conn, side uint8, text []byte) {
	h, r := &c.half[side], &c.rest[side]
	n := len(text) - 1
	for n >= 0 && text[n] == 0 {
		n--
	}
	d.Stats.Records++
	d.took = true
	c.proved[side] = true
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
	c.proved[side] = true
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
	if d.Opened != nil {
		d.Opened(c)
	}
}

// secret asks for a secret. If it is not there, wait tells whether it may come.
func (d *Decrypter) secret(c *Conn, side uint8, l keys.Label) (secret []byte, wait bool) {
	if c.secrets != nil {
		if s := c.secrets.Get(l); s != nil {
			return s, false
		}
	}
	if changes := d.Store.Changes(); !c.found || changes != c.asked {
		if c.secrets == nil {
			if n := len(d.secrets); n > 0 {
				c.secrets = d.secrets[n-1]
				d.secrets = d.secrets[:n-1]
			} else {
				c.secrets = new(keys.Secrets)
			}
		}
		c.asked = changes
		c.found = d.Store.Get(&c.random[Client], c.secrets)
		if s := c.secrets.Get(l); s != nil {
			return s, false
		}
	}
	return nil, d.Wait && !c.expired && !c.full[side]
}

// dropSecrets wipes the copy of the secrets; if they are needed again, the store has them.
func (d *Decrypter) dropSecrets(c *Conn) {
	if c.secrets != nil {
		c.secrets.Wipe()
		if len(d.secrets) < 1024 {
			d.secrets = append(d.secrets, c.secrets)
		}
		c.secrets = nil
	}
	c.asked = ^uint64(0)
}

var labelOf = [...][2]keys.Label{
	early:       {keys.Early, keys.Early},
	handshake:   {keys.ClientHandshake, keys.ServerHandshake},
	application: {keys.ClientTraffic, keys.ServerTraffic},
}

// enter begins the next epoch. It returns false if the keys may still come.
func (d *Decrypter) enter(c *Conn, side uint8) bool {
	h, r := &c.half[side], &c.rest[side]
	secret, wait := d.secret(c, side, labelOf[h.next][side])
	if wait {
		return false
	}
	if secret != nil && d.newKeys().fromTraffic(c.suite, secret) {
		d.install(c, side)
		h.missing, r.gone = 0, 0
		h.epoch, h.next = h.next, plain
		if c.half[0].epoch == application && c.half[1].epoch == application {
			d.dropSecrets(c)
		}
		return true
	}
	switch h.next {
	case early: // what it protected is passed over
		h.next = handshake
		return d.enter(c, side)
	case handshake:
		if s, wait := d.secret(c, side, labelOf[application][side]); s != nil {
			h.epoch, h.next = blind, plain
			return true
		} else if wait {
			return false
		}
	}
	h.epoch, h.next, h.seq = blind, plain, 0
	d.undecryptable(c, side)
	return true
}

// late looks whether keys have come for a direction that had none.
func (d *Decrypter) late(c *Conn, side uint8) bool {
	h := &c.half[side]
	if c.suite == nil || c.given || c.secrets == nil && d.Store.Changes() == c.asked {
		return false
	}
	if c.version == version12 {
		s, _ := d.secret(c, side, keys.Master)
		if s == nil || !d.newKeys().fromMaster(c.suite, side, s, &c.random[Client], &c.random[Server]) {
			return false
		}
		n := h.seq
		d.Stats.LostBytes += uint64(h.missing)
		d.install(c, side)
		h.seq, h.epoch, h.mode = n, protected12, reading
		return true
	}
	s, _ := d.secret(c, side, labelOf[application][side])
	if s == nil || !d.newKeys().fromTraffic(c.suite, s) {
		return false
	}
	// The count includes the records of the handshake; up to 16 of them are customary.
	n := h.seq
	d.Stats.LostBytes += uint64(h.missing)
	d.install(c, side)
	h.seq, h.doubt = n-min(n, 32), uint32(min(n, 32))
	h.epoch, h.mode = application, reading
	return true
}

// protect12 follows a ChangeCipherSpec of TLS 1.2. It returns false if the keys may still come.
func (d *Decrypter) protect12(c *Conn, side uint8) bool {
	h := &c.half[side]
	if c.suite == nil || !c.hello[Server] {
		d.giveUp(c, side, NotTLS)
		return true
	}
	secret, wait := d.secret(c, side, keys.Master)
	if wait {
		return false
	}
	h.epoch = protected12
	if secret == nil || !d.newKeys().fromMaster(c.suite, side, secret, &c.random[Client], &c.random[Server]) {
		h.seq = 0
		d.undecryptable(c, side)
		return true
	}
	d.install(c, side)
	return true
}

// newKeys returns the place where keys are derived, before install takes them.
func (d *Decrypter) newKeys() *keySet {
	k := &d.keys
	if k.gcm == nil {
		k.number = d.gcm.take()
		k.gcm = d.gcm.at(k.number)
	}
	return k
}

// install gives a direction the keys that were derived last.
func (d *Decrypter) install(c *Conn, side uint8) {
	h, r, k := &c.half[side], &c.rest[side], &d.keys
	d.dropKeys(c, side)
	h.iv, r.secret = k.iv, k.secret
	if k.aead == cipher.AEAD(&k.chacha) {
		h.chacha = k.chacha
		h.aead = &h.chacha
	} else {
		h.aead, h.gcm, k.gcm = k.aead, k.number, nil
	}
	h.seq, h.fails, h.doubt, h.opened = 0, 0, 0, false
	h.age++
	r.hs.reset()
	k.wipe()
}

// dropKeys wipes the keys of a direction.
func (d *Decrypter) dropKeys(c *Conn, side uint8) {
	h := &c.half[side]
	if h.gcm != 0 {
		d.gcm.give(h.gcm)
	}
	c.forget(side)
	h.aead, h.gcm, h.chacha, h.iv = nil, 0, aead.ChaCha20Poly1305{}, [12]byte{}
}

// open13 opens a record of TLS 1.3 into the scratch memory. It returns nil if that fails.
func (d *Decrypter) open13(h *half, seq uint64, rec []byte) []byte {
	d.nonce = h.iv
	be.PutUint64(d.nonce[4:], be.Uint64(d.nonce[4:])^seq)
	text, err := h.aead.Open(d.scratch[:0], d.nonce[:], rec[headerBytes:], rec[:headerBytes])
	if err != nil {
		return nil
	}
	return text
}

// open12 opens a record of TLS 1.2 (RFC 5288, RFC 7905).
func (d *Decrypter) open12(s *suite, h *half, seq uint64, rec []byte) []byte {
	sealed := rec[headerBytes:]
	d.nonce = h.iv
	if s.explicit() {
		if len(sealed) < 8 {
			return nil
		}
		copy(d.nonce[4:], sealed)
		sealed = sealed[8:]
	} else {
		be.PutUint64(d.nonce[4:], be.Uint64(d.nonce[4:])^seq)
	}
	if len(sealed) < tagBytes {
		return nil
	}
	be.PutUint64(d.aad[:], seq)
	copy(d.aad[8:], rec[:3])
	be.PutUint16(d.aad[11:], uint16(len(sealed)-tagBytes))
	text, err := h.aead.Open(d.scratch[:0], d.nonce[:], sealed, d.aad[:])
	if err != nil {
		return nil
	}
	if text == nil {
		text = d.scratch[:0]
	}
	return text
}

// Given are keys of one direction that come with the connection's addresses, not with its handshake.
type Given struct {
	Suite   uint16
	Key, IV []byte // as in RFC 8446; in TLS 1.2 with AES-GCM the IV is 4 bytes
	Secret  []byte // the traffic secret that Key and IV follow from, or nil: then a KeyUpdate is the end
	Next    uint64 // number of the next record
	Aligned bool   // the bytes that come begin with that record; else it is searched for
	Search  uint32 // so many records may have gone by since; 0: 4096
}

// Complete tells what is wrong with g. Key and IV may be missing if there is a Secret; they are filled in.
func (g *Given) Complete() error {
	s := suites[g.Suite]
	if s == nil {
		return fmt.Errorf("suite: %#04x is not known", g.Suite)
	}
	if len(g.Secret) > 0 {
		if s.version != version13 {
			return errors.New("secret: there are none in TLS 1.2")
		}
		if len(g.Secret) != s.hash.size() {
			return fmt.Errorf("secret: %d bytes, it is as long as the suite's hash, %d", len(g.Secret), s.hash.size())
		}
		key, iv := make([]byte, s.keyBytes), make([]byte, 12)
		s.hash.expandLabel(key, g.Secret, "key")
		s.hash.expandLabel(iv, g.Secret, "iv")
		same := (len(g.Key) == 0 || subtle.ConstantTimeCompare(g.Key, key) == 1) && (len(g.IV) == 0 || subtle.ConstantTimeCompare(g.IV, iv) == 1)
		clear(g.Key)
		clear(g.IV)
		g.Key, g.IV = key, iv
		if !same {
			g.Wipe()
			return errors.New("secret: key and iv are not those that follow from it")
		}
	}
	if len(g.Key) != s.keyBytes {
		return fmt.Errorf("key: %d bytes, the suite's have %d", len(g.Key), s.keyBytes)
	}
	if len(g.IV) != 12 && !(s.explicit() && len(g.IV) == 4) {
		return fmt.Errorf("iv: %d bytes, it has 12, or 4 in TLS 1.2 with AES-GCM", len(g.IV))
	}
	return nil
}

// Wipe forgets the keys.
func (g *Given) Wipe() {
	clear(g.Key)
	clear(g.IV)
	clear(g.Secret)
}

// Give starts one direction of a connection in the middle of its stream. The keys are copied.
func (d *Decrypter) Give(c *Conn, side uint8, g *Given) error {
	if err := g.Complete(); err != nil {
		return err
	}
	s := suites[g.Suite]
	h, r := &c.half[side], &c.rest[side]
	d.settle(c)
	k := d.newKeys()
	clear(k.iv[:])
	copy(k.iv[:], g.IV)
	clear(k.secret[:])
	copy(k.secret[:], g.Secret)
	if !k.setKey(s, g.Key) {
		k.wipe()
		return errors.New("no implementation of the suite's cipher")
	}
	if !c.given {
		c.half[1-side].mode = ignoring
	}
	c.suite, c.version, c.given = s, s.version, true
	d.install(c, side)
	r.last, r.updated = len(g.Secret) == 0, false
	h.epoch = application
	if s.version == version12 {
		h.epoch = protected12
	}
	h.mode, h.seq = reading, g.Next
	if !g.Aligned {
		d.beginScan(c, side, 0)
		if h.doubt = g.Search; g.Search == 0 {
			h.doubt = maxTrials
		}
	}
	return nil
}

// Position returns the number of the next record of a direction, and how many of its bytes have come. ok is false after
// loss, before a record has opened, and after a KeyUpdate, when the keys that were given are no longer those of the record.
func (d *Decrypter) Position(c *Conn, side uint8) (number uint64, have int, ok bool) {
	d.settle(c)
	h := &c.half[side]
	return h.seq, int(h.have), h.mode == reading && h.doubt == 0 && h.skip == 0 && h.aead != nil && !c.rest[side].updated
}

// Advance says that the records before a number were read elsewhere, and that what comes begins with it.
func (d *Decrypter) Advance(c *Conn, side uint8, number uint64) {
	d.settle(c)
	h := &c.half[side]
	if h.aead == nil {
		return
	}
	d.dropPart(c, side)
	d.held -= c.drop(side)
	c.rest[side].gone = 0
	h.mode, h.seq = reading, number
	h.fails, h.doubt, h.skip, h.missing = 0, 0, 0, 0
}

// Held returns how many bytes wait in all connections, for keys or for the rest of their record.
func (d *Decrypter) Held() int { return d.held + d.partial }

// Holds returns how many bytes wait in a connection, for keys, for the rest of their record or for that of a message.
func (c *Conn) Holds() (n int) {
	for s := range c.rest {
		r := &c.rest[s]
		n += len(r.held) + cap(r.part) + len(r.hs.body)
	}
	if c.waits != nil {
		n += len(c.waits.early) + len(c.waits.order)*partBytes
	}
	return n
}

// Surrender ends the reading of a connection, because it holds more than others: what it held is gone.
func (d *Decrypter) Surrender(c *Conn) {
	d.settle(c)
	for side := range uint8(2) {
		r := &c.rest[side]
		r.why = TooMuch
		d.Stats.HeldOut += uint64(len(r.held) + len(r.hs.body))
		r.hs.drop()
		r.hs.lost = true
		d.giveUp(c, side, Undecryptable)
	}
	if c.waits != nil {
		d.held -= len(c.waits.early)
		d.Stats.EarlyDropped += uint64(len(c.waits.early))
		clear(c.waits.early)
		c.waits.early = nil
	}
}

// GaveUp tells whether nothing more will be read of a direction.
func (c *Conn) GaveUp(side uint8) bool {
	m := c.half[side].mode
	return m == ignoring || m == counting
}

// Close ends a connection and wipes its keys.
func (d *Decrypter) Close(c *Conn) {
	if c.waits != nil {
		d.Stats.EarlyDropped += uint64(len(c.waits.early))
		d.held -= len(c.waits.early) + len(c.waits.order)*partBytes
		clear(c.waits.early)
		c.waits = nil
	}
	d.settle(c)
	for s := range uint8(2) {
		h, r := &c.half[s], &c.rest[s]
		if h.mode == counting && c.state == Readable {
			d.Stats.LostBytes += uint64(h.missing)
		}
		if n := int(h.have) + len(r.held) + r.hs.unfinished(); n > 0 && c.state == Readable {
			// A record or handshake message that did not become whole, or the rest of what was searched.
			d.Stats.LostBytes += uint64(n)
			h.missing += uint32(n)
		}
		if h.missing > 0 && c.state == Readable {
			d.reportLost(c, s)
		}
		d.held -= len(r.held)
		d.dropPart(c, s)
		d.dropKeys(c, s)
		r.hs.reset()
		*h, *r = half{mode: ignoring, age: h.age + 1}, rest{}
	}
	d.forget(c)
}

func (d *Decrypter) forget(c *Conn) {
	if c.found && c.state == Readable {
		// Others, of which no record opened, have no right to them.
		d.Store.Forget(&c.random[Client])
	}
	d.dropSecrets(c)
	c.found = false
}
