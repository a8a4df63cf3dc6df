//! No kernels.

use crate::level::{Level, Microarchitecture};

pub(crate) static MICROARCHITECTURES: &[Microarchitecture] = &[];
pub(crate) static CHACHA20POLY1305: [Level; 0] = [];
pub(crate) static AESGCM: [Level; 0] = [];
pub(crate) static AES_BLOCKS: [Level; 0] = [];
pub(crate) static CHACHA20MASKS: [Level; 0] = [];
