package reassembly

// A phase is how a direction is read: the first column of the table in front of the package.
type phase uint8

// Phases. Those of a direction that begins come first, and last those of one that has stopped.
const (
	unbegun   phase = iota // nothing of it has come
	beginning              // no record of it has opened
	again                  // one has, when it was read again: what is due came before
	streaming              // its bytes go to TLS as they come; so do those of one without keys
	contested              // its next record does not open, or missing bytes do not come
	tried                  // the same, and nothing has come since all copies were tried
	phases
)

// An event changes the phase of a direction.
type event uint8

const (
	begins  event = iota // its first bytes came
	opens                // its next record opens, or one further on; or bytes are given up
	rereads              // a record of it opened when it was read again
	settles              // all that was due is fed
	stops                // its next record does not open, or missing bytes do not come
	comes                // bytes came that may be of its next record
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

// early tells whether no record of a direction has opened.
func (p phase) early() bool { return p <= beginning }

// stopped tells whether a direction waits for other copies of its next record, or for one further on.
func (p phase) stopped() bool { return p >= contested }

// A receipt is what the receiver says of the bytes that are missing.
type receipt uint8

const (
	received receipt = iota // or it says nothing
	lacking                 // it waits for them
)
