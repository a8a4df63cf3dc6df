//go:build gc && !purego

package kernel

import "github.com/sealane/sealane/internal/dispatch"

// chaCha20Poly1305Rows lists the kernels. What they need is what their isa lines say: TestNeeds compares.
func chaCha20Poly1305Rows() []dispatch.Row {
	return []dispatch.Row{
		{
			Level:   uint8(NEON),
			Name:    "neon",
			Summary: "4 blocks at a time in 128-bit vectors",
			Needs:   []string{"neon"},
			Test:    chaCha20Poly1305TestOf(NEON),
		},
		{
			Level:   uint8(ARMv6),
			Name:    "armv6",
			Summary: "one block at a time in integer registers",
			Needs:   []string{"armv6"},
			Test:    chaCha20Poly1305TestOf(ARMv6),
		},
	}
}

// ChaCha20Poly1305 runs a level's kernel. The CPU must have what it needs.
func ChaCha20Poly1305(level Level, a *Args) {
	switch level {
	case NEON:
		ChaCha20Poly1305NEON(a)
	case ARMv6:
		ChaCha20Poly1305ARMv6(a)
	default:
		ChaCha20Poly1305Portable(a)
	}
	raceArgs(a)
}

// aesGCMRows lists the kernels.
func aesGCMRows() []dispatch.Row {
	return []dispatch.Row{
		{
			Level:   uint8(CE32),
			Name:    "ce32",
			Summary: "8 blocks at a time with ARMv8's instructions for AES and GHASH",
			Needs:   []string{"neon", "aes", "pmull"},
			Test:    aesGCMTestOf(CE32),
		},
		{
			Level:   uint8(NEON),
			Name:    "neon",
			Summary: "8 blocks at a time, bit by bit in 128-bit vectors",
			Needs:   []string{"neon"},
			Test:    aesGCMTestOf(NEON),
		},
		{
			Level:   uint8(ARMv6),
			Name:    "armv6",
			Summary: "2 blocks at a time, bit by bit in integer registers",
			Needs:   []string{"armv6"},
			Test:    aesGCMTestOf(ARMv6),
		},
	}
}

// AESGCM runs a level's kernel. The CPU must have what it needs.
func AESGCM(level Level, a *Args) {
	switch level {
	case CE32:
		AESGCMCE32(a)
	case NEON:
		AESGCMNEON(a)
	case ARMv6:
		AESGCMARMv6(a)
	default:
		AESGCMPortable(a)
	}
	raceGCMArgs(a)
}

// chaCha20Poly1305BatchRows lists the batch kernels.
func chaCha20Poly1305BatchRows() []dispatch.Row {
	return []dispatch.Row{
		{
			Level:   uint8(NEON),
			Name:    "neon",
			Summary: "4 blocks of any packets at a time in 128-bit vectors",
			Needs:   []string{"neon"},
			Test:    chaCha20Poly1305BatchTestOf(NEON),
		},
	}
}

// Modelled: src/level.c says how.
var chaCha20Poly1305BatchPlans = batchPlans{
	NEON:     newBatchPlan(0, 4, 4, 3, 3, 4, 4, 3, 3, 4, 4, 4, 6, 6, 6),
	Portable: portableBatchPlan,
}

// ChaCha20Poly1305Batch runs a level's batch kernel. The CPU must have what it needs.
func ChaCha20Poly1305Batch(level Level, a *Args, scratch *BatchScratch) {
	switch level {
	case NEON:
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
			Level:   uint8(CE32),
			Name:    "ce32",
			Summary: "8 blocks at a time with ARMv8's AES instructions",
			Needs:   []string{"neon", "aes"},
			Test:    aesTestOf(CE32),
		},
		{
			Level:   uint8(NEON),
			Name:    "neon",
			Summary: "8 blocks at a time, bit by bit in 128-bit vectors",
			Needs:   []string{"neon"},
			Test:    aesTestOf(NEON),
		},
		{
			Level:   uint8(ARMv6),
			Name:    "armv6",
			Summary: "2 blocks at a time, bit by bit in integer registers",
			Needs:   []string{"armv6"},
			Test:    aesTestOf(ARMv6),
		},
	}
}

// AES runs a level's kernel. The CPU must have what it needs.
func AES(level Level, a *Args) {
	switch level {
	case CE32:
		AESCE32(a)
	case NEON:
		AESNEON(a)
	case ARMv6:
		AESARMv6(a)
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
