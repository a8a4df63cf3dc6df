package dispatch

import "testing"

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

// SetEnvironment makes the process believe that the variables have these values for a test's time.
func SetEnvironment(t testing.TB, cpu, asm string) {
	e := environment
	t.Cleanup(func() { environment = e })
	environment = func() env { return env{cpu: cpu, asm: asm} }
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

// SetMicroarchitecture makes the process believe that it runs on a CPU of that line, for a test's time.
func SetMicroarchitecture(t testing.TB, m Microarchitecture) {
	c := CPU
	t.Cleanup(func() { CPU = c })
	CPU = func() *Microarchitecture { return &m }
}

// MicroarchitectureOf returns the line of some CPU.
func MicroarchitectureOf(vendor, model uint32) *Microarchitecture {
	return microarchitectureOf(vendor, model)
}
