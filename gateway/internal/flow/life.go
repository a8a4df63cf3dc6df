package flow

// A Life is the state of a connection. It is stored in the flags of its entry. States from Ended on are ends, which no
// entry has.
type Life uint8

// States of a connection.
const (
	Opening Life = iota // no record has opened
	Open
	Half0   // side 0 has sent its last byte
	Half1   // side 1 has sent its last byte
	Leaving // ends soon, unless a record opens: no record has opened, and there are no keys
	Reset   // ends soon: one side has reset it
	Closing // ends soon: both sides have sent their last byte
	_
	Ended
	Idle    // no packet for the longest allowed time
	Evicted // removed to make room
	lives
)

var lifeNames = [lives]string{"opening", "open", "half closed", "half closed", "leaving", "reset", "closing", "", "ended", "idle", "evicted"}

func (l Life) String() string { return lifeNames[l] }

// Ends is the number of ends.
const Ends = int(lives - Ended)

// An Event changes the state of a connection.
type Event uint8

// Events. A FIN or RST counts only if it is at the right position and resembles the authenticated packets of its side.
// In a connection without keys, any FIN or RST counts.
const (
	Opened  Event = iota // a record opened
	Keyed                // its hello arrived after all, and there are keys for it
	Fin0                 // a FIN of side 0
	Fin1                 // a FIN of side 1
	Rst                  // a RST; or a FIN without keys
	Over                 // both FINs were acknowledged, another connection replaced it, or the gateway stops
	Silence              // no packet for the time that its state allows
	NoRoom               // the table is full, and this connection is among the least important
	events
)

// The transitions of a connection. Only a tag proves anything: if a record opens, the connection continues, whatever
// seemed to end it.
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

// After returns the state after an event.
func (l Life) After(x Event) Life { return transitions[l][x] }

// Ending reports whether a connection ends soon, unless a record opens.
func (l Life) Ending() bool { return l >= Leaving }

// Proven reports whether a record of a connection opened.
func (l Life) Proven() bool { return l != Opening && l != Leaving }

// Life returns the state of a connection.
func (e *Entry[S]) Life() Life { return Life(e.Flags / life0 % 8) }

// Happens changes the state of a connection; the event must not end it.
func (e *Entry[S]) Happens(x Event) {
	e.Flags = e.Flags&^(7*life0) | uint16(e.Life().After(x))*life0
}

// IsEnding are the flags of a connection in an Ending state.
const IsEnding = uint16(Leaving) * life0
