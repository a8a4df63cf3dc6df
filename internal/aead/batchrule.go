package aead

import (
	"crypto/cipher"
	"sync/atomic"
	"time"

	"github.com/sealane/sealane/internal/dispatch"
	"github.com/sealane/sealane/internal/kernel"
)

// From how many packets on a batch pays: kernel.BatchPlan.Rule, by six times that a process takes at its first batch of a level.
// Of AES-GCM whether it pays at all: kernel.BatchPlan.GCMRule, by eight.

// What a process has found for a level, by whoever came first; who comes meanwhile takes the table's plan.
type foundPlan struct {
	outcome atomic.Uint32       // one of the constants
	plan    [2]kernel.BatchPlan // AES-GCM: what is sealed, what is opened
	times   kernel.BatchTimes
	gcm     [2]kernel.GCMBatchTimes
}

const (
	planUnknown = iota
	planBusy
	planOfTable
	planFound
)

var foundPlans, foundGCMPlans [16]foundPlan

// takeTimes stands for measureBatches where it is set: tests that want times of their own do, before the first batch.
var takeTimes func(kernel.Level, *kernel.BatchPlan) (times kernel.BatchTimes, taken bool)

// chaCha20Poly1305Plan returns the plan of a level, nil if it has no batch kernel that works. The first call measures.
func chaCha20Poly1305Plan(level kernel.Level) *kernel.BatchPlan {
	plan := kernel.ChaCha20Poly1305BatchPlan(level)
	if plan == nil || level == kernel.Portable {
		return plan
	}
	f := &foundPlans[level%kernel.Level(len(foundPlans))]
	switch f.outcome.Load() {
	case planFound:
		return &f.plan[0]
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
		f.times, taken = measureBatches(level, plan, dispatch.MeasureLimit)
	}
	if taken {
		f.plan[0] = *plan
		f.plan[0].Rule(&f.times)
		outcome, plan = planFound, &f.plan[0]
	}
	f.outcome.Store(outcome)
	return plan
}

// aesGCMPlan returns the plan of a level for a direction, 0 or kernel.FlagOpen, nil if it has no batch kernel that works. The first
// call measures.
func aesGCMPlan(level kernel.Level, direction uint64) *kernel.BatchPlan {
	plan := kernel.AESGCMBatchPlan(level)
	if plan == nil || level == kernel.Portable {
		return plan
	}
	f := &foundGCMPlans[level%kernel.Level(len(foundGCMPlans))]
	outcome := f.outcome.Load()
	if outcome == planUnknown {
		outcome = f.findGCM(level, plan)
	}
	switch {
	case outcome != planFound:
		return plan
	case direction == kernel.FlagOpen:
		return &f.plan[1]
	}
	return &f.plan[0]
}

//go:noinline
func (f *foundPlan) findGCM(level kernel.Level, plan *kernel.BatchPlan) uint32 {
	if !f.outcome.CompareAndSwap(planUnknown, planBusy) {
		return f.outcome.Load()
	}
	outcome := uint32(planOfTable)
	if dispatch.MayMeasure() && takeTimes == nil {
		var taken bool
		if f.gcm, taken = measureGCMBatches(level, plan, dispatch.MeasureLimit); taken {
			for i := range f.plan {
				f.plan[i] = *plan
				f.plan[i].GCMRule(&f.gcm[i])
			}
			outcome = planFound
		}
	}
	f.outcome.Store(outcome)
	return outcome
}

// AESGCMBatchTimes is ChaCha20Poly1305BatchTimes of AES-GCM, of what is sealed and of what is opened.
func AESGCMBatchTimes(level kernel.Level) (plans [2]*kernel.BatchPlan, times [2]kernel.GCMBatchTimes, taken bool) {
	plans = [2]*kernel.BatchPlan{aesGCMPlan(level, 0), aesGCMPlan(level, kernel.FlagOpen)}
	f := &foundGCMPlans[level%kernel.Level(len(foundGCMPlans))]
	if plans[0] != &f.plan[0] {
		return plans, times, false
	}
	return plans, f.gcm, true
}

// GCMRuleBytes are how long packets of AES-GCM are that are measured.
func GCMRuleBytes() [2]int { return gcmRuleBytes }

// ChaCha20Poly1305BatchTimes returns when batches of a level pay, nil if never, and the times that this rests on if they were
// taken. It measures if no batch has yet.
func ChaCha20Poly1305BatchTimes(level kernel.Level) (plan *kernel.BatchPlan, times kernel.BatchTimes, taken bool) {
	plan = chaCha20Poly1305Plan(level)
	f := &foundPlans[level%kernel.Level(len(foundPlans))]
	if plan != &f.plan[0] {
		return plan, times, false
	}
	return plan, f.times, true
}

// The lengths that are measured, in whole blocks: where the first two would take too long, the others.
var ruleLengths = [][2]int64{{10, 20}, {2, 10}}

const (
	ruleAlone                   = 4 // packets by themselves
	ruleTurns, ruleTurnsAtLeast = 4, 2
)

// ruleSamples are packets that are sealed in place.
type ruleSamples struct {
	ops    [kernel.RuleMany]Op
	text   [kernel.RuleMany][64*20 + 32 + tagSize]byte
	nonce  [nonceSize]byte
	always kernel.BatchPlan
}

// RuleBytes is how long a packet is that is measured, of so many whole blocks.
func RuleBytes(blocks int64) int { return int(64*blocks + 32) }

func (s *ruleSamples) set(aead cipher.AEAD, blocks int64) {
	for i := range s.ops {
		text := s.text[i][:RuleBytes(blocks)]
		s.ops[i] = Op{AEAD: aead, Dst: s.text[i][:0], Src: text, Nonce: s.nonce[:]}
	}
}

func (s *ruleSamples) batch(n int) time.Duration {
	began := dispatch.Clock()
	runChunkBy(s.ops[:n], 0, &s.always)
	return dispatch.Clock() - began
}

func (s *ruleSamples) alone() time.Duration {
	began := dispatch.Clock()
	for i := range s.ops[:ruleAlone] {
		s.ops[i].seal()
	}
	return dispatch.Clock() - began
}

// lengthsWithin returns the first lengths of which as many turns as there must be will take no more than twice the limit, nil if
// none do: by the time of a few packets, done before.
func (s *ruleSamples) lengthsWithin(aead cipher.AEAD, limit time.Duration) *[2]int64 {
	s.set(aead, ruleLengths[0][0])
	s.batch(kernel.RuleFew)
	perByte := float64(s.batch(kernel.RuleFew)) / float64(kernel.RuleFew*RuleBytes(ruleLengths[0][0]))
	for i, l := range ruleLengths {
		bytes := (kernel.RuleFew + kernel.RuleMany + ruleAlone) * (RuleBytes(l[0]) + RuleBytes(l[1]))
		if float64(ruleTurnsAtLeast*bytes)*perByte <= 2*float64(limit) {
			return &ruleLengths[i]
		}
	}
	return nil
}

// measureBatches takes a level's times, and says whether they are of use: not if there are no keys, where it would take too long,
// or by a clock that is too coarse. Interruptions only add: the shortest times count, of four turns, or of two where those took
// long.
func measureBatches(level kernel.Level, plan *kernel.BatchPlan, limit time.Duration) (times kernel.BatchTimes, taken bool) {
	aead, err := NewChaCha20Poly1305(level, make([]byte, keySize))
	if err != nil {
		return times, false
	}
	s := &ruleSamples{always: *plan}
	s.always.Few, s.always.Below = 2, 64*kernel.BatchClasses
	for class := range s.always.From {
		s.always.From[class] = 2
	}
	start := dispatch.Clock()
	lengths := s.lengthsWithin(aead, limit)
	if lengths == nil {
		return times, false
	}
	times.Blocks = *lengths
	for turn := 0; turn < ruleTurnsAtLeast || turn < ruleTurns && dispatch.Clock()-start < limit; turn++ {
		for i, blocks := range lengths {
			s.set(aead, blocks)
			few, many, single := int64(s.batch(kernel.RuleFew)), int64(s.batch(kernel.RuleMany)), int64(s.alone())
			if turn > 0 {
				few, many, single = min(few, times.Few[i]), min(many, times.Many[i]), min(single, times.Single[i])
			}
			times.Few[i], times.Many[i], times.Single[i] = few, many, single
		}
	}
	taken = true
	for i := range lengths { // in quarters of a nanosecond
		taken = taken && times.Few[i] > 0 && times.Many[i] > 0 && times.Single[i] > 0
		times.Few[i], times.Many[i] = ruleAlone*times.Few[i], ruleAlone*times.Many[i]
	}
	return times, taken
}

// AES-GCM: a length that is done side by side, and one that is not.
var gcmRuleBytes = [2]int{160, 704}

// GCMRulePackets is how many packets of AES-GCM are measured.
const GCMRulePackets = 16

// gcmRuleSamples are packets each of which has another key than the one before; all of a key are the same one.
type gcmRuleSamples struct {
	seal, open [GCMRulePackets]Op
	nonce      [nonceSize]byte
	text       [704]byte
	sealed     [2][704 + tagSize]byte
	opened     [704]byte
	always     kernel.BatchPlan
}

func (s *gcmRuleSamples) set(aeads *[2]cipher.AEAD, bytes int) {
	for i := range s.seal {
		aead, sealed := aeads[i%2], s.sealed[i%2][:bytes+tagSize]
		s.seal[i] = Op{AEAD: aead, Dst: sealed[:0], Src: s.text[:bytes], Nonce: s.nonce[:]}
		s.open[i] = Op{AEAD: aead, Dst: s.opened[:0], Src: sealed, Nonce: s.nonce[:]}
	}
}

// time keeps the shortest time of packets in a batch or by themselves; twice in a row, as what ran before tells on the first.
func (s *gcmRuleSamples) time(shortest *int64, ops []Op, direction uint64, together bool) {
	for range 2 {
		began := dispatch.Clock()
		if together {
			runChunkBy(ops, direction, &s.always)
		} else {
			for i := range ops {
				ops[i].alone(direction)
			}
		}
		if took := int64(dispatch.Clock() - began); *shortest == 0 || took < *shortest {
			*shortest = took
		}
	}
}

// measureGCMBatches takes a level's times, of what is sealed and of what is opened, and says whether they are of use: not if there
// are no keys, and by a clock that is too coarse.
func measureGCMBatches(level kernel.Level, plan *kernel.BatchPlan, limit time.Duration) (times [2]kernel.GCMBatchTimes, taken bool) {
	start := dispatch.Clock()
	var aeads [2]cipher.AEAD
	for i := range aeads {
		var err error
		if aeads[i], err = NewAESGCM(level, make([]byte, 16), nonceSize, tagSize); err != nil {
			return times, false
		}
	}
	s := &gcmRuleSamples{always: *plan}
	for turn := 0; turn < ruleTurnsAtLeast || turn < ruleTurns && dispatch.Clock()-start < limit; turn++ {
		for way, bytes := range gcmRuleBytes {
			s.set(&aeads, bytes)
			for i, direction := range [2]uint64{0, kernel.FlagOpen} {
				ops := s.seal[:]
				if direction == kernel.FlagOpen {
					ops = s.open[:]
				}
				s.time(&times[i].Batch[way], ops, direction, true)
				s.time(&times[i].Single[way], ops, direction, false)
			}
		}
	}
	return times, min(times[0].Single[0], times[0].Single[1], times[1].Single[0], times[1].Single[1]) > 0
}
