// Package quic runs the tests of quic-go and golang.org/x/net/quic. In a copy of each, this project's package quic
// replaces their own packet protection. Both come from the module cache in the versions that go.sum pins, with the
// tests in their archives.
package quic

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	_ "github.com/quic-go/quic-go" // its version is in go.mod
	_ "golang.org/x/net/quic"
)

var limit = flag.Duration("limit", 10*time.Minute, "what the tests of one module may take, each time that they run")

// A stack is a QUIC implementation, with the parts that package quic replaces.
type stack struct {
	module, folder string // where in the module packets are protected
	packages       []string
	remove         []string // files of the folder
	add            string   // a folder of files that come in their place
	change         map[string][]change
	vectors        []string // arguments of go test that find the faults
	faults         []fault
}

// A change replaces text that is in a file once. If to begins with just "func name(", the whole function is replaced.
type change struct{ from, to string }

// A fault is a change of the replacement in a stack.
type fault struct {
	what, file string
	change
}

var stacks = []stack{{
	module: "github.com/quic-go/quic-go", folder: "internal/handshake", add: "testdata/quicgo",
	packages: []string{"./internal/handshake", ".", "./integrationtests/...", "./http3/...", "./testutils/..."},
	remove:   []string{"cipher_suite.go", "cipher_suite_fips140.go", "header_protector.go", "retry.go"},
	change: map[string][]change{
		"aead.go": {{"func createAEAD(", ""}},
		"initial_aead.go": {
			{"\t\"crypto/fips140\"\n", ""},
			{"\t\"crypto/tls\"\n", ""},
			{"var initialSuite = getCipherSuite(tls.TLS_AES_128_GCM_SHA256)\n", ""},
			{"func NewInitialAEAD(", ""},
		},
		"updatable_aead.go": {
			{"\ta.nextRcvTrafficSecret = a.getNextTrafficSecret(a.suite.Hash, a.nextRcvTrafficSecret)\n", ""},
			{"\ta.nextSendTrafficSecret = a.getNextTrafficSecret(a.suite.Hash, a.nextSendTrafficSecret)\n", ""},
			{"createAEAD(a.suite, a.nextRcvTrafficSecret, a.version)", "updated(a.rcvAEAD)"},
			{"createAEAD(a.suite, a.nextSendTrafficSecret, a.version)", "updated(a.sendAEAD)"},
			{"\ta.nextRcvTrafficSecret = a.getNextTrafficSecret(suite.Hash, trafficSecret)\n", ""},
			{"\ta.nextSendTrafficSecret = a.getNextTrafficSecret(suite.Hash, trafficSecret)\n", ""},
			{"createAEAD(suite, a.nextRcvTrafficSecret, a.version)", "updated(a.rcvAEAD)"},
			{"createAEAD(suite, a.nextSendTrafficSecret, a.version)", "updated(a.sendAEAD)"},
			{"\tnextRcvTrafficSecret  []byte\n", ""},
			{"\tnextSendTrafficSecret []byte\n", ""},
			{"func (a *updatableAEAD) getNextTrafficSecret(", ""},
			{"\t\"crypto\"\n", ""},
		},
	},
	vectors: []string{"./internal/handshake"},
	faults: []fault{
		{"a wrong nonce sealing", "cipher_suite.go", change{"p.keys.Seal(dst, number, ", "p.keys.Seal(dst, number^1<<40, "}},
		{"a wrong nonce opening", "cipher_suite.go", change{"p.keys.Open(dst, number, ", "p.keys.Open(dst, number^1, "}},
		{"a forged payload is opened", "cipher_suite.go", change{"\treturn payload, err\n", "\treturn payload, nil\n"}},
		{"a wrong key phase", "cipher_suite.go", change{"\treturn payloads{next}\n", "\tnext, _ = next.Update()\n\treturn payloads{next}\n"}},
		{"a wrong mask of the first byte", "header_protector.go", change{"\t*firstByte ^= mask[0] & m.bits\n", "\t*firstByte ^= mask[0]>>1 & m.bits\n"}},
		{"a wrong mask of the number", "header_protector.go", change{"number[i] ^= mask[1+i]", "number[i] ^= mask[1+i] ^ 1"}},
		{"a wrong tag of a Retry packet", "retry.go", change{"\treturn &tag\n", "\ttag[0] ^= 1\n\treturn &tag\n"}},
		{"each end's keys for the other's Initial packets", "initial.go", change{"PerspectiveServer", "PerspectiveClient"}},
		{"Protect seals another number", "packets.go", change{"at, Number: number}\n\tpackets := []quic.Packet{one, one}\n\tpackets[1].Bytes = bytes.Clone(packet)\n\tif", "at, Number: number ^ 1<<40}\n\tpackets := []quic.Packet{one, one}\n\tpackets[1].Bytes = bytes.Clone(packet)\n\tif"}},
	},
}, {
	module: "golang.org/x/net", folder: "quic", add: "testdata/xnet",
	packages: []string{"./quic/..."},
	change: map[string][]change{"packet_protection.go": {
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
	}},
	vectors: []string{"./quic", "-run=PacketProtection|KeyUpdate|HandshakeStream|Parse|Codec"},
	faults: []fault{
		{"a wrong number protecting", "sealane.go", change{"Number: uint64(pnum)}}", "Number: uint64(pnum) ^ 1<<40}}"}},
		{"a wrong number unprotecting", "sealane.go", change{"Number: uint64(pnumMax + 1)}}", "Number: uint64(pnumMax+1) ^ 1<<40}}"}},
		{"a wrong mask", "sealane.go", change{"\treturn pkt\n}\n\nfunc sealaneUnprotect", "\tpkt[pnumOff] ^= 1\n\treturn pkt\n}\n\nfunc sealaneUnprotect"}},
		{"a wrong key phase", "sealane.go", change{"\treturn next\n", "\tnext, _ = next.Update()\n\treturn next\n"}},
		{"no keys of the other phase", "sealane.go", change{"Other: other, ", ""}},
	},
}}

func goCommand(t *testing.T, dir string, args ...string) ([]byte, error) {
	cmd := exec.Command("go", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOFLAGS=-mod=mod", "GOWORK=off", "TIMESCALE_FACTOR=3") // quic-go's tests wait that much longer
	var errors bytes.Buffer
	cmd.Stderr = &errors
	out, err := cmd.Output()
	if err != nil {
		t.Logf("%s: %v\n%s", cmd, err, errors.Bytes())
	}
	return out, err
}

// outcomes are pass, fail or skip by package and test, those of subtests too.
type outcomes map[string]string

// test runs the tests of packages.
func test(t *testing.T, dir string, args ...string) outcomes {
	out, _ := goCommand(t, dir, append([]string{"test", "-json", "-count=1", "-timeout=" + limit.String()}, args...)...) // it fails where a test does
	of := outcomes{}
	for line := range bytes.Lines(out) {
		var e struct{ Action, Package, Test, Output string }
		if json.Unmarshal(line, &e) == nil && e.Action == "build-output" {
			t.Log(e.Output)
		}
		if e.Test != "" && slices.Contains([]string{"pass", "fail", "skip"}, e.Action) {
			of[e.Package+" "+e.Test] = e.Action
		}
	}
	return of
}

// names returns those of an outcome, in order.
func (of outcomes) names(want string) (names []string) {
	for name, outcome := range of {
		if outcome == want {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// edit makes changes in a file.
func edit(t *testing.T, file string, changes ...change) {
	t.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	text := string(content)
	for _, c := range changes {
		before, after, _ := strings.Cut(text, c.from)
		if n := strings.Count(text, c.from); n != 1 {
			t.Fatalf("%s has %d times %q", file, n, c.from)
		}
		if strings.HasPrefix(c.from, "func ") && c.to == "" {
			_, after, _ = strings.Cut(after, "\n}\n")
		}
		text = before + c.to + after
	}
	if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
}

// copied returns the folder of a copy of the stack's module.
func (s *stack) copied(t *testing.T) string {
	from, err := goCommand(t, ".", "list", "-m", "-f", "{{.Dir}}", s.module)
	if err != nil {
		t.Fatal(err)
	}
	to := filepath.Join(t.TempDir(), "copy")
	if err := os.CopyFS(to, os.DirFS(strings.TrimSpace(string(from)))); err != nil {
		t.Fatal(err)
	}
	if err := filepath.WalkDir(to, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Chmod(path, 0o777)
	}); err != nil {
		t.Fatal(err)
	}
	return to
}

// put replaces the packet protection in a copy of the stack by package quic.
func (s *stack) put(t *testing.T, dir string) {
	root, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	at := filepath.Join(dir, s.folder)
	for _, name := range s.remove {
		if err := os.Remove(filepath.Join(at, name)); err != nil {
			t.Fatal(err)
		}
	}
	for name, changes := range s.change {
		edit(t, filepath.Join(at, name), changes...)
	}
	s.putFiles(t, dir)
	if _, err := goCommand(t, dir, "mod", "edit", "-require=github.com/sealane/sealane@v0.0.0", "-replace=github.com/sealane/sealane="+root); err != nil {
		t.Fatal(err)
	}
}

// putFiles writes the files added to the stack, unchanged.
func (s *stack) putFiles(t *testing.T, dir string) {
	files, err := filepath.Glob(filepath.Join(s.add, "*.go.txt"))
	if err != nil || len(files) == 0 {
		t.Fatal(s.add, err)
	}
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, s.folder, strings.TrimSuffix(filepath.Base(file), ".txt")), content, 0o666); err != nil {
			t.Fatal(err)
		}
	}
}

// without returns the arguments of go test that run those that do not pass and in the other outcomes do: at most twenty.
func (of outcomes) without(other outcomes) (args []string) {
	for _, name := range other.names("pass") {
		if of[name] != "pass" {
			pkg, test, _ := strings.Cut(name, " ")
			top, _, _ := strings.Cut(test, "/")
			args = append(args, pkg+" -run=^"+top+"$")
		}
	}
	args = slices.Compact(args)
	return args[:min(len(args), 20)]
}

// tries are how often one may fail: some have deadlines, such as a second for 32 handshakes, and other load on the machine counts.
const tries = 10

// TestUpstream: tests that pass upstream also pass with package quic. Some are run separately.
func TestUpstream(t *testing.T) {
	for _, s := range stacks {
		t.Run(s.module, func(t *testing.T) {
			dir := s.copied(t)
			stock := test(t, dir, s.packages...)
			s.put(t, dir)
			ours := test(t, dir, s.packages...)
			again := ours.without(stock)
			for range tries {
				for _, one := range again {
					of := test(t, dir, strings.Split(one, " ")...)
					maps.DeleteFunc(of, func(name, outcome string) bool { return outcome != "pass" })
					maps.Copy(ours, of)
				}
				if len(ours.without(stock)) == 0 {
					break
				}
			}
			passed := stock.names("pass")
			for _, name := range passed {
				if ours[name] != "pass" {
					t.Errorf("%s: as it comes it passes, with package quic %q", name, ours[name])
				}
			}
			if len(passed) < 500 {
				t.Errorf("%d tests pass as they come: %d fail, of which %q", len(passed), len(stock.names("fail")), stock.names("fail"))
			}
			fmt.Printf("%s: as it comes %d tests pass, %d fail, %d are skipped; with package quic %d pass, %d had another try\nfail: %q\nskipped: %q\n", s.module,
				len(passed), len(stock.names("fail")), len(stock.names("skip")), len(ours.names("pass")), len(again), stock.names("fail"), stock.names("skip"))
		})
	}
}

// TestFaults plants faults in the replaced packet protection. The stack's tests must find each.
func TestFaults(t *testing.T) {
	for _, s := range stacks {
		dir := s.copied(t)
		s.put(t, dir)
		if of := test(t, dir, s.vectors...); len(of.names("fail")) != 0 || len(of.names("pass")) < 20 {
			t.Fatalf("%s: without a fault %d pass, and these fail: %q", s.module, len(of.names("pass")), of.names("fail"))
		}
		for _, f := range s.faults {
			t.Run(s.module+"/"+f.what, func(t *testing.T) {
				s.putFiles(t, dir)
				edit(t, filepath.Join(dir, s.folder, f.file), f.change)
				if f.file == "cipher_suite.go" || f.file == "header_protector.go" { // theirs are to find it, not our comparison
					edit(t, filepath.Join(dir, s.folder, "packets.go"), change{"const comparing = true", "const comparing = false"})
				}
				of := test(t, dir, s.vectors...)
				if len(of.names("fail")) == 0 {
					t.Errorf("all of %d tests pass", len(of))
				}
				t.Logf("%d tests fail: %q", len(of.names("fail")), of.names("fail"))
			})
		}
	}
}

// figures are quic-go's benchmarks: of a package, with a pattern.
var figures = []struct{ pkg, pattern string }{
	{"./internal/handshake", "PacketEncryption|PacketDecryption"},
	{"./integrationtests/self", "^BenchmarkTransfer$"},
}

// TestFigures times quic-go's benchmarks, alternately unchanged and with package quic, and prints the least times.
// The benchmarks are a packet of 1200 bytes sealed or opened (without its header's mask), and handshake and transfer
// over loopback.
func TestFigures(t *testing.T) {
	s := &stacks[0]
	dirs := [2]string{s.copied(t), s.copied(t)}
	s.put(t, dirs[1])
	edit(t, filepath.Join(dirs[1], s.folder, "packets.go"), change{"const comparing = true", "const comparing = false"})
	for _, f := range figures {
		var programs [2]string
		for i, dir := range dirs {
			programs[i] = filepath.Join(dir, "benchmark")
			if _, err := goCommand(t, dir, "test", "-c", "-o", programs[i], f.pkg); err != nil {
				t.Fatal(err)
			}
		}
		var times [2]map[string]float64
		for turn := range 10 {
			i := turn % 2
			cmd := exec.Command(programs[i], "-test.run=^$", "-test.bench="+f.pattern, "-test.benchtime=0.3s", "-test.cpu=1")
			cmd.Dir = filepath.Join(dirs[i], f.pkg)
			out, err := cmd.Output()
			if err != nil {
				t.Fatalf("%s: %v\n%s", cmd, err, out)
			}
			if times[i] == nil {
				times[i] = map[string]float64{}
			}
			for line := range strings.Lines(string(out)) {
				var name string
				var n int
				var ns float64
				if k, _ := fmt.Sscanf(line, "%s %d %f ns/op", &name, &n, &ns); k == 3 && (times[i][name] == 0 || ns < times[i][name]) {
					times[i][name] = ns
				}
			}
		}
		if len(times[0]) == 0 || len(times[0]) != len(times[1]) {
			t.Errorf("%s: benchmarks %v and %v", f.pkg, times[0], times[1])
		}
		for _, name := range slices.Sorted(maps.Keys(times[0])) {
			fmt.Printf("%s: %.0f ns as it comes, %.0f ns with package quic: %.2f times as fast\n", name, times[0][name], times[1][name], times[0][name]/times[1][name])
		}
	}
}
