package sealane_test

import (
	"flag"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"

	"github.com/sealane/sealane"
)

var long = flag.Bool("long", false, "build for other systems, and run on emulated processors")

// TestEmulatedCPUs starts this program on processors that lack features: it must choose the best level that they
// support.
func TestEmulatedCPUs(t *testing.T) {
	qemu, err := exec.LookPath("qemu-x86_64")
	if err != nil || runtime.GOARCH != "amd64" || runtime.GOOS != "linux" {
		t.Skip("NOT RUN: needs qemu-x86_64 on Linux")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	built := make(map[string]bool)
	for _, l := range sealane.Ciphers()[0].Levels {
		built[l.Name] = true
	}
	for cpu, want := range map[string]string{"Haswell": "avx2", "Nehalem": "ssse3", "Opteron_G1": "portable"} {
		if !built[want] { // built with purego
			want = "portable"
		}
		cmd := exec.Command(qemu, "-cpu", cpu, self)
		cmd.Env = append(os.Environ(), "SEALANE_TEST_CHILD=1", "SEALANE_CPU=", "SEALANE_ASM=")
		out, err := cmd.Output()
		if err != nil {
			t.Errorf("%s: %v", cpu, err)
		} else if !strings.HasPrefix(string(out), `{"Used":"`+want+`","UsedX":"`+want+`"`) {
			t.Errorf("%s: want %s, got %s", cpu, want, out)
		}
	}
}

// TestPlatforms vets the packages, tests included, for systems of every kind, and runs tests under emulation for some
// processors. s390x and ppc64 are big-endian; 386, arm and mipsle have 32 bits.
func TestPlatforms(t *testing.T) {
	if !*long {
		t.Skip("NOT RUN: only with -long")
	}
	packages := []string{"./..."}
	run := func(t *testing.T, platform string, args ...string) {
		t.Helper()
		system, processor, _ := strings.Cut(platform, "/")
		cmd := exec.Command("go", append(args, packages...)...)
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+system, "GOARCH="+processor)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%s: go %s: %v\n%s", platform, strings.Join(args, " "), err, out)
		}
	}
	for _, platform := range []string{
		"aix/ppc64", "android/arm64", "darwin/amd64", "darwin/arm64", "dragonfly/amd64", "freebsd/amd64", "illumos/amd64",
		"js/wasm", "linux/386", "linux/amd64", "linux/arm", "linux/arm64", "linux/loong64", "linux/mips", "linux/mips64le",
		"linux/ppc64le", "linux/riscv64", "linux/s390x", "netbsd/arm", "openbsd/amd64", "plan9/amd64", "solaris/amd64",
		"wasip1/wasm", "windows/386", "windows/amd64", "windows/arm64",
	} {
		t.Run("vet/"+platform, func(t *testing.T) { run(t, platform, "vet") })
	}
	t.Run("vet/purego", func(t *testing.T) { run(t, "linux/amd64", "vet", "-tags=purego") })
	packages = []string{"./internal/aead", "./internal/kernel"}
	for processor, qemu := range map[string]string{
		"386": "", "arm": "qemu-arm", "arm64": "qemu-aarch64", "mipsle": "qemu-mipsel", "ppc64": "qemu-ppc64", "riscv64": "qemu-riscv64", "s390x": "qemu-s390x",
	} {
		t.Run("test/"+processor, func(t *testing.T) {
			args := []string{"test", "-short", "-count=1"}
			if qemu != "" {
				if _, err := exec.LookPath(qemu); err != nil {
					t.Skipf("NOT RUN: needs %s", qemu)
				}
				args = append(args, "-exec="+qemu)
				t.Setenv("SEALANE_TEST_EXEC", qemu) // for tests that start their own program
			}
			run(t, "linux/"+processor, args...)
		})
	}
}
