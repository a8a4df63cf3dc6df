package accelerate

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sealane/sealane/cmd/sealane/internal/binary"
)

// forked is a program with tailscale's wireguard-go in little in its folder wg: on amd64 it takes a cipher of its own.
func forked(edit ...string) map[string]string {
	const imports = "\nimport (\n\t\"crypto/cipher\"\n\n"
	return plain(append([]string{
		"go.mod", mod + requires(cryptoVersion, sysVersion) + "\nrequire github.com/tailscale/wireguard-go v0.0.0\n\nreplace github.com/tailscale/wireguard-go => ./wg\n",
		"main.go", strings.NewReplacer("golang.org/x/crypto/chacha20poly1305\"", "golang.org/x/crypto/chacha20poly1305\"\n\t\"github.com/tailscale/wireguard-go/device\"",
			"a, _ := chacha20poly1305.New(key)", "a, _ := device.New(key)").Replace(program),
		"wg/go.mod", "module github.com/tailscale/wireguard-go\n\ngo 1.24.0\n" + requires(cryptoVersion),
		"wg/device/device.go", "package device\n\nimport \"crypto/cipher\"\n\nfunc New(key []byte) (cipher.AEAD, error) { return chacha20poly1305New(key) }\n",
		"wg/device/aead_asm.go", "//go:build amd64 || arm64 || arm\n\npackage device\n" + imports +
			"\tasmAEAD \"github.com/tailscale/wireguard-go/tsasm/chacha20poly1305\"\n)\n\nfunc chacha20poly1305New(key []byte) (cipher.AEAD, error) { return asmAEAD.New(), nil }\n",
		"wg/device/aead_other.go", "//go:build !amd64 && !arm64 && !arm\n\npackage device\n" + imports +
			"\t\"golang.org/x/crypto/chacha20poly1305\"\n)\n\nfunc chacha20poly1305New(key []byte) (cipher.AEAD, error) { return chacha20poly1305.New(key) }\n",
		"wg/tsasm/chacha20poly1305/own.go", ownCipher,
	}, edit...)...)
}

// TestBuildFork: the fork's own cipher here does nothing, so output equal to x/crypto's shows that it was replaced.
func TestBuildFork(t *testing.T) {
	for _, c := range []testCase{
		{name: "constructor gone", files: forked("wg/device/aead_asm.go", "package device\n\nimport _ \"github.com/tailscale/wireguard-go/tsasm/chacha20poly1305\"\n",
			"wg/device/aead_other.go", "package device\n", "wg/device/device.go", "package device\n\nimport \"crypto/cipher\"\n\nfunc New(key []byte) (cipher.AEAD, error) { return nil, nil }\n"),
			want: "it uses tsasm, but has no function chacha20poly1305New"},
		{name: "constructor elsewhere", files: forked("wg/device/device.go", forked()["wg/device/aead_asm.go"]+"\nfunc New(key []byte) (cipher.AEAD, error) { return chacha20poly1305New(key) }\n",
			"wg/device/aead_asm.go", "package device\n"), want: "together with other code"},
		{name: "batches", files: forked(), job: Job{Batch: true}, want: "cannot take batches: build without --batch"},
	} {
		t.Run(c.name, func(t *testing.T) { c.test(t) })
	}
	dir := t.TempDir()
	for name, content := range forked() {
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(content), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(dir)
	mustRun(t, dir, "go", "build", "-o", "stock", ".")
	if p, err := binary.Read("stock"); err != nil || len(p.Others) != 1 {
		t.Errorf("the stock program has the ciphers %+v, %v", p, err)
	}
	result, err := Build(context.Background(), Job{Stderr: os.Stderr, AllowPortable: true})
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(result.Fork, "github.com/tailscale/wireguard-go") || len(result.Others) > 0 {
		t.Errorf("%+v", result)
	}
	// The same program without the fork prints the same as with x/crypto.
	other := t.TempDir()
	for name, content := range plain() {
		if err := os.WriteFile(filepath.Join(other, name), []byte(content), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if got, want := mustRun(t, dir, "./thing"), mustRun(t, other, "go", "run", "."); got != want {
		t.Errorf("prints\n%swant\n%s", got, want)
	}
}

// TestTailscaled builds tailscale's daemon by name, for the three architectures, and runs those that can be run here.
func TestTailscaled(t *testing.T) {
	if !*long {
		t.Skip("NOT RUN: part of make test-long")
	}
	longModuleCache(t)
	for _, c := range []struct{ goarch, goarm, emulator string }{{"amd64", "", ""}, {"arm64", "", "qemu-aarch64"}, {"arm", "5", "qemu-arm"}} {
		t.Run(c.goarch, func(t *testing.T) {
			t.Setenv("GOARM", c.goarm)
			file := filepath.Join(t.TempDir(), "tailscaled")
			result, err := Build(context.Background(), Job{Package: "tailscale.com/cmd/tailscaled@" + tailscale, Output: file, GOOS: "linux", GOARCH: c.goarch, Std: true, Stderr: os.Stderr})
			if err != nil {
				t.Fatal(err)
			}
			if result.Fork == "" || len(result.Others) > 0 || !result.StdGCM || !result.StdCipher {
				t.Errorf("%+v", result)
			}
			command := append(strings.Fields(c.emulator), file, "--version")
			if _, err := exec.LookPath(command[0]); err != nil {
				t.Skip("NOT RUN: ", err)
			}
			if out := mustRun(t, ".", command...); !strings.Contains(out, strings.TrimPrefix(tailscale, "v")) {
				t.Errorf("prints %s", out)
			}
		})
	}
}

const tailscale = "v1.102.4"

// tailscaleDevice is a version of its wireguard-go that has assembly of its own for amd64 as well.
const tailscaleDevice = "github.com/tailscale/wireguard-go/device@v0.0.0-20260928213032-417aef361226"

// TestTailscaledDevice runs the own tests of tailscale's wireguard-go.
func TestTailscaledDevice(t *testing.T) {
	if !*long {
		t.Skip("NOT RUN: part of make test-long")
	}
	longModuleCache(t)
	for _, c := range []struct{ goarch, goarm, emulator string }{{"amd64", "", ""}, {"arm", "5", "qemu-arm -cpu cortex-a7"}} {
		t.Run(c.goarch, func(t *testing.T) {
			job := Job{Package: tailscaleDevice, GOOS: "linux", GOARCH: c.goarch, Flags: []string{"-short", "-count=1"}}
			if c.emulator != "" {
				if _, err := exec.LookPath(strings.Fields(c.emulator)[0]); err != nil {
					t.Skip("NOT RUN: ", err)
				}
				job.Flags = append(job.Flags, "-exec="+c.emulator)
			}
			t.Setenv("GOARM", c.goarm)
			var out bytes.Buffer
			job.Stdout, job.Stderr = &out, &out
			result, err := Test(context.Background(), job)
			if err != nil || result.Fork == "" || !strings.Contains(out.String(), "ok  \tgithub.com/tailscale/wireguard-go/device") {
				t.Errorf("%v, %+v\n%s", err, result, &out)
			}
		})
	}
}

// longModuleCache makes a test use the user's module cache, because its builds are large.
func longModuleCache(t *testing.T) {
	t.Setenv("GOPROXY", online)
	t.Setenv("GOSUMDB", "sum.golang.org")
	t.Setenv("GOTOOLCHAIN", "auto")
	t.Setenv("GOMODCACHE", filepath.Dir(filepath.Dir(strings.TrimPrefix(downloads, "file://"))))
}
