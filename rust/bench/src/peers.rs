//! OpenSSL as msquic calls it, and graviola.

use std::cell::RefCell;

use openssl::cipher::Cipher;
use openssl::cipher_ctx::CipherCtx;
use openssl::error::ErrorStack;
use sealane::Algorithm;

use crate::{Session, TAG};

/// libcrypto's EVP as msquic calls it (src/platform/crypt_openssl.c). There is one context per key and direction.
/// Each packet sets the nonce, the associated data, the text, the end and the tag.
pub(crate) struct Evp {
    sealing: RefCell<CipherCtx>,
    opening: RefCell<CipherCtx>,
}

impl Evp {
    pub(crate) fn new(algorithm: Algorithm, key: &[u8]) -> Self {
        let cipher = match algorithm {
            Algorithm::ChaCha20Poly1305 => Cipher::chacha20_poly1305(),
            Algorithm::Aes128Gcm => Cipher::aes_128_gcm(),
            _ => Cipher::aes_256_gcm(),
        };
        let [mut sealing, mut opening] = [(); 2].map(|()| CipherCtx::new().expect("a context"));
        sealing.encrypt_init(Some(cipher), Some(key), None).expect("key");
        opening.decrypt_init(Some(cipher), Some(key), None).expect("key");
        Evp { sealing: sealing.into(), opening: opening.into() }
    }

    fn try_seal(&self, nonce: &[u8; 12], ad: &[u8], text: &mut [u8]) -> Result<[u8; 16], ErrorStack> {
        let (mut ctx, mut tag) = (self.sealing.borrow_mut(), [0; 16]);
        ctx.encrypt_init(None, None, Some(nonce))?;
        crypt(&mut ctx, ad, text)?;
        ctx.cipher_final(&mut [])?;
        ctx.tag(&mut tag)?;
        Ok(tag)
    }

    fn try_open(&self, nonce: &[u8; 12], ad: &[u8], text: &mut [u8], tag: &[u8]) -> Result<(), ErrorStack> {
        let mut ctx = self.opening.borrow_mut();
        ctx.decrypt_init(None, None, Some(nonce))?;
        crypt(&mut ctx, ad, text)?;
        ctx.set_tag(tag)?;
        ctx.cipher_final(&mut [])?;
        Ok(())
    }
}

fn crypt(ctx: &mut CipherCtx, ad: &[u8], text: &mut [u8]) -> Result<(), ErrorStack> {
    if !ad.is_empty() {
        ctx.cipher_update(ad, None)?;
    }
    ctx.cipher_update_inplace(text, text.len())?;
    Ok(())
}

impl Session for Evp {
    fn seal(&self, nonce: &[u8; 12], ad: &[u8], text: &mut [u8]) -> [u8; TAG] {
        self.try_seal(nonce, ad, text).expect("sealed")
    }
    fn open(&self, nonce: &[u8; 12], ad: &[u8], packet: &mut [u8]) -> bool {
        let (text, tag) = packet.split_at_mut(packet.len() - TAG);
        self.try_open(nonce, ad, text, tag).is_ok()
    }
}

#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
pub(crate) use on_graviola::Graviola;

#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
mod on_graviola {
    use graviola::aead::{AesGcm, ChaCha20Poly1305};

    use super::{Algorithm, Session, TAG};

    #[allow(clippy::large_enum_variant)]
    pub(crate) enum Graviola {
        ChaCha(ChaCha20Poly1305),
        Gcm(AesGcm),
    }

    impl Graviola {
        pub(crate) fn new(algorithm: Algorithm, key: &[u8]) -> Self {
            match algorithm {
                Algorithm::ChaCha20Poly1305 => Graviola::ChaCha(ChaCha20Poly1305::new(key.try_into().expect("key"))),
                _ => Graviola::Gcm(AesGcm::new(key)),
            }
        }
    }

    impl Session for Graviola {
        fn seal(&self, nonce: &[u8; 12], ad: &[u8], text: &mut [u8]) -> [u8; TAG] {
            let mut tag = [0; TAG];
            match self {
                Graviola::ChaCha(key) => key.encrypt(nonce, ad, text, &mut tag),
                Graviola::Gcm(key) => key.encrypt(nonce, ad, text, &mut tag),
            }
            tag
        }
        fn open(&self, nonce: &[u8; 12], ad: &[u8], packet: &mut [u8]) -> bool {
            let (text, tag) = packet.split_at_mut(packet.len() - TAG);
            match self {
                Graviola::ChaCha(key) => key.decrypt(nonce, ad, text, tag).is_ok(),
                Graviola::Gcm(key) => key.decrypt(nonce, ad, text, tag).is_ok(),
            }
        }
    }
}
