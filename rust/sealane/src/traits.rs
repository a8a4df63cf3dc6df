//! The traits of the `aead` crate, under the names of RustCrypto's crates.

use aead::consts::{U0, U12, U16, U24, U32};
use aead::generic_array::GenericArray;
use aead::{AeadCore, AeadInPlace, KeyInit, KeySizeUser};

use crate::{Algorithm, Key, TAG_LEN};

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
                let key = self.0.as_ref().ok_or(aead::Error)?;
                key.seal_in_place(nonce, associated_data, buffer).map(Into::into).map_err(|_| aead::Error)
            }

            fn decrypt_in_place_detached(
                &self,
                nonce: &GenericArray<u8, $nonce>,
                associated_data: &[u8],
                buffer: &mut [u8],
                tag: &GenericArray<u8, U16>,
            ) -> Result<(), aead::Error> {
                let key = self.0.as_ref().ok_or(aead::Error)?;
                let tag: &[u8; TAG_LEN] = tag.as_ref();
                key.open_in_place(nonce, associated_data, buffer, tag).map_err(|_| aead::Error)
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

    pub use super::{Aes128Gcm, Aes256Gcm};
    pub use aead::{self, AeadCore, AeadInPlace, Error, Key, KeyInit, KeySizeUser};

    /// A nonce of so many bytes, of which there are 12.
    pub type Nonce<NonceSize> = GenericArray<u8, NonceSize>;
    /// 16 bytes.
    pub type Tag<TagSize = aead::consts::U16> = GenericArray<u8, TagSize>;
}
