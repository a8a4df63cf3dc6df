package aead

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
	"runtime/pprof"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sealane/sealane/internal/kernel"
)

// TestStress runs kernels under all stress from the runtime. That is profiling signals, garbage collection,
// goroutines that are stopped and moved, and stacks that grow in the kernel's prologue. Results must stay right. The
// profile must show the kernels with their callers, so the runtime can walk the stack from inside.
func TestStress(t *testing.T) {
	duration := max(600*time.Millisecond, *long)
	for _, row := range kernel.ChaCha20Poly1305Levels.Rows {
		t.Run(row.Name, func(t *testing.T) {
			skipUnsupported(t, row)
			// On a busy machine, a hundred samples per second may miss a function; more time helps.
			d := duration
			err := stress(t, kernel.Level(row.Level), d)
			for tries := 0; err != nil && !t.Failed() && tries < 3; tries++ {
				d *= 3
				err = stress(t, kernel.Level(row.Level), d)
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
}

// stress returns an error if the time was too short, or the profile is incomplete.
func stress(t *testing.T, level kernel.Level, duration time.Duration) error {
	var profile bytes.Buffer
	profiling := errSlowAtomics
	if !slowAtomics() {
		profiling = pprof.StartCPUProfile(&profile)
	}
	if profiling != nil {
		t.Logf("the profile is NOT CHECKED: %v", profiling) // go test -cpuprofile is already taking one
	}
	var stop atomic.Bool
	var wait sync.WaitGroup
	background := func(f func()) {
		wait.Add(1)
		go func() {
			defer wait.Done()
			for !stop.Load() {
				f()
			}
		}()
	}
	key := make([]byte, keySize)
	nonce := make([]byte, nonceSize)
	a, err := NewChaCha20Poly1305(level, key)
	a = must(t, a, err)
	r := newRand()
	type job struct{ text, sealed []byte }
	var jobs []job
	for _, n := range []int{0, 64, 1420, 16 << 10, 200 << 10} {
		text := random(r, n)
		jobs = append(jobs, job{text, a.Seal(nil, nonce, text, nil)})
	}
	var packets atomic.Int64
	work := func(buffer []byte) []byte {
		for _, j := range jobs {
			buffer = a.Seal(buffer[:0], nonce, j.text, nil)
			if !bytes.Equal(buffer, j.sealed) {
				t.Error("sealed differs")
				stop.Store(true)
			}
			opened, err := a.Open(buffer[:0], nonce, buffer, nil)
			if err != nil || !bytes.Equal(opened, j.text) {
				t.Errorf("opened differs, %v", err)
				stop.Store(true)
			}
			packets.Add(2)
		}
		return buffer
	}
	for range runtime.GOMAXPROCS(0) {
		var buffer []byte
		background(func() { buffer = work(buffer) })
	}
	// New goroutines start with a stack that is too small for a kernel, at several depths.
	depth := 0
	background(func() {
		done := make(chan bool)
		depth = (depth + 1) % 40
		go func() {
			deep(depth, func() { work(nil) })
			close(done)
		}()
		<-done
	})
	background(func() {
		runtime.GC()
		time.Sleep(time.Millisecond)
	})
	background(runtime.Gosched)
	time.Sleep(duration)
	stop.Store(true)
	wait.Wait()
	if profiling == nil {
		pprof.StopCPUProfile()
	}
	if n := packets.Load(); n < 100 {
		return fmt.Errorf("only %d packets", n)
	}
	if profiling != nil {
		return nil
	}
	return profiled(&profile, level)
}

var errSlowAtomics = errors.New("before ARMv7 Go's 64-bit atomic operations hold a spin lock, and one that SIGPROF interrupts may wait for itself")

// slowAtomics reports whether this is a build for 32-bit ARM before ARMv7 (internal/runtime/atomic/atomic_arm.go:
// addrLock). There, the SIGPROF handler has been seen to hang in profBuf.canWriteRecord, above goLoad64 of the same
// word's lock. Builds with GOARM=7 show the profile.
func slowAtomics() bool {
	if runtime.GOARCH != "arm" {
		return false
	}
	info, _ := debug.ReadBuildInfo()
	return info == nil || !slices.ContainsFunc(info.Settings, func(s debug.BuildSetting) bool {
		return s.Key == "GOARM" && strings.HasPrefix(s.Value, "7")
	})
}

// deep calls f below that many frames.
//
//go:noinline
func deep(frames int, f func()) (sum int) {
	var pad [16]int
	if frames == 0 {
		f()
		return 0
	}
	pad[frames%16] = frames
	sum = deep(frames-1, f)
	return sum + pad[frames%16]
}

// profiled reports whether a profile names the kernel of a level, and its caller.
func profiled(profile io.Reader, level kernel.Level) error {
	z, err := gzip.NewReader(profile)
	if err != nil {
		return err
	}
	content, err := io.ReadAll(z)
	if err != nil {
		return err
	}
	name := ""
	for _, row := range kernel.ChaCha20Poly1305Levels.Rows {
		if row.Level == uint8(level) {
			name = row.Name
		}
	}
	for _, function := range []string{"internal/kernel.ChaCha20Poly1305" + name, "internal/aead.seal", "internal/aead.(*chaCha20Poly1305).Open"} {
		if !strings.Contains(strings.ToLower(string(content)), strings.ToLower(function)) {
			return errors.New("the profile does not have " + function)
		}
	}
	return nil
}
