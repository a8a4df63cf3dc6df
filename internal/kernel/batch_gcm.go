//go:build !amd64 || !gc || purego

package kernel

import "github.com/sealane/sealane/internal/dispatch"

func aesGCMBatchRows() []dispatch.Row { return nil }

var aesGCMBatchPlans = batchPlans{Portable: portableBatchPlan}

// AESGCMBatch runs a level's batch kernel.
func AESGCMBatch(level Level, a *Args, scratch *BatchScratch) {
	AESGCMBatchPortable(a)
	raceGCMBatch(a)
}
