//! The levels of x86-64, best first. The numbers of batches were found as src/level.c says: avx512's on Zen 5, the others modelled,
//! of Zen 3 and Skylake.

use super::layout::*;
use super::{x86_64 as k, Args, Kernel};
use crate::cpu::*;
use crate::level::{Batch, Level};

/// Two kernels as one level: whole packets leave no state, so `avx512vl` does the short ones, and `avx512` all else.
#[allow(unsafe_code)]
unsafe extern "sysv64" fn chacha20poly1305_avx512mix(args: *const Args, scratch: *mut u8, constants: *const u8) {
    const WHOLE: u64 = (FLAG_FIRST | FLAG_LAST) as u64;
    let slots = &(*args).0;
    if slots[ARG_FLAGS / 8] & WHOLE == WHOLE && slots[ARG_BYTES / 8] <= 256 {
        k::chacha20poly1305_avx512vl(args, scratch, k::CHACHA20POLY1305_AVX512VL_CONSTANTS.0.as_ptr());
    } else {
        k::chacha20poly1305_avx512(args, scratch, constants);
    }
}

pub(crate) static CHACHA20POLY1305: [Level; 5] = [
    Level {
        name: "avx512",
        needs: BMI | BMI2 | AVX2 | AVX512F | AVX512VL | AVX512BW | AVX512IFMA,
        kernel: Some(Kernel { code: k::chacha20poly1305_avx512, constants: &k::CHACHA20POLY1305_AVX512_CONSTANTS.0 }),
        batch: Some(Batch {
            kernel: Kernel {
                code: k::chacha20poly1305_batch_avx512,
                constants: &k::CHACHA20POLY1305_BATCH_AVX512_CONSTANTS.0,
            },
            group: 0,
            few: 3,
            from: &[
                3, 3, 3, 3, 3, 3, 3, 4, 4, 4, 4, 4, 5, 5, 5, 6, 5, 5, 6, 6, 7, 7, 7, 11, 10, 6, 6, 6, 11, 11, 11, 13,
            ],
        }),
        timed: true,
    },
    Level {
        name: "avx512mix",
        needs: SSSE3 | SSE41 | BMI | BMI2 | AVX2 | AVX512F | AVX512VL | AVX512BW | AVX512IFMA,
        kernel: Some(Kernel { code: chacha20poly1305_avx512mix, constants: &k::CHACHA20POLY1305_AVX512_CONSTANTS.0 }),
        batch: Some(Batch {
            kernel: Kernel {
                code: k::chacha20poly1305_batch_avx512,
                constants: &k::CHACHA20POLY1305_BATCH_AVX512_CONSTANTS.0,
            },
            group: 0,
            few: 3,
            from: &[
                3, 3, 3, 3, 3, 3, 3, 4, 4, 4, 4, 4, 5, 5, 5, 6, 5, 5, 6, 6, 7, 7, 7, 11, 10, 6, 6, 6, 11, 11, 11, 13,
            ],
        }),
        timed: true,
    },
    Level {
        name: "avx512vl",
        needs: SSSE3 | SSE41 | BMI2 | AVX2 | AVX512F | AVX512VL,
        kernel: Some(Kernel {
            code: k::chacha20poly1305_avx512vl,
            constants: &k::CHACHA20POLY1305_AVX512VL_CONSTANTS.0,
        }),
        batch: Some(Batch {
            kernel: Kernel {
                code: k::chacha20poly1305_batch_avx2,
                constants: &k::CHACHA20POLY1305_BATCH_AVX2_CONSTANTS.0,
            },
            group: 0,
            few: 4,
            from: &[4, 4, 4, 4, 4, 4, 8],
        }),
        timed: true,
    },
    Level {
        name: "avx2",
        needs: SSSE3 | SSE41 | BMI2 | AVX2,
        kernel: Some(Kernel { code: k::chacha20poly1305_avx2, constants: &k::CHACHA20POLY1305_AVX2_CONSTANTS.0 }),
        batch: Some(Batch {
            kernel: Kernel {
                code: k::chacha20poly1305_batch_avx2,
                constants: &k::CHACHA20POLY1305_BATCH_AVX2_CONSTANTS.0,
            },
            group: 0,
            few: 2,
            from: &[3, 3, 2, 2, 3, 3, 3, 2, 3, 3, 4, 4, 4, 4, 8, 8, 8],
        }),
        timed: true,
    },
    Level {
        name: "ssse3",
        needs: SSSE3,
        kernel: Some(Kernel { code: k::chacha20poly1305_ssse3, constants: &k::CHACHA20POLY1305_SSSE3_CONSTANTS.0 }),
        batch: None,
        timed: false,
    },
];

pub(crate) static AESGCM: [Level; 4] = [
    Level {
        name: "avx512",
        needs: BMI2 | AES | PCLMUL | VAES | VPCLMULQDQ | AVX2 | AVX512F | AVX512VL | AVX512BW,
        kernel: Some(Kernel { code: k::aesgcm_avx512, constants: &k::AESGCM_AVX512_CONSTANTS.0 }),
        batch: Some(Batch {
            kernel: Kernel { code: k::aesgcm_batch_avx512, constants: &k::AESGCM_BATCH_AVX512_CONSTANTS.0 },
            group: 4,
            few: 4,
            from: &[8, 8, 8, 8, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4],
        }),
        timed: false,
    },
    Level {
        name: "avx2",
        needs: AVX2 | AES | PCLMUL | VAES | VPCLMULQDQ,
        kernel: Some(Kernel { code: k::aesgcm_avx2, constants: &k::AESGCM_AVX2_CONSTANTS.0 }),
        batch: None,
        timed: false,
    },
    Level {
        name: "aesniavx",
        needs: AVX | AES | PCLMUL,
        kernel: Some(Kernel { code: k::aesgcm_aesniavx, constants: &k::AESGCM_AESNIAVX_CONSTANTS.0 }),
        batch: None,
        timed: false,
    },
    Level {
        name: "aesni",
        needs: SSSE3 | SSE41 | AES | PCLMUL,
        kernel: Some(Kernel { code: k::aesgcm_aesni, constants: &k::AESGCM_AESNI_CONSTANTS.0 }),
        batch: None,
        timed: false,
    },
];

pub(crate) static AES_BLOCKS: [Level; 3] = [
    Level {
        name: "avx512",
        needs: AES | PCLMUL | VAES | VPCLMULQDQ | AVX2 | AVX512F | AVX512VL | AVX512BW,
        kernel: Some(Kernel { code: k::aes_avx512, constants: &k::AES_AVX512_CONSTANTS.0 }),
        batch: None,
        timed: false,
    },
    Level {
        name: "avx2",
        needs: AVX2 | AES | PCLMUL | VAES | VPCLMULQDQ,
        kernel: Some(Kernel { code: k::aes_avx2, constants: &k::AES_AVX2_CONSTANTS.0 }),
        batch: None,
        timed: false,
    },
    Level {
        name: "aesni",
        needs: SSSE3 | SSE41 | AES | PCLMUL,
        kernel: Some(Kernel { code: k::aes_aesni, constants: &k::AES_AESNI_CONSTANTS.0 }),
        batch: None,
        timed: false,
    },
];

pub(crate) static CHACHA20MASKS: [Level; 2] = [
    Level {
        name: "avx512",
        needs: AVX2 | AVX512F,
        kernel: Some(Kernel { code: k::chacha20masks_avx512, constants: &k::CHACHA20MASKS_AVX512_CONSTANTS.0 }),
        batch: None,
        timed: false,
    },
    Level {
        name: "avx2",
        needs: AVX2,
        kernel: Some(Kernel { code: k::chacha20masks_avx2, constants: &k::CHACHA20MASKS_AVX2_CONSTANTS.0 }),
        batch: None,
        timed: false,
    },
];
