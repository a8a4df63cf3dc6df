//! QUIC header protection.

use zeroize::{Zeroize, ZeroizeOnDrop};

use crate::cipher::{wiping, Aes, ChaChaMaskKey, MaskKey};
use crate::dit::Dit;
use crate::kernel::{AesBlocks, ChaCha20Masks, Usable};
use crate::level::{AES_BLOCKS, CHACHA20MASKS};
use crate::{Algorithm, Error};

/// A QUIC header protection key (RFC 9001, section 5.4) with the level that was chosen for it. It is wiped when it is
/// dropped.
///
/// ```
/// use sealane::{Algorithm, HeaderKey};
///
/// # fn main() -> Result<(), sealane::Error> {
/// let key = HeaderKey::new(Algorithm::Aes128Gcm, &[7; 16])?; // derived from the secret with the label "quic hp"
/// let sample = [9; 16]; // from the packet's ciphertext
/// let mask = key.mask(&sample);
/// let mut first = 0xc3_u8;
/// first ^= mask[0] & 0x0f; // for a long header; XOR mask[1..] with the packet number
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
    /// The level with a given name, or that of this process if there is none, for a key of the right length.
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
    /// Makes a key for packets of `algorithm`, which is ChaCha20-Poly1305, AES-128-GCM or AES-256-GCM. The first key in
    /// a process chooses the level, as in [`Key::new`](crate::Key::new).
    ///
    /// # Errors
    /// [`Error::InvalidKey`] if `key` does not have [`Algorithm::key_len`] bytes, or QUIC does not use the algorithm;
    /// [`Error::NoLevel`] if no level works on this CPU.
    pub fn new(algorithm: Algorithm, key: &[u8]) -> Result<HeaderKey, Error> {
        let level = Level::of(algorithm, key, None)?;
        HeaderKey::at(algorithm, key, level)
    }

    /// Like `new`, with a given level, for tests. [`levels`](HeaderKey::levels) lists the names.
    ///
    /// # Errors
    /// Those of `new`, and [`Error::InvalidLevel`] if the level does not exist for this algorithm or does not work on
    /// this CPU.
    pub fn with_level(algorithm: Algorithm, key: &[u8], level: &str) -> Result<HeaderKey, Error> {
        let level = Level::of(algorithm, key, Some(level))?;
        HeaderKey::at(algorithm, key, level)
    }

    // A separate function, because choosing a level takes stack space of its own.
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

    /// The levels of an algorithm's masks, best first, and whether they work on this CPU. Empty if QUIC does not use
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

    /// The mask for a sample. XOR its first byte with the first byte of the packet, after masking it with 0x0f for a
    /// long header or 0x1f for a short one. XOR the others with the packet number.
    pub fn mask(&self, sample: &[u8; 16]) -> [u8; 5] {
        let _dit = Dit::on();
        let mut mask = [0; 5];
        self.write_mask(sample, &mut mask);
        mask
    }

    // A separate function, because registers that return or hold a mask can contain more of the block.
    #[inline(never)]
    fn write_mask(&self, sample: &[u8; 16], mask: &mut [u8; 5]) {
        let mut whole = [0; 16];
        self.key.mask(sample, &mut whole);
        mask.copy_from_slice(&whole[..5]);
        whole.zeroize();
    }
}
