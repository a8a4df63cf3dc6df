//! A [rustls] crypto provider that uses [sealane] to seal and open TLS records and QUIC packets.
//!
//! ```
//! // Once, before the first connection:
//! rustls_sealane::install_default().expect("no other provider is installed");
//! ```
//!
//! For a single configuration, use
//! `rustls::ClientConfig::builder_with_provider(rustls_sealane::default_provider().into())`. [graviola] provides key
//! exchange (X25519MLKEM768 first), signatures, hashes and random numbers, and nothing needs a C compiler. Graviola
//! runs on 64-bit ARM, and on x86-64 CPUs with AVX2, ADX and AES.
//!
//! [`on`] puts the cipher suites of any other provider on sealane, and keeps the rest of that provider:
//!
//! ```
//! let provider = rustls_sealane::on(rustls::crypto::ring::default_provider());
//! # let _ = provider;
//! ```
//!
//! # Features
//! - `graviola` (default): [`default_provider`] and [`install_default`].
//! - `tls12` (default): TLS 1.2.
//!
//! [graviola]: https://github.com/ctz/graviola
#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod quic;
#[cfg(feature = "tls12")]
mod tls12;
mod tls13;

use rustls::crypto::cipher::NONCE_LEN;
use rustls::crypto::CryptoProvider;
use rustls::{CipherSuite, Error, SupportedCipherSuite};
use sealane::{Algorithm, Key, TAG_LEN};

/// Graviola's provider with its cipher suites on sealane. Every call returns the same suites.
#[cfg(feature = "graviola")]
pub fn default_provider() -> CryptoProvider {
    static PROVIDER: std::sync::OnceLock<CryptoProvider> = std::sync::OnceLock::new();
    PROVIDER.get_or_init(|| on(rustls_graviola::default_provider())).clone()
}

/// Installs [`default_provider`] as the provider of this process.
///
/// # Errors
/// If a provider is already installed, it stays installed and is returned.
#[cfg(feature = "graviola")]
pub fn install_default() -> Result<(), std::sync::Arc<CryptoProvider>> {
    default_provider().install_default()
}

/// Returns the provider with its cipher suites on sealane. Key exchange groups, signatures and random numbers are
/// unchanged, and so are suites whose AEAD sealane does not implement. Ticketers and HPKE are not part of a provider;
/// use those of the base.
///
/// The new suites live as long as the process, because rustls requires that of cipher suites. Call this once per
/// provider.
pub fn on(mut provider: CryptoProvider) -> CryptoProvider {
    for suite in &mut provider.cipher_suites {
        *suite = suite_on(*suite).unwrap_or(*suite);
    }
    provider
}

fn suite_on(suite: SupportedCipherSuite) -> Option<SupportedCipherSuite> {
    let algorithm = match suite.suite() {
        CipherSuite::TLS13_AES_128_GCM_SHA256
        | CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256
        | CipherSuite::TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256 => Algorithm::Aes128Gcm,
        CipherSuite::TLS13_AES_256_GCM_SHA384
        | CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384
        | CipherSuite::TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384 => Algorithm::Aes256Gcm,
        CipherSuite::TLS13_CHACHA20_POLY1305_SHA256
        | CipherSuite::TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256
        | CipherSuite::TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256 => Algorithm::ChaCha20Poly1305,
        _ => return None,
    };
    Some(match suite {
        SupportedCipherSuite::Tls13(theirs) => tls13::suite(theirs, algorithm),
        #[cfg(feature = "tls12")]
        SupportedCipherSuite::Tls12(theirs) => tls12::suite(theirs, algorithm),
        #[allow(unreachable_patterns)] // a provider may have TLS 1.2 even if this crate does not
        _ => return None,
    })
}

/// A key, or none if sealane has no level for it on this CPU; then all records fail.
struct Cipher(Option<Key>);

impl Cipher {
    fn new(algorithm: Algorithm, key: &[u8]) -> Self {
        Cipher(Key::new(algorithm, key).ok())
    }

    fn seal(&self, nonce: &[u8; NONCE_LEN], ad: &[u8], text: &mut [u8]) -> Result<[u8; TAG_LEN], Error> {
        let key = self.0.as_ref().ok_or(Error::EncryptError)?;
        key.seal_in_place(nonce, ad, text).map_err(|_| Error::EncryptError)
    }

    /// Opens `text`, which ends with its tag. Returns the length of the plaintext.
    fn open(&self, nonce: &[u8; NONCE_LEN], ad: &[u8], text: &mut [u8]) -> Result<usize, Error> {
        let key = self.0.as_ref().ok_or(Error::DecryptError)?;
        let length = text.len().checked_sub(TAG_LEN).ok_or(Error::DecryptError)?;
        let (text, tag) = text.split_at_mut(length);
        let tag: &[u8; TAG_LEN] = (&*tag).try_into().map_err(|_| Error::DecryptError)?;
        key.open_in_place(nonce, ad, text, tag).map_err(|_| Error::DecryptError)?;
        Ok(length)
    }
}
