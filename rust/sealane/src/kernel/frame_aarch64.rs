//! The frame of kernels on 64-bit ARM. It saves the callee-saved registers of the calling convention that kernels use.
//! The prologue has 44 bytes, and is placed so that the body starts at a multiple of 64.

#[cfg(objects = "elf")]
#[rustfmt::skip]
macro_rules! frame {
    ($name:literal, $rows:literal, $extensions:literal) => { concat!(
        ".pushsection .text.", $name, ",\"ax\",@progbits\n",
        ".hidden ", $name, "\n.globl ", $name, "\n.type ", $name, ",@function\n",
        ".p2align 6\n.skip 20\n",
        $name, ":\n.cfi_startproc\n", saves!(), include_str!($rows), restores!(), ".cfi_endproc\n",
        ".size ", $name, ",.-", $name, "\n.popsection\n",
    ) };
}

#[cfg(objects = "macho")]
#[rustfmt::skip]
macro_rules! frame {
    ($name:literal, $rows:literal, $extensions:literal) => { concat!(
        ".text\n.private_extern _", $name, "\n.globl _", $name, "\n",
        ".p2align 6\n.skip 20\n",
        "_", $name, ":\n.cfi_startproc\n", saves!(), include_str!($rows), restores!(), ".cfi_endproc\n",
    ) };
}

#[cfg(objects = "coff")]
#[rustfmt::skip]
macro_rules! frame {
    ($name:literal, $rows:literal, $extensions:literal) => { concat!(
        ".text\n.globl ", $name, "\n.def ", $name, "\n.scl 2\n.type 32\n.endef\n",
        ".p2align 6\n.skip 20\n",
        $name, ":\n.seh_proc ", $name, "\nhint #34\n.seh_nop\nsub sp,sp,#144\n.seh_stackalloc 144\n",
        "stp d8,d9,[sp,#0]\n.seh_save_fregp d8,0\nstp d10,d11,[sp,#16]\n.seh_save_fregp d10,16\n",
        "stp d12,d13,[sp,#32]\n.seh_save_fregp d12,32\nstp d14,d15,[sp,#48]\n.seh_save_fregp d14,48\n",
        "stp x19,x20,[sp,#64]\n.seh_save_regp x19,64\nstp x21,x22,[sp,#80]\n.seh_save_regp x21,80\n",
        "stp x23,x24,[sp,#96]\n.seh_save_regp x23,96\nstp x25,x26,[sp,#112]\n.seh_save_regp x25,112\n",
        "str x27,[sp,#128]\n.seh_save_reg x27,128\n.seh_endprologue\n",
        include_str!($rows),
        ".seh_startepilogue\nldr x27,[sp,#128]\n.seh_save_reg x27,128\n",
        "ldp x25,x26,[sp,#112]\n.seh_save_regp x25,112\nldp x23,x24,[sp,#96]\n.seh_save_regp x23,96\n",
        "ldp x21,x22,[sp,#80]\n.seh_save_regp x21,80\nldp x19,x20,[sp,#64]\n.seh_save_regp x19,64\n",
        "ldp d14,d15,[sp,#48]\n.seh_save_fregp d14,48\nldp d12,d13,[sp,#32]\n.seh_save_fregp d12,32\n",
        "ldp d10,d11,[sp,#16]\n.seh_save_fregp d10,16\nldp d8,d9,[sp,#0]\n.seh_save_fregp d8,0\n",
        "add sp,sp,#144\n.seh_stackalloc 144\n.seh_endepilogue\nret\n.seh_endproc\n",
    ) };
}

#[cfg(not(objects = "coff"))]
#[rustfmt::skip]
macro_rules! saves {
    () => { concat!(
        "hint #34\n", // bti c
        "sub sp,sp,#144\n.cfi_adjust_cfa_offset 144\n",
        "stp d8,d9,[sp,#0]\n.cfi_rel_offset 72,0\n.cfi_rel_offset 73,8\n",
        "stp d10,d11,[sp,#16]\n.cfi_rel_offset 74,16\n.cfi_rel_offset 75,24\n",
        "stp d12,d13,[sp,#32]\n.cfi_rel_offset 76,32\n.cfi_rel_offset 77,40\n",
        "stp d14,d15,[sp,#48]\n.cfi_rel_offset 78,48\n.cfi_rel_offset 79,56\n",
        "stp x19,x20,[sp,#64]\n.cfi_rel_offset 19,64\n.cfi_rel_offset 20,72\n",
        "stp x21,x22,[sp,#80]\n.cfi_rel_offset 21,80\n.cfi_rel_offset 22,88\n",
        "stp x23,x24,[sp,#96]\n.cfi_rel_offset 23,96\n.cfi_rel_offset 24,104\n",
        "stp x25,x26,[sp,#112]\n.cfi_rel_offset 25,112\n.cfi_rel_offset 26,120\n",
        "str x27,[sp,#128]\n.cfi_rel_offset 27,128\n",
    ) };
}

#[cfg(not(objects = "coff"))]
#[rustfmt::skip]
macro_rules! restores {
    () => { concat!(
        "ldr x27,[sp,#128]\n.cfi_restore 27\n",
        "ldp x25,x26,[sp,#112]\n.cfi_restore 25\n.cfi_restore 26\n",
        "ldp x23,x24,[sp,#96]\n.cfi_restore 23\n.cfi_restore 24\n",
        "ldp x21,x22,[sp,#80]\n.cfi_restore 21\n.cfi_restore 22\n",
        "ldp x19,x20,[sp,#64]\n.cfi_restore 19\n.cfi_restore 20\n",
        "ldp d14,d15,[sp,#48]\n.cfi_restore 78\n.cfi_restore 79\n",
        "ldp d12,d13,[sp,#32]\n.cfi_restore 76\n.cfi_restore 77\n",
        "ldp d10,d11,[sp,#16]\n.cfi_restore 74\n.cfi_restore 75\n",
        "ldp d8,d9,[sp,#0]\n.cfi_restore 72\n.cfi_restore 73\n",
        "add sp,sp,#144\n.cfi_adjust_cfa_offset -144\n",
        "ret\n",
    ) };
}
