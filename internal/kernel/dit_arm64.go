//go:build gc && !purego

package kernel

import "github.com/sealane/sealane/internal/dispatch"

// hasDIT says whether the CPU has PSTATE.DIT. While that is set, the time of instructions does not depend on their data
// (Arm ARM, FEAT_DIT). A kernel's prologue sets it and its epilogue puts it back to what it was: assembly stays on its thread,
// and signals keep it. What is done in Go beside kernels, such as comparing tags, is done without it;
// crypto/subtle.WithDataIndependentTiming around a call has it for all.
var hasDIT = dispatch.HasDIT()
