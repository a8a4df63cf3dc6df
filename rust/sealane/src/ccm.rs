//! AES-CMAC and AES-CCM. Both chain blocks like CBC and keep only the last one.

mod batch;

use subtle::ConstantTimeEq;
use zeroize::{Zeroize, ZeroizeOnDrop};

use crate::cipher::{wiped, wiping, Aes};
use crate::dit::Dit;
use crate::kernel::{AesBlocks, Text, Unused, Usable, UNUSED_LEN};
use crate::level::AES_BLOCKS;
use crate::Error;
pub use batch::{ccm_open_batch, ccm_seal_batch, cmac_batch, CcmPacket, CmacText};

/// A chain of blocks.
struct Chain<'a> {
    aes: &'a Aes,
    last: [u8; 16],
    unused: Unused,
}

impl Drop for Chain<'_> {
    fn drop(&mut self) {
        self.last.zeroize();
    }
}

impl<'a> Chain<'a> {
    fn new(aes: &'a Aes) -> Self {
        Chain { aes, last: [0; 16], unused: Unused::new() }
    }

    /// Chains whole blocks.
    fn absorb(&mut self, input: &[u8]) {
        if !input.is_empty() {
            self.aes.chain(&mut self.last, input, &mut self.unused);
        }
    }

    /// Chains data of any length, and pads its last block with zeroes.
    fn absorb_padded(&mut self, input: &[u8]) {
        let (whole, rest) = input.split_at(input.len() & !15);
        self.absorb(whole);
        if !rest.is_empty() {
            let mut last = [0; 16];
            last[..rest.len()].copy_from_slice(rest);
            self.absorb(&last);
            last.zeroize();
        }
    }
}

/// A key of AES-CMAC (NIST SP 800-38B, RFC 4493). It is wiped when it is dropped.
///
/// ```
/// use sealane::CmacKey;
///
/// # fn main() -> Result<(), sealane::Error> {
/// let key = CmacKey::new(&[7; 16])?; // use your own key
/// let mut text = key.begin();
/// text.update(b"in any ");
/// text.update(b"number of pieces");
/// let mac = text.finish();
/// let mut text = key.begin();
/// text.update(b"in any number of pieces");
/// text.verify(&mac[..8])?; // for protocols with short MACs
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct CmacKey(Aes);

impl ZeroizeOnDrop for CmacKey {}

impl core::fmt::Debug for CmacKey {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("CmacKey").field("level", &self.0.level().name()).finish_non_exhaustive()
    }
}

impl CmacKey {
    /// Makes a key of 16, 24 or 32 bytes. The first key in a process chooses the level, as in
    /// [`Key::new`](crate::Key::new).
    ///
    /// # Errors
    /// [`Error::InvalidKey`] for other lengths; [`Error::NoLevel`] if no level works on this CPU.
    pub fn new(key: &[u8]) -> Result<CmacKey, Error> {
        CmacKey::at(key, AES_BLOCKS.of_process())
    }

    /// Like `new`, with a given level, for tests. [`HeaderKey::levels`](crate::HeaderKey::levels) lists the names, for
    /// an algorithm with AES.
    ///
    /// # Errors
    /// Those of `new`, and [`Error::InvalidLevel`] if the level does not exist or does not work on this CPU.
    pub fn with_level(key: &[u8], level: &str) -> Result<CmacKey, Error> {
        CmacKey::at(key, AES_BLOCKS.named(level))
    }

    fn at(key: &[u8], level: Result<Usable<AesBlocks>, Error>) -> Result<CmacKey, Error> {
        wiping(|| {
            let mut made = CmacKey(Aes::unset(key, level)?);
            made.0.set(key);
            Ok(made)
        })
    }

    /// Starts a new text.
    pub fn begin(&self) -> Cmac<'_> {
        Cmac { chain: Chain::new(&self.0), held: [0; 16], held_len: 0 }
    }
}

/// The MAC of a text in progress.
///
/// ```
/// let key = sealane::CmacKey::new(&[7; 16])?;
/// let mut mac: sealane::Cmac<'_> = key.begin();
/// mac.update(b"a text");
/// assert_eq!(mac.finish().len(), 16);
/// # Ok::<(), sealane::Error>(())
/// ```
pub struct Cmac<'a> {
    chain: Chain<'a>,
    held: [u8; 16], // input not yet chained: the last block, whole or not, needs a subkey
    held_len: usize,
}

impl Drop for Cmac<'_> {
    fn drop(&mut self) {
        self.held.zeroize();
    }
}

impl core::fmt::Debug for Cmac<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Cmac").finish_non_exhaustive()
    }
}

/// Multiplies by x in GF(2^128), big-endian (SP 800-38B, section 5.3).
fn double(block: &mut [u8; 16]) {
    let value = u128::from_be_bytes(*block);
    *block = ((value << 1) ^ (0x87 & 0_u128.wrapping_sub(value >> 127))).to_be_bytes();
}

/// Turns E(0) into the final block: the last block of the text, padded if it is not whole, XOR a subkey (SP 800-38B,
/// section 6.2, steps 1 and 4). The words that 32-bit ARM spills for lack of registers are wiped.
fn add_last(block: &mut [u8; 16], last: &[u8]) {
    wiped::<32, _>(|| {
        double(block);
        if last.len() < 16 {
            double(block);
            block[last.len()] ^= 0x80;
        }
        for (sum, byte) in block.iter_mut().zip(last) {
            *sum ^= byte;
        }
    });
}

/// Compares the first 4 to 16 bytes of a MAC with the received ones, and wipes it.
fn verify(mut expected: [u8; 16], mac: &[u8]) -> Result<(), Error> {
    let same = (4..=16).contains(&mac.len()).then(|| bool::from(expected[..mac.len()].ct_eq(mac)));
    expected.zeroize();
    match same {
        None => Err(Error::InvalidTag),
        Some(true) => Ok(()),
        Some(false) => Err(Error::NotAuthentic),
    }
}

impl Cmac<'_> {
    /// Adds to the text.
    pub fn update(&mut self, text: &[u8]) {
        let _dit = Dit::on();
        let (first, rest) = text.split_at(text.len().min(16 - self.held_len));
        self.held[self.held_len..self.held_len + first.len()].copy_from_slice(first);
        self.held_len += first.len();
        if rest.is_empty() {
            return;
        }
        self.chain.absorb(&self.held);
        let (whole, last) = rest.split_at((rest.len() - 1) & !15);
        self.chain.absorb(whole);
        self.held[..last.len()].copy_from_slice(last);
        self.held_len = last.len();
    }

    /// Returns the MAC of the whole text.
    pub fn finish(mut self) -> [u8; 16] {
        let _dit = Dit::on();
        let mut last = [0; 16];
        self.chain.aes.encrypt(&[0; 16], &mut last);
        add_last(&mut last, &self.held[..self.held_len]);
        self.chain.absorb(&last);
        last.zeroize();
        self.chain.last
    }

    /// Compares the first 4 to 16 bytes of the MAC with `mac`. Its length must never be chosen by the sender.
    ///
    /// # Errors
    /// [`Error::NotAuthentic`]; [`Error::InvalidTag`] if `mac` is shorter or longer.
    pub fn verify(self, mac: &[u8]) -> Result<(), Error> {
        verify(self.finish(), mac)
    }
}

/// A key of AES-CCM (NIST SP 800-38C, RFC 3610), for protocols that require it: TLS, 802.11, Bluetooth, Matter.
/// Elsewhere prefer AES-GCM, which is several times as fast. The key is wiped when it is dropped.
///
/// ```
/// use sealane::CcmKey;
///
/// # fn main() -> Result<(), sealane::Error> {
/// let key = CcmKey::new(&[7; 16], 8)?; // as in CCM_8 suites of TLS
/// let (mut packet, mut tag) = (*b"a packet", [0; 8]);
/// key.seal_in_place(&[1; 12], b"its header", &mut packet, &mut tag)?; // never reuse a nonce
/// key.open_in_place(&[1; 12], b"its header", &mut packet, &tag)?;
/// assert_eq!(&packet, b"a packet");
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct CcmKey {
    aes: Aes,
    tag_len: usize,
}

impl ZeroizeOnDrop for CcmKey {}

impl core::fmt::Debug for CcmKey {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("CcmKey")
            .field("level", &self.aes.level().name())
            .field("tag_len", &self.tag_len)
            .finish_non_exhaustive()
    }
}

impl CcmKey {
    /// Makes a key of 16, 24 or 32 bytes, with tags of 4, 6, 8, 10, 12, 14 or 16 bytes. A forgery passes a 4-byte tag
    /// with a probability of 2^-32. The first key in a process chooses the level, as in [`Key::new`](crate::Key::new).
    ///
    /// # Errors
    /// [`Error::InvalidKey`], [`Error::InvalidTag`] for other lengths; [`Error::NoLevel`] if no level works on this
    /// CPU.
    pub fn new(key: &[u8], tag_len: usize) -> Result<CcmKey, Error> {
        CcmKey::at(key, tag_len, AES_BLOCKS.of_process())
    }

    /// Like `new`, with a given level, for tests. [`HeaderKey::levels`](crate::HeaderKey::levels) lists the names, for
    /// an algorithm with AES.
    ///
    /// # Errors
    /// Those of `new`, and [`Error::InvalidLevel`] if the level does not exist or does not work on this CPU.
    pub fn with_level(key: &[u8], tag_len: usize, level: &str) -> Result<CcmKey, Error> {
        CcmKey::at(key, tag_len, AES_BLOCKS.named(level))
    }

    fn at(key: &[u8], tag_len: usize, level: Result<Usable<AesBlocks>, Error>) -> Result<CcmKey, Error> {
        wiping(|| {
            let mut made = CcmKey { aes: Aes::unset(key, level)?, tag_len };
            if !(4..=16).contains(&tag_len) || tag_len % 2 != 0 {
                return Err(Error::InvalidTag);
            }
            made.aes.set(key);
            Ok(made)
        })
    }

    /// Encrypts `text` in place, and writes the tag, of the length given to `new`. A nonce has 7 to 13 bytes; never
    /// reuse it.
    ///
    /// # Errors
    /// [`Error::InvalidNonce`]; [`Error::InvalidTag`]; [`Error::TooLong`] for 2^(8 * (15 - `nonce.len()`)) bytes or
    /// more (64 KiB with 13-byte nonces), or more than 2^36 - 32 bytes. `text` and `tag` are unchanged.
    pub fn seal_in_place(&self, nonce: &[u8], ad: &[u8], text: &mut [u8], tag: &mut [u8]) -> Result<(), Error> {
        self.seal_text(nonce, ad, &mut Text::in_place(text), tag)
    }

    /// Encrypts `input` to `output`, which has the same length; otherwise like `seal_in_place`.
    ///
    /// # Errors
    /// Those of `seal_in_place`, and [`Error::LengthMismatch`]. `output` and `tag` are unchanged.
    pub fn seal(&self, nonce: &[u8], ad: &[u8], input: &[u8], output: &mut [u8], tag: &mut [u8]) -> Result<(), Error> {
        self.seal_text(nonce, ad, &mut Text::apart(input, output)?, tag)
    }

    /// Verifies the tag of `text` and `ad`, and decrypts `text` in place.
    ///
    /// # Errors
    /// [`Error::NotAuthentic`] for any forgery; otherwise those of `seal_in_place`. `text` is unchanged.
    pub fn open_in_place(&self, nonce: &[u8], ad: &[u8], text: &mut [u8], tag: &[u8]) -> Result<(), Error> {
        self.open_text(nonce, ad, &mut Text::in_place(text), tag)
    }

    /// Decrypts `input` to `output`, which has the same length; otherwise like `open_in_place`.
    ///
    /// # Errors
    /// [`Error::NotAuthentic`]: `output` is zeroed. All other errors of `seal`: `output` is unchanged.
    pub fn open(&self, nonce: &[u8], ad: &[u8], input: &[u8], output: &mut [u8], tag: &[u8]) -> Result<(), Error> {
        self.open_text(nonce, ad, &mut Text::apart(input, output)?, tag)
    }

    fn mistake(&self, nonce: &[u8], bytes: u64, tag_len: usize) -> Result<(), Error> {
        if nonce.len() < 7 || nonce.len() > 13 {
            return Err(Error::InvalidNonce);
        }
        // The limits of the length field and of a 32-bit block counter that starts at 1.
        let most = if nonce.len() < 11 { (1 << 36) - 32 } else { (1 << (8 * (15 - nonce.len()))) - 1 };
        if bytes > most {
            return Err(Error::TooLong);
        }
        if tag_len == self.tag_len {
            Ok(())
        } else {
            Err(Error::InvalidTag)
        }
    }

    fn seal_text(&self, nonce: &[u8], ad: &[u8], text: &mut Text<'_>, tag: &mut [u8]) -> Result<(), Error> {
        let _dit = Dit::on();
        self.mistake(nonce, text.len() as u64, tag.len())?;
        let mut packet = Packet::new(self, nonce);
        packet.run(self.tag_len, ad, text, false);
        tag.copy_from_slice(&packet.mask[..self.tag_len]);
        Ok(())
    }

    fn open_text(&self, nonce: &[u8], ad: &[u8], text: &mut Text<'_>, tag: &[u8]) -> Result<(), Error> {
        let _dit = Dit::on();
        self.mistake(nonce, text.len() as u64, tag.len())?;
        let mut packet = Packet::new(self, nonce);
        packet.run(self.tag_len, ad, text, true);
        if packet.mask[..self.tag_len].ct_eq(tag).into() {
            return Ok(());
        }
        self.refuse(nonce, text)
    }

    /// Undoes the decryption of a forgery.
    fn refuse(&self, nonce: &[u8], text: &mut Text<'_>) -> Result<(), Error> {
        if text.is_in_place() {
            let mut counter = counter_of(nonce);
            counter[15] = 1;
            crypt(&self.aes, &mut counter, text); // restores the ciphertext
        } else {
            text.output().fill(0);
        }
        Err(Error::NotAuthentic)
    }
}

/// How many bytes each step chains and then encrypts. An x86-64 CPU with AES instructions encrypts four blocks while it
/// waits for the CBC-MAC chain of the previous four. Both fit in its reorder buffer, so CTR costs no time. Other CPUs
/// do not look so far ahead, and are faster with more blocks at a time.
fn part_of(level: Usable<AesBlocks>) -> usize {
    #[cfg(target_arch = "x86_64")]
    if matches!(level, Usable::Kernel(kernel) if kernel.needs(crate::cpu::AES)) {
        return 64;
    }
    let _ = level;
    UNUSED_LEN
}

/// The counter of the tag's mask (SP 800-38C, appendix A.3). The text starts at the next counter.
fn counter_of(nonce: &[u8]) -> [u8; 16] {
    let mut counter = [0; 16];
    counter[0] = 14 - nonce.len() as u8;
    counter[1..1 + nonce.len()].copy_from_slice(nonce);
    counter
}

/// Writes the lengths of a packet as in B0 and the block after it (appendix A.2). Returns the size of these blocks, and
/// how much associated data they include.
fn lengths(first: &mut [u8; 32], nonce: &[u8], tag_len: usize, ad: &[u8], bytes: u64) -> (usize, usize) {
    *first = [0; 32];
    first[8..16].copy_from_slice(&bytes.to_be_bytes());
    first[0] = (u8::from(!ad.is_empty()) << 6) | (((tag_len as u8 - 2) / 2) << 3) | (14 - nonce.len() as u8);
    first[1..1 + nonce.len()].copy_from_slice(nonce);
    if ad.is_empty() {
        return (16, 0);
    }
    let second = &mut first[16..];
    let bytes = (ad.len() as u64).to_be_bytes();
    let prefix = if ad.len() < 0xff00 {
        second[..2].copy_from_slice(&bytes[6..]);
        2
    } else if ad.len() as u64 <= u64::from(u32::MAX) {
        second[..2].copy_from_slice(&[0xff, 0xfe]);
        second[2..6].copy_from_slice(&bytes[4..]);
        6
    } else {
        second[..2].copy_from_slice(&[0xff, 0xff]);
        second[2..10].copy_from_slice(&bytes);
        10
    };
    let with = ad.len().min(16 - prefix);
    second[prefix..prefix + with].copy_from_slice(&ad[..with]);
    (32, with)
}

/// XORs key stream into a part of the text: whole blocks, and possibly a partial one at the end.
fn crypt(aes: &Aes, counter: &mut [u8; 16], text: &mut Text<'_>) {
    let whole = text.len() & !15;
    if whole > 0 {
        aes.count(counter, &mut text.part(0, whole));
    }
    if whole < text.len() {
        let mut rest = text.part(whole, text.len() - whole);
        let mut last = [0; 16];
        last[..rest.len()].copy_from_slice(rest.input());
        aes.count(counter, &mut Text::in_place(&mut last));
        let bytes = rest.len();
        rest.output().copy_from_slice(&last[..bytes]);
        last.zeroize();
    }
}

/// A packet in progress.
struct Packet<'a> {
    chain: Chain<'a>,
    nonce: &'a [u8],
    counter: [u8; 16],
    mask: [u8; 16], // mask of the tag; finally the tag
}

impl Drop for Packet<'_> {
    fn drop(&mut self) {
        self.mask.zeroize();
    }
}

impl<'a> Packet<'a> {
    fn new(key: &'a CcmKey, nonce: &'a [u8]) -> Self {
        Packet { chain: Chain::new(&key.aes), nonce, counter: counter_of(nonce), mask: [0; 16] }
    }

    /// Processes the packet, and leaves the tag in `mask`.
    fn run(&mut self, tag_len: usize, ad: &[u8], text: &mut Text<'_>, open: bool) {
        let mut first = [0; 32];
        let (bytes, with) = lengths(&mut first, self.nonce, tag_len, ad, text.len() as u64);
        self.chain.absorb(&first[..bytes]);
        self.chain.absorb_padded(&ad[with..]);
        self.chain.aes.count(&mut self.counter, &mut Text::in_place(&mut self.mask));
        let part = part_of(self.chain.aes.level());
        for start in (0..text.len()).step_by(part) {
            let mut text = text.part(start, part.min(text.len() - start));
            if !open {
                self.chain.absorb_padded(text.input());
            }
            crypt(self.chain.aes, &mut self.counter, &mut text);
            if open {
                self.chain.absorb_padded(text.output());
            }
        }
        for (byte, sum) in self.mask.iter_mut().zip(&self.chain.last) {
            *byte ^= sum;
        }
    }
}
