package tls

// A Direction is how well one direction of a connection is read. Verdicts, metrics and the audit log all use it.
//
//	processing of its bytes            no record opened yet   one has opened
//	read                               starting               reading
//	held, until keys arrive            waiting for keys       waiting for keys
//	searched for a record that opens   lost                   lost
//	only counted, or discarded         lost, or not TLS       lost
//	in dispute                         lost                   lost
//
// Reading may continue after a loss, when another copy of a record opens, or a later record. Then the state is reading
// again, and the reason of the last loss remains. If there is no reason, everything was read.
type Direction uint8

// States of a direction.
const (
	DirStarting Direction = iota
	DirReading
	DirWaiting
	DirLost
	DirNotTLS
)

// Directions is the number of states.
const Directions = int(DirNotTLS) + 1

var directionNames = [...]string{"starting", "reading", "waiting for keys", "lost", "not TLS"}

func (d Direction) String() string { return directionNames[d] }

// A Reason is the cause of a loss.
type Reason uint8

// Reasons.
const (
	Nothing     Reason = iota // nothing was lost
	NoKeys                    // keys did not arrive in time
	WrongKeys                 // no record opens with them
	NoCipher                  // the version or suite has no supported AEAD
	Unauthentic               // a record did not open, or no record started where one should
	Missing                   // segments are missing
	TooMuch                   // more data waited than the limit
	NoSecret                  // given keys were updated, and the secret for the next ones was not given
	Foreign                   // the data was not TLS
)

// Reasons is the number of reasons.
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

// Direction returns the state of a direction, and the reason of its last loss.
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
		why = Unauthentic // in dispute
	}
	return d, why
}
