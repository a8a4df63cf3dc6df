package aead

import (
	"math"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/sealane/sealane/internal/dispatch"
	"github.com/sealane/sealane/internal/kernel"
)

// From how many packets on a batch pays: kernel.BatchPlan.Rule, by six times that a process takes at its first batch of a level.

// What a process has found for a level, by whoever came first; who comes meanwhile takes the table's plan.
type foundPlan struct {
	outcome atomic.Uint32 // one of the constants
	plan    kernel.BatchPlan
	times   kernel.BatchTimes
}

const (
	planUnknown = iota
	planBusy
	planOfTable
	planFound
)

var foundPlans [16]foundPlan

// takeTimes stands for measureBatches where it is set: tests that want times of their own do, before the first batch.
var takeTimes func(kernel.Level, *kernel.BatchPlan) (times kernel.BatchTimes, taken bool)

// chaCha20Poly1305Plan returns the plan of a level, nil if it has no batch kernel that works. The first call measures.
func chaCha20Poly1305Plan(level kernel.Level) *kernel.BatchPlan {
	plan := kernel.ChaCha20Poly1305BatchPlan(level)
	if plan == nil || level == kernel.Portable || runtime.GOARCH != "amd64" {
		return plan
	}
	f := &foundPlans[level%kernel.Level(len(foundPlans))]
	switch f.outcome.Load() {
	case planFound:
		return &f.plan
	case planUnknown:
		return f.find(level, plan)
	}
	return plan
}

//go:noinline
func (f *foundPlan) find(level kernel.Level, plan *kernel.BatchPlan) *kernel.BatchPlan {
	if !f.outcome.CompareAndSwap(planUnknown, planBusy) {
		return plan
	}
	outcome, taken := uint32(planOfTable), false
	switch {
	case !dispatch.MayMeasure():
	case takeTimes != nil:
		f.times, taken = takeTimes(level, plan)
	default:
		f.times, taken = measureBatches(level, plan)
	}
	if taken {
		f.plan = *plan
		f.plan.Rule(&f.times)
		outcome, plan = planFound, &f.plan
	}
	f.outcome.Store(outcome)
	return plan
}

// ChaCha20Poly1305BatchTimes returns when batches of a level pay, nil if never, and the times that this rests on if they were
// taken. It measures if no batch has yet.
func ChaCha20Poly1305BatchTimes(level kernel.Level) (plan *kernel.BatchPlan, times kernel.BatchTimes, taken bool) {
	plan = chaCha20Poly1305Plan(level)
	f := &foundPlans[level%kernel.Level(len(foundPlans))]
	if plan != &f.plan {
		return plan, times, false
	}
	return plan, f.times, true
}

// RuleSizes are the bytes of the packets that are measured.
var RuleSizes = [2]int{64*kernel.RuleShort + 32, 64*kernel.RuleLong + 32}

// measureBatches takes a level's times, and says whether they are of use: not if there are no keys, or by a clock that is too
// coarse. Interruptions only add: the shortest times count, of four turns, or of two where those took long.
func measureBatches(level kernel.Level, plan *kernel.BatchPlan) (times kernel.BatchTimes, taken bool) {
	const turns, turnsAtLeast, alone = 4, 2, 4
	aead, err := NewChaCha20Poly1305(level, make([]byte, keySize))
	if err != nil {
		return times, false
	}
	always := *plan
	always.Few, always.Below = 2, 64*kernel.BatchClasses
	for class := range always.From {
		always.From[class] = 2
	}
	ops := make([]Op, kernel.RuleMany)
	text, nonce := make([]byte, len(ops)*(RuleSizes[1]+tagSize)), make([]byte, nonceSize)
	for i := range times.Single {
		times.Single[i], times.Few[i], times.Many[i] = math.MaxInt32, math.MaxInt32, math.MaxInt32
	}
	shorter := func(least *int64, began time.Duration, times int64) {
		*least = min(*least, int64(dispatch.Clock()-began)*times)
	}
	start := dispatch.Clock()
	for turn := 0; turn < turnsAtLeast || turn < turns && dispatch.Clock()-start < dispatch.MeasureLimit; turn++ {
		for i, size := range RuleSizes {
			for j := range ops {
				at := text[j*(RuleSizes[1]+tagSize):]
				ops[j] = Op{AEAD: aead, Dst: at[: 0 : size+tagSize], Src: at[:size], Nonce: nonce}
			}
			began := dispatch.Clock()
			runChunkBy(ops[:kernel.RuleFew], 0, &always)
			shorter(&times.Few[i], began, alone)
			began = dispatch.Clock()
			runChunkBy(ops, 0, &always)
			shorter(&times.Many[i], began, alone)
			began = dispatch.Clock()
			for j := range ops[:alone] {
				ops[j].seal()
			}
			shorter(&times.Single[i], began, 1) // in quarters of a nanosecond
		}
	}
	for i := range times.Single {
		if times.Single[i] <= 0 || times.Few[i] <= 0 || times.Many[i] <= 0 {
			return times, false
		}
	}
	return times, true
}
