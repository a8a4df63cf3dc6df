package dispatch

import "sync"

// A Microarchitecture is an entry of the table of CPUs for which the choice starts at a certain level, because features
// do not distinguish pipelines. The table is in asm/levels.json.
type Microarchitecture struct {
	Name             string
	vendor, from, to uint32            // compared with identify; vendor 0: any CPU
	First            map[string]string // by primitive; by default the table's first level
}

// CPU returns the entry for this CPU, which is constant for the life of the process. With different cores, it is that
// of the core that asked first.
var CPU = sync.OnceValue(func() *Microarchitecture { return microarchitectureOf(identify()) })

// Identity returns the two numbers that identify this CPU in the table: vendor and family, or implementer and part.
// They are 0 if the CPU is unknown.
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
