//! Authenticated encryption with associated data: the API of `ring::aead`, on sealane.
//!
//! ```
//! use ring::aead::{Aad, LessSafeKey, Nonce, UnboundKey, CHACHA20_POLY1305};
//!
//! # fn main() -> Result<(), ring::error::Unspecified> {
//! let key = LessSafeKey::new(UnboundKey::new(&CHACHA20_POLY1305, &[7; 32])?); // use your own key
//! let nonce = || Nonce::assume_unique_for_key([1; 12]);
//! let mut packet = b"a packet".to_vec();
//! key.seal_in_place_append_tag(nonce(), Aad::from(b"its header"), &mut packet)?;
//! assert_eq!(key.open_in_place(nonce(), Aad::from(b"its header"), &mut packet)?, b"a packet");
//! # Ok(())
//! # }
//! ```

use core::fmt;
use core::ops::RangeFrom;

use sealane::{Algorithm as Cipher, Key, TAG_LEN};

use crate::error::Unspecified;

/// The size of a nonce, in bytes.
pub const NONCE_LEN: usize = 12;

/// The size of a tag, in bytes. All algorithms have the same.
pub const MAX_TAG_LEN: usize = TAG_LEN;

/// An algorithm: one of the statics of this module.
///
/// ```
/// assert_eq!(ring::aead::AES_128_GCM.key_len(), 16);
/// ```
#[derive(PartialEq, Eq)]
pub struct Algorithm {
    cipher: Cipher,
    name: &'static str,
}

/// AES-GCM (NIST SP 800-38D) with 16-byte keys.
pub static AES_128_GCM: Algorithm = Algorithm { cipher: Cipher::Aes128Gcm, name: "AES_128_GCM" };

/// AES-GCM (NIST SP 800-38D) with 32-byte keys.
pub static AES_256_GCM: Algorithm = Algorithm { cipher: Cipher::Aes256Gcm, name: "AES_256_GCM" };

/// ChaCha20-Poly1305 (RFC 8439).
pub static CHACHA20_POLY1305: Algorithm = Algorithm { cipher: Cipher::ChaCha20Poly1305, name: "CHACHA20_POLY1305" };

impl Algorithm {
    /// The size of a key, in bytes.
    pub fn key_len(&self) -> usize {
        self.cipher.key_len()
    }

    /// The size of a tag, in bytes.
    pub fn tag_len(&self) -> usize {
        TAG_LEN
    }

    /// The size of a nonce, in bytes.
    pub fn nonce_len(&self) -> usize {
        NONCE_LEN
    }
}

impl fmt::Debug for Algorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

/// A nonce, which must never be used twice with one key. It can be neither copied nor cloned.
///
/// ```
/// use ring::aead::Nonce;
///
/// assert!(Nonce::try_assume_unique_for_key(&[1; 12]).is_ok());
/// assert!(Nonce::try_assume_unique_for_key(&[1; 11]).is_err());
/// ```
pub struct Nonce([u8; NONCE_LEN]);

impl Nonce {
    /// Makes a nonce from a slice.
    ///
    /// # Errors
    /// If `value` does not have [`NONCE_LEN`] bytes.
    pub fn try_assume_unique_for_key(value: &[u8]) -> Result<Self, Unspecified> {
        value.try_into().map(Nonce).map_err(|_| Unspecified)
    }

    /// Makes a nonce from these bytes.
    pub fn assume_unique_for_key(value: [u8; NONCE_LEN]) -> Self {
        Nonce(value)
    }
}

impl AsRef<[u8; NONCE_LEN]> for Nonce {
    fn as_ref(&self) -> &[u8; NONCE_LEN] {
        &self.0
    }
}

/// Associated data.
///
/// ```
/// use ring::aead::Aad;
///
/// assert_eq!(Aad::from("a header").as_ref(), b"a header");
/// assert!(Aad::empty().as_ref().is_empty());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Aad<A>(A);

impl<A: AsRef<[u8]>> Aad<A> {
    /// Associated data from these bytes.
    pub fn from(aad: A) -> Self {
        Aad(aad)
    }
}

impl Aad<[u8; 0]> {
    /// Empty associated data.
    pub fn empty() -> Self {
        Aad([])
    }
}

impl<A: AsRef<[u8]>> AsRef<[u8]> for Aad<A> {
    fn as_ref(&self) -> &[u8] {
        self.0.as_ref()
    }
}

/// A tag.
///
/// ```
/// assert!(ring::aead::Tag::try_from(&[0; 15][..]).is_err());
/// ```
#[must_use]
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Tag([u8; TAG_LEN]);

impl AsRef<[u8]> for Tag {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

impl TryFrom<&[u8]> for Tag {
    type Error = Unspecified;

    fn try_from(value: &[u8]) -> Result<Self, Unspecified> {
        value.try_into().map(Tag).map_err(|_| Unspecified)
    }
}

impl From<[u8; TAG_LEN]> for Tag {
    fn from(value: [u8; TAG_LEN]) -> Self {
        Tag(value)
    }
}

/// A source of nonces for a [`BoundKey`], which has an example.
pub trait NonceSequence {
    /// The next nonce, which never repeats an earlier one.
    ///
    /// # Errors
    /// If there are no more nonces; all later calls fail, too.
    fn advance(&mut self) -> Result<Nonce, Unspecified>;
}

/// A key with its sequence of nonces.
///
/// ```
/// use ring::aead::{Aad, BoundKey, Nonce, NonceSequence, OpeningKey, SealingKey, UnboundKey, AES_128_GCM};
/// use ring::error::Unspecified;
///
/// struct Counter(u64);
/// impl NonceSequence for Counter {
///     fn advance(&mut self) -> Result<Nonce, Unspecified> {
///         self.0 = self.0.checked_add(1).ok_or(Unspecified)?;
///         let mut nonce = [0; 12];
///         nonce[4..].copy_from_slice(&self.0.to_be_bytes());
///         Ok(Nonce::assume_unique_for_key(nonce))
///     }
/// }
/// # fn main() -> Result<(), Unspecified> {
/// let mut seal = SealingKey::new(UnboundKey::new(&AES_128_GCM, &[7; 16])?, Counter(0));
/// let mut open = OpeningKey::new(UnboundKey::new(&AES_128_GCM, &[7; 16])?, Counter(0));
/// let mut packet = b"a packet".to_vec();
/// seal.seal_in_place_append_tag(Aad::empty(), &mut packet)?;
/// assert_eq!(open.open_in_place(Aad::empty(), &mut packet)?, b"a packet");
/// # Ok(())
/// # }
/// ```
pub trait BoundKey<N: NonceSequence>: fmt::Debug {
    /// Combines a key with a sequence of nonces.
    fn new(key: UnboundKey, nonce_sequence: N) -> Self;

    /// The algorithm of the key.
    fn algorithm(&self) -> &'static Algorithm;
}

/// A key that can be turned into one of the other kinds. The [module](self) has an example.
pub struct UnboundKey(LessSafeKey);

impl UnboundKey {
    /// Makes a key.
    ///
    /// # Errors
    /// If `key_bytes` does not have the key length of the algorithm, or sealane has no level for it on this CPU.
    pub fn new(algorithm: &'static Algorithm, key_bytes: &[u8]) -> Result<Self, Unspecified> {
        let key = Key::new(algorithm.cipher, key_bytes).map_err(|_| Unspecified)?;
        Ok(UnboundKey(LessSafeKey { key, algorithm }))
    }

    /// The algorithm of the key.
    pub fn algorithm(&self) -> &'static Algorithm {
        self.0.algorithm
    }
}

impl fmt::Debug for UnboundKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.debug("UnboundKey", f)
    }
}

/// A key whose caller chooses each nonce. The [module](self) has an example.
#[derive(Clone)]
pub struct LessSafeKey {
    key: Key,
    algorithm: &'static Algorithm,
}

impl LessSafeKey {
    /// Makes a key from an [`UnboundKey`].
    pub fn new(key: UnboundKey) -> Self {
        key.0
    }

    /// The algorithm of the key.
    pub fn algorithm(&self) -> &'static Algorithm {
        self.algorithm
    }

    /// Seals `in_out` in place and appends the tag.
    ///
    /// # Errors
    /// If the text is too long; `in_out` is unchanged.
    pub fn seal_in_place_append_tag<A, InOut>(
        &self,
        nonce: Nonce,
        aad: Aad<A>,
        in_out: &mut InOut,
    ) -> Result<(), Unspecified>
    where
        A: AsRef<[u8]>,
        InOut: AsMut<[u8]> + for<'in_out> Extend<&'in_out u8>,
    {
        let tag = self.seal_in_place_separate_tag(nonce, aad, in_out.as_mut())?;
        in_out.extend(tag.as_ref());
        Ok(())
    }

    /// Seals `in_out` in place and returns the tag.
    ///
    /// # Errors
    /// If the text is too long; `in_out` is unchanged.
    #[inline]
    pub fn seal_in_place_separate_tag<A>(
        &self,
        nonce: Nonce,
        aad: Aad<A>,
        in_out: &mut [u8],
    ) -> Result<Tag, Unspecified>
    where
        A: AsRef<[u8]>,
    {
        self.key.seal_in_place(&nonce.0, aad.as_ref(), in_out).map(Tag).map_err(|_| Unspecified)
    }

    /// Opens `in_out` in place, a text followed by its tag, and returns the text.
    ///
    /// # Errors
    /// If it is forged or shorter than a tag; `in_out` is unchanged.
    #[inline]
    pub fn open_in_place<'in_out, A>(
        &self,
        nonce: Nonce,
        aad: Aad<A>,
        in_out: &'in_out mut [u8],
    ) -> Result<&'in_out mut [u8], Unspecified>
    where
        A: AsRef<[u8]>,
    {
        self.open_within(nonce, aad, in_out, 0..)
    }

    /// Opens the packet that starts at `ciphertext_and_tag.start`, and moves the text to the start of `in_out`.
    ///
    /// # Errors
    /// If it is forged or shorter than a tag; the ciphertext is then at the start of `in_out`.
    #[inline]
    pub fn open_within<'in_out, A>(
        &self,
        nonce: Nonce,
        aad: Aad<A>,
        in_out: &'in_out mut [u8],
        ciphertext_and_tag: RangeFrom<usize>,
    ) -> Result<&'in_out mut [u8], Unspecified>
    where
        A: AsRef<[u8]>,
    {
        let length = in_out.len().checked_sub(TAG_LEN).ok_or(Unspecified)?;
        let (text, tag) = in_out.split_at_mut(length);
        let tag = Tag::try_from(&*tag)?;
        self.open_in_place_separate_tag(nonce, aad, tag, text, ciphertext_and_tag)
    }

    /// Like [`open_within`](Self::open_within), with a separate tag.
    ///
    /// # Errors
    /// Those of [`open_within`](Self::open_within).
    #[inline]
    pub fn open_in_place_separate_tag<'in_out, A>(
        &self,
        nonce: Nonce,
        aad: Aad<A>,
        tag: Tag,
        in_out: &'in_out mut [u8],
        ciphertext: RangeFrom<usize>,
    ) -> Result<&'in_out mut [u8], Unspecified>
    where
        A: AsRef<[u8]>,
    {
        let length = in_out.len().checked_sub(ciphertext.start).ok_or(Unspecified)?;
        if ciphertext.start > 0 {
            // Kernels require output that is equal to the input or disjoint from it.
            in_out.copy_within(ciphertext, 0);
        }
        let text = &mut in_out[..length];
        self.key.open_in_place(&nonce.0, aad.as_ref(), text, &tag.0).map_err(|_| Unspecified)?;
        Ok(text)
    }

    fn debug(&self, name: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct(name).field("algorithm", self.algorithm).finish()
    }
}

impl fmt::Debug for LessSafeKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.debug("LessSafeKey", f)
    }
}

/// A key that opens packets in the order of its nonces. [`BoundKey`] has an example.
pub struct OpeningKey<N: NonceSequence> {
    key: LessSafeKey,
    nonces: N,
}

impl<N: NonceSequence> BoundKey<N> for OpeningKey<N> {
    fn new(key: UnboundKey, nonce_sequence: N) -> Self {
        OpeningKey { key: key.0, nonces: nonce_sequence }
    }

    fn algorithm(&self) -> &'static Algorithm {
        self.key.algorithm
    }
}

impl<N: NonceSequence> fmt::Debug for OpeningKey<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.key.debug("OpeningKey", f)
    }
}

impl<N: NonceSequence> OpeningKey<N> {
    /// Like [`LessSafeKey::open_in_place`], with the next nonce.
    ///
    /// # Errors
    /// Those of [`LessSafeKey::open_in_place`], and if there are no more nonces.
    pub fn open_in_place<'in_out, A>(
        &mut self,
        aad: Aad<A>,
        in_out: &'in_out mut [u8],
    ) -> Result<&'in_out mut [u8], Unspecified>
    where
        A: AsRef<[u8]>,
    {
        self.key.open_in_place(self.nonces.advance()?, aad, in_out)
    }

    /// Like [`LessSafeKey::open_within`], with the next nonce.
    ///
    /// # Errors
    /// Those of [`LessSafeKey::open_within`], and if there are no more nonces.
    pub fn open_within<'in_out, A>(
        &mut self,
        aad: Aad<A>,
        in_out: &'in_out mut [u8],
        ciphertext_and_tag: RangeFrom<usize>,
    ) -> Result<&'in_out mut [u8], Unspecified>
    where
        A: AsRef<[u8]>,
    {
        self.key.open_within(self.nonces.advance()?, aad, in_out, ciphertext_and_tag)
    }
}

/// A key that seals packets in the order of its nonces. [`BoundKey`] has an example.
pub struct SealingKey<N: NonceSequence> {
    key: LessSafeKey,
    nonces: N,
}

impl<N: NonceSequence> BoundKey<N> for SealingKey<N> {
    fn new(key: UnboundKey, nonce_sequence: N) -> Self {
        SealingKey { key: key.0, nonces: nonce_sequence }
    }

    fn algorithm(&self) -> &'static Algorithm {
        self.key.algorithm
    }
}

impl<N: NonceSequence> fmt::Debug for SealingKey<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.key.debug("SealingKey", f)
    }
}

impl<N: NonceSequence> SealingKey<N> {
    /// Like [`LessSafeKey::seal_in_place_append_tag`], with the next nonce.
    ///
    /// # Errors
    /// Those of [`LessSafeKey::seal_in_place_append_tag`], and if there are no more nonces.
    pub fn seal_in_place_append_tag<A, InOut>(&mut self, aad: Aad<A>, in_out: &mut InOut) -> Result<(), Unspecified>
    where
        A: AsRef<[u8]>,
        InOut: AsMut<[u8]> + for<'in_out> Extend<&'in_out u8>,
    {
        self.key.seal_in_place_append_tag(self.nonces.advance()?, aad, in_out)
    }

    /// Like [`LessSafeKey::seal_in_place_separate_tag`], with the next nonce.
    ///
    /// # Errors
    /// Those of [`LessSafeKey::seal_in_place_separate_tag`], and if there are no more nonces.
    pub fn seal_in_place_separate_tag<A>(&mut self, aad: Aad<A>, in_out: &mut [u8]) -> Result<Tag, Unspecified>
    where
        A: AsRef<[u8]>,
    {
        self.key.seal_in_place_separate_tag(self.nonces.advance()?, aad, in_out)
    }
}
