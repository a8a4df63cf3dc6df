//go:build unix

package main

import (
	"math"
	"strings"
	"testing"

	"github.com/google/pprof/profile"
)

// TestCosts analyzes a profile with known parts.
func TestCosts(t *testing.T) {
	p := &profile.Profile{SampleType: []*profile.ValueType{{Type: "samples"}, {Type: "cpu"}}}
	for _, s := range []struct {
		stack string // innermost first
		n     int64
	}{
		{"golang.org/x/crypto/chacha20poly1305.chacha20Poly1305Open golang.zx2c4.com/wireguard/device.(*Device).RoutineDecryption", 20},
		{"github.com/sealane/sealane/internal/kernel.ChaCha20Poly1305AVX512 golang.zx2c4.com/wireguard/device.x", 5},
		{"runtime.memmove github.com/sealane/sealane/internal/aead.seal main.main", 5},
		{"internal/runtime/syscall.Syscall6 syscall.Syscall golang.org/x/sys/unix.x golang.zx2c4.com/wireguard/conn.x", 30},
		{"runtime.memmove gvisor.dev/gvisor/pkg/buffer.x", 4},
		{"internal/bytealg.x gvisor.dev/gvisor/pkg/buffer.x", 6},
		{"runtime.futex runtime.schedule", 10},
		{"crypto/internal/fips140/aes.encryptBlockAsm crypto/internal/fips140/aes/gcm.seal crypto/tls.(*Conn).Write", 7},
		{"vendor/golang.org/x/crypto/chacha20poly1305.chacha20Poly1305Seal crypto/tls.(*Conn).Write", 3},
		{"runtime.memmove crypto/tls.(*Conn).Write", 2},
		{"crypto/internal/fips140/sha256.blockSHANI io.CopyBuffer", 10},
		{"main.x net/http.y", 10},
		{"runtime.memmove github.com/sealane/sealane/test/long/gains/measure.Write main.main", 3},
	} {
		sample := &profile.Sample{Value: []int64{s.n, s.n * 1e7}}
		for _, name := range strings.Fields(s.stack) {
			sample.Location = append(sample.Location, &profile.Location{Line: []profile.Line{{Function: &profile.Function{Name: name}}}})
		}
		p.Sample = append(p.Sample, sample)
	}
	got := spent(p)
	want := map[string]float64{
		aead: 0.40 / 1.15, "system calls": 0.30 / 1.15, "copying": 0.09 / 1.15, "TCP/IP in user space (gVisor)": 0.06 / 1.15,
		scheduling: 0.10 / 1.15, "SHA-256 of the file": 0.10 / 1.15, other: 0.10 / 1.15,
	}
	for part, share := range want {
		if math.Abs(got.Parts[part]-share) > 1e-9 {
			t.Errorf("%s: %v, want %v", part, got.Parts[part], share)
		}
	}
	if len(got.Parts) != len(want) || got.AEAD != got.Parts[aead] || got.Samples != 115 || kernelName(got.Kernel) != "x/crypto assembly (Open)" {
		t.Errorf("%+v", got)
	}
	if got := spent(&profile.Profile{}); got.AEAD != 0 || got.Kernel != "" {
		t.Errorf("an empty profile: %+v", got)
	}
}

// TestConclusion has the words follow the figures.
func TestConclusion(t *testing.T) {
	before := row{Name: "x/crypto", MBs: 100, CPU: 10, AEAD: 2, Share: 0.2, Samples: 200, Kernel: "k"}
	after := func(mbs, cpu, aead float64) []row {
		return []row{before, {Name: "sealane", MBs: mbs, CPU: cpu, AEAD: aead, Share: aead / cpu, Samples: 100 * aead, Kernel: "k"}}
	}
	spread := after(115, 8.6, 0.6)
	spread[0].Spread = 0.2
	for _, c := range []struct {
		rows []row
		want string
	}{
		{spread, "nothing can be claimed"},
		{after(115, 8.6, 0.6), "1/3.3 of it"},
		{after(115, 8.6, 0.6), "14.0 % less CPU time, of at most 20.0 %"},
		{after(115, 8.6, 0.6), "Throughput rises by 15.0 %"},
		{after(102, 8.6, 0.6), "Throughput hardly moves (+2.0 %): the AEAD was only 20.0 %"},
		{after(90, 8.6, 0.6), "Throughput fell by 10.0 %"},
		{after(150, 8.6, 0.6), "disturbed"},
		{after(100, 10, 2), "sealane does not help here"},
		{after(100, 10, 2), "hardly moves (-0.0 %)"},
		{after(100, 11, 2), "10.0 % more CPU time"},
		{after(100, 10, 0.1), "too short"},
		{append(after(115, 8.6, 0.6), row{MBs: 115, CPU: 8.2, AEAD: 0.2, Share: 0.2 / 8.2, Samples: 20}), "one by one:\nThe AEAD takes 0.20 instead of 0.60"},
	} {
		if got := strings.Join(conclusions(c.rows), "\n"); !strings.Contains(got, c.want) {
			t.Errorf("%q is not in\n%s", c.want, got)
		}
	}
}
