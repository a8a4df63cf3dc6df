//! The frame of kernels on 64-bit RISC-V. It saves the callee-saved integer registers, except s11, which no kernel
//! uses. No instruction is compressed, and the linker relaxes none. The prologue has 48 bytes, and is placed so that
//! the body starts at a multiple of 64.

#[rustfmt::skip]
macro_rules! frame {
    ($name:literal, $rows:literal, $extensions:literal) => { concat!(
        ".pushsection .text.", $name, ",\"ax\",@progbits\n.option push\n.option norvc\n.option norelax\n",
        ".hidden ", $name, "\n.globl ", $name, "\n.type ", $name, ",@function\n",
        ".p2align 6\n.skip 16\n",
        $name, ":\n.cfi_startproc\naddi sp,sp,-96\n.cfi_adjust_cfa_offset 96\n",
        "sd s0,0(sp)\n.cfi_rel_offset 8,0\nsd s1,8(sp)\n.cfi_rel_offset 9,8\n",
        "sd s2,16(sp)\n.cfi_rel_offset 18,16\nsd s3,24(sp)\n.cfi_rel_offset 19,24\n",
        "sd s4,32(sp)\n.cfi_rel_offset 20,32\nsd s5,40(sp)\n.cfi_rel_offset 21,40\n",
        "sd s6,48(sp)\n.cfi_rel_offset 22,48\nsd s7,56(sp)\n.cfi_rel_offset 23,56\n",
        "sd s8,64(sp)\n.cfi_rel_offset 24,64\nsd s9,72(sp)\n.cfi_rel_offset 25,72\n",
        "sd s10,80(sp)\n.cfi_rel_offset 26,80\n",
        include_str!($rows),
        "ld s0,0(sp)\n.cfi_restore 8\nld s1,8(sp)\n.cfi_restore 9\n",
        "ld s2,16(sp)\n.cfi_restore 18\nld s3,24(sp)\n.cfi_restore 19\n",
        "ld s4,32(sp)\n.cfi_restore 20\nld s5,40(sp)\n.cfi_restore 21\n",
        "ld s6,48(sp)\n.cfi_restore 22\nld s7,56(sp)\n.cfi_restore 23\n",
        "ld s8,64(sp)\n.cfi_restore 24\nld s9,72(sp)\n.cfi_restore 25\n",
        "ld s10,80(sp)\n.cfi_restore 26\n",
        "addi sp,sp,96\n.cfi_adjust_cfa_offset -96\nret\n.cfi_endproc\n",
        ".size ", $name, ",.-", $name, "\n.option pop\n.popsection\n",
    ) };
}
