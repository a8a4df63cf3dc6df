package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const repository = "../.."

// newRoot makes a root directory with asm/*.S, asm/args.h and the given kernels.
func newRoot(t *testing.T, kernels ...string) string {
	t.Helper()
	root := t.TempDir()
	shared, err := filepath.Glob(filepath.Join(repository, "asm", "*.[Sh]"))
	if err != nil || len(shared) < 2 {
		t.Fatalf("asm/asm.S and asm/args.h: found %v, %v", shared, err)
	}
	for _, file := range shared {
		copyFile(t, file, filepath.Join(root, "asm", filepath.Base(file)))
	}
	copyFile(t, filepath.Join(repository, versionSource), filepath.Join(root, versionSource))
	writeFile(t, filepath.Join(root, levelSource), testLevels)
	for _, file := range kernels {
		copyFile(t, file, filepath.Join(root, "asm", amd64.isa, filepath.Base(file)))
	}
	return root
}

// testLevels has no kernels.
const testLevels = `{"names": ["avx512", "avx2", "aesniavx",
		"ssse3", "neon", "ce32",
		"armv6", "portable"],
	"microarchitectures": {
		"x86_64": [{"name": "any"}], "riscv64": [{"name": "any"}], "mips": [{"name": "any"}], "mips64": [{"name": "any"}], "aarch64": [{"name": "any"}],
		"arm": [{"name": "old", "vendor": "0x41", "from": "0xb76", "to": "0xb76"}, {"name": "any"}]},
	"levels": {"x86_64": {}}}`

// addLevels gives a root kernels of the name of a primitive, and their levels.
func addLevels(t *testing.T, root string) {
	t.Helper()
	for _, name := range []string{"chacha20masks_ssse3", "chacha20masks_avx512", "chacha20poly1305_avx512", "chacha20poly1305_batch_avx512"} {
		text := readFile(t, "testdata/good/sum_ssse3.S")
		text = strings.ReplaceAll(text, "sum_ssse3", name)
		if strings.HasSuffix(name, "avx512") {
			text = strings.Replace(text, "isa .ssse3", "isa .ssse3, .avx2", 1)
		}
		writeFile(t, filepath.Join(root, "asm", amd64.isa, name+".S"), text)
	}
	writeFile(t, filepath.Join(root, levelSource), strings.Replace(testLevels, `"x86_64": {}`, `"x86_64": {
		"chacha20masks": [{"name": "avx512"},
			{"name": "avx2", "composition": {"short": "ssse3", "most": 64, "above": 70, "opened": 80, "long": "avx512"}}, {"name": "ssse3"}],
		"chacha20poly1305": [{"name": "avx512", "batch": {"kernel": "avx512", "from": [[4, 2], [6, 1]], "from_go": [[7, 3]]}}]}`, 1))
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	text, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, to, string(text))
}

func writeFile(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func readFile(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func goodKernels(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob("testdata/good/*.S")
	if err != nil || len(files) == 0 {
		t.Fatal("no kernels in testdata/good", err)
	}
	return files
}

// gas2go runs the command and returns its exit status and all output.
func gas2go(args ...string) (int, string) {
	var out bytes.Buffer
	status := run(args, &out, &out)
	return status, out.String()
}

// needAssembler skips where nothing can be assembled, and returns whether clang can compare.
func needAssembler(t *testing.T) (clang bool) {
	t.Helper()
	found, _ := amd64.assemblers()
	if len(found) == 0 || !found[0].gnu {
		t.Skip("not run: no GNU as for x86-64")
	}
	if decoders, _ := amd64.disassemblers(); len(decoders) == 0 {
		t.Skip("not run: no disassembler for x86-64")
	}
	return len(found) > 1
}

// TestBadKernels has one kernel for each way to break the convention, with the expected message.
func TestBadKernels(t *testing.T) {
	clang := needAssembler(t)
	files, err := filepath.Glob("testdata/bad/*.S")
	if err != nil || len(files) == 0 {
		t.Fatal("no kernels in testdata/bad", err)
	}
	refused := regexp.MustCompile(`(?m)^ \* Refused: (.+)$`)
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".S"), func(t *testing.T) {
			t.Parallel()
			text := readFile(t, file)
			want := refused.FindStringSubmatch(text)
			if want == nil {
				t.Fatal("does not say what it is refused for")
			}
			if strings.Contains(text, " * Needs: clang") && !clang {
				t.Skip("not run: no clang")
			}
			root := newRoot(t, file)
			status, out := gas2go("-root", root, "gen")
			if status != 1 || !strings.Contains(out, want[1]) {
				t.Errorf("status %d, want 1 and %q:\n%s", status, want[1], out)
			}
			if strings.Contains(want[1], "assemblers differ") || strings.Contains(want[1], "padding?") {
				if status, out := gas2go("-root", root, "check"); status != 1 || !strings.Contains(out, want[1]) {
					t.Errorf("check: status %d, want 1 and %q:\n%s", status, want[1], out)
				}
			} else if _, err := os.Stat(filepath.Join(root, "internal")); err == nil {
				t.Error("wrote something nevertheless")
			}
		})
	}
}

// TestDecodersAlone runs each decoder without the other over the bad kernels that a decoder can see: the rules must match
// both dialects.
func TestDecodersAlone(t *testing.T) {
	needAssembler(t)
	assemblers, _ := amd64.assemblers()
	decoders, _ := amd64.disassemblers()
	l, err := readLayout(repository)
	if err != nil {
		t.Fatal(err)
	}
	for _, pattern := range []string{"testdata/good/*.S", "testdata/bad/*.S"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			t.Run(filepath.Base(file), func(t *testing.T) {
				t.Parallel()
				root := newRoot(t, file)
				o, err := amd64.assemble(assemblers[0], filepath.Join(root, "asm", amd64.isa, filepath.Base(file)))
				if err != nil {
					return // refused before it is decoded
				}
				first := 0
				for i, d := range decoders {
					n := 0
					for _, f := range o.functions {
						if body, err := amd64.decode(d, f.code); err != nil {
							n = -1
						} else {
							n += len(amd64.checkBody(&function{name: f.name, code: f.code, body: body}, l))
						}
					}
					if i == 0 {
						first = n
					} else if n != first {
						t.Errorf("%s makes %d complaints, %s %d", d.name, n, decoders[0].name, first)
					}
				}
			})
		}
	}
}

// TestDecodersCompared plants a decoder that disagrees.
func TestDecodersCompared(t *testing.T) {
	code := []byte{0x31, 0xc0, 0xeb, 0x00, 0xc3} // xor eax, eax; jmp 1f; 1: ret
	body := func() []instruction {
		return []instruction{{0, code[:2], "xor", "xor", "", -1}, {2, code[2:4], "jmp", "jmp", "", 4}, {4, code[4:], "ret", "ret", "", -1}}
	}
	f := &function{name: "f", code: code, body: body()}
	if err := sameDecoding(f, body(), "a", "b"); err != nil {
		t.Error(err)
	}
	for name, change := range map[string]func(b []instruction) []instruction{
		"boundary": func(b []instruction) []instruction { b[1].offset, b[1].code = 3, code[3:4]; return b },
		"length":   func(b []instruction) []instruction { b[0].code = code[:1]; return b },
		"target":   func(b []instruction) []instruction { b[1].target = 3; return b },
		"fewer":    func(b []instruction) []instruction { return b[:2] },
		"more":     func(b []instruction) []instruction { return append(b, b[2]) },
	} {
		if sameDecoding(f, change(body()), "a", "b") == nil {
			t.Errorf("%s: a different decoding went unnoticed", name)
		}
	}
}

// TestGoodKernelsRun translates the good kernels into a module of their own, vets it and runs them, without cgo.
func TestGoodKernelsRun(t *testing.T) {
	needAssembler(t)
	root := newRoot(t, goodKernels(t)...)
	if status, out := gas2go("-root", root, "gen"); status != 0 {
		t.Fatalf("status %d:\n%s", status, out)
	}
	removeTables(t, root)
	writeFile(t, filepath.Join(root, "go.mod"), "module example.test/good\n\ngo 1.24\n")
	for _, file := range []string{"args.go", "run_amd64_test.go"} {
		copyFile(t, filepath.Join("testdata/good", file), filepath.Join(root, outputDir, file))
	}
	linked := "linked_test.go"
	copyFile(t, filepath.Join(repository, outputDir, linked), filepath.Join(root, outputDir, linked))
	for _, args := range [][]string{
		{"vet", "./..."},
		{"test", "-v", "./..."},
		{"build", "-tags", "purego", "./..."},
	} {
		cmd := exec.Command("go", args...)
		cmd.Dir = root
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=", "GOWORK=off", "GOARCH=amd64")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("go %s: %v\n%s", strings.Join(args, " "), err, out)
		}
		if args[0] == "test" {
			for _, want := range []string{"--- PASS: TestSum", "--- PASS: TestLinkedBytes/SumSSSE3", "--- PASS: TestLinkedBytes/MaskAVX512"} {
				if !bytes.Contains(out, []byte(want)) {
					t.Errorf("no %q in\n%s", want, out)
				}
			}
			if bytes.Contains(out, []byte("--- SKIP: TestMask")) {
				t.Log("not run: the AVX-512 kernel, on this CPU")
			}
		}
	}
}

// removeTables keeps only the kernels: the tables of levels need packages that this module does not have.
func removeTables(t *testing.T, root string) {
	files, err := filepath.Glob(filepath.Join(root, outputDir, "levels_*.go"))
	if err != nil || len(files) == 0 {
		t.Fatal("no tables of levels", err)
	}
	for _, path := range append(files, filepath.Join(root, goLevelType), filepath.Join(root, goLayoutFile), filepath.Dir(filepath.Join(root, goNames))) {
		if err := os.RemoveAll(path); err != nil {
			t.Fatal(err)
		}
	}
}

// TestGenerated checks the required content of the generated files.
func TestGenerated(t *testing.T) {
	needAssembler(t)
	root := newRoot(t, goodKernels(t)...)
	addLevels(t, root)
	if status, out := gas2go("-root", root, "gen"); status != 0 {
		t.Fatalf("status %d:\n%s", status, out)
	}
	version, err := readVersion(root)
	if err != nil {
		t.Fatal(err)
	}
	marker := regexp.MustCompile(`^(// |/\* )Code generated by tools/gas2go from asm/\S*; DO NOT EDIT\.`)
	for file, wants := range map[string][]string{
		"mask_avx512_amd64.s": {"//go:build gc && !purego\n", "TEXT ·MaskAVX512(SB), 0, $3904-8\n", "\tPCALIGN $64\n", "// vzeroupper\n// 0x5d:\n\tRET\n",
			"LEAQ mask_avx512_constants<>(SB), DX\n", "DATA mask_avx512_constants<>+8(SB)/8, $0x3123456721234567\n",
			"GLOBL mask_avx512_constants<>(SB), RODATA|NOPTR, $64\n"},
		"sum_ssse3_amd64.s": {"TEXT ·SumSSSE3(SB), 0, $0-8\n", "QUAD $0x9090909090909090 // 8 x nop\n"},
		"kernels_amd64.go": {"//go:build gc && !purego\n", "//go:noescape\nfunc MaskAVX512(a *PacketArgs)\n", "const SumSSSE3Extensions = \"ssse3\"\n",
			"const MaskAVX512Extensions = \"avx512f avx512bw avx512vl bmi2\"\n"},
		"kernels_amd64_test.go": {"\"SumSSSE3\":                    SumSSSE3,\n"},
		"offsets.go":            {"asmArgADBytes = 32 //", "asmFlagOpen  = 4 //", "asmScratchBytes     = 4096\n"},
		"../../" + rustDir + "/x86_64/sum_ssse3.s": {"\n.quad 0x08478b4c104f8b48,0xc98548c0310f8b4c // mov rcx,QWORD PTR [rdi+0x10]; mov r8,QWORD PTR [rdi+0x8]; " +
			"mov r9,QWORD PTR [rdi]; xor eax,eax; test rcx,rcx\n", "\n.quad 0x9090909090901d74,0x9090909090909090 // je 0x2f; 8 x nop; 6 x nop\n",
			"\n// 0x20:\n.quad ", "; .byte 0x", "\n// 0x2f:\n.byte 0x49,0x89,0x01 // mov QWORD PTR [r9],rax\n"},
		"../../" + rustDir + "/x86_64/mask_avx512.s": {"; vzeroupper\n// 0x5d:\n"},
		"../../" + rustDir + "/x86_64.rs": {"    mask_avx512, \"sealane_" + strings.ReplaceAll(version, ".", "_") + "_mask_avx512\", \"x86_64/mask_avx512.s\", \"avx512f avx512bw avx512vl bmi2\";\n",
			"static MASK_AVX512_CONSTANTS: Constants<64> = Constants([\n"},
		"layout.go": {"\tADBytes uint64         // its bytes; ", "\t_         [48]byte\n\tBytesEach uint64 // CBC", "unsafe.Offsetof(GCMKey{}.Table)-asmGcmKeyTable]",
			"unsafe.Sizeof(Lane{})-asmLaneStride]"},
		"../../" + cLayoutFile:       {"        uint64_t encrypts_only;", "    uint64_t unused3[7];\n    uint64_t flags;"},
		"names.go":                   {"type Level uint8\n", "\tPortable Level = 1 + iota\n", "\tARMv6\n", "\tAESNIAVX\n"},
		"../dispatch/names.go":       {"var allLevels = []string{\"avx512\", ", ", \"portable\"}\n"},
		"../dispatch/names_amd64.go": {"var levels = []string{\"avx512\", \"avx2\", \"ssse3\", \"portable\"}\n"},
		"levels_amd64.go": {"case AVX2:\n\t\tChaCha20MasksAVX2(a)\n", "a.Bytes > 70 && a.Bytes <= 80\n", "(a.Bytes <= 64 || opened)",
			"AVX512: newBatchPlan([][2]int{{7, 3}}),", `Needs: []string{"ssse3", "avx2"}}`},
		"../../" + rustNames:  {"pub(crate) const NAMES: [&str; ", "    \"ce32\",\n"},
		"../../" + rustLayout: {"const ARG_AD_BYTES: usize = 32;\n", "    pub(crate) unused3: [u64; 6],\n"},
	} {
		text := readFile(t, filepath.Join(root, outputDir, file))
		if !marker.MatchString(text) {
			t.Errorf("%s does not begin with the marker of generated files", file)
		}
		for _, want := range wants {
			if !strings.Contains(text, want) {
				t.Errorf("%s: no %q in\n%s", file, want, text)
			}
		}
	}
}

// TestReproducible: the output does not depend on the path or its spelling.
func TestReproducible(t *testing.T) {
	needAssembler(t)
	var first *report
	for range 2 {
		root := newRoot(t, goodKernels(t)...)
		working, err := os.Getwd()
		if err != nil {
			t.Fatal(err)
		}
		relative, err := filepath.Rel(working, root)
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range []string{root, relative} {
			r, err := translate(path, targets)
			if err != nil {
				t.Fatal(err)
			}
			if first == nil {
				first = r
			}
			for name, text := range first.files {
				if !bytes.Equal(text, r.files[name]) {
					t.Errorf("%s differs between %s and %s", name, first.root, path)
				}
				if bytes.Contains(text, []byte(root)) {
					t.Errorf("%s holds the path", name)
				}
			}
		}
	}
}

// TestCheck plants each kind of difference between the sources and the committed files.
func TestCheck(t *testing.T) {
	needAssembler(t)
	edit := func(file, old, changed string) func(*testing.T, string) {
		return func(t *testing.T, root string) {
			path := filepath.Join(root, filepath.FromSlash(file))
			text := readFile(t, path)
			if !strings.Contains(text, old) {
				t.Fatalf("%s has no %q", file, old)
			}
			writeFile(t, path, strings.Replace(text, old, changed, 1))
		}
	}
	remove := func(file string) func(*testing.T, string) {
		return func(t *testing.T, root string) {
			if err := os.Remove(filepath.Join(root, filepath.FromSlash(file))); err != nil {
				t.Fatal(err)
			}
		}
	}
	generated := newRoot(t, goodKernels(t)...)
	addLevels(t, generated)
	if status, out := gas2go("-root", generated, "gen"); status != 0 {
		t.Fatalf("gen: status %d:\n%s", status, out)
	}
	const sum = outputDir + "/sum_ssse3_amd64.s"
	const rustSum = rustDir + "/x86_64/sum_ssse3.s"
	for _, c := range []struct {
		name   string
		plant  func(*testing.T, string)
		status int
		want   string
	}{
		{"nothing", func(*testing.T, string) {}, 0, "same: " + sum},
		{"machine code", edit(sum, "WORD $0xc031", "WORD $0xc131"), 1, sum + ":14: differs from its source"},
		{"prologue", edit(outputDir+"/mask_avx512_amd64.s", "ANDQ $-64, SI", "ANDQ $-32, SI"), 1, "differs from its source"},
		{"comment", edit(sum, "// xor eax,eax", "// xor eax, eax"), 0, "same except comments"},
		{"build tags", edit(sum, "gc && !purego", "gc"), 1, "differs from its source"},
		{"constant", edit(outputDir+"/mask_avx512_amd64.s", "$0x3123456721234567", "$0x3123456721234568"), 1, "differs from its source"},
		{"declaration", edit(outputDir+"/kernels_amd64.go", "//go:noescape", "//"), 1, "kernels_amd64.go:9: differs"},
		{"machine code in Rust", edit(rustSum, ",0xc98548c0", ",0xc98548c1"), 1, rustSum + ":2: differs from its source"},
		{"comment in Rust", edit(rustSum, "; xor eax,eax", "; xor eax, eax"), 0, "same except comments (by another version of objdump?): " + rustSum},
		{"machine code after a comment in Rust", edit(rustSum, "; xor eax,eax", "; xor eax,eax\r.byte 0x90 // "), 1, rustSum + ":2: differs from its source"},
		{"constant in Rust", edit(rustDir+"/x86_64.rs", "    0x67, ", "    0x68, "), 1, "x86_64.rs"},
		{"table in C", edit(cTables, "{4, 4, 6}", "{4, 4, 5}"), 1, cTables + ":"},
		{"table in Go", edit("internal/kernel/levels_amd64.go", "{7, 3}", "{7, 4}"), 1, "levels_amd64.go:"},
		{"table in Rust", edit(rustDir+"/rows_x86_64.rs", "&[4, 4, 6]", "&[4, 4, 5]"), 1, "rows_x86_64.rs:"},
		{"microarchitecture", edit("internal/dispatch/names_arm.go", "0xb76, 0xb76", "0xb76, 0xb77"), 1, "names_arm.go:"},
		{"isa line", edit("asm/x86_64/chacha20masks_ssse3.S", "isa .ssse3", "isa .ssse3, .sse4.1"), 1, cTables + ":"},
		{"level", edit(levelSource, `{"name": "ssse3"}`, `{"name": "ssse3", "summary": "x"}`), 1, "levels_amd64.go:"},
		{"limit of a composition", edit(levelSource, `"most": 64`, `"most": 65`), 1, "rows_x86_64.rs:"},
		{"numbers of a batch", edit(levelSource, "[6, 1]", "[6, 2]"), 1, cTables + ":"},
		{"version", edit(versionSource, "#define SEALANE_VERSION \"", "#define SEALANE_VERSION \"9"), 1, "x86_64.rs"},
		{"source gone from Rust", remove("asm/x86_64/sum_ssse3.S"), 1, rustSum + " has no source any more"},
		{"offset", edit(offsetsFile, "asmStateR       = 24", "asmStateR       = 32"), 1, "offsets.go"},
		{"scratch", edit("asm/x86_64/sum_ssse3.S", "scratch_end SEALANE_SCRATCH_SAVE_BYTES", "scratch_end 512"), 1, "differs from its source"},
		{"missing", remove(sum), 1, sum + " is missing"},
		{"source", edit("asm/x86_64/sum_ssse3.S", "xor eax, eax", "xor ecx, ecx"), 1, "differs from its source"},
		{"levels in another order", edit(levelSource, `"neon", "ce32"`, `"ce32", "neon"`), 1, goNames + ":6: differs from its source"},
		{"levels of an architecture removed", remove("internal/dispatch/names_amd64.go"), 1, "names_amd64.go is missing"},
		{"offset source", edit("asm/args.h", "SEALANE_ARG_IN 8", "SEALANE_ARG_IN 16"), 1, "differs from its source"},
		{"source gone", remove("asm/x86_64/sum_ssse3.S"), 1, sum + " has no source any more"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			root := t.TempDir()
			if err := os.CopyFS(root, os.DirFS(generated)); err != nil {
				t.Fatal(err)
			}
			c.plant(t, root)
			status, out := gas2go("-root", root, "check")
			if status != c.status || !strings.Contains(out, c.want) {
				t.Fatalf("status %d, want %d and %q:\n%s", status, c.status, c.want, out)
			}
			if !slices.Contains([]string{"machine code", "level", "missing", "source", "source gone from Rust", "levels of an architecture removed"}, c.name) {
				return // gen rewrites everything, whatever the difference
			}
			if status, out := gas2go("-root", root, "gen"); status != 0 {
				t.Fatalf("gen: status %d:\n%s", status, out)
			}
			if status, out := gas2go("-root", root, "check"); status != 0 {
				t.Errorf("gen did not repair it: status %d:\n%s", status, out)
			}
		})
	}
}

// TestLevels has tables of levels from which nothing is generated.
func TestLevels(t *testing.T) {
	needAssembler(t)
	for _, c := range []struct{ name, old, changed, want string }{
		{"no JSON", `"names"`, `names`, "invalid character"},
		{"an unknown field", `{"name": "ssse3"}`, `{"name": "ssse3", "speed": 1}`, `unknown field "speed"`},
		{"a name twice", `"ssse3", "neon"`, `"ssse3", "ssse3"`, `want each once: "ssse3"`},
		{"portable not last", `"armv6", "portable"]`, `"portable", "armv6"]`, "the last is not portable"},
		{"an instruction set that is none", `"levels": {`, `"levels": {"vax": {}, `, `no instruction set "vax"`},
		{"a primitive that is none", `"chacha20poly1305": [`, `"rsa": [`, `no primitive "rsa"`},
		{"a level without a kernel", `{"name": "ssse3"}]`, `{"name": "ssse3"}, {"name": "neon"}]`, "chacha20masks_neon.S"},
		{"a level without a name", `{"name": "ssse3"}]`, `{"name": "sse9"}]`, "sse9 of chacha20masks: its name is not among names"},
		{"levels in another order", `"chacha20masks": [{"name": "avx512"},`, `"chacha20masks": [{"name": "ssse3"}, {"name": "avx512"},`, "in another order"},
		{"a kernel without a level", `{"name": "ssse3"}]`, `{"name": "avx2"}]`, "chacha20masks"},
		{"a kernel of batches without one", `, "batch": {"kernel": "avx512", "from": [[4, 2], [6, 1]], "from_go": [[7, 3]]}`, "",
			"chacha20poly1305_batch_avx512.S: asm/levels.json has no level for it"},
		{"a composition of nothing", `"short": "ssse3"`, `"short": "sse9"`, "chacha20masks_sse9.S"},
		{"a batch that is none", `"kernel": "avx512"`, `"kernel": "avx2"`, "chacha20poly1305_batch_avx2.S"},
		{"a batch of one packet", "[4, 2]", "[1, 2]", "1 packets of 2 classes"},
		{"a batch of too many classes", "[4, 2]", "[4, 32]", "33 classes"},
		{"a batch whose last class never pays", "[6, 1]", "[0, 1]", "the last one's may pay"},
		{"batches of a primitive that has none", `{"name": "ssse3"}]`, `{"name": "ssse3", "batch": {"kernel": "ssse3", "from": [[2, 2]]}}]`, "without batches"},
		{"no line for any CPU", `"x86_64": [{"name": "any"}]`, `"x86_64": [{"name": "any", "vendor": "x"}]`, "the last line matches any CPU"},
		{"no line", `"x86_64": [{"name": "any"}],`, ``, "x86_64 has no microarchitecture"},
		{"a line without a vendor", `"vendor": "0x41", `, "", "the others name a vendor"},
		{"a part that is no number", `"from": "0xb76"`, `"from": "six"`, "invalid syntax"},
		{"a line for a level that is none", `"x86_64": [{"name": "any"}]`, `"x86_64": [{"name": "any", "first": {"chacha20poly1305": "ssse3"}}]`, `chacha20poly1305 has no level "ssse3"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			root := newRoot(t, goodKernels(t)...)
			addLevels(t, root)
			list := readFile(t, filepath.Join(root, levelSource))
			if !strings.Contains(list, c.old) {
				t.Fatalf("%s has no %q", levelSource, c.old)
			}
			writeFile(t, filepath.Join(root, levelSource), strings.Replace(list, c.old, c.changed, 1))
			for _, command := range []string{"gen", "check"} {
				if status, out := gas2go("-root", root, command); status != 1 || !strings.Contains(out, c.want) {
					t.Errorf("%s: status %d, want %q:\n%s", command, status, c.want, out)
				}
			}
		})
	}
}

// TestMissingTools takes programs away.
func TestMissingTools(t *testing.T) {
	needAssembler(t)
	root := newRoot(t, goodKernels(t)...)
	if status, out := gas2go("-root", root, "gen"); status != 0 {
		t.Fatalf("gen: status %d:\n%s", status, out)
	}
	const gnu = "gcc as objdump"
	for _, c := range []struct {
		name    string
		tools   string
		args    []string
		status  int
		want    string
		without string
	}{
		{"all", gnu + " clang llvm-objdump", []string{"-all", "check"}, 0, "same: ", "not run"},
		{"no clang", gnu, []string{"check"}, 0, "not run: amd64: with clang: not installed", "nothing was"},
		{"no clang, all wanted", gnu, []string{"-all", "check"}, 1, "not all could be run", ""},
		{"no clang, gen", gnu, []string{"gen"}, 0, "not run: amd64: with clang", "wrote"},
		{"no GNU objdump", "gcc as llvm-objdump", []string{"check"}, 0, "same except comments", "nothing was"},
		{"no GNU as", "clang llvm-objdump", []string{"check"}, 0, "not run: amd64: isa lines, which only GNU as enforces", "nothing was"},
		{"no GNU as, gen", "clang llvm-objdump", []string{"gen"}, 1, "GNU as", "wrote"},
		{"no assembler", "objdump llvm-objdump", []string{"check"}, exitNotRun, "not run: amd64: nothing was assembled or checked", "_amd64.s"},
		{"no assembler, size", "objdump llvm-objdump", []string{"size"}, exitNotRun, "not run: amd64: nothing was assembled or checked", ""},
		{"no assembler, gen", "objdump llvm-objdump", []string{"gen"}, 1, "could not be translated", "wrote"},
		{"no disassembler", "gcc as clang", []string{"check"}, exitNotRun, "not run: amd64: nothing was assembled or checked", "_amd64.s"},
	} {
		t.Run(c.name, func(t *testing.T) {
			bin := t.TempDir()
			for _, tool := range strings.Fields(c.tools) {
				path, err := exec.LookPath(tool)
				if err != nil {
					t.Skip("not run: no " + tool)
				}
				if err := os.Symlink(path, filepath.Join(bin, tool)); err != nil {
					t.Fatal(err)
				}
			}
			t.Setenv("PATH", bin)
			status, out := gas2go(append([]string{"-root", root}, c.args...)...)
			if status != c.status || !strings.Contains(out, c.want) || c.without != "" && strings.Contains(out, c.without) {
				t.Errorf("status %d, want %d, %q and no %q:\n%s", status, c.status, c.want, c.without, out)
			}
		})
	}
}

// TestSizes holds the budget against a kernel that exceeds it.
func TestSizes(t *testing.T) {
	needAssembler(t)
	l, err := readLayout(repository)
	if err != nil {
		t.Fatal(err)
	}
	kernel := func(name string, bytes int) translated {
		body := []instruction{{text: "ret", mnemonic: "ret", target: -1}}
		return translated{&kernel{function: &function{name: name, code: make([]byte, bytes), body: body}}, amd64}
	}
	for _, c := range []struct {
		name    string
		kernels []translated
		want    string
	}{
		{"within", []translated{kernel("sealane_a_avx2", 30000), kernel("sealane_a_ssse3", 35536), kernel("sealane_b_avx2", 1)}, ""},
		{"above", []translated{kernel("sealane_a_avx2", 30000), kernel("sealane_a_ssse3", 35537)},
			"amd64: a kernels have 65537 bytes of machine code together, at most 65536 allowed"},
	} {
		r := &report{targets: targets, layout: l, kernels: c.kernels}
		var out bytes.Buffer
		err := r.sizes(&out)
		if c.want == "" && err != nil || c.want != "" && (err == nil || err.Error() != c.want) {
			t.Errorf("%s: got %v, want %q", c.name, err, c.want)
		}
		r.root = t.TempDir()
		if err := r.compare(&out); c.want != "" && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: check says %v, not %q", c.name, err, c.want)
		}
	}
}

func TestUsage(t *testing.T) {
	for _, args := range [][]string{{}, {"make"}, {"gen", "check"}, {"-nothing"}} {
		if status, out := gas2go(args...); status != exitUsage || !strings.Contains(out, "usage: gas2go") {
			t.Errorf("%v: status %d\n%s", args, status, out)
		}
	}
	if status, out := gas2go("-root", t.TempDir(), "check"); status != 1 || !strings.Contains(out, "args.h") {
		t.Errorf("no asm/args.h: status %d\n%s", status, out)
	}
}

// TestScratchUse follows rsi through straight code.
func TestScratchUse(t *testing.T) {
	l := &layout{scratchSave: 256, scratch: 4096, batchScratch: 8192}
	for name, end := range map[string]int{"sealane_sum_ssse3": 4096, "sealane_sum_batch_ssse3": 8192, "sealane_batch_ssse3": 4096} {
		if got := l.scratchEnd(&function{name: name}); got != end {
			t.Errorf("%s: end of scratch %d, want %d", name, got, end)
		}
	}
	for _, c := range []struct {
		code string
		end  int
		want string
	}{
		{"mov QWORD PTR [rsi+0x100],rax", 264, ""},
		{"vmovdqa zmm1,ZMMWORD PTR [rsi+0xfc0]", 4096, ""},
		{"vpaddd zmm0{k1}{z},zmm1,DWORD BCST [rsi+0x200]", 516, ""},
		{"vpaddd zmm0 {k1} {z}, zmm1, dword ptr [rsi + 512]{1to16}", 516, ""},
		{"add rsi,0x400; mov [rsi - 512], al; sub rsi,0x400", 513, ""},
		{"add rsi,0xffffffffffffff80; sub rsi, -128", 0, ""},
		{"lea rsi,[rsi+0x40]; lea rsi,[rsi-0x40]", 0, ""},
		{"lea rax,[rsi]; prefetcht0 BYTE PTR [rsi]; nop DWORD PTR [rsi]; cmp rsi,rax", 0, ""},
		{"mov BYTE PTR [rsi+rax*1+0x100],cl", -1, ""},
		{"mov BYTE PTR [rax+rsi*1],cl", -1, ""},
		{"mov rsi,rax; mov BYTE PTR [rsi],cl", -1, ""},
		{"add rsi,rax; sub rsi,rax", -1, ""},
		{"mulx rax,rsi,rcx", -1, ""},
		{"xchg rax,rsi", -1, ""},
		{"inc rsi; dec rsi", -1, ""},
		{"mov esi,0x0", -1, ""},
		{"mov QWORD PTR [rsi],rax", 8, "bytes 0 to 8"},
		{"vmovdqa YMMWORD PTR [rsi+0xff0],ymm0", 4112, "bytes 4080 to 4112"},
		{"add rsi,0x40", 0, "rsi points 64 bytes past scratch"},
	} {
		f := &function{name: "f"}
		for i, text := range append(strings.Split(c.code, "; "), "ret") {
			mnemonic, operands, _ := strings.Cut(strings.ToLower(text), " ")
			f.body = append(f.body, instruction{offset: i, text: text, mnemonic: mnemonic, operands: operands, target: -1})
		}
		end, errs := scratchUse(amd64, f, l)
		if end != c.end || (len(errs) == 0) != (c.want == "") || len(errs) > 0 && !strings.Contains(errs[0].Error(), c.want) {
			t.Errorf("%s: end %d, want %d; %v, want %q", c.code, end, c.end, errs, c.want)
		}
	}
}

// TestCommuted compares made-up functions that differ in the order of sources, and in the distances that follow from it.
func TestCommuted(t *testing.T) {
	made := func(code string) *function { // an exclamation mark makes an instruction a byte longer; jmp N goes to instruction N
		f := &function{name: "f"}
		lines := strings.Split(code, "; ")
		for _, text := range lines {
			ins := instruction{offset: len(f.code), code: make([]byte, 4+strings.Count(text, "!")), target: -1}
			ins.text = strings.TrimSuffix(text, "!")
			ins.mnemonic, ins.operands, _ = strings.Cut(ins.text, " ")
			f.code = append(f.code, ins.code...)
			f.body = append(f.body, ins)
		}
		for i := range f.body {
			if to, err := strconv.Atoi(f.body[i].operands); err == nil && f.body[i].mnemonic == "jmp" {
				f.body[i].target = f.body[to].offset
				f.body[i].text = "jmp " + strconv.Itoa(f.body[to].offset)
			}
		}
		return f
	}
	const one = "vpxor ymm0,ymm0,ymm8!; jmp 3; nop; vpaddd ymm1,ymm2,ymm3; ret"
	for other, want := range map[string]bool{
		one: false, // then the bytes are equal, which is seen elsewhere
		"vpxor ymm0,ymm8,ymm0; jmp 3; nop; vpaddd ymm1,ymm2,ymm3; ret":      true,
		"vpxor ymm0,ymm8,ymm0; jmp 3; nop; vpaddd ymm1,ymm3,ymm2; ret":      true,
		"vpxor ymm0,ymm8,ymm0; jmp 2; vpaddd ymm1,ymm2,ymm3; ret":           true,
		"vpxor ymm0,ymm8,ymm0; jmp 4; nop; vpaddd ymm1,ymm2,ymm3; ret":      false,
		"vpxor ymm0,ymm8,ymm1; jmp 3; nop; vpaddd ymm1,ymm2,ymm3; ret":      false,
		"vpxor ymm8,ymm0,ymm0; jmp 3; nop; vpaddd ymm1,ymm2,ymm3; ret":      false,
		"vpor ymm0,ymm8,ymm0; jmp 3; nop; vpaddd ymm1,ymm2,ymm3; ret":       false,
		"vpxor ymm0,ymm8,ymm0; jmp 3; nop; vpaddd ymm1,ymm2,ymm3!; ret":     false,
		"vpxor ymm0,ymm8,ymm0; jmp 3; nop; vpaddd ymm1,ymm2,ymm3; ret; ret": false,
		"vpxor ymm0,ymm8,ymm0; call 3; nop; vpaddd ymm1,ymm2,ymm3; ret":     false,
		"vpxor ymm0,ymm8,ymm0; jmp 3; nop; vpaddd ymm1,ymm2,ymm3,1; ret":    false,
	} {
		if got := amd64.commuted(made(one), made(other)); got != want {
			t.Errorf("%s: %v, want %v", other, got, want)
		}
	}
	if amd64.commuted(made("vpsubd ymm0,ymm0,ymm8!; ret"), made("vpsubd ymm0,ymm8,ymm0; ret")) {
		t.Error("the sources of a subtraction may be exchanged")
	}
}

// TestDifference compares made-up outcomes of two assemblers.
func TestDifference(t *testing.T) {
	made := func(code string, data ...byte) *object {
		f := &function{name: "f"}
		for i, text := range strings.Split(code, "; ") {
			mnemonic, operands, _ := strings.Cut(text, " ")
			target := -1
			if mnemonic == "jmp" {
				target = len(operands)
			}
			f.code = append(f.code, text...)
			f.body = append(f.body, instruction{i, []byte(text), text, mnemonic, operands, target})
		}
		return &object{[]*function{f}, []*constants{{"c", data}}}
	}
	a := made("xor; jmp 1; ret", 7)
	other := made("xor; jmp 1; ret", 7)
	other.functions[0].name = "g"
	for _, c := range []struct {
		b     *object
		want  string
		lines int
	}{
		{made("xor; jmp 1; ret", 7), "", 1},
		{made("xor; jmp 1; ret", 8), "c: constants differ between A and B", 1},
		{&object{functions: a.functions}, "A makes 1 functions and 1 constants, B 1 and 0", 1},
		{other, "A makes f, B g", 1},
		{made("xor; jmp 2; ret", 7), "jmp 1; B: ", 1},
		{made("sub; jmp 2; ret", 7), "f+0x0: assemblers differ: A: ", 1},
		{made("sub; jmp 1; sub; ret", 7), "f+0x0: assemblers differ: A: ", 1},
		{made("xor; jmp 1; ret; ret", 7), "f+0xb: assemblers differ: A: (end); B: ", 1},
		{made("xor; nop; jmp 1; ret", 7), "f+0x1: assemblers differ: A: 6a 6d 70 20 31 jmp 1; B: 6e 6f 70 nop", 1},
		{made("xor; nop 2; jmp 2; sub", 7), "f+0x2: assemblers differ: A: ", 2},
	} {
		got := amd64.difference(a, c.b, "A", "B")
		if (c.want == "") != (got == "") || !strings.Contains(got, c.want) || len(strings.Split(got, "\n")) != c.lines {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
}
