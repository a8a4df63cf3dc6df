package main

import (
	"bytes"
	"errors"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// write makes a file of a small source, with cores.json, and returns its name.
func write(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "small.weave")
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return file
}

func testCores(t *testing.T) ([]core, []byte) {
	t.Helper()
	cores, table, err := readCores(filepath.Join("..", "..", coresFile))
	if err != nil {
		t.Fatal(err)
	}
	return cores, table
}

const small = `
words a b c d e
places start a:q0 b:q1 c:q2 d:q3 e:q4
stream rotated x y
    veor x, x, y                // x ^= y
    rotate x, 7
stream carry
    adds r2, r2, r4
    adc r3, r3, r5
stream other
    adds r6, r6, r7
    str r6, [r1, #KEPT]
    ldr r6, [r1, #KEPT]
macro both
    // Both.
    in start
    out a:q5 b:q1 c:q0 d:q3
    A = rotated a b
    B = rotated c d
    p = carry
    q = other
    end bne .Lagain
    order
        ORDER
`

// One order that is right, and several that are refused: the tool's whole worth is that it does not write a wrong one.
func TestOrders(t *testing.T) {
	cores, table := testCores(t)
	for _, c := range []struct{ name, order, want string }{
		{"right", "A p B p A@5 q A B@0 q B q", ""},
		{"the same by itself", "A 2p A@5 A B B@0 B 3q", ""},
		{"an instruction too early", "A+1@5 A p B p A@5 q A B@0 q B q", "differs from its value in the order of the source"},
		{"a carry lost", "A p q B p A@5 A B@0 B 2q", "flags, which is still needed"},
		{"a register too early", "A p B p A@5 q B@0 A q B q", "overwrites d0, which is still needed"},
		{"a result elsewhere", "A p B p A@6 q A B@0 q B q", "a ends in q6, not in q5"},
		{"something missing", "A p B p A@5 q A B@0 q B", "1 instructions of stream q are missing"},
		{"something twice", "A p B p A@5 q A B@0 q B 2q", "stream q has no more instructions"},
		{"an unknown stream", "A p z", "no such stream"},
		{"no order", "A @", "is no part of an order"},
		{"a load before its store", "A p B p A@5 q A B@0 q+1 B q", "memory differs from its content in the order of the source"},
	} {
		text, err := generate(write(t, strings.Replace(small, "ORDER", c.order, 1)), cores, table)
		switch {
		case c.want == "" && err != nil:
			t.Errorf("%s: %v", c.name, err)
		case c.want == "" && !strings.Contains(string(text), "    vsri.32 q0, q2, #25                     /* c */\n"):
			t.Errorf("%s: wrote\n%s", c.name, text)
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
}

const small64 = `
header names.h
apart scratch text
stream sum x y
    eor x.16b, x.16b, y.16b         // x ^= y
    pmull x.1q, x.1d, y.1d
stream kept
    ldp x3, x4, [text, #PLACE]
    stp x3, x4, [scratch, #PLACE + 16*2]
stream loaded
    ldr q4, [scratch, #PLACE + 32]
    aese v4.16b, v5.16b
    aesmc v4.16b, v4.16b
macro both
    A = sum first v1
    p = kept
    q = loaded
    order
        ORDER
`

// The same on arm64, where registers are those of the source, and memory at named registers is followed.
func TestOrders64(t *testing.T) {
	cores, table := testCores(t)
	for _, c := range []struct{ name, order, source, changed, want string }{
		{"right", "p A p A q 2q", "", "", ""},
		{"a load before its store", "p A q A p 2q", "", "", "memory differs from its content in the order of the source"},
		{"beside it", "p A q A p 2q", "[scratch, #PLACE + 32]", "[scratch, #PLACE + 48]", ""},
		{"half of it", "p A q A p 2q", "[scratch, #PLACE + 32]", "[scratch, #PLACE + 24]", "memory differs"},
		{"a value too early", "A+1 A 2p 3q", "", "", "differs from its value in the order of the source"},
		{"a part of a vector", "p A p A q 2q", "eor x.16b, x.16b, y.16b", "mov x.d[1], x3", "writes a part of a vector"},
		{"an address that changes", "p A p A q 2q", "[text, #PLACE]", "[text], #16", "not at a fixed offset"},
		{"an offset that is none", "p A p A q 2q", "#PLACE]", "#OTHER]", "is no sum of numbers"},
		{"an unknown instruction", "p A p A q 2q", "aese v4", "sha1h v4", "unknown instruction"},
		{"a pair apart", "p A p q q A q", "    order\n", "    fixed\n    order\n", "does not follow its aese"},
		{"not a register", "p A p A q 2q", "apart scratch text", "apart scratch 17", "17 is no register"},
	} {
		folder := filepath.Join(t.TempDir(), "aarch64")
		file := filepath.Join(folder, "small.weave")
		text := strings.Replace(strings.Replace(small64, "ORDER", c.order, 1), c.source, c.changed, 1)
		for name, text := range map[string]string{file: text, filepath.Join(folder, "names.h"): "#define scratch x1 /* . */\n#define text x2\n#define first v0\n#define PLACE 16\n"} {
			if err := errors.Join(os.MkdirAll(folder, 0o755), os.WriteFile(name, []byte(text), 0o644)); err != nil {
				t.Fatal(err)
			}
		}
		made, err := generate(file, cores, table)
		switch {
		case c.want == "" && err != nil:
			t.Errorf("%s: %v", c.name, err)
		case c.want == "" && !strings.Contains(string(made), "    stp x3, x4, [scratch, #PLACE + 16*2]\n"):
			t.Errorf("%s: wrote\n%s", c.name, made)
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
}

func TestSources(t *testing.T) {
	for text, want := range map[string]string{
		"stream s\n    frob r2, r3\nmacro m\n    s = s\n":                        "unknown instruction",
		"macro m\n    s = s\n":                                                   "no stream s",
		"stream s x\n    add x, x, #1\nmacro m\n    s = s\n":                     "takes 1 names",
		"stream s\n    add r2, r2, #1\nmacro m\n    s = s to 2\n":                "has 1 instructions",
		"words a\nstream s\n    rotate a, 32\nmacro m\n    in a:q0\n    s = s\n": "1 to 31 bits",
		"words a\nmacro m\n    in a:r0\n":                                        "a word and its vector",
		"    add r2, r2, #1\n":                                                   "nothing it belongs to",
		"stream s\nstream s\n":                                                   "stands twice",
		"macro m\n    order n\n":                                                 "no macro n before this one",
		"nonsense\n":                                                             "is not understood",
	} {
		cores, table := testCores(t)
		if _, err := generate(write(t, text), cores, table); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

// The scoreboard's results for a few sequences: the same cases, with the same figures, as in
// tools/armcost/test_armcost.py.
func TestCycles(t *testing.T) {
	cores, _ := testCores(t)
	s := newSource("")
	for _, c := range []struct {
		core   string
		text   string
		cycles int
	}{
		{"cortex-a53", "umull r0, r12, r2, r7; umlal r0, r12, r2, r7; umlal r0, r12, r2, r7", 3},
		{"cortex-a7", "umull r0, r12, r2, r7; umlal r0, r12, r2, r7; umlal r0, r12, r2, r7", 5},
		{"cortex-a53", "adds r2, r2, r3; adcs r3, r3, #0", 2},
		{"cortex-a53", "vldmia r1, {d0, d1}; vadd.i32 q1, q0, q0", 5},
		{"cortex-a7", "vadd.i32 q1, q0, q0; vadd.i32 q2, q1, q0", 6},
		{"cortex-a7", "add r2, r2, #1; add r3, r3, #1; add r4, r4, r5; add r6, r6, r7", 3},
		{"cortex-a53", "aese v0.16b, v1.16b; aesmc v0.16b, v0.16b; aese v0.16b, v2.16b", 4},
		{"cortex-a53", "aese v0.16b, v1.16b; aesmc v2.16b, v0.16b; aese v2.16b, v3.16b", 7},
		{"cortex-a53", "pmull v0.1q, v1.1d, v2.1d; eor v3.16b, v3.16b, v0.16b", 5},
		{"cortex-a53", "ldp q0, q1, [x1]; ldp x3, x4, [x2]; stp x3, x4, [x5]", 6},
	} {
		s.arm64 = strings.Contains(c.text, "v0.") || strings.Contains(c.text, "x1")
		var steps []step
		for _, text := range strings.Split(c.text, "; ") {
			fx, err := s.effects(text)
			if err != nil {
				t.Fatal(err)
			}
			steps = append(steps, newStep(line{text: text}, fx))
		}
		for _, core := range cores {
			if got := core.cycles(steps, 1); core.name == c.core && got != c.cycles {
				t.Errorf("%s, %s: %d cycles, want %d", c.core, c.text, got, c.cycles)
			}
		}
	}
}

// copyTree copies the inputs and outputs of gen.
func copyTree(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	var files []string
	for _, folder := range []string{"*.h", "arm/*", "aarch64/*"} {
		found, err := filepath.Glob(filepath.Join("..", "..", "asm", folder))
		if err != nil || len(found) == 0 {
			t.Fatal(folder, err)
		}
		files = append(files, found...)
	}
	for _, file := range append(files, filepath.Join("..", "..", coresFile)) {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		to := filepath.Join(root, strings.TrimPrefix(filepath.ToSlash(file), "../../"))
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(to, text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func written(t *testing.T, root string) map[string]string {
	t.Helper()
	files, err := sources(root)
	if err != nil {
		t.Fatal(err)
	}
	texts := map[string]string{}
	for _, file := range files {
		text, err := os.ReadFile(output(file))
		if err != nil {
			t.Fatal(err)
		}
		texts[filepath.Base(output(file))] = string(text)
	}
	return texts
}

// A rotation, or one latency, is changed in one place, and one command brings it into every kernel. After the change
// is undone, all files are the same to the byte.
func TestOneChange(t *testing.T) {
	if !*long {
		t.Skip("not run: takes half a minute; with -long")
	}
	digest := regexp.MustCompile(`(?m)^ \* SHA-256 .*$`)
	root := copyTree(t)
	command := func(name string) int {
		var out bytes.Buffer
		return run([]string{"-root", root, name}, nil, &out, &out)
	}
	if command("check") != 0 {
		t.Fatal("the committed files differ from the output of gen: run make gen")
	}
	before := written(t, root)
	for _, c := range []struct {
		file, old, new string
		appears        string
		stays          string // where no order depends on it
	}{
		{"asm/chacha20.h", "#define ROTATE_4 7\n", "#define ROTATE_4 9\n", `(, #9|ror #23) `, "aes"},
		{coresFile, `"vector_64": 4, "vector_128": 4`, `"vector_64": 4, "vector_128": 12`, "", "armv6|aesgcm_ce"},
		{coresFile, "\"vector_multiply\": 4, \"vector_load\": 4,\n        \"vector_64\": 3",
			"\"vector_multiply\": 9, \"vector_load\": 4,\n        \"vector_64\": 3", "", "^(aes_|chacha)"},
	} {
		file := filepath.Join(root, c.file)
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		changed := strings.Replace(string(text), c.old, c.new, 1)
		if changed == string(text) {
			t.Fatalf("%s has no %q", c.file, c.old)
		}
		if err := os.WriteFile(file, []byte(changed), 0o644); err != nil {
			t.Fatal(err)
		}
		if command("check") == 0 {
			t.Errorf("%s: check does not see that %q has changed", c.file, c.old)
		}
		if command("gen") != 0 || command("check") != 0 {
			t.Fatalf("%s: gen fails", c.file)
		}
		after := written(t, root)
		for name, old := range before {
			now := after[name]
			same := digest.ReplaceAllString(now, "") == digest.ReplaceAllString(old, "")
			if stays := regexp.MustCompile(c.stays).MatchString(name); same != stays || !stays && !regexp.MustCompile(c.appears).MatchString(now) {
				t.Errorf("%s: %q: %s has other instructions: %v", c.file, c.new, name, !same)
			}
		}
		if err := os.WriteFile(file, text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if command("gen") != 0 {
		t.Fatal("gen fails")
	}
	back := written(t, root)
	for name, old := range before {
		if back[name] != old {
			t.Errorf("%s is not what it was", name)
		}
	}
}

var long = flag.Bool("long", false, "make everything from a copy of the whole tree with each change, by make gen")

// The same through make gen and gen-check, for the kernels that Go and Rust link. Those that have these lines change,
// on all instruction sets, and no other file changes.
func TestOneChangeEverywhere(t *testing.T) {
	if !*long {
		t.Log("not run: takes half a minute; with -long")
		t.SkipNow()
	}
	root := t.TempDir()
	sh := func(command string) (string, error) {
		c := exec.Command("sh", "-ec", command)
		c.Dir = root
		out, err := c.CombinedOutput()
		return string(out), err
	}
	must := func(command string) string {
		out, err := sh(command)
		if err != nil {
			t.Fatalf("%s: %v\n%s", command, err, out)
		}
		return out
	}
	tree, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	must("git -C '" + tree + "' ls-files -z --cached --others --exclude-standard | tar -C '" + tree + "' --null -T - -cf - | tar xf -" +
		" && git init -q && git add -A && git -c user.name=x -c user.email=x@invalid commit -qm x && make gen-check")
	kernels, err := filepath.Glob(filepath.Join(root, "asm", "*", "*.S"))
	if err != nil || len(kernels) < 30 {
		t.Fatal(kernels, err)
	}
	for _, c := range []struct{ name, file, change, kernels string }{
		{"rotation", "asm/chacha20.h", "sed -i 's/#define ROTATE_4 7/#define ROTATE_4 9/'", "/chacha20"},
		{"latency", coresFile, "sed -i '/\"restricted\": true/,/\"aes_mix\"/s/\"vector_128\": 4/\"vector_128\": 12/'",
			"/arm/(chacha20poly1305(_batch)?_neon|aes(gcm)?_neon)"},
		{"latency on arm64", coresFile, "sed -i '/\"restricted\": false/,/\"aes_mix\"/s/\"vector_multiply\": 4/\"vector_multiply\": 9/'", "/aarch64/aesgcm_ce"},
	} {
		must(c.change + " " + c.file)
		if out, err := sh("make gen-check"); err == nil {
			t.Errorf("%s: gen-check sees nothing\n%s", c.name, out)
		}
		must("make gen && make gen-check")
		changed := must("git diff --name-only")
		for _, kernel := range kernels {
			isa, name := filepath.Base(filepath.Dir(kernel)), strings.TrimSuffix(filepath.Base(kernel), ".S")
			goarch := map[string]string{"x86_64": "amd64", "aarch64": "arm64", "arm": "arm"}[isa]
			want := regexp.MustCompile(c.kernels).MatchString("/" + isa + "/" + name)
			for _, file := range []string{"internal/kernel/" + name + "_" + goarch + ".s", "rust/sealane/src/kernel/" + isa + "/" + name + ".s"} {
				if strings.Contains(changed, file+"\n") != want {
					t.Errorf("%s: %s changed: %v", c.name, file, !want)
				}
			}
		}
		must("git checkout -q -- " + c.file + " && make gen")
		if out := must("git status --porcelain"); out != "" {
			t.Errorf("%s: taken back, these stay changed:\n%s", c.name, out)
		}
	}
}

// The instructions of every macro, in the order of a text, give the order that makes them.
func TestWayBack(t *testing.T) {
	files, err := sources(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		s, err := readSource(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range s.sequence {
			steps, err := s.weave(m)
			if err != nil {
				t.Fatal(err)
			}
			s.woven[m.name] = steps
			var text []string
			for _, st := range steps {
				text = append(text, st.text)
			}
			order, err := s.readOrder(m, text)
			if err != nil {
				t.Error(err)
				continue
			}
			again := *m
			again.order = order
			steps, err = s.weave(&again)
			if err != nil {
				t.Error(err)
				continue
			}
			for i := range steps {
				if steps[i].text != text[i] {
					t.Errorf("%s: instruction %d: %s, want %s", m.name, i+1, steps[i].text, text[i])
					break
				}
			}
		}
	}
}
