package kernel

import "github.com/sealane/sealane/internal/dispatch"

// SlowAES reports whether a level has no AES instructions or the CPU has 32 bits. Each of its calls gets less text.
func (l Level) SlowAES() bool {
	switch l {
	case Portable, ARMv6, NEON, CE32:
		return true
	}
	return false
}

// The dispatch tables. The last two are for the unauthenticated modes of AES, and for header masks.
var (
	ChaCha20Poly1305Levels = table("chacha20poly1305", chaCha20Poly1305Rows, chaCha20Poly1305Test)
	AESGCMLevels           = table("aesgcm", aesGCMRows, aesGCMTest)
	AESLevels              = table("aes", aesLevelRows, aesTest)
	ChaCha20MasksLevels    = table("chacha20masks", chaCha20MasksRows, chaCha20MasksTest)
)

// ChaCha20Poly1305BatchLevels process many packets in one call. A level that is not in this table, or fails its
// known-answer test, processes packets individually.
var ChaCha20Poly1305BatchLevels = dispatch.Table{Primitive: "chacha20poly1305 batch", Rows: tested(chaCha20Poly1305BatchRows, chaCha20Poly1305BatchTest)}

// table adds portable code to the levels of a primitive.
func table(primitive string, rows []dispatch.Row, test func(level Level, corrupt bool) bool) dispatch.Table {
	rows = append(rows, dispatch.Row{Level: uint8(Portable), Name: "portable", Summary: "constant-time Go"})
	return dispatch.Table{Primitive: primitive, Rows: tested(rows, test)}
}

// tested adds the known-answer test to each row.
func tested(rows []dispatch.Row, test func(level Level, corrupt bool) bool) []dispatch.Row {
	for i := range rows {
		level := Level(rows[i].Level)
		rows[i].Test = func(corrupt bool) bool { return test(level, corrupt) }
	}
	return rows
}
