package dispatch

import "testing"

// Known reports whether this architecture has a feature of that name, present or not.
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

// SetEnvironment sets the values of the variables for the duration of a test.
func SetEnvironment(t testing.TB, cpu, asm string) {
	e := environment
	t.Cleanup(func() { environment = e })
	environment = func() env { return env{cpu: cpu, asm: asm} }
}

// SetCap sets the cap of the program for the duration of a test.
func SetCap(t testing.TB, level string) {
	SetEnvironment(t, "", "")
	environment = func() env { return env{max: level} }
}

// SetLevels sets the levels of the architecture for the duration of a test.
func SetLevels(t testing.TB, names ...string) {
	l := levels
	t.Cleanup(func() { levels = l })
	levels = names
}

// SetMicroarchitecture sets the entry of the CPU for the duration of a test.
func SetMicroarchitecture(t testing.TB, m Microarchitecture) {
	c := CPU
	t.Cleanup(func() { CPU = c })
	CPU = func() *Microarchitecture { return &m }
}

// MicroarchitectureOf returns the entry for a CPU.
func MicroarchitectureOf(vendor, model uint32) *Microarchitecture {
	return microarchitectureOf(vendor, model)
}
