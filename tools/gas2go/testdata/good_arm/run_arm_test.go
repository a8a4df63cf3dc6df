//go:build linux && gc && !purego

package kernel

import (
	"os"
	"os/signal"
	"runtime"
	"syscall"
	"testing"
	"time"
	"unsafe"
)

// TestMask also starts goroutines on small stacks, which the kernel's frame makes grow, while the collector runs and
// signals arrive. A kernel that clobbers Go's registers crashes.
func TestMask(t *testing.T) {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGUSR1)
	defer signal.Stop(signals)
	done := make(chan string)
	const routines = 16
	for range routines {
		go func() {
			for end := time.Now().Add(300 * time.Millisecond); time.Now().Before(end); {
				if err := maskOnce(); err != "" {
					done <- err
					return
				}
			}
			done <- ""
		}()
	}
	for range routines {
		if err := syscall.Kill(syscall.Getpid(), syscall.SIGUSR1); err != nil {
			t.Error(err)
		}
		runtime.GC()
		if err := <-done; err != "" {
			t.Error(err)
		}
	}
}

func maskOnce() string {
	const digits = "\x67\x45\x23\x01"
	var in, out [64]byte
	for i := range in {
		in[i] = byte(5 * i)
	}
	MaskNEON(&PacketArgs{Out: unsafe.Pointer(&out), In: unsafe.Pointer(&in), Bytes: uint64(len(in))})
	for i := range out {
		constant := digits[i%4]
		if i%4 == 3 {
			constant = byte(i/4)<<4 | 1
		}
		if out[i] != in[i]^constant {
			return "wrong result"
		}
	}
	return ""
}

func TestSum(t *testing.T) {
	data := make([]byte, 40)
	want := uint32(1000)
	for n := range data {
		var sum uint32
		SumARMv6(&PacketArgs{Out: unsafe.Pointer(&sum), In: unsafe.Pointer(&data[0]), Bytes: uint64(n)})
		if sum != want {
			t.Fatalf("%d bytes: %d, want %d", n, sum, want)
		}
		data[n] = byte(7 * n)
		want += uint32(data[n])
	}
}
