// Package tls follows TLS connections from the outside: given their secrets, it opens the records of TLS 1.3 and of the
// AEAD suites of TLS 1.2.
//
// Nothing is delivered that was not authenticated. What cannot be opened, for want of keys, after loss, or because it is
// forged, is counted and reported as lost.
package tls

import (
	"crypto/cipher"
	"slices"
	"unsafe"

	"github.com/sealane/sealane/internal/aead"

	"github.com/sealane/sealane/gateway/internal/flow"
	"github.com/sealane/sealane/gateway/internal/keys"
)

// The sides of a connection.
const (
	Client uint8 = 0
	Server uint8 = 1
)

const (
	headerBytes = 5
	TagBytes    = 16
	shortTag    = 8 // of the suites with AES_CCM_8
	// RFC 8446, section 5.2, and RFC 5246, section 6.2.3.
	maxText13 = 1<<14 + 256
	maxText12 = 1<<14 + 2048
	maxRecord = headerBytes + maxText12
	// A record of TLS 1.3 has at least a type byte and a tag.
	minRecord = headerBytes + 1 + shortTag
)

// Record types.
const (
	typeCCS       = 20
	typeAlert     = 21
	typeHandshake = 22
	typeData      = 23
)

// An epoch is the time for which one key protects a direction; only KeyUpdate changes keys within one.
type epoch uint8

const (
	plain epoch = iota
	early
	handshake
	blind // the handshake keys are missing; application keys are tried on every record
	application
	protected12
)

// A mode is what happens to the bytes of a direction.
type mode uint8

const (
	reading  mode = iota
	armed         // reading, and all that the next record needs is in the Line of the direction
	holding       // until the other direction, or a key, tells how to go on
	due           // holding, and one of these has told
	scanning      // for the next record that opens, after loss
	counting      // there are no keys; records are only counted
	ignoring      // nothing will be delivered, nor would have been
	losing        // nothing more of its data will be delivered
	disputed      // a record does not open; its bytes and those behind it wait for other copies
)

// holds tells whether bytes wait for keys, or for the other direction.
func (m mode) holds() bool { return m == holding || m == due }

// over tells whether bytes are thrown away.
func (m mode) over() bool { return m == ignoring || m == losing }

// A proof is what the records of a direction have shown.
//
//	proof      what it is                             a record opens   other keys are installed
//	unproved   no record has opened                   current          unproved
//	former     one has, with the keys before these    current          former
//	current    one has, with these                    current          former
type proof uint8

const (
	unproved proof = iota
	former
	current
)

// A lineage is where the keys of a direction come from, and so what follows from them.
//
//	lineage   its keys                                                   after a KeyUpdate
//	logged    follow from secrets of the handshake, or there are none    logged
//	given     came with the addresses, and the secret behind them        updated
//	bare      came with the addresses alone                              bare: nothing more is read, NoSecret
//	updated   follow from the secret that was given                      updated
type lineage uint8

const (
	logged lineage = iota
	given
	bare
	updated
)

var afterUpdate = [...]lineage{logged: logged, given: updated, bare: bare, updated: updated}

// hellos are what was read of a handshake in plain text. The next ones follow by this table; those that come when a record has
// opened change nothing.
type hellos uint8

const (
	unheard    hellos = iota // none
	offered                  // a ClientHello
	repeated                 // another one
	retried                  // a ClientHello, and HelloRetryRequest: 0-RTT data until the next one belong to no side
	reoffered                // the next one
	answered                 // a ServerHello
	reanswered               // the same after a HelloRetryRequest
)

// A greeting is a message that hellos follow.
type greeting uint8

const (
	clientGreets greeting = iota
	serverRetries
	serverGreets
)

var afterHello = [...][3]hellos{
	//            ClientHello  HelloRetryRequest  ServerHello
	unheard:    {offered, unheard, unheard},
	offered:    {repeated, retried, answered},
	repeated:   {repeated, reoffered, answered},
	retried:    {reoffered, retried, reanswered},
	reoffered:  {reoffered, reoffered, reanswered},
	answered:   {repeated, reanswered, answered},
	reanswered: {reoffered, reanswered, reanswered},
}

// hear notes a hello.
func (c *Conn) hear(g greeting) { c.hellos = afterHello[c.hellos][g] }

// greeted tells whether the hello of a side counts.
func (c *Conn) greeted(side uint8) bool {
	if side == Client {
		return c.hellos != unheard
	}
	return c.hellos >= answered || c.proof[Server] != unproved
}

// retry tells whether the server has asked for another ClientHello.
func (c *Conn) retry() bool {
	return c.hellos == retried || c.hellos == reoffered || c.hellos == reanswered
}

// A half is one direction: two cache lines, and the state for the next bytes of an incomplete record, except rest.part.
type half struct {
	aead    cipher.AEAD
	line    *Line  // of the user, or nil
	seq     uint64 // number of the next record
	iv      [12]byte
	epoch   epoch
	next    epoch  // to be entered with the next record, unless plain
	have    uint16 // bytes of the record that is partial
	fails   uint16 // records in a row that did not open
	doubt   uint32 // how many records may have been lost
	size    uint32 // of the partial record, once its header is there
	skip    uint32 // bytes to pass over
	missing uint32 // bytes lost since the last record that was delivered
	gcm     uint32 // number of the key of AES-GCM, 0 if there is none
	age     uint8  // changes with the keys
	chacha  aead.ChaCha20Poly1305
	_       [22 + 3*(8-unsafe.Sizeof(uintptr(0)))]byte
}

// A rest is what a direction needs less often.
type rest struct {
	part   []byte // the partial record, from the pool
	gone   uint32 // records lost, as far as they were counted
	why    Reason // of the last loss
	head   [headerBytes]byte
	held   []byte // bytes that wait, or are searched, in order
	hs     messages
	secret [48]byte
}

// A patience is whether a direction waits for keys, its own and those of the other one, which it must not overtake.
//
//	patience  bytes before its keys       goes on to
//	patient   is held                     overfull  more is held than Limits allow: what there is goes on without keys
//	                                      expired   Expire: the time that keys have is over
//	overfull  is counted                  expired   the same
//	expired   is counted
type patience uint8

const (
	patient patience = iota
	overfull
	expired
)

// outOfTime is what both directions have after Expire.
var outOfTime = [2]patience{expired, expired}

// patient tells whether a direction waits.
func (d *Decrypter) patient(c *Conn, side uint8) bool { return d.Wait && c.patience[side] == patient }

// earlyState is what became of 0-RTT data.
type earlyState uint8

const (
	earlyNone earlyState = iota
	earlyOffered
	earlyAccepted
	earlyRejected
)

// A Conn is one connection. It belongs to one Decrypter.
type Conn struct {
	version  uint16
	mode     [2]mode
	proof    [2]proof
	patience [2]patience
	lineage  [2]lineage
	hellos   hellos
	state    State
	early    earlyState
	nth      uint8 // which of those with this client random of which a record opened, from 1 on
	trials   uint32
	suite    *suite
	secrets  *keys.Secrets // while they are needed

	half  [2]half
	asked uint64 // state of the store at the last question
	waits *waits // nil at first
	// Since is when the connection began to wait for keys, for the user of the package.
	Since  int64
	rest   [2]rest
	random [2][32]byte
	// Owner is for the user of the package.
	Owner any
}

// Before is how many bytes of a Conn come before what should begin with a cache line: with whole lines from half on, what a
// direction needs is in as few as can be.
const Before = unsafe.Offsetof(Conn{}.half)

var _ = [1]struct{}{}[unsafe.Sizeof(half{})-2*flow.Line]

// waits is what a connection has that waits.
type waits struct {
	order   []part   // how the bytes that both directions hold came
	early   []byte   // 0-RTT data, opened, until it is known to be accepted
	renewal *renewal // whose keys are not in use yet, or nil
}

// A part is the next bytes that a direction holds.
type part struct {
	mark int64
	n    uint32
	side uint8
}

const (
	// The most parts that are kept apart. In the second half of them directions alternate, then small pieces lose their order.
	maxParts  = 512
	partBytes = 16
)

// note remembers when the last n bytes came, and from which side: a direction that is read again comes where it came first. It returns
// how much memory that takes.
func (c *Conn) note(side uint8, n int, mark int64) int {
	if c.waits == nil {
		c.waits = new(waits)
	}
	o := c.waits.order
	at := len(o)
	for at > 0 && o[at-1].side != side && o[at-1].mark > mark {
		at--
	}
	last := at - 1
	if len(o) >= maxParts {
		for last >= 0 && o[last].side != side {
			last--
		}
	}
	if last >= 0 && o[last].side == side && (o[last].mark == mark || len(o) > maxParts/2) {
		o[last].n += uint32(n)
		return 0
	}
	c.waits.order = slices.Insert(o, at, part{mark, uint32(n), side})
	return partBytes
}

// drop forgets what a direction held. It returns how many bytes that were, those of note included.
func (c *Conn) drop(side uint8) int {
	r := &c.rest[side]
	n := len(r.held)
	r.held = nil
	if c.waits != nil {
		kept := c.waits.order[:0]
		for _, p := range c.waits.order {
			if p.side != side {
				kept = append(kept, p)
			}
		}
		n += (len(c.waits.order) - len(kept)) * partBytes
		c.waits.order = kept
	}
	return n
}

// A State is how far a connection can be read.
type State uint8

// States.
const (
	Starting      State = iota
	Readable            // at least one record was opened
	Undecryptable       // there are no keys, or they are wrong
	Unsupported         // a version or suite without AEAD
	NotTLS
)

var stateNames = [...]string{"starting", "readable", "undecryptable", "unsupported", "not TLS"}

func (s State) String() string { return stateNames[s] }

// State returns how far the connection can be read.
func (c *Conn) State() State { return c.state }

// Waiting tells whether a direction waits for keys.
func (c *Conn) Waiting() bool { return c.mode[0].holds() || c.mode[1].holds() }

// wake has a direction that holds bytes go on with them.
func (c *Conn) wake(side uint8) {
	if c.mode[side] == holding {
		c.mode[side] = due
	}
}

// Suite returns the number of the cipher suite and of the version, 0 if they are not known.
func (c *Conn) Suite() (suite, version uint16) {
	if c.suite == nil {
		return 0, 0
	}
	return c.suite.id, c.version
}

// Given tells whether the keys came with the addresses.
func (c *Conn) Given() bool { return c.lineage != [2]lineage{} }

// Random returns the client random, by which key logs name the connection.
func (c *Conn) Random() [32]byte { return c.random[Client] }

// Frame returns how long a record with a header is, or 0 if it is none.
func Frame(b []byte) int {
	n := int(be.Uint16(b[3:]))
	if b[0] < typeCCS || b[0] > typeData || b[1] != 3 || b[2] > 4 || n == 0 || n > maxText12 {
		return 0
	}
	return headerBytes + n
}

// plausible tells whether b, of at least 5 bytes, may begin a record.
func plausible(b []byte) bool { return Frame(b) > 0 }

// overhead returns how much longer a record is than the application data in it.
func (c *Conn) overhead() int {
	switch {
	case c.suite == nil:
		return headerBytes + TagBytes
	case c.version == version13:
		return headerBytes + 1 + c.suite.tag
	case c.suite.explicit():
		return headerBytes + 8 + c.suite.tag
	}
	return headerBytes + c.suite.tag
}

// shortest is how long a record without data may be.
func (c *Conn) shortest() int {
	if c.suite == nil {
		return headerBytes + TagBytes
	}
	return headerBytes + c.suite.tag
}

// DataRecord returns how long the record of application data is of which b may be the beginning, or 0.
func DataRecord(b []byte) int {
	if len(b) < headerBytes || b[0] != typeData || b[1] != 3 || b[2] != 3 {
		return 0
	}
	if n := headerBytes + int(be.Uint16(b[3:])); n >= minRecord && n <= headerBytes+maxText13 {
		return n
	}
	return 0
}

// LooksLikeClientHello tells whether a stream that begins with b can be that of a TLS client. Three bytes are enough to
// say no, six to say yes.
func LooksLikeClientHello(b []byte) bool {
	return len(b) >= 3 && b[0] == typeHandshake && b[1] == 3 && b[2] <= 4 && (len(b) < 6 || b[5] == msgClientHello)
}
