// Package report describes the choices of package dispatch and their reasons in words.
package report

import (
	"encoding/binary"
	"errors"
	"strconv"
	"strings"

	"github.com/sealane/sealane/internal/dispatch"
	"github.com/sealane/sealane/internal/offload"
)

// A Status is the result of the choice for a level.
type Status uint8

const (
	Chosen      Status = iota + 1
	Lesser             // a better level was chosen
	Failed             // its known-answer test failed
	Capped             // the environment or the program excludes it
	Unsupported        // the CPU lacks a feature
)

// A Level is the result for one row.
type Level struct {
	dispatch.Row
	Status Status
	Tested bool // the CPU can run it
	Passed bool
	Why    string // human-readable reason
}

// Levels makes the choice and runs all known-answer tests that the CPU can run, unless they have run before. It returns
// the result for each row of t.
func Levels(t *dispatch.Table) []Level {
	chosen, outcomes := t.Outcomes()
	cpu, _, asm, _ := t.Environment()
	limit := "SEALANE_CPU=" + cpu
	name, program := t.MaxLevel()
	switch {
	case program:
		limit = "SetMaxLevel(" + name + ")"
	case asm == "0":
		limit = "SEALANE_ASM=0"
	}
	var levels []Level
	for i, o := range outcomes {
		l := Level{Row: o.Row, Tested: len(o.Lacking) == 0, Passed: o.Passed}
		switch {
		case !l.Tested:
			l.Status, l.Why = Unsupported, "the CPU lacks "+strings.Join(o.Lacking, ", ")
		case !o.Passed:
			l.Status, l.Why = Failed, "its known-answer test failed"
		case o.Capped:
			l.Status, l.Why = Capped, limit+" rules it out"
		case o.Level != chosen && o.Skipped:
			l.Status, l.Why = Lesser, "slower on "+dispatch.CPU().Name
		case o.Level != chosen:
			l.Status, l.Why = Lesser, "a better level was chosen"
		case o.Name == cpu || o.Name == name:
			l.Status, l.Why = Chosen, limit+" names it"
		case i > 0 && outcomes[i-1].Capped:
			l.Status, l.Why = Chosen, "the best level that "+limit+" allows"
		case i > 0 && outcomes[i-1].Skipped:
			l.Status, l.Why = Chosen, "the best level on "+dispatch.CPU().Name
		default:
			l.Status, l.Why = Chosen, "the best level that this CPU runs"
		}
		levels = append(levels, l)
	}
	return levels
}

// A Line is the entry of asm/levels.json for this CPU.
type Line struct {
	Name  string `json:"name"`
	CPU   string `json:"cpu"`   // the key of the entry
	First string `json:"first"` // the level at which the choice of t starts by default
}

// LineOf returns the entry that decides the choice of t.
func LineOf(t *dispatch.Table) Line {
	line := Line{Name: dispatch.CPU().Name, First: dispatch.CPU().First[t.Primitive]}
	if line.First == "" {
		line.First = t.Rows[0].Name
	}
	switch vendor, model := dispatch.Identity(); {
	case vendor == 0:
		line.CPU = "a CPU that does not identify itself"
	case vendor < 0x100:
		line.CPU = "implementer 0x" + strconv.FormatUint(uint64(vendor), 16) + ", part 0x" + strconv.FormatUint(uint64(model), 16)
	default:
		line.CPU = "vendor " + string(binary.LittleEndian.AppendUint32(nil, vendor)) + "..., family " + strconv.FormatUint(uint64(model), 10)
	}
	return line
}

func (l Line) String() string {
	return l.Name + " (" + l.CPU + "): preferred level " + l.First
}

// Environment returns an error if a variable has an invalid value, which is ignored. SEALANE_CPU is checked for t.
func Environment(t *dispatch.Table) error {
	cpu, cpuOK, asm, asmOK := t.Environment()
	if !asmOK {
		return errors.New("SEALANE_ASM=" + strconv.Quote(asm) + " has no effect: it may be 0 or 1")
	}
	if !cpuOK {
		return errors.New("SEALANE_CPU=" + strconv.Quote(cpu) + " has no effect: the levels here are " +
			strings.Join(dispatch.Levels(), " "))
	}
	if value := offload.Variable(); value != "" && value != "auto" && value != "off" {
		return errors.New("SEALANE_AFALG=" + strconv.Quote(value) + " has no effect: it may be auto or off")
	}
	return nil
}
