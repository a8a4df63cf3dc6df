package uprobes

import (
	"debug/elf"
	"os"
	"path/filepath"
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
