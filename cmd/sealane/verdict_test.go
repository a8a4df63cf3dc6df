package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
)

func TestVerdict(t *testing.T) {
	peer := result{Cipher: "chacha20poly1305", Op: "seal", Size: 64, Keys: 1, Level: "x/crypto", Peer: true, NS: 100, Ratio: 1}
	level := func(name string, chosen bool, ratio float64) result {
		r := peer
		r.Level, r.Peer, r.Chosen, r.Ratio, r.NS = name, false, chosen, ratio, 100/ratio
		return r
	}
	for _, c := range []struct {
		name    string
		results []result
		slower  int
		says    string
	}{
		{"ahead", []result{peer, level("avx2", true, 1.2)}, 0, "No level in use is slower"},
		{"noise", []result{peer, level("avx2", true, 0.99)}, 0, "No level in use is slower"},
		{"one that is not in use", []result{peer, level("avx2", true, 1.2), level("ssse3", false, 0.5)}, 0, "No level in use is slower"},
		{"slower", []result{peer, level("avx2", true, 0.8)}, 1, "chacha20poly1305 at level avx2: seal, 64 bytes, 0 of associated data, keys 1: 0.80"},
	} {
		var out strings.Builder
		verdict(&out, c.results)
		if got := losses(c.results); len(got) != c.slower || !strings.Contains(out.String(), c.says) {
			t.Errorf("%s: %d slower, %q", c.name, len(got), out.String())
		}
	}
	if got := []int{exitStatus(fmt.Errorf("bench: %w", errSlower)), exitStatus(errors.Join(nil, errSlower)), exitStatus(errors.New("else"))}; got[0] != 3 || got[1] != 3 || got[2] != 1 {
		t.Errorf("exit status %v", got)
	}
}

// TestCheckFails measures the portable level, which no CPU runs as fast as assembly, against the peer.
func TestCheckFails(t *testing.T) {
	args := []string{"bench", "--cipher", "aes-128-gcm", "--size", "1420", "--ad", "0", "--keys", "1", "--repeats", "3", "--check"}
	out, _, err := command([]string{"SEALANE_ASM=0"}, args...)
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 3 || !strings.Contains(out, "SLOWER than what it replaces") {
		t.Errorf("%v\n%s", err, out)
	}
}

func TestReportNamesNoMachine(t *testing.T) {
	out, _, err := command(nil, "bench", "--cipher", "chacha20poly1305", "--size", "64", "--ad", "0", "--keys", "1", "--repeats", "1", "--report")
	if err != nil || !strings.HasPrefix(out, "---- sealane bench --report ----\n") || !strings.HasSuffix(out, "---- end ----\n") ||
		strings.Count(out, "chacha20poly1305 seal 64+0, keys 1: x/crypto ") != 1 {
		t.Errorf("%v\n%s", err, out)
	}
	if host, err := os.Hostname(); err == nil && len(host) > 3 && strings.Contains(out, host) {
		t.Errorf("the report has the name of the machine, %s", host)
	}
}
