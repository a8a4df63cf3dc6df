package dispatch

import "sync"

// A Microarchitecture is a line of the table that says at which level the choice starts on some CPUs: where features do not
// tell pipelines apart. asm/levels.json has the lines.
type Microarchitecture struct {
	Name             string
	vendor, from, to uint32            // as identify has them; vendor 0: any CPU
	First            map[string]string // by primitive; the table's first level if it has none
}

// CPU returns the line that this CPU takes, which is the same for the life of the process. On a machine with unlike cores it
// is that of the core that asked first.
var CPU = sync.OnceValue(func() *Microarchitecture { return microarchitectureOf(identify()) })

// Identity returns the two numbers of this CPU that the lines are told apart by: vendor and family, or implementer and part.
// They are 0 where a program is not told.
func Identity() (vendor, model uint32) { return identify() }

func microarchitectureOf(vendor, model uint32) *Microarchitecture {
	last := len(microarchitectures) - 1
	for i, m := range microarchitectures[:last] {
		if m.vendor == vendor && m.from <= model && model <= m.to {
			return &microarchitectures[i]
		}
	}
	return &microarchitectures[last]
}
