package aead

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

var otherToolchains = flag.String("toolchains", "", "versions of Go to test FIPS 140 modes with, such as go1.24.0,go1.25.0; \"local\" is this one")

const fipsChild = "SEALANE_TEST_FIPS"

// refusals makes each cipher, and returns how many were refused in FIPS 140-only mode.
func refusals() (refused, made int) {
	key := make([]byte, keySize)
	var plain ChaCha20Poly1305
	var gcm AESGCM
	for _, c := range []struct {
		make func() error
		want error
	}{
		{func() error { _, err := NewChaCha20Poly1305(1, key); return err }, errFIPS},
		{func() error { _, err := NewXChaCha20Poly1305(1, key); return err }, errFIPS},
		{func() error { _, err := NewAESGCM(1, key, 12, 16); return err }, errGCMFIPS},
		{func() error { return SetChaCha20Poly1305(&plain, 1, key) }, errFIPS},
		{func() error { return SetAESGCM(&gcm, 1, key) }, errGCMFIPS},
	} {
		switch err := c.make(); {
		case err == nil:
			made++
		case errors.Is(err, c.want):
			refused++
		}
	}
	return refused, made
}

const fipsCiphers = 5

// TestFIPS140 starts this program in all modes of GODEBUG=fips140: only FIPS 140-only mode refuses our ciphers.
func TestFIPS140(t *testing.T) {
	if os.Getenv(fipsChild) != "" {
		fmt.Println(refusals())
		return
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	fipsModes(t, self)
}

func fipsModes(t *testing.T, program string) {
	t.Helper()
	for _, mode := range []string{"", "off", "on", "only"} {
		args := []string{program, "-test.run=^TestFIPS140$"}
		args = append(strings.Fields(os.Getenv("SEALANE_TEST_EXEC")), args...) // the argument of go test -exec
		cmd := exec.Command(args[0], args[1:]...)
		cmd.Env = append(os.Environ(), fipsChild+"=1", "GODEBUG=fips140="+mode)
		if mode == "" {
			cmd.Env = append(os.Environ(), fipsChild+"=1", "GODEBUG=")
		}
		var stderr strings.Builder
		cmd.Stderr = &stderr
		out, err := cmd.Output()
		if err != nil && strings.Contains(stderr.String(), "incompatible with the purego build tag") {
			t.Logf("GODEBUG=fips140=%s: Go itself refuses it, with the tag purego", mode)
			continue
		}
		want := fmt.Sprintln(0, fipsCiphers)
		if mode == "only" {
			want = fmt.Sprintln(fipsCiphers, 0)
		}
		if err != nil || !strings.Contains("\n"+string(out), "\n"+want) {
			t.Errorf("GODEBUG=fips140=%s: %v, want %s\n%s%s", mode, err, want, out, stderr.String())
		}
	}
}

// TestFIPS140Builds builds this program with each of Go's cryptographic modules, and with other versions of Go.
func TestFIPS140Builds(t *testing.T) {
	if *otherToolchains == "" {
		t.Skip("NOT RUN: only with -toolchains")
	}
	if runtime.GOOS != "linux" || os.Getenv("SEALANE_TEST_EXEC") != "" {
		t.Skip("NOT RUN: builds programs for Linux on this processor")
	}
	for _, toolchain := range strings.Split(*otherToolchains, ",") {
		for _, module := range []string{"off", "latest", "v1.0.0"} {
			t.Run(toolchain+"/GOFIPS140="+module, func(t *testing.T) {
				program := filepath.Join(t.TempDir(), "test")
				cmd := exec.Command("go", "test", "-c", "-o", program, ".")
				cmd.Env = append(os.Environ(), "GOTOOLCHAIN="+toolchain, "GOFIPS140="+module, "CGO_ENABLED=0")
				if out, err := cmd.CombinedOutput(); err != nil {
					t.Fatalf("%v: %v\n%s", cmd, err, out)
				}
				fipsModes(t, program)
			})
		}
	}
}
