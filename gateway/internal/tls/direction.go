package tls

// A Direction is how far one direction of a connection is read. Verdicts, metrics and the audit log all go by it.
//
//	what becomes of its bytes          no record opened yet   one has
//	read                               starting               reading
//	held, until keys come              waiting for keys       waiting for keys
//	searched for a record that opens   lost                   lost
//	only counted, or thrown away       lost, or not TLS       lost
//	in dispute                         lost                   lost
//
// What was lost may be found again, when another copy of a record opens, or one further on. Then the direction reads, and the
// reason of the last loss stays: without one, all of it was read.
type Direction uint8

// States of a direction.
const (
	DirStarting Direction = iota
	DirReading
	DirWaiting
	DirLost
	DirNotTLS
)

// Directions is their number.
const Directions = int(DirNotTLS) + 1

var directionNames = [...]string{"starting", "reading", "waiting for keys", "lost", "not TLS"}

func (d Direction) String() string { return directionNames[d] }

// A Reason is why a direction was lost.
type Reason uint8

// Reasons.
const (
	Nothing     Reason = iota // was lost
	NoKeys                    // they did not come in time
	WrongKeys                 // no record opens with them
	NoCipher                  // a version or suite that has no AEAD here
	Unauthentic               // a record did not open, or none began where one should
	Missing                   // segments did not come
	TooMuch                   // more waited than may
	NoSecret                  // keys that were given were updated, without the secret that the next follow from
	Foreign                   // what came was not TLS
)

// Reasons is their number.
const Reasons = int(Foreign) + 1

var reasonNames = [...]string{"", "no keys", "wrong keys", "no such cipher here", "not authentic", "segments missing", "too much waited", "no secret", "not TLS"}

func (r Reason) String() string { return reasonNames[r] }

// directionOf is the table above, by mode and by whether a record has opened.
var directionOf = [...][2]Direction{
	reading:  {DirStarting, DirReading},
	armed:    {DirStarting, DirReading},
	holding:  {DirWaiting, DirWaiting},
	due:      {DirWaiting, DirWaiting},
	scanning: {DirLost, DirLost},
	counting: {DirLost, DirLost},
	ignoring: {DirLost, DirLost},
	losing:   {DirLost, DirLost},
	disputed: {DirLost, DirLost},
}

// Direction returns the state of a direction, and why something of it was lost last.
func (c *Conn) Direction(side uint8) (Direction, Reason) {
	why := c.rest[side].why
	opened := 0
	if c.Proved(side) {
		opened = 1
	}
	d := directionOf[c.mode[side]][opened]
	switch {
	case d == DirLost && why == Foreign:
		d = DirNotTLS
	case d == DirLost && why == Nothing:
		why = Unauthentic // it is in dispute
	}
	return d, why
}
