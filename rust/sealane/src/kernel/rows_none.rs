//! No kernels.

use super::{AesBlocks, AesGcm, ChaCha20Masks, ChaCha20Poly1305, Level, Microarchitecture};

pub(crate) static MICROARCHITECTURES: &[Microarchitecture] = &[];
pub(crate) static CHACHA20POLY1305: [Level<ChaCha20Poly1305>; 0] = [];
pub(crate) static AESGCM: [Level<AesGcm>; 0] = [];
pub(crate) static AES_BLOCKS: [Level<AesBlocks>; 0] = [];
pub(crate) static CHACHA20MASKS: [Level<ChaCha20Masks>; 0] = [];
