package dispatch

import (
	"sync"
	"syscall"
)

type env struct {
	cpu string // SEALANE_CPU: the best level allowed
	asm string // SEALANE_ASM: 0 for portable code

	privileged bool // the program has more rights than who started it
}

// environment reads the variables once, when the process makes its first key: what is set later has no effect, and the
// same for all primitives. Whoever starts a set-uid program does not choose its code.
var environment = sync.OnceValue(func() env {
	return env{cpu: Getenv("SEALANE_CPU"), asm: Getenv("SEALANE_ASM"), privileged: privileged()}
})

// Getenv returns a variable of the environment; "" in set-uid programs, as if nothing were set.
func Getenv(name string) string {
	if privileged() {
		return ""
	}
	value, _ := syscall.Getenv(name)
	return value
}

// Levels returns the names of the levels of all primitives, best first.
func Levels() []string { return levels }

// capped says whether the environment rules row i out.
func (t *Table) capped(i int) bool {
	e := environment()
	if e.asm == "0" {
		return i < len(t.Rows)-1
	}
	return i < t.best(e.cpu)
}

// best returns the first row that a cap allows: the one it names, or if another primitive has that level, the first of
// those below; -1 if no primitive has it.
func (t *Table) best(name string) int {
	if i := t.index(name); i >= 0 {
		return i
	}
	below := false
	for _, lesser := range levels {
		below = below || lesser == name
		if i := t.index(lesser); below && i >= 0 {
			return i
		}
	}
	return -1
}

// Environment returns the variables as they were read, and whether each means something to t.
func (t *Table) Environment() (cpu string, cpuOK bool, asm string, asmOK bool) {
	e := environment()
	return e.cpu, e.cpu == "" || t.best(e.cpu) >= 0, e.asm, e.asm == "" || e.asm == "0" || e.asm == "1"
}
