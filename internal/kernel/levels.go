package kernel

import "github.com/sealane/sealane/internal/dispatch"

// A Level is a way to run a primitive. Keys carry one.
type Level uint8

const (
	Portable Level = 1 + iota
	SSSE3
	AVX2
	AVX512
	ARMv6
	NEON
	AESNI
	CE
	CE32
	NEON6
	AVX512VL
	AESNIAVX
)

// ChaCha20Poly1305Levels is the dispatch table.
var ChaCha20Poly1305Levels = dispatch.Table{
	Primitive: "chacha20poly1305",
	Rows: append(chaCha20Poly1305Rows(), dispatch.Row{
		Level:   uint8(Portable),
		Name:    "portable",
		Summary: "constant-time Go",
		Test:    chaCha20Poly1305TestOf(Portable),
	}),
}

// AESGCMLevels is the dispatch table.
var AESGCMLevels = dispatch.Table{
	Primitive: "aesgcm",
	Rows: append(aesGCMRows(), dispatch.Row{
		Level:   uint8(Portable),
		Name:    "portable",
		Summary: "constant-time Go",
		Test:    aesGCMTestOf(Portable),
	}),
}

// AESLevels is the dispatch table of AES in the modes that do not authenticate.
var AESLevels = dispatch.Table{
	Primitive: "aes",
	Rows: append(aesLevelRows(), dispatch.Row{
		Level:   uint8(Portable),
		Name:    "portable",
		Summary: "constant-time Go",
		Test:    aesTestOf(Portable),
	}),
}

// ChaCha20MasksLevels is the dispatch table of header masks.
var ChaCha20MasksLevels = dispatch.Table{
	Primitive: "chacha20masks",
	Rows: append(chaCha20MasksRows(), dispatch.Row{
		Level:   uint8(Portable),
		Name:    "portable",
		Summary: "constant-time Go",
		Test:    chaCha20MasksTestOf(Portable),
	}),
}

func aesTestOf(level Level) func(bool) bool {
	return func(corrupt bool) bool { return aesTest(level, corrupt) }
}

func chaCha20MasksTestOf(level Level) func(bool) bool {
	return func(corrupt bool) bool { return chaCha20MasksTest(level, corrupt) }
}

func aesGCMTestOf(level Level) func(bool) bool {
	return func(corrupt bool) bool { return aesGCMTest(level, corrupt) }
}

func chaCha20Poly1305TestOf(level Level) func(bool) bool {
	return func(corrupt bool) bool { return chaCha20Poly1305Test(level, corrupt) }
}
