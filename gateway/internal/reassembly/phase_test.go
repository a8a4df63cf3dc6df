package reassembly

import (
	"reflect"
	"slices"
	"testing"
)

// The phases of a direction, entry by entry.
func TestPhases(t *testing.T) {
	rows := 0
	for _, c := range []struct {
		from phase
		on   event
		to   phase
		why  string
	}{
		{unbegun, begins, beginning, ""},
		{unbegun, opens, streaming, "its keys came with its addresses"},
		{unbegun, rereads, again, ""},
		{unbegun, settles, unbegun, "nothing was due"},
		{unbegun, stops, contested, ""},
		{unbegun, comes, unbegun, "it begins first"},
		{unbegun, fails, unbegun, "the same"},

		{beginning, begins, beginning, "it may begin elsewhere, and is read from there"},
		{beginning, opens, streaming, "its first record"},
		{beginning, rereads, again, "its first record, with other copies of the hellos"},
		{beginning, settles, beginning, ""},
		{beginning, stops, contested, ""},
		{beginning, comes, beginning, "it is read again from the beginning"},
		{beginning, fails, beginning, "the same"},

		{again, begins, again, ""},
		{again, opens, streaming, ""},
		{again, rereads, again, ""},
		{again, settles, streaming, "the next bytes are new"},
		{again, stops, contested, ""},
		{again, comes, again, ""},
		{again, fails, again, ""},

		{streaming, begins, streaming, ""},
		{streaming, opens, streaming, "the usual case"},
		{streaming, rereads, again, "it streams since the record that opened so"},
		{streaming, settles, streaming, ""},
		{streaming, stops, contested, ""},
		{streaming, comes, streaming, ""},
		{streaming, fails, streaming, ""},

		{contested, begins, contested, ""},
		{contested, opens, streaming, "another copy, or one further on"},
		{contested, rereads, contested, "one has stopped after the record that opened so"},
		{contested, settles, contested, ""},
		{contested, stops, contested, ""},
		{contested, comes, contested, ""},
		{contested, fails, tried, "only more bytes can change it"},

		{tried, begins, tried, ""},
		{tried, opens, streaming, "one further on"},
		{tried, rereads, tried, ""},
		{tried, settles, tried, ""},
		{tried, stops, contested, ""},
		{tried, comes, contested, "another copy"},
		{tried, fails, tried, "with more patience, too"},
	} {
		rows++
		d := Direction{phase: c.from}
		if d.happens(c.on); d.phase != c.to {
			t.Errorf("phase %d, event %d: %d, it should be %d (%s)", c.from, c.on, d.phase, c.to, c.why)
		}
		if d.phase.early() && d.phase.stopped() {
			t.Errorf("phase %d is early and has stopped", d.phase)
		}
	}
	if rows != int(phases)*int(events) {
		t.Errorf("%d rows", rows)
	}
}

// The phase has the complete state of a direction, without additional flags.
func TestNoFlags(t *testing.T) {
	flags := func(of any) (names []string) {
		for typ, i := reflect.TypeOf(of), 0; i < typ.NumField(); i++ {
			if f := typ.Field(i); f.Type.Kind() == reflect.Bool {
				names = append(names, typ.Name()+"."+f.Name)
			}
		}
		return names
	}
	if names := slices.Concat(flags(Direction{}), flags(Pair{}), flags(Reassembler{})); len(names) > 0 {
		t.Errorf("flags: %v", names)
	}
	if names := flags(struct{ deep bool }{}); len(names) != 1 {
		t.Errorf("a flag is not found: %v", names)
	}
}
