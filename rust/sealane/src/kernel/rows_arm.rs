//! The levels of 32-bit ARM, best first. The numbers of batches are those of the C library (src/level.c).

use super::{arm as k, Kernel};
use crate::cpu::*;
use crate::level::{Batch, Level};

pub(crate) static CHACHA20POLY1305: [Level; 2] = [
    Level {
        name: "neon",
        needs: NEON,
        kernel: Some(Kernel { code: k::chacha20poly1305_neon, constants: &k::CHACHA20POLY1305_NEON_CONSTANTS.0 }),
        batch: Some(Batch {
            kernel: Kernel {
                code: k::chacha20poly1305_batch_neon,
                constants: &k::CHACHA20POLY1305_BATCH_NEON_CONSTANTS.0,
            },
            group: 0,
            few: 3,
            from: &[4, 4, 3, 3, 4, 4, 3, 3, 4, 4, 4, 6, 6, 6],
        }),
        timed: false,
    },
    Level {
        name: "armv6",
        needs: ARMV6,
        kernel: Some(Kernel { code: k::chacha20poly1305_armv6, constants: &k::CHACHA20POLY1305_ARMV6_CONSTANTS.0 }),
        batch: None,
        timed: false,
    },
];

pub(crate) static AESGCM: [Level; 3] = [
    Level {
        name: "ce32",
        needs: NEON | AES | PMULL,
        kernel: Some(Kernel { code: k::aesgcm_ce32, constants: &k::AESGCM_CE32_CONSTANTS.0 }),
        batch: None,
        timed: false,
    },
    Level {
        name: "neon",
        needs: NEON,
        kernel: Some(Kernel { code: k::aesgcm_neon, constants: &k::AESGCM_NEON_CONSTANTS.0 }),
        batch: None,
        timed: false,
    },
    Level {
        name: "armv6",
        needs: ARMV6,
        kernel: Some(Kernel { code: k::aesgcm_armv6, constants: &k::AESGCM_ARMV6_CONSTANTS.0 }),
        batch: None,
        timed: false,
    },
];

pub(crate) static AES_BLOCKS: [Level; 3] = [
    Level {
        name: "ce32",
        needs: NEON | AES,
        kernel: Some(Kernel { code: k::aes_ce32, constants: &k::AES_CE32_CONSTANTS.0 }),
        batch: None,
        timed: false,
    },
    Level {
        name: "neon",
        needs: NEON,
        kernel: Some(Kernel { code: k::aes_neon, constants: &k::AES_NEON_CONSTANTS.0 }),
        batch: None,
        timed: false,
    },
    Level {
        name: "armv6",
        needs: ARMV6,
        kernel: Some(Kernel { code: k::aes_armv6, constants: &k::AES_ARMV6_CONSTANTS.0 }),
        batch: None,
        timed: false,
    },
];

pub(crate) static CHACHA20MASKS: [Level; 0] = [];
