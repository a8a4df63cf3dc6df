package uprobes

import (
	"debug/elf"
	"encoding/binary"
	"encoding/hex"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// offsetOf returns the file offset of an address in memory.
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
		if release, _ := os.ReadFile("/etc/os-release"); c.library == "GnuTLS" && strings.Contains(string(release), "\nID=ubuntu\n") {
			t.Logf("not run: Ubuntu optimizes GnuTLS when it links, which leaves no function to probe")
			continue
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

// The code that compilers generate in ssl_log_secret to get from ssl to the client random.
func TestBoring(t *testing.T) {
	for _, c := range []struct {
		name, code      string
		pointer, random uint32
		found           bool
	}{
		{"lea", "4989ff e800000000 498b6f30 488d4530", 0x30, 0x30, true},                          // ssl in r15, s3 in rbp
		{"loop", "4889fb e800000000 4c8b6b30 31c0 410fb64c0530", 0x30, 0x30, true},                // ssl in rbx, s3 in r13
		{"far", "4889fb 4c8b7b30" + strings.Repeat("90", 132) + "410fb6540730", 0x30, 0x30, true}, // ssl in rbx, s3 in r15
		{"too far", "4889fb 4c8b7b30" + strings.Repeat("90", 200) + "410fb6540730", 0, 0, false},
		{"no prefix", "4889fb e800000000 488b6b30 31c0 0fb64c0530", 0x30, 0x30, true},   // ssl in rbx, s3 in rbp
		{"another prefix", "4889fb e800000000 488b6b30 31c0 410fb64c0530", 0, 0, false}, // r13 is not s3
		{"argument", "4889fd 488b4538 ba20000000 4c89e7 488d7040", 0x38, 0x40, true},    // ssl in rbp, s3 in rax
		{"add", "4889fb 488b4330 4883c020", 0x30, 0x20, true},                           // ssl in rbx, s3 in rax
		{"another base", "4889fb 498b4330 4883c020", 0, 0, false},                       // r11 is not ssl
		{"another part", "4889fb 488b4330 488d5130", 0, 0, false},                       // rcx is not s3
		{"not kept", "488b4730 4883c020", 0, 0, false},
	} {
		code, err := hex.DecodeString(strings.ReplaceAll(c.code, " ", ""))
		if err != nil {
			t.Fatal(err)
		}
		if p, r, ok := x86Boring(append(code, make([]byte, 8)...)); p != c.pointer || r != c.random || ok != c.found {
			t.Errorf("%s: %#x, %#x, %v", c.name, p, r, ok)
		}
	}
}

// Instructions of arm64, which this machine need not have.
func TestArm64(t *testing.T) {
	code := func(at int, instructions ...uint32) []byte {
		b := make([]byte, 0x300)
		for i, n := range instructions {
			binary.LittleEndian.PutUint32(b[at+4*i:], n)
		}
		return b
	}
	m := memory{{address: 0x10000, code: true, data: code(0,
		0x90000081, // adrp x1, 0x20000
		0x91004021, // add x1, x1, 0x10
		0x9400003e, // bl 0x10100
		0x100800a1, // adr x1, 0x20020
		0x1400007c, // b 0x10200
		0x100800a2, // adr x2, which is no second argument
		0x1400007c)}}
	called := map[uint64]string{}
	arm64Calls(m, map[uint64]string{0x20010: "one", 0x20020: "two", 0x20028: "three"}, false, func(to uint64, text string) { called[to] = text })
	if want := map[uint64]string{0x10100: "one", 0x10200: "two"}; !maps.Equal(called, want) {
		t.Errorf("calls: %v", called)
	}
	m[0].data = code(0x40, 0x52800403, 0xaa0203e0, 0x94000010) // mov w3, 32; mov x0, x2; bl 0x10088
	if to := arm64Inner(m, 0x10040); to != 0x10088 {
		t.Errorf("inner: %#x", to)
	}
	if to := arm64Inner(m, 0x10044); to != 0 {
		t.Errorf("inner, without the length: %#x", to)
	}
	if at, ok := arm64First(code(0, 0xd503201f, 0x91058001)); at != 0x160 || !ok { // nop; add x1, x0, 0x160
		t.Errorf("first: %#x, %v", at, ok)
	}
	if at, ok := arm64First(code(0, 0xf9401801, 0x91058001)); ok { // ldr x1, [x0, 48]
		t.Errorf("first, behind a pointer: %#x", at)
	}
	s3 := []uint32{0xaa0003f3, 0xf9401a74, 0x91008281} // mov x19, x0; ldr x20, [x19, 48]; add x1, x20, 0x20
	if p, r, ok := arm64Boring(code(0, s3...)); p != 48 || r != 0x20 || !ok {
		t.Errorf("boring: %d, %d, %v", p, r, ok)
	}
	if _, _, ok := arm64Boring(code(0, s3[1:]...)); ok {
		t.Error("boring: found without ssl")
	}
}

// A damaged program gives an error, whatever is damaged.
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
