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

// The dispatch tables; the last two are of AES in the modes that do not authenticate, and of header masks.
var (
	ChaCha20Poly1305Levels = table("chacha20poly1305", chaCha20Poly1305Rows, chaCha20Poly1305Test)
	AESGCMLevels           = table("aesgcm", aesGCMRows, aesGCMTest)
	AESLevels              = table("aes", aesLevelRows, aesTest)
	ChaCha20MasksLevels    = table("chacha20masks", chaCha20MasksRows, chaCha20MasksTest)
)

// ChaCha20Poly1305BatchLevels do many packets in one call. A level that is not here, or fails its known-answer test, does
// them one by one.
var ChaCha20Poly1305BatchLevels = dispatch.Table{Primitive: "chacha20poly1305 batch", Rows: tested(chaCha20Poly1305BatchRows, chaCha20Poly1305BatchTest)}

// table adds portable code to the levels of a primitive.
func table(primitive string, rows []dispatch.Row, test func(level Level, corrupt bool) bool) dispatch.Table {
	rows = append(rows, dispatch.Row{Level: uint8(Portable), Name: "portable", Summary: "constant-time Go"})
	return dispatch.Table{Primitive: primitive, Rows: tested(rows, test)}
}

// tested gives each row its known-answer test.
func tested(rows []dispatch.Row, test func(level Level, corrupt bool) bool) []dispatch.Row {
	for i := range rows {
		level := Level(rows[i].Level)
		rows[i].Test = func(corrupt bool) bool { return test(level, corrupt) }
	}
	return rows
}
