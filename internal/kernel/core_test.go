package kernel

import (
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// The imports that the core may have. The standard library packages behind them are below all cryptography.
var coreImports = []string{"math/bits", "sync", "sync/atomic", "syscall", "time", "unsafe"}

// Packages that must not be imported, even indirectly.
var notInCore = []string{"fmt", "os", "io", "reflect", "strconv", "strings", "encoding/binary", "bytes", "crypto", "golang.org/x"}

const corePath = "github.com/sealane/sealane/internal/"

var core = []string{corePath + "kernel", corePath + "dispatch", corePath + "packet"}

// TestCore checks the imports of the core, which is this package, dispatch and packet, so that the standard library can
// import it.
func TestCore(t *testing.T) {
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip("NOT RUN: needs the go command")
	}
	for _, platform := range []string{
		"linux/amd64", "linux/arm64", "linux/arm", "linux/386", "linux/s390x", "linux/riscv64", "android/arm64", "darwin/amd64", "darwin/arm64",
		"windows/amd64", "freebsd/amd64", "openbsd/amd64", "netbsd/arm", "js/wasm",
	} {
		system, processor, _ := strings.Cut(platform, "/")
		for _, wrong := range beyondCore(t, core, "GOOS="+system, "GOARCH="+processor) {
			t.Errorf("%s: %s", platform, wrong)
		}
	}
	// The planted fault is a package that formats text.
	wrong := strings.Join(beyondCore(t, append(core[:2:2], corePath+"report")), "\n")
	for _, want := range []string{"imports strings", "imports encoding/binary", "comes with io", "comes with reflect"} {
		if !strings.Contains(wrong, want) {
			t.Errorf("package report as a part of the core: no complaint that it %s", want)
		}
	}
}

// beyondCore returns the imports of packages that the core must not have.
func beyondCore(t *testing.T, core []string, environment ...string) (wrong []string) {
	t.Helper()
	list := func(format string, args ...string) []string {
		cmd := exec.Command("go", append([]string{"list", "-f", format}, args...)...)
		cmd.Env = append(append(os.Environ(), "CGO_ENABLED=0"), environment...)
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%v: %v", cmd, err)
		}
		return strings.Fields(string(out))
	}
	for _, path := range list(`{{join .Imports "\n"}}`, core...) {
		if !slices.Contains(coreImports, path) && !slices.Contains(core, path) {
			wrong = append(wrong, "imports "+path)
		}
	}
	for _, path := range list(`{{.ImportPath}}`, append([]string{"-deps"}, core...)...) {
		for _, not := range notInCore {
			if path == not || strings.HasPrefix(path, not+"/") && not != "io" && not != "os" {
				wrong = append(wrong, "comes with "+path)
			}
		}
	}
	return wrong
}
