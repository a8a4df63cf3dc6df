use zeroize::{Zeroize, ZeroizeOnDrop};

use crate::cipher::{hchacha20, same_tag, wiping, Gcm};
use crate::dit::Dit;
use crate::kernel::{bytes_of_tag, tag_of_bytes, AesGcm, CallNonce, ChaCha20Poly1305, Tag, Text, Usable};
use crate::level::{AESGCM, CHACHA20POLY1305};
use crate::Error;

/// The size of a tag, in bytes.
pub const TAG_LEN: usize = 16;

/// An algorithm.
///
/// ```
/// use sealane::Algorithm;
///
/// assert_eq!((Algorithm::Aes256Gcm.key_len(), Algorithm::Aes256Gcm.nonce_len()), (32, 12));
/// for (level, works) in sealane::levels(Algorithm::Aes256Gcm) {
///     println!("{level}: {works}");
/// }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Algorithm {
    /// RFC 8439: 32-byte keys, 12-byte nonces, at most 2^38 - 64 bytes of text.
    ChaCha20Poly1305,
    /// draft-irtf-cfrg-xchacha-03: 32-byte keys, 24-byte nonces (long enough to be random), at most 2^38 - 64 bytes of
    /// text.
    XChaCha20Poly1305,
    /// NIST SP 800-38D: 16-byte keys, 12-byte nonces (other lengths from 1 byte on work, but slower), at most 2^36 - 32
    /// bytes of text.
    Aes128Gcm,
    /// Like [`Aes128Gcm`](Algorithm::Aes128Gcm), with 24-byte keys.
    Aes192Gcm,
    /// Like [`Aes128Gcm`](Algorithm::Aes128Gcm), with 32-byte keys.
    Aes256Gcm,
}

impl Algorithm {
    /// The size of a key, in bytes.
    pub const fn key_len(self) -> usize {
        match self {
            Algorithm::Aes128Gcm => 16,
            Algorithm::Aes192Gcm => 24,
            _ => 32,
        }
    }

    /// The size of a nonce, in bytes. Nonces of AES-GCM may have any other length except 0.
    pub const fn nonce_len(self) -> usize {
        match self {
            Algorithm::XChaCha20Poly1305 => 24,
            _ => 12,
        }
    }

    fn nonce_fits(self, bytes: usize) -> bool {
        match self {
            Algorithm::Aes128Gcm | Algorithm::Aes192Gcm | Algorithm::Aes256Gcm => bytes > 0,
            _ => bytes == self.nonce_len(),
        }
    }

    fn text_max(self) -> u64 {
        match self {
            // The block counter has 32 bits, and block 0 makes the Poly1305 key.
            Algorithm::ChaCha20Poly1305 | Algorithm::XChaCha20Poly1305 => (1 << 38) - 64,
            _ => (1 << 36) - 32,
        }
    }
}

#[derive(Clone)]
#[allow(clippy::large_enum_variant)] // boxing would allocate
pub(crate) enum State {
    ChaCha(ChaChaKey),
    Gcm(Gcm),
}

/// A level for a key.
#[derive(Clone, Copy)]
enum Level {
    ChaCha(Usable<ChaCha20Poly1305>),
    Gcm(Usable<AesGcm>),
}

impl Level {
    /// The level with a given name, or that of this process if there is none.
    #[inline(never)]
    fn of(algorithm: Algorithm, name: Option<&str>) -> Result<Level, Error> {
        match algorithm {
            Algorithm::ChaCha20Poly1305 | Algorithm::XChaCha20Poly1305 => {
                CHACHA20POLY1305.of_process_or(name).map(Level::ChaCha)
            }
            _ => AESGCM.of_process_or(name).map(Level::Gcm),
        }
    }
}

/// A ChaCha20-Poly1305 key at one level. It is wiped when it is dropped.
#[derive(Clone)]
pub(crate) struct ChaChaKey {
    pub(crate) level: Usable<ChaCha20Poly1305>,
    pub(crate) bytes: [u8; 32],
}

impl Drop for ChaChaKey {
    fn drop(&mut self) {
        self.bytes.zeroize();
    }
}

/// A key with the level that was chosen for it. It is wiped when it is dropped.
///
/// ```
/// use sealane::{Algorithm, Key};
///
/// # fn main() -> Result<(), sealane::Error> {
/// let key = Key::new(Algorithm::Aes128Gcm, &[7; 16])?;
/// let mut text = *b"a packet";
/// let tag = key.seal_in_place(&[1; 12], b"its header", &mut text)?;
/// key.open_in_place(&[1; 12], b"its header", &mut text, &tag)?;
/// assert_eq!(text, *b"a packet");
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Key {
    pub(crate) algorithm: Algorithm,
    pub(crate) state: State,
}

impl ZeroizeOnDrop for Key {}

impl core::fmt::Debug for Key {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Key").field("algorithm", &self.algorithm).field("level", &self.level()).finish_non_exhaustive()
    }
}

impl Key {
    /// Makes a key.
    ///
    /// The first ChaCha20-Poly1305 key and the first AES-GCM key in a process choose a level (implementation). It
    /// is the fastest that this CPU can run, that is allowed, and that passes a known-answer test.
    /// [`set_max_level`] can exclude levels. With the feature `std`, the environment can exclude levels too:
    /// `SEALANE_CPU` names the best level to use, and `SEALANE_ASM=0` allows only portable code. The environment is
    /// read once, and ignored in privileged programs (setuid, setcap). The choice holds for the life of the
    /// process.
    ///
    /// [`set_max_level`]: crate::set_max_level
    ///
    /// The raw key bytes are copied nowhere outside the `Key`. Moving a `Key` leaves a copy of its contents behind, as
    /// Rust's moves do; [`new_in`](Key::new_in) makes the key in its final place.
    ///
    /// # Errors
    /// [`Error::InvalidKey`] if `key` does not have [`Algorithm::key_len`] bytes; [`Error::NoLevel`] if no level works
    /// on this CPU.
    pub fn new(algorithm: Algorithm, key: &[u8]) -> Result<Key, Error> {
        let level = Level::of(algorithm, None);
        Key::at(algorithm, key, level)
    }

    /// Makes a key in its final place, so that no copy of it remains elsewhere.
    ///
    /// ```
    /// use sealane::{Algorithm, Key};
    ///
    /// let mut place = None; // on the heap, or in a longer-lived struct
    /// let key = Key::new_in(&mut place, Algorithm::Aes128Gcm, &[7; 16])?;
    /// # assert_eq!(key.algorithm(), Algorithm::Aes128Gcm);
    /// # Ok::<(), sealane::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of `new`. `place` is empty then.
    pub fn new_in<'a>(place: &'a mut Option<Key>, algorithm: Algorithm, key: &[u8]) -> Result<&'a Key, Error> {
        let level = Level::of(algorithm, None);
        Key::at_in(place, algorithm, key, level)
    }

    // A separate function, because choosing a level takes stack space of its own.
    #[inline(never)]
    fn at_in<'a>(
        place: &'a mut Option<Key>,
        algorithm: Algorithm,
        key: &[u8],
        level: Result<Level, Error>,
    ) -> Result<&'a Key, Error> {
        *place = None; // wipes the previous key
        let _dit = Dit::on();
        let made = place.insert(Key::unset(algorithm, key, level)?);
        made.set(key);
        Ok(made)
    }

    /// Like `new`, with a given level, for tests and benchmarks. [`levels`](crate::levels) lists the names.
    ///
    /// # Errors
    /// Those of `new`, and [`Error::InvalidLevel`] if the level does not exist for this algorithm or does not work on
    /// this CPU.
    pub fn with_level(algorithm: Algorithm, key: &[u8], level: &str) -> Result<Key, Error> {
        let level = Level::of(algorithm, Some(level));
        Key::at(algorithm, key, level)
    }

    #[inline(never)]
    fn at(algorithm: Algorithm, key: &[u8], level: Result<Level, Error>) -> Result<Key, Error> {
        wiping(|| {
            let mut made = Key::unset(algorithm, key, level)?;
            made.set(key);
            Ok(made)
        })
    }

    /// Prepares a key for `set`. At the portable level it is already complete, as RustCrypto's crates do not make keys
    /// in place.
    #[inline(never)]
    fn unset(algorithm: Algorithm, key: &[u8], level: Result<Level, Error>) -> Result<Key, Error> {
        if key.len() != algorithm.key_len() {
            return Err(Error::InvalidKey);
        }
        let state = match level? {
            Level::ChaCha(level) => State::ChaCha(ChaChaKey { level, bytes: [0; 32] }),
            Level::Gcm(level) => State::Gcm(Gcm::unset(level, key).ok_or(Error::NoLevel)?),
        };
        Ok(Key { algorithm, state })
    }

    fn set(&mut self, key: &[u8]) {
        match &mut self.state {
            State::ChaCha(chacha) => chacha.bytes.copy_from_slice(key),
            State::Gcm(gcm) => gcm.set(key),
        }
    }

    /// The algorithm of the key.
    pub fn algorithm(&self) -> Algorithm {
        self.algorithm
    }

    /// The name of the level that the key uses, such as "avx512", "neon" or "portable".
    pub fn level(&self) -> &'static str {
        match &self.state {
            State::ChaCha(chacha) => chacha.level.name(),
            State::Gcm(gcm) => gcm.level().name(),
        }
    }

    /// Encrypts `text` in place, and returns the tag that authenticates it together with `ad`.
    ///
    /// Never use a nonce twice with one key for different packets: that reveals both packets and allows forgeries.
    ///
    /// # Errors
    /// [`Error::InvalidNonce`], [`Error::TooLong`]. `text` is unchanged.
    pub fn seal_in_place(&self, nonce: &[u8], ad: &[u8], text: &mut [u8]) -> Result<[u8; TAG_LEN], Error> {
        self.seal_text(nonce, ad, &mut Text::in_place(text))
    }

    /// Encrypts `input` to `output`, which has the same length; otherwise like `seal_in_place`. Rust does not let them
    /// overlap:
    ///
    /// ```compile_fail,E0502
    /// # let key = sealane::Key::new(sealane::Algorithm::Aes128Gcm, &[7; 16]).unwrap();
    /// let mut buffer = [0; 100];
    /// key.seal(&[1; 12], b"", &buffer[..50], &mut buffer[20..70]).unwrap();
    /// ```
    ///
    /// # Errors
    /// [`Error::InvalidNonce`], [`Error::TooLong`], [`Error::LengthMismatch`]. `output` is unchanged.
    pub fn seal(&self, nonce: &[u8], ad: &[u8], input: &[u8], output: &mut [u8]) -> Result<[u8; TAG_LEN], Error> {
        self.seal_text(nonce, ad, &mut Text::apart(input, output)?)
    }

    /// Verifies the tag of `text` and `ad`, and decrypts `text` in place.
    ///
    /// # Errors
    /// [`Error::NotAuthentic`] for any forgery, [`Error::InvalidNonce`], [`Error::TooLong`]. `text` is unchanged, so
    /// another key can be tried. After a forgery the key stream is applied again to restore `text`, which takes as long
    /// as a second packet.
    pub fn open_in_place(&self, nonce: &[u8], ad: &[u8], text: &mut [u8], tag: &[u8; TAG_LEN]) -> Result<(), Error> {
        self.open_text(nonce, ad, &mut Text::in_place(text), tag)
    }

    /// Decrypts `input` to `output`, which has the same length; otherwise like `open_in_place`.
    ///
    /// # Errors
    /// [`Error::NotAuthentic`]: `output` is zeroed. [`Error::InvalidNonce`], [`Error::TooLong`],
    /// [`Error::LengthMismatch`]: `output` is unchanged.
    pub fn open(
        &self,
        nonce: &[u8],
        ad: &[u8],
        input: &[u8],
        output: &mut [u8],
        tag: &[u8; TAG_LEN],
    ) -> Result<(), Error> {
        self.open_text(nonce, ad, &mut Text::apart(input, output)?, tag)
    }

    /// The error for a packet with a text of that length.
    #[inline(always)]
    pub(crate) fn mistake(&self, nonce: &[u8], ad: &[u8], bytes: u64) -> Option<Error> {
        if !self.algorithm.nonce_fits(nonce.len()) {
            Some(Error::InvalidNonce)
        } else if bytes > self.algorithm.text_max() || ad.len() as u64 > (1 << 61) - 1 {
            Some(Error::TooLong)
        } else {
            None
        }
    }

    /// See `seal_in_place`.
    #[inline(always)]
    pub(crate) fn seal_text(&self, nonce: &[u8], ad: &[u8], text: &mut Text<'_>) -> Result<[u8; TAG_LEN], Error> {
        let _dit = Dit::on();
        let mut tag = [0; 2];
        if self.run_plain(nonce, ad, text, false, &mut tag) {
            return Ok(bytes_of_tag(&tag));
        }
        self.seal_any(nonce, ad, text)
    }

    #[inline(never)]
    fn seal_any(&self, nonce: &[u8], ad: &[u8], text: &mut Text<'_>) -> Result<[u8; TAG_LEN], Error> {
        let mut tag = [0; 2];
        self.run_any(nonce, ad, text, false, &mut tag)?;
        Ok(bytes_of_tag(&tag))
    }

    /// See `open_in_place`.
    #[inline(always)]
    pub(crate) fn open_text(&self, nonce: &[u8], ad: &[u8], text: &mut Text<'_>, tag: &[u8; 16]) -> Result<(), Error> {
        let _dit = Dit::on();
        let mut expected = [0; 2];
        if self.run_plain(nonce, ad, text, true, &mut expected) {
            return self.verdict(&mut expected, nonce, ad, text, tag);
        }
        self.open_any(nonce, ad, text, tag)
    }

    #[inline(always)]
    fn verdict(
        &self,
        expected: &mut Tag,
        nonce: &[u8],
        ad: &[u8],
        text: &mut Text<'_>,
        tag: &[u8; 16],
    ) -> Result<(), Error> {
        if is_tag(expected, tag) {
            Ok(())
        } else {
            self.refuse(nonce, ad, text)
        }
    }

    #[inline(never)]
    fn open_any(&self, nonce: &[u8], ad: &[u8], text: &mut Text<'_>, tag: &[u8; 16]) -> Result<(), Error> {
        let mut expected = [0; 2];
        self.run_any(nonce, ad, text, true, &mut expected)?;
        self.verdict(&mut expected, nonce, ad, text, tag)
    }

    /// Erases an opened forgery: zeroes a separate output, or restores the ciphertext in place.
    #[cold]
    #[inline(never)]
    pub(crate) fn refuse(&self, nonce: &[u8], ad: &[u8], text: &mut Text<'_>) -> Result<(), Error> {
        if text.is_in_place() {
            let mut expected = [0; 2];
            self.run_any(nonce, ad, text, false, &mut expected)?;
            expected.zeroize();
        } else {
            text.output().fill(0);
        }
        Err(Error::NotAuthentic)
    }

    /// The fast path: a packet with a 12-byte nonce, a kernel, and certainly no mistake, as nearly all packets are.
    /// Packets that do not take it may also be valid.
    #[inline(always)]
    fn run_plain(&self, nonce: &[u8], ad: &[u8], text: &mut Text<'_>, open: bool, tag: &mut Tag) -> bool {
        const LONG: usize = 1 << 30;
        let Ok(nonce) = <&[u8; 12]>::try_from(nonce) else { return false };
        if (text.len() | ad.len()) >= LONG || self.algorithm == Algorithm::XChaCha20Poly1305 {
            return false;
        }
        match &self.state {
            State::ChaCha(ChaChaKey { level: Usable::Kernel(kernel), bytes }) => {
                kernel.packet(bytes, nonce, ad, text, open, tag);
            }
            State::Gcm(Gcm::Kernel(key)) => key.packet(CallNonce::Nonce(nonce), ad, text, open, tag),
            _ => return false,
        }
        true
    }

    pub(crate) fn run_any(
        &self,
        nonce: &[u8],
        ad: &[u8],
        text: &mut Text<'_>,
        open: bool,
        tag: &mut Tag,
    ) -> Result<(), Error> {
        if let Some(why) = self.mistake(nonce, ad, text.len() as u64) {
            return Err(why);
        }
        match (&self.state, <&[u8; 12]>::try_from(nonce)) {
            (State::ChaCha(key), Ok(nonce)) => key.level.packet(&key.bytes, nonce, ad, text, open, tag),
            (State::Gcm(gcm), Ok(nonce)) => gcm.packet(CallNonce::Nonce(nonce), ad, text, open, tag),
            (State::ChaCha(key), Err(_)) => {
                let mut sub = SubKey::UNSET;
                sub.set(&key.bytes, nonce);
                key.level.packet(&sub.key, &sub.nonce, ad, text, open, tag);
            }
            (State::Gcm(gcm), Err(_)) => {
                let block = gcm.block_of_nonce(nonce);
                gcm.packet(CallNonce::Block(&block), ad, text, open, tag);
            }
        }
        Ok(())
    }
}

/// Compares the tag of an opened packet with the expected one, which is wiped. If this were inlined, compilers for
/// 32-bit ARM and RISC-V would leave the tag in registers that later calls spill to the stack.
#[cfg_attr(any(target_arch = "x86_64", target_arch = "aarch64"), inline(always))]
#[cfg_attr(not(any(target_arch = "x86_64", target_arch = "aarch64")), inline(never))]
pub(crate) fn is_tag(expected: &mut Tag, tag: &[u8; TAG_LEN]) -> bool {
    let same = same_tag(expected, &tag_of_bytes(tag));
    expected.zeroize();
    same
}

/// XChaCha20 (draft-irtf-cfrg-xchacha-03, section 2.3) is ChaCha20 with a subkey. Its nonce is four zero bytes and the
/// rest of the nonce.
pub(crate) struct SubKey {
    pub(crate) key: [u8; 32],
    pub(crate) nonce: [u8; 12],
}

impl SubKey {
    pub(crate) const UNSET: Self = SubKey { key: [0; 32], nonce: [0; 12] };

    /// The subkey for a 24-byte nonce.
    #[inline(never)]
    pub(crate) fn set(&mut self, key: &[u8; 32], nonce: &[u8]) {
        if let (Some(first), Some(rest)) = (nonce.first_chunk(), nonce.get(16..24)) {
            hchacha20(key, first, &mut self.key);
            self.nonce[4..].copy_from_slice(rest);
        }
    }
}

impl Drop for SubKey {
    fn drop(&mut self) {
        self.key.zeroize();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks the longest texts that the standards allow, and one byte more. No test could hold them in memory.
    #[test]
    fn longest_texts() {
        let gcm = 68_719_476_704; // SP 800-38D, section 5.2.1.1: 2^39 - 256 bits
        let chacha = 274_877_906_880; // RFC 8439, section 2.8
        for (algorithm, most) in [
            (Algorithm::ChaCha20Poly1305, chacha),
            (Algorithm::XChaCha20Poly1305, chacha),
            (Algorithm::Aes128Gcm, gcm),
            (Algorithm::Aes192Gcm, gcm),
            (Algorithm::Aes256Gcm, gcm),
        ] {
            let key = Key::new(algorithm, &[1; 32][..algorithm.key_len()]).expect("key");
            let nonce = &[2; 24][..algorithm.nonce_len()];
            assert_eq!(key.mistake(nonce, b"", most), None);
            assert_eq!(key.mistake(nonce, b"", most + 1), Some(Error::TooLong));
            assert_eq!(key.mistake(nonce, b"", u64::MAX), Some(Error::TooLong));
            assert_eq!(key.mistake(&[], b"", most + 1), Some(Error::InvalidNonce));
        }
    }
}
