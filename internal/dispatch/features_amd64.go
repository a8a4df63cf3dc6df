package dispatch

import "sync"

// about holds the CPUID data for features and identity. It is read once, because under a hypervisor each CPUID takes a
// microsecond.
var about = sync.OnceValue(func() (r struct{ highest, vendor, signature, c1, d1 uint32 }) {
	r.highest, r.vendor, _, _ = cpuid(0, 0)
	if r.highest >= 1 {
		r.signature, _, r.c1, r.d1 = cpuid(1, 0)
	}
	return r
})

// detect reads CPUID (Intel SDM, volume 2), and whether the operating system saves vectors (volume 1, section 13.3).
func detect() []feature {
	var b7, c7 uint32
	highest, c1, d1 := about().highest, about().c1, about().d1
	if highest >= 7 {
		_, b7, c7, _ = cpuid(7, 0)
	}
	const (
		xsaveEnabled = 1 << 27 // bit of c1
		vectors256   = 1<<1 | 1<<2
		vectors512   = vectors256 | 1<<5 | 1<<6 | 1<<7
	)
	var saved uint32
	if c1&xsaveEnabled != 0 {
		saved, _ = xgetbv()
	}
	avx := saved&vectors256 == vectors256 && c1>>28&1 != 0
	avx2 := avx && b7>>5&1 != 0
	// x/sys/cpu reports VAES and VPCLMULQDQ only together with AVX-512, but 256-bit vectors are sufficient.
	avx512 := avx && (saved&vectors512 == vectors512 || savedOnDemand()) && b7>>16&1 != 0
	return []feature{
		{"sse2", d1>>26&1 != 0},
		{"ssse3", c1>>9&1 != 0},
		{"sse4.1", c1>>19&1 != 0},
		{"aes", c1>>25&1 != 0},
		{"pclmul", c1>>1&1 != 0},
		{"avx", avx},
		{"avx2", avx2},
		{"adx", b7>>19&1 != 0},
		{"bmi", b7>>3&1 != 0},
		{"bmi2", b7>>8&1 != 0},
		{"avx512f", avx512},
		{"avx512vl", avx512 && b7>>31&1 != 0},
		{"avx512bw", avx512 && b7>>30&1 != 0},
		{"avx512dq", avx512 && b7>>17&1 != 0},
		{"avx512ifma", avx512 && b7>>21&1 != 0},
		{"avx512_vbmi", avx512 && c7>>1&1 != 0},
		{"avx512_vbmi2", avx512 && c7>>6&1 != 0},
		{"vaes", avx2 && c7>>9&1 != 0},
		{"vpclmulqdq", avx2 && c7>>10&1 != 0},
	}
}

// atLeast reports whether a release such as 21.3.0 is that version or later.
func atLeast(release string, major, minor int) bool {
	var version [2]int
	part := 0
	for _, c := range []byte(release) {
		switch {
		case '0' <= c && c <= '9' && version[part] < 1<<20:
			version[part] = 10*version[part] + int(c-'0')
		case c == '.' && part == 0:
			part = 1
		case c == '.':
			return version[0] > major || version[0] == major && version[1] >= minor
		default:
			return false
		}
	}
	return version[0] > major || version[0] == major && part == 1 && version[1] >= minor
}
