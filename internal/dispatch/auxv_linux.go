package dispatch

import _ "unsafe" // for linkname

// The auxiliary vector: pairs of a tag and a value that the system gives a program (getauxval(3)). The runtime keeps it,
// where there is one, for packages such as x/sys/cpu: also for programs that may not read /proc/self/auxv, as those that
// were started with more rights than their user has. x/sys/unix reads it in the same way, but the standard library, whose
// programs sealane build --std puts this package into, cannot import that module.
//
//go:linkname auxiliaryVector runtime.getAuxv
func auxiliaryVector() []uintptr

// auxiliary returns the value of a tag, and whether the vector has it.
func auxiliary(tag uintptr) (value uintptr, ok bool) {
	vector := auxiliaryVector()
	for i := 0; i+1 < len(vector); i += 2 {
		if vector[i] == tag {
			return vector[i+1], true
		}
	}
	return 0, false
}
