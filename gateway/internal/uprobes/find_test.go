package uprobes

import (
	"debug/elf"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// offsetOf returns where in a file is what it has at an address of memory.
func offsetOf(t *testing.T, f *os.File, address uintptr) uint64 {
	t.Helper()
	file, err := elf.NewFile(f)
	if err != nil {
		t.Fatal(err)
	}
	m, err := load(file)
	if err != nil {
		t.Fatal(err)
	}
	b, offset := m.at(uint64(address), true)
	if b == nil {
		t.Fatalf("nothing at %#x", address)
	}
	return offset
}

// Libraries of this machine, where they are.
func TestFind(t *testing.T) {
	for _, c := range []struct {
		pattern string
		library string
		kind    Kind
	}{
		{"/usr/lib/x86_64-linux-gnu/libssl.so.[1-9]*", "OpenSSL", OpenSSL},
		{"../../../build/openssl/*/usr/lib/x86_64-linux-gnu/libssl.so.[1-9]*", "OpenSSL", OpenSSL},
		{"/usr/lib/x86_64-linux-gnu/libgnutls.so.30", "GnuTLS", Session},
		{"/usr/bin/node", "OpenSSL", Session},
		{"/usr/lib/x86_64-linux-gnu/android/libssl.so.0", "BoringSSL", Pointer},
		{"/usr/lib/chromium/chromium", "BoringSSL", Pointer},
	} {
		found, _ := filepath.Glob(c.pattern)
		if len(found) == 0 {
			t.Logf("not run: there is no %s", c.pattern)
		}
		for _, name := range found {
			f, err := os.Open(name)
			if err != nil {
				t.Fatal(err)
			}
			probes, err := Find(f)
			f.Close()
			if err != nil || len(probes) != 1 || probes[0].Kind != c.kind || probes[0].Library != c.library {
				t.Errorf("%s: %+v, %v", name, probes, err)
			}
			t.Logf("%s: %+v", name, probes)
		}
	}
	for _, name := range []string{"/bin/true", "/etc/passwd", "/dev/null"} {
		f, err := os.Open(name)
		if err != nil {
			continue
		}
		if probes, err := Find(f); err == nil {
			t.Errorf("%s: %+v", name, probes)
		}
		f.Close()
	}
}

// The code by which compilers go from ssl to the client random, in ssl_log_secret.
func TestBoring(t *testing.T) {
	for _, c := range []struct {
		name, code      string
		pointer, random uint32
		found           bool
	}{
		{"lea", "4989ff e800000000 498b6f30 488d4530", 0x30, 0x30, true},             // ssl in r15, s3 in rbp
		{"loop", "4889fb e800000000 4c8b6b30 31c0 410fb64c0530", 0x30, 0x30, true},   // ssl in rbx, s3 in r13
		{"argument", "4889fd 488b4538 ba20000000 4c89e7 488d7040", 0x38, 0x40, true}, // ssl in rbp, s3 in rax
		{"add", "4889fb 488b4330 4883c020", 0x30, 0x20, true},                        // ssl in rbx, s3 in rax
		{"another base", "4889fb 498b4330 4883c020", 0, 0, false},                    // r11 is not ssl
		{"another part", "4889fb 488b4330 488d5130", 0, 0, false},                    // rcx is not s3
		{"not kept", "488b4730 4883c020", 0, 0, false},
	} {
		code, err := hex.DecodeString(strings.ReplaceAll(c.code, " ", ""))
		if err != nil {
			t.Fatal(err)
		}
		if p, r, ok := boring(append(code, make([]byte, 8)...)); p != c.pointer || r != c.random || ok != c.found {
			t.Errorf("%s: %#x, %#x, %v", c.name, p, r, ok)
		}
	}
}

// A damaged program is an error, whatever is damaged.
func FuzzFind(f *testing.F) {
	if b, err := os.ReadFile("/usr/lib/x86_64-linux-gnu/libssl.so.3"); err == nil && len(b) < 1<<20 {
		f.Add(b[:4096])
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		name := filepath.Join(t.TempDir(), "program")
		if err := os.WriteFile(name, b, 0o600); err != nil {
			t.Fatal(err)
		}
		program, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		defer program.Close()
		Find(program)
	})
}
