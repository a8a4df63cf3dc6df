//! ChaCha20 without authentication.

use zeroize::{Zeroize, ZeroizeOnDrop};

use crate::cipher::wiping;
use crate::dit::Dit;
use crate::kernel::{ChaCha20Poly1305, Text, Usable};
use crate::level::CHACHA20POLY1305;
use crate::Error;

const BLOCK_LEN: u64 = 64;

/// A key of the original ChaCha20 (D. J. Bernstein, "ChaCha, a variant of Salsa20", 2008), which has a 64-bit counter
/// and a 64-bit nonce; RFC 8439 has 32 and 96 bits. It is wiped when it is dropped.
///
/// ChaCha20 alone does not authenticate. Use [`Key`](crate::Key) unless a protocol or format requires this cipher; in
/// that case verify a MAC over the ciphertext before decrypting.
///
/// ```
/// use sealane::ChaCha20Key;
///
/// # fn main() -> Result<(), sealane::Error> {
/// let key = ChaCha20Key::new(&[7; 32])?; // use your own key
/// let mut text = *b"a text";
/// key.apply(b"a nonce ", 0, &mut text)?;
/// key.apply(b"a nonce ", 0, &mut text)?;
/// assert_eq!(&text, b"a text");
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct ChaCha20Key {
    key: [u8; 32],
    level: Usable<ChaCha20Poly1305>,
}

impl Drop for ChaCha20Key {
    fn drop(&mut self) {
        self.key.zeroize();
    }
}

impl ZeroizeOnDrop for ChaCha20Key {}

impl core::fmt::Debug for ChaCha20Key {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("ChaCha20Key").field("level", &self.level.name()).finish_non_exhaustive()
    }
}

impl ChaCha20Key {
    /// Makes a key of 32 bytes. The first key in a process chooses the level, as in [`Key::new`](crate::Key::new).
    ///
    /// # Errors
    /// [`Error::InvalidKey`] for other lengths; [`Error::NoLevel`] if no level works on this CPU.
    pub fn new(key: &[u8]) -> Result<ChaCha20Key, Error> {
        ChaCha20Key::at(key, CHACHA20POLY1305.of_process())
    }

    /// Like `new`, with a given level, for tests. [`levels`](crate::levels) of ChaCha20-Poly1305 lists the names.
    ///
    /// # Errors
    /// Those of `new`, and [`Error::InvalidLevel`] if the level does not exist or does not work on this CPU.
    pub fn with_level(key: &[u8], level: &str) -> Result<ChaCha20Key, Error> {
        ChaCha20Key::at(key, CHACHA20POLY1305.named(level))
    }

    fn at(key: &[u8], level: Result<Usable<ChaCha20Poly1305>, Error>) -> Result<ChaCha20Key, Error> {
        wiping(|| {
            let key = key.try_into().map_err(|_| Error::InvalidKey)?;
            Ok(ChaCha20Key { key, level: level? })
        })
    }

    /// Encrypts or decrypts a text in place, which is the same operation. `counter` is the number of the first 64-byte
    /// block, usually 0. A text may be split over several calls; each call except the last takes whole blocks. Never
    /// use a block twice with one nonce: equal key streams reveal the XOR of both texts.
    ///
    /// # Errors
    /// [`Error::TooLong`] if the counter after the text would be 2^64 or more. `text` is unchanged.
    pub fn apply(&self, nonce: &[u8; 8], mut counter: u64, mut text: &mut [u8]) -> Result<(), Error> {
        let _dit = Dit::on();
        if (text.len() as u64).div_ceil(BLOCK_LEN) > u64::MAX - counter {
            return Err(Error::TooLong);
        }
        // The first 4 bytes of an RFC 8439 nonce hold the upper half of the counter here. Kernels count with 32 bits,
        // so each part ends where that counter wraps around.
        let mut long = [0; 12];
        long[4..].copy_from_slice(nonce);
        while !text.is_empty() {
            let blocks = (1 << 32) - (counter & 0xffff_ffff);
            let n = usize::try_from(BLOCK_LEN * blocks).map_or(text.len(), |most| most.min(text.len()));
            let (part, rest) = core::mem::take(&mut text).split_at_mut(n);
            long[..4].copy_from_slice(&((counter >> 32) as u32).to_le_bytes());
            self.level.stream(&self.key, &long, counter as u32, &mut Text::in_place(part));
            counter = counter.saturating_add(blocks); // the next iteration only follows a whole part
            text = rest;
        }
        Ok(())
    }
}
