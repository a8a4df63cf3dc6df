//! The traits of the `aead` crate, under the names of RustCrypto's crates.

use core::marker::PhantomData;

use aead::consts::{U0, U12, U16, U24, U32};
use aead::generic_array::{ArrayLength, GenericArray};
use aead::{AeadCore, AeadInPlace, KeyInit, KeySizeUser};

use crate::{Algorithm, Key, TAG_LEN};

fn seal(key: &Option<Key>, nonce: &[u8], ad: &[u8], text: &mut [u8]) -> Result<GenericArray<u8, U16>, aead::Error> {
    let key = key.as_ref().ok_or(aead::Error)?;
    key.seal_in_place(nonce, ad, text).map(Into::into).map_err(|_| aead::Error)
}

fn open(
    key: &Option<Key>,
    nonce: &[u8],
    ad: &[u8],
    text: &mut [u8],
    tag: &GenericArray<u8, U16>,
) -> Result<(), aead::Error> {
    let key = key.as_ref().ok_or(aead::Error)?;
    let tag: &[u8; TAG_LEN] = tag.as_ref();
    key.open_in_place(nonce, ad, text, tag).map_err(|_| aead::Error)
}

macro_rules! cipher {
    ($(#[$doc:meta])* $name:ident, $key:ty, $nonce:ty) => {
        $(#[$doc])*
        ///
        /// The key is wiped when it is dropped. If no level works on this CPU, which takes a build without the feature
        /// `portable`, all packets fail.
        #[derive(Clone, Debug)]
        pub struct $name(Option<Key>);

        impl KeySizeUser for $name {
            type KeySize = $key;
        }

        impl KeyInit for $name {
            fn new(key: &GenericArray<u8, $key>) -> Self {
                $name(Key::new(Algorithm::$name, key).ok())
            }
        }

        impl AeadCore for $name {
            type NonceSize = $nonce;
            type TagSize = U16;
            type CiphertextOverhead = U0;
        }

        impl AeadInPlace for $name {
            fn encrypt_in_place_detached(
                &self,
                nonce: &GenericArray<u8, $nonce>,
                associated_data: &[u8],
                buffer: &mut [u8],
            ) -> Result<GenericArray<u8, U16>, aead::Error> {
                seal(&self.0, nonce, associated_data, buffer)
            }

            fn decrypt_in_place_detached(
                &self,
                nonce: &GenericArray<u8, $nonce>,
                associated_data: &[u8],
                buffer: &mut [u8],
                tag: &GenericArray<u8, U16>,
            ) -> Result<(), aead::Error> {
                open(&self.0, nonce, associated_data, buffer, tag)
            }
        }

        impl zeroize::ZeroizeOnDrop for $name {}
    };
}

cipher! {
    /// ChaCha20-Poly1305 (RFC 8439).
    ChaCha20Poly1305, U32, U12
}
cipher! {
    /// XChaCha20-Poly1305 (draft-irtf-cfrg-xchacha-03).
    XChaCha20Poly1305, U32, U24
}
cipher! {
    /// AES-GCM (NIST SP 800-38D) with keys of 16 bytes.
    Aes128Gcm, U16, U12
}
cipher! {
    /// AES-GCM (NIST SP 800-38D) with keys of 32 bytes.
    Aes256Gcm, U32, U12
}

mod aes_key {
    use crate::Algorithm;

    /// The types that [`AesGcm`](super::AesGcm) takes: those of the `aes` crate. No other crate can implement it, as
    /// a key's size alone does not make a cipher AES.
    pub trait Aes: aead::KeySizeUser {
        const ALGORITHM: Algorithm;
    }

    impl Aes for aes::Aes128 {
        const ALGORITHM: Algorithm = Algorithm::Aes128Gcm;
    }

    impl Aes for aes::Aes192 {
        const ALGORITHM: Algorithm = Algorithm::Aes192Gcm;
    }

    impl Aes for aes::Aes256 {
        const ALGORITHM: Algorithm = Algorithm::Aes256Gcm;
    }
}

/// AES-GCM with the keys of `Aes`, which is `Aes128`, `Aes192` or `Aes256` of the `aes` crate, and nonces of
/// `NonceSize` bytes, 1 or more; 12 are fastest.
///
/// ```
/// use aead::{consts::U12, KeyInit};
/// use sealane::aes_gcm::{aes::Aes192, AesGcm};
///
/// let cipher = AesGcm::<Aes192, U12>::new(&[0; 24].into());
/// # let _ = cipher;
/// ```
///
/// Another block cipher does not compile, even if its keys have the size of an AES key:
///
/// ```compile_fail,E0277
/// use aead::{consts::{U12, U32}, KeyInit, KeySizeUser};
/// use sealane::aes_gcm::AesGcm;
///
/// struct Camellia256;
/// impl KeySizeUser for Camellia256 {
///     type KeySize = U32;
/// }
/// fn is_cipher<C: KeyInit>() {}
/// is_cipher::<AesGcm<Camellia256, U12>>();
/// ```
pub struct AesGcm<Aes, NonceSize>(Option<Key>, PhantomData<fn(Aes, NonceSize)>);

impl<Aes, NonceSize> Clone for AesGcm<Aes, NonceSize> {
    fn clone(&self) -> Self {
        AesGcm(self.0.clone(), PhantomData)
    }
}

impl<Aes, NonceSize> core::fmt::Debug for AesGcm<Aes, NonceSize> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_tuple("AesGcm").field(&self.0).finish()
    }
}

impl<Aes: aes_key::Aes, NonceSize> KeySizeUser for AesGcm<Aes, NonceSize> {
    type KeySize = Aes::KeySize;
}

impl<Aes: aes_key::Aes, NonceSize> KeyInit for AesGcm<Aes, NonceSize> {
    fn new(key: &GenericArray<u8, Aes::KeySize>) -> Self {
        AesGcm(Key::new(Aes::ALGORITHM, key).ok(), PhantomData)
    }
}

impl<Aes, NonceSize: ArrayLength<u8>> AeadCore for AesGcm<Aes, NonceSize> {
    type NonceSize = NonceSize;
    type TagSize = U16;
    type CiphertextOverhead = U0;
}

impl<Aes, NonceSize: ArrayLength<u8>> AeadInPlace for AesGcm<Aes, NonceSize> {
    fn encrypt_in_place_detached(
        &self,
        nonce: &GenericArray<u8, NonceSize>,
        associated_data: &[u8],
        buffer: &mut [u8],
    ) -> Result<GenericArray<u8, U16>, aead::Error> {
        seal(&self.0, nonce, associated_data, buffer)
    }

    fn decrypt_in_place_detached(
        &self,
        nonce: &GenericArray<u8, NonceSize>,
        associated_data: &[u8],
        buffer: &mut [u8],
        tag: &GenericArray<u8, U16>,
    ) -> Result<(), aead::Error> {
        open(&self.0, nonce, associated_data, buffer, tag)
    }
}

impl<Aes, NonceSize> zeroize::ZeroizeOnDrop for AesGcm<Aes, NonceSize> {}

/// What the `chacha20poly1305` crate has: with `sealane` in Cargo.toml in its place, `use sealane::chacha20poly1305` and
/// the rest of the program is as it was.
pub mod chacha20poly1305 {
    use super::GenericArray;

    pub use super::{ChaCha20Poly1305, XChaCha20Poly1305};
    pub use aead::{self, consts, AeadCore, AeadInPlace, Error, KeyInit, KeySizeUser};

    /// 32 bytes.
    pub type Key = GenericArray<u8, consts::U32>;
    /// 12 bytes.
    pub type Nonce = GenericArray<u8, consts::U12>;
    /// 24 bytes.
    pub type XNonce = GenericArray<u8, consts::U24>;
    /// 16 bytes.
    pub type Tag = GenericArray<u8, consts::U16>;
}

/// What the `aes-gcm` crate has: with `sealane` in Cargo.toml in its place, `use sealane::aes_gcm` and the rest of the
/// program is as it was.
pub mod aes_gcm {
    use super::GenericArray;

    pub use super::{Aes128Gcm, Aes256Gcm, AesGcm};
    pub use aead::{self, AeadCore, AeadInPlace, Error, Key, KeyInit, KeySizeUser};
    pub use aes;

    /// A nonce of so many bytes: 12, but for [`AesGcm`].
    pub type Nonce<NonceSize> = GenericArray<u8, NonceSize>;
    /// 16 bytes.
    pub type Tag<TagSize = aead::consts::U16> = GenericArray<u8, TagSize>;
}
