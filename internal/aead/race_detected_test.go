//go:build race

package aead

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/sealane/sealane/internal/kernel"
)

const batched = " batched"

// TestRaces changes data in one goroutine that another's kernel reads or writes: the race detector must report it,
// although it does not see into assembly.
func TestRaces(t *testing.T) {
	const child = "SEALANE_TEST_RACE"
	if what := os.Getenv(child); what != "" {
		race(t, what)
		return
	}
	for _, row := range kernel.ChaCha20Poly1305Levels.Rows {
		t.Run(row.Name, func(t *testing.T) {
			skipUnsupported(t, row)
			if row.Level == uint8(kernel.Portable) {
				t.Skip("NOT RUN: the compiler annotates Go code, and the detector does not find every race in it")
			}
			for what, races := range map[string]bool{"nothing": false, "input": true, "output": true, "tag": true, "additional data": true, "nonce": true} {
				for _, how := range []string{"", batched} {
					cmd := exec.Command(os.Args[0], "-test.run=^TestRaces$")
					cmd.Env = append(os.Environ(), child+"="+row.Name+how+"/"+what, "GORACE=exitcode=66 atexit_sleep_ms=0")
					out, err := cmd.CombinedOutput()
					if found := strings.Contains(string(out), "DATA RACE"); found != races || (err != nil) != races {
						t.Errorf("%s%s: race found: %v, want %v; %v\n%s", what, how, found, races, err, out)
					}
				}
			}
		})
	}
}

func race(t *testing.T, what string) {
	name, what, _ := strings.Cut(what, "/")
	for _, row := range kernel.ChaCha20Poly1305Levels.Rows {
		if row.Name != strings.TrimSuffix(name, batched) {
			continue
		}
		a, err := NewChaCha20Poly1305(kernel.Level(row.Level), make([]byte, keySize))
		a = must(t, a, err)
		nonce, ad, in, out := make([]byte, nonceSize), make([]byte, 20), make([]byte, 100), make([]byte, 100+tagSize)
		// A whole word, because the detector remembers only the last few accesses to each word.
		other := map[string][]byte{"nothing": nil, "input": in[48:56], "output": out[48:56], "tag": out[104:112], "additional data": ad[:8], "nonce": nonce[:8]}[what]
		done := make(chan bool)
		go func() {
			for i := range other {
				other[i] = 1
			}
			close(done)
		}()
		if strings.HasSuffix(name, batched) {
			ops := []Op{{AEAD: a, Nonce: make([]byte, nonceSize)}, {AEAD: a, Dst: out[:0], Nonce: nonce, Src: in, AD: ad}, {AEAD: a, Nonce: make([]byte, nonceSize)}}
			SealBatch(ops)
		} else {
			a.Seal(out[:0], nonce, in, ad)
		}
		<-done
	}
}
