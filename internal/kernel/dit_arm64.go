//go:build gc && !purego

package kernel

import "github.com/sealane/sealane/internal/dispatch"

// hasDIT reports whether the CPU has PSTATE.DIT. While that flag is set, the time of instructions does not depend on
// their data (Arm ARM, FEAT_DIT). A kernel's prologue sets it, and the epilogue restores it: assembly stays on its
// thread, and signals preserve it. Go code outside the kernels, such as tag comparison, runs without it. To cover
// everything, wrap the call in crypto/subtle.WithDataIndependentTiming.
var hasDIT = dispatch.HasDIT()
