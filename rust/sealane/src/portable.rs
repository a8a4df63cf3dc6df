//! The level for CPUs without a kernel: RustCrypto's ciphers and hashes, combined according to RFC 8439 and NIST SP
//! 800-38D. All parts except the last are a multiple of 64 bytes.

use aes::cipher::{BlockCipherEncrypt, KeyInit};
use aes::{Aes128, Aes192, Aes256, Block};
use chacha20::cipher::{KeyIvInit, StreamCipher};
use chacha20::{ChaCha20, ChaCha20Legacy};
use ghash::universal_hash::UniversalHash;
use ghash::GHash;
use poly1305::Poly1305;
use zeroize::Zeroize;

use crate::kernel::{tag_of_bytes, CallNonce, Tag, Text};

/// The lengths in bytes that both constructions append.
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
        cipher.apply_keystream(&mut block); // block 0; the text starts at block 1
        let mut key = [0; 32];
        key.copy_from_slice(&block[..32]);
        let mut mac = Poly1305::new(&key.into());
        block.zeroize();
        key.zeroize();
        mac.update_padded(ad);
        ChaChaParts { cipher, mac, lengths: Lengths { ad: ad.len() as u64, text: 0 } }
    }

    pub(crate) fn next(&mut self, text: &mut Text<'_>, open: bool) {
        let text = text.copied();
        if open {
            self.mac.update_padded(text);
        }
        // This cannot fail: the longest text that callers allow ends where the keystream does.
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

/// XORs ChaCha20 keystream, starting at a block. RustCrypto's cipher with a 64-bit counter can also produce the last of
/// 2^32 blocks; the first bytes of RFC 8439's nonce are the upper half of that counter.
pub(crate) fn chacha20(key: &[u8; 32], nonce: &[u8; 12], block: u32, text: &mut [u8]) {
    use chacha20::cipher::StreamCipherSeek;
    let mut short = [0; 8];
    short.copy_from_slice(&nonce[4..]);
    let mut cipher = <ChaCha20Legacy as KeyIvInit>::new(key.into(), (&short).into());
    let upper = u32::from_le_bytes([nonce[0], nonce[1], nonce[2], nonce[3]]);
    let counter = u64::from(upper) << 32 | u64::from(block);
    // This cannot fail: callers do not allow a text that is longer than the keystream.
    if cipher.try_seek(64 * u128::from(counter)).is_err() || cipher.try_apply_keystream(text).is_err() {
        text.zeroize();
    }
}

/// Poly1305 of data, with block 0 of the keystream as the key.
pub(crate) fn poly1305(key: &[u8; 32], nonce: &[u8; 12], data: &[u8]) -> [u8; 16] {
    let mut block = [0; 64];
    chacha20(key, nonce, 0, &mut block);
    let mut mac_key = [0; 32];
    mac_key.copy_from_slice(&block[..32]);
    let mac = Poly1305::new(&mac_key.into());
    block.zeroize();
    mac_key.zeroize();
    mac.compute_unpadded(data).into()
}

/// A key of any of the three lengths.
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
            16 => Aes128::new_from_slice(key).map(AnyAes::Aes128),
            24 => Aes192::new_from_slice(key).map(AnyAes::Aes192),
            _ => Aes256::new_from_slice(key).map(AnyAes::Aes256),
        }
        .ok()
    }

    /// Encrypts blocks in place. Only this function instantiates all three, because they take most of this file's
    /// compile time.
    fn encrypt_blocks(&self, blocks: &mut [Block]) {
        match self {
            AnyAes::Aes128(aes) => aes.encrypt_blocks(blocks),
            AnyAes::Aes192(aes) => aes.encrypt_blocks(blocks),
            AnyAes::Aes256(aes) => aes.encrypt_blocks(blocks),
        }
    }

    /// XORs keystream into a text. The last four bytes of `counter` count, and wrap around.
    pub(crate) fn count(&self, counter: &mut [u8; 16], text: &mut [u8]) {
        let mut stream = [Block::default(); WIDTH];
        for text in text.chunks_mut(16 * WIDTH) {
            let stream = &mut stream[..text.len().div_ceil(16)];
            for block in stream.iter_mut() {
                *block = (*counter).into();
                let [.., a, b, c, d] = counter;
                let next = u32::from_be_bytes([*a, *b, *c, *d]).wrapping_add(1);
                [*a, *b, *c, *d] = next.to_be_bytes();
            }
            self.encrypt_blocks(stream);
            for (text, stream) in text.chunks_mut(16).zip(stream.iter()) {
                for (byte, stream) in text.iter_mut().zip(stream) {
                    *byte ^= stream;
                }
            }
        }
        stream.as_mut_slice().iter_mut().for_each(|block| block.as_mut_slice().zeroize());
    }

    /// Encrypts whole blocks independently, in place.
    pub(crate) fn encrypt_all(&self, blocks: &mut [u8]) {
        let mut some = [Block::default(); WIDTH];
        for blocks in blocks.chunks_mut(16 * WIDTH) {
            let some = &mut some[..blocks.len() / 16];
            for (block, from) in some.iter_mut().zip(blocks.chunks(16)) {
                block.copy_from_slice(from);
            }
            self.encrypt_blocks(some);
            for (block, to) in some.iter().zip(blocks.chunks_mut(16)) {
                to.copy_from_slice(block);
            }
        }
        some.as_mut_slice().iter_mut().for_each(|block| block.as_mut_slice().zeroize());
    }

    pub(crate) fn encrypt(&self, block: &[u8; 16]) -> [u8; 16] {
        let mut blocks = [(*block).into()];
        self.encrypt_blocks(&mut blocks);
        blocks[0].into()
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
        let hash = GHash::new(&h.into());
        h.zeroize();
        Some(Gcm { aes, hash })
    }

    pub(crate) fn set_hash_key(&mut self, hash_key: &[u8; 16]) {
        self.hash = <GHash as ghash::universal_hash::KeyInit>::new(&(*hash_key).into());
    }
}

/// Blocks of keystream that are made at once, at least as many as the crate `aes` processes side by side.
const WIDTH: usize = 8;

pub(crate) struct GcmParts<'a> {
    aes: &'a AnyAes,
    block: [u8; 16], // next counter block: its last four bytes count, and wrap around
    hash: GHash,
    mask: [u8; 16],
    lengths: Lengths,
}

impl Drop for GcmParts<'_> {
    fn drop(&mut self) {
        self.mask.zeroize();
    }
}

impl GcmParts<'_> {
    /// GHASH of the parts so far.
    pub(crate) fn hash(&self) -> [u8; 16] {
        self.hash.clone().finalize().into()
    }
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
        let mut parts = GcmParts {
            aes: &key.aes,
            block: j0,
            hash: key.hash.clone(),
            mask: [0; 16],
            lengths: Lengths { ad: ad.len() as u64, text: 0 },
        };
        let mut mask = [0; 16];
        parts.apply(&mut mask); // the encrypted J0; the text starts at the next block
        parts.mask = mask;
        parts.hash.update_padded(ad);
        parts
    }

    fn apply(&mut self, text: &mut [u8]) {
        self.aes.count(&mut self.block, text);
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
