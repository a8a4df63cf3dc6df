package aead

import (
	"bytes"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"sync"
	"testing"
	"unsafe"

	"github.com/sealane/sealane/internal/dispatch"
	"github.com/sealane/sealane/internal/kernel"
)

// TestBatchCollected runs batches of otherwise unreferenced packets with newly allocated buffers, on small stacks
// that grow. The garbage collector runs all the time.
func TestBatchCollected(t *testing.T) {
	rounds := 60
	if testing.Short() || raceEnabled {
		rounds = 10
	}
	if os.Getenv("SEALANE_TEST_EXEC") != "" { // emulated
		rounds = 2
	}
	defer debug.SetGCPercent(debug.SetGCPercent(1))
	stop := make(chan struct{})
	var collector sync.WaitGroup
	collector.Add(1)
	go func() {
		defer collector.Done()
		for {
			select {
			case <-stop:
				return
			default:
				runtime.GC()
			}
		}
	}()
	defer collector.Wait()
	defer close(stop)
	forEachTable(t, func(t *testing.T, table *dispatch.Table, level kernel.Level) {
		errs := make(chan error, 2*rounds)
		for round := range rounds {
			go func() { errs <- collectedBatch(table, level, round, 2+round%63) }()
			go func() { errs <- collectedBatch(table, level, round, 64) }()
		}
		for range cap(errs) {
			if err := <-errs; err != nil {
				t.Fatal(err)
			}
		}
	})
}

// collectedBatch seals n packets in a batch and opens them individually, and vice versa.
func collectedBatch(table *dispatch.Table, level kernel.Level, round, n int) error {
	makeOps := func() []Op {
		ops := make([]Op, n)
		for i := range ops {
			key := bytes.Repeat([]byte{byte(i)}, keySize)
			a, err := NewChaCha20Poly1305(level, key)
			if table == &kernel.AESGCMLevels {
				a, err = NewAESGCM(level, key, gcmNonceSize, tagSize)
			}
			if err != nil {
				panic(err)
			}
			text := bytes.Repeat([]byte{byte(i + round)}, (7*i+round*13)%300)
			ops[i] = Op{AEAD: a, Nonce: bytes.Repeat([]byte{byte(round)}, nonceSize), Src: text, AD: bytes.Repeat([]byte{1}, i%20)}
			if i%2 == 0 {
				ops[i].Dst = make([]byte, i%5, i%5+len(text)+tagSize)
			}
		}
		return ops
	}
	ops, again := makeOps(), makeOps()
	SealBatch(ops)
	grow := deeper(round % 40)
	for i := range ops {
		op := &ops[i]
		sealed := op.Out[len(op.Dst):]
		if want := again[i].AEAD.Seal(nil, again[i].Nonce, again[i].Src, again[i].AD); !bytes.Equal(sealed, want) {
			return fmt.Errorf("packet %d of %d of %d bytes is sealed wrongly (%d)", i, n, len(op.Src), grow)
		}
		again[i].Dst, again[i].Src = nil, sealed
	}
	ops = nil
	if good := OpenBatch(again); good != n {
		return fmt.Errorf("%d of %d packets are authentic", good, n)
	}
	for i := range again {
		if want := bytes.Repeat([]byte{byte(i + round)}, (7*i+round*13)%300); !bytes.Equal(again[i].Out, want) {
			return fmt.Errorf("packet %d of %d is opened wrongly", i, n)
		}
	}
	return nil
}

// deeper makes the stack grow, so that it moves.
func deeper(n int) int {
	var frame [256]byte
	frame[n%256] = 1
	if n == 0 {
		return int(frame[0])
	}
	return deeper(n-1) + int(frame[n%256])
}

// TestLanesAligned checks that a lane is a cache line: a kernel loads each twice as fast.
func TestLanesAligned(t *testing.T) {
	for range 10 {
		w := workspaces.New().(*workspace)
		if at := uintptr(unsafe.Pointer(&w.lanes)) % unsafe.Sizeof(kernel.Lane{}); at != 0 {
			t.Errorf("lanes begin %d bytes after the start of a cache line", at)
		}
	}
}
