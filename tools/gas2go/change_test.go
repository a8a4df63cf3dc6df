package main

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"
)

// A fact that is written once reaches every kernel that uses it. One is the rotations of ChaCha20's quarter round,
// which all instruction sets take from one header. On arm64, where tools/weave makes no order, another is when an
// in-order core can start the next instruction of Poly1305. It replaces the machine table, tools/armcost/cores.json.
// On x86-64 all cores reorder, so no order follows from latencies. 32-bit ARM is in tools/weave.
var oneChanges = []struct {
	target         *target
	file, old, new string
	changed        string // the kernels that change
	same           string // one that does not
}{
	{amd64, "asm/chacha20.h", "#define ROTATE_4 7\n", "#define ROTATE_4 9\n", "chacha20*", "aes_avx2"},
	{arm64, "asm/chacha20.h", "#define ROTATE_4 7\n", "#define ROTATE_4 9\n", "chacha20*", "aes_ce"},
	{arm64, "asm/aarch64/chacha20poly1305_neon_interleaved.h", "    umulh t3, h0, r0\n    poly_then 5\n",
		"    umulh t3, h0, r0\n    poly_then 7\n", "chacha20poly1305*", "aes_ce"},
}

// TestOneChange makes such a change in a copy, and compares gen's output with the committed files. After the change is taken
// back, they are equal again. Other kernels, and the command itself, are in tools/weave's TestOneChangeEverywhere.
func TestOneChange(t *testing.T) {
	for _, c := range oneChanges {
		t.Run(c.target.goarch+" "+filepath.Base(c.file), func(t *testing.T) {
			t.Parallel()
			assemblers, _ := c.target.assemblers()
			disassemblers, _ := c.target.disassemblers()
			if len(assemblers) == 0 || len(disassemblers) == 0 {
				t.Skipf("not run: no assembler or no disassembler for %s", c.target.isa)
			}
			root := newRoot(t)
			folder := "asm/" + c.target.isa + "/"
			texts, err := filepath.Glob(filepath.Join(repository, folder+"*.[Sh]"))
			if err != nil {
				t.Fatal(err)
			}
			for _, text := range texts {
				copyFile(t, text, filepath.Join(root, folder, filepath.Base(text)))
			}
			l, err := readLayout(root)
			if err != nil {
				t.Fatal(err)
			}
			isCommitted := func(name string) bool {
				source := folder + name + ".S"
				found, _, err := c.target.kernels(filepath.Join(root, source), source, assemblers[:1], disassemblers[:1], l)
				if err != nil {
					t.Fatal(err)
				}
				for _, k := range found {
					if k.source != source {
						t.Fatalf("%s: a kernel of %s", source, k.source)
					}
				}
				text, err := c.target.assembly(source, found, l)
				if err != nil {
					t.Fatal(err)
				}
				same := func(file string, made []byte) bool {
					committed := readFile(t, filepath.Join(repository, file))
					return bytes.Equal(withoutComments(file, []byte(committed)), withoutComments(file, made))
				}
				inGo := same(outputDir+"/"+name+"_"+c.target.goarch+".s", text)
				inRust := same(rustDir+"/"+c.target.isa+"/"+name+".s", c.target.rustAssembly(source, found[0]))
				if inGo != inRust {
					t.Errorf("%s: in Go as committed: %v, in Rust: %v", name, inGo, inRust)
				}
				return inGo
			}
			file := filepath.Join(root, filepath.FromSlash(c.file))
			text := readFile(t, file)
			changed := strings.Replace(text, c.old, c.new, 1)
			if changed == text {
				t.Fatalf("%s has no %q", c.file, c.old)
			}
			writeFile(t, file, changed)
			kernels, err := filepath.Glob(filepath.Join(root, folder, c.changed+".S"))
			if err != nil || len(kernels) < 3 {
				t.Fatalf("%s: %v, %v", c.changed, kernels, err)
			}
			for _, kernel := range kernels {
				if name := strings.TrimSuffix(filepath.Base(kernel), ".S"); isCommitted(name) {
					t.Errorf("%s is as before", name)
				}
			}
			if !isCommitted(c.same) {
				t.Errorf("%s has changed", c.same)
			}
			writeFile(t, file, text)
			if name := strings.TrimSuffix(filepath.Base(kernels[0]), ".S"); !isCommitted(name) {
				t.Errorf("taken back, %s is not what is committed: run make gen", name)
			}
		})
	}
}
