//! Batches of AES-CCM and AES-CMAC. A block waits for the previous block of its own chain, but not for other texts. So
//! eight chains run side by side, and when one ends, the next text takes its place. The C library does the same
//! (src/aesccm.c).

use core::marker::PhantomData;

use subtle::ConstantTimeEq;
use zeroize::Zeroize;

use super::{add_last, counter_of, crypt, lengths, verify, CcmKey, CmacKey};
use crate::batch::{Direction, Open, Seal};
use crate::cipher::Aes;
use crate::dit::Dit;
use crate::kernel::{wipe, AesKey, Chains, Text, UnusedStep, STEP, TOGETHER};
use crate::{Error, TAG_LEN};

/// Where the next whole blocks to chain come from.
#[derive(Clone, Copy)]
enum Source {
    Block,
    Ad,
    Text,
}

/// A text in progress.
struct Work {
    chain: [u8; 16],
    counter: [u8; 16],
    mask: [u8; 16], // mask of the CCM tag
    block: [u8; 32],
    now: (Source, usize, usize), // source, offset and number of bytes to chain next
    part: u8,                    // CCM: 0 associated data, 1 text; CMAC: the steps
    done: usize,                 // bytes of that part that are finished
}

/// A place for a text in progress. Secrets are never moved, because moves leave copies.
struct Place<'p, T> {
    item: Option<(&'p mut T, &'p AesKey)>,
    work: Work,
    unused: UnusedStep,
}

/// Texts that run side by side. Each new text takes the first free place.
struct SideBySide<'p, T> {
    places: [Place<'p, T>; TOGETHER],
    count: usize,
    used: usize,    // number of places ever used
    longest: usize, // longest step so far
}

impl<T> Drop for SideBySide<'_, T> {
    fn drop(&mut self) {
        for Place { work, unused, .. } in &mut self.places[..self.used] {
            wipe(&mut work.chain);
            wipe(&mut work.mask);
            wipe(&mut work.block);
            unused[..self.longest / 8].zeroize();
        }
    }
}

trait Chained<'a> {
    /// Returns the key, if a kernel can process the text and the call has no mistake. Otherwise the text is finished
    /// here.
    fn check(&mut self) -> Option<&'a AesKey>;
    /// Selects the first blocks to chain.
    fn begin(&mut self, work: &mut Work);
    /// Selects the next blocks to chain; returns false at the end.
    fn next(&mut self, work: &mut Work) -> bool;
    fn input(&mut self, from: Source) -> &[u8];
    fn end(&mut self, work: &mut Work);
}

#[inline(never)]
fn run<'p, 'a: 'p, T: Chained<'a>>(items: &'p mut [T]) {
    let _dit = Dit::on();
    let mut all: SideBySide<'p, T> = SideBySide {
        places: [const {
            let work = Work {
                chain: [0; 16],
                counter: [0; 16],
                mask: [0; 16],
                block: [0; 32],
                now: (Source::Block, 0, 0),
                part: 0,
                done: 0,
            };
            Place { item: None, work, unused: [0; STEP / 8] }
        }; TOGETHER],
        count: 0,
        used: 0,
        longest: 0,
    };
    let mut like: Option<&AesKey> = None;
    for item in items {
        let Some(key) = item.check() else { continue };
        let most = if like.replace(key).is_some_and(|other| other.is_like(key)) { TOGETHER - 1 } else { 0 };
        all.run_until(most);
        if let Some(i) = all.places.iter().position(|place| place.item.is_none()) {
            item.begin(&mut all.places[i].work);
            all.places[i].item = Some((item, key));
            all.count += 1;
            all.used = all.used.max(i + 1);
        }
    }
    all.run_until(0);
}

impl<'p, 'a, T: Chained<'a>> SideBySide<'p, T> {
    /// Continues until at most `most` texts are in progress.
    #[inline(never)]
    fn run_until(&mut self, most: usize) {
        while self.count > most {
            let active = self.places[..self.used].iter().filter(|place| place.item.is_some());
            let bytes = active.map(|place| place.work.now.2).min().unwrap_or(0).min(STEP);
            self.longest = self.longest.max(bytes);
            let mut chains = Chains::new(bytes);
            for Place { item, work, unused } in &mut self.places[..self.used] {
                let Some((item, key)) = item else { continue };
                let Work { chain, block, now: (from, start, _), .. } = work;
                let input = match from {
                    Source::Block => &block[*start..],
                    _ => &item.input(*from)[*start..],
                };
                chains.push(key, chain, input, unused);
            }
            chains.run();
            for place in &mut self.places[..self.used] {
                let Some((item, _)) = &mut place.item else { continue };
                place.work.now.1 += bytes;
                place.work.now.2 -= bytes;
                if place.work.now.2 == 0 && !item.next(&mut place.work) {
                    item.end(&mut place.work);
                    place.item = None;
                    self.count -= 1;
                }
            }
        }
    }
}

/// One packet of a batch, for [`ccm_seal_batch`] or [`ccm_open_batch`]. After the call it holds its tag or its result.
///
/// ```
/// use sealane::{ccm_open_batch, CcmKey, CcmPacket, Error, Text};
///
/// let key = CcmKey::new(&[7; 16], 8)?;
/// let mut forged = *b"a packet";
/// let mut packets = [CcmPacket::to_open(&key, &[1; 13], b"its header", Text::in_place(&mut forged), &[0; 8])];
/// assert_eq!(ccm_open_batch(&mut packets), 0);
/// assert_eq!(packets[0].result(), Err(Error::NotAuthentic));
/// # Ok::<(), Error>(())
/// ```
#[derive(Debug)]
pub struct CcmPacket<'a, D: Direction> {
    key: &'a CcmKey,
    nonce: &'a [u8],
    ad: &'a [u8],
    text: Text<'a>,
    tag: [u8; TAG_LEN],
    tag_len: usize,
    result: Result<(), Error>,
    direction: PhantomData<D>,
}

impl<'a> CcmPacket<'a, Seal> {
    /// A packet that will be sealed.
    pub fn to_seal(key: &'a CcmKey, nonce: &'a [u8], ad: &'a [u8], text: Text<'a>) -> Self {
        let (tag, tag_len, result) = ([0; TAG_LEN], key.tag_len, Ok(()));
        CcmPacket { key, nonce, ad, text, tag, tag_len, result, direction: PhantomData }
    }
}

impl<'a> CcmPacket<'a, Open> {
    /// A packet that will be opened. The tag must have the key's tag length; that length must never be chosen by the
    /// sender.
    pub fn to_open(key: &'a CcmKey, nonce: &'a [u8], ad: &'a [u8], text: Text<'a>, tag: &[u8]) -> Self {
        let mut came = [0; TAG_LEN];
        came.iter_mut().zip(tag).for_each(|(to, byte)| *to = *byte);
        let (tag, tag_len, result) = (came, tag.len(), Err(Error::NotAuthentic));
        CcmPacket { key, nonce, ad, text, tag, tag_len, result, direction: PhantomData }
    }
}

impl<D: Direction> CcmPacket<'_, D> {
    /// The tag, of the key's tag length: before opening the expected one, after sealing the packet's own, or zeroes if
    /// sealing failed.
    pub fn tag(&self) -> &[u8] {
        &self.tag[..self.tag_len.min(TAG_LEN)]
    }

    /// The result for this packet. The errors are those of [`CcmKey::seal_in_place`] and [`CcmKey::open_in_place`]. A
    /// packet that has not been opened yet has [`Error::NotAuthentic`].
    pub fn result(&self) -> Result<(), Error> {
        self.result
    }

    /// Processes the packet individually.
    #[inline(never)]
    fn alone(&mut self) {
        let tag = &mut self.tag[..self.tag_len];
        self.result = if D::OPEN {
            self.key.open_text(self.nonce, self.ad, &mut self.text, tag)
        } else {
            self.key.seal_text(self.nonce, self.ad, &mut self.text, tag)
        };
    }
}

impl<'a, D: Direction> Chained<'a> for CcmPacket<'a, D> {
    fn check(&mut self) -> Option<&'a AesKey> {
        if !D::OPEN {
            self.tag = [0; TAG_LEN];
        }
        self.result = self.key.mistake(self.nonce, self.text.len() as u64, self.tag_len);
        self.result.ok()?;
        let key = self.key.aes.of_kernel();
        if key.is_none() {
            self.alone();
        }
        key
    }

    fn begin(&mut self, work: &mut Work) {
        let aes: &Aes = &self.key.aes;
        work.chain = [0; 16];
        work.mask = [0; 16];
        work.counter = counter_of(self.nonce);
        aes.count(&mut work.counter, &mut Text::in_place(&mut work.mask));
        if D::OPEN {
            crypt(aes, &mut work.counter, &mut self.text);
        }
        let (bytes, with) = lengths(&mut work.block, self.nonce, self.tag_len, self.ad, self.text.len() as u64);
        work.now = (Source::Block, 0, bytes);
        work.part = 0;
        work.done = with;
    }

    /// For each part, first selects the whole blocks, and then a last block padded with zeroes.
    fn next(&mut self, work: &mut Work) -> bool {
        while work.part < 2 {
            let from = if work.part == 0 { Source::Ad } else { Source::Text };
            let rest = &self.input(from)[work.done..];
            let whole = rest.len() & !15;
            if whole > 0 {
                work.now = (from, work.done, whole);
                work.done += whole;
                return true;
            }
            work.part += 1;
            work.done = 0;
            if !rest.is_empty() {
                work.block[..16].fill(0);
                work.block[..rest.len()].copy_from_slice(rest);
                work.now = (Source::Block, 0, 16);
                return true;
            }
        }
        false
    }

    fn input(&mut self, from: Source) -> &[u8] {
        match from {
            Source::Text if D::OPEN => self.text.output(),
            Source::Text => self.text.input(),
            _ => self.ad,
        }
    }

    fn end(&mut self, work: &mut Work) {
        if !D::OPEN {
            crypt(&self.key.aes, &mut work.counter, &mut self.text);
        }
        for (byte, sum) in work.mask.iter_mut().zip(&work.chain) {
            *byte ^= sum;
        }
        let (made, tag) = (&work.mask[..self.tag_len], &mut self.tag[..self.tag_len]);
        if !D::OPEN {
            tag.copy_from_slice(made);
        } else if !bool::from(made.ct_eq(tag)) {
            self.result = self.key.refuse(self.nonce, &mut self.text);
        }
    }
}

fn run_packets<D: Direction>(packets: &mut [CcmPacket<'_, D>]) -> usize {
    run(packets);
    packets.iter().filter(|packet| packet.result.is_ok()).count()
}

/// Seals all AES-CCM packets, with any mix of keys and lengths, and returns how many succeeded. A packet that fails
/// does not affect the others: its text is unchanged, and its tag is zeroed. Eight packets with keys of one length run
/// side by side; at the level `portable` they are processed individually. The results are the same as for individual
/// calls.
///
/// ```
/// use sealane::{ccm_seal_batch, CcmKey, CcmPacket, Text};
///
/// # fn main() -> Result<(), sealane::Error> {
/// let key = CcmKey::new(&[7; 16], 8)?;
/// let (mut first, mut second) = (*b"a packet", *b"another one");
/// let mut packets = [
///     CcmPacket::to_seal(&key, &[1; 13], b"its header", Text::in_place(&mut first)),
///     CcmPacket::to_seal(&key, &[2; 13], b"", Text::in_place(&mut second)),
/// ];
/// assert_eq!(ccm_seal_batch(&mut packets), 2);
/// assert_eq!(packets[1].tag().len(), 8);
/// # Ok(())
/// # }
/// ```
pub fn ccm_seal_batch(packets: &mut [CcmPacket<'_, Seal>]) -> usize {
    run_packets(packets)
}

/// Opens all AES-CCM packets, and returns how many are authentic. A packet that fails does not affect the others, and
/// leaves its buffers as [`CcmKey::open_in_place`] or [`CcmKey::open`] does.
pub fn ccm_open_batch(packets: &mut [CcmPacket<'_, Open>]) -> usize {
    run_packets(packets)
}

/// One of several texts whose MACs [`cmac_batch`] computes. Its MAC is wiped when it is dropped.
///
/// ```
/// use sealane::{cmac_batch, CmacKey, CmacText};
///
/// # fn main() -> Result<(), sealane::Error> {
/// let key = CmacKey::new(&[7; 16])?;
/// let mut texts = [CmacText::new(&key, b"a text"), CmacText::new(&key, b"another one")];
/// assert!(texts[0].mac().is_none());
/// cmac_batch(&mut texts);
/// let mac = texts[0].mac().expect("made");
/// texts[0].verify(&mac[..8])?; // for protocols with short MACs
/// # Ok(())
/// # }
/// ```
pub struct CmacText<'a> {
    key: &'a CmacKey,
    text: &'a [u8],
    mac: [u8; 16],
    made: bool,
}

impl Drop for CmacText<'_> {
    fn drop(&mut self) {
        self.mac.zeroize();
    }
}

impl core::fmt::Debug for CmacText<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("CmacText").field("bytes", &self.text.len()).finish_non_exhaustive()
    }
}

impl<'a> CmacText<'a> {
    /// A text whose MAC will be computed.
    pub fn new(key: &'a CmacKey, text: &'a [u8]) -> Self {
        CmacText { key, text, mac: [0; 16], made: false }
    }

    /// The MAC, or `None` before [`cmac_batch`].
    pub fn mac(&self) -> Option<&[u8; 16]> {
        self.made.then_some(&self.mac)
    }

    /// Compares the first 4 to 16 bytes of the MAC with `mac`. Its length must never be chosen by the sender.
    ///
    /// # Errors
    /// [`Error::NotAuthentic`], also before [`cmac_batch`]; [`Error::InvalidTag`] if `mac` is shorter or longer.
    pub fn verify(&self, mac: &[u8]) -> Result<(), Error> {
        let _dit = Dit::on();
        let outcome = verify(self.mac, mac);
        if self.made {
            outcome
        } else {
            outcome.and(Err(Error::NotAuthentic))
        }
    }
}

impl<'a> Chained<'a> for CmacText<'a> {
    fn check(&mut self) -> Option<&'a AesKey> {
        self.made = true;
        let key = self.key.0.of_kernel();
        if key.is_none() {
            let mut mac = self.key.begin();
            mac.update(self.text);
            self.mac = mac.finish();
        }
        key
    }

    /// After E(0) come the text without its last block, and then that block.
    fn begin(&mut self, work: &mut Work) {
        work.chain = [0; 16];
        work.block = [0; 32];
        work.now = (Source::Block, 0, 16);
        work.part = 0;
    }

    fn next(&mut self, work: &mut Work) -> bool {
        let whole = self.text.len().saturating_sub(1) & !15;
        if work.part == 0 {
            add_last(&mut work.chain, &self.text[whole..]);
            work.block[..16].copy_from_slice(&work.chain);
            work.chain = [0; 16];
        }
        work.part += if work.part == 0 && whole == 0 { 2 } else { 1 };
        work.now = if work.part == 1 { (Source::Text, 0, whole) } else { (Source::Block, 0, 16) };
        work.part <= 2
    }

    fn input(&mut self, _: Source) -> &[u8] {
        self.text
    }

    fn end(&mut self, work: &mut Work) {
        self.mac = work.chain;
    }
}

/// Computes the MACs of all texts, with any mix of keys and lengths; the results are those of [`CmacKey::begin`]. Eight
/// texts with keys of one length run side by side; at the level `portable` they are processed individually.
pub fn cmac_batch(texts: &mut [CmacText<'_>]) {
    run(texts);
}
