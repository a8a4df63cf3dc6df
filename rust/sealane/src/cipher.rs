//! Whole packets and packets in parts at one level, with its kernel or with portable code.

use core::mem::MaybeUninit;

use subtle::ConstantTimeEq;
use zeroize::Zeroize;

use crate::dit::Dit;
use crate::kernel::{
    bytes_of_tag, AesBlocks, AesGcm, AesKey, CallNonce, ChaCha20Masks, ChaCha20Poly1305, GcmKey, Parts, Runnable, Tag,
    Text, Unused, Usable, UNUSED_LEN,
};
#[cfg(feature = "portable")]
use crate::portable;
use crate::Error;

/// Compares two tags in a time that does not depend on them.
#[inline(always)]
pub(crate) fn same_tag(a: &Tag, b: &Tag) -> bool {
    ((a[0] ^ b[0]) | (a[1] ^ b[1])).ct_eq(&0).into()
}

/// An AES-GCM key at one level. It is wiped when it is dropped.
#[derive(Clone)]
#[allow(clippy::large_enum_variant)] // boxing would allocate, and most keys are of the larger variant
pub(crate) enum Gcm {
    Kernel(GcmKey),
    #[cfg(feature = "portable")]
    Portable(portable::Gcm),
}

impl Gcm {
    /// A key of 16, 24 or 32 bytes. If a kernel sets it up, `set` has yet to do so in its final place.
    pub(crate) fn unset(level: Usable<AesGcm>, _key: &[u8]) -> Option<Gcm> {
        match level {
            Usable::Kernel(kernel) => Some(Gcm::Kernel(GcmKey::unset(kernel))),
            #[cfg(feature = "portable")]
            Usable::Portable => portable::Gcm::new(_key).map(Gcm::Portable),
            #[cfg(not(feature = "portable"))]
            Usable::Portable => None,
        }
    }

    pub(crate) fn set(&mut self, key: &[u8]) {
        match self {
            Gcm::Kernel(gcm) => gcm.set(key),
            #[cfg(feature = "portable")]
            Gcm::Portable(_) => {} // already complete
        }
    }

    pub(crate) fn level(&self) -> Usable<AesGcm> {
        match self {
            Gcm::Kernel(key) => Usable::Kernel(key.level()),
            #[cfg(feature = "portable")]
            Gcm::Portable(_) => Usable::Portable,
        }
    }

    /// Seals or opens a packet, and writes its computed tag.
    pub(crate) fn packet(&self, nonce: CallNonce<'_>, ad: &[u8], text: &mut Text<'_>, open: bool, tag: &mut Tag) {
        match self {
            Gcm::Kernel(key) => key.packet(nonce, ad, text, open, tag),
            #[cfg(feature = "portable")]
            Gcm::Portable(key) => {
                let mut parts = portable::GcmParts::new(key, nonce, ad);
                parts.next(text, open);
                *tag = parts.tag();
            }
        }
    }

    pub(crate) fn parts<'a>(&'a self, nonce: CallNonce<'a>, ad: &'a [u8], total: u64, open: bool) -> AnyParts<'a> {
        match self {
            Gcm::Kernel(key) => AnyParts::Kernel(key.parts(nonce, ad, total, open)),
            #[cfg(feature = "portable")]
            Gcm::Portable(key) => AnyParts::Gcm(portable::GcmParts::new(key, nonce, ad), open),
        }
    }

    /// Gives the key a different hash key for authentication.
    pub(crate) fn set_hash_key(&mut self, hash_key: &[u8; 16]) {
        match self {
            Gcm::Kernel(key) => key.set_hash_key(hash_key),
            #[cfg(feature = "portable")]
            Gcm::Portable(key) => key.set_hash_key(hash_key),
        }
    }

    /// Restores the table from the hash key. The tag of an empty packet is the mask, and the tag of a block of zeroes
    /// gives the hash key.
    #[inline(never)]
    pub(crate) fn remake_table(&mut self) {
        let mut tag = [0; 2];
        self.packet(CallNonce::Block(&[0; 16]), &[], &mut Text::in_place(&mut []), false, &mut tag);
        let mut hash_key = bytes_of_tag(&tag);
        #[cfg_attr(not(feature = "portable"), allow(irrefutable_let_patterns))]
        if let Gcm::Kernel(key) = self {
            key.forget_table();
        }
        self.set_hash_key(&hash_key);
        tag.zeroize();
        hash_key.zeroize();
    }

    /// The block J0 for a nonce that does not have 12 bytes (NIST SP 800-38D, section 7.1, step 2). It is GHASH of
    /// the nonce, its padding, and the lengths 0 and the nonce's. A packet with the nonce as ciphertext and no
    /// associated data has J0, masked, as its tag. The tag of an empty packet is that mask, since GHASH of zeroes is
    /// zero.
    #[inline(never)]
    pub(crate) fn block_of_nonce(&self, nonce: &[u8]) -> [u8; 16] {
        const MASKED: CallNonce<'_> = CallNonce::Block(&[0; 16]);
        let mut parts = self.parts(MASKED, &[], nonce.len() as u64, true);
        let mut block = [0; 64];
        let rest = nonce.chunks_exact(block.len()).remainder();
        for whole in nonce.chunks_exact(block.len()) {
            block.copy_from_slice(whole);
            parts.next(&mut Text::in_place(&mut block));
        }
        block[..rest.len()].copy_from_slice(rest);
        let (mut hash, mut mask) = ([0; 2], [0; 2]);
        parts.last(&mut Text::in_place(&mut block[..rest.len()]), &mut hash);
        self.packet(MASKED, &[], &mut Text::in_place(&mut []), false, &mut mask);
        let j0 = bytes_of_tag(&[hash[0] ^ mask[0], hash[1] ^ mask[1]]);
        block.zeroize();
        hash.zeroize();
        mask.zeroize();
        j0
    }
}

impl Usable<ChaCha20Poly1305> {
    /// Seals or opens a packet, and writes its computed tag.
    pub(crate) fn packet(
        self,
        key: &[u8; 32],
        nonce: &[u8; 12],
        ad: &[u8],
        text: &mut Text<'_>,
        open: bool,
        tag: &mut Tag,
    ) {
        match self {
            Usable::Kernel(kernel) => kernel.packet(key, nonce, ad, text, open, tag),
            #[cfg(feature = "portable")]
            Usable::Portable => {
                let mut parts = portable::ChaChaParts::new(key, nonce, ad);
                parts.next(text, open);
                *tag = parts.tag();
            }
            #[cfg(not(feature = "portable"))]
            Usable::Portable => unreachable!("no such level without the feature portable"),
        }
    }

    /// XORs ChaCha20 keystream into a text, starting at a block and ending at most at the last of 2^32 blocks.
    pub(crate) fn stream(self, key: &[u8; 32], nonce: &[u8; 12], block: u32, text: &mut Text<'_>) {
        match self {
            Usable::Kernel(kernel) => kernel.stream(key, nonce, block).next(text, true, &mut [0; 2]),
            #[cfg(feature = "portable")]
            Usable::Portable => portable::chacha20(key, nonce, block, text.copied()),
            #[cfg(not(feature = "portable"))]
            Usable::Portable => unreachable!("no such level without the feature portable"),
        }
    }

    /// Poly1305 of data, with block 0 of the keystream as the key.
    pub(crate) fn poly1305(self, key: &[u8; 32], nonce: &[u8; 12], data: &[u8]) -> [u8; 16] {
        match self {
            Usable::Kernel(kernel) => wiped::<128, _>(|| poly1305(kernel, key, nonce, data)),
            #[cfg(feature = "portable")]
            Usable::Portable => portable::poly1305(key, nonce, data),
            #[cfg(not(feature = "portable"))]
            Usable::Portable => unreachable!("no such level without the feature portable"),
        }
    }

    pub(crate) fn parts<'a>(
        self,
        key: &'a [u8; 32],
        nonce: &'a [u8; 12],
        ad: &'a [u8],
        total: u64,
        open: bool,
    ) -> AnyParts<'a> {
        match self {
            Usable::Kernel(kernel) => AnyParts::Kernel(kernel.parts(key, nonce, ad, total, open)),
            #[cfg(feature = "portable")]
            Usable::Portable => AnyParts::ChaCha(portable::ChaChaParts::new(key, nonce, ad), open),
            #[cfg(not(feature = "portable"))]
            Usable::Portable => unreachable!("no such level without the feature portable"),
        }
    }
}

fn poly1305(kernel: Runnable<ChaCha20Poly1305>, key: &[u8; 32], nonce: &[u8; 12], data: &[u8]) -> [u8; 16] {
    let (whole, rest) = data.split_at(data.len() & !15);
    let mut parts = kernel.parts(key, nonce, whole, 0, false);
    parts.next(&mut Text::in_place(&mut []), false, &mut [0; 2]);
    parts.poly1305().finish(rest)
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
    /// Processes the next part, a multiple of 64 bytes.
    pub(crate) fn next(&mut self, text: &mut Text<'_>) {
        match self {
            AnyParts::Kernel(parts) => parts.next(text, false, &mut [0; 2]),
            #[cfg(feature = "portable")]
            AnyParts::ChaCha(parts, open) => parts.next(text, *open),
            #[cfg(feature = "portable")]
            AnyParts::Gcm(parts, open) => parts.next(text, *open),
        }
    }

    /// For AES-GCM: GHASH of the parts so far.
    pub(crate) fn hash(&self) -> [u8; 16] {
        match self {
            AnyParts::Kernel(parts) => parts.hash(),
            #[cfg(feature = "portable")]
            AnyParts::Gcm(parts, _) => parts.hash(),
            #[cfg(feature = "portable")]
            AnyParts::ChaCha(..) => unreachable!("no packet of AES-GCM"),
        }
    }

    /// Processes the last part, of any length, and writes the packet's computed tag.
    pub(crate) fn last(&mut self, text: &mut Text<'_>, tag: &mut Tag) {
        match self {
            AnyParts::Kernel(parts) => parts.next(text, true, tag),
            #[cfg(feature = "portable")]
            AnyParts::ChaCha(parts, open) => {
                parts.next(text, *open);
                *tag = parts.tag();
            }
            #[cfg(feature = "portable")]
            AnyParts::Gcm(parts, open) => {
                parts.next(text, *open);
                *tag = parts.tag();
            }
        }
    }
}

/// An AES key at one level. It is wiped when it is dropped.
#[derive(Clone)]
#[allow(clippy::large_enum_variant)] // boxing would allocate
pub(crate) enum Aes {
    Kernel(AesKey),
    #[cfg(feature = "portable")]
    Portable(portable::AnyAes),
}

impl Aes {
    /// A key of 16, 24 or 32 bytes. If a kernel sets it up, `set` has yet to do so in its final place.
    pub(crate) fn unset(key: &[u8], level: Result<Usable<AesBlocks>, Error>) -> Result<Aes, Error> {
        if !matches!(key.len(), 16 | 24 | 32) {
            return Err(Error::InvalidKey);
        }
        match level? {
            Usable::Kernel(kernel) => Ok(Aes::Kernel(AesKey::unset(kernel))),
            #[cfg(feature = "portable")]
            Usable::Portable => portable::AnyAes::new(key).map(Aes::Portable).ok_or(Error::NoLevel),
            #[cfg(not(feature = "portable"))]
            Usable::Portable => Err(Error::NoLevel),
        }
    }

    pub(crate) fn set(&mut self, key: &[u8]) {
        match self {
            Aes::Kernel(aes) => aes.set(key),
            #[cfg(feature = "portable")]
            Aes::Portable(_) => {} // already complete
        }
    }

    pub(crate) fn level(&self) -> Usable<AesBlocks> {
        match self {
            Aes::Kernel(key) => Usable::Kernel(key.level()),
            #[cfg(feature = "portable")]
            Aes::Portable(_) => Usable::Portable,
        }
    }

    /// The key, if it is for a kernel.
    pub(crate) fn of_kernel(&self) -> Option<&AesKey> {
        match self {
            Aes::Kernel(key) => Some(key),
            #[cfg(feature = "portable")]
            Aes::Portable(_) => None,
        }
    }

    /// Encrypts one block.
    pub(crate) fn encrypt(&self, block: &[u8; 16], to: &mut [u8; 16]) {
        match self {
            Aes::Kernel(key) => key.encrypt(block, to),
            #[cfg(feature = "portable")]
            Aes::Portable(aes) => *to = aes.encrypt(block),
        }
    }

    /// Encrypts whole blocks independently, in place.
    pub(crate) fn encrypt_all(&self, blocks: &mut [u8]) {
        match self {
            Aes::Kernel(key) => key.encrypt_all(blocks),
            #[cfg(feature = "portable")]
            Aes::Portable(aes) => aes.encrypt_all(blocks),
        }
    }

    /// XORs keystream into whole blocks. The last four bytes of `counter` count, and wrap around.
    pub(crate) fn count(&self, counter: &mut [u8; 16], text: &mut Text<'_>) {
        match self {
            Aes::Kernel(key) => key.count(counter, text),
            #[cfg(feature = "portable")]
            Aes::Portable(aes) => aes.count(counter, text.copied()),
        }
    }

    /// For each block of `input`, which has whole blocks, encrypts `chain` XOR that block: CBC that keeps only the last
    /// block. `unused` receives the other blocks, as many as it holds per kernel call.
    pub(crate) fn chain(&self, chain: &mut [u8; 16], input: &[u8], unused: &mut Unused) {
        match self {
            Aes::Kernel(key) => input.chunks(UNUSED_LEN).for_each(|part| key.chain(chain, part, unused)),
            #[cfg(feature = "portable")]
            Aes::Portable(aes) => {
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

/// A key for QUIC header masks at one level. It is wiped when it is dropped.
#[derive(Clone)]
#[allow(clippy::large_enum_variant)] // boxing would allocate
pub(crate) enum MaskKey {
    ChaCha(ChaChaMaskKey),
    Aes(Aes),
}

impl MaskKey {
    /// See `Gcm::set`.
    pub(crate) fn set(&mut self, key: &[u8]) {
        match self {
            MaskKey::ChaCha(chacha) => chacha.key.copy_from_slice(key),
            MaskKey::Aes(aes) => aes.set(key),
        }
    }

    pub(crate) fn level(&self) -> &'static str {
        match self {
            MaskKey::ChaCha(key) => key.level.name(),
            MaskKey::Aes(aes) => aes.level().name(),
        }
    }

    /// Writes the mask of a sample (RFC 9001, sections 5.4.3 and 5.4.4); for ChaCha20 only its first 8 bytes.
    pub(crate) fn mask(&self, sample: &[u8; 16], mask: &mut [u8; 16]) {
        match self {
            MaskKey::ChaCha(key) => key.mask(sample, mask),
            MaskKey::Aes(aes) => aes.encrypt(sample, mask),
        }
    }
}

/// A key for ChaCha20 header masks at one level. It is wiped when it is dropped.
#[derive(Clone)]
pub(crate) struct ChaChaMaskKey {
    pub(crate) key: [u8; 32],
    pub(crate) level: Usable<ChaCha20Masks>,
}

impl Drop for ChaChaMaskKey {
    fn drop(&mut self) {
        self.key.zeroize();
    }
}

impl ChaChaMaskKey {
    pub(crate) fn mask(&self, sample: &[u8; 16], mask: &mut [u8; 16]) {
        if let Usable::Kernel(kernel) = self.level {
            return kernel.mask(&self.key, sample, mask);
        }
        wiped::<128, _>(|| mask_of(&self.key, sample, mask));
    }
}

/// The sample takes the place of HChaCha20's nonce in the initial state. A ChaCha20 block is HChaCha20's state plus the
/// initial state, whose first words are constants.
fn mask_of(key: &[u8; 32], sample: &[u8; 16], mask: &mut [u8; 16]) {
    let mut subkey = [0; 32];
    rounds(key, sample, &mut subkey);
    for (i, constant) in [0x6170_7865_u32, 0x3320_646e].iter().enumerate() {
        let word = [subkey[4 * i], subkey[4 * i + 1], subkey[4 * i + 2], subkey[4 * i + 3]];
        let word = u32::from_le_bytes(word).wrapping_add(*constant);
        mask[4 * i..4 * i + 4].copy_from_slice(&word.to_le_bytes());
    }
    subkey.zeroize();
}

/// HChaCha20 (draft-irtf-cfrg-xchacha-03, section 2.2): the subkey for a key and the first 16 bytes of a nonce.
pub(crate) fn hchacha20(key: &[u8; 32], nonce: &[u8; 16], subkey: &mut [u8; 32]) {
    wiped::<128, _>(|| rounds(key, nonce, subkey));
}

/// Wipes the stack below a function that returns. Its callees leave copies of moved keys and spilled registers there.
struct Wiped<const WORDS: usize>;

impl<const WORDS: usize> Drop for Wiped<WORDS> {
    #[inline(never)]
    fn drop(&mut self) {
        // In parts of 1 KiB, for which the C library's memset uses vectors. One large memset takes four times as long.
        for part in [const { MaybeUninit::<u64>::uninit() }; WORDS].chunks_mut(128) {
            part.zeroize();
        }
    }
}

/// Makes a key or processes a packet, and wipes what that leaves on the stack. In optimized builds, the result is built
/// directly in the caller's place.
#[inline(always)]
pub(crate) fn wiping<T>(make: impl FnOnce() -> T) -> T {
    let _dit = Dit::on();
    wiped::<1024, T>(make)
}

/// Wipes the stack below its own small frame. The caller's frame may already be gone if the wipe is its last call.
#[inline(never)]
pub(crate) fn wiped<const WORDS: usize, T>(make: impl FnOnce() -> T) -> T {
    #[inline(never)]
    fn below<T>(make: impl FnOnce() -> T) -> T {
        make()
    }
    let _wiped = Wiped::<WORDS>;
    below(make)
}

fn rounds(key: &[u8; 32], nonce: &[u8; 16], subkey: &mut [u8; 32]) {
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
    for (i, out) in subkey.chunks_exact_mut(4).enumerate() {
        out.copy_from_slice(&x[if i < 4 { i } else { i + 8 }].to_le_bytes());
    }
    x.zeroize();
}
