//! The frame of kernels on 32-bit ARM. It is written as words, because the assembler may support fewer instructions
//! than the CPU. Kernels may use CPU features that the target does not require. They are in the ARM instruction set;
//! callers may use ARM or Thumb.

#[rustfmt::skip]
macro_rules! frame {
    ($name:literal, $rows:literal, "armv6") => { frame!(@ $name, 60,
        ".inst 0xe92d0bf0\n", // push {r4-r9, r11}
        $rows,
        ".inst 0xe8bd0bf0\n") // pop {r4-r9, r11}
    };
    ($name:literal, $rows:literal, $vectors:literal) => { frame!(@ $name, 56,
        ".inst 0xe92d0bf0,0xed2d8b10\n", // push {r4-r9, r11}; vpush {d8-d15}
        $rows,
        ".inst 0xecbd8b10,0xe8bd0bf0\n") // vpop {d8-d15}; pop {r4-r9, r11}
    };
    (@ $name:literal, $skip:literal, $push:literal, $rows:literal, $pop:literal) => { concat!(
        ".pushsection .text.", $name, ",\"ax\",%progbits\n",
        ".arm\n.hidden ", $name, "\n.globl ", $name, "\n.type ", $name, ",%function\n",
        ".p2align 6\n.skip ", $skip, "\n",
        $name, ":\n", $push, include_str!($rows), $pop, ".inst 0xe12fff1e\n", // bx lr
        ".size ", $name, ",.-", $name, "\n.popsection\n",
    ) };
}
