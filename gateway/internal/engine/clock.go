package engine

// A clock goes forward only. It follows the time of packets, and lets neither a stray one nor a clock that was set decide.
//
//	the time of a packet is      the clock
//	before the last one          stands, and goes on from there if the time is much earlier
//	a little after it            goes as far
//	far after it                 goes on a little; the rest follows when more packets say so
type clock struct {
	now   int64 // goes forward
	last  int64 // of the packets' own clock
	jump  int64 // that is not confirmed
	votes int
}

const (
	// Longer pauses are believed only if what follows confirms them.
	maxStep = 2500e6
	// This many packets confirm them.
	confirmed = 8
	// A clock that is back by more was set.
	maxBack = 1e9
)

// pass takes the time of a packet, and returns that of the clock.
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
