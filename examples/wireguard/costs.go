//go:build unix

package main

import (
	"maps"
	"slices"
	"strings"

	"github.com/google/pprof/profile"
)

// costs are the shares of a download's CPU time.
type costs struct {
	AEAD    float64            `json:"aead"`
	Kernel  string             `json:"kernel"` // the function with most of the AEAD time
	Parts   map[string]float64 `json:"parts"`
	Samples int                `json:"samples"`
}

const aead = "AEAD (encryption)"

// parts assigns functions to parts. The first match counts.
var parts = []struct{ prefix, part string }{
	{"golang.org/x/crypto/chacha20", aead}, // and chacha20poly1305
	{"golang.org/x/crypto/internal/poly1305", aead},
	{"github.com/tailscale/wireguard-go/tsasm/", aead},
	{"github.com/sealane/sealane/internal/", aead},
	{"github.com/sealane/sealane/gcm.", aead},
	{"github.com/sealane/sealane/chacha20poly1305.", aead},
	{"github.com/sealane/sealane/batch.", aead},
	{"crypto/internal/fips140/aes/gcm.", aead},
	{"vendor/golang.org/x/crypto/chacha20", aead},
	{"crypto/tls.", "TLS besides the AEAD"},
	{"crypto/internal/fips140/tls", "TLS besides the AEAD"},
	{"crypto/sha256", "SHA-256 of the file"},
	{"crypto/internal/fips140/sha256", "SHA-256 of the file"},
	{"internal/runtime/syscall.", "system calls"},
	{"syscall.", "system calls"},
	{"golang.org/x/sys/", "system calls"},
	{"gvisor.dev/", "TCP/IP in user space (gVisor)"},
	{"golang.zx2c4.com/", "wireguard-go"},
	{"runtime.mallocgc", "Go: memory"},
	{"runtime.gc", "Go: memory"},
	{"runtime.memmove", "copying"},
}

const (
	scheduling = "Go: scheduling and the rest"
	other      = "HTTP and the rest"
)

// spent analyzes a CPU profile. A sample belongs to the AEAD if any of its frames does, and otherwise to the part of
// the innermost frame that has one.
func spent(p *profile.Profile) costs {
	c := costs{Parts: map[string]float64{}}
	kernels := map[string]float64{}
	total := 0.0
	for _, s := range p.Sample {
		v := float64(s.Value[len(s.Value)-1]) // nanoseconds
		functions := frames(s)
		part := partOf(functions)
		c.Parts[part] += v
		if part == aead {
			kernels[functions[0]] += v
		}
		c.Samples += int(s.Value[0])
		total += v
	}
	for part := range c.Parts {
		c.Parts[part] /= total
	}
	c.AEAD = c.Parts[aead]
	names := slices.SortedFunc(maps.Keys(kernels), func(a, b string) int { return int(kernels[b] - kernels[a]) })
	if len(names) > 0 {
		c.Kernel = names[0]
	}
	return c
}

// frames returns the functions of a sample, innermost first.
func frames(s *profile.Sample) (functions []string) {
	for _, l := range s.Location {
		for _, line := range l.Line {
			if line.Function != nil {
				functions = append(functions, line.Function.Name)
			}
		}
	}
	if len(functions) == 0 {
		functions = []string{"?"}
	}
	return functions
}

func partOf(functions []string) string {
	for _, f := range functions {
		for _, p := range parts {
			if p.part == aead && strings.HasPrefix(f, p.prefix) {
				return aead
			}
		}
	}
	inRuntime := true
	for _, f := range functions {
		for _, p := range parts {
			if strings.HasPrefix(f, p.prefix) {
				return p.part
			}
		}
		inRuntime = inRuntime && strings.HasPrefix(f, "runtime.")
		if !strings.HasPrefix(f, "runtime.") && !strings.HasPrefix(f, "internal/") && !strings.HasPrefix(f, "sync") {
			break
		}
	}
	if inRuntime || strings.HasPrefix(functions[0], "runtime.") {
		return scheduling
	}
	return other
}
