//! The known-answer tests: a chain of packets of lengths where kernels change their ways, each authenticated by the tag of
//! the one before, so that one tag at the end answers for all of them. They and their answers, which other implementations
//! have computed, are those of the C library (src/selftest.c).

use crate::cipher::{bytes_of_tag, tag_of_bytes, AnyParts, Gcm, MaskState};
use crate::kernel::{CallKey, CallNonce, Lanes, Tag, Text};
use crate::level::{Batch, Level, CHACHA20POLY1305};

const LONGEST: usize = 3200;

const LENGTHS: [usize; 21] =
    [0, 1, 16, 31, 64, 65, 127, 128, 192, 256, 257, 511, 512, 1023, 1024, 1420, 1472, 1536, 1537, 2100, 3200];

const CHACHA_ANSWER: [u8; 16] =
    [0x8b, 0x9b, 0xa7, 0x78, 0x69, 0x59, 0x51, 0x4d, 0x2f, 0xca, 0x03, 0xaf, 0x99, 0x8d, 0x62, 0xab];
const GCM_ANSWER: [u8; 16] =
    [0x9e, 0x5e, 0x8a, 0x1a, 0xb7, 0xa8, 0x7a, 0x14, 0x6f, 0x4d, 0x95, 0x98, 0x9b, 0x83, 0x24, 0x61];
const BATCH_ANSWER: [u8; 16] =
    [0x9f, 0x17, 0xba, 0xec, 0xc0, 0x3b, 0x80, 0xd2, 0x26, 0xe3, 0xa7, 0x8e, 0x01, 0x62, 0x47, 0x2d];
const GCM_BATCH_ANSWER: [u8; 16] =
    [0x13, 0xf0, 0x65, 0x2a, 0xdc, 0x12, 0x36, 0xf0, 0xdd, 0x44, 0xe9, 0x90, 0x93, 0xb0, 0xdd, 0xb6];

const NONCE: [u8; 12] = [7, 0, 0, 0, 0x40, 0x41, 0x42, 0x43, 0x44, 0x45, 0x46, 0x47];

fn key() -> [u8; 32] {
    let mut key = [0; 32];
    for (i, byte) in key.iter_mut().enumerate() {
        *byte = 0x80 + i as u8;
    }
    key
}

struct Chain {
    tag: [u8; 16],
    plain: [u8; LONGEST],
    sealed: [u8; LONGEST],
    ad: [u8; 48],
}

impl Chain {
    fn new() -> Self {
        Chain { tag: [0; 16], plain: [0; LONGEST], sealed: [0; LONGEST], ad: [0; 48] }
    }

    fn fill(&mut self, n: usize) {
        for (j, byte) in self.plain.iter_mut().enumerate() {
            *byte = (7 * j + n) as u8;
        }
        self.ad[..16].copy_from_slice(&self.tag);
        self.ad[16..].copy_from_slice(&self.plain[..32]);
    }

    /// Seals n bytes and opens them in place.
    fn link(&mut self, n: usize, mut run: impl FnMut(&[u8], &mut Text<'_>, bool) -> Tag) -> bool {
        self.fill(n);
        let ad = &self.ad[..16 + n % 33];
        let sealed = &mut self.sealed[..n];
        self.tag = match Text::apart(&self.plain[..n], sealed) {
            Ok(mut text) => bytes_of_tag(&run(ad, &mut text, false)),
            Err(_) => return false,
        };
        let opened = bytes_of_tag(&run(ad, &mut Text::in_place(sealed), true));
        *sealed == self.plain[..n] && opened == self.tag
    }
}

/// Seals all of a text in three parts.
fn in_parts(text: &mut [u8; LONGEST], mut parts: AnyParts<'_>) -> [u8; 16] {
    let mut text = Text::in_place(text);
    parts.next(&mut text.part(0, 1024));
    parts.next(&mut text.part(1024, 1024));
    bytes_of_tag(&parts.last(&mut text.part(2048, LONGEST - 2048)))
}

pub(crate) fn chacha20poly1305(level: &'static Level) -> bool {
    let mut chain = Chain::new();
    let key = key();
    for n in LENGTHS {
        if !chain.link(n, |ad, text, open| level.chacha20poly1305(&key, &NONCE, ad, text, open)) {
            return false;
        }
    }
    chain.fill(LONGEST);
    let parts = level.chacha20poly1305_parts(&key, &NONCE, &chain.ad[..16], LONGEST as u64, false);
    in_parts(&mut chain.plain, parts) == CHACHA_ANSWER
}

/// One of each length.
fn gcm_keys(level: &'static Level, key: &[u8; 32]) -> Option<[Gcm; 3]> {
    Some([Gcm::new(level, &key[..16])?, Gcm::new(level, &key[..24])?, Gcm::new(level, key)?])
}

/// Keys of the three lengths by turns; every second packet, and the one in parts, has a counter that wraps around at 2^32.
pub(crate) fn aesgcm(level: &'static Level) -> bool {
    let mut chain = Chain::new();
    let keys = match gcm_keys(level, &key()) {
        Some(keys) => keys,
        None => return false,
    };
    let mut block = [0; 16];
    block[..12].copy_from_slice(&NONCE);
    for (i, n) in LENGTHS.iter().enumerate() {
        block[12..].copy_from_slice(&(i as u32).wrapping_neg().to_be_bytes());
        let nonce = if i % 2 == 0 { CallNonce::Nonce(&NONCE) } else { CallNonce::Block(&block) };
        if !chain.link(*n, |ad, text, open| keys[i % 3].packet(level, nonce, ad, text, open)) {
            return false;
        }
    }
    let i = LENGTHS.len();
    block[12..].copy_from_slice(&(i as u32).wrapping_neg().to_be_bytes());
    chain.fill(LONGEST);
    let parts = keys[i % 3].parts(level, CallNonce::Block(&block), &chain.ad[..16], LONGEST as u64, false);
    in_parts(&mut chain.plain, parts) == GCM_ANSWER
}

/// The same for a batch kernel: packets of 0, 1, 4, 9, ... 1024 bytes, among them whole blocks and all but one byte of
/// them, each with its own key, nonce and associated data, are sealed and opened together. The tag of all their tags was
/// computed with another implementation.
const PACKETS: usize = 33;
const SQUARES: usize = (PACKETS - 1) * PACKETS * (2 * PACKETS - 1) / 6;

fn squares(batch: &Batch, gcm: Option<&[Gcm; 3]>, answer: [u8; 16]) -> bool {
    let mut keys = [[0; 32]; PACKETS];
    let mut nonces = [[0; 12]; PACKETS];
    let mut tags = [[[0; 16]; PACKETS]; 2];
    let mut text = [0; SQUARES];
    let plain = |n: usize| (0..n * n).map(move |j| (7 * j + n) as u8);
    let mut rest = &mut text[..];
    for n in 0..PACKETS {
        for (j, byte) in keys[n].iter_mut().enumerate() {
            *byte = (0x80 + j + n) as u8;
        }
        nonces[n] = [n as u8; 12];
        let (packet, behind) = rest.split_at_mut(n * n);
        packet.iter_mut().zip(plain(n)).for_each(|(byte, value)| *byte = value);
        rest = behind;
    }
    // The associated data of packet n are the first n bytes of all keys.
    let mut ad = [0; PACKETS];
    ad[..32].copy_from_slice(&keys[0]);
    ad[32] = keys[1][0];
    for (open, tags) in tags.iter_mut().enumerate() {
        const NONE: Option<Text<'_>> = None;
        let mut texts = [NONE; PACKETS];
        let mut rest = &mut text[..];
        for (n, text) in texts.iter_mut().enumerate() {
            let (packet, behind) = rest.split_at_mut(n * n);
            *text = Some(Text::in_place(packet));
            rest = behind;
        }
        let mut lanes = Lanes::new();
        for (n, (text, tag)) in texts.iter_mut().flatten().zip(tags.iter_mut()).enumerate() {
            let key = match gcm.map(|keys| &keys[n % 3]) {
                None => CallKey::ChaCha(&keys[n]),
                Some(Gcm::Kernel(key)) => CallKey::Gcm(key),
                #[cfg(feature = "portable")]
                Some(Gcm::Portable(_)) => return false,
            };
            lanes.push(text, &ad[..n], key, &nonces[n], tag);
        }
        batch.run(&lanes, open == 1);
    }
    let mut all = [0; 16 * PACKETS];
    for (to, from) in all.chunks_exact_mut(16).zip(&tags[0]) {
        to.copy_from_slice(from);
    }
    let tag_of_tags = match CHACHA20POLY1305.of_process() {
        Ok(level) => level.chacha20poly1305(&keys[0], &nonces[0], &all, &mut Text::in_place(&mut []), false),
        Err(_) => return false,
    };
    tags[0] == tags[1] && text.iter().copied().eq((0..PACKETS).flat_map(plain)) && tag_of_tags == tag_of_bytes(&answer)
}

pub(crate) fn chacha20poly1305_batch(_: &'static Level, batch: &Batch) -> bool {
    squares(batch, None, BATCH_ANSWER)
}

/// Keys of the three lengths by turns.
pub(crate) fn aesgcm_batch(level: &'static Level, batch: &Batch) -> bool {
    gcm_keys(level, &key()).map_or(false, |keys| squares(batch, Some(&keys), GCM_BATCH_ANSWER))
}

/// FIPS 197, appendix C: a block under keys of each length.
pub(crate) fn aes(level: &'static Level) -> bool {
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
    ANSWERS.iter().enumerate().all(|(i, answer)| {
        MaskState::aes(level, &key[..16 + 8 * i]).map_or(false, |key| key.mask(level, &block) == *answer)
    })
}

/// The chain of the C library: 1 to MASKS masks of samples that have the last masks in them; two of the last at a time are a
/// key for the sample that is left in the end.
pub(crate) fn chacha20masks(level: &'static Level) -> bool {
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
        let (mut bytes, mut sample) = ([0; 32], [0; 16]);
        bytes.copy_from_slice(&key[..32]);
        sample.copy_from_slice(&samples[16 * place..16 * place + 16]);
        let mask = MaskState::ChaCha(bytes).mask(level, &sample);
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
    use crate::kernel::{Args, Code, Kernel};
    use crate::level::{AESGCM, AES_BLOCKS, CHACHA20MASKS};

    /// A kernel that does nothing: what is wrong with a level whose code is not there.
    #[cfg(target_arch = "x86_64")]
    unsafe extern "sysv64" fn idle(_: *const Args, _: *mut u8, _: *const u8) {}
    #[cfg(not(target_arch = "x86_64"))]
    unsafe extern "C" fn idle(_: *const Args, _: *mut u8, _: *const u8) {}

    fn level_with(code: Code, constants: &'static [u8]) -> &'static Level {
        Box::leak(Box::new(Level {
            name: "planted",
            needs: 0,
            kernel: Some(Kernel { code, constants }),
            batch: None,
        }))
    }

    #[test]
    fn all_levels_give_the_known_answers() {
        for table in [&CHACHA20POLY1305, &AESGCM, &AES_BLOCKS, &CHACHA20MASKS] {
            for (place, level) in table.levels() {
                if !table.works(place, level) {
                    assert!(level.needs & !crate::cpu::features() != 0, "{} {}", table.primitive, level.name);
                }
                assert_eq!(
                    level.batch.is_some() && table.works(place, level),
                    table.works(place, level) && table.batch(level).is_some(),
                    "batches: {} {}",
                    table.primitive,
                    level.name
                );
            }
        }
    }

    #[test]
    fn planted_levels_are_found() {
        let nothing = level_with(idle, &[]);
        assert!(!chacha20poly1305(nothing));
        assert!(!aesgcm(nothing));
        assert!(!aes(nothing) && !chacha20masks(nothing));
        let batch = || Batch { kernel: Kernel { code: idle, constants: &[] }, few: 2, from: &[2] };
        assert!(!chacha20poly1305_batch(nothing, &batch()));
        assert!(!aesgcm_batch(nothing, &batch()));
        // A constant with one wrong bit, and each level with the constants of another.
        for (table, test) in [(&CHACHA20POLY1305, chacha20poly1305 as fn(&'static Level) -> bool), (&AESGCM, aesgcm)] {
            for (place, level) in table.levels() {
                let kernel = match level.kernel {
                    Some(kernel) if table.works(place, level) && !kernel.constants.is_empty() => kernel,
                    _ => continue,
                };
                #[repr(align(64))]
                struct Aligned([u8; 1024]);
                let wrong = Box::leak(Box::new(Aligned([0; 1024])));
                wrong.0[..kernel.constants.len()].copy_from_slice(kernel.constants);
                wrong.0[0] ^= 1;
                let level = level_with(kernel.code, &wrong.0[..kernel.constants.len()]);
                assert!(!test(level), "{} {}", table.primitive, level.name);
            }
        }
    }
}
