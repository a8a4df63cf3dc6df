//! Whole packets and packets in parts at one level: by its kernel, or by portable code.
#![allow(unsafe_code)]
// Levels are called only after `Table::works` has seen that the CPU has what they need, or by its known-answer test.

use subtle::ConstantTimeEq;
use zeroize::Zeroize;

use crate::kernel::layout::FLAG_OPEN;
use crate::kernel::{AesKey, CallKey, CallNonce, GcmKey, Kernel, Lanes, MaskKey, Parts, Tag, Text, Unused, UNUSED_LEN};
use crate::level::{Batch, Level};
#[cfg(feature = "portable")]
use crate::portable;

#[inline(always)]
fn flags(open: bool) -> usize {
    if open {
        FLAG_OPEN
    } else {
        0
    }
}

/// Whether two tags are equal, in a time that does not depend on them.
#[inline(always)]
pub(crate) fn same_tag(a: &Tag, b: &Tag) -> bool {
    ((a[0] ^ b[0]) | (a[1] ^ b[1])).ct_eq(&0).into()
}

#[inline(always)]
pub(crate) fn tag_of_bytes(bytes: &[u8; 16]) -> Tag {
    let [low, high]: [[u8; 8]; 2] = [
        [bytes[0], bytes[1], bytes[2], bytes[3], bytes[4], bytes[5], bytes[6], bytes[7]],
        [bytes[8], bytes[9], bytes[10], bytes[11], bytes[12], bytes[13], bytes[14], bytes[15]],
    ];
    [u64::from_ne_bytes(low), u64::from_ne_bytes(high)]
}

#[inline(always)]
pub(crate) fn bytes_of_tag(tag: &Tag) -> [u8; 16] {
    let mut bytes = [0; 16];
    bytes[..8].copy_from_slice(&tag[0].to_ne_bytes());
    bytes[8..].copy_from_slice(&tag[1].to_ne_bytes());
    bytes
}

/// AES-GCM's key at one level.
#[derive(Clone)]
#[allow(clippy::large_enum_variant)] // no memory is allocated, and most are of the larger kind
pub(crate) enum Gcm {
    Kernel(GcmKey),
    #[cfg(feature = "portable")]
    Portable(portable::Gcm),
}

impl Zeroize for Gcm {
    fn zeroize(&mut self) {
        match self {
            Gcm::Kernel(key) => key.zeroize(),
            #[cfg(feature = "portable")]
            Gcm::Portable(_) => {} // wipes itself when it is dropped
        }
    }
}

impl Gcm {
    /// `key` has 16, 24 or 32 bytes: None for any other number.
    pub(crate) fn new(level: &'static Level, key: &[u8]) -> Option<Gcm> {
        if !matches!(key.len(), 16 | 24 | 32) {
            return None;
        }
        match &level.kernel {
            // SAFETY: see the top of this file.
            Some(kernel) => Some(Gcm::Kernel(unsafe { kernel.set_up(key) })),
            #[cfg(feature = "portable")]
            None => portable::Gcm::new(key).map(Gcm::Portable),
            #[cfg(not(feature = "portable"))]
            None => None,
        }
    }

    /// Seals or opens a packet, and returns the tag that belongs to it. The level is the one that made the key.
    pub(crate) fn packet(
        &self,
        level: &Level,
        nonce: CallNonce<'_>,
        ad: &[u8],
        text: &mut Text<'_>,
        open: bool,
    ) -> Tag {
        match (self, &level.kernel) {
            // SAFETY: see the top of this file; the key was set up by this kernel.
            (Gcm::Kernel(key), Some(kernel)) => unsafe {
                kernel.packet(CallKey::Gcm(key), nonce, ad, text, flags(open))
            },
            (Gcm::Kernel(_), None) => unreachable!("a level without a kernel makes no such key"),
            #[cfg(feature = "portable")]
            (Gcm::Portable(key), _) => {
                let mut parts = portable::GcmParts::new(key, nonce, ad);
                parts.next(text, open);
                parts.tag()
            }
        }
    }

    pub(crate) fn parts<'a>(
        &'a self,
        level: &'a Level,
        nonce: CallNonce<'a>,
        ad: &'a [u8],
        total: u64,
        open: bool,
    ) -> AnyParts<'a> {
        match (self, &level.kernel) {
            // SAFETY: see the top of this file; the key was set up by this kernel.
            (Gcm::Kernel(key), Some(kernel)) => {
                AnyParts::Kernel(unsafe { Parts::new(kernel, CallKey::Gcm(key), nonce, ad, flags(open), total) })
            }
            (Gcm::Kernel(_), None) => unreachable!("a level without a kernel makes no such key"),
            #[cfg(feature = "portable")]
            (Gcm::Portable(key), _) => AnyParts::Gcm(portable::GcmParts::new(key, nonce, ad), open),
        }
    }

    /// A key that authenticates under a hash key of its own, and encrypts under one of zeroes.
    pub(crate) fn of_hash_key(level: &Level, hash_key: &[u8; 16]) -> Option<Gcm> {
        match &level.kernel {
            Some(kernel) => {
                let mut key = GcmKey::empty();
                // SAFETY: see the top of this file.
                unsafe { kernel.set_hash_key(&mut key, hash_key) };
                Some(Gcm::Kernel(key))
            }
            #[cfg(feature = "portable")]
            None => portable::Gcm::of_hash_key(hash_key).map(Gcm::Portable),
            #[cfg(not(feature = "portable"))]
            None => None,
        }
    }

    /// Makes the table anew, of the hash key: the tag of an empty packet is the mask, and that for a block of zeroes it.
    pub(crate) fn remake_table(&mut self, level: &Level) {
        let block = CallNonce::Block(&[0; 16]);
        let mut hash_key = bytes_of_tag(&self.packet(level, block, &[], &mut Text::in_place(&mut []), false));
        match (self, &level.kernel) {
            (Gcm::Kernel(key), Some(kernel)) => {
                key.forget_table();
                // SAFETY: see the top of this file.
                unsafe { kernel.set_hash_key(key, &hash_key) };
            }
            (Gcm::Kernel(_), None) => unreachable!("a level without a kernel makes no such key"),
            #[cfg(feature = "portable")]
            (Gcm::Portable(key), _) => key.set_hash_key(&hash_key),
        }
        hash_key.zeroize();
    }

    /// The block J0 of a nonce that does not have 12 bytes: GHASH of it, its padding, and the lengths 0 and the nonce's
    /// (NIST SP 800-38D, section 7.1, step 2). The tag of a packet that has the nonce for ciphertext and no associated
    /// data is this, masked; and the tag of an empty packet is that mask, since GHASH of zeroes is zero.
    #[inline(never)]
    pub(crate) fn block_of_nonce(&self, level: &Level, nonce: &[u8]) -> [u8; 16] {
        const MASKED: CallNonce<'_> = CallNonce::Block(&[0; 16]);
        let mut parts = self.parts(level, MASKED, &[], nonce.len() as u64, true);
        let mut block = [0; 64];
        let rest = nonce.chunks_exact(block.len()).remainder();
        for whole in nonce.chunks_exact(block.len()) {
            block.copy_from_slice(whole);
            parts.next(&mut Text::in_place(&mut block));
        }
        block[..rest.len()].copy_from_slice(rest);
        let mut hash = parts.last(&mut Text::in_place(&mut block[..rest.len()]));
        let mut mask = self.packet(level, MASKED, &[], &mut Text::in_place(&mut []), false);
        let j0 = bytes_of_tag(&[hash[0] ^ mask[0], hash[1] ^ mask[1]]);
        block.zeroize();
        hash.zeroize();
        mask.zeroize();
        j0
    }
}

/// Seals or opens a packet by a kernel that has set the key up. It is inlined, and so are its callers, since what they
/// are given stays in registers then: written to memory, it would be read back in units that were not written.
#[inline(always)]
pub(crate) fn plain(
    kernel: &Kernel,
    key: CallKey<'_>,
    nonce: &[u8; 12],
    ad: &[u8],
    text: &mut Text<'_>,
    open: bool,
) -> Tag {
    // SAFETY: see the top of this file.
    unsafe { kernel.packet(key, CallNonce::Nonce(nonce), ad, text, flags(open)) }
}

impl Level {
    /// Seals or opens a packet of ChaCha20-Poly1305, and returns the tag that belongs to it.
    pub(crate) fn chacha20poly1305(
        &self,
        key: &[u8; 32],
        nonce: &[u8; 12],
        ad: &[u8],
        text: &mut Text<'_>,
        open: bool,
    ) -> Tag {
        match &self.kernel {
            // SAFETY: see the top of this file.
            Some(kernel) => unsafe {
                kernel.packet(CallKey::ChaCha(key), CallNonce::Nonce(nonce), ad, text, flags(open))
            },
            #[cfg(feature = "portable")]
            None => {
                let mut parts = portable::ChaChaParts::new(key, nonce, ad);
                parts.next(text, open);
                parts.tag()
            }
            #[cfg(not(feature = "portable"))]
            None => unreachable!("no such level without the feature portable"),
        }
    }

    /// Adds ChaCha20's key stream from block 1 on.
    pub(crate) fn chacha20(&self, key: &[u8; 32], nonce: &[u8; 12], text: &mut Text<'_>) {
        match &self.kernel {
            // SAFETY: see the top of this file.
            Some(kernel) => {
                unsafe { Parts::stream(kernel, key, nonce) }.next(text, true);
            }
            #[cfg(feature = "portable")]
            None => portable::chacha20(key, nonce, 1, text.copied()),
            #[cfg(not(feature = "portable"))]
            None => unreachable!("no such level without the feature portable"),
        }
    }

    /// Poly1305 of data, whose key is block 0 of the key stream.
    pub(crate) fn poly1305(&self, key: &[u8; 32], nonce: &[u8; 12], data: &[u8]) -> [u8; 16] {
        match &self.kernel {
            Some(kernel) => {
                let (whole, rest) = data.split_at(data.len() & !15);
                // SAFETY: see the top of this file.
                let mut parts =
                    unsafe { Parts::new(kernel, CallKey::ChaCha(key), CallNonce::Nonce(nonce), whole, 0, 0) };
                parts.next(&mut Text::in_place(&mut []), false);
                parts.poly1305().finish(rest)
            }
            #[cfg(feature = "portable")]
            None => portable::poly1305(key, nonce, data),
            #[cfg(not(feature = "portable"))]
            None => unreachable!("no such level without the feature portable"),
        }
    }

    pub(crate) fn chacha20poly1305_parts<'a>(
        &'a self,
        key: &'a [u8; 32],
        nonce: &'a [u8; 12],
        ad: &'a [u8],
        total: u64,
        open: bool,
    ) -> AnyParts<'a> {
        match &self.kernel {
            // SAFETY: see the top of this file.
            Some(kernel) => AnyParts::Kernel(unsafe {
                Parts::new(kernel, CallKey::ChaCha(key), CallNonce::Nonce(nonce), ad, flags(open), total)
            }),
            #[cfg(feature = "portable")]
            None => AnyParts::ChaCha(portable::ChaChaParts::new(key, nonce, ad), open),
            #[cfg(not(feature = "portable"))]
            None => unreachable!("no such level without the feature portable"),
        }
    }
}

impl Batch {
    /// Seals or opens the packets of all lanes, whose keys the level of this row has set up.
    pub(crate) fn run(&self, lanes: &Lanes<'_>, open: bool) {
        // SAFETY: see the top of this file.
        unsafe { self.kernel.batch(lanes, flags(open)) };
    }
}

/// A packet in parts.
#[allow(clippy::large_enum_variant)]
pub(crate) enum AnyParts<'a> {
    Kernel(Parts<'a>),
    #[cfg(feature = "portable")]
    ChaCha(portable::ChaChaParts, bool),
    #[cfg(feature = "portable")]
    Gcm(portable::GcmParts<'a>, bool),
}

impl AnyParts<'_> {
    /// The next part: a multiple of 64 bytes.
    pub(crate) fn next(&mut self, text: &mut Text<'_>) {
        match self {
            AnyParts::Kernel(parts) => {
                parts.next(text, false);
            }
            #[cfg(feature = "portable")]
            AnyParts::ChaCha(parts, open) => parts.next(text, *open),
            #[cfg(feature = "portable")]
            AnyParts::Gcm(parts, open) => parts.next(text, *open),
        }
    }

    /// Of AES-GCM: GHASH of what the parts so far had.
    pub(crate) fn hash(&self) -> [u8; 16] {
        match self {
            AnyParts::Kernel(parts) => parts.hash(),
            #[cfg(feature = "portable")]
            AnyParts::Gcm(parts, _) => parts.hash(),
            #[cfg(feature = "portable")]
            AnyParts::ChaCha(..) => unreachable!("no packet of AES-GCM"),
        }
    }

    /// The last part, of any length. Returns the tag that belongs to the packet.
    pub(crate) fn last(mut self, text: &mut Text<'_>) -> Tag {
        match &mut self {
            AnyParts::Kernel(parts) => parts.next(text, true),
            #[cfg(feature = "portable")]
            AnyParts::ChaCha(parts, open) => {
                parts.next(text, *open);
                parts.tag()
            }
            #[cfg(feature = "portable")]
            AnyParts::Gcm(parts, open) => {
                parts.next(text, *open);
                parts.tag()
            }
        }
    }
}

/// A key of AES at one level.
#[derive(Clone)]
#[allow(clippy::large_enum_variant)] // no memory is allocated for keys
pub(crate) enum Aes {
    Kernel(AesKey),
    #[cfg(feature = "portable")]
    Portable(portable::AnyAes),
}

impl Zeroize for Aes {
    fn zeroize(&mut self) {
        match self {
            Aes::Kernel(key) => key.zeroize(),
            #[cfg(feature = "portable")]
            Aes::Portable(_) => {} // wipes itself when it is dropped
        }
    }
}

impl Aes {
    /// `key` has 16, 24 or 32 bytes: None for any other number.
    pub(crate) fn new(level: &Level, key: &[u8]) -> Option<Aes> {
        if !matches!(key.len(), 16 | 24 | 32) {
            return None;
        }
        match &level.kernel {
            // SAFETY: see the top of this file.
            Some(kernel) => Some(Aes::Kernel(unsafe { kernel.set_up_aes(key) })),
            #[cfg(feature = "portable")]
            None => portable::AnyAes::new(key).map(Aes::Portable),
            #[cfg(not(feature = "portable"))]
            None => None,
        }
    }

    /// One block. The level is the one that made the key, here and below.
    pub(crate) fn encrypt(&self, level: &Level, block: &[u8; 16]) -> [u8; 16] {
        match (self, &level.kernel) {
            // SAFETY: see the top of this file; the key was set up by this kernel.
            (Aes::Kernel(key), Some(kernel)) => unsafe { kernel.mask(MaskKey::Aes(key), block) },
            (Aes::Kernel(_), None) => unreachable!("a level without a kernel makes no such key"),
            #[cfg(feature = "portable")]
            (Aes::Portable(aes), _) => aes.encrypt(block),
        }
    }

    /// Whole blocks, every one by itself, in place.
    pub(crate) fn encrypt_all(&self, level: &Level, blocks: &mut [u8]) {
        match (self, &level.kernel) {
            // SAFETY: see the top of this file; the key was set up by this kernel.
            (Aes::Kernel(key), Some(kernel)) => unsafe { kernel.encrypt(key, blocks) },
            (Aes::Kernel(_), None) => unreachable!("a level without a kernel makes no such key"),
            #[cfg(feature = "portable")]
            (Aes::Portable(aes), _) => aes.encrypt_all(blocks),
        }
    }

    /// Adds key stream to whole blocks. The last four bytes of `counter` count, and wrap around.
    pub(crate) fn count(&self, level: &Level, counter: &mut [u8; 16], text: &mut Text<'_>) {
        match (self, &level.kernel) {
            // SAFETY: see the top of this file; the key was set up by this kernel.
            (Aes::Kernel(key), Some(kernel)) => unsafe { kernel.count(key, counter, text) },
            (Aes::Kernel(_), None) => unreachable!("a level without a kernel makes no such key"),
            #[cfg(feature = "portable")]
            (Aes::Portable(aes), _) => aes.count(counter, text.copied()),
        }
    }

    /// Encrypts `chain` plus a block for every block of `input`, which has whole ones: CBC, of which only the last
    /// block is kept. `unused` has the others, up to its length in one call of a kernel.
    pub(crate) fn chain(&self, level: &Level, chain: &mut [u8; 16], input: &[u8], unused: &mut Unused) {
        match (self, &level.kernel) {
            (Aes::Kernel(key), Some(kernel)) => {
                for part in input.chunks(UNUSED_LEN) {
                    // SAFETY: see the top of this file; the key was set up by this kernel.
                    unsafe { kernel.chain(key, chain, part, unused) };
                }
            }
            (Aes::Kernel(_), None) => unreachable!("a level without a kernel makes no such key"),
            #[cfg(feature = "portable")]
            (Aes::Portable(aes), _) => {
                for block in input.chunks(16) {
                    for (sum, byte) in chain.iter_mut().zip(block) {
                        *sum ^= byte;
                    }
                    *chain = aes.encrypt(chain);
                }
            }
        }
    }
}

/// The key of QUIC's masks at one level.
#[derive(Clone)]
#[allow(clippy::large_enum_variant)] // no memory is allocated for keys
pub(crate) enum MaskState {
    ChaCha([u8; 32]),
    Aes(Aes),
}

impl Zeroize for MaskState {
    fn zeroize(&mut self) {
        match self {
            MaskState::ChaCha(key) => key.zeroize(),
            MaskState::Aes(key) => key.zeroize(),
        }
    }
}

impl MaskState {
    /// The mask of a sample (RFC 9001, sections 5.4.3 and 5.4.4); of ChaCha20's, the first 8 bytes. The level is the
    /// one that made the key.
    pub(crate) fn mask(&self, level: &Level, sample: &[u8; 16]) -> [u8; 16] {
        match (self, &level.kernel) {
            (MaskState::Aes(aes), _) => aes.encrypt(level, sample),
            // SAFETY: see the top of this file.
            (MaskState::ChaCha(key), Some(kernel)) => unsafe { kernel.mask(MaskKey::ChaCha(key), sample) },
            (MaskState::ChaCha(key), None) => {
                // The sample stands in the state where HChaCha20 has its nonce; a block is that and the first state, whose
                // first words are constants.
                let mut subkey = hchacha20(key, sample);
                let mut mask = [0; 16];
                for (i, constant) in [0x6170_7865_u32, 0x3320_646e].iter().enumerate() {
                    let word = [subkey[4 * i], subkey[4 * i + 1], subkey[4 * i + 2], subkey[4 * i + 3]];
                    let word = u32::from_le_bytes(word).wrapping_add(*constant);
                    mask[4 * i..4 * i + 4].copy_from_slice(&word.to_le_bytes());
                }
                subkey.zeroize();
                mask
            }
        }
    }
}

/// HChaCha20 (draft-irtf-cfrg-xchacha-03, section 2.2): the subkey for a key and the first 16 bytes of a nonce.
pub(crate) fn hchacha20(key: &[u8; 32], nonce: &[u8; 16]) -> [u8; 32] {
    fn word(bytes: &[u8], i: usize) -> u32 {
        u32::from_le_bytes([bytes[4 * i], bytes[4 * i + 1], bytes[4 * i + 2], bytes[4 * i + 3]])
    }
    fn quarter(x: &mut [u32; 16], a: usize, b: usize, c: usize, d: usize) {
        x[a] = x[a].wrapping_add(x[b]);
        x[d] = (x[d] ^ x[a]).rotate_left(16);
        x[c] = x[c].wrapping_add(x[d]);
        x[b] = (x[b] ^ x[c]).rotate_left(12);
        x[a] = x[a].wrapping_add(x[b]);
        x[d] = (x[d] ^ x[a]).rotate_left(8);
        x[c] = x[c].wrapping_add(x[d]);
        x[b] = (x[b] ^ x[c]).rotate_left(7);
    }
    let mut x = [0x6170_7865, 0x3320_646e, 0x7962_2d32, 0x6b20_6574, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    for i in 0..8 {
        x[4 + i] = word(key, i);
    }
    for i in 0..4 {
        x[12 + i] = word(nonce, i);
    }
    for _ in 0..10 {
        quarter(&mut x, 0, 4, 8, 12);
        quarter(&mut x, 1, 5, 9, 13);
        quarter(&mut x, 2, 6, 10, 14);
        quarter(&mut x, 3, 7, 11, 15);
        quarter(&mut x, 0, 5, 10, 15);
        quarter(&mut x, 1, 6, 11, 12);
        quarter(&mut x, 2, 7, 8, 13);
        quarter(&mut x, 3, 4, 9, 14);
    }
    let mut subkey = [0; 32];
    for (i, out) in subkey.chunks_exact_mut(4).enumerate() {
        out.copy_from_slice(&x[if i < 4 { i } else { i + 8 }].to_le_bytes());
    }
    x.zeroize();
    subkey
}
