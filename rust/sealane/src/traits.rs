//! The traits of the `aead` crate, version 0.6, under the names of RustCrypto's crates. A submodule does the same for
//! 0.5.

use core::marker::PhantomData;

use subtle::ConstantTimeEq;
use zeroize::{Zeroize, ZeroizeOnDrop};

use crate::kernel::bytes_of_tag;
use crate::kernel::Text;
use crate::{Algorithm, Error, Key};

/// A type that stands for an algorithm. Other crates cannot implement it, because a key of the right size does not make
/// a cipher AES; `aes_gcm` has an example.
pub trait Named {
    /// The algorithm.
    const ALGORITHM: Algorithm;
}

macro_rules! named {
    ($($type:ty, $algorithm:ident;)*) => {
        $(impl Named for $type {
            const ALGORITHM: Algorithm = Algorithm::$algorithm;
        })*
    };
}

/// Types for ChaCha20 and XChaCha20, separate for each version, so that no type has the traits of both.
macro_rules! chacha20 {
    () => {
        #[derive(Debug)]
        pub enum ChaCha20 {}
        #[derive(Debug)]
        pub enum XChaCha20 {}
    };
}

/// Code shared by both versions: the sizes of keys and tags.
macro_rules! sizes {
    ($aes:ident, $array:ident, $($size:ty),*) => {
        named! { ChaCha20, ChaCha20Poly1305; XChaCha20, XChaCha20Poly1305; }
        named! { $aes::Aes128, Aes128Gcm; $aes::Aes192, Aes192Gcm; $aes::Aes256, Aes256Gcm; }
        $(impl private::Sealed for $size {} impl TagSize for $size {})*

        impl KeySizeUser for ChaCha20 {
            type KeySize = U32;
        }

        impl KeySizeUser for XChaCha20 {
            type KeySize = U32;
        }

        impl<C: Named + KeySizeUser, N, T> KeySizeUser for Cipher<C, N, T> {
            type KeySize = C::KeySize;
        }

        impl<C: Named + KeySizeUser, N, T> KeyInit for Cipher<C, N, T> {
            fn new(key: &$array<u8, C::KeySize>) -> Self {
                Cipher::keyed(key)
            }
        }
    };
}

/// An AEAD with the type parameters of RustCrypto's crates: its cipher, and the sizes of its nonce and its tag in
/// bytes. The modules have examples.
///
/// The key is wiped when it is dropped. If no level works on this CPU, which is possible only without the feature
/// `portable`, all packets fail. A failure leaves buffers as [`Key`] does.
pub struct Cipher<C, NonceSize, TagSize>(Option<Key>, PhantomData<fn(C, NonceSize, TagSize)>);

impl<C, NonceSize, TagSize> Clone for Cipher<C, NonceSize, TagSize> {
    fn clone(&self) -> Self {
        Cipher(self.0.clone(), PhantomData)
    }
}

impl<C, NonceSize, TagSize> core::fmt::Debug for Cipher<C, NonceSize, TagSize> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_tuple("Cipher").field(&self.0).finish()
    }
}

impl<C, NonceSize, TagSize> ZeroizeOnDrop for Cipher<C, NonceSize, TagSize> {}

impl<C: Named, NonceSize, TagSize> Cipher<C, NonceSize, TagSize> {
    fn keyed(key: &[u8]) -> Self {
        Cipher(Key::new(C::ALGORITHM, key).ok(), PhantomData)
    }
}

impl<C, NonceSize, TagSize> Cipher<C, NonceSize, TagSize> {
    fn seal(&self, nonce: &[u8], ad: &[u8], mut text: Text<'_>) -> Result<[u8; 16], Error> {
        self.0.as_ref().ok_or(Error::NoLevel)?.seal_text(nonce, ad, &mut text)
    }

    fn open(&self, nonce: &[u8], ad: &[u8], mut text: Text<'_>, tag: &[u8]) -> Result<(), Error> {
        let key = self.0.as_ref().ok_or(Error::NoLevel)?;
        if let Ok(whole) = tag.try_into() {
            return key.open_text(nonce, ad, &mut text, whole);
        }
        let mut expected = [0; 2];
        key.run_any(nonce, ad, &mut text, true, &mut expected)?;
        let mut bytes = bytes_of_tag(&expected);
        let same = bytes[..tag.len()].ct_eq(tag);
        expected.zeroize();
        bytes.zeroize();
        if same.into() {
            Ok(())
        } else {
            key.refuse(nonce, ad, &mut text)
        }
    }
}

#[cfg(feature = "aead")]
mod traits06 {
    use aead::array::{Array, ArraySize};
    use aead::consts::{U12, U13, U14, U15, U16, U32};
    use aead::inout::InOutBuf;
    use aead::{AeadCore, AeadInOut, Error, KeyInit, KeySizeUser, TagPosition};

    use super::{Algorithm, Cipher, Named};

    mod private {
        pub trait Sealed {}
    }

    chacha20!();
    sizes!(aes, Array, U12, U13, U14, U15, U16);

    /// Valid tag sizes of AES-GCM: 12 to 16 bytes.
    pub trait TagSize: ArraySize + private::Sealed {}

    impl<C, N: ArraySize, T: TagSize> AeadCore for Cipher<C, N, T> {
        type NonceSize = N;
        type TagSize = T;
        const TAG_POSITION: TagPosition = TagPosition::Postfix;
    }

    impl<C, N: ArraySize, T: TagSize> AeadInOut for Cipher<C, N, T> {
        fn encrypt_inout_detached(
            &self,
            nonce: &Array<u8, N>,
            associated_data: &[u8],
            buffer: InOutBuf<'_, '_, u8>,
        ) -> Result<Array<u8, T>, Error> {
            let tag = self.seal(nonce, associated_data, buffer.into()).map_err(|_| Error)?;
            tag[..T::USIZE].try_into().map_err(|_| Error)
        }

        fn decrypt_inout_detached(
            &self,
            nonce: &Array<u8, N>,
            associated_data: &[u8],
            buffer: InOutBuf<'_, '_, u8>,
            tag: &Array<u8, T>,
        ) -> Result<(), Error> {
            self.open(nonce, associated_data, buffer.into(), tag).map_err(|_| Error)
        }
    }
}

/// The names of the `chacha20poly1305` crate, version 0.11. Replace the dependency by `use sealane::chacha20poly1305;`,
/// and leave the rest of the program unchanged.
///
/// ```
/// use sealane::chacha20poly1305::{aead::{Aead, KeyInit}, ChaCha20Poly1305};
///
/// # fn main() -> Result<(), sealane::chacha20poly1305::Error> {
/// let cipher = ChaCha20Poly1305::new(&[7; 32].into()); // use your own key
/// let sealed = cipher.encrypt(&[1; 12].into(), &b"a packet"[..])?; // never reuse a nonce
/// assert_eq!(cipher.decrypt(&[1; 12].into(), &sealed[..])?, b"a packet");
/// # Ok(())
/// # }
/// ```
#[cfg(feature = "aead")]
pub mod chacha20poly1305 {
    use aead::array::Array;

    pub use aead::{self, consts, AeadCore, AeadInOut, Error, KeyInit, KeySizeUser};

    /// ChaCha20-Poly1305 (RFC 8439).
    pub type ChaCha20Poly1305 = super::Cipher<super::traits06::ChaCha20, consts::U12, consts::U16>;
    /// XChaCha20-Poly1305 (draft-irtf-cfrg-xchacha-03).
    pub type XChaCha20Poly1305 = super::Cipher<super::traits06::XChaCha20, consts::U24, consts::U16>;
    /// 32 bytes.
    pub type Key = Array<u8, consts::U32>;
    /// 12 bytes.
    pub type Nonce = Array<u8, consts::U12>;
    /// 24 bytes.
    pub type XNonce = Array<u8, consts::U24>;
    /// 16 bytes.
    pub type Tag = Array<u8, consts::U16>;
}

/// The names of the `aes-gcm` crate, version 0.11. Replace the dependency by `use sealane::aes_gcm;`, and leave the
/// rest of the program unchanged. It does not support other AES implementations: `AesGcm` accepts only the types of
/// [`aes`], and is made from keys, not from block ciphers.
///
/// ```
/// use sealane::aes_gcm::{aead::{consts::U12, KeyInit}, aes::Aes192, AesGcm};
///
/// let cipher = AesGcm::<Aes192, U12>::new(&[0; 24].into());
/// # let _ = cipher;
/// ```
///
/// Another block cipher does not compile, even if its keys have the size of an AES key:
///
/// ```compile_fail,E0277
/// use sealane::aes_gcm::{aead::consts::{U12, U32}, AesGcm, KeyInit, KeySizeUser};
///
/// struct Camellia256;
/// impl KeySizeUser for Camellia256 {
///     type KeySize = U32;
/// }
/// fn is_cipher<C: KeyInit>() {}
/// is_cipher::<AesGcm<Camellia256, U12>>();
/// ```
#[cfg(feature = "aead")]
pub mod aes_gcm {
    use aead::array::Array;
    use aead::consts::{U12, U16};

    pub use super::traits06::TagSize;
    pub use aead::{self, AeadCore, AeadInOut, Error, Key, KeyInit, KeySizeUser};
    pub use aes;

    /// AES-GCM (NIST SP 800-38D). `Aes` is `Aes128`, `Aes192` or `Aes256` of the `aes` crate. Nonces have `NonceSize`
    /// bytes, 1 or more (12 are fastest), and tags have `TagSize` bytes, 12 to 16.
    pub type AesGcm<Aes, NonceSize, TagSize = U16> = super::Cipher<Aes, NonceSize, TagSize>;
    /// AES-GCM with 16-byte keys and 12-byte nonces.
    pub type Aes128Gcm = AesGcm<aes::Aes128, U12>;
    /// AES-GCM with 32-byte keys and 12-byte nonces.
    pub type Aes256Gcm = AesGcm<aes::Aes256, U12>;
    /// A nonce.
    pub type Nonce<NonceSize> = Array<u8, NonceSize>;
    /// A tag.
    pub type Tag<TagSize = U16> = Array<u8, TagSize>;
    /// The largest number of bytes of associated data.
    pub const A_MAX: u64 = (1 << 61) - 1;
    /// The largest number of bytes of text.
    pub const P_MAX: u64 = (1 << 36) - 32;
}

/// For programs that still use version 0.5 of the `aead` crate: the names of `chacha20poly1305` and `aes-gcm`, version
/// 0.10.
///
/// ```
/// use sealane::aead05::aes_gcm::{aead::Aead, Aes128Gcm, KeyInit};
///
/// # fn main() -> Result<(), sealane::aead05::aes_gcm::Error> {
/// let cipher = Aes128Gcm::new(&[7; 16].into()); // use your own key
/// let sealed = cipher.encrypt(&[1; 12].into(), &b"a packet"[..])?; // never reuse a nonce
/// assert_eq!(cipher.decrypt(&[1; 12].into(), &sealed[..])?, b"a packet");
/// # Ok(())
/// # }
/// ```
#[cfg(feature = "aead05")]
pub mod aead05 {
    use ::aead05::consts::{U0, U12, U13, U14, U15, U16, U24, U32};
    use ::aead05::generic_array::{ArrayLength, GenericArray};
    use ::aead05::{AeadCore, AeadInPlace, Error, KeyInit, KeySizeUser};

    use super::{Algorithm, Cipher, Named, Text};
    use private::{ChaCha20, XChaCha20};

    sizes!(aes08, GenericArray, U12, U13, U14, U15, U16);

    mod private {
        pub trait Sealed {}
        chacha20!();
    }

    /// Valid tag sizes of AES-GCM: 12 to 16 bytes.
    pub trait TagSize: ArrayLength<u8> + private::Sealed {}
    impl<C, N: ArrayLength<u8>, T: TagSize> AeadCore for Cipher<C, N, T> {
        type NonceSize = N;
        type TagSize = T;
        type CiphertextOverhead = U0;
    }

    impl<C, N: ArrayLength<u8>, T: TagSize> AeadInPlace for Cipher<C, N, T> {
        fn encrypt_in_place_detached(
            &self,
            nonce: &GenericArray<u8, N>,
            associated_data: &[u8],
            buffer: &mut [u8],
        ) -> Result<GenericArray<u8, T>, Error> {
            let tag = self.seal(nonce, associated_data, Text::in_place(buffer)).map_err(|_| Error)?;
            GenericArray::from_exact_iter(tag.into_iter().take(T::USIZE)).ok_or(Error)
        }

        fn decrypt_in_place_detached(
            &self,
            nonce: &GenericArray<u8, N>,
            associated_data: &[u8],
            buffer: &mut [u8],
            tag: &GenericArray<u8, T>,
        ) -> Result<(), Error> {
            self.open(nonce, associated_data, Text::in_place(buffer), tag).map_err(|_| Error)
        }
    }

    /// The names of the `chacha20poly1305` crate, version 0.10.
    pub mod chacha20poly1305 {
        use super::{GenericArray, U12, U16, U24, U32};

        pub use ::aead05::{self as aead, consts, AeadCore, AeadInPlace, Error, KeyInit, KeySizeUser};

        /// ChaCha20-Poly1305 (RFC 8439).
        pub type ChaCha20Poly1305 = super::Cipher<super::ChaCha20, U12, U16>;
        /// XChaCha20-Poly1305 (draft-irtf-cfrg-xchacha-03).
        pub type XChaCha20Poly1305 = super::Cipher<super::XChaCha20, U24, U16>;
        /// 32 bytes.
        pub type Key = GenericArray<u8, U32>;
        /// 12 bytes.
        pub type Nonce = GenericArray<u8, U12>;
        /// 24 bytes.
        pub type XNonce = GenericArray<u8, U24>;
        /// 16 bytes.
        pub type Tag = GenericArray<u8, U16>;
    }

    /// The names of the `aes-gcm` crate, version 0.10.
    pub mod aes_gcm {
        use super::{GenericArray, U12, U16};

        pub use super::TagSize;
        pub use ::aead05::{self as aead, AeadCore, AeadInPlace, Error, Key, KeyInit, KeySizeUser};
        pub use aes08 as aes;

        /// See [`AesGcm`](crate::aes_gcm::AesGcm).
        pub type AesGcm<Aes, NonceSize, TagSize = U16> = super::Cipher<Aes, NonceSize, TagSize>;
        /// AES-GCM with 16-byte keys and 12-byte nonces.
        pub type Aes128Gcm = AesGcm<aes::Aes128, U12>;
        /// AES-GCM with 32-byte keys and 12-byte nonces.
        pub type Aes256Gcm = AesGcm<aes::Aes256, U12>;
        /// A nonce.
        pub type Nonce<NonceSize> = GenericArray<u8, NonceSize>;
        /// A tag.
        pub type Tag<TagSize = U16> = GenericArray<u8, TagSize>;
        /// The largest number of bytes of associated data.
        pub const A_MAX: u64 = (1 << 61) - 1;
        /// The largest number of bytes of text.
        pub const P_MAX: u64 = (1 << 36) - 32;
    }
}
