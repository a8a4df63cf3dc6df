package randomseed

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

const program = `#include "../../test/seed.h"
int main(void) { printf("%llu", (unsigned long long)seed_of_run()); return 0; }`

func TestMain(m *testing.M) {
	if os.Getenv("SEALANE_TEST_PRINT_SEED") != "" {
		fmt.Print(Of())
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// TestSeed makes the programs of both languages print their seed: the same for each value, and the same message for an
// invalid one.
func TestSeed(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	t.Run("Go", func(t *testing.T) { testSeed(t, append(strings.Fields(os.Getenv("SEALANE_TEST_EXEC")), self)...) }) // emulated
	t.Run("C", func(t *testing.T) {
		compiler := os.Getenv("CC")
		if compiler == "" {
			compiler = "cc"
		}
		if _, err := exec.LookPath(compiler); err != nil {
			t.Skip("no C compiler")
		}
		here, err := os.Getwd()
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(t.TempDir(), "seed")
		compile := exec.Command(compiler, "-std=c11", "-D_GNU_SOURCE", "-I", here, "-o", path, "-x", "c", "-")
		compile.Stdin = strings.NewReader(program)
		if out, err := compile.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		testSeed(t, path)
	})
}

func testSeed(t *testing.T, program ...string) {
	run := func(seed string) (string, int) {
		command := exec.Command(program[0], program[1:]...)
		command.Env = append(os.Environ(), "SEALANE_TEST_PRINT_SEED=yes", "SEALANE_SEED="+seed)
		out, err := command.CombinedOutput()
		var exit *exec.ExitError
		if err != nil && !errors.As(err, &exit) {
			t.Fatal(err)
		}
		return string(out), command.ProcessState.ExitCode()
	}
	for seed, want := range map[string]string{
		"0": "0", "1": "1", "010": "8", "0x10": "16", "0XfF": "255",
		"18446744073709551615": "18446744073709551615", "0xffffffffffffffff": "18446744073709551615",
	} {
		if got, status := run(seed); got != want || status != 0 {
			t.Errorf("%q: %q, status %d; want %s", seed, got, status, want)
		}
	}
	for _, seed := range []string{"x", "1x", "-1", "+1", " 1", "1 ", "1.5", "1e3", "0x", "08", "18446744073709551616", "0x10000000000000000"} {
		want := fmt.Sprintf("SEALANE_SEED: %q is not a number from 0 to 2^64-1\n", seed)
		if got, status := run(seed); got != want || status != 2 {
			t.Errorf("%q: %q, status %d; want %q, status 2", seed, got, status, want)
		}
	}
	// A new seed each time.
	first, _ := run("")
	if second, status := run(""); status != 0 || len(first) < 15 || first == second {
		t.Errorf("without a number: %q, and then %q, status %d", first, second, status)
	}
}
