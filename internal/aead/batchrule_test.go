package aead

import (
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/sealane/sealane/internal/kernel"
)

// No test depends on times that were taken: batches pay from 2 to 8 packets on, the longer the fewer, at every level that
// measures.
func init() { takeTimes = knownTimes }

// knownTimes are 100 and 10 a block for one packet; of a batch 400, 50 a packet, and 4 a block and packet.
func knownTimes(kernel.Level, *kernel.BatchPlan) (times kernel.BatchTimes, taken bool) {
	times.Blocks = ruleLengths[0]
	for i, blocks := range times.Blocks {
		times.Single[i] = 100 + 10*blocks
		times.Few[i] = 400 + kernel.RuleFew*(50+4*blocks)
		times.Many[i] = 400 + kernel.RuleMany*(50+4*blocks)
	}
	return times, true
}

// TestBatchTimes sees that a measurement can be carried out, and that what it finds stays.
func TestBatchTimes(t *testing.T) {
	for _, row := range kernel.ChaCha20Poly1305BatchLevels.Rows {
		t.Run(row.Name, func(t *testing.T) {
			skipUnsupported(t, row)
			level := kernel.Level(row.Level)
			if int(level) >= len(foundPlans) {
				t.Fatalf("level %d shares its place of %d with another one", level, len(foundPlans))
			}
			table := kernel.ChaCha20Poly1305BatchPlan(level)
			before := *table
			if _, taken := measureBatches(level, table, 0); taken {
				t.Error("measured in no time")
			}
			times, taken := measureBatches(level, table, time.Hour)
			if *table != before {
				t.Error("the table has changed")
			}
			if taken {
				var plan kernel.BatchPlan
				plan.Rule(&times) // TestBatchRule wants what can be carried out
				for i := range times.Single {
					if times.Blocks != ruleLengths[0] || times.Single[i] <= 0 || times.Few[i] <= 0 || times.Many[i] <= 0 {
						t.Errorf("times %v", times)
					}
				}
			} else {
				t.Log("the clock is too coarse")
			}
			plan, _, taken := ChaCha20Poly1305BatchTimes(level)
			if again, times, _ := ChaCha20Poly1305BatchTimes(level); again != plan {
				t.Error("another plan at the second call")
			} else if want, _ := knownTimes(level, nil); taken && (times != want || plan.From[0] != 8 || plan.From[31] != 2) {
				t.Errorf("plan %v by times %v", plan, times)
			}
		})
	}
}

// TestGCMBatchTimes is TestBatchTimes of AES-GCM.
func TestGCMBatchTimes(t *testing.T) {
	takeTimes = nil
	defer func() { takeTimes = knownTimes }()
	for _, row := range kernel.AESGCMBatchLevels.Rows {
		t.Run(row.Name, func(t *testing.T) {
			skipUnsupported(t, row)
			level := kernel.Level(row.Level)
			table := kernel.AESGCMBatchPlan(level)
			before := *table
			times, taken := measureGCMBatches(level, table, time.Hour)
			for i, of := range times {
				for way := range gcmRuleBytes {
					if taken && (of.Single[way] <= 0 || of.Batch[way] <= 0) {
						t.Errorf("times %d: %+v", i, of)
					}
				}
			}
			var f foundPlan
			if outcome := f.findGCM(level, table); *table != before || level != kernel.Portable && taken != (outcome == planFound) {
				t.Errorf("outcome %d, taken %v, table %+v, before %+v", outcome, taken, *table, before)
			}
			for i, direction := range [2]uint64{0, kernel.FlagOpen} {
				foundGCMPlans[level].plan[i], foundGCMPlans[level].plan[i].Below = *table, uintptr(64+i)
				foundGCMPlans[level].outcome.Store(planFound)
				if plan := aesGCMPlan(level, direction); level != kernel.Portable && plan.Below != uintptr(64+i) {
					t.Errorf("direction %d: plan %+v", direction, plan)
				}
			}
			foundGCMPlans[level].outcome.Store(planOfTable)
		})
	}
}

// TestBatchPlanNamed has a process where a level is named: nothing is measured.
func TestBatchPlanNamed(t *testing.T) {
	const child = "SEALANE_TEST_NAMED"
	if os.Getenv(child) != "" {
		takeTimes = func(kernel.Level, *kernel.BatchPlan) (kernel.BatchTimes, bool) {
			t.Error("measured")
			return kernel.BatchTimes{}, false
		}
		for _, row := range kernel.ChaCha20Poly1305BatchLevels.Rows {
			if row.Lacks() != nil {
				continue
			}
			level := kernel.Level(row.Level)
			if plan, _, taken := ChaCha20Poly1305BatchTimes(level); taken || plan != kernel.ChaCha20Poly1305BatchPlan(level) {
				t.Errorf("%s: not the plan of the table", row.Name)
			}
		}
		return
	}
	command := append(strings.Fields(os.Getenv("SEALANE_TEST_EXEC")), os.Args[0], "-test.run=^TestBatchPlanNamed$") // what go test -exec was given
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Env = append(os.Environ(), child+"=1", "SEALANE_CPU=portable")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
