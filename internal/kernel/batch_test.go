package kernel

import (
	"encoding/binary"
	"fmt"
	"math/big"
	"math/rand/v2"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"
	"unsafe"
)

// forEachBatch runs f for every level that has a batch kernel, and skips levels that the CPU lacks.
func forEachBatch(t *testing.T, f func(t *testing.T, level Level)) {
	for _, row := range ChaCha20Poly1305BatchLevels.Rows {
		t.Run(row.Name, func(t *testing.T) {
			if lacks := row.Lacks(); lacks != nil {
				t.Skipf("NOT RUN: level %s needs %s, which this CPU lacks", row.Name, strings.Join(lacks, " "))
			}
			f(t, Level(row.Level))
		})
	}
}

// batchAtLevel returns a level's kernel, with scratch memory between inaccessible pages. The test fails if the kernel
// leaves anything there.
func batchAtLevel(t testing.TB, level Level) func(*BatchArgs) {
	return watchScratch(t, func(a *BatchArgs, scratch *BatchScratch) { ChaCha20Poly1305Batch(level, a, scratch) })
}

func watchScratch(t testing.TB, kernel func(*BatchArgs, *BatchScratch)) func(*BatchArgs) {
	region := guarded(t, asmBatchScratchBytes)
	scratch := (*BatchScratch)(region[len(region)-asmBatchScratchBytes:])
	const pattern = 0x5a
	return func(a *BatchArgs) {
		for i := range scratch {
			scratch[i] = pattern
		}
		kernel(a, scratch)
		for i, b := range scratch {
			if b != pattern && b != 0 {
				t.Errorf("byte %d of scratch memory was written and not wiped", i)
				return
			}
		}
	}
}

// TestWatchScratch leaves a byte behind.
func TestWatchScratch(t *testing.T) {
	for _, at := range []int{0, asmBatchScratchBytes - 1} {
		var fake fakeT
		fake.TB = t
		watchScratch(&fake, func(_ *BatchArgs, scratch *BatchScratch) { scratch[at] = 1 })(nil)
		if !fake.failed {
			t.Errorf("a byte left at %d is not found", at)
		}
	}
}

// fakeT records failures instead of failing the test.
type fakeT struct {
	testing.TB
	failed bool
}

func (f *fakeT) Errorf(string, ...any) { f.failed = true }

const (
	maxLanes    = 40
	maxLaneText = 4096
	maxLaneAD   = 300
)

// A laneBench is the memory for batches: a bench for each lane, and a guarded region for the lanes.
type laneBench struct {
	benches [maxLanes]*bench
	lanes   []byte
	args    []byte
}

func newLaneBench(t testing.TB) *laneBench {
	b := &laneBench{lanes: guarded(t, maxLanes*asmLaneStride), args: guarded(t, 1)}
	for i := range b.benches {
		b.benches[i] = newBenchFor(t, maxLaneText, maxLaneAD)
	}
	return b
}

// run processes all packets in one kernel call, with keys of a level, and returns the error in the result.
func (b *laneBench) run(level Level, kernel func(*BatchArgs), packets []*packet, open bool) (err error) {
	lanes := unsafe.Slice((*Lane)(unsafe.Pointer(&b.lanes[len(b.lanes)-maxLanes*asmLaneStride])), maxLanes)[maxLanes-len(packets):]
	var regions []*region
	var ofPacket []int
	for i, p := range packets {
		p.open = open
		at := b.benches[i].place(p)
		at.state.want = slices.Clone(at.state.bytes)
		for _, r := range at.regions {
			regions, ofPacket = append(regions, r), append(ofPacket, i)
		}
		lanes[i] = Lane{
			Out: at.out.pointer(), In: at.in.pointer(), Bytes: uint64(len(p.text)), AD: at.ad.pointer(), ADBytes: uint64(len(p.ad)),
			Key: at.key.pointer(), Nonce: at.nonce.pointer(),
		}
		lanes[i].Tag[0] = at.tag.pointer()
	}
	before := slices.Clone(lanes)
	args := (*BatchArgs)(unsafe.Pointer(&b.args[len(b.args)-asmArgsBytes]))
	*args = Batch(lanes, 0)
	if open {
		args.Flags = FlagOpen
	}
	argsBefore := *args

	defer func() {
		if fault := recover(); fault != nil {
			err = fmt.Errorf("%v", fault)
			if f, ok := fault.(interface{ Addr() uintptr }); ok {
				err = fmt.Errorf("%v at %#x: %s", fault, f.Addr(), where(f.Addr(), regions))
			}
		}
		for i, r := range regions {
			if e := r.check(); err == nil && e != nil {
				err = fmt.Errorf("packet %d of %d: %v: %w", ofPacket[i], len(packets), packets[ofPacket[i]], e)
			}
		}
	}()
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	kernel(args)
	if *args != argsBefore {
		return fmt.Errorf("the argument block was written: %+v, was %+v", *args, argsBefore)
	}
	if !slices.Equal(lanes, before) {
		return fmt.Errorf("the lanes were written: %+v, were %+v", lanes, before)
	}
	return nil
}

// newLane returns a packet of a batch, placed at random.
func newLane(r *rand.Rand, text int) *packet {
	ad := r.IntN(33)
	if r.IntN(4) == 0 {
		ad = r.IntN(maxLaneAD)
	}
	p := newPacket(r, text, ad)
	p.inPlace, p.offset = r.IntN(2) == 0, r.IntN(2)*r.IntN(64)-1
	return p
}

// TestBatchLengths uses packets of one length, all up to 300 and some beyond, in batches of all sizes.
func TestBatchLengths(t *testing.T) {
	forEachBatch(t, func(t *testing.T, level Level) {
		r, b := newRand(), newLaneBench(t)
		kernel := batchAtLevel(t, level)
		for n, step := 0, 1; n <= maxLaneText; n += step {
			var packets []*packet
			for range 1 + n%maxLanes {
				packets = append(packets, newLane(r, n))
			}
			if err := b.run(level, kernel, packets, r.IntN(2) == 0); err != nil {
				t.Fatal(err)
			}
			if n >= 300 || raceEnabled {
				step = 1 + r.IntN(100)
			}
		}
	})
}

// TestBatchMixes uses packets of all lengths in one batch, mostly sorted by blocks as in practice.
func TestBatchMixes(t *testing.T) {
	cases := 200
	if testing.Short() || raceEnabled {
		cases = 2*maxLanes + 1
	}
	forEachBatch(t, func(t *testing.T, level Level) {
		r, b := newRand(), newLaneBench(t)
		kernel := batchAtLevel(t, level)
		for i, begin := 0, time.Now(); i < cases || time.Since(begin) < *long; i++ {
			most := []int{100, 300, 700, maxLaneText}[i%4]
			packets := make([]*packet, i%(maxLanes+1))
			for j := range packets {
				packets[j] = newLane(r, r.IntN(most+1))
				if i%7 == 0 {
					text := packets[j].text
					for k := range text {
						text[k] = byte(-(j & 1)) // all ones or zero
					}
				}
			}
			if i%3 != 0 {
				slices.SortStableFunc(packets, func(x, y *packet) int { return len(y.text)/64 - len(x.text)/64 })
			}
			if err := b.run(level, kernel, packets, i&1 != 0); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// TestBatchFaults plants faults in a working batch kernel: the checks must find each of them.
func TestBatchFaults(t *testing.T) {
	at := func(p unsafe.Pointer, i int) *byte { return (*byte)(unsafe.Add(p, i)) }
	var read byte
	faults := []struct {
		name  string
		found string // in the error
		fault func(a *BatchArgs, l *Lane)
	}{
		{"none", "", func(a *BatchArgs, l *Lane) {}},
		{"flips an output bit", "output differs", func(a *BatchArgs, l *Lane) { *at(l.Out, 77) ^= 1 }},
		{"flips a tag bit", "tag differs", func(a *BatchArgs, l *Lane) { *at(l.Tag[0], 15) ^= 0x80 }},
		{"writes past the output", "of output", func(a *BatchArgs, l *Lane) { *at(l.Out, int(l.Bytes)) = 0 }},
		{"writes before the output", "of output", func(a *BatchArgs, l *Lane) { *at(l.Out, -1) = 0 }},
		{"writes past the tag", "of tag", func(a *BatchArgs, l *Lane) { *at(l.Tag[0], 16) = 0 }},
		{"writes the input", "differs", func(a *BatchArgs, l *Lane) { *at(l.In, 0) ^= 1 }},
		{"writes the key", "key differs", func(a *BatchArgs, l *Lane) { *at(l.Key, 3) ^= 1 }},
		{"writes the lane", "lanes were written", func(a *BatchArgs, l *Lane) { l.Bytes++ }},
		{"writes the argument block", "argument block", func(a *BatchArgs, l *Lane) { a.Count++ }},
		{"reads past the input", "", func(a *BatchArgs, l *Lane) { read += *at(l.In, int(l.Bytes)) }},
		{"reads past the key", "", func(a *BatchArgs, l *Lane) { read += *at(l.Key, 32) }},
		{"reads past the nonce", "", func(a *BatchArgs, l *Lane) { read += *at(l.Nonce, 12) }},
		{"reads past the associated data", "", func(a *BatchArgs, l *Lane) { read += *at(l.AD, int(l.ADBytes)) }},
		{"reads past the lanes", "", func(a *BatchArgs, l *Lane) {
			read += *at(unsafe.Add(unsafe.Pointer(a.Lanes), a.Count*asmLaneStride), 0)
		}},
	}
	r, b := newRand(), newLaneBench(t)
	for _, f := range faults {
		t.Run(f.name, func(t *testing.T) {
			if strings.HasPrefix(f.name, "reads") && !isGuarded {
				t.Skip("NOT RUN: no guard pages on this system")
			}
			found := false
			var err error
			for _, offset := range []int{-1, 0} {
				var packets []*packet
				for range 5 {
					p := newPacket(r, 100, 20)
					p.offset = offset
					packets = append(packets, p)
				}
				if err = b.run(Portable, func(a *BatchArgs) {
					for i := range a.lanes() {
						packet := a.packet(i)
						ChaCha20Poly1305Portable(&packet)
					}
					f.fault(a, &a.lanes()[3])
				}, packets, offset == 0); err != nil {
					found = found || strings.Contains(err.Error(), f.found)
				}
			}
			if found != (f.name != "none") {
				t.Error(err)
			}
		})
	}
	_ = read
}

// TestBatchKnownAnswer runs the known-answer tests of batches, and checks that they fail when they should.
func TestBatchKnownAnswer(t *testing.T) {
	forEachBatch(t, func(t *testing.T, level Level) {
		if !chaCha20Poly1305BatchTest(level, false) {
			t.Error("the known-answer test fails")
		}
		if chaCha20Poly1305BatchTest(level, true) {
			t.Error("the known-answer test passes with a corrupted answer")
		}
	})
}

// TestBatchAccumulatorEdges opens ciphertexts whose last whole block makes the accumulator end next to 0, 2^128 or p.
// There, errors in carries and in the last reduction show first. The expected results are computed with big integers.
func TestBatchAccumulatorEdges(t *testing.T) {
	one := big.NewInt(1)
	two128, p := new(big.Int).Lsh(one, 128), new(big.Int).Sub(new(big.Int).Lsh(one, 130), big.NewInt(5))
	forEachBatch(t, func(t *testing.T, level Level) {
		r, b := newRand(), newLaneBench(t)
		kernel := batchAtLevel(t, level)
		for _, n := range []int{16, 64, 80, 128, 256, 576, 1024} {
			var packets []*packet
			for _, target := range []*big.Int{new(big.Int), two128, p} {
				for delta := int64(-6); delta <= 6; delta++ {
					end := new(big.Int).Add(target, big.NewInt(delta))
					packets = append(packets, steered(r, n, end.Mod(end, p)))
				}
			}
			if err := b.run(level, kernel, packets, true); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// steered returns a packet of n bytes, a multiple of 16, whose accumulator ends at end when it is opened. One in four
// keys has a suitable block.
func steered(r *rand.Rand, n int, end *big.Int) *packet {
	one := big.NewInt(1)
	two128, p := new(big.Int).Lsh(one, 128), new(big.Int).Sub(new(big.Int).Lsh(one, 130), big.NewInt(5))
	for {
		lane := newPacket(r, n, 0)
		var first [64]byte
		var c chaCha20
		var last [16]byte
		copy(last[4:], lane.nonce[:])
		c.init(&lane.key, &last)
		c.xor(first[:], first[:])
		clamped := new(big.Int).Lsh(new(big.Int).SetUint64(binary.LittleEndian.Uint64(first[8:])&0x0ffffffc0ffffffc), 64)
		clamped.Or(clamped, new(big.Int).SetUint64(binary.LittleEndian.Uint64(first[0:])&0x0ffffffc0fffffff))
		inverse := new(big.Int).ModInverse(clamped, p)

		// Forwards to the last block of text, and backwards through the lengths; the block is the difference.
		blocks := poly1305Blocks(lane.text)
		h := new(big.Int)
		for _, m := range blocks[:len(blocks)-2] {
			h.Mul(h.Add(h.Add(h, m), two128), clamped).Mod(h, p)
		}
		block := new(big.Int).Mul(end, inverse)
		block.Sub(block, blocks[len(blocks)-1]).Sub(block, two128)
		block.Mul(block, inverse).Sub(block, h).Sub(block, two128)
		block.Mod(block, p)
		if block.BitLen() > 128 {
			continue
		}
		w := words(block)
		binary.LittleEndian.PutUint64(lane.text[n-16:], w[0])
		binary.LittleEndian.PutUint64(lane.text[n-8:], w[1])

		lane.open = true
		_, tag := lane.want()
		low := words(end)[0] + binary.LittleEndian.Uint64(first[16:])
		if binary.LittleEndian.Uint64(tag[:]) != low {
			panic("the accumulator was steered elsewhere")
		}
		return lane
	}
}

// TestBatchPlans checks that the plans can be carried out.
func TestBatchPlans(t *testing.T) {
	for _, row := range ChaCha20Poly1305BatchLevels.Rows {
		if row.Lacks() != nil {
			t.Logf("NOT RUN: level %s, which this CPU lacks", row.Name)
			continue
		}
		plan := ChaCha20Poly1305BatchPlan(Level(row.Level))
		if plan == nil {
			t.Errorf("level %s has a batch kernel and no plan", row.Name)
		} else if most := slices.Max(plan.From[:]); most == 0 || most > BatchFromMax {
			t.Errorf("level %s: a class from %d packets on", row.Name, most)
		} else if plan.From[plan.Below/64-1] == 0 {
			t.Errorf("level %s: packets of fewer than %d bytes do not pay", row.Name, plan.Below)
		}
	}
}

// packet returns the arguments for one packet of a batch.
func (a *BatchArgs) packet(i int) PacketArgs {
	l := &a.lanes()[i]
	return PacketArgs{
		Out: l.Out, In: l.In, Bytes: l.Bytes, AD: l.AD, ADBytes: l.ADBytes, Key: l.Key, Nonce: l.Nonce, Tag: l.Tag[0],
		Total: l.Bytes, Flags: a.Flags | FlagFirst | FlagLast,
	}
}
