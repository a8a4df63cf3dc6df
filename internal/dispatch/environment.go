package dispatch

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
)

type env struct {
	cpu string // SEALANE_CPU: the best level allowed
	asm string // SEALANE_ASM: 0 for portable code
}

// environment reads the variables once. Whoever starts a set-uid program does not choose its code.
var environment = sync.OnceValue(func() env {
	if privileged() {
		return env{}
	}
	return env{cpu: os.Getenv("SEALANE_CPU"), asm: os.Getenv("SEALANE_ASM")}
})

// Getenv returns a variable of the environment; "" in set-uid programs, as if nothing were set.
func Getenv(name string) string {
	if privileged() {
		return ""
	}
	return os.Getenv(name)
}

// limit names the variable that rules levels out.
func (e env) limit() string {
	if e.asm == "0" {
		return "SEALANE_ASM=0"
	}
	return "SEALANE_CPU=" + e.cpu
}

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
	if at := slices.Index(levels, name); at >= 0 {
		for _, lesser := range levels[at:] {
			if i := t.index(lesser); i >= 0 {
				return i
			}
		}
	}
	return -1
}

// Environment returns an error if a variable has a value that means nothing to t, and so has no effect.
func (t *Table) Environment() error {
	e := environment()
	if e.asm != "" && e.asm != "0" && e.asm != "1" {
		return fmt.Errorf("SEALANE_ASM=%q has no effect: it may be 0 or 1", e.asm)
	}
	if e.cpu != "" && t.best(e.cpu) < 0 {
		return fmt.Errorf("SEALANE_CPU=%q has no effect: the levels here are %s", e.cpu, strings.Join(levels, " "))
	}
	return nil
}

var (
	warned sync.Map
	stderr io.Writer = os.Stderr
)

// Warn writes a line to the standard error, once for each message.
func Warn(message string) { warn(message) }

// warn writes a line to the standard error, once for each message.
func warn(message string) {
	if _, again := warned.LoadOrStore(message, true); !again {
		fmt.Fprintln(stderr, "sealane: "+message)
	}
}
