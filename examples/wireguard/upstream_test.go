//go:build unix

package main

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestUpstream runs wireguard-go's own device tests and x/crypto's own cipher tests on sealane, the former in batches,
// too, and builds wireguard-go by name. The module cache must be the same afterwards.
func TestUpstream(t *testing.T) {
	dir := t.TempDir()
	run := func(args ...string) string {
		t.Helper()
		out, err := exec.Command(args[0], args[1:]...).CombinedOutput()
		t.Logf("%s\n%s", strings.Join(args, " "), out)
		if err != nil {
			t.Fatal(err)
		}
		return string(out)
	}
	sealane := filepath.Join(dir, "sealane")
	run("go", "build", "-C", "../..", "-o", sealane, "./cmd/sealane")
	const wireguard, crypto = "golang.zx2c4.com/wireguard", "golang.org/x/crypto"
	versions := strings.Fields(run("go", "list", "-m", "-f", "{{.Version}}", wireguard, crypto))
	for _, args := range [][]string{
		{wireguard + "/device"},
		{wireguard + "/device@" + versions[0]},
		{crypto + "/chacha20poly1305@" + versions[1]},
		{"--batch", wireguard + "/device"},
		{"--batch", wireguard + "/device@" + versions[0]},
	} {
		if out := run(append([]string{sealane, "test"}, append(args, "--", "-count=1")...)...); !strings.Contains(out, "\n"+crypto+" ") || !strings.Contains(out, "\npassed") {
			t.Errorf("%v did not pass", args)
		}
	}
	built := filepath.Join(dir, "wireguard-go")
	for _, flag := range []string{"--batch=false", "--batch"} {
		run(sealane, "build", flag, "-o", built, wireguard+"@"+versions[0])
		if out := run(sealane, "info", "--binary", built); !strings.Contains(out, "contains sealane") || !strings.HasPrefix(out, wireguard+", ") {
			t.Errorf("%s", out)
		}
		if strings.Contains(run("go", "tool", "nm", built), "sealane/batch.SealBatch") != (flag == "--batch") {
			t.Errorf("built with %s it does not call what it should", flag)
		}
	}
	run("go", "mod", "verify")
}
