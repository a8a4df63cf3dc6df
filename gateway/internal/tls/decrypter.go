package tls

import (
	"github.com/sealane/sealane/gateway/internal/keys"
)

// Stats are counters of a Decrypter.
type Stats struct {
	Records       uint64 // opened records
	Bytes         uint64 // delivered application data
	BadRecords    uint64 // records that did not open with any expected key
	BadPadding    uint64 // opened records with only zeroes
	LostBytes     uint64 // lost stream bytes that may have contained application data
	Trials        uint64 // trial openings after loss
	Resyncs       uint64 // how often reading continued after loss
	KeyUpdates    uint64 //
	Surplus       uint64 // handshake messages after another one in the same record
	EarlyAccepted uint64 // delivered bytes of 0-RTT data
	EarlyDropped  uint64 // bytes of 0-RTT data that the server rejected
	GivenUp       uint64 // directions that were given up
	HeldOut       uint64 // bytes dropped because too many were waiting
	PartialOut    uint64 // records dropped because too many were incomplete
}

// Limits limit the memory of a Decrypter, in bytes.
type Limits struct {
	HeldFlow int // waiting ciphertext and 0-RTT data of one direction
	Held     int // all waiting ciphertext
	Partial  int // all partial records
}

// DefaultLimits fit a machine with a few hundred MB to spare.
var DefaultLimits = Limits{HeldFlow: 4 << 20, Held: 64 << 20, Partial: 128 << 20}

// A Decrypter reads many connections. It is not safe for concurrent use: each core has its own.
type Decrypter struct {
	Store *keys.Store
	// Derived counts key derivations, for the budget.
	Derived uint64
	Limits  Limits
	Wait    bool // keys may arrive after the records that need them
	Batch   bool // small records may be delivered late, with FlushAll; p of Feed must stay as it is until then
	// Dispute makes a direction stop at a record that does not open, and hold the bytes from there on, until TryRecord,
	// Seek or Resume. There may be other copies of its bytes.
	Dispute bool

	// Mark belongs to the user. During the delivery of a record, it has its value at the record's arrival.
	Mark int64

	// Plaintext receives application data. data is valid only during the call.
	Plaintext func(c *Conn, side uint8, data []byte)
	// Lost is called for a hole in the application data. bytes is its size: exact if the lost records contained only
	// data and no padding, otherwise an estimate.
	Lost func(c *Conn, side uint8, bytes int)
	// Opened, if set, is called when the first record of a connection has been opened.
	Opened func(c *Conn)
	// Message, if set, receives the bodies of hellos, of EncryptedExtensions and of certificates. It may receive some
	// repeatedly, and forged ones before the genuine ones.
	Message func(c *Conn, side, kind uint8, body []byte)
	// Disputed, if set, is called when a direction has stopped.
	Disputed func(c *Conn)
	// Read, if set, receives the bytes of each record, including its header, after the delivery of its contents. These are
	// opened records, and unprotected ones of the handshake, in the order of the stream. Again is called when a direction
	// starts over.
	Read  func(c *Conn, side uint8, record []byte)
	Again func(c *Conn, side uint8)
	// Hello, if set, receives the body of each ClientHello that may belong to the connection.
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
	current *Conn // connection of the calls below
	took    bool  // the record that whole examines was read
	updated bool  // the current handshake record has updated the keys, so no message may follow in it (RFC 8446, section 5.1)
	side    uint8
}

// NewDecrypter returns a Decrypter that takes secrets from store.
func NewDecrypter(store *keys.Store) *Decrypter {
	d := &Decrypter{Store: store, Limits: DefaultLimits, scratch: make([]byte, maxRecord)}
	d.each = func(kind uint8, body []byte) { d.message(d.current, d.side, kind, body) }
	d.Expect(1 << gcmShift)
	return d
}

// Expect sets the expected number of concurrent connections before the first one, so that a few take little memory.
// There may be more.
func (d *Decrypter) Expect(connections int) { d.gcm.expect(connections) }

// Feed processes the next bytes of a direction. p is not kept or changed.
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

// Retry is called when there may be keys for a waiting connection.
func (d *Decrypter) Retry(c *Conn) {
	d.settle(c)
	if c.patience == outOfTime || d.Store.Has(&c.random[Client]) {
		c.wake(Client)
		c.wake(Server)
		d.wakeUp(c)
	}
}

// Expire ends the wait for keys.
func (d *Decrypter) Expire(c *Conn) {
	if c.patience != outOfTime {
		c.patience = outOfTime
		d.Retry(c)
	}
}

// resume feeds the held bytes of both directions in order of arrival, so that an answer stays after its question.
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

// Held returns the number of bytes that wait in all connections, for keys or for the rest of a record.
func (d *Decrypter) Held() int { return d.held + d.partial }

// Holds returns the number of bytes that wait in a connection, for keys or for the rest of a record or message.
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

// Surrender stops reading a connection because it holds more than others, and discards its held data.
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

// GaveUp reports whether a direction will not be read further.
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
		// Other connections, without an opened record, have no claim on the secrets.
		d.Store.Forget(&c.random[Client])
	}
	d.dropSecrets(c)
}
