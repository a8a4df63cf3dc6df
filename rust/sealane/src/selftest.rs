//! Known-answer tests: chains of packets whose lengths cover the kernels' special cases. Each packet authenticates the
//! tag of the previous one, so the last tag covers all of them. Packets and answers are those of the C library
//! (src/selftest.c); other implementations computed the answers.

use core::ops::Range;

use crate::cipher::{Aes, AnyParts, ChaChaMaskKey, Gcm};
#[cfg(polyval)]
use crate::kernel::GcmKey;
use crate::kernel::{
    bytes_of_tag, AesBlocks, AesGcm, CallNonce, ChaCha20Masks, ChaCha20Poly1305, Lanes, Runnable, RunnableBatch, Tag,
    Text, Unused, Usable,
};

const LONGEST: usize = 3200;

const LENGTHS: [usize; 23] = [
    0, 1, 16, 31, 64, 65, 127, 128, 192, 256, 257, 511, 512, 700, 1023, 1024, 1200, 1420, 1472, 1536, 1537, 2100, 3200,
];

const CHACHA_ANSWER: [u8; 16] =
    [0x73, 0xbc, 0xd4, 0x2e, 0x83, 0x83, 0xf2, 0xbf, 0x5e, 0x3d, 0xd9, 0xcc, 0x7e, 0x57, 0x53, 0xab];
const GCM_ANSWER: [u8; 16] =
    [0x7d, 0x70, 0x5a, 0x70, 0x0d, 0x51, 0x77, 0xea, 0x67, 0x24, 0xe1, 0x73, 0x2e, 0x84, 0x01, 0x88];
const BATCH_ANSWER: [u8; 16] =
    [0x9f, 0x17, 0xba, 0xec, 0xc0, 0x3b, 0x80, 0xd2, 0x26, 0xe3, 0xa7, 0x8e, 0x01, 0x62, 0x47, 0x2d];
const NONCE: [u8; 12] = [7, 0, 0, 0, 0x40, 0x41, 0x42, 0x43, 0x44, 0x45, 0x46, 0x47];

fn key() -> [u8; 32] {
    let mut key = [0; 32];
    for (i, byte) in key.iter_mut().enumerate() {
        *byte = 0x80 + i as u8;
    }
    key
}

/// Fills a text: byte j is 7 j + first.
fn fill(text: &mut [u8], first: usize) {
    for (j, byte) in text.iter_mut().enumerate() {
        *byte = (7 * j + first) as u8;
    }
}

struct Chain {
    tag: [u8; 16],
    texts: [u8; LONGEST + 255],
    sealed: [u8; LONGEST],
    ad: [u8; 48],
}

impl Chain {
    fn new() -> Self {
        Chain { tag: [0; 16], texts: [0; LONGEST + 255], sealed: [0; LONGEST], ad: [0; 48] }
    }

    /// The range of text n, whose byte j is 7 j + n. It starts n / 7 bytes after the start of text 0; 183 is 1 / 7
    /// modulo 256.
    fn take_text(&mut self, n: usize) -> Range<usize> {
        let at = 183 * n % 256;
        self.ad[..16].copy_from_slice(&self.tag);
        self.ad[16..].copy_from_slice(&self.texts[at..at + 32]);
        at..at + n
    }

    /// Seals n bytes and opens them in place.
    fn link(&mut self, n: usize, mut run: impl FnMut(&[u8], &mut Text<'_>, bool, &mut Tag)) -> bool {
        let place = self.take_text(n);
        let plain = &self.texts[place];
        let ad = &self.ad[..16 + n % 33];
        let sealed = &mut self.sealed[..n];
        let (mut made, mut opened) = ([0; 2], [0; 2]);
        match Text::apart(plain, sealed) {
            Ok(mut text) => run(ad, &mut text, false, &mut made),
            Err(_) => return false,
        }
        run(ad, &mut Text::in_place(sealed), true, &mut opened);
        self.tag = bytes_of_tag(&made);
        *sealed == *plain && opened == made
    }
}

/// Seals all of a text in three parts.
fn in_parts(text: &mut [u8], mut parts: AnyParts<'_>) -> [u8; 16] {
    let mut text = Text::in_place(text);
    parts.next(&mut text.part(0, 1024));
    parts.next(&mut text.part(1024, 1024));
    let mut tag = [0; 2];
    parts.last(&mut text.part(2048, LONGEST - 2048), &mut tag);
    bytes_of_tag(&tag)
}

pub(crate) fn chacha20poly1305(level: Usable<ChaCha20Poly1305>) -> bool {
    let mut chain = Chain::new();
    fill(&mut chain.texts, 0);
    let key = key();
    for n in LENGTHS {
        if !chain.link(n, |ad, text, open, tag| level.packet(&key, &NONCE, ad, text, open, tag)) {
            return false;
        }
    }
    let place = chain.take_text(LONGEST);
    let parts = level.parts(&key, &NONCE, &chain.ad[..16], LONGEST as u64, false);
    in_parts(&mut chain.texts[place], parts) == CHACHA_ANSWER
}

/// A key of the i-th length. They are made one at a time, because stacks may be small.
#[inline(never)]
fn gcm_key(level: Usable<AesGcm>, key: &[u8; 32], i: usize) -> Option<Gcm> {
    let key = &key[..16 + 8 * (i % 3)];
    let mut made = Gcm::unset(level, key);
    if let Some(place) = &mut made {
        place.set(key);
    }
    made
}

/// Alternates keys of the three lengths. For every second packet, and for the one in parts, the counter wraps around at
/// 2^32.
pub(crate) fn aesgcm(level: Usable<AesGcm>) -> bool {
    let mut chain = Chain::new();
    fill(&mut chain.texts, 0);
    let mut block = [0; 16];
    block[..12].copy_from_slice(&NONCE);
    for (i, n) in LENGTHS.into_iter().chain([LONGEST]).enumerate() {
        let mut key = gcm_key(level, &key(), i);
        let Some(key) = &mut key else { return false };
        if i % 3 == 1 {
            key.remake_table();
        }
        block[12..].copy_from_slice(&(i as u32).wrapping_neg().to_be_bytes());
        let nonce = if i % 2 == 0 { CallNonce::Nonce(&NONCE) } else { CallNonce::Block(&block) };
        if i == LENGTHS.len() {
            let place = chain.take_text(LONGEST);
            let parts = key.parts(nonce, &chain.ad[..16], LONGEST as u64, false);
            return in_parts(&mut chain.texts[place], parts) == GCM_ANSWER && polyval(level);
        }
        if !chain.link(n, |ad, text, open, tag| key.packet(nonce, ad, text, open, tag)) {
            return false;
        }
    }
    false
}

/// POLYVAL, where kernels have it. Each sum is the hash key for the next length. Another implementation computed the
/// answer.
#[cfg(polyval)]
#[inline(never)]
fn polyval(level: Usable<AesGcm>) -> bool {
    const ANSWER: [u8; 16] =
        [0xd2, 0x5b, 0xd4, 0xd6, 0xe5, 0xe6, 0x56, 0x99, 0x15, 0x34, 0xa8, 0xc7, 0xc9, 0xdb, 0xef, 0x66];
    let (Usable::Kernel(kernel), mut text, mut sum) = (level, [0; 1100], [0; 16]) else { return true };
    sum.copy_from_slice(&key()[..16]);
    for n in [1, 16, 31, 48, 64, 112, 113, 200, 304, 560, 1100] {
        fill(&mut text[..n], n);
        let mut hash = GcmKey::unset(kernel);
        hash.set_polyval_key(&sum, n);
        hash.polyval(&text[..n % 33], &text[..n], &mut sum);
    }
    sum == ANSWER
}

#[cfg(not(polyval))]
fn polyval(_: Usable<AesGcm>) -> bool {
    true
}

/// The test of a batch kernel seals and opens packets of 0, 1, 4, 9, ... 1024 bytes. They include whole blocks, and
/// blocks that lack one byte. Each packet has its own key, nonce and associated data. Every second packet belongs to
/// one call. Another implementation computed the tag over all their tags.
pub(crate) fn chacha20poly1305_batch(level: Runnable<ChaCha20Poly1305>, batch: RunnableBatch) -> bool {
    let mut tags = [[0; 16]; 2 * EVENS - 1];
    squares(batch, 0, &mut tags) && squares(batch, 1, &mut tags) && tag_of(level, tags.as_flattened()) == BATCH_ANSWER
}

#[inline(never)]
fn tag_of(level: Runnable<ChaCha20Poly1305>, data: &[u8]) -> [u8; 16] {
    let mut tag = [0; 2];
    level.packet(&key(), &[0; 12], data, &mut Text::in_place(&mut []), false, &mut tag);
    bytes_of_tag(&tag)
}

/// The number of packets of even length, and their total bytes: 2^2 + 4^2 + ... 32^2.
const EVENS: usize = 17;
const SQUARES: usize = 4 * (16 * 17 * 33 / 6);

/// Processes packets of n^2 bytes, for every second n starting at `first`. The key of packet n is the 32 bytes from n
/// on, and its associated data is the first n bytes.
#[inline(never)]
fn squares(batch: RunnableBatch, first: usize, tags: &mut [[u8; 16]; 2 * EVENS - 1]) -> bool {
    let sizes = || (first..2 * EVENS - 1).step_by(2);
    let plain = || sizes().flat_map(|n| (0..n * n).map(move |j| (7 * j + n) as u8));
    let (mut bytes, mut nonces, mut text, mut opened) = ([0; 64], [[0; 12]; EVENS], [0; SQUARES], [[0; 16]; EVENS]);
    for (j, byte) in bytes.iter_mut().enumerate() {
        *byte = (0x80 + j) as u8;
    }
    nonces.iter_mut().zip(sizes()).for_each(|(nonce, n)| *nonce = [n as u8; 12]);
    text.iter_mut().zip(plain()).for_each(|(byte, value)| *byte = value);
    let mut run = |tags: &mut dyn Iterator<Item = &mut [u8; 16]>, open: bool| {
        let (mut lanes, mut rest): (Lanes<'_, EVENS>, _) = (Lanes::new(), &mut text[..]);
        for ((n, nonce), tag) in sizes().zip(&nonces).zip(tags) {
            let (packet, behind) = rest.split_at_mut(n * n);
            rest = behind;
            if let Some(key) = bytes[n..].first_chunk() {
                lanes.push(Text::in_place(packet), &bytes[..n], key, nonce, tag);
            }
        }
        batch.run(&lanes, open);
    };
    run(&mut tags.iter_mut().skip(first).step_by(2), false);
    run(&mut opened.iter_mut(), true);
    text.iter().copied().zip(plain()).all(|(byte, value)| byte == value)
        && tags.iter().skip(first).step_by(2).eq(&opened[..sizes().count()])
}

/// FIPS 197, appendix C: a block under keys of each length.
pub(crate) fn aes(level: Usable<AesBlocks>) -> bool {
    const ANSWERS: [[u8; 16]; 3] = [
        [0x69, 0xc4, 0xe0, 0xd8, 0x6a, 0x7b, 0x04, 0x30, 0xd8, 0xcd, 0xb7, 0x80, 0x70, 0xb4, 0xc5, 0x5a],
        [0xdd, 0xa9, 0x7c, 0xa4, 0x86, 0x4c, 0xdf, 0xe0, 0x6e, 0xaf, 0x70, 0xa0, 0xec, 0x0d, 0x71, 0x91],
        [0x8e, 0xa2, 0xb7, 0xca, 0x51, 0x67, 0x45, 0xbf, 0xea, 0xfc, 0x49, 0x90, 0x4b, 0x49, 0x60, 0x89],
    ];
    let (mut key, mut block) = ([0; 32], [0; 16]);
    for (i, byte) in key.iter_mut().enumerate() {
        *byte = i as u8;
    }
    for (i, byte) in block.iter_mut().enumerate() {
        *byte = 0x11 * i as u8;
    }
    let encrypted = |i| {
        let mut to = [0; 16];
        aes_key(level, &key, i)?.encrypt(&block, &mut to);
        Some(to)
    };
    ANSWERS.iter().enumerate().all(|(i, answer)| encrypted(i).as_ref() == Some(answer))
        && aes_chain(level, &key)
        && little_chain(level, &key)
}

/// The counter mode of AES-GCM-SIV, where kernels have it. The next counter block is the previous one XOR the last key
/// stream.
#[cfg(polyval)]
#[inline(never)]
fn little_chain(level: Usable<AesBlocks>, key: &[u8; 32]) -> bool {
    const ANSWER: [u8; 16] =
        [0x5b, 0x0a, 0xd7, 0xb0, 0xbb, 0x06, 0xca, 0xc9, 0xb3, 0x22, 0xf9, 0x40, 0xd2, 0x3d, 0xbc, 0x13];
    let mut state = [0xff; 16];
    for (i, blocks) in [1, 2, 3, 4, 5, 8, 9, 16, 17, 32].iter().enumerate() {
        let (made, mut text) = (aes_key(level, key, i), [0; 16 * 32]);
        let Some(Aes::Kernel(aes)) = &made else { return true };
        aes.count_little(&mut state, &mut Text::in_place(&mut text[..16 * blocks]));
        state.iter_mut().zip(&text[16 * (blocks - 1)..]).for_each(|(byte, stream)| *byte ^= stream);
    }
    state == ANSWER
}

#[cfg(not(polyval))]
fn little_chain(_: Usable<AesBlocks>, _: &[u8; 32]) -> bool {
    true
}

/// A key of the i-th length.
#[inline(never)]
fn aes_key(level: Usable<AesBlocks>, key: &[u8; 32], i: usize) -> Option<Aes> {
    let key = &key[..16 + 8 * (i % 3)];
    let mut made = Aes::unset(key, Ok(level)).ok()?;
    made.set(key);
    Some(made)
}

/// A text goes through CTR and then through a chain, for several numbers of blocks and keys of each length. The last
/// block of the chain is the next counter.
#[inline(never)]
fn aes_chain(level: Usable<AesBlocks>, key: &[u8; 32]) -> bool {
    const ANSWER: [u8; 16] =
        [0x39, 0x37, 0xee, 0x47, 0xc2, 0x04, 0x5b, 0x04, 0x7c, 0xc7, 0x4f, 0xa7, 0xb3, 0x79, 0x18, 0x45];
    let (mut text, mut state) = ([0; 16 * 32], [0xff; 16]);
    let mut unused = Unused::new();
    for (i, blocks) in [1, 2, 3, 4, 5, 8, 9, 16, 17, 32].iter().enumerate() {
        let aes = aes_key(level, key, i);
        let Some(aes) = &aes else { return false };
        let text = &mut text[..16 * blocks];
        aes.count(&mut state, &mut Text::in_place(text));
        aes.chain(&mut state, text, &mut unused);
    }
    state == ANSWER
}

/// The chain of the C library: 1 to MASKS masks, whose samples contain the previous masks. Pairs of the last masks are
/// the keys for the final sample.
pub(crate) fn chacha20masks(level: Usable<ChaCha20Masks>) -> bool {
    const MASKS: usize = 36;
    const ANSWER: [u8; 16] =
        [0x5f, 0xd1, 0xe2, 0x1a, 0xec, 0xe0, 0x3d, 0xe4, 0x38, 0x3f, 0x46, 0x4d, 0x54, 0x5b, 0x62, 0x69];
    let mut keys = [0; 3 * MASKS + 32];
    let mut samples = [0; 16 * MASKS + 16];
    for (i, byte) in keys.iter_mut().enumerate() {
        *byte = (0x80 + i) as u8;
    }
    for (i, byte) in samples.iter_mut().enumerate() {
        *byte = (7 * (i % 16) + i / 16) as u8;
    }
    let step = |samples: &mut [u8], place: usize, key: &[u8]| {
        let (mut made, mut sample, mut mask) = (ChaChaMaskKey { key: [0; 32], level }, [0; 16], [0; 16]);
        made.key.copy_from_slice(&key[..32]);
        sample.copy_from_slice(&samples[16 * place..16 * place + 16]);
        made.mask(&sample, &mut mask);
        samples[16 * place..16 * place + 8].copy_from_slice(&mask[..8]);
    };
    for n in 1..=MASKS {
        for place in 0..n {
            step(&mut samples, place, &keys[3 * place..]);
        }
    }
    for place in (2..MASKS).step_by(2) {
        let mut key = [0; 32];
        key.copy_from_slice(&samples[16 * place..16 * place + 32]);
        step(&mut samples, 0, &key);
    }
    samples[..16] == ANSWER
}

#[cfg(all(test, not(miri)))]
#[allow(unsafe_code)] // a planted kernel
mod tests {
    use super::*;
    use crate::kernel::{Args, Batch, Code, Kernel, Level};
    use crate::level::{Table, AESGCM, AES_BLOCKS, CHACHA20MASKS, CHACHA20POLY1305, LEVELS_MAX};

    /// A kernel that does nothing, like a level without code.
    #[cfg(target_arch = "x86_64")]
    unsafe extern "sysv64" fn idle(_: *const Args, _: *mut u8, _: *const u8) {}
    #[cfg(not(target_arch = "x86_64"))]
    unsafe extern "C" fn idle(_: *const Args, _: *mut u8, _: *const u8) {}

    fn level_with<P>(code: Code, constants: &'static [u8]) -> Runnable<P> {
        // SAFETY: one does nothing, and the other is a kernel of P with other constants, which it only computes with.
        let (kernel, batch) = unsafe { (Kernel::new(code, constants), Kernel::new(idle, &[])) };
        let batch = Some(Batch { kernel: batch, few: 2, from: &[2] });
        Runnable::check(Box::leak(Box::new(Level { name: "planted", needs: 0, kernel, batch })))
            .expect("it needs nothing")
    }

    fn idle_level<P>() -> Usable<P> {
        Usable::Kernel(level_with(idle, &[]))
    }

    #[test]
    fn all_levels_give_the_known_answers() {
        fn all<P>(table: &'static Table<P>) {
            for (place, (name, works)) in table.works().enumerate() {
                assert!(works || !table.can_run(place), "{name}");
            }
        }
        all(&CHACHA20POLY1305);
        all(&AESGCM);
        all(&AES_BLOCKS);
        all(&CHACHA20MASKS);
        for level in kernels(&CHACHA20POLY1305) {
            assert_eq!(CHACHA20POLY1305.batch(level).is_some(), level.batch().is_some(), "batches: {}", level.name());
        }
    }

    /// The levels with kernels that this CPU can run.
    fn kernels<P>(table: &'static Table<P>) -> impl Iterator<Item = Runnable<P>> {
        (0..LEVELS_MAX).filter_map(|place| match table.at(place) {
            Some(Usable::Kernel(level)) => Some(level),
            _ => None,
        })
    }

    #[test]
    fn planted_levels_are_found() {
        assert!(!chacha20poly1305(idle_level()));
        assert!(!aesgcm(idle_level()));
        assert!(!aes(idle_level()) && !chacha20masks(idle_level()));
        let nothing = level_with(idle, &[]);
        assert!(nothing.batch().is_some_and(|batch| !chacha20poly1305_batch(nothing, batch)));
        // Plants one wrong bit in a constant.
        fn wrong<P>(table: &'static Table<P>, test: fn(Usable<P>) -> bool) {
            for level in kernels(table) {
                let (code, constants) = level.code();
                if constants.iter().all(|byte| *byte == 0) {
                    continue; // it reads no constants
                }
                #[repr(align(64))]
                struct Aligned([u8; 1024]);
                let wrong = Box::leak(Box::new(Aligned([0; 1024])));
                wrong.0[..constants.len()].copy_from_slice(constants);
                wrong.0[0] ^= 1;
                assert!(!test(Usable::Kernel(level_with(code, &wrong.0[..constants.len()]))), "{}", level.name());
            }
        }
        wrong(&CHACHA20POLY1305, chacha20poly1305);
        wrong(&AESGCM, aesgcm);
    }
}
