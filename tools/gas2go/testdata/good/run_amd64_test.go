//go:build linux && gc && !purego

package kernel

import (
	"bytes"
	"os"
	"runtime"
	"strings"
	"testing"
	"unsafe"
)

func TestSum(t *testing.T) {
	data := make([]byte, 300)
	want := uint64(0)
	for n := range data {
		var sum uint64
		SumSSSE3(&PacketArgs{Out: unsafe.Pointer(&sum), In: unsafe.Pointer(&data[0]), Bytes: uint64(n)})
		if sum != want {
			t.Fatalf("%d bytes: %d, want %d", n, sum, want)
		}
		data[n] = byte(7 * n)
		want += uint64(data[n])
	}
	if n := testing.AllocsPerRun(100, func() {
		var sum uint64
		SumSSSE3(&PacketArgs{Out: unsafe.Pointer(&sum), In: unsafe.Pointer(&data[0]), Bytes: 3})
	}); n != 0 {
		t.Errorf("%v allocations a call", n)
	}
}

// TestMask also starts goroutines on small stacks, which the kernel's frame makes grow, while the collector runs.
func TestMask(t *testing.T) {
	info, err := os.ReadFile("/proc/cpuinfo")
	if err != nil || !strings.Contains(string(info), " avx512bw ") || !strings.Contains(string(info), " avx512vl ") {
		t.Skip("not run: the CPU has no AVX-512")
	}
	errs := make(chan string, 64)
	for range cap(errs) {
		go func() { errs <- maskAll() }()
	}
	for range cap(errs) {
		runtime.GC()
		if err := <-errs; err != "" {
			t.Error(err)
		}
	}
}

func maskAll() string {
	const digits = "\x67\x45\x23\x01"
	constants := make([]byte, 0, 64)
	for i := range byte(16) {
		constants = append(constants, digits[0], digits[1], digits[2], i<<4|1)
	}
	for n := range 65 {
		var in, out, want [64]byte
		for i := range in {
			in[i] = byte(5*i + n)
		}
		for i := range n {
			want[i] = in[i] ^ constants[i]
		}
		MaskAVX512(&PacketArgs{Out: unsafe.Pointer(&out), In: unsafe.Pointer(&in), Bytes: uint64(n)})
		if !bytes.Equal(out[:], want[:]) {
			return "wrong result"
		}
	}
	return ""
}
