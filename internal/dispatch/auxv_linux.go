package dispatch

import _ "unsafe" // for linkname

// auxiliaryVector returns the runtime's copy of the auxiliary vector (getauxval(3)): pairs of tag and value. The
// runtime keeps this name for x/sys, where unix.Auxv uses the same linkname. Importing x/sys would add 98 KB to a
// program. Also, sealane build adds this package to programs that lack x/sys and to the standard library, which cannot
// import modules.
//
//go:linkname auxiliaryVector runtime.getAuxv
func auxiliaryVector() []uintptr

// auxiliary returns the value of a tag, and whether the vector contains it.
func auxiliary(tag uintptr) (value uintptr, ok bool) {
	vector := auxiliaryVector()
	for i := 0; i+1 < len(vector); i += 2 {
		if vector[i] == tag {
			return vector[i+1], true
		}
	}
	return 0, false
}
