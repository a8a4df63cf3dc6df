package tls

import (
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
	Store *keys.Store
	// Derived is how many times keys were derived, for the budget.
	Derived uint64
	Limits  Limits
	Wait    bool // keys may come after the records that need them
	Batch   bool // small records may be delivered late, with FlushAll; p of Feed must stay as it is until then
	// Dispute has a direction stop at a record that does not open, with the bytes behind it, until TryRecord, Seek or Resume:
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
	d.Expect(1 << gcmShift)
	return d
}

// Expect says, before the first connection, how many there are at a time, so that a few take little memory. There may be more.
func (d *Decrypter) Expect(connections int) { d.gcm.expect(connections) }

// Feed takes the next bytes of a direction. p is not kept and not changed.
func (d *Decrypter) Feed(c *Conn, side uint8, p []byte) {
	d.Flush(c)
	c.disarm(side)
	d.feed(c, side, p)
	d.wakeUp(c)
	c.arm(side)
}

func (d *Decrypter) wakeUp(c *Conn) {
	for c.mode[0] == due || c.mode[1] == due {
		d.resume(c)
	}
}

// Retry is called when keys may have come for a connection that waits.
func (d *Decrypter) Retry(c *Conn) {
	d.settle(c)
	if c.patience == outOfTime || d.Store.Has(&c.random[Client]) {
		c.wake(Client)
		c.wake(Server)
		d.wakeUp(c)
	}
}

// Expire ends the waiting for keys.
func (d *Decrypter) Expire(c *Conn) {
	if c.patience != outOfTime {
		c.patience = outOfTime
		d.Retry(c)
	}
}

// resume feeds what the directions held, in the order in which it came: an answer stays behind its question.
func (d *Decrypter) resume(c *Conn) {
	var held [2][]byte
	for s := range held {
		if r := &c.rest[s]; c.mode[s].holds() {
			held[s], r.held, c.mode[s] = r.held, nil, reading
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
	m := c.mode[side]
	return m.over() || m == counting
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
		if c.mode[s] == counting && c.state == Readable {
			d.Stats.LostBytes += uint64(h.missing)
		}
		if n := int(h.have) + len(r.held) + r.hs.unfinished(); n > 0 && c.state == Readable {
			// An incomplete record or handshake message, or the rest of searched bytes.
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
		*h, *r, c.mode[s] = half{age: h.age + 1}, rest{}, ignoring
	}
	d.forget(c)
}

func (d *Decrypter) forget(c *Conn) {
	if c.state == Readable && !c.Given() {
		// Others, of which no record opened, have no right to them.
		d.Store.Forget(&c.random[Client])
	}
	d.dropSecrets(c)
}
