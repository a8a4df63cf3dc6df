package engine

// A clock only moves forward. It follows the time of packets, but neither a stray timestamp nor an adjusted clock sets it.
//
//	the time of a packet is       the clock
//	before the last one           stops, and continues from the new time if that is much earlier
//	slightly after it             advances by as much
//	far after it                  advances slightly; the rest follows when more packets confirm it
type clock struct {
	now   int64 // the clock's time
	last  int64 // time of the last packet
	jump  int64 // unconfirmed jump
	votes int
}

const (
	// A longer pause is accepted only if later packets confirm it.
	maxStep = 2500e6
	// The number of packets that confirm it.
	confirmed = 8
	// If the time goes back further, the clock was adjusted.
	maxBack = 1e9
)

// pass takes the time of a packet, and returns the clock's time.
func (c *clock) pass(t int64) int64 {
	d := t - c.last
	switch {
	case c.last == 0 && c.now == 0:
		c.now, c.last = t, t
		return t
	case d < -maxBack:
		c.last, c.jump = t, 0
	case d <= 0:
	case d <= maxStep:
		c.now += d
		c.last = t
	default:
		c.now += maxStep
		c.last, c.jump, c.votes = t, d-maxStep, 0
		return c.now
	}
	if c.jump > 0 {
		if c.votes++; c.votes == confirmed {
			c.now += c.jump
			c.jump = 0
		}
	}
	return c.now
}
