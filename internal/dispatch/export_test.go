package dispatch

import (
	"testing"
	"time"
)

// Known says whether this architecture has a feature of that name, present or not.
func Known(name string) bool {
	for _, f := range features() {
		if f.name == name {
			return true
		}
	}
	return false
}

// Features returns all features of this architecture.
func Features() map[string]bool {
	all := make(map[string]bool)
	for _, f := range features() {
		all[f.name] = f.has
	}
	return all
}

const Turns = turns

// SetEnvironment makes the process believe that the variables have these values, and keeps it quiet, for a test's time.
func SetEnvironment(t testing.TB, cpu, asm string) {
	e, choice, failure := environment, OnChoice, OnFailure
	t.Cleanup(func() { environment, OnChoice, OnFailure = e, choice, failure })
	environment = func() env { return env{cpu: cpu, asm: asm} }
	OnChoice, OnFailure = nil, nil
}

// SetPrivileged makes the process believe that it has more rights than who started it, for a test's time.
func SetPrivileged(t testing.TB) {
	SetEnvironment(t, "", "")
	environment = func() env { return env{privileged: true} }
}

// SetCap makes the process believe that the program allows no better level, for a test's time.
func SetCap(t testing.TB, level string) {
	SetEnvironment(t, "", "")
	environment = func() env { return env{max: level} }
}

// SetLevels gives the architecture other levels for a test's time.
func SetLevels(t testing.TB, names ...string) {
	l := levels
	t.Cleanup(func() { levels = l })
	levels = names
}

// SetClock makes samples be timed by a clock of the test's.
func SetClock(t testing.TB, clock func() time.Duration) {
	n := now
	t.Cleanup(func() { now = n })
	now = clock
}
