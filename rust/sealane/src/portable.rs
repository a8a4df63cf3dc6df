//! The level for CPUs without a kernel: RustCrypto's ciphers and hashes, put together as RFC 8439 and NIST SP 800-38D say.
//! All parts but the last are a multiple of 64 bytes.

use aes::cipher::consts::U16;
use aes::cipher::generic_array::GenericArray;
use aes::cipher::{
    BlockCipher, BlockEncrypt, BlockSizeUser, InnerIvInit, KeyInit, KeyIvInit, StreamCipher, StreamCipherCoreWrapper,
};
use aes::{Aes128, Aes192, Aes256};
use chacha20::ChaCha20;
use ctr::flavors::Ctr32BE;
use ctr::CtrCore;
use ghash::universal_hash::UniversalHash;
use ghash::GHash;
use poly1305::Poly1305;
use zeroize::Zeroize;

use crate::cipher::tag_of_bytes;
use crate::kernel::{CallNonce, Tag, Text};

/// Lengths in bytes, as both constructions want them at the end.
struct Lengths {
    ad: u64,
    text: u64,
}

pub(crate) struct ChaChaParts {
    cipher: ChaCha20,
    mac: Poly1305,
    lengths: Lengths,
}

impl ChaChaParts {
    pub(crate) fn new(key: &[u8; 32], nonce: &[u8; 12], ad: &[u8]) -> Self {
        let mut cipher = <ChaCha20 as KeyIvInit>::new(key.into(), nonce.into());
        let mut block = [0; 64];
        cipher.apply_keystream(&mut block); // block 0; the text begins at block 1
        let mut mac = <Poly1305 as poly1305::universal_hash::KeyInit>::new(poly1305::Key::from_slice(&block[..32]));
        block.zeroize();
        mac.update_padded(ad);
        ChaChaParts { cipher, mac, lengths: Lengths { ad: ad.len() as u64, text: 0 } }
    }

    pub(crate) fn next(&mut self, text: &mut Text<'_>, open: bool) {
        let text = text.copied();
        if open {
            self.mac.update_padded(text);
        }
        // The longest text that callers let through ends where the key stream does: it cannot fail.
        if self.cipher.try_apply_keystream(text).is_err() {
            text.zeroize();
        }
        if !open {
            self.mac.update_padded(text);
        }
        self.lengths.text += text.len() as u64;
    }

    pub(crate) fn tag(&mut self) -> Tag {
        let mut block = [0; 16];
        block[..8].copy_from_slice(&self.lengths.ad.to_le_bytes());
        block[8..].copy_from_slice(&self.lengths.text.to_le_bytes());
        self.mac.update(&[block.into()]);
        tag_of_bytes(&self.mac.clone().finalize().into())
    }
}

/// A key of each length.
#[derive(Clone)]
#[allow(clippy::large_enum_variant)]
pub(crate) enum AnyAes {
    Aes128(Aes128),
    Aes192(Aes192),
    Aes256(Aes256),
}

impl AnyAes {
    pub(crate) fn new(key: &[u8]) -> Option<AnyAes> {
        match key.len() {
            16 => Some(AnyAes::Aes128(Aes128::new(GenericArray::from_slice(key)))),
            24 => Some(AnyAes::Aes192(Aes192::new(GenericArray::from_slice(key)))),
            32 => Some(AnyAes::Aes256(Aes256::new(GenericArray::from_slice(key)))),
            _ => None,
        }
    }

    pub(crate) fn encrypt(&self, block: &[u8; 16]) -> [u8; 16] {
        let mut block = (*block).into();
        match self {
            AnyAes::Aes128(aes) => aes.encrypt_block(&mut block),
            AnyAes::Aes192(aes) => aes.encrypt_block(&mut block),
            AnyAes::Aes256(aes) => aes.encrypt_block(&mut block),
        }
        block.into()
    }
}

#[derive(Clone)]
pub(crate) struct Gcm {
    aes: AnyAes,
    hash: GHash,
}

impl Gcm {
    pub(crate) fn new(key: &[u8]) -> Option<Gcm> {
        let aes = AnyAes::new(key)?;
        let mut h = aes.encrypt(&[0; 16]);
        let hash = <GHash as ghash::universal_hash::KeyInit>::new(&h.into());
        h.zeroize();
        Some(Gcm { aes, hash })
    }
}

type Counter<'a, A> = StreamCipherCoreWrapper<CtrCore<&'a A, Ctr32BE>>;

enum AnyCounter<'a> {
    Aes128(Counter<'a, Aes128>),
    Aes192(Counter<'a, Aes192>),
    Aes256(Counter<'a, Aes256>),
}

pub(crate) struct GcmParts<'a> {
    counter: AnyCounter<'a>,
    hash: GHash,
    mask: [u8; 16],
    lengths: Lengths,
}

impl Drop for GcmParts<'_> {
    fn drop(&mut self) {
        self.mask.zeroize();
    }
}

fn counter<'a, A>(aes: &'a A, j0: &[u8; 16]) -> Counter<'a, A>
where
    A: BlockCipher + BlockEncrypt + BlockSizeUser<BlockSize = U16>,
{
    StreamCipherCoreWrapper::from_core(CtrCore::inner_iv_init(aes, j0.into()))
}

impl<'a> GcmParts<'a> {
    pub(crate) fn new(key: &'a Gcm, nonce: CallNonce<'_>, ad: &[u8]) -> Self {
        let mut j0 = [0; 16];
        match nonce {
            CallNonce::Block(block) => j0 = *block,
            CallNonce::Nonce(nonce) => {
                j0[..12].copy_from_slice(nonce);
                j0[15] = 1;
            }
        }
        let counter = match &key.aes {
            AnyAes::Aes128(aes) => AnyCounter::Aes128(counter(aes, &j0)),
            AnyAes::Aes192(aes) => AnyCounter::Aes192(counter(aes, &j0)),
            AnyAes::Aes256(aes) => AnyCounter::Aes256(counter(aes, &j0)),
        };
        let mut parts = GcmParts {
            counter,
            hash: key.hash.clone(),
            mask: [0; 16],
            lengths: Lengths { ad: ad.len() as u64, text: 0 },
        };
        let mut mask = [0; 16];
        parts.apply(&mut mask); // the encrypted J0; the text begins behind it
        parts.mask = mask;
        parts.hash.update_padded(ad);
        parts
    }

    fn apply(&mut self, text: &mut [u8]) {
        // The longest text that callers let through has less blocks than the counter: it cannot fail.
        let done = match &mut self.counter {
            AnyCounter::Aes128(counter) => counter.try_apply_keystream(text),
            AnyCounter::Aes192(counter) => counter.try_apply_keystream(text),
            AnyCounter::Aes256(counter) => counter.try_apply_keystream(text),
        };
        if done.is_err() {
            text.zeroize();
        }
    }

    pub(crate) fn next(&mut self, text: &mut Text<'_>, open: bool) {
        let text = text.copied();
        if open {
            self.hash.update_padded(text);
        }
        self.apply(text);
        if !open {
            self.hash.update_padded(text);
        }
        self.lengths.text += text.len() as u64;
    }

    pub(crate) fn tag(&mut self) -> Tag {
        let mut block = [0; 16];
        block[..8].copy_from_slice(&(8 * self.lengths.ad).to_be_bytes());
        block[8..].copy_from_slice(&(8 * self.lengths.text).to_be_bytes());
        self.hash.update(&[block.into()]);
        let mut tag: [u8; 16] = self.hash.clone().finalize().into();
        for (byte, mask) in tag.iter_mut().zip(&self.mask) {
            *byte ^= mask;
        }
        tag_of_bytes(&tag)
    }
}
