// Package gains builds programs that do not import sealane, once with the go command and once with sealane build
// --std. Both transfer a file, and the test reports the gain.
package gains

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

var size = flag.Float64("gib", 1, "size of the file, in GiB")

// A program is a row of the table.
type program struct {
	name, folder, suite string
	runs                string // the field of sealane info --binary --json that says that its cipher runs on sealane
}

var programs = []program{
	{"Caddy, HTTP/2, AES-GCM", "caddy", "TLS_AES_128_GCM_SHA256", "std_aesgcm"},
	{"rclone, HTTPS, AES-GCM", "rclone", "TLS_AES_128_GCM_SHA256", "std_aesgcm"},
	{"gRPC stream, AES-GCM", "grpc", "TLS_AES_128_GCM_SHA256", "std_aesgcm"},
	{"quic-go, AES-GCM", "quic", "TLS_AES_128_GCM_SHA256", "std_aesgcm"},
	{"quic-go, ChaCha20-Poly1305", "quic", "TLS_CHACHA20_POLY1305_SHA256", "std_chacha20poly1305 or x_crypto_calls"},
	{"x/crypto/ssh, AES-GCM", "ssh", "aes128-gcm@openssh.com", "std_aesgcm"},
	{"x/crypto/ssh, ChaCha20-Poly1305", "ssh", "chacha20-poly1305@openssh.com", "x_crypto_ssh"},
	{"age, encrypt and decrypt", "age", "chacha20poly1305", "x_crypto_calls"},
	{"tailscale's WireGuard device", "tailscale", "chacha20poly1305", "x_crypto_calls"},
}

func mustRun(t *testing.T, name string, args ...string) []byte {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s", cmd, err, out)
	}
	return out
}

// TestGains checks that every program works on sealane, and that those with a replaced cipher spend less CPU time on
// it.
func TestGains(t *testing.T) {
	sealane, demonstration := os.Getenv("SEALANE"), os.Getenv("DEMONSTRATION")
	if sealane == "" || demonstration == "" {
		t.Skip("NOT RUN: make test-long-gains says where the programs are")
	}
	dir := t.TempDir()
	built := map[string]bool{}
	table := []string{"| program | runs on sealane | AEAD's share of CPU time, stock | with sealane | AEAD, CPU s/GiB, stock | with sealane | all CPU time |", "|---|---|---:|---:|---:|---:|---:|"}
	for _, p := range programs {
		t.Run(p.name, func(t *testing.T) {
			stock, ours := filepath.Join(dir, p.folder+"-stock"), filepath.Join(dir, p.folder+"-sealane")
			if !built[p.folder] {
				mustRun(t, "go", "build", "-o", stock, "./"+p.folder)
				mustRun(t, sealane, "build", "--std", "-o", ours, "./"+p.folder)
				built[p.folder] = true
			}
			var carries map[string]any
			if err := json.Unmarshal(mustRun(t, sealane, "info", "--json", "--binary", ours), &carries); err != nil {
				t.Fatal(err)
			}
			on := false
			for _, field := range strings.Split(p.runs, " or ") {
				on = on || carries[field] == "sealane" || carries[field] == true
			}
			if !on {
				t.Errorf("it carries %v", carries)
			}
			var report struct {
				Programs []struct {
					CPU   float64 `json:"cpu_seconds_per_gib"`
					AEAD  float64 `json:"aead_cpu_seconds_per_gib"`
					Share float64 `json:"aead_share_of_cpu"`
				}
			}
			out := mustRun(t, demonstration, "-json", "-tls", p.suite, "-size", fmt.Sprint(*size), "-rounds", "2", "-stock", stock, "-sealane", ours)
			if err := json.Unmarshal(out, &report); err != nil || len(report.Programs) != 2 {
				t.Fatal(err, string(out))
			}
			before, after := report.Programs[0], report.Programs[1]
			if after.AEAD > 0.9*before.AEAD {
				t.Errorf("its cipher takes %.2f CPU seconds per GiB, before %.2f", after.AEAD, before.AEAD)
			}
			table = append(table, fmt.Sprintf("| %s | yes | %.0f %% | %.0f %% | %.2f | %.2f | %+.0f %% |", p.name, 100*before.Share, 100*after.Share, before.AEAD, after.AEAD, 100*(after.CPU/before.CPU-1)))
		})
	}
	fmt.Println(strings.Join(table, "\n"))
}
