//! The frame of kernels on x86-64. It saves registers on the stack proper, because not every system lets leaf functions
//! write below the stack pointer. The prologue has 13 bytes, and is placed so that the body starts at a multiple of 64,
//! as the assembler assumed.

#[cfg(objects = "elf")]
#[rustfmt::skip]
macro_rules! frame {
    ($name:literal, $rows:literal, $extensions:literal) => { concat!(
        ".pushsection .text.", $name, ",\"ax\",@progbits\n",
        ".hidden ", $name, "\n.globl ", $name, "\n.type ", $name, ",@function\n",
        ".p2align 6\n.skip 51,0xcc\n",
        $name, ":\n.cfi_startproc\n", pushes!(), include_str!($rows), pops!(), ".cfi_endproc\n",
        ".size ", $name, ",.-", $name, "\n.popsection\n",
    ) };
}

#[cfg(objects = "macho")]
#[rustfmt::skip]
macro_rules! frame {
    ($name:literal, $rows:literal, $extensions:literal) => { concat!(
        ".text\n.private_extern _", $name, "\n.globl _", $name, "\n",
        ".p2align 6\n.skip 51,0xcc\n",
        "_", $name, ":\n.cfi_startproc\n", pushes!(), include_str!($rows), pops!(), ".cfi_endproc\n",
    ) };
}

#[cfg(objects = "coff")]
#[rustfmt::skip]
macro_rules! frame {
    ($name:literal, $rows:literal, $extensions:literal) => { concat!(
        ".text\n.globl ", $name, "\n.def ", $name, "\n.scl 2\n.type 32\n.endef\n",
        ".p2align 6\n.skip 51,0xcc\n",
        $name, ":\n.seh_proc ", $name, "\n",
        ".byte 0xf3,0x0f,0x1e,0xfa\n", // endbr64
        "push rbx\n.seh_pushreg rbx\npush r12\n.seh_pushreg r12\npush r13\n.seh_pushreg r13\n",
        "push r14\n.seh_pushreg r14\npush r15\n.seh_pushreg r15\n.seh_endprologue\n",
        include_str!($rows),
        "pop r15\npop r14\npop r13\npop r12\npop rbx\nret\n.seh_endproc\n",
    ) };
}

#[cfg(not(objects = "coff"))]
#[rustfmt::skip]
macro_rules! pushes {
    () => { concat!(
        ".byte 0xf3,0x0f,0x1e,0xfa\n", // endbr64
        "push rbx\n.cfi_adjust_cfa_offset 8\n.cfi_rel_offset 3,0\n",
        "push r12\n.cfi_adjust_cfa_offset 8\n.cfi_rel_offset 12,0\n",
        "push r13\n.cfi_adjust_cfa_offset 8\n.cfi_rel_offset 13,0\n",
        "push r14\n.cfi_adjust_cfa_offset 8\n.cfi_rel_offset 14,0\n",
        "push r15\n.cfi_adjust_cfa_offset 8\n.cfi_rel_offset 15,0\n",
    ) };
}

#[cfg(not(objects = "coff"))]
#[rustfmt::skip]
macro_rules! pops {
    () => { concat!(
        "pop r15\n.cfi_adjust_cfa_offset -8\n.cfi_restore 15\n",
        "pop r14\n.cfi_adjust_cfa_offset -8\n.cfi_restore 14\n",
        "pop r13\n.cfi_adjust_cfa_offset -8\n.cfi_restore 13\n",
        "pop r12\n.cfi_adjust_cfa_offset -8\n.cfi_restore 12\n",
        "pop rbx\n.cfi_adjust_cfa_offset -8\n.cfi_restore 3\n",
        "ret\n",
    ) };
}
