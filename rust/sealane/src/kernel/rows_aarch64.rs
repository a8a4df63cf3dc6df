//! The levels of 64-bit ARM, best first. The numbers of batches are those of the C library (src/level.c).

use super::{aarch64 as k, Kernel};
use crate::cpu::*;
use crate::level::{Batch, Level};

const BATCH: Kernel = Kernel { code: k::chacha20poly1305_batch_neon, constants: &[] };

pub(crate) static CHACHA20POLY1305: [Level; 2] = [
    Level {
        name: "neon6",
        needs: NEON,
        kernel: Some(Kernel { code: k::chacha20poly1305_neon6, constants: &k::CHACHA20POLY1305_NEON6_CONSTANTS.0 }),
        batch: Some(Batch {
            kernel: Kernel { constants: &k::CHACHA20POLY1305_BATCH_NEON_CONSTANTS.0, ..BATCH },
            group: 0,
            few: 2,
            from: &[2, 3, 3, 8],
        }),
        timed: true,
    },
    Level {
        name: "neon",
        needs: NEON,
        kernel: Some(Kernel { code: k::chacha20poly1305_neon, constants: &k::CHACHA20POLY1305_NEON_CONSTANTS.0 }),
        batch: Some(Batch {
            kernel: Kernel { constants: &k::CHACHA20POLY1305_BATCH_NEON_CONSTANTS.0, ..BATCH },
            group: 0,
            few: 2,
            from: &[2, 2, 2, 2, 2, 4, 4, 4, 4, 4, 4],
        }),
        timed: true,
    },
];

pub(crate) static AESGCM: [Level; 2] = [
    Level {
        name: "ce",
        needs: NEON | AES | PMULL,
        kernel: Some(Kernel { code: k::aesgcm_ce, constants: &k::AESGCM_CE_CONSTANTS.0 }),
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
];

pub(crate) static AES_BLOCKS: [Level; 2] = [
    Level {
        name: "ce",
        needs: NEON | AES,
        kernel: Some(Kernel { code: k::aes_ce, constants: &k::AES_CE_CONSTANTS.0 }),
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
];

pub(crate) static CHACHA20MASKS: [Level; 0] = [];
