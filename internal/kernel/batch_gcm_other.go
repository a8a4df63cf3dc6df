//go:build !amd64 || !gc || purego

package kernel

import "github.com/sealane/sealane/internal/dispatch"

// aesGCMBatchRows lists the batch kernels.
func aesGCMBatchRows() []dispatch.Row { return nil }

func aesGCMBatchPlan(Level) *BatchPlan { return nil }

// AESGCMBatch runs a level's batch kernel. The CPU must have what it needs.
func AESGCMBatch(level Level, a *Args) {
	AESGCMBatchPortable(a)
	raceGCMBatch(a)
}
