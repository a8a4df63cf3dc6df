//! AES-GCM-SIV, composed of AES and AES-GCM kernels. The kernels of x86-64 and ARM implement POLYVAL and its counter
//! mode; elsewhere GHASH and single blocks replace them.

use subtle::ConstantTimeEq;
use zeroize::{Zeroize, ZeroizeOnDrop};

use crate::cipher::{wiping, Aes, Gcm};
use crate::dit::Dit;
use crate::kernel::{AesBlocks, AesGcm, CallNonce, Memory, Text, Usable};
use crate::level::{AESGCM, AES_BLOCKS};
use crate::{Error, TAG_LEN};

/// Bytes that are reversed or counted at a time.
const CHUNK: usize = 1024;

/// The largest number of bytes of text, and of associated data (RFC 8452, section 6).
const LONGEST: u64 = 1 << 36;

/// A key of AES-GCM-SIV (RFC 8452). A repeated nonce reveals only whether packets are equal, so nonces may be random,
/// even when several machines share a key. It is slower than AES-GCM, because each nonce has its own keys and the text
/// is read twice. The key is wiped when it is dropped.
///
/// ```
/// use sealane::GcmSivKey;
///
/// # fn main() -> Result<(), sealane::Error> {
/// let key = GcmSivKey::new(&[7; 32])?; // use your own key
/// let mut packet = *b"a packet";
/// let tag = key.seal_in_place(&[1; 12], b"its header", &mut packet)?;
/// key.open_in_place(&[1; 12], b"its header", &mut packet, &tag)?;
/// assert_eq!(&packet, b"a packet");
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct GcmSivKey {
    generating: Aes,
    key_len: usize,
    level: Usable<AesGcm>,
}

impl ZeroizeOnDrop for GcmSivKey {}

impl core::fmt::Debug for GcmSivKey {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("GcmSivKey").field("level", &self.level.name()).finish_non_exhaustive()
    }
}

impl GcmSivKey {
    /// Makes a key of 16 or 32 bytes. The first key in a process chooses the level, as in
    /// [`Key::new`](crate::Key::new).
    ///
    /// # Errors
    /// [`Error::InvalidKey`] for other lengths; [`Error::NoLevel`] if no level works on this CPU.
    pub fn new(key: &[u8]) -> Result<GcmSivKey, Error> {
        GcmSivKey::at(key, AESGCM.of_process(), AES_BLOCKS.of_process())
    }

    /// Like `new`, with a given level, for tests. [`levels`](crate::levels) of AES-GCM lists the names.
    ///
    /// # Errors
    /// Those of `new`, and [`Error::InvalidLevel`] if the level does not exist or does not work on this CPU.
    pub fn with_level(key: &[u8], level: &str) -> Result<GcmSivKey, Error> {
        let blocks = AES_BLOCKS.named(level).or_else(|_| AES_BLOCKS.of_process());
        GcmSivKey::at(key, AESGCM.named(level), blocks)
    }

    fn at(
        key: &[u8],
        level: Result<Usable<AesGcm>, Error>,
        blocks: Result<Usable<AesBlocks>, Error>,
    ) -> Result<GcmSivKey, Error> {
        if key.len() == 24 {
            return Err(Error::InvalidKey);
        }
        wiping(|| {
            let mut made = GcmSivKey { generating: Aes::unset(key, blocks)?, key_len: key.len(), level: level? };
            made.generating.set(key);
            Ok(made)
        })
    }

    /// Encrypts `text` in place, and returns the tag that authenticates it together with `ad`. A nonce has 12 bytes.
    ///
    /// # Errors
    /// [`Error::InvalidNonce`]; [`Error::TooLong`] for more than 2^36 bytes of `text` or `ad`. `text` is unchanged.
    pub fn seal_in_place(&self, nonce: &[u8], ad: &[u8], text: &mut [u8]) -> Result<[u8; TAG_LEN], Error> {
        self.seal_text(nonce, ad, &mut Text::in_place(text))
    }

    /// Encrypts `input` to `output`, which has the same length; otherwise like `seal_in_place`.
    ///
    /// # Errors
    /// Those of `seal_in_place`, and [`Error::LengthMismatch`]. `output` is unchanged.
    pub fn seal(&self, nonce: &[u8], ad: &[u8], input: &[u8], output: &mut [u8]) -> Result<[u8; TAG_LEN], Error> {
        self.seal_text(nonce, ad, &mut Text::apart(input, output)?)
    }

    /// Verifies the tag of `text` and `ad`, and decrypts `text` in place.
    ///
    /// # Errors
    /// [`Error::NotAuthentic`] for any forgery; otherwise those of `seal_in_place`. `text` is unchanged.
    pub fn open_in_place(&self, nonce: &[u8], ad: &[u8], text: &mut [u8], tag: &[u8; TAG_LEN]) -> Result<(), Error> {
        self.open_text(nonce, ad, &mut Text::in_place(text), tag)
    }

    /// Decrypts `input` to `output`, which has the same length; otherwise like `open_in_place`.
    ///
    /// # Errors
    /// [`Error::NotAuthentic`]: `output` is zeroed. All other errors of `seal`: `output` is unchanged.
    pub fn open(
        &self,
        nonce: &[u8],
        ad: &[u8],
        input: &[u8],
        output: &mut [u8],
        tag: &[u8; TAG_LEN],
    ) -> Result<(), Error> {
        self.open_text(nonce, ad, &mut Text::apart(input, output)?, tag)
    }

    fn check(nonce: &[u8], ad: &[u8], text: &Text<'_>) -> Result<[u8; 12], Error> {
        match nonce.try_into() {
            Ok(_) if text.len() as u64 > LONGEST || ad.len() as u64 > LONGEST => Err(Error::TooLong),
            nonce => nonce.map_err(|_| Error::InvalidNonce),
        }
    }

    fn seal_text(&self, nonce: &[u8], ad: &[u8], text: &mut Text<'_>) -> Result<[u8; TAG_LEN], Error> {
        clean(|| {
            let (nonce, mut place) = (GcmSivKey::check(nonce, ad, text)?, None);
            let packet = Packet::new_in(&mut place, self, &nonce, ad.len().max(text.len()))?;
            let tag = packet.tag(&nonce, ad, text.input());
            packet.crypt(text, &tag);
            Ok(tag)
        })
    }

    fn open_text(&self, nonce: &[u8], ad: &[u8], text: &mut Text<'_>, tag: &[u8; TAG_LEN]) -> Result<(), Error> {
        clean(|| self.open_any(nonce, ad, text, tag))
    }

    fn open_any(&self, nonce: &[u8], ad: &[u8], text: &mut Text<'_>, tag: &[u8; TAG_LEN]) -> Result<(), Error> {
        let (nonce, mut place) = (GcmSivKey::check(nonce, ad, text)?, None);
        let packet = Packet::new_in(&mut place, self, &nonce, ad.len().max(text.len()))?;
        packet.crypt(text, tag);
        let mut expected = packet.tag(&nonce, ad, text.output());
        let same = expected.ct_eq(tag).into();
        expected.zeroize();
        if same {
            return Ok(());
        }
        if text.is_in_place() {
            packet.crypt(text, tag); // restores the ciphertext
        } else {
            text.output().fill(0);
        }
        Err(Error::NotAuthentic)
    }
}

/// Processes a packet. Reversing blocks leaves words of them on the stack; they are wiped.
fn clean<T>(packet: impl FnOnce() -> T) -> T {
    if cfg!(not(polyval)) {
        return wiping(packet);
    }
    let _dit = Dit::on();
    packet()
}

/// A packet in progress: the keys of its nonce.
///
/// Without a POLYVAL kernel, POLYVAL is computed as GHASH of byte-reversed blocks. The hash key is reversed and
/// multiplied by x, and the result is reversed again (RFC 8452, appendix A). An AES-GCM kernel takes such blocks as
/// associated data, which it does not decrypt.
struct Packet {
    message: Aes,
    gcm: Gcm,
    chunk: Option<Memory<{ CHUNK / 8 }>>,
}

struct Sum<'a> {
    gcm: &'a Gcm,
    chunk: &'a mut [u8],
    held: usize,
    hash: [u8; 16],
}

impl Drop for Sum<'_> {
    fn drop(&mut self) {
        self.hash.zeroize();
    }
}

impl Sum<'_> {
    /// Absorbs the blocks of the chunk. Each kernel call starts with a zero sum, so the previous sum is XORed into the
    /// first block.
    fn flush(&mut self) {
        for (byte, add) in self.chunk.iter_mut().zip(&self.hash) {
            *byte ^= add;
        }
        let mut parts = self.gcm.parts(CallNonce::Nonce(&[0; 12]), &self.chunk[..self.held], 0, true);
        parts.next(&mut Text::in_place(&mut []));
        self.hash = parts.hash();
        self.held = 0;
    }

    /// Absorbs data, padded with zeroes to whole blocks.
    fn absorb(&mut self, mut data: &[u8]) {
        while !data.is_empty() {
            if self.held == CHUNK {
                self.flush();
            }
            let (some, rest) = data.split_at(data.len().min(CHUNK - self.held));
            let room = &mut self.chunk[self.held..];
            self.held += (some.len() + 15) & !15;
            let whole = some.chunks_exact(16);
            let end = whole.remainder();
            for (to, block) in room.chunks_exact_mut(16).zip(whole) {
                to.copy_from_slice(&reversed(block));
            }
            if !end.is_empty() {
                let mut last = [0; 16];
                last[..end.len()].copy_from_slice(end);
                room[some.len() & !15..][..16].copy_from_slice(&reversed(&last));
                last.zeroize();
            }
            data = rest;
        }
    }
}

fn reversed(block: &[u8]) -> [u8; 16] {
    let mut bytes = [0; 16];
    bytes.copy_from_slice(block);
    u128::from_be_bytes(bytes).to_le_bytes()
}

impl Packet {
    /// Makes the keys of a nonce in their final place, 8 bytes from each block (section 4). `longest` bounds the
    /// lengths of text and associated data.
    #[inline(never)]
    fn new_in<'a>(
        place: &'a mut Option<Packet>,
        key: &GcmSivKey,
        nonce: &[u8; 12],
        longest: usize,
    ) -> Result<&'a mut Packet, Error> {
        let (mut blocks, mut raw, mut hash_key) = ([0; 6 * 16], [0; 32], [0; 16]);
        let used = &mut blocks[..16 * (2 + key.key_len / 8)];
        for (i, block) in used.chunks_exact_mut(16).enumerate() {
            block[0] = i as u8;
            block[4..].copy_from_slice(nonce);
        }
        key.generating.encrypt_all(used);
        hash_key[..8].copy_from_slice(&used[..8]);
        hash_key[8..].copy_from_slice(&used[16..24]);
        for (to, block) in raw.chunks_exact_mut(8).zip(used[32..].chunks_exact(16)) {
            to.copy_from_slice(&block[..8]);
        }
        let packet = Packet::unset_in(place, key, &raw[..key.key_len])?;
        packet.message.set(&raw[..key.key_len]);
        packet.set_hash_key(&hash_key, longest);
        blocks.zeroize();
        raw.zeroize();
        hash_key.zeroize();
        Ok(packet)
    }

    // A separate function, because moving the zeroed keys takes stack space of its own.
    #[inline(never)]
    fn unset_in<'a>(place: &'a mut Option<Packet>, key: &GcmSivKey, raw: &[u8]) -> Result<&'a mut Packet, Error> {
        let message = Aes::unset(raw, Ok(key.generating.level()))?;
        let gcm = Gcm::unset(key.level, &[0; 16]).ok_or(Error::NoLevel)?;
        Ok(place.insert(Packet { message, gcm, chunk: None }))
    }

    fn set_hash_key(&mut self, hash_key: &[u8; 16], _longest: usize) {
        #[cfg(polyval)]
        #[cfg_attr(not(feature = "portable"), allow(irrefutable_let_patterns))]
        if let Gcm::Kernel(key) = &mut self.gcm {
            return key.set_polyval_key(hash_key, _longest);
        }
        // Multiplies by x in GCM's bit order, where the first bit of a block is the coefficient of x^0.
        let value = u128::from_le_bytes(*hash_key);
        let mut h = ((value >> 1) ^ ((0xe1 << 120) & 0_u128.wrapping_sub(value & 1))).to_be_bytes();
        self.gcm.set_hash_key(&h);
        h.zeroize();
    }

    /// Computes the tag of plaintext and associated data (section 4).
    fn tag(&mut self, nonce: &[u8; 12], ad: &[u8], text: &[u8]) -> [u8; 16] {
        let mut tag = [0; 16];
        self.polyval(ad, text, &mut tag);
        for (byte, nonce) in tag.iter_mut().zip(nonce) {
            *byte ^= nonce;
        }
        tag[15] &= 0x7f;
        self.message.encrypt_all(&mut tag);
        tag
    }

    fn polyval(&mut self, ad: &[u8], text: &[u8], result: &mut [u8; 16]) {
        #[cfg(polyval)]
        #[cfg_attr(not(feature = "portable"), allow(irrefutable_let_patterns))]
        if let Gcm::Kernel(key) = &self.gcm {
            return key.polyval(ad, text, result);
        }
        let mut lengths = [0; 16];
        lengths[..8].copy_from_slice(&(8 * ad.len() as u64).to_le_bytes());
        lengths[8..].copy_from_slice(&(8 * text.len() as u64).to_le_bytes());
        let chunk = self.chunk.get_or_insert_with(Memory::new).bytes();
        let mut sum = Sum { gcm: &self.gcm, chunk, held: 0, hash: [0; 16] };
        sum.absorb(ad);
        sum.absorb(text);
        sum.absorb(&lengths);
        sum.flush();
        *result = reversed(&sum.hash);
    }

    /// XORs keystream into the text. The first four bytes of the counter block count, little-endian, and wrap around.
    fn crypt(&mut self, text: &mut Text<'_>, tag: &[u8; 16]) {
        let mut block = *tag;
        block[15] |= 0x80;
        #[cfg(polyval)]
        #[cfg_attr(not(feature = "portable"), allow(irrefutable_let_patterns))]
        if let Aes::Kernel(key) = &self.message {
            let whole = text.len() & !15;
            key.count_little(&mut block, &mut text.part(0, whole));
            let mut end = text.part(whole, text.len() - whole);
            let mut stream = [0; 16];
            key.encrypt(&block, &mut stream);
            end.add(&stream);
            stream.zeroize();
            block.zeroize();
            return;
        }
        let chunk = self.chunk.get_or_insert_with(Memory::new).bytes();
        let mut counter = u32::from_le_bytes([block[0], block[1], block[2], block[3]]);
        for start in (0..text.len()).step_by(CHUNK) {
            let mut text = text.part(start, CHUNK.min(text.len() - start));
            let stream = &mut chunk[..(text.len() + 15) & !15];
            for to in stream.chunks_exact_mut(16) {
                block[..4].copy_from_slice(&counter.to_le_bytes());
                to.copy_from_slice(&block);
                counter = counter.wrapping_add(1);
            }
            self.message.encrypt_all(stream);
            text.add(stream);
        }
    }
}
