package dispatch

import (
	"sync"
	"syscall"
)

type env struct {
	cpu string // SEALANE_CPU: the best level allowed
	asm string // SEALANE_ASM: 0 for portable code
	max string // the best level that the program allows, or ""

	privileged bool // the program has more rights than who started it
}

// fixed says whether the choice is to be the same each time, so that nothing is measured.
func (e env) fixed() bool { return e.cpu != "" || e.asm == "0" || e.max != "" || e.privileged }

// MayMeasure says whether choices may rest on measurements: nobody has named a level, and the program has no more rights than
// its user.
func MayMeasure() bool { return !environment().fixed() }

// environment reads the variables once, when the process makes its first key: what is set later has no effect, and the
// same for all primitives. Whoever starts a set-uid program does not choose its code.
var environment = sync.OnceValue(func() env {
	return env{cpu: Getenv("SEALANE_CPU"), asm: Getenv("SEALANE_ASM"), max: ceiling.settle(), privileged: privileged()}
})

// ceiling is what the program allows, until the first key is made.
var ceiling maxLevel

type maxLevel struct {
	mu      sync.Mutex
	level   string
	settled bool
}

func (l *maxLevel) settle() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.settled = true
	return l.level
}

func (l *maxLevel) set(level string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.settled {
		l.level = level
	}
	return !l.settled
}

// SetMaxLevel caps the levels of this process, by a name of AllLevels. It says whether that was in time: before any
// choice.
func SetMaxLevel(name string) bool { return ceiling.set(name) }

// AllLevels returns the names of the levels of all architectures, best first.
func AllLevels() []string { return allLevels }

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

// capped says whether the environment or the program rules row i out.
func (t *Table) capped(i int) bool {
	e := environment()
	if e.asm == "0" {
		return i < len(t.Rows)-1
	}
	return i < max(t.best(e.cpu, levels), t.best(e.max, allLevels))
}

// best returns the first row that a cap allows: the one it names, or if it is another of these levels, the first of those
// below; -1 if it is none of them.
func (t *Table) best(name string, levels []string) int {
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
	return e.cpu, e.cpu == "" || t.best(e.cpu, levels) >= 0, e.asm, e.asm == "" || e.asm == "0" || e.asm == "1"
}

// MaxLevel returns the level that the program allows, or "", and whether that is the lower cap.
func (t *Table) MaxLevel() (name string, rules bool) {
	e := environment()
	return e.max, e.asm != "0" && t.best(e.max, allLevels) > t.best(e.cpu, levels)
}
