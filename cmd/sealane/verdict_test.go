package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
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
		if err := verdict(&out, c.results, false); errors.Is(err, errSlower) != (c.slower != 0) || errors.Is(err, errLine) {
			t.Errorf("%s: %v", c.name, err)
		}
		if got := losses(c.results); len(got) != c.slower || !strings.Contains(out.String(), c.says) {
			t.Errorf("%s: %d slower, %q", c.name, len(got), out.String())
		}
	}
	if got := []int{exitStatus(fmt.Errorf("bench: %w", errSlower)), exitStatus(errors.Join(nil, errSlower)), exitStatus(errors.New("else"))}; got[0] != 3 || got[1] != 3 || got[2] != 1 {
		t.Errorf("exit status %v", got)
	}
}

// TestWrongLine: a level is reported if it beats the one in use by more than noise over all measurements. It is not
// reported if the one in use was named.
func TestWrongLine(t *testing.T) {
	results := func(chosen, other float64) (all []result) {
		for i, size := range []int{64, 1420} {
			r := result{Cipher: "chacha20poly1305", Op: "seal", Size: size, Keys: 1, Level: "x/crypto", Peer: true, NS: 100, Ratio: 1}
			a, b := r, r
			a.Level, a.Peer, a.Chosen, a.Ratio = "avx512mix", false, true, chosen+0.2*float64(i)
			b.Level, b.Peer, b.Ratio = "avx512vl", false, other
			all = append(all, r, a, b)
		}
		return all
	}
	for _, c := range []struct {
		chosen, other float64
		named, wrong  bool
	}{
		{1.4, 1.4, false, false}, {1.4, 1.52, false, false}, {1.4, 1.6, false, true}, {1.4, 1.6, true, false},
		{1.4, 1, false, false},
	} {
		var out strings.Builder
		err := verdict(&out, results(c.chosen, c.other), c.named)
		const says = "WRONG LINE for this CPU in asm/levels.json; please report it, with sealane bench --report:\n" +
			"  chacha20poly1305: avx512vl is 1.07 times as fast as avx512mix"
		if errors.Is(err, errLine) != c.wrong || strings.Contains(out.String(), says) != c.wrong || (err != nil && exitStatus(err) != 3) {
			t.Errorf("%+v: %v\n%s", c, err, out.String())
		}
		out.Reset()
		if writeReport(&out, results(c.chosen, c.other), c.named); strings.Contains(out.String(), "\nWRONG LINE: ") != c.wrong {
			t.Errorf("%+v: %s", c, out.String())
		}
	}
}

// TestCheckFails measures the portable level, which is slower than assembly on every CPU, against the peers. With
// --check the exit status is 3. Without it, as in make run, bench reports the same and exits with 0.
func TestCheckFails(t *testing.T) {
	peers := map[string]string{"aes-128-gcm": "aes-128-gcm at level portable: seal, 1420 bytes"}
	if runtime.GOARCH == "amd64" { // where x/crypto has assembly
		peers["chacha20poly1305"] = "chacha20poly1305 at level portable: seal, 1420 bytes"
	}
	for cipher, want := range peers {
		args := []string{"bench", "--cipher", cipher, "--size", "1420", "--ad", "0", "--keys", "1", "--repeats", "3"}
		out, _, err := command([]string{"SEALANE_ASM=0"}, append(args, "--check")...)
		var exit *exec.ExitError
		if !errors.As(err, &exit) || exit.ExitCode() != 3 || !strings.Contains(out, "SLOWER than the peer") || !strings.Contains(out, want) {
			t.Errorf("%s: %v\n%s", cipher, err, out)
		}
		if out, _, err := command([]string{"SEALANE_ASM=0"}, args...); err != nil || !strings.Contains(out, "SLOWER than the peer") || !strings.Contains(out, want) {
			t.Errorf("%s: %v\n%s", cipher, err, out)
		}
	}
}

// TestRunBenches: make run makes bench print it.
func TestRunBenches(t *testing.T) {
	makefile, err := os.ReadFile("../../Makefile")
	if os.IsNotExist(err) {
		t.Skip("NOT RUN: this is not the repository")
	}
	if _, run, _ := strings.Cut(string(makefile), "\nrun: "); err != nil || !strings.Contains(strings.SplitN(run, "\n\n", 2)[0], "/sealane bench;") {
		t.Errorf("make run does not run sealane bench: %v", err)
	}
}

func TestReportNamesNoMachine(t *testing.T) {
	out, _, err := command(nil, "bench", "--cipher", "chacha20poly1305", "--size", "64", "--ad", "0", "--keys", "1", "--repeats", "1", "--report")
	if err != nil || !strings.HasPrefix(out, "---- sealane bench --report ----\n") || !strings.HasSuffix(out, "---- end ----\n") ||
		strings.Count(out, "chacha20poly1305 seal 64+0, keys 1: x/crypto ") != 1 || !strings.Contains(out, "\nchacha20poly1305 line: "+lineOf("chacha20poly1305").String()+"\n") {
		t.Errorf("%v\n%s", err, out)
	}
	if host, err := os.Hostname(); err == nil && len(host) > 3 && strings.Contains(out, host) {
		t.Errorf("the report has the name of the machine, %s", host)
	}
}
