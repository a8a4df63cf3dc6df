package peers

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sealane/sealane"
)

// TestUpstream runs x/crypto's own tests of this package against ours. They come from the module cache, in the version
// that go.sum pins, and take the place of our tests in an overlay.
func TestUpstream(t *testing.T) {
	if testing.Short() {
		t.Skip("builds a test program")
	}
	command := func(args ...string) string {
		t.Helper()
		out, err := exec.Command("go", args...).CombinedOutput()
		if err != nil {
			t.Fatalf("go %s: %v\n%s", strings.Join(args, " "), err, out)
		}
		return strings.TrimSpace(string(out))
	}
	overlay := struct{ Replace map[string]string }{make(map[string]string)}
	here, err := filepath.Abs("../../chacha20poly1305")
	if err != nil {
		t.Fatal(err)
	}
	ours, err := filepath.Glob(filepath.Join(here, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range ours {
		overlay.Replace[file] = ""
	}
	upstream := filepath.Join(command("list", "-m", "-f", "{{.Dir}}", "golang.org/x/crypto"), "chacha20poly1305")
	for _, file := range []string{"chacha20poly1305_test.go", "chacha20poly1305_vectors_test.go"} {
		overlay.Replace[filepath.Join(here, "upstream_"+file)] = filepath.Join(upstream, file)
	}
	content, err := json.Marshal(overlay)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "overlay.json")
	if err := os.WriteFile(file, content, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, level := range sealane.Ciphers()[0].Levels {
		t.Run(level.Name, func(t *testing.T) {
			if !level.Supported {
				t.Skipf("NOT RUN: level %s: %s", level.Name, level.Why)
			}
			t.Setenv("SEALANE_CPU", level.Name)
			out := command("test", "-overlay="+file, "-exec="+os.Getenv("SEALANE_TEST_EXEC"), "-count=1", "-v", here)
			for _, want := range []string{"--- PASS: TestVectors", "--- PASS: TestRandom/Standard", "--- PASS: TestRandom/X", "--- PASS: ExampleNewX"} {
				if !strings.Contains(out, want) {
					t.Errorf("no %q in:\n%s", want, out)
				}
			}
		})
	}
}
