package sealane_test

import (
	"crypto/aes"
	"crypto/cipher"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/sealane/sealane"
	"github.com/sealane/sealane/aesgcm"
	"github.com/sealane/sealane/chacha20poly1305"
	"github.com/sealane/sealane/internal/dispatch"
)

// outcome is the report of a process that was started with some environment.
type outcome struct {
	Used, UsedX string
	Levels      []sealane.Level
	Error       string

	UsedGCM, ChosenGCM     string // level of the next key, and the one that Ciphers reports
	MaxLevelError, TooLate string // from SetMaxLevel, before and after the first key
}

// TestMain also runs in the process that TestEnvironment starts.
func TestMain(m *testing.M) {
	if os.Getenv("SEALANE_TEST_CHILD") == "" {
		flag.Parse()
		os.Exit(m.Run())
	}
	dispatch.Corrupt = os.Getenv("SEALANE_TEST_CORRUPT")
	var o outcome
	o.MaxLevelError = setMaxLevel(os.Getenv("SEALANE_TEST_MAX"))
	key := make([]byte, chacha20poly1305.KeySize)
	if aead, err := chacha20poly1305.New(key); err != nil {
		o.Error = err.Error()
	} else {
		o.Used = sealane.Implementation(aead)
	}
	if aead, err := chacha20poly1305.NewX(key); err == nil {
		o.UsedX = sealane.Implementation(aead)
	}
	// A change of the environment is too late from here on.
	os.Setenv("SEALANE_ASM", "0")
	if os.Getenv("SEALANE_TEST_MAX") != "" {
		o.TooLate = setMaxLevel("portable")
	}
	if aead, err := aesgcm.New(key); err == nil {
		o.UsedGCM = sealane.Implementation(aead)
	}
	for _, l := range sealane.Ciphers()[1].Levels {
		if l.Chosen {
			o.ChosenGCM = l.Name
		}
	}
	c := sealane.Ciphers()[0]
	o.Levels = c.Levels
	if c.EnvironmentError != nil {
		o.Error = c.EnvironmentError.Error()
	}
	if err := json.NewEncoder(os.Stdout).Encode(o); err != nil {
		panic(err)
	}
}

// start runs this program with additional environment variables, and returns its report and its standard error.
func start(t *testing.T, program string, attributes *syscall.SysProcAttr, environment ...string) (o outcome, stderr string) {
	t.Helper()
	cmd := exec.Command(program)
	if emulator := strings.Fields(os.Getenv("SEALANE_TEST_EXEC")); len(emulator) > 0 { // the argument of go test -exec
		cmd = exec.Command(emulator[0], append(emulator[1:], program)...)
	}
	for _, e := range os.Environ() {
		if !strings.HasPrefix(e, "SEALANE_") {
			cmd.Env = append(cmd.Env, e)
		}
	}
	cmd.Env = append(append(cmd.Env, "SEALANE_TEST_CHILD=1"), environment...)
	cmd.SysProcAttr = attributes
	cmd.Dir = "/"
	var text strings.Builder
	cmd.Stderr = &text
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %v\n%s", environment, err, &text)
	}
	if err := json.Unmarshal(out, &o); err != nil {
		t.Fatalf("%v: %v\n%s", environment, err, out)
	}
	return o, text.String()
}

func names(levels []sealane.Level) (all, runnable []string) {
	for _, l := range levels {
		all = append(all, l.Name)
		if l.Supported {
			runnable = append(runnable, l.Name)
		}
	}
	return all, runnable
}

// bestFrom returns the best runnable level that is not above the named one.
func bestFrom(levels []sealane.Level, name string) string {
	below := false
	for _, l := range levels {
		below = below || l.Name == name
		if below && l.Supported {
			return l.Name
		}
	}
	return ""
}

// chosen returns the level that new keys of this process use.
func chosen(levels []sealane.Level) string {
	return levels[slices.IndexFunc(levels, func(l sealane.Level) bool { return l.Chosen })].Name
}

func setMaxLevel(name string) string {
	if name == "" {
		return ""
	}
	if err := sealane.SetMaxLevel(name); err != nil {
		return err.Error()
	}
	return ""
}

// TestEnvironmentOnce sets SEALANE_ASM=0 between the first key, of ChaCha20-Poly1305, and the next, of AES-GCM. This
// has no effect, although the variable has one at the start.
func TestEnvironmentOnce(t *testing.T) {
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	want := chosen(sealane.Ciphers()[1].Levels)
	o, _ := start(t, program, nil)
	if o.UsedGCM != want || o.ChosenGCM != want {
		t.Errorf("AES-GCM uses %q, chosen %q, want %q", o.UsedGCM, o.ChosenGCM, want)
	}
	if o, _ := start(t, program, nil, "SEALANE_ASM=0"); o.UsedGCM != "portable" {
		t.Errorf("with SEALANE_ASM=0 from the start AES-GCM uses %q", o.UsedGCM)
	}
}

func TestSetMaxLevel(t *testing.T) {
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	levels := [][]sealane.Level{sealane.Ciphers()[0].Levels, sealane.Ciphers()[1].Levels}
	order := dispatch.AllLevels()
	// below returns the best runnable level that is not above the cap. Unless the cap names a level in levels, the
	// result is also not above the default choice. Names of other architectures cap nothing.
	below := func(levels []sealane.Level, cap string) string {
		if !slices.Contains(dispatch.Levels(), cap) {
			return chosen(levels)
		}
		if best := bestFrom(levels, cap); best != "" {
			return best
		}
		for _, l := range levels {
			if l.Supported && slices.Index(order, l.Name) >= max(slices.Index(order, cap), slices.Index(order, chosen(levels))) {
				return l.Name
			}
		}
		return ""
	}
	for _, l := range slices.Concat(levels...) {
		if !slices.Contains(order, l.Name) {
			t.Errorf("level %s is not among all levels", l.Name)
		}
	}
	for _, name := range order {
		o, stderr := start(t, program, nil, "SEALANE_TEST_MAX="+name)
		want, wantGCM := below(levels[0], name), below(levels[1], name)
		if o.Used != want || o.UsedGCM != wantGCM || o.MaxLevelError != "" || stderr != "" {
			t.Errorf("SetMaxLevel(%s): %q and %q, want %q and %q; error %q, %s", name, o.Used, o.UsedGCM, want, wantGCM, o.MaxLevelError, stderr)
		}
		if !strings.Contains(o.TooLate, "too late") {
			t.Errorf("a second SetMaxLevel, after the first key: error %q", o.TooLate)
		}
		for _, l := range o.Levels {
			if l.Chosen != (l.Name == o.Used) || slices.Contains(dispatch.Levels(), name) && l.Supported && !l.Chosen &&
				slices.Index(order, l.Name) < slices.Index(order, name) && !strings.Contains(l.Why, "SetMaxLevel("+name+") rules it out") {
				t.Errorf("SetMaxLevel(%s): %+v", name, l)
			}
		}
	}
	// The environment lowers the cap but cannot raise it.
	for _, c := range []struct{ max, environment, want string }{
		{order[0], "SEALANE_CPU=portable", "portable"}, {order[0], "SEALANE_ASM=0", "portable"},
		{"portable", "SEALANE_CPU=" + levels[0][0].Name, "portable"},
	} {
		if o, _ := start(t, program, nil, "SEALANE_TEST_MAX="+c.max, c.environment); o.Used != c.want {
			t.Errorf("SetMaxLevel(%s) and %s: %q, want %q", c.max, c.environment, o.Used, c.want)
		}
	}
	if o, _ := start(t, program, nil, "SEALANE_TEST_MAX=sse9"); !strings.Contains(o.MaxLevelError, `no level "sse9"`) {
		t.Errorf("an unknown level: error %q", o.MaxLevelError)
	}
}

func TestEnvironment(t *testing.T) {
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	levels := sealane.Ciphers()[0].Levels
	all, _ := names(levels)
	check := func(want, wantError string, environment ...string) {
		t.Helper()
		o, stderr := start(t, program, nil, environment...)
		if o.Used != want || o.UsedX != want {
			t.Errorf("%v: New uses %q, NewX %q, want %q", environment, o.Used, o.UsedX, want)
		}
		for _, l := range o.Levels {
			if l.Chosen != (l.Name == want) || l.Why == "" {
				t.Errorf("%v: %+v", environment, l)
			}
		}
		if wantError == "" && o.Error != "" || !strings.Contains(o.Error, wantError) || stderr != "" {
			t.Errorf("%v: error %q, want %q; standard error %q", environment, o.Error, wantError, stderr)
		}
	}
	check(chosen(levels), "")
	check(chosen(levels), "", "SEALANE_CPU=", "SEALANE_ASM=")
	for _, name := range all {
		check(bestFrom(levels, name), "", "SEALANE_CPU="+name)
		check("portable", "", "SEALANE_ASM=0", "SEALANE_CPU="+name)
	}
	check(chosen(levels), "", "SEALANE_ASM=1")
	check(chosen(levels), `SEALANE_CPU="sse9" has no effect`, "SEALANE_CPU=sse9")
	check(chosen(levels), `SEALANE_ASM="off" has no effect`, "SEALANE_ASM=off")
	check(chosen(levels), `SEALANE_AFALG="yes" has no effect: it may be auto or off`, "SEALANE_AFALG=yes")
	for _, value := range []string{"auto", "off", ""} {
		check(chosen(levels), "", "SEALANE_AFALG="+value)
	}
}

// TestCorrupted makes the known-answer test of each level fail: the next level is used, and Ciphers reports the
// failure.
func TestCorrupted(t *testing.T) {
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	_, runnable := names(sealane.Ciphers()[0].Levels)
	for i, name := range runnable {
		o, stderr := start(t, program, nil, "SEALANE_TEST_CORRUPT="+name, "SEALANE_CPU="+name)
		want := ""
		if i+1 < len(runnable) {
			want = runnable[i+1]
		}
		if o.Used != want || (want == "") != (o.Error != "") {
			t.Errorf("with %s corrupted: uses %q, error %q, want %q", name, o.Used, o.Error, want)
		}
		if stderr != "" {
			t.Errorf("with %s corrupted: the library writes %q", name, stderr)
		}
		for _, l := range o.Levels {
			if l.Passed != (l.Supported && l.Name != name) || l.Chosen != (l.Name == want) ||
				(l.Why == "its known-answer test failed") != (l.Name == name) {
				t.Errorf("with %s corrupted: %+v", name, l)
			}
		}
	}
}

// TestSetUID runs this program with raised privileges: the environment must be ignored.
func TestSetUID(t *testing.T) {
	if runtime.GOOS != "linux" || os.Getuid() != 0 {
		t.Skip("NOT RUN: needs Linux and root, to make a set-uid program")
	}
	if os.Getenv("SEALANE_TEST_EXEC") != "" {
		t.Skip("NOT RUN: an emulator started by hand does not give a set-uid program its rights")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(self)
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "sealane")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	program := filepath.Join(dir, "setuid")
	if err := os.WriteFile(program, content, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	const nobody = 65534
	if o, _ := start(t, program, asUser(nobody), "SEALANE_CPU=portable"); o.Used != "portable" {
		t.Errorf("without set-uid SEALANE_CPU=portable gives %q", o.Used)
	}
	if err := os.Chmod(program, 0o755|os.ModeSetuid); err != nil {
		t.Fatal(err)
	}
	_, runnable := names(sealane.Ciphers()[0].Levels)
	if o, stderr := start(t, program, asUser(nobody), "SEALANE_CPU=portable", "SEALANE_ASM=what"); o.Used != chosen(sealane.Ciphers()[0].Levels) || stderr != "" {
		t.Errorf("with set-uid SEALANE_CPU=portable gives %q; standard error %q", o.Used, stderr)
	}
	if len(runnable) == 1 {
		t.Skip("NOT RUN: only one level runs here, and the outcome is the same either way")
	}
}

func TestImplementation(t *testing.T) {
	block, err := aes.NewCipher(make([]byte, 16))
	if err != nil {
		t.Fatal(err)
	}
	theirs, err := cipher.NewGCM(block)
	if err != nil {
		t.Fatal(err)
	}
	if got := sealane.Implementation(theirs); got != "" {
		t.Errorf("the standard library is said to be %q", got)
	}
}

func ExampleCiphers() {
	for _, c := range sealane.Ciphers() {
		for _, l := range c.Levels {
			if l.Chosen {
				fmt.Fprintf(os.Stderr, "%s uses %s: %s\n", c.Name, l.Name, l.Why)
			}
		}
	}
	// Output:
}
