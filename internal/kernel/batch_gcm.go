package kernel

import "github.com/sealane/sealane/internal/dispatch"

// aesGCMBatchRows lists the batch kernels. aesgcm_batch_avx512 is not among them: on Zen 5 it takes 27 cycles and not 48 for a
// packet of 64 bytes, and finding out that packets may go side by side costs Go as many.
func aesGCMBatchRows() []dispatch.Row { return nil }

func aesGCMBatchPlan(Level) *BatchPlan { return nil }

// AESGCMBatch runs a level's batch kernel. The CPU must have what it needs.
func AESGCMBatch(level Level, a *Args) {
	AESGCMBatchPortable(a)
	raceGCMBatch(a)
}
