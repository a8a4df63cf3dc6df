package flow

import "testing"

// The life of a connection, entry by entry.
func TestLife(t *testing.T) {
	rows := 0
	for _, c := range []struct {
		from Life
		on   Event
		to   Life
		why  string
	}{
		{Opening, Opened, Open, "its first record"},
		{Opening, Keyed, Opening, ""},
		{Opening, Fin0, Opening, "nothing says whose FIN it is"},
		{Opening, Fin1, Opening, "the same"},
		{Opening, Rst, Leaving, "there are no keys"},
		{Opening, Over, Ended, "a rival of which no record opened makes room"},
		{Opening, Silence, Idle, "it never opened"},
		{Opening, NoRoom, Evicted, ""},

		{Open, Opened, Open, ""},
		{Open, Keyed, Open, ""},
		{Open, Fin0, Half0, "the other side may go on for long"},
		{Open, Fin1, Half1, "the same"},
		{Open, Rst, Reset, ""},
		{Open, Over, Ended, "another connection took its place"},
		{Open, Silence, Idle, "if there is a limit"},
		{Open, NoRoom, Evicted, ""},

		{Half0, Opened, Half0, "a record of the other side"},
		{Half0, Keyed, Half0, ""},
		{Half0, Fin0, Half0, "sent again"},
		{Half0, Fin1, Closing, ""},
		{Half0, Rst, Reset, ""},
		{Half0, Over, Ended, ""},
		{Half0, Silence, Idle, ""},
		{Half0, NoRoom, Evicted, ""},

		{Half1, Opened, Half1, "a record of the other side"},
		{Half1, Keyed, Half1, ""},
		{Half1, Fin0, Closing, ""},
		{Half1, Fin1, Half1, "sent again"},
		{Half1, Rst, Reset, ""},
		{Half1, Over, Ended, ""},
		{Half1, Silence, Idle, ""},
		{Half1, NoRoom, Evicted, ""},

		{Leaving, Opened, Open, "keys came late"},
		{Leaving, Keyed, Opening, "what looked like the end came before the hello"},
		{Leaving, Fin0, Leaving, ""},
		{Leaving, Fin1, Leaving, ""},
		{Leaving, Rst, Leaving, ""},
		{Leaving, Over, Ended, ""},
		{Leaving, Silence, Ended, ""},
		{Leaving, NoRoom, Evicted, ""},

		{Reset, Opened, Open, "it lives"},
		{Reset, Keyed, Reset, ""},
		{Reset, Fin0, Reset, ""},
		{Reset, Fin1, Reset, ""},
		{Reset, Rst, Reset, ""},
		{Reset, Over, Ended, ""},
		{Reset, Silence, Ended, ""},
		{Reset, NoRoom, Evicted, ""},

		{Closing, Opened, Open, "it lives"},
		{Closing, Keyed, Closing, ""},
		{Closing, Fin0, Closing, "sent again"},
		{Closing, Fin1, Closing, "the same"},
		{Closing, Rst, Closing, "it is over in any case"},
		{Closing, Over, Ended, "all is acknowledged"},
		{Closing, Silence, Ended, ""},
		{Closing, NoRoom, Evicted, ""},
	} {
		rows++
		if to := c.from.After(c.on); to != c.to {
			t.Errorf("%v, event %d: %v, it should be %v (%s)", c.from, c.on, to, c.to, c.why)
		}
		if c.to >= Ended {
			continue
		}
		e := Entry[[Line]byte]{Flags: used | Queued1 | uint16(c.from)*life0}
		if e.Happens(c.on); e.Life() != c.to || e.Flags&^(7*life0) != used|Queued1 {
			t.Errorf("%v, event %d: the entry is %v, its flags %x", c.from, c.on, e.Life(), e.Flags)
		}
		if got := e.Flags&IsEnding != 0; got != e.Life().Ending() {
			t.Errorf("%v: ending %v", e.Life(), got)
		}
	}
	if len(transitions) != int(Closing)+1 || rows != len(transitions)*int(events) {
		t.Errorf("%d states, %d rows", len(transitions), rows)
	}
}
