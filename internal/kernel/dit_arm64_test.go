//go:build gc && !purego

package kernel

import (
	"runtime"
	"testing"

	"github.com/sealane/sealane/internal/dispatch"
)

// TestDIT: data-independent timing is on within every kernel, and restored afterwards. A kernel with all-nil arguments
// faults, which is a panic, and leaves the thread in its state at that point.
func TestDIT(t *testing.T) {
	const bit = 1 << 24
	if !dispatch.HasDIT() {
		t.Skip("this CPU has no PSTATE.DIT")
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer dispatch.WriteDIT(dispatch.ReadDIT())
	during := func(call func()) (dit uint64) {
		defer func() {
			if recover() == nil {
				t.Error("no fault")
			}
			dit = dispatch.ReadDIT()
		}()
		call()
		return 0
	}
	check := func(name string, call func()) {
		dispatch.WriteDIT(0)
		if during(call) != bit {
			t.Errorf("%s: off within the kernel", name)
		}
	}
	for name, kernel := range generatedKernels {
		check(name, func() {
			switch k := kernel.(type) {
			case func(*PacketArgs):
				k(&PacketArgs{Bytes: 64, Flags: FlagFirst})
			case func(*BatchArgs, *BatchScratch):
				k(&BatchArgs{Count: 3}, new(BatchScratch))
			case func(*ModeArgs):
				k(&ModeArgs{Bytes: 64, Operation: AESECBEncrypt})
			}
		})
	}
	for _, before := range []uint64{0, bit} {
		for _, table := range []*dispatch.Table{&ChaCha20Poly1305Levels, &AESGCMLevels} {
			for _, row := range table.Rows {
				dispatch.WriteDIT(before)
				good := row.Test(false)
				if after := dispatch.ReadDIT(); after != before || !good {
					t.Errorf("%s %s: %#x after the kernel, %#x before; right answer: %t", table.Primitive, row.Name, after, before, good)
				}
			}
		}
	}
}
