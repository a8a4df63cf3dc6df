//go:build (!amd64 && !arm && !arm64) || !gc || purego

package kernel

import "github.com/sealane/sealane/internal/dispatch"

func chaCha20Poly1305Rows() []dispatch.Row { return nil }

// ChaCha20Poly1305 runs a level's kernel.
func ChaCha20Poly1305(level Level, a *Args) {
	ChaCha20Poly1305Portable(a)
	raceArgs(a)
}

func aesGCMRows() []dispatch.Row { return nil }

// AESGCM runs a level's kernel.
func AESGCM(level Level, a *Args) {
	AESGCMPortable(a)
	raceGCMArgs(a)
}

func chaCha20Poly1305BatchRows() []dispatch.Row { return nil }

var chaCha20Poly1305BatchPlans = batchPlans{Portable: portableBatchPlan}

// ChaCha20Poly1305Batch runs a level's batch kernel.
func ChaCha20Poly1305Batch(level Level, a *Args, scratch *BatchScratch) {
	ChaCha20Poly1305BatchPortable(a)
	raceBatch(a)
}

func aesLevelRows() []dispatch.Row { return nil }

// AES runs a level's kernel.
func AES(level Level, a *Args) {
	AESPortable(a)
	raceAESArgs(a)
}

func chaCha20MasksRows() []dispatch.Row { return nil }

// ChaCha20Masks runs a level's kernel.
func ChaCha20Masks(level Level, a *Args) {
	ChaCha20MasksPortable(a)
	raceMasks(a)
}
