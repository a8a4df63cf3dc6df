package flow

// A Life is how far the life of a connection is. It lies in the flags of its entry; states from Ended on are ends, which no entry has.
type Life uint8

// States of a connection.
const (
	Opening Life = iota // no record of it has opened
	Open
	Half0   // side 0 has sent its last byte
	Half1   // side 1 has
	Leaving // it ends soon, unless a record opens: none has, and there are no keys
	Reset   // the same: one side has reset it
	Closing // the same: both sides have sent their last byte
	_
	Ended
	Idle    // nothing came for so long as may be
	Evicted // to make room
	lives
)

var lifeNames = [lives]string{"opening", "open", "half closed", "half closed", "leaving", "reset", "closing", "", "ended", "idle", "evicted"}

func (l Life) String() string { return lifeNames[l] }

// Ends is how many ends there are.
const Ends = int(lives - Ended)

// An Event is what changes the state of a connection.
type Event uint8

// Events. A FIN or RST is one if it is where it belongs and like the packets of its side that were authenticated; in a connection for
// which there are no keys, any is.
const (
	Opened  Event = iota // a record of it opened
	Keyed                // its hello came after all, and there are keys for it
	Fin0                 // a FIN of side 0
	Fin1                 // a FIN of side 1
	Rst                  // a RST; or a FIN where there are no keys
	Over                 // both FINs were acknowledged, another connection took its place, or the gateway stops
	Silence              // nothing came for as long as its state allows
	NoRoom               // the table is full, and of some connections it matters least
	events
)

// The life of a connection. Only a tag proves anything: whatever seemed to end a connection, a record that opens shows that it lives.
var transitions = [...][events]Life{
	//         Opened Keyed    Fin0     Fin1     Rst      Over   Silence NoRoom
	Opening: {Open, Opening, Opening, Opening, Leaving, Ended, Idle, Evicted},
	Open:    {Open, Open, Half0, Half1, Reset, Ended, Idle, Evicted},
	Half0:   {Half0, Half0, Half0, Closing, Reset, Ended, Idle, Evicted},
	Half1:   {Half1, Half1, Closing, Half1, Reset, Ended, Idle, Evicted},
	Leaving: {Open, Opening, Leaving, Leaving, Leaving, Ended, Ended, Evicted},
	Reset:   {Open, Reset, Reset, Reset, Reset, Ended, Ended, Evicted},
	Closing: {Open, Closing, Closing, Closing, Closing, Ended, Ended, Evicted},
}

// After returns the state that follows on an event.
func (l Life) After(x Event) Life { return transitions[l][x] }

// Ending tells whether a connection ends soon, unless a record opens.
func (l Life) Ending() bool { return l >= Leaving }

// Proven tells whether a record of a connection opened.
func (l Life) Proven() bool { return l != Opening && l != Leaving }

// Life returns the state of a connection.
func (e *Entry[S]) Life() Life { return Life(e.Flags / life0 % 8) }

// Happens changes the state of a connection, which does not end with this.
func (e *Entry[S]) Happens(x Event) {
	e.Flags = e.Flags&^(7*life0) | uint16(e.Life().After(x))*life0
}

// IsEnding are the flags that a connection which is Ending has.
const IsEnding = uint16(Leaving) * life0
