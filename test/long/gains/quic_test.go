package gains

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// xnetQUIC has golang.org/x/net/quic protect its packets by package quic: what is there once, and what takes its place.
var xnetQUIC = [][2]string{
	{"\nimport (\n", "\nimport (\n\tsealane \"github.com/sealane/sealane/quic\"\n"},
	{"type fixedKeys struct {\n", "type fixedKeys struct {\n\tsealane *sealane.Keys\n"},
	{"func (k *fixedKeys) init(suite uint16, secret []byte) {\n", "func (k *fixedKeys) init(suite uint16, secret []byte) {\n\tk.sealane = sealaneKeys(suite, secret)\n"},
	{"\tpkt := k.pkt.protect(hdr, pay, pnum)\n\tk.hdr.protect(pkt, pnumOff)\n\treturn pkt\n", "\treturn sealaneProtect(k.sealane, hdr, pay, pnumOff, pnum)\n"},
	{"\thdr, pay, pnum, err := k.hdr.unprotect(pkt, pnumOff, pnumMax)\n\tif err != nil {\n\t\treturn nil, 0, err\n\t}\n\tpay, err = k.pkt.unprotect(hdr, pay, pnum)\n",
		"\tif k.sealane == nil {\n\t\treturn nil, 0, errInvalidPacket\n\t}\n\tpay, pnum, err := sealaneUnprotect(k.sealane, nil, pkt, pnumOff, pnumMax)\n"},
	{"type updatingKeys struct {\n", "type updatingKeys struct {\n\tsealane [2]*sealane.Keys\n"},
	{"\tk.nextSecret = secret\n\tk.update()\n", "\tk.nextSecret = secret\n\tk.update()\n\tk.sealane[0] = sealaneKeys(suite, secret)\n\tk.sealane[1] = sealaneUpdate(k.sealane[0])\n"},
	{"\tk.pkt[1].init(k.suite, k.nextSecret)\n", "\tk.pkt[1].init(k.suite, k.nextSecret)\n\tif k.sealane[1] != nil {\n\t\tk.sealane = [2]*sealane.Keys{k.sealane[1], sealaneUpdate(k.sealane[1])}\n\t}\n"},
	{"k.w.pkt[1].protect(hdr, pay, pnum)", "k.w.protect(1, hdr, pay, pnumOff, pnum)"},
	{"k.w.pkt[0].protect(hdr, pay, pnum)", "k.w.protect(0, hdr, pay, pnumOff, pnum)"},
	{"\tk.w.hdr.protect(pkt, pnumOff)\n", ""},
	{"\thdr, pay, pnum, err := k.r.hdr.unprotect(pkt, pnumOff, pnumMax)\n", "\thdr, pnum, open, err := k.r.unprotect(pkt, pnumOff, pnumMax)\n"},
	{"k.r.pkt[0].unprotect(hdr, pay, pnum)", "open(0)"},
	{"k.r.pkt[1].unprotect(hdr, pay, pnum)", "open(1)"},
}

// outcomes runs the tests of a package and returns their names and outcomes, those of subtests too.
func outcomes(t *testing.T, dir string, args ...string) map[string]string {
	cmd := exec.Command("go", append([]string{"test", "-json", "-count=1"}, args...)...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOFLAGS=-mod=mod", "GOWORK=off")
	cmd.Stderr = os.Stderr
	out, _ := cmd.Output() // it fails where a test does
	of := map[string]string{}
	for line := range bytes.Lines(out) {
		var e struct{ Action, Package, Test, Output string }
		if json.Unmarshal(line, &e) == nil && e.Action == "build-output" {
			t.Log(e.Output)
		}
		if e.Test != "" && slices.Contains([]string{"pass", "fail", "skip"}, e.Action) {
			of[e.Package+" "+e.Test] = e.Action
		}
	}
	if len(of) == 0 {
		t.Fatalf("%s: no tests ran:\n%s", cmd, out)
	}
	return of
}

func count(of map[string]string, want string) (n int) {
	for _, outcome := range of {
		if outcome == want {
			n++
		}
	}
	return n
}

// copyOf copies a module, and returns the folder.
func copyOf(t *testing.T, module string) string {
	from := strings.TrimSpace(string(mustRun(t, "go", "list", "-m", "-f", "{{.Dir}}", module)))
	to := filepath.Join(t.TempDir(), filepath.Base(from))
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
	mustRun(t, "chmod", "-R", "u+w", to)
	return to
}

// replace changes a file in places that are there once.
func replace(t *testing.T, file string, changes [][2]string) {
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range changes {
		if n := bytes.Count(content, []byte(c[0])); n != 1 {
			t.Fatalf("%s has %d times %q", file, n, c[0])
		}
		content = bytes.Replace(content, []byte(c[0]), []byte(c[1]), 1)
	}
	if err := os.WriteFile(file, content, 0o666); err != nil {
		t.Fatal(err)
	}
}

// TestXNetQUIC runs the tests of golang.org/x/net/quic with package quic in place of its packet protection: what passes as it
// comes must pass. With a fault planted in what takes its place, something must fail.
func TestXNetQUIC(t *testing.T) {
	if os.Getenv("SEALANE") == "" {
		t.Skip("NOT RUN: part of make test-long")
	}
	root, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	dir := copyOf(t, "golang.org/x/net")
	stock := outcomes(t, dir, "./quic/...")
	overlay, err := os.ReadFile("testdata/xnet_quic.go.txt")
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "quic", "sealane.go")
	if err := os.WriteFile(file, overlay, 0o666); err != nil {
		t.Fatal(err)
	}
	replace(t, filepath.Join(dir, "quic", "packet_protection.go"), xnetQUIC)
	mustRun(t, "go", "mod", "edit", "-require=github.com/sealane/sealane@v0.0.0", "-replace=github.com/sealane/sealane="+root, filepath.Join(dir, "go.mod"))
	ours := outcomes(t, dir, "./quic/...")
	passed := 0
	for name, outcome := range stock {
		if outcome == "pass" {
			passed++
		}
		if outcome == "pass" && ours[name] != "pass" {
			t.Errorf("%s: stock %s, with package quic %q", name, outcome, ours[name])
		}
	}
	fmt.Printf("golang.org/x/net/quic: %d of %d tests pass by itself, with package quic %d\n", passed, len(stock), count(ours, "pass"))

	replace(t, file, [][2]string{{"Number: uint64(pnum)}}", "Number: uint64(pnum) ^ 1<<40}}"}})
	if count(outcomes(t, dir, "./quic", "-run=PacketProtection|KeyUpdate|HandshakeStream|Parse"), "fail") == 0 {
		t.Error("wrong packet numbers went unnoticed")
	}
}

// quicGo has quic-go protect its packets by package quic, by file: what is there once, and what takes its place.
var quicGo = map[string][][2]string{
	"aead.go": {{"\treturn suite.AEAD(key, iv)\n", "\taead := suite.AEAD(key, iv)\n\taead.sealane = sealaneKeys(suite, trafficSecret, v)\n\treturn aead\n"}},
	"cipher_suite.go": {
		{"\n\t\"golang.org/x/crypto/chacha20poly1305\"\n", "\n\t\"golang.org/x/crypto/chacha20poly1305\"\n\n\tsealane \"github.com/sealane/sealane/quic\"\n"},
		{"type xorNonceAEAD struct {\n", "type xorNonceAEAD struct {\n\tsealane *sealane.Keys\n"},
		{"(out, nonce, plaintext, additionalData []byte) []byte {\n", "(out, nonce, plaintext, additionalData []byte) []byte {\n\tif sealed, done := f.seal(out, nonce, plaintext, additionalData); done {\n\t\treturn sealed\n\t}\n"},
		{"(out, nonce, ciphertext, additionalData []byte) ([]byte, error) {\n", "(out, nonce, ciphertext, additionalData []byte) ([]byte, error) {\n\tif opened, err, done := f.open(out, nonce, ciphertext, additionalData); done {\n\t\treturn opened, err\n\t}\n"},
	},
	"header_protector.go": {{"\thkdfLabel := hkdfHeaderProtectionLabel(v)\n", "\tif p := sealaneHeaderProtector(suite, trafficSecret, isLongHeader, v); p != nil {\n\t\treturn p\n\t}\n\thkdfLabel := hkdfHeaderProtectionLabel(v)\n"}},
	"initial_aead.go": {
		{"\tdecrypter := initialSuite.AEAD(otherKey, otherIV)\n", "\tdecrypter := initialSuite.AEAD(otherKey, otherIV)\n\tsealaneInitial(encrypter, decrypter, connID, pers, v)\n"},
		{"newAESHeaderProtector(initialSuite, otherSecret, true, hkdfHeaderProtectionLabel(v))", "newHeaderProtector(initialSuite, otherSecret, true, v)"},
	},
	"retry.go": {{"\tretryMutex.Lock()\n", "\tif tag := sealaneRetryTag(retry, origDestConnID, version); tag != nil {\n\t\treturn tag\n\t}\n\tretryMutex.Lock()\n"}},
}

// TestQUICGo does the same with quic-go's tests: those of its handshake, where packets are protected, and of connections, which run
// over loopback. One of these that does not pass has another try by itself, as some have deadlines.
func TestQUICGo(t *testing.T) {
	if os.Getenv("SEALANE") == "" {
		t.Skip("NOT RUN: part of make test-long")
	}
	root, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	dir := copyOf(t, "github.com/quic-go/quic-go")
	packages := []string{"./internal/handshake", "."}
	stock := outcomes(t, dir, packages...)
	overlay, err := os.ReadFile("testdata/quicgo.go.txt")
	if err != nil {
		t.Fatal(err)
	}
	handshake := filepath.Join(dir, "internal", "handshake")
	file := filepath.Join(handshake, "sealane.go")
	if err := os.WriteFile(file, overlay, 0o666); err != nil {
		t.Fatal(err)
	}
	for name, changes := range quicGo {
		replace(t, filepath.Join(handshake, name), changes)
	}
	mustRun(t, "go", "mod", "edit", "-require=github.com/sealane/sealane@v0.0.0", "-replace=github.com/sealane/sealane="+root, filepath.Join(dir, "go.mod"))
	ours := outcomes(t, dir, packages...)
	passed, again := 0, 0
	for name, outcome := range stock {
		if outcome != "pass" {
			continue
		}
		passed++
		if ours[name] == "pass" {
			continue
		}
		pkg, test, _ := strings.Cut(name, " ")
		top, _, _ := strings.Cut(test, "/")
		if again++; again > 20 || outcomes(t, dir, "-run=^"+top+"$", pkg)[name] != "pass" {
			t.Errorf("%s: stock %s, with package quic %q", name, outcome, ours[name])
		}
	}
	fmt.Printf("quic-go: %d of %d tests pass by itself, with package quic %d, %d of them had another try\n", passed, len(stock), count(ours, "pass"), again)

	const numbers, masks = "PNOffset: at, Number: pn}}\n\tif sealane.Protect", "\t*firstByte ^= mask[0] & p.bits\n"
	for _, fault := range [][2]string{
		{numbers, strings.Replace(numbers, "pn}}", "pn ^ 1<<40}}", 1)},
		{masks, "\tmask[1] ^= 1\n" + masks},
		{"return &tag\n", "tag[0] ^= 1\n\treturn &tag\n"},
	} {
		if err := os.WriteFile(file, overlay, 0o666); err != nil {
			t.Fatal(err)
		}
		replace(t, file, [][2]string{fault})
		if count(outcomes(t, dir, "./internal/handshake", "-run=Initial|TestVector|Retry"), "fail") == 0 {
			t.Errorf("%q went unnoticed", fault[1])
		}
	}
}
