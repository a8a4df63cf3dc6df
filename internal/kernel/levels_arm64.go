//go:build gc && !purego

package kernel

import "github.com/sealane/sealane/internal/dispatch"

// chaCha20Poly1305Rows lists the kernels. What they need is what their isa lines say: TestNeeds compares.
func chaCha20Poly1305Rows() []dispatch.Row {
	return []dispatch.Row{
		{
			Level:   uint8(NEON6),
			Name:    "neon6",
			Summary: "six blocks at a time in 128-bit vectors",
			Needs:   []string{"neon"},
			Test:    chaCha20Poly1305TestOf(NEON6),
			Samples: chaCha20Poly1305SamplesOf(NEON6),
		},
		{
			Level:   uint8(NEON),
			Name:    "neon",
			Summary: "four blocks at a time in 128-bit vectors",
			Needs:   []string{"neon"},
			Test:    chaCha20Poly1305TestOf(NEON),
			Samples: chaCha20Poly1305SamplesOf(NEON),
		},
	}
}

// ChaCha20Poly1305 runs a level's kernel. The CPU must have what it needs.
func ChaCha20Poly1305(level Level, a *Args) {
	switch level {
	case NEON6:
		ChaCha20Poly1305NEON6(a)
	case NEON:
		ChaCha20Poly1305NEON(a)
	default:
		ChaCha20Poly1305Portable(a)
	}
	raceArgs(a)
}

// aesGCMRows lists the kernels.
func aesGCMRows() []dispatch.Row {
	return []dispatch.Row{
		{
			Level:   uint8(CE),
			Name:    "ce",
			Summary: "8 blocks at a time with AES and carry-less multiplication instructions",
			Needs:   []string{"neon", "aes", "pmull"},
			Test:    aesGCMTestOf(CE),
		},
		{
			Level:   uint8(NEON),
			Name:    "neon",
			Summary: "8 bit-sliced blocks at a time in 128-bit vectors",
			Needs:   []string{"neon"},
			Test:    aesGCMTestOf(NEON),
		},
	}
}

// AESGCM runs a level's kernel. The CPU must have what it needs.
func AESGCM(level Level, a *Args) {
	switch level {
	case CE:
		AESGCMCE(a)
	case NEON:
		AESGCMNEON(a)
	default:
		AESGCMPortable(a)
	}
	raceGCMArgs(a)
}

// chaCha20Poly1305BatchRows lists the batch kernels: it is one for both levels.
func chaCha20Poly1305BatchRows() []dispatch.Row {
	const summary = "four blocks of any packets at a time in 128-bit vectors"
	return []dispatch.Row{
		{
			Level:   uint8(NEON6),
			Name:    "neon6",
			Summary: summary,
			Needs:   []string{"neon"},
			Test:    chaCha20Poly1305BatchTestOf(NEON6),
		},
		{
			Level:   uint8(NEON),
			Name:    "neon",
			Summary: summary,
			Needs:   []string{"neon"},
			Test:    chaCha20Poly1305BatchTestOf(NEON),
		},
	}
}

// Modelled: src/level.c says how.
var chaCha20Poly1305BatchPlans = batchPlans{
	NEON:     newBatchPlan(0, 4, 2, 2, 2, 2, 4, 4, 4, 4, 4, 4),
	NEON6:    newBatchPlan(0, 2, 4, 3, 8),
	Portable: portableBatchPlan,
}

// ChaCha20Poly1305Batch runs a level's batch kernel. The CPU must have what it needs.
func ChaCha20Poly1305Batch(level Level, a *Args, scratch *BatchScratch) {
	switch level {
	case NEON6, NEON:
		ChaCha20Poly1305BatchNEON(a, scratch)
	default:
		ChaCha20Poly1305BatchPortable(a)
	}
	raceBatch(a)
}

// aesLevelRows lists the kernels of the modes that do not authenticate.
func aesLevelRows() []dispatch.Row {
	return []dispatch.Row{
		{
			Level:   uint8(CE),
			Name:    "ce",
			Summary: "8 blocks at a time with AES instructions",
			Needs:   []string{"neon", "aes"},
			Test:    aesTestOf(CE),
		},
		{
			Level:   uint8(NEON),
			Name:    "neon",
			Summary: "8 bit-sliced blocks at a time in 128-bit vectors",
			Needs:   []string{"neon"},
			Test:    aesTestOf(NEON),
		},
	}
}

// AES runs a level's kernel. The CPU must have what it needs.
func AES(level Level, a *Args) {
	switch level {
	case CE:
		AESCE(a)
	case NEON:
		AESNEON(a)
	default:
		AESPortable(a)
	}
	raceAESArgs(a)
}

func chaCha20MasksRows() []dispatch.Row { return nil }

// ChaCha20Masks runs a level's kernel.
func ChaCha20Masks(level Level, a *Args) {
	ChaCha20MasksPortable(a)
	raceMasks(a)
}
