//! QUIC's header protection.

use zeroize::{Zeroize, ZeroizeOnDrop};

use crate::cipher::{wiping, Aes, ChaChaMaskKey, MaskKey};
use crate::dit::Dit;
use crate::kernel::{AesBlocks, ChaCha20Masks};
use crate::level::{Usable, AES_BLOCKS, CHACHA20MASKS};
use crate::{Algorithm, Error};

/// A key of QUIC's header protection (RFC 9001, section 5.4), and the level that was chosen for it. It is wiped when it is
/// dropped.
///
/// ```
/// use sealane::{Algorithm, HeaderKey};
///
/// # fn main() -> Result<(), sealane::Error> {
/// let key = HeaderKey::new(Algorithm::Aes128Gcm, &[7; 16])?; // derived from the secret, as "quic hp"
/// let sample = [9; 16]; // of the packet's ciphertext
/// let mask = key.mask(&sample);
/// let mut first = 0xc3_u8;
/// first ^= mask[0] & 0x0f; // of a long header; mask[1..] goes on the packet number
/// # assert_eq!(mask, key.mask(&sample));
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct HeaderKey {
    algorithm: Algorithm,
    key: MaskKey,
}

impl ZeroizeOnDrop for HeaderKey {}

impl core::fmt::Debug for HeaderKey {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("HeaderKey")
            .field("algorithm", &self.algorithm)
            .field("level", &self.level())
            .finish_non_exhaustive()
    }
}

/// A level for a key.
#[derive(Clone, Copy)]
enum Level {
    ChaCha(Usable<ChaCha20Masks>),
    Aes(Usable<AesBlocks>),
}

impl Level {
    /// The level of a name, or without one that of this process, for a key of the right length.
    #[inline(never)]
    fn of(algorithm: Algorithm, key: &[u8], name: Option<&str>) -> Result<Level, Error> {
        match algorithm {
            _ if key.len() != algorithm.key_len() => Err(Error::InvalidKey),
            Algorithm::ChaCha20Poly1305 => CHACHA20MASKS.of_process_or(name).map(Level::ChaCha),
            Algorithm::Aes128Gcm | Algorithm::Aes256Gcm => AES_BLOCKS.of_process_or(name).map(Level::Aes),
            _ => Err(Error::InvalidKey),
        }
    }
}

impl HeaderKey {
    /// Makes a key ready for use: for the packets of `algorithm`, which is ChaCha20-Poly1305, AES-128-GCM or AES-256-GCM.
    /// The first key in a process picks the level, as [`Key::new`](crate::Key::new) does.
    ///
    /// # Errors
    /// [`Error::InvalidKey`] if `key` does not have [`Algorithm::key_len`] bytes, or QUIC does not have the algorithm;
    /// [`Error::NoLevel`] if nothing works here.
    pub fn new(algorithm: Algorithm, key: &[u8]) -> Result<HeaderKey, Error> {
        let level = Level::of(algorithm, key, None)?;
        HeaderKey::at(algorithm, key, level)
    }

    /// The same with a level of the caller's choice, for tests: [`levels`](HeaderKey::levels) has their names.
    ///
    /// # Errors
    /// As for `new`, and [`Error::InvalidLevel`] if there is no such level of this algorithm, or it does not work on this CPU.
    pub fn with_level(algorithm: Algorithm, key: &[u8], level: &str) -> Result<HeaderKey, Error> {
        let level = Level::of(algorithm, key, Some(level))?;
        HeaderKey::at(algorithm, key, level)
    }

    // By itself, as what chooses a level needs stack of its own.
    #[inline(never)]
    fn at(algorithm: Algorithm, key: &[u8], level: Level) -> Result<HeaderKey, Error> {
        wiping(|| {
            let made = match level {
                Level::ChaCha(level) => MaskKey::ChaCha(ChaChaMaskKey { key: [0; 32], level }),
                Level::Aes(level) => MaskKey::Aes(Aes::unset(key, Ok(level))?),
            };
            let mut made = HeaderKey { algorithm, key: made };
            made.key.set(key);
            Ok(made)
        })
    }

    /// The levels of the masks of an algorithm, best first, and whether they work on this CPU; none if QUIC does not have
    /// the algorithm.
    pub fn levels(algorithm: Algorithm) -> impl Iterator<Item = (&'static str, bool)> {
        let works = match algorithm {
            Algorithm::ChaCha20Poly1305 => Some(CHACHA20MASKS.works()),
            Algorithm::Aes128Gcm | Algorithm::Aes256Gcm => Some(AES_BLOCKS.works()),
            _ => None,
        };
        works.into_iter().flatten()
    }

    /// The name of the level that the key uses.
    pub fn level(&self) -> &'static str {
        self.key.level()
    }

    /// The mask for a sample: its first byte for the first byte of the packet, the others for the packet number.
    pub fn mask(&self, sample: &[u8; 16]) -> [u8; 5] {
        let _dit = Dit::on();
        let mut mask = [0; 5];
        self.write_mask(sample, &mut mask);
        mask
    }

    // By itself, as registers that return or keep a mask have room for more of the block.
    #[inline(never)]
    fn write_mask(&self, sample: &[u8; 16], mask: &mut [u8; 5]) {
        let mut whole = [0; 16];
        self.key.mask(sample, &mut whole);
        mask.copy_from_slice(&whole[..5]);
        whole.zeroize();
    }
}
