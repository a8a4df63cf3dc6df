//! A [rustls] crypto provider whose TLS records and QUIC packets are sealed and opened by [sealane].
//!
//! It takes another provider, by default ring's, and replaces the AEAD of each of its cipher suites, and QUIC's header
//! protection: key exchange, signatures, hashes and random numbers stay with that provider.
//!
//! ```
//! // Once, before the first connection:
//! rustls_sealane::install_default().expect("no other provider is installed");
//! ```
//!
//! or, for one configuration: `rustls::ClientConfig::builder_with_provider(rustls_sealane::default_provider().into())`.
//!
//! # Features
//! - `ring` (default), `aws-lc-rs`: the provider that [`default_provider`] builds on; ring if both are on.
//! - `tls12` (default): TLS 1.2.
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

/// ring's provider, or aws-lc-rs's, on sealane: the same on each call.
#[cfg(any(feature = "ring", feature = "aws-lc-rs"))]
pub fn default_provider() -> CryptoProvider {
    static PROVIDER: std::sync::OnceLock<CryptoProvider> = std::sync::OnceLock::new();
    #[cfg(feature = "ring")]
    let base = rustls::crypto::ring::default_provider;
    #[cfg(not(feature = "ring"))]
    let base = rustls::crypto::aws_lc_rs::default_provider;
    PROVIDER.get_or_init(|| on(base())).clone()
}

/// Makes [`default_provider`] the process's.
///
/// # Errors
/// If one is installed already, which stays: it is returned.
#[cfg(any(feature = "ring", feature = "aws-lc-rs"))]
pub fn install_default() -> Result<(), std::sync::Arc<CryptoProvider>> {
    default_provider().install_default()
}

/// The provider with its cipher suites on sealane. Suites whose AEAD is not ChaCha20-Poly1305 or AES-GCM are left out.
///
/// What it makes lives as long as the process, as rustls wants of cipher suites: call it once for each provider.
pub fn on(mut provider: CryptoProvider) -> CryptoProvider {
    provider.cipher_suites = provider.cipher_suites.into_iter().filter_map(suite_on).collect();
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
        #[allow(unreachable_patterns)] // a provider may have TLS 1.2 where this crate has not
        _ => return None,
    })
}

/// A key; none if sealane has no level for it on this CPU, and then all records fail.
struct Cipher(Option<Key>);

impl Cipher {
    fn new(algorithm: Algorithm, key: &[u8]) -> Self {
        Cipher(Key::new(algorithm, key).ok())
    }

    fn seal(&self, nonce: &[u8; NONCE_LEN], ad: &[u8], text: &mut [u8]) -> Result<[u8; TAG_LEN], Error> {
        let key = self.0.as_ref().ok_or(Error::EncryptError)?;
        key.seal_in_place(nonce, ad, text).map_err(|_| Error::EncryptError)
    }

    /// `text` has its tag behind it. Returns its length without.
    fn open(&self, nonce: &[u8; NONCE_LEN], ad: &[u8], text: &mut [u8]) -> Result<usize, Error> {
        let key = self.0.as_ref().ok_or(Error::DecryptError)?;
        let length = text.len().checked_sub(TAG_LEN).ok_or(Error::DecryptError)?;
        let (text, tag) = text.split_at_mut(length);
        let tag: &[u8; TAG_LEN] = (&*tag).try_into().map_err(|_| Error::DecryptError)?;
        key.open_in_place(nonce, ad, text, tag).map_err(|_| Error::DecryptError)?;
        Ok(length)
    }
}
