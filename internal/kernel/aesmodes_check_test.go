package kernel

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"runtime/debug"
	"strings"
	"testing"
	"unsafe"
)

// A modeCase is one text, or lanes of texts, for a kernel of the modes. Operations are those of the kernels;
// chaCha20Masks is the other kernel.
type modeCase struct {
	operation uint64
	lanes     int // 0: one text, no lanes
	keyBytes  int
	keys      []byte // as many as lanes
	text      []byte // of all lanes
	states    []byte // 16 bytes each
	inPlace   bool
	offset    int // as of a packet
	split     int // bytes, of each lane, that a first call processes
}

const chaCha20Masks = 100

var modeNames = map[uint64]string{AESECBEncrypt: "ECB encryption", AESECBDecrypt: "ECB decryption", AESCTR: "CTR", AESCBCDecrypt: "CBC decryption",
	AESXTSEncrypt: "XTS encryption", AESXTSDecrypt: "XTS decryption", AESCBCEncrypt: "CBC encryption", AESMasks: "masks", chaCha20Masks: "masks by ChaCha20"}

func init() {
	if HasSIV {
		modeNames[AESCTRLittle] = "CTR, little-endian"
	}
}

func (c *modeCase) String() string {
	return fmt.Sprintf("%s, %d bytes, %d lanes, keys %x, states %x, in place %v, offset %d, split at %d",
		modeNames[c.operation], len(c.text), c.lanes, c.keys, c.states, c.inPlace, c.offset, c.split)
}

func newModeCase(r *rand.Rand, operation uint64, lanes, bytes int) *modeCase {
	c := &modeCase{operation: operation, lanes: lanes, keyBytes: 16 + 8*r.IntN(3), offset: -1}
	if operation == chaCha20Masks {
		c.keyBytes = 32
	}
	n := max(lanes, 1)
	c.keys, c.text, c.states = make([]byte, n*c.keyBytes), make([]byte, n*bytes), make([]byte, 16*n)
	fill(r, c.keys)
	fill(r, c.text)
	fill(r, c.states)
	if r.IntN(3) == 0 { // a counter that wraps around within the text, or a tweak with its high bits set
		counter := -uint32(r.IntN(2 + bytes/16))
		if binary.BigEndian.PutUint32(c.states[12:], counter); operation == AESCTRLittle {
			binary.LittleEndian.PutUint32(c.states, counter)
		}
	}
	return c
}

// strides returns how many bytes of output, input and key a lane has.
func (c *modeCase) strides() (out, in, key int) {
	n := max(c.lanes, 1)
	switch {
	case c.operation == chaCha20Masks:
		return 8, 16, 32
	default:
		return len(c.text) / n, len(c.text) / n, asmAESKeyBytes
	}
}

// setup makes the keys at memory.
func (c *modeCase) setup(level Level, memory unsafe.Pointer) {
	_, _, stride := c.strides()
	for l := range max(c.lanes, 1) {
		raw := c.keys[l*c.keyBytes:][:c.keyBytes]
		if at := unsafe.Add(memory, l*stride); c.operation == chaCha20Masks {
			*(*[32]byte)(at) = [32]byte(raw)
		} else {
			AESKeySetup(level, (*AESKey)(at), raw)
		}
	}
}

// call runs the kernel in one call or two. Some pointers are one past the end of their object, and unused. checkptr,
// which the race detector enables, would reject them.
//
//go:nocheckptr
func (c *modeCase) call(kernel func(*ModeArgs), a *ModeArgs, lanes []ModeLane, out, in, key, states unsafe.Pointer) error {
	*a = ModeArgs{Out: out, In: in, Key: key, Operation: c.operation}
	outStride, inStride, keyStride := c.strides()
	for l := range lanes {
		lanes[l] = ModeLane{Out: unsafe.Add(out, l*outStride), In: unsafe.Add(in, l*inStride), Key: unsafe.Add(key, l*keyStride), Chain: (*[16]byte)(unsafe.Add(states, 16*l))}
	}
	ofLanes := (*ModeLanesArgs)(unsafe.Pointer(a))
	if c.lanes > 0 {
		*ofLanes = ModeLanes(lanes, c.operation)
	} else if c.operation != AESECBEncrypt && c.operation != AESECBDecrypt {
		a.State = (*[16]byte)(states)
	}
	for done, total := 0, outStride; ; {
		n := total - done
		if done == 0 && c.split > 0 {
			n = c.split
		}
		if c.lanes > 0 {
			ofLanes.BytesEach = uint64(n)
		} else {
			a.Bytes = uint64(n)
		}
		before, lanesBefore := *a, *ofLanes
		kernel(a)
		if *a != before || *ofLanes != lanesBefore {
			return fmt.Errorf("the argument block was written: %+v, was %+v", *a, before)
		}
		if done += n; done == total {
			return nil
		}
		if c.lanes == 0 {
			a.Out, a.In = unsafe.Add(a.Out, n), unsafe.Add(a.In, n)
		}
		for l := range lanes {
			lanes[l].Out, lanes[l].In = unsafe.Add(lanes[l].Out, n), unsafe.Add(lanes[l].In, n)
		}
	}
}

// want computes output and states with the portable code, in one call.
func (c *modeCase) want(kernel func(*ModeArgs)) (out, states []byte) {
	whole := *c
	whole.split = 0
	outStride, _, keyStride := c.strides()
	keys := make([]uint64, max(c.lanes, 1)*keyStride/8+1)
	c.setup(Portable, unsafe.Pointer(unsafe.SliceData(keys)))
	out, states = make([]byte, max(c.lanes, 1)*outStride), bytes.Clone(c.states)
	var a ModeArgs
	whole.call(kernel, &a, make([]ModeLane, c.lanes), unsafe.Pointer(unsafe.SliceData(out)), unsafe.Pointer(unsafe.SliceData(c.text)),
		unsafe.Pointer(unsafe.SliceData(keys)), unsafe.Pointer(unsafe.SliceData(states)))
	return out, states
}

// A modeBench is the memory for cases.
type modeBench struct{ out, in, keys, states, lanes, args []byte }

func newModeBench(t testing.TB) *modeBench {
	b := &modeBench{guarded(t, 8192+64), guarded(t, 8192+64), guarded(t, 40*asmAESKeyBytes+64), guarded(t, 4096), guarded(t, 40*asmLaneStride), guarded(t, 1)}
	for _, m := range [][]byte{b.out, b.in, b.keys, b.states} {
		for i := range m {
			m[i] = untouched
		}
	}
	return b
}

// modeKernel returns the kernel of a level.
func modeKernel(operation uint64, level Level) func(*ModeArgs) {
	return func(a *ModeArgs) {
		if operation == chaCha20Masks {
			ChaCha20Masks(level, a)
		} else {
			AES(level, a)
		}
	}
}

// run runs a case with kernel and keys of a level, and returns the error in its result.
func (b *modeBench) run(level Level, kernel func(*ModeArgs), c *modeCase) (err error) {
	wantOut, wantStates := c.want(modeKernel(c.operation, Portable))
	outStride, inStride, keyStride := c.strides()
	n := max(c.lanes, 1)
	offset := func(i, align int) int {
		if c.offset < 0 {
			return -1
		}
		return c.offset * i % 64 &^ (align - 1)
	}
	keyAlign := 8
	if c.operation == chaCha20Masks {
		keyAlign = 1
	}
	out := place("output", b.out, n*outStride, offset(1, 1))
	in := place("input", b.in, n*inStride, offset(3, 1))
	key := place("keys", b.keys, n*keyStride, offset(5, keyAlign))
	states := place("states", b.states, 16*n, offset(7, 1))
	out.want, states.want = wantOut, wantStates
	regions := []*region{out, key, states}
	if c.inPlace {
		in = out
	} else {
		in.want = c.text
		regions = append(regions, in)
	}
	copy(in.bytes, c.text)
	copy(states.bytes, c.states)
	c.setup(level, key.pointer())
	key.want = bytes.Clone(key.bytes)
	lanes := unsafe.Slice((*ModeLane)(unsafe.Pointer(&b.lanes[len(b.lanes)-max(c.lanes, 1)*asmLaneStride])), c.lanes)
	defer func() {
		if fault := recover(); fault != nil {
			err = fmt.Errorf("%v", fault)
			if f, ok := fault.(interface{ Addr() uintptr }); ok {
				err = fmt.Errorf("%v at %#x: %s", fault, f.Addr(), where(f.Addr(), regions))
			}
		}
		for _, r := range regions {
			if e := r.check(); err == nil {
				err = e
			}
		}
	}()
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	return c.call(kernel, (*ModeArgs)(unsafe.Pointer(&b.args[len(b.args)-asmArgsBytes])), lanes, out.pointer(), in.pointer(), key.pointer(), states.pointer())
}

func (b *modeBench) must(t *testing.T, level Level, c *modeCase) {
	t.Helper()
	if err := b.run(level, modeKernel(c.operation, level), c); err != nil {
		t.Fatalf("%v\n%v", err, c)
	}
}

// forEachMode runs f for every operation at every level.
func forEachMode(t *testing.T, f func(t *testing.T, operation uint64, level Level)) {
	for operation := range modeNames {
		table := &AESLevels
		if operation == chaCha20Masks {
			table = &ChaCha20MasksLevels
		}
		t.Run(modeNames[operation], func(t *testing.T) {
			(&primitive{table: table}).forEachLevel(t, func(t *testing.T, level Level) { f(t, operation, level) })
		})
	}
}

// inLanes reports whether an operation takes lanes, and whether these have one block.
func inLanes(operation uint64) (lanes, oneBlock bool) {
	oneBlock = operation == AESMasks || operation == chaCha20Masks
	return oneBlock || operation == AESCBCEncrypt, oneBlock
}

// TestModesAllLengths compares every level with the portable code. It tries all lengths from 0 to 1100 bytes and all
// numbers of lanes up to 36, ending at a guard page. Every second case is in place, and every second one uses two
// calls.
func TestModesAllLengths(t *testing.T) {
	b := newModeBench(t)
	forEachMode(t, func(t *testing.T, operation uint64, level Level) {
		r := newRand()
		if lanes, oneBlock := inLanes(operation); lanes {
			for n := 1; n <= 36; n++ {
				for _, blocks := range []int{1, 2, 1 + r.IntN(12)} {
					if oneBlock {
						blocks = 1
					}
					c := newModeCase(r, operation, n, 16*blocks)
					c.inPlace = operation != chaCha20Masks && r.IntN(2) == 0
					if blocks > 1 && r.IntN(2) == 0 {
						c.split = 16 * (1 + r.IntN(blocks-1))
					}
					b.must(t, level, c)
				}
			}
			if oneBlock {
				return
			}
		}
		for n := 0; n <= 1100; n += 16 {
			for _, inPlace := range []bool{false, true} {
				lanes := 0
				if operation == AESCBCEncrypt {
					if lanes = 1; n == 0 {
						continue
					}
				}
				c := newModeCase(r, operation, lanes, n)
				if c.inPlace = inPlace; n > 16 && r.IntN(2) == 0 {
					c.split = 16 * (1 + r.IntN(n/16-1))
				}
				b.must(t, level, c)
			}
		}
		if lanes, _ := inLanes(operation); !lanes {
			for _, n := range []int{2048, 4096, 4096 + 16*r.IntN(200)} {
				b.must(t, level, newModeCase(r, operation, 0, n))
			}
		}
	})
}

// TestModesAlignments places every argument at every address modulo 64, and keys at multiples of 8.
func TestModesAlignments(t *testing.T) {
	b := newModeBench(t)
	forEachMode(t, func(t *testing.T, operation uint64, level Level) {
		r := newRand()
		for offset := range 64 {
			lanes, bytes := 0, 16*(1+r.IntN(40))
			if in, oneBlock := inLanes(operation); in {
				lanes = 1 + r.IntN(12)
				if bytes = 16 * (1 + r.IntN(4)); oneBlock {
					bytes = 16
				}
			}
			c := newModeCase(r, operation, lanes, bytes)
			c.offset, c.inPlace = offset, operation != chaCha20Masks && offset%2 == 1
			b.must(t, level, c)
		}
	})
}

// TestModesFaults plants faults in a working kernel: the checks above must find each of them.
func TestModesFaults(t *testing.T) {
	at := func(p unsafe.Pointer, i int) *byte { return (*byte)(unsafe.Add(p, i)) }
	var read byte
	b := newModeBench(t)
	for _, f := range []struct {
		name, found string
		fault       func(a *ModeArgs, c *modeCase)
	}{
		{"none", "", func(*ModeArgs, *modeCase) {}},
		{"flips the first output bit", "output differs", func(a *ModeArgs, c *modeCase) { *at(a.Out, 0) ^= 1 }},
		{"flips the last output bit", "output differs", func(a *ModeArgs, c *modeCase) { *at(a.Out, int(a.Bytes)-1) ^= 0x80 }},
		{"writes past the output", "of output", func(a *ModeArgs, c *modeCase) { *at(a.Out, int(a.Bytes)) = 0 }},
		{"writes before the output", "of output", func(a *ModeArgs, c *modeCase) { *at(a.Out, -1) = 0 }},
		{"writes the input", "differs", func(a *ModeArgs, c *modeCase) { *at(a.In, 0) ^= 1 }},
		{"writes the key", "keys differs", func(a *ModeArgs, c *modeCase) { *at(a.Key, 17) ^= 1 }},
		{"leaves another state", "states differs", func(a *ModeArgs, c *modeCase) { *at(unsafe.Pointer(a.State), 15) ^= 1 }},
		{"writes past the state", "of states", func(a *ModeArgs, c *modeCase) { *at(unsafe.Pointer(a.State), 16) = 0 }},
		{"writes the argument block", "argument block", func(a *ModeArgs, c *modeCase) { (*ModeLanesArgs)(unsafe.Pointer(a)).BytesEach++ }},
		{"reads past the input", "", func(a *ModeArgs, c *modeCase) { read += *at(a.In, int(a.Bytes)) }},
		{"reads before the input", "", func(a *ModeArgs, c *modeCase) { read += *at(a.In, -1) }},
		{"reads past the key", "", func(a *ModeArgs, c *modeCase) { read += *at(a.Key, asmAESKeyBytes) }},
		{"reads before the key", "", func(a *ModeArgs, c *modeCase) { read += *at(a.Key, -1) }},
		{"reads past the state", "", func(a *ModeArgs, c *modeCase) { read += *at(unsafe.Pointer(a.State), 16) }},
		{"reads past the argument block", "", func(a *ModeArgs, c *modeCase) { read += *at(unsafe.Pointer(a), asmArgsBytes) }},
	} {
		t.Run(f.name, func(t *testing.T) {
			if strings.HasPrefix(f.name, "reads") && !isGuarded {
				t.Skip("NOT RUN: no guard pages on this system")
			}
			for _, operation := range []uint64{AESCTR, AESCBCDecrypt, AESXTSEncrypt, AESXTSDecrypt} {
				found := false
				for _, offset := range []int{-1, 0} {
					c := newModeCase(newRand(), operation, 0, 160)
					c.offset = offset
					err := b.run(Portable, func(a *ModeArgs) {
						AESPortable(a)
						f.fault(a, c)
					}, c)
					found = found || err != nil && strings.Contains(err.Error(), f.found)
				}
				if found != (f.name != "none") {
					t.Errorf("%s: found %v", modeNames[operation], found)
				}
			}
		})
	}
	_ = read
	// Faults in lanes: one is omitted, one has its neighbor's key or state, one is added.
	for _, operation := range []uint64{AESCBCEncrypt, AESMasks, chaCha20Masks} {
		for name, fault := range map[string]func(lanes []ModeLane) []ModeLane{
			"left out": func(lanes []ModeLane) []ModeLane { return lanes[:len(lanes)-1] },
			"key":      func(lanes []ModeLane) []ModeLane { lanes[4].Key = lanes[3].Key; return lanes },
			"input":    func(lanes []ModeLane) []ModeLane { lanes[4].In = lanes[3].In; return lanes },
			"output":   func(lanes []ModeLane) []ModeLane { lanes[4].Out = unsafe.Add(lanes[4].Out, 1); return lanes },
		} {
			c := newModeCase(newRand(), operation, 9, 16)
			if err := b.run(Portable, func(a *ModeArgs) {
				wrong := fault(append([]ModeLane(nil), a.lanes()...))
				w := ModeLanes(wrong, a.Operation)
				w.BytesEach = (*ModeLanesArgs)(unsafe.Pointer(a)).BytesEach
				modeKernel(operation, Portable)(w.Mode())
			}, c); err == nil {
				t.Errorf("%s, lane with another %s: not found", modeNames[operation], name)
			}
		}
	}
}
