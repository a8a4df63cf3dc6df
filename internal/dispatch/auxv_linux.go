package dispatch

import _ "unsafe" // for linkname

// auxiliaryVector is the runtime's copy of the auxiliary vector (getauxval(3)): pairs of a tag and a value. The runtime keeps
// this name for x/sys, whose unix.Auxv is the same linkname. That package makes a program 98 KB larger, and sealane build puts
// this one into programs that lack x/sys and into the standard library, which cannot import modules.
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
