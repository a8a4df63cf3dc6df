package reassembly

// A phase is how a direction is read: the first column of the table in the package comment.
type phase uint8

// Phases. Those without an opened record come first, those of a stopped direction last.
const (
	unbegun   phase = iota // none of its bytes have arrived
	beginning              // no record of it has opened
	again                  // one has, when the direction was read again; its next bytes are already held
	streaming              // its bytes are fed to TLS as they arrive, with or without keys
	contested              // its next record does not open, or missing bytes do not arrive
	tried                  // the same, and no bytes have arrived since all copies were tried
	phases
)

// An event changes the phase of a direction.
type event uint8

const (
	begins  event = iota // its first bytes arrive
	opens                // its next record or a later one opens, or bytes are given up
	rereads              // a record opens when the direction is read again
	settles              // all bytes that can be fed have been fed
	stops                // its next record does not open, or missing bytes do not arrive
	comes                // bytes arrive that may belong to its next record
	fails                // no copy of its next record opens
	events
)

var transitions = [phases][events]phase{
	//          begins     opens      rereads    settles    stops      comes      fails
	unbegun:   {beginning, streaming, again, unbegun, contested, unbegun, unbegun},
	beginning: {beginning, streaming, again, beginning, contested, beginning, beginning},
	again:     {again, streaming, again, streaming, contested, again, again},
	streaming: {streaming, streaming, again, streaming, contested, streaming, streaming},
	contested: {contested, streaming, contested, contested, contested, contested, tried},
	tried:     {tried, streaming, tried, tried, contested, contested, tried},
}

func (d *Direction) happens(x event) { d.phase = transitions[d.phase][x] }

// early reports whether no record of a direction has opened.
func (p phase) early() bool { return p <= beginning }

// stopped reports whether a direction waits for other copies of its next record, or for a later record.
func (p phase) stopped() bool { return p >= contested }

// A receipt is what the receiver's acknowledgments show about the missing bytes.
type receipt uint8

const (
	received receipt = iota // it has them, or this is unknown
	lacking                 // it waits for them, too
)
