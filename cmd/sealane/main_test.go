package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/sealane/sealane/cmd/sealane/internal/accelerate"
	"github.com/sealane/sealane/internal/aead"
	"github.com/sealane/sealane/internal/kernel"
)

// TestMain lets the test program be the command: environment variables are read once in a process.
func TestMain(m *testing.M) {
	if os.Getenv("SEALANE_TEST_COMMAND") != "" {
		main()
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func command(environ []string, args ...string) (stdout, stderr string, err error) {
	cmd := exec.Command(os.Args[0], args...)
	cmd.Env = append(append(os.Environ(), "SEALANE_CPU=", "SEALANE_ASM=", "SEALANE_TEST_COMMAND=1"), environ...)
	var out, complaint bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &complaint
	err = cmd.Run()
	return out.String(), complaint.String(), err
}

// TestOneLineErrors gives the command invalid arguments and inputs.
func TestOneLineErrors(t *testing.T) {
	for _, c := range []struct {
		environ, args []string
		want          string
	}{
		{nil, []string{"frobnicate"}, `unknown command "frobnicate"`},
		{nil, []string{"info", "--frobnicate"}, "unknown flag: --frobnicate"},
		{nil, []string{"info", "extra"}, "unknown command"},
		{nil, []string{"info", "--binary", "none"}, "cannot read none"},
		{nil, []string{"info", "--binary", "."}, "is not a file"},
		{nil, []string{"info", "--binary", "main_test.go"}, "is not a Go program"},
		{[]string{"SEALANE_CPU=pentium"}, []string{"info"}, `SEALANE_CPU="pentium" has no effect`},
		{[]string{"SEALANE_CPU=pentium"}, []string{"selftest"}, `SEALANE_CPU="pentium" has no effect`},
		{[]string{"SEALANE_CPU=pentium"}, []string{"bench"}, `SEALANE_CPU="pentium" has no effect`},
		{[]string{"SEALANE_ASM=2"}, []string{"info"}, `SEALANE_ASM="2" has no effect`},
		{[]string{"SEALANE_AFALG=yes"}, []string{"info"}, `SEALANE_AFALG="yes" has no effect`},
		{nil, []string{"bench", "--size", "-1"}, "-1 bytes: sizes are from 0 to"},
		{nil, []string{"bench", "--size", "x"}, "invalid argument"},
		{nil, []string{"bench", "--keys", "0"}, "0 keys"},
		{nil, []string{"bench", "--cipher", "des"}, `no cipher "des": --cipher takes chacha20poly1305, aes-128-gcm, aes-256-gcm`},
		{nil, []string{"bench", "--repeats", "0"}, "0 repeats"},
		{nil, []string{"build", "a", "b"}, "takes one package"},
		{[]string{"PATH="}, []string{"build"}, "no go command in PATH"},
		{[]string{"PATH="}, []string{"build", "--std"}, "no go command in PATH"},
		{[]string{"PATH="}, []string{"build", "example.org/a@v1.0.0"}, "no go command in PATH"},
	} {
		stdout, stderr, err := command(c.environ, c.args...)
		line := strings.TrimSuffix(stderr, "\n")
		if err == nil || stdout != "" || !strings.HasPrefix(line, "sealane: ") || !strings.Contains(line, c.want) || strings.Contains(line, "\n") {
			t.Errorf("%v %v: %v, printed %q, complained %q; want one line with %q", c.environ, c.args, err, stdout, stderr, c.want)
		}
	}
}

// TestInfo has the choice follow the environment, and the two forms agree.
func TestInfo(t *testing.T) {
	for i, row := range slices.Concat(kernel.ChaCha20Poly1305Levels.Rows, kernel.AESGCMLevels.Rows) {
		if lacks := row.Lacks(); lacks != nil {
			t.Logf("NOT RUN: level %s needs %v, which this CPU lacks", row.Name, lacks)
			continue
		}
		cipher := min(i/len(kernel.ChaCha20Poly1305Levels.Rows), 1)
		environ := []string{"SEALANE_CPU=" + row.Name}
		out, _, err := command(environ, "info", "--json")
		var m machine
		if err != nil || json.Unmarshal([]byte(out), &m) != nil {
			t.Fatal(err, out)
		}
		for _, l := range m.Ciphers[cipher].Levels {
			if l.Chosen != (l.Name == row.Name) || l.SelfTest != "passed" && len(l.Lacks) == 0 || l.Why == "" {
				t.Errorf("%v: %+v", environ, l)
			}
		}
		if text, _, err := command(environ, "info"); err != nil || !strings.Contains(text, "\n* "+row.Name+" ") || strings.Count(text, "\n* ") != len(m.Ciphers) {
			t.Errorf("%v: %v\n%s", environ, err, text)
		}
	}
}

// TestPrintReplaced: ciphers that do not call sealane are not listed, and a line without a list is not printed.
func TestPrintReplaced(t *testing.T) {
	for _, c := range []struct {
		result accelerate.Result
		want   string
	}{
		{accelerate.Result{Crypto: "v1"}, ""},
		{accelerate.Result{Crypto: "v1", StdGCM: true}, "the standard library: AES-GCM of crypto/tls, crypto/cipher and others call sealane v2; the rest is unchanged\n"},
		{accelerate.Result{Crypto: "v1", SSH: true}, "golang.org/x/crypto v1: ssh call sealane v2; the rest is unchanged\n"},
		{accelerate.Result{Crypto: "v1", SSHKept: errors.New("why not")}, "why not\n"},
		{accelerate.Result{Crypto: "v1", Cipher: true, Stream: true}, "golang.org/x/crypto v1: New and NewX of chacha20poly1305, chacha20 call sealane v2; the rest is unchanged\n"},
	} {
		var out strings.Builder
		if printReplaced(&out, &c.result, "v2"); out.String() != c.want {
			t.Errorf("%+v: %q, want %q", c.result, out.String(), c.want)
		}
	}
}

// TestInfoBatches: info prints which line of the table of CPUs decided, and when batches pay at the level in use.
func TestInfoBatches(t *testing.T) {
	level, err := aead.ChaCha20Poly1305Level()
	if err != nil || level == kernel.Portable {
		t.Skip("NOT RUN: there is no kernel for this CPU")
	}
	for _, environ := range []string{"SEALANE_CPU=", "SEALANE_ASM=0"} {
		text, _, err := command([]string{environ}, "info")
		out, _, err2 := command([]string{environ}, "info", "--json")
		var m machine
		if err != nil || err2 != nil || json.Unmarshal([]byte(out), &m) != nil {
			t.Fatal(err, err2, out)
		}
		lines := 0
		for i, want := range []bool{kernel.ChaCha20Poly1305BatchPlan(level) != nil, false} { // AES-GCM has no batches
			c := m.Ciphers[i]
			if (c.Batches != nil) != (want && environ == "SEALANE_CPU=") || c.Batches != nil && len(c.Batches.From) != kernel.BatchClasses {
				t.Errorf("%s: %s: %+v", environ, c.Name, c.Batches)
			}
			if c.Batches != nil {
				lines++
			}
			if c.Line.Name == "" || c.Line != lineOf(c.Name) || !strings.Contains(text, "\n  CPU        "+c.Line.String()+"\n") {
				t.Errorf("%s: %s: %+v\n%s", environ, c.Name, c.Line, text)
			}
		}
		if strings.Count(text, "\n  batches    faster ") != lines {
			t.Errorf("%s: %d lines of batches\n%s", environ, lines, text)
		}
	}
}

// TestInfoKernel: without the variable there is nothing to choose, with it there is a reason for each choice.
func TestInfoKernel(t *testing.T) {
	for value, selections := range map[string]int{"": 0, "off": 0, "auto": 2} {
		text, _, err := command([]string{"SEALANE_AFALG=" + value}, "info")
		if err != nil || strings.Count(text, "  SEALANE_AFALG=auto: in the ") != selections {
			t.Errorf("%q: %v\n%s", value, err, text)
		}
		for _, name := range []string{"rfc7539(chacha20,poly1305)  ", "gcm(aes)  "} {
			if !strings.Contains(text, "\n  "+name+"known-answer tests passed; driver ") && !strings.Contains(text, "\n  "+name+"not usable: ") {
				t.Errorf("%q: nothing of %s\n%s", value, name, text)
			}
		}
	}
}

func TestSelftest(t *testing.T) {
	out, _, err := command(nil, "selftest")
	if want := len(kernel.ChaCha20Poly1305Levels.Rows) + len(kernel.AESGCMLevels.Rows); err != nil || strings.Count(out, "\n") != want || !strings.Contains(out, "portable  passed") {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestInfoBinary looks into this very program, which has sealane and the stock ciphers all.
func TestInfoBinary(t *testing.T) {
	out, _, err := command(nil, "info", "--binary", os.Args[0])
	bare := "golang.org/x/crypto, bare ChaCha20: stock\n"
	if runtime.GOARCH == "amd64" || runtime.GOARCH == "arm" {
		bare = "golang.org/x/crypto, bare ChaCha20: stock; sealane build replaces it\n"
	}
	for _, want := range []string{bare, "contains sealane", "github.com/sealane/sealane/cmd/sealane", ", ChaCha20-Poly1305: stock; sealane build replaces it\n",
		"standard library, AES-GCM: stock; sealane build --std replaces it\n", "standard library, AES-CTR and AES-CBC: not in the program\n",
		"standard library, ChaCha20-Poly1305: not in the program\n"} {
		if err != nil || !strings.Contains(out, want) {
			t.Errorf("%v, want %q in\n%s", err, want, out)
		}
	}
	gofmt := filepath.Join(strings.TrimSpace(run(t, "go", "env", "GOROOT")), "bin", "gofmt")
	if _, err := os.Stat(gofmt); err != nil {
		t.Skip("NOT RUN: no gofmt to look into")
	}
	if out, _, err := command(nil, "info", "--binary", gofmt); err != nil || !strings.Contains(out, "does not contain sealane") {
		t.Errorf("%v\n%s", err, out)
	}
}

func run(t *testing.T, name string, args ...string) string {
	t.Helper()
	out, err := exec.Command(name, args...).Output()
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// TestBench measures little: the results must cover the work asked for, and make sense.
func TestBench(t *testing.T) {
	out, _, err := command(nil, "bench", "--json", "--size", "64,1420", "--ad", "13", "--keys", "2", "--repeats", "3")
	var report struct{ Results []result }
	if err != nil || json.Unmarshal([]byte(out), &report) != nil {
		t.Fatal(err, out)
	}
	want := map[string]int{}
	for _, c := range benchCiphers {
		want[c.name+" "+c.peer] = 2 * 2
		for _, row := range c.table.Rows {
			if row.Lacks() == nil {
				want[c.name+" "+row.Name] = 2 * 2
			}
		}
	}
	got := map[string]int{}
	for _, r := range report.Results {
		got[r.Cipher+" "+r.Level]++
		if r.NS <= 0 || r.MBs <= 0 || r.Ratio <= 0 || r.Peer && r.Ratio != 1 || r.AD != 13 || r.Keys != 2 {
			t.Errorf("%+v", r)
		}
	}
	if !maps.Equal(got, want) {
		t.Errorf("results %v, want %v", got, want)
	}
	if out, _, err := command(nil, "bench", "--size", "64", "--ad", "0", "--keys", "1", "--repeats", "1"); err != nil || strings.Count(out, "\n|    64 |") != 2*len(benchCiphers) {
		t.Errorf("%v\n%s", err, out)
	}
	if out, _, err := command(nil, "bench", "--cipher", "aes-256-gcm", "--size", "64", "--repeats", "1"); err != nil || strings.Contains(out, "chacha") || !strings.Contains(out, "crypto/cipher ns") {
		t.Errorf("%v\n%s", err, out)
	}
}
