package dispatch

import (
	"sync"
	"syscall"
)

type env struct {
	cpu string // SEALANE_CPU: the best allowed level
	asm string // SEALANE_ASM: 0 for portable code
	max string // the best level that the program allows, or ""
}

// environment reads the variables once, when the process makes its first key. So later changes have no effect, and all
// primitives see the same values. A user who starts a set-uid program does not choose its code.
var environment = sync.OnceValue(func() env {
	return env{cpu: Getenv("SEALANE_CPU"), asm: Getenv("SEALANE_ASM"), max: ceiling.settle()}
})

// ceiling is the cap of the program, which can change until the first key is made.
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

// SetMaxLevel caps the levels of this process, by a name in AllLevels. It reports whether this was early enough: before
// any choice.
func SetMaxLevel(name string) bool { return ceiling.set(name) }

// AllLevels returns the names of the levels of all architectures, best first.
func AllLevels() []string { return allLevels }

// Getenv returns an environment variable, or "" in set-uid programs.
func Getenv(name string) string {
	if privileged() {
		return ""
	}
	value, _ := syscall.Getenv(name)
	return value
}

// Levels returns the names of the levels of all primitives, best first.
func Levels() []string { return levels }

// capped returns the index of the first row that the environment and the program allow. Earlier rows are excluded.
func (t *Table) capped() int {
	e := environment()
	if e.asm == "0" {
		return len(t.Rows) - 1
	}
	return max(t.best(e.cpu, levels), t.best(e.max, levels), 0)
}

// start returns the index of the row at which the choice starts. If the cap names a row, that is its index. Otherwise
// it is the index for this microarchitecture, or the one below the cap if that is lower.
func (t *Table) start() int {
	capped := t.capped()
	e := environment()
	if name := t.Rows[capped].Name; e.asm == "0" || name == e.cpu || name == e.max {
		return capped
	}
	return max(capped, t.index(CPU().First[t.Primitive]))
}

// best returns the index of the first row that a cap allows. That is the row that it names, or the next lower one if
// it names another of these levels. It returns -1 if name is not among levels.
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

// Environment returns the variables as they were read, and whether each has a valid value for t.
func (t *Table) Environment() (cpu string, cpuOK bool, asm string, asmOK bool) {
	e := environment()
	return e.cpu, e.cpu == "" || t.best(e.cpu, levels) >= 0, e.asm, e.asm == "" || e.asm == "0" || e.asm == "1"
}

// MaxLevel returns the level that the program allows, or "", and whether that cap decides.
func (t *Table) MaxLevel() (name string, rules bool) {
	e := environment()
	return e.max, e.asm != "0" && t.best(e.max, levels) > t.best(e.cpu, levels)
}
