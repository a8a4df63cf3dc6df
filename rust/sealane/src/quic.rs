//! QUIC's header protection.

use zeroize::{Zeroize, ZeroizeOnDrop};

use crate::cipher::MaskState;
use crate::dit::Dit;
use crate::level::{Table, Usable, AES_BLOCKS, CHACHA20MASKS};
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
    level: Usable,
    state: MaskState,
}

impl Drop for HeaderKey {
    fn drop(&mut self) {
        self.state.zeroize();
    }
}

impl ZeroizeOnDrop for HeaderKey {}

impl core::fmt::Debug for HeaderKey {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("HeaderKey")
            .field("algorithm", &self.algorithm)
            .field("level", &self.level.name())
            .finish_non_exhaustive()
    }
}

fn table(algorithm: Algorithm) -> Option<&'static Table> {
    match algorithm {
        Algorithm::ChaCha20Poly1305 => Some(&CHACHA20MASKS),
        Algorithm::Aes128Gcm | Algorithm::Aes256Gcm => Some(&AES_BLOCKS),
        _ => None,
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
        let table = table(algorithm).filter(|_| key.len() == algorithm.key_len()).ok_or(Error::InvalidKey)?;
        HeaderKey::at(algorithm, key, table.of_process()?)
    }

    /// The same with a level of the caller's choice, for tests: [`levels`](HeaderKey::levels) has their names.
    ///
    /// # Errors
    /// As for `new`, and [`Error::InvalidLevel`] if there is no such level of this algorithm, or it does not work on this CPU.
    pub fn with_level(algorithm: Algorithm, key: &[u8], level: &str) -> Result<HeaderKey, Error> {
        let table = table(algorithm).filter(|_| key.len() == algorithm.key_len()).ok_or(Error::InvalidKey)?;
        HeaderKey::at(algorithm, key, table.named(level)?)
    }

    fn at(algorithm: Algorithm, key: &[u8], level: Usable) -> Result<HeaderKey, Error> {
        let _dit = Dit::on();
        let mut made = match algorithm {
            Algorithm::ChaCha20Poly1305 => Some(MaskState::ChaCha([0; 32])),
            _ => MaskState::unset_aes(level, key),
        }
        .map(|state| HeaderKey { algorithm, level, state })
        .ok_or(Error::NoLevel);
        if let Ok(place) = &mut made {
            place.state.set(level, key);
        }
        made
    }

    /// The levels of the masks of an algorithm, best first, and whether they work on this CPU; none if QUIC does not have
    /// the algorithm.
    pub fn levels(algorithm: Algorithm) -> impl Iterator<Item = (&'static str, bool)> {
        let all = |table: &'static Table| {
            table.levels().map(move |(place, level)| (level.name, table.usable(place, level).is_some()))
        };
        table(algorithm).into_iter().flat_map(all)
    }

    /// The name of the level that the key uses.
    pub fn level(&self) -> &'static str {
        self.level.name()
    }

    /// The mask for a sample: its first byte for the first byte of the packet, the others for the packet number.
    pub fn mask(&self, sample: &[u8; 16]) -> [u8; 5] {
        let _dit = Dit::on();
        let mut whole = self.state.mask(self.level, sample);
        let mut mask = [0; 5];
        mask.copy_from_slice(&whole[..5]);
        whole.zeroize();
        mask
    }
}
