package aead

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/sealane/sealane/internal/dispatch"
	"github.com/sealane/sealane/internal/kernel"
)

// A keyPair is one key in our implementation and in another.
type keyPair struct{ ours, peer cipher.AEAD }

// batchKeys returns keys of all variants of a table at a level, and one key at another level. It adds some keys
// of the other table, and one of another module.
func batchKeys(t testing.TB, r *rand.Rand, table *dispatch.Table, level kernel.Level) (keys []keyPair) {
	for i, v := range slices.Concat(variants, variants) {
		l := level
		if v.table != table {
			best, ok := v.table.Choose()
			if l = kernel.Level(best); !ok || i%4 != 0 {
				continue // the portable level is corrupt, and there is no other: TestBatchCorrupt
			}
		}
		if v.tagSize != tagSize {
			continue // the tests forge whole tags
		}
		if i == 1 || i == 3 {
			l = kernel.Portable
		}
		key := random(r, v.keySize)
		ours, err := v.ours(l, key)
		ours = must(t, ours, err)
		peer, err := v.peer(key)
		keys = append(keys, keyPair{ours, must(t, peer, err)})
	}
	block, err := aes.NewCipher(random(r, 16))
	if err != nil {
		t.Fatal(err)
	}
	gcm, err := cipher.NewGCM(block)
	gcm = must(t, gcm, err)
	return append(keys, keyPair{gcm, gcm})
}

// forEachTable runs f for every level of every primitive.
func forEachTable(t *testing.T, f func(t *testing.T, table *dispatch.Table, level kernel.Level)) {
	for _, table := range []*dispatch.Table{&kernel.ChaCha20Poly1305Levels, &kernel.AESGCMLevels} {
		for _, row := range table.Rows {
			t.Run(table.Primitive+"/"+row.Name, func(t *testing.T) {
				skipUnsupported(t, row)
				f(t, table, kernel.Level(row.Level))
			})
		}
	}
}

// batchOps returns n ops that seal, separately or in place, and their expected results.
func batchOps(r *rand.Rand, keys []keyPair, n int) (ops []Op, peers []cipher.AEAD, texts, sealed [][]byte) {
	imix := []int{64, 64, 64, 64, 64, 64, 64, 576, 576, 576, 576, 1420}
	mix := r.IntN(4)
	for range n {
		bytes := []int{imix[r.IntN(12)], 64, r.IntN(200), r.IntN(2049)}[mix]
		k := keys[r.IntN(len(keys))]
		op := Op{AEAD: k.ours, Nonce: random(r, k.ours.NonceSize()), AD: random(r, r.IntN(40))}
		text := random(r, bytes)
		head := make([]byte, r.IntN(3), 3+bytes+tagSize)
		op.Src, op.Dst = text, head
		if r.IntN(2) == 0 {
			buffer := append(make([]byte, 0, bytes+tagSize), text...)
			op.Src, op.Dst = buffer, buffer[:0]
		}
		ops, peers, texts = append(ops, op), append(peers, k.peer), append(texts, text)
		sealed = append(sealed, k.peer.Seal(nil, op.Nonce, text, op.AD))
	}
	return ops, peers, texts, sealed
}

// TestBatchPeer seals and opens batches of all sizes, with some forgeries, and compares with the peers.
func TestBatchPeer(t *testing.T) {
	step := 13
	if testing.Short() || raceEnabled {
		step = 61
	}
	forEachTable(t, func(t *testing.T, table *dispatch.Table, level kernel.Level) {
		r := newRand()
		keys := batchKeys(t, r, table, level)
		for n := 0; n <= 300; n += 1 + n/70*step {
			checkBatch(t, r, keys, n)
		}
	})
}

func checkBatch(t *testing.T, r *rand.Rand, keys []keyPair, n int) {
	ops, _, texts, sealed := batchOps(r, keys, n)
	SealBatch(ops)
	forged := make(map[int]bool)
	for i := range ops {
		op := &ops[i]
		if op.Err != nil || !bytes.Equal(op.Out[len(op.Dst):], sealed[i]) {
			t.Fatalf("packet %d of %d, %d bytes: sealed %x, want %x; %v", i, n, len(texts[i]), op.Out, sealed[i], op.Err)
		}
		op.Src = op.Out[len(op.Dst):]
		op.Dst = op.Src[:0]
		if r.IntN(2) == 0 {
			op.Dst = append(make([]byte, 0, 3+len(op.Src)), "to"...)
		}
		if r.IntN(10) == 0 {
			part := [][]byte{op.Src, op.Src[len(texts[i]):], op.Nonce, op.AD}[r.IntN(4)]
			if len(part) > 0 {
				part[r.IntN(len(part))] ^= 1 << r.IntN(8)
				forged[i] = true
			}
		}
		if r.IntN(50) == 0 || n%10 == 9 && i == 0 {
			op.Src, op.Dst = op.Src[:r.IntN(tagSize)], make([]byte, tagSize, 40)
			forged[i] = true
		}
	}
	opened := OpenBatch(ops)
	if opened != n-len(forged) {
		t.Fatalf("%d of %d opened, with %d forged", opened, n, len(forged))
	}
	for i := range ops {
		op := &ops[i]
		if !forged[i] {
			if op.Err != nil || !bytes.Equal(op.Out, append(op.Dst[:len(op.Dst):len(op.Dst)], texts[i]...)) {
				t.Fatalf("packet %d of %d: opened %x, want %x; %v", i, n, op.Out, texts[i], op.Err)
			}
			continue
		}
		if op.Err == nil || op.Out != nil {
			t.Fatalf("packet %d of %d: opened a forgery", i, n)
		}
		if m := len(op.Src) - tagSize; m > 0 {
			if left := op.Dst[:len(op.Dst)+m][len(op.Dst):]; !bytes.Equal(left, make([]byte, m)) {
				t.Fatalf("packet %d of %d: a failed open leaves %x", i, n, left)
			}
		}
	}
}

// TestBatchBadInput checks for the panics of single packets.
func TestBatchBadInput(t *testing.T) {
	forEach(t, func(t *testing.T, v variant, level kernel.Level) {
		a, err := v.ours(level, make([]byte, keySize))
		a = must(t, a, err)
		nonce, buffer := make([]byte, v.nonceSize), make([]byte, 200)
		for what, op := range map[string]Op{
			"nothing":               {AEAD: a, Nonce: nonce, Src: buffer[:20]},
			"short nonce":           {AEAD: a, Nonce: nonce[1:]},
			"long nonce":            {AEAD: a, Nonce: make([]byte, v.nonceSize+1), Src: buffer[:20], Dst: buffer[60:60]},
			"output over input":     {AEAD: a, Nonce: nonce, Src: buffer[:40], Dst: buffer[10:10]},
			"output over AD":        {AEAD: a, Nonce: nonce, Src: buffer[:40], Dst: buffer[100:100], AD: buffer[110:112]},
			"output touching input": {AEAD: a, Nonce: nonce, Src: buffer[:40], Dst: buffer[40:40]},
			"output over the tag":   {AEAD: a, Nonce: nonce, Src: buffer[:60], Dst: buffer[60-v.tagSize:][:0]},
		} {
			ops := make([]Op, 20)
			for i := range ops {
				ops[i] = Op{AEAD: a, Nonce: nonce, Src: make([]byte, 50)}
			}
			ops[7] = op
			want := panics(func() { a.Seal(op.Dst, op.Nonce, op.Src, op.AD) })
			if got := panics(func() { SealBatch(ops) }); got != want {
				t.Errorf("SealBatch with %s: %q, want %q", what, got, want)
			}
			want = panics(func() { a.Open(op.Dst, op.Nonce, op.Src, op.AD) })
			if got := panics(func() { OpenBatch(ops) }); got != want {
				t.Errorf("OpenBatch with %s: %q, want %q", what, got, want)
			}
		}
		if v.table == &kernel.AESGCMLevels {
			return
		}
		// The plaintext may overwrite the tag at the end of the ciphertext; crypto/cipher does not allow this.
		text := []byte("text")
		ops := make([]Op, 5)
		for i := range ops {
			b := append(make([]byte, 0, 64), a.Seal(nil, nonce, text, nil)...)
			ops[i] = Op{AEAD: a, Nonce: nonce, Dst: b[:len(text)], Src: b}
		}
		if OpenBatch(ops) != len(ops) || string(ops[3].Out[len(text):]) != string(text) {
			t.Errorf("OpenBatch over the tag: %x", ops[3].Out)
		}
	})
}

// TestBatchOverlaps places the output and the associated data at every position around the input, and compares with
// single packets. The planner has its own check for overlaps.
func TestBatchOverlaps(t *testing.T) {
	step := 1
	if testing.Short() || raceEnabled || os.Getenv("SEALANE_TEST_EXEC") != "" { // overlaps do not depend on the kernel
		step = 7
	}
	r := newRand()
	forEach(t, func(t *testing.T, v variant, level kernel.Level) {
		if v.nonceSize != nonceSize && v.nonceSize != nonceSizeX || v.tagSize != tagSize {
			return // it never uses lanes
		}
		key := make([]byte, v.keySize)
		a, err := v.ours(level, key)
		a = must(t, a, err)
		nonce := make([]byte, v.nonceSize)
		const text, at = 70, 120
		sealed := a.Seal(nil, nonce, make([]byte, text), nil)
		n := len(sealed)
		for _, size := range []int{0, 1, text, n} {
			for place := r.IntN(step); place < 2*at+n-size; place += step {
				for _, ad := range []bool{false, true} {
					buffers := [2][]byte{make([]byte, 400), make([]byte, 400)}
					op := func(b []byte) Op {
						copy(b[at:], sealed)
						if ad {
							return Op{AEAD: a, Nonce: nonce, Dst: b[at:at], Src: b[at : at+n], AD: b[place : place+size]}
						}
						return Op{AEAD: a, Nonce: nonce, Dst: b[place:place], Src: b[at : at+size]}
					}
					for _, open := range []bool{false, true} {
						alone := op(buffers[0])
						ops := make([]Op, 8)
						for i := range ops {
							ops[i] = Op{AEAD: a, Nonce: nonce, Dst: make([]byte, 0, 200), Src: sealed}
						}
						ops[5] = op(buffers[1])
						want := panics(func() { alone.alone(map[bool]uint64{true: kernel.FlagOpen}[open]) })
						got := panics(func() { runBatch(ops, map[bool]uint64{true: kernel.FlagOpen}[open]) })
						if got != want || got == "" && (!bytes.Equal(buffers[0], buffers[1]) || alone.Err != ops[5].Err) {
							t.Fatalf("place %d of %d bytes, AD %v, open %v: %q, want %q; or else", place, size, ad, open, got, want)
						}
					}
				}
			}
		}
	})
}

func TestBatchNoAllocations(t *testing.T) {
	if raceEnabled {
		t.Skip("NOT RUN: the race detector allocates")
	}
	forEachTable(t, func(t *testing.T, table *dispatch.Table, level kernel.Level) {
		r := newRand()
		keys := batchKeys(t, r, table, level)
		keys = keys[:len(keys)-1] // without the key of another module
		for _, n := range []int{1, 2, 20, 100} {
			ops := make([]Op, n)
			buffers := make([][]byte, n)
			for i := range ops {
				k := keys[i%len(keys)]
				buffers[i] = make([]byte, i%5*100, 600)
				ops[i] = Op{AEAD: k.ours, Nonce: make([]byte, k.ours.NonceSize())}
			}
			if allocations := testing.AllocsPerRun(20, func() {
				for i, b := range buffers {
					ops[i].Dst, ops[i].Src = b[:0], b
				}
				SealBatch(ops)
				for i := range ops {
					ops[i].Src = ops[i].Out
				}
				ops[0].Src[0] ^= 1
				if OpenBatch(ops) != n-1 {
					t.Fatal("not opened, or opened what was forged")
				}
			}); allocations != 0 {
				t.Errorf("%d packets: %v allocations", n, allocations)
			}
		}
	})
}

// TestBatchCorrupt starts a process whose batch kernels fail their tests: packets must still be right, processed
// individually.
func TestBatchCorrupt(t *testing.T) {
	const child = "SEALANE_TEST_CORRUPT_BATCH"
	batches := &kernel.ChaCha20Poly1305BatchLevels
	if name := os.Getenv(child); name != "" {
		dispatch.Corrupt = name
		for _, row := range batches.Rows {
			if row.Name != name {
				continue
			}
			if batches.Works(row.Level) {
				t.Error("a corrupt batch kernel works")
			}
			checkBatch(t, newRand(), batchKeys(t, newRand(), &kernel.ChaCha20Poly1305Levels, kernel.Level(row.Level)), 100)
		}
		return
	}
	for _, row := range batches.Rows {
		t.Run(row.Name, func(t *testing.T) {
			for _, single := range kernel.ChaCha20Poly1305Levels.Rows { // may need more CPU features than its batch kernel
				if single.Name == row.Name {
					skipUnsupported(t, single)
				}
			}
			skipUnsupported(t, row)
			command := append(strings.Fields(os.Getenv("SEALANE_TEST_EXEC")), os.Args[0], "-test.run=^TestBatchCorrupt$") // the argument of go test -exec
			cmd := exec.Command(command[0], command[1:]...)
			cmd.Env = append(os.Environ(), child+"="+row.Name)
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}

// FuzzBatch cuts packets out of the input, and seals and opens them at every level as one batch.
func FuzzBatch(f *testing.F) {
	f.Add(uint64(1), uint8(3), bytes.Repeat([]byte{64}, 20))
	f.Add(uint64(2), uint8(0), []byte{0, 1, 15, 16, 17, 63, 64, 65, 255, 128, 127, 129})
	f.Add(uint64(3), uint8(200), bytes.Repeat([]byte{7, 250, 90}, 30))
	f.Fuzz(func(t *testing.T, seed uint64, forged uint8, lengths []byte) {
		if len(lengths) > 150 {
			lengths = lengths[:150]
		}
		table := &kernel.ChaCha20Poly1305Levels
		if seed%2 != 0 {
			table = &kernel.AESGCMLevels
		}
		for _, row := range table.Rows {
			if row.Lacks() != nil {
				continue // covered by TestBatchPeer
			}
			r := rand.New(rand.NewPCG(seed, 1))
			keys := batchKeys(t, r, table, kernel.Level(row.Level))
			ops, want := make([]Op, len(lengths)), make([][]byte, len(lengths))
			for i, n := range lengths {
				k := keys[r.IntN(len(keys))]
				text, nonce, ad := random(r, int(n)*(1+i%8)), random(r, k.ours.NonceSize()), random(r, i%20)
				ops[i] = Op{AEAD: k.ours, Nonce: nonce, AD: ad, Src: text}
				want[i] = k.peer.Seal(nil, nonce, text, ad)
			}
			SealBatch(ops)
			for i := range ops {
				if !bytes.Equal(ops[i].Out, want[i]) {
					t.Fatalf("%s: packet %d sealed %x, want %x", row.Name, i, ops[i].Out, want[i])
				}
				ops[i].Src, want[i] = ops[i].Out, ops[i].Src
				ops[i].Dst = ops[i].Src[:0]
			}
			bad := 0
			if len(ops) > 0 {
				src := ops[int(forged)%len(ops)].Src
				src[r.IntN(len(src))] ^= 1 << (forged % 8)
				bad = 1
			}
			if opened := OpenBatch(ops); opened != len(ops)-bad {
				t.Fatalf("%s: opened %d of %d", row.Name, opened, len(ops))
			}
			for i := range ops {
				if isForged := bad == 1 && i == int(forged)%len(ops); (ops[i].Err != nil) != isForged || !isForged && !bytes.Equal(ops[i].Out, want[i]) {
					t.Fatalf("%s: packet %d opened %x, want %x; %v", row.Name, i, ops[i].Out, want[i], ops[i].Err)
				}
			}
		}
	})
}
