package kernel

import "github.com/sealane/sealane/internal/dispatch"

// SlowAES says whether a level does AES without instructions for it, or on a 32-bit CPU. One call of it is given less text.
func (l Level) SlowAES() bool {
	switch l {
	case Portable, ARMv6, NEON, CE32:
		return true
	}
	return false
}

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
