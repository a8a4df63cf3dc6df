// Package tls follows TLS connections as an observer. Given their secrets, it opens the records of TLS 1.3 and of the
// AEAD suites of TLS 1.2.
//
// It delivers only authenticated data. Data that cannot be opened, because keys are missing, after loss, or because it
// is forged, is counted and reported as lost.
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
	shortTag    = 8 // of AES_CCM_8 suites
	// RFC 8446, section 5.2, and RFC 5246, section 6.2.3.
	maxText13 = 1<<14 + 256
	maxText12 = 1<<14 + 2048
	maxRecord = headerBytes + maxText12
	// A TLS 1.3 record has at least a type byte and a tag.
	minRecord = headerBytes + 1 + shortTag
)

// Record types.
const (
	typeCCS       = 20
	typeAlert     = 21
	typeHandshake = 22
	typeData      = 23
)

// An epoch is the period in which one key protects a direction; only KeyUpdate changes keys within one.
type epoch uint8

const (
	plain epoch = iota
	early
	handshake
	blind // the handshake keys are missing; application keys are tried on every record
	application
	protected12
)

// A mode is how the bytes of a direction are processed.
type mode uint8

const (
	reading  mode = iota
	armed         // reading, and the Line of the direction has everything for the next record
	holding       // until the other direction or a key shows how to continue
	due           // holding, and that has happened
	scanning      // for the next record that opens, after loss
	counting      // without keys: records are only counted
	ignoring      // nothing will be delivered, and nothing is lost
	losing        // no more of its data will be delivered
	disputed      // a record does not open; its bytes and all later ones wait for other copies
)

// holds reports whether bytes wait for keys or for the other direction.
func (m mode) holds() bool { return m == holding || m == due }

// over reports whether bytes are discarded.
func (m mode) over() bool { return m == ignoring || m == losing }

// A proof is what the records of a direction have shown.
//
//	proof      meaning                                a record opens   other keys are installed
//	unproved   no record has opened                   current          unproved
//	former     one has opened with earlier keys       current          former
//	current    one has opened with these keys         current          former
type proof uint8

const (
	unproved proof = iota
	former
	current
)

// A lineage is the origin of the keys of a direction, which determines later keys.
//
//	lineage   its keys                                                   after a KeyUpdate
//	logged    follow from secrets of the handshake, or there are none    logged
//	given     were given with the addresses, together with their secret  updated
//	bare      were given with the addresses, without their secret        bare: nothing more is read, NoSecret
//	updated   follow from the given secret                               updated
type lineage uint8

const (
	logged lineage = iota
	given
	bare
	updated
)

var afterUpdate = [...]lineage{logged: logged, given: updated, bare: bare, updated: updated}

// hellos is the state of the plaintext handshake, which changes according to this table. Messages after the first
// opened record do not change it.
type hellos uint8

const (
	unheard    hellos = iota // none
	offered                  // a ClientHello
	repeated                 // another one
	retried                  // a ClientHello and a HelloRetryRequest: 0-RTT data before the next ClientHello is ignored
	reoffered                // the next ClientHello
	answered                 // a ServerHello
	reanswered               // the same after a HelloRetryRequest
)

// A greeting is a message that changes hellos.
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

// hear records a hello.
func (c *Conn) hear(g greeting) { c.hellos = afterHello[c.hellos][g] }

// greeted reports whether the hello of a side counts.
func (c *Conn) greeted(side uint8) bool {
	if side == Client {
		return c.hellos != unheard
	}
	return c.hellos >= answered || c.proof[Server] != unproved
}

// retry reports whether the server has requested another ClientHello.
func (c *Conn) retry() bool {
	return c.hellos == retried || c.hellos == reoffered || c.hellos == reanswered
}

// A half is one direction: two cache lines with all state for the next bytes of an incomplete record, except rest.part.
type half struct {
	aead    cipher.AEAD
	line    *Line  // from the user, or nil
	seq     uint64 // number of the next record
	iv      [12]byte
	epoch   epoch
	next    epoch  // entered with the next record, unless plain
	have    uint16 // available bytes of the partial record
	fails   uint16 // consecutive records that did not open
	doubt   uint32 // how many records may have been lost
	size    uint32 // size of the partial record, once its header is available
	skip    uint32 // bytes to skip
	missing uint32 // bytes lost since the last delivered record
	gcm     uint32 // number of the AES-GCM key, or 0
	age     uint8  // changes with the keys
	chacha  aead.ChaCha20Poly1305
	_       [22 + 3*(8-unsafe.Sizeof(uintptr(0)))]byte
}

// A rest is the rarely used state of a direction.
type rest struct {
	part   []byte // the partial record, from the pool
	gone   uint32 // lost records, as far as they were counted
	why    Reason // of the last loss
	head   [headerBytes]byte
	held   []byte // waiting or searched bytes, in order
	hs     messages
	secret [48]byte
}

// A patience is whether a direction waits for keys: its own, and those of the other direction, which it must not
// overtake.
//
//	patience  bytes before its keys       next states
//	patient   are held                    overfull  more are held than Limits allows: they continue without keys
//	                                      expired   Expire: the time for keys is over
//	overfull  are counted                 expired   the same
//	expired   are counted
type patience uint8

const (
	patient patience = iota
	overfull
	expired
)

// outOfTime is the patience of both directions after Expire.
var outOfTime = [2]patience{expired, expired}

// patient reports whether a direction waits.
func (d *Decrypter) patient(c *Conn, side uint8) bool { return d.Wait && c.patience[side] == patient }

// earlyState is the fate of 0-RTT data.
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
	nth      uint8 // index among the connections with this client random and an opened record, starting at 1
	trials   uint32
	suite    *suite
	secrets  *keys.Secrets // while they are needed

	half  [2]half
	asked uint64 // state of the store at the last query
	waits *waits // initially nil
	// Since is when the connection started to wait for keys, for the user of the package.
	Since  int64
	rest   [2]rest
	random [2][32]byte
	// Owner is for the user of the package.
	Owner any
}

// Before is the number of bytes of a Conn before the part that should start with a cache line. With whole lines from
// half on, the data of a direction is in as few lines as possible.
const Before = unsafe.Offsetof(Conn{}.half)

var _ = [1]struct{}{}[unsafe.Sizeof(half{})-2*flow.Line]

// waits is the state of a waiting connection.
type waits struct {
	order   []part   // order of arrival of the held bytes of both directions
	early   []byte   // opened 0-RTT data, until the server accepts it
	renewal *renewal // keys that are not used yet, or nil
}

// A part is the next bytes that a direction holds.
type part struct {
	mark int64
	n    uint32
	side uint8
}

const (
	// The most separate parts. In the second half, directions alternate, so small pieces lose their order.
	maxParts  = 512
	partBytes = 16
)

// note records when the last n bytes arrived, and from which side. A direction that is read again keeps its first
// position. It returns the memory that this takes.
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

// drop discards the held bytes of a direction. It returns their number, including those of note.
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

// A State is how well a connection can be read.
type State uint8

// States.
const (
	Starting      State = iota
	Readable            // at least one record was opened
	Undecryptable       // keys are missing or wrong
	Unsupported         // a version or suite without a supported AEAD
	NotTLS
)

var stateNames = [...]string{"starting", "readable", "undecryptable", "unsupported", "not TLS"}

func (s State) String() string { return stateNames[s] }

// State returns how well the connection can be read.
func (c *Conn) State() State { return c.state }

// Waiting reports whether a direction waits for keys.
func (c *Conn) Waiting() bool { return c.mode[0].holds() || c.mode[1].holds() }

// wake makes a direction continue with its held bytes.
func (c *Conn) wake(side uint8) {
	if c.mode[side] == holding {
		c.mode[side] = due
	}
}

// Suite returns the numbers of the cipher suite and the version, or 0 if they are unknown.
func (c *Conn) Suite() (suite, version uint16) {
	if c.suite == nil {
		return 0, 0
	}
	return c.suite.id, c.version
}

// Given reports whether the keys were given with the addresses.
func (c *Conn) Given() bool { return c.lineage != [2]lineage{} }

// Random returns the client random, which identifies the connection in key logs.
func (c *Conn) Random() [32]byte { return c.random[Client] }

// Frame returns the length of the record with this header, or 0 if the header is invalid.
func Frame(b []byte) int {
	n := int(be.Uint16(b[3:]))
	if b[0] < typeCCS || b[0] > typeData || b[1] != 3 || b[2] > 4 || n == 0 || n > maxText12 {
		return 0
	}
	return headerBytes + n
}

// plausible reports whether b, of at least 5 bytes, may start a record.
func plausible(b []byte) bool { return Frame(b) > 0 }

// overhead returns the size of a record without its application data.
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

// shortest returns the smallest size of a record.
func (c *Conn) shortest() int {
	if c.suite == nil {
		return headerBytes + TagBytes
	}
	return headerBytes + c.suite.tag
}

// DataRecord returns the length of the application data record that b may start, or 0.
func DataRecord(b []byte) int {
	if len(b) < headerBytes || b[0] != typeData || b[1] != 3 || b[2] != 3 {
		return 0
	}
	if n := headerBytes + int(be.Uint16(b[3:])); n >= minRecord && n <= headerBytes+maxText13 {
		return n
	}
	return 0
}

// MayBeHello reports whether a stream that starts with b can be that of a side of TLS. Six bytes decide; a single one
// is enough to return true.
func MayBeHello(b []byte, side uint8) bool {
	return len(b) > 0 && b[0] == typeHandshake && (len(b) < 2 || b[1] == 3) && (len(b) < 3 || b[2] <= 4) &&
		(len(b) < 6 || b[5] == msgClientHello+side)
}
