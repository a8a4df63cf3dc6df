//! What kernels are called with: a structure for each of their three kinds, with the layout of asm/args.h. Every slot has
//! 8 bytes, and pointers are addresses in them.

use core::mem::{offset_of, size_of};

use super::layout::*;

/// A structure of the kernel's kind.
pub(crate) type Args = core::ffi::c_void;

/// A packet, or a part of one.
#[derive(Clone, Copy, Default)]
#[repr(C)]
pub(super) struct PacketArgs {
    pub(super) out: u64,
    pub(super) input: u64,
    pub(super) bytes: u64,
    pub(super) ad: u64,
    pub(super) ad_bytes: u64,
    pub(super) key: u64,
    pub(super) nonce: u64,
    pub(super) tag: u64,
    pub(super) state: u64,
    pub(super) total: u64,
    pub(super) flags: u64,
}

/// Many packets: `flags` are `FLAG_OPEN` or 0.
#[derive(Default)]
#[repr(C)]
pub(super) struct BatchArgs {
    pub(super) unused: u64,
    pub(super) lanes: u64,
    pub(super) count: u64,
    pub(super) none: [u64; 7],
    pub(super) flags: u64,
}

/// One packet of them.
#[derive(Clone, Copy, Default)]
#[repr(C, align(64))]
pub(super) struct Lane {
    pub(super) out: u64,
    pub(super) input: u64,
    pub(super) bytes: u64,
    pub(super) ad: u64,
    pub(super) ad_bytes: u64,
    pub(super) key: u64,
    pub(super) nonce: u64,
    pub(super) tag: u64,
}

/// AES in the modes that do not authenticate: a text, or a key that is set up.
#[derive(Default)]
#[repr(C)]
pub(super) struct ModeArgs {
    pub(super) out: u64,
    pub(super) input: u64,
    pub(super) bytes: u64,
    pub(super) unused: [u64; 2],
    pub(super) key: u64,
    pub(super) none: [u64; 2],
    pub(super) state: u64,
    pub(super) nor: u64,
    pub(super) operation: u64,
}

/// The same of lanes, and masks.
#[derive(Default)]
#[repr(C)]
pub(super) struct ModeLanesArgs {
    pub(super) unused: u64,
    pub(super) lanes: u64,
    pub(super) count: u64,
    pub(super) none: [u64; 6],
    pub(super) bytes_each: u64,
    pub(super) operation: u64,
}

/// A text or a sample, with its own key.
#[derive(Default)]
#[repr(C, align(64))]
pub(super) struct ModeLane {
    pub(super) out: u64,
    pub(super) input: u64,
    pub(super) unused: [u64; 3],
    pub(super) key: u64,
    pub(super) chain: u64,
    pub(super) none: u64,
}

/// Fails to compile where a field is not at its offset.
macro_rules! layout {
    ($($structure:ident: $bytes:expr, $($field:ident $offset:expr),*;)*) => {
        $(const _: () = assert!(size_of::<$structure>() == $bytes);
        $(const _: () = assert!(offset_of!($structure, $field) == $offset);)*)*
    };
}

layout! {
    PacketArgs: ARGS_BYTES, out ARG_OUT, input ARG_IN, bytes ARG_BYTES, ad ARG_AD, ad_bytes ARG_AD_BYTES, key ARG_KEY,
        nonce ARG_NONCE, tag ARG_TAG, state ARG_STATE, total ARG_TOTAL, flags ARG_FLAGS;
    BatchArgs: ARGS_BYTES, lanes BATCH_LANES, count BATCH_COUNT, flags BATCH_FLAGS;
    Lane: LANE_STRIDE, out LANE_OUT, input LANE_IN, bytes LANE_BYTES, ad LANE_AD, ad_bytes LANE_AD_BYTES, key LANE_KEY,
        nonce LANE_NONCE, tag LANE_TAG;
    ModeArgs: ARGS_BYTES, out MODE_OUT, input MODE_IN, bytes MODE_BYTES, key MODE_KEY, state MODE_STATE,
        operation MODE_OPERATION;
    ModeLanesArgs: ARGS_BYTES, lanes MODE_LANES, count MODE_COUNT, bytes_each MODE_BYTES_EACH,
        operation MODE_OPERATION;
    ModeLane: LANE_STRIDE, out MODE_LANE_OUT, input MODE_LANE_IN, key MODE_LANE_KEY, chain MODE_LANE_CHAIN;
}
