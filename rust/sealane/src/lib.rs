//! Seals and opens network packets with ChaCha20-Poly1305, XChaCha20-Poly1305 and AES-GCM. Hand-written kernels exist
//! for each CPU level of x86-64, 64-bit ARM, 32-bit ARM Linux and 64-bit RISC-V; other CPUs use RustCrypto's crates.
//! Building requires only cargo and rustc, no C compiler.
//!
//! ```
//! use sealane::{Algorithm, Key};
//!
//! # fn main() -> Result<(), sealane::Error> {
//! let key = Key::new(Algorithm::ChaCha20Poly1305, &[7; 32])?; // yours
//! let mut packet = *b"a packet";
//! let tag = key.seal_in_place(&[1; 12], b"its header", &mut packet)?; // a nonce is used once
//! key.open_in_place(&[1; 12], b"its header", &mut packet, &tag)?;
//! assert_eq!(&packet, b"a packet");
//! # Ok(())
//! # }
//! ```
//!
//! # Conventions of all functions Errors are values ([`Error`]), and nothing panics. A caller's mistake writes nothing.
//! A forgery leaves a separate output zeroed; in place, it leaves the original ciphertext, so that another key can be
//! tried. Threads may share keys. Keys are wiped when they are dropped. No packet allocates memory or takes a lock.
//! Running time and memory addresses depend on lengths only.
//!
//! # Features
//! - `std` (default): detects ARM's features through the operating system, and reads `SEALANE_CPU` and `SEALANE_ASM`.
//! - `portable` (default): the level for CPUs without a kernel, from RustCrypto's crates.
//! - `aead` (default): the traits of the `aead` crate, version 0.6, in the modules [`chacha20poly1305`] and [`aes_gcm`], with
//!   the names of RustCrypto's crates `chacha20poly1305` and `aes-gcm`. `aead05` is the same for version 0.5.
//! - `alloc`, `getrandom` (both default), `arrayvec`, `bytes`, `rand_core`: the features of the `aead` crate.
#![cfg_attr(not(feature = "std"), no_std)]
#![deny(unsafe_code, unsafe_op_in_unsafe_fn, missing_docs, unused_must_use)]
#![warn(clippy::undocumented_unsafe_blocks)]
#![warn(rust_2018_idioms)]

mod batch;
mod ccm;
mod chacha20;
mod cipher;
mod cpu;
mod dit;
mod error;
mod gcmsiv;
mod kernel;
mod key;
mod level;
#[cfg(feature = "portable")]
mod portable;
mod quic;
mod scatter;
mod selftest;
mod ssh;
#[cfg(any(feature = "aead", feature = "aead05"))]
mod traits;

pub use batch::{open_batch, seal_batch, Direction, Open, Packet, Seal};
pub use ccm::{ccm_open_batch, ccm_seal_batch, cmac_batch, CcmKey, CcmPacket, Cmac, CmacKey, CmacText};
pub use chacha20::ChaCha20Key;
pub use error::Error;
pub use gcmsiv::GcmSivKey;
pub use kernel::Text;
pub use key::{Algorithm, Key, TAG_LEN};
pub use level::{set_max_level, warning};
use level::{AESGCM, CHACHA20POLY1305};
pub use quic::HeaderKey;
pub use ssh::SshKey;
#[cfg(feature = "aead05")]
pub use traits::aead05;
#[cfg(feature = "aead")]
pub use traits::{aes_gcm, chacha20poly1305};

/// The levels of an algorithm on this instruction set, best first, as names and whether they work on this CPU.
///
/// The first call for an algorithm runs the known-answer tests of all its levels.
pub fn levels(algorithm: Algorithm) -> impl Iterator<Item = (&'static str, bool)> {
    match algorithm {
        Algorithm::ChaCha20Poly1305 | Algorithm::XChaCha20Poly1305 => CHACHA20POLY1305.works(),
        _ => AESGCM.works(),
    }
}

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
