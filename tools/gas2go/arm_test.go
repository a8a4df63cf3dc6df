package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// needTools skips where t cannot be assembled and decoded, and returns whether clang can compare.
func needTools(test *testing.T, t *target) (clang bool) {
	test.Helper()
	assemblers, _ := t.assemblers()
	if len(assemblers) == 0 || !assemblers[0].gnu {
		test.Skip("not run: no GNU as for " + t.isa)
	}
	if decoders, _ := t.disassemblers(); len(decoders) == 0 {
		test.Skip("not run: no disassembler for " + t.isa)
	}
	return len(assemblers) > 1
}

// kernelOf makes a source from an isa line and the lines of a function.
func kernelOf(isa, lines string) string {
	return "#include \"../asm.S\"\n\nisa " + isa + "\n\nfunction sealane_sum_neon\n" + lines + "\nendfunction\n"
}

type testKernel struct {
	row              *target
	isa, lines, want string
}

// armKernels has, for both, one kernel for each way to break the convention, with the expected message. Some keep it.
var armKernels = []testKernel{
	{arm, "neon", "add r3, r1, r2", ""},
	{arm, "neon", "1: subs r3, r3, #1\n ldmia r2!, {r4-r9, r11, r12}\n bne 1b\n bls 2f\n movs r0, r0, lsl #4\n2:", ""},
	{arm, "neon", "vld1.32 {d16-d19}, [r2:128]!\n vldmia r2, {d8-d15}\n vmov r3, r4, d0\n vmlal.u32 q0, d2, d4[1]\n vmov.u32 r3, d0[1]", ""},
	{arm, "neon", "ldrd r4, r5, [r0], #8\n strdeq r4, r5, [r2]\n movw r3, #1234\n ubfxne r3, r4, #3, #5\n pld [r2, #64]\n nop", ""},
	{arm, "armv6", "umaal r3, r4, r5, r6\n rev r3, r3\n uxtb r3, r4\n pkhbt r3, r4, r5\n uadd8 r3, r4, r5\n mvnseq r3, r4, ror #7\n nop", ""},
	{arm, "neon", "mov r10, r0", "sl: holds Go's goroutine"},
	{arm, "neon", "ldr r3, [r10, #4]", "sl: holds Go's goroutine"},
	{arm, "neon", "ldr r3, [r2, r10, lsl #2]", "sl: holds Go's goroutine"},
	{arm, "neon", "stm r1, {r4-r11}", "sl: holds Go's goroutine"},
	{arm, "neon", "ldm r2!, {r9-r11}", "sl: holds Go's goroutine"},
	{arm, "neon", "ldrd r10, r11, [r2]", "sl: holds Go's goroutine"},
	{arm, "neon", "vld1.8 {d0}, [r2], r10", "sl: holds Go's goroutine"},
	{arm, "neon", "vmov r10, r3, d0", "sl: holds Go's goroutine"},
	{arm, "neon", "umull r3, r10, r4, r5", "sl: holds Go's goroutine"},
	{arm, "neon", "push {r4}", "the stack"},
	{arm, "neon", "push {r4, r5}", "the stack"},
	{arm, "neon", "popne {r4, r5}", "the stack"},
	{arm, "neon", "vpush {d8-d9}", "the stack"},
	{arm, "neon", "stmdb sp!, {r4, r5}", "stack"},
	{arm, "neon", "stmia sp, {r4, r5}", "sp: belongs to the caller's stack"},
	{arm, "neon", "ldmib sp, {r4, r5}", "sp: belongs to the caller's stack"},
	{arm, "neon", "str r3, [sp, #-4]", "sp: belongs to the caller's stack"},
	{arm, "neon", "add r3, sp, #4", "sp: belongs to the caller's stack"},
	{arm, "neon", ".inst 0xe1c2c0d0 /* ldrd r12, r13, [r2] */", "r13: belongs to the caller's stack"},
	{arm, "neon", "mov lr, r0", "lr: holds the return address"},
	{arm, "neon", "ldm r2, {r3, lr}", "lr: holds the return address"},
	{arm, "neon", "mla lr, r3, r4, r5", "lr: holds the return address"},
	{arm, "neon", "bl 1f\n1:", "a kernel is a leaf: no calls"},
	{arm, "neon", "blne 1f\n1:", "a kernel is a leaf: no calls"},
	{arm, "neon", "blx r3", "a kernel is a leaf: no calls"},
	{arm, "neon", "bl memcpy", "relocation against memcpy"},
	{arm, "neon", "bx r3", "indirect jump"},
	{arm, "neon", "bxne lr", "indirect jump"},
	{arm, "neon", "b 1f\n bx lr\n1:", "ret before the end"},
	{arm, "neon", "b . + 64", "jumps out of the function"},
	{arm, "neon", "b sealane_other_neon", "relocation against sealane_other_neon"},
	{arm, "neon", "beq . + 6 + 2 - 64", "jumps out of the function"},
	{arm, "neon", "add pc, pc, r3", "pc: the program counter is for branches"},
	{arm, "neon", "mov pc, r3", "pc: the program counter is for branches"},
	{arm, "neon", "ldr pc, [r2]", "pc: the program counter is for branches"},
	{arm, "neon", "ldm r2, {r3, pc}", "pc: the program counter is for branches"},
	{arm, "neon", "mov r3, pc", "pc: the program counter is for branches"},
	{arm, "neon", "ldr r3, =0x12345678", "data in text: $d"},
	{arm, "neon", "ldr r3, [pc, #-8]", "pc: the program counter is for branches"},
	{arm, "neon", "vldr d0, [pc, #-8]", "pc: the program counter is for branches"},
	{arm, "neon", "adr r3, 1f\n1:", "pc: the program counter is for branches"},
	{arm, "neon", "b 1f\n .word 0\n1:", "data in text: $d"},
	{arm, "neon", "b 1f\n nop\n add r3, r3, r4\n1:", "dead code: nothing leads here"},
	{arm, "neon", ".thumb\n adds r1, r1, r2\n nop\n .arm", "data in text: $t"},
	{arm, "neon", "udiv r3, r4, r5", "refuses"},
	{arm, "neon", ".arch_extension idiv\n udiv r3, r4, r5", "takes a time that depends on its data"},
	{arm, "neon", "vadd.f32 q0, q1, q2", "floating-point state"},
	{arm, "neon", "vmrs r3, fpscr", "floating-point state"},
	{arm, "neon", "svc #0", "traps, talks to the system"},
	{arm, "neon", "mrs r3, cpsr", "traps, talks to the system"},
	{arm, "neon", "mrc p15, 0, r3, c13, c0, 3", "traps, talks to the system"},
	{arm, "neon", "setend be", "traps, talks to the system"},
	{arm, "neon", "udf #0", "traps, talks to the system"},
	{arm, "neon", "ldrex r3, [r2]", "not among the instructions"},
	{arm, "neon", "vfma.f32 q0, q1, q2", "refuses"},
	{arm, "armv6", "movw r3, #1", "refuses"},
	{arm, "armv6", "vadd.i32 q0, q0, q0", "refuses"},
	{arm, "armv5", "nop", "refuses"},
	{arm, "neon, armv6", "nop", "refuses"},

	{arm, "neon", "add r1, r1, #320\n stmdb r1!, {r4-r9}\n add r12, r1, #24\n vst1.32 {q0, q1}, [r12:128]!\n vstmia r12, {d8-d11}\n sub r12, #352\n sub r1, r12, #0\n", ""},
	{arm, "neon", "add r1, r1, #4096\n strb r3, [r1, #-1]!\n ldr r3, [r1], #-3\n sub r1, r1, #4080\n sub r1, r1, #12", "bytes 4095 to 4099 of scratch memory; a kernel's part is 256 to 4096"},
	{arm, "neon", "add r1, r1, r2", "may not point to scratch here"},
	{arm, "neon", "addne r1, r1, #4", "may not point to scratch here"},
	{arm, "neon", "mov r1, r3", "may not point to scratch here"},
	{arm, "neon", "vmov r1, r3, d0", "may not point to scratch here"},
	{arm, "neon", "umull r3, r1, r4, r5", "may not point to scratch here"},
	{arm, "neon", "ldm r2, {r0-r3}", "may not point to scratch here"},
	{arm, "neon", "ldr r1, [r2]", "may not point to scratch here"},
	{arm, "neon", "add r1, r1, #256\n str r3, [r1], r4", "may not point to scratch here"},
	{arm, "neon", "1: add r1, r1, #8\n subs r3, r3, #1\n bne 1b", "may not point to scratch here"},
	{arm, "neon", "add r1, r1, #512\n vst1.32 {q0}, [r1]!\n sub r1, r1, #512", "points 16 bytes past scratch"},
	{arm, "neon", "str r3, [r1, #252]", "bytes 252 to 256 of scratch memory"},
	{arm, "neon", "add r4, r1, #4080\n vst1.32 {q0, q1}, [r4]", "bytes 4080 to 4112 of scratch memory"},
	{arm, "neon", "mov r4, r1\n ldmib r4, {r5-r7}", "bytes 4 to 16 of scratch memory"},
	{arm, "neon", "add r4, r1, #256\n stmdb r4, {r5-r7}", "bytes 244 to 256 of scratch memory"},
	{arm, "neon", "add r4, r1, #4096\n vst1.16 {d0[1]}, [r4]", "bytes 4096 to 4098 of scratch memory"},
	{arm, "armv6", "ldrd r4, r5, [r1, #192]", "bytes 192 to 200 of scratch memory"},
	{arm, "armv6", "ldrh r4, [r1, #192]", "bytes 192 to 194 of scratch memory"},

	{arm64, "neon", "mov x1, x3", "may not point to scratch here"},
	{arm64, "neon", "mov w1, w1", "may not point to scratch here"},
	{arm64, "neon", "ldp x3, x1, [x2]", "may not point to scratch here"},
	{arm64, "neon", "umov x1, v0.d[1]", "may not point to scratch here"},
	{arm64, "neon", "add x1, x1, #64", "points 64 bytes past scratch"},
	{arm64, "neon", "str x3, [x1, #248]", "bytes 248 to 256 of scratch memory"},
	{arm64, "neon", "str w3, [x1, #4096]", "bytes 4096 to 4100 of scratch memory"},
	{arm64, "neon", "stp q0, q1, [x1, #240]", "bytes 240 to 272 of scratch memory"},
	{arm64, "neon", "add x4, x1, #4080\n st1 {v0.4s, v1.4s}, [x4]", "bytes 4080 to 4112 of scratch memory"},
	{arm64, "neon", "add x4, x1, #4080\n st1 {v0.16b}, [x4], #16\n strb w3, [x4], #1", "bytes 4096 to 4097 of scratch memory"},
	{arm64, "neon", "add x4, x1, #4088\n st1 {v0.d}[1], [x4], #8\n st1 {v0.h}[1], [x4]", "bytes 4096 to 4098 of scratch memory"},

	{arm64, "neon", "1: ldr q0, [x2]\n add v0.4s, v0.4s, v0.4s\n subs x3, x3, #1\n b.ne 1b\n nop", ""},
	{arm64, "neon", "1: cbz x3, 2f\n tbnz x3, #33, 1b\n tbz w3, #3, 1b\n mov x2, x3\n cbnz w3, 1b\n2:", ""},
	{arm64, "neon", "umulh x3, x4, x5\n extr x3, x4, x5, #7\n ldp x3, x4, [x2], #16\n fmov x3, d0\n umlal2 v0.2d, v1.4s, v2.s[1]\n ld1 {v0.4s-v3.4s}, [x2], #64\n add x5, x1, #1, lsl #12\n sub x5, x5, #4\n st1 {v1.s}[2], [x5]\n ror w3, w4, #7\n csel x3, x4, xzr, lo", ""},
	{arm64, "neon", "mov x3, #0x30\n add x3, x3, #0x18\n movz x3, #0x28, lsl #48\n and x3, x3, #0x18\n ldr q0, [x2, #0x1d0]\n ldr x3, [x2, #0x30]\n ldp x3, x4, [x2, #0x30]\n movi v0.16b, #0x30\n tbz x3, #0x1e, 1f\n1:", ""},
	{arm64, "neon", "mov x28, x0", "x28: holds Go's goroutine"},
	{arm64, "neon", "add w28, w28, #1", "w28: holds Go's goroutine"},
	{arm64, "neon", "ldp x3, x28, [x2]", "x28: holds Go's goroutine"},
	{arm64, "neon", "ldr q0, [x2, x28]", "x28: holds Go's goroutine"},
	{arm64, "neon", "mov x18, x0", "x18: belongs to the system"},
	{arm64, "neon", "ldr w18, [x2]", "w18: belongs to the system"},
	{arm64, "neon", "mov x29, x0", "x29: belongs to the caller's stack"},
	{arm64, "neon", "mov x30, x0", "x30: holds the return address"},
	{arm64, "neon", "mov w30, #0x30", "w30: holds the return address"},
	{arm64, "neon", "add x3, x30, #0x30", "x30: holds the return address"},
	{arm64, "neon", "and w3, w4, w30", "w30: holds the return address"},
	{arm64, "neon", "mov v0.d[1], x30", "x30: holds the return address"},
	{arm64, "neon", "ldr x3, [x30, #0x30]", "x30: holds the return address"},
	{arm64, "neon", "ldr x3, [x2, x30, lsl #3]", "x30: holds the return address"},
	{arm64, "neon", "ldr x3, [x2, w30, uxtw]", "w30: holds the return address"},
	{arm64, "neon", "ld1 {v0.16b}, [x2], x30", "x30: holds the return address"},
	{arm64, "neon", "cbz w30, 1f\n1:", "w30: holds the return address"},
	{arm64, "neon", "tbnz x28, #35, 1f\n1:", "x28: holds Go's goroutine"},
	{arm64, "neon", "ldp w30, w3, [x2]", "w30: holds the return address"},
	{arm64, "neon", "stp x3, x30, [x1]", "x30: holds the return address"},
	{arm64, "neon", "str x3, [sp, #-16]!", "sp: belongs to the caller's stack"},
	{arm64, "neon", "add x3, sp, #16", "sp: belongs to the caller's stack"},
	{arm64, "neon", "mov w3, wsp", "wsp: belongs to the caller's stack"},
	{arm64, "neon", "b . + 64", "jumps out of the function"},
	{arm64, "neon", "cbz x3, . - 64", "jumps out of the function"},
	{arm64, "neon", "b sealane_other_neon", "relocation against sealane_other_neon"},
	{arm64, "neon", "br x3", "indirect jump"},
	{arm64, "neon", "blr x3", "a kernel is a leaf: no calls"},
	{arm64, "neon", "bl . + 4", "a kernel is a leaf: no calls"},
	{arm64, "neon", "ret x3", "only a plain ret"},
	{arm64, "neon", "cbz x3, 1f\n ret\n1:", "ret before the end"},
	{arm64, "neon", "b 1f\n .word 0xd503201f\n1:", "data in text: $d"},
	{arm64, "neon", "b 1f\n add x3, x3, x4\n1:", "dead code: nothing leads here"},
	{arm64, "neon", "ldr x3, =0x123456789abcdef", "data in text: $d"},
	{arm64, "neon", "ldr x3, . - 8", "reads text"},
	{arm64, "neon", "ldr q3, . - 8", "reads text"},
	{arm64, "neon", "ldrsw x3, . - 8", "reads text"},
	{arm64, "neon", "adr x3, .", "reads text"},
	{arm64, "neon", ".inst 0x90000003 /* adrp x3, . */", "reads text"},
	{arm64, "neon", "adrp x3, elsewhere", "relocation against elsewhere"},
	{arm64, "neon", "udiv x3, x4, x5", "takes a time that depends on its data"},
	{arm64, "neon", "fadd v0.4s, v1.4s, v2.4s", "floating-point state"},
	{arm64, "neon", "fmul d0, d1, d2", "floating-point state"},
	{arm64, "neon", "svc #0", "traps, talks to the system"},
	{arm64, "neon", "mrs x3, nzcv", "traps, talks to the system"},
	{arm64, "neon", "paciasp", "traps, talks to the system"},
	{arm64, "neon", "brk #1", "traps, talks to the system"},
	{arm64, "neon", "ldxr x3, [x2]", "not among the instructions"},
	{arm64, "neon", ".inst 0", "traps, talks to the system"},
	{arm64, "neon", "aese v0.16b, v1.16b", "refuses"},
	{arm64, "neon", "sha256h q0, q1, v2.4s", "refuses"},
	{arm64, "neon", "eor3 v0.16b, v1.16b, v2.16b, v3.16b", "refuses"},
	{arm64, "armv6", "nop", "refuses"},
}

// TestARMKernels assembles each with GNU as and clang, which must agree, and checks it with both decoders.
func TestARMKernels(t *testing.T) {
	for _, c := range slices.Concat(armKernels, riscvKernels, mipsKernels) {
		t.Run(c.row.goarch+"/"+strings.ReplaceAll(c.lines, "\n", ";"), func(t *testing.T) {
			t.Parallel()
			needTools(t, c.row)
			root := newRoot(t)
			writeFile(t, filepath.Join(root, "asm", c.row.isa, "sum_neon.S"), kernelOf(c.isa, c.lines))
			r, err := translate(root, []*target{c.row})
			if err == nil {
				err = errorsOf(r)
			}
			if c.want != "" {
				if err == nil || !strings.Contains(err.Error(), c.want) {
					t.Errorf("got %v, want %q", err, c.want)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			text := string(r.files[outputDir+"/sum_neon_"+c.row.goarch+".s"])
			if !strings.Contains(text, "\tWORD $0x") || strings.Contains(text, "BYTE") {
				t.Errorf("not words:\n%s", text)
			}
		})
	}
}

func errorsOf(r *report) error {
	if len(r.differ) > 0 {
		return r.differ[0]
	}
	return nil
}

// TestARMDecodersAlone: each decoder alone refuses the instructions that both together refuse.
func TestARMDecodersAlone(t *testing.T) {
	l, err := readLayout(repository)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range armKernels {
		t.Run(c.row.goarch+"/"+strings.ReplaceAll(c.lines, "\n", ";"), func(t *testing.T) {
			t.Parallel()
			needTools(t, c.row)
			assemblers, _ := c.row.assemblers()
			decoders, _ := c.row.disassemblers()
			root := newRoot(t)
			file := filepath.Join(root, "asm", c.row.isa, "sum_neon.S")
			writeFile(t, file, kernelOf(c.isa, c.lines))
			o, err := c.row.assemble(assemblers[0], file)
			if err != nil {
				return // refused before it is decoded
			}
			for _, d := range decoders {
				refused := false
				for _, f := range o.functions {
					body, err := c.row.decode(d, f.code)
					refused = refused || err != nil || len(c.row.checkBody(&function{name: f.name, code: f.code, body: body}, l)) > 0
				}
				if refused != (c.want != "") {
					t.Errorf("%s: refused %v", d.name, refused)
				}
			}
		})
	}
}

// TestARMKernelsRun translates good kernels into a module of their own, vets it and runs them under emulation, without cgo.
func TestARMKernelsRun(t *testing.T) {
	for _, c := range []struct {
		row   *target
		qemu  string
		wants []string
	}{
		{arm, "qemu-arm", []string{"TestMask", "TestSum"}},
		{arm64, "qemu-aarch64", []string{"TestMask"}},
	} {
		t.Run(c.row.goarch, func(t *testing.T) {
			needTools(t, c.row)
			runner, err := exec.LookPath(c.qemu)
			if err != nil {
				t.Skip("not run: no " + c.qemu)
			}
			folder := "testdata/good_" + c.row.goarch
			root := newRoot(t)
			files, err := filepath.Glob(folder + "/*.S")
			if err != nil || len(files) == 0 {
				t.Fatal("no kernels in "+folder, err)
			}
			for _, file := range files {
				copyFile(t, file, filepath.Join(root, "asm", c.row.isa, filepath.Base(file)))
			}
			if status, out := gas2go("-root", root, "gen"); status != 0 {
				t.Fatalf("status %d:\n%s", status, out)
			}
			writeFile(t, filepath.Join(root, "go.mod"), "module example.test/good\n\ngo 1.24\n")
			copyFile(t, "testdata/good/args.go", filepath.Join(root, outputDir, "args.go"))
			if c.row == arm64 {
				copyFile(t, folder+"/dit.go", filepath.Join(root, outputDir, "dit_arm64.go"))
			}
			run := "run_" + c.row.goarch + "_test.go"
			copyFile(t, filepath.Join(folder, run), filepath.Join(root, outputDir, run))
			linked := "linked_test.go"
			copyFile(t, filepath.Join(repository, outputDir, linked), filepath.Join(root, outputDir, linked))
			removeTables(t, root)
			for _, args := range [][]string{{"vet", "-asmdecl", "./..."}, {"test", "-vet=off", "-exec", runner, "-v", "./..."}, {"build", "-tags", "purego", "./..."}} {
				cmd := exec.Command("go", args...)
				cmd.Dir = root
				cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=", "GOWORK=off", "GOARCH="+c.row.goarch, "GOARM=5")
				out, err := cmd.CombinedOutput()
				if err != nil {
					t.Fatalf("go %s: %v\n%s", strings.Join(args, " "), err, out)
				}
				if args[0] != "test" {
					continue
				}
				for _, want := range append(c.wants, "TestLinkedBytes/MaskNEON") {
					if !bytes.Contains(out, []byte("--- PASS: "+want)) {
						t.Errorf("no pass of %s in\n%s", want, out)
					}
				}
			}
		})
	}
}
