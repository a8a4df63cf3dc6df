//! Runs random packets through every level of the crate and through ring, until the time is up or they differ:
//!
//!     sealane-fuzz SECONDS [SEED]
//!
//! Without SEED, the seed is the number in the environment variable `SEALANE_SEED`, or a new one.
//!
//! Packets are processed whole, with separate output, in pieces and in batches, opened by the other library, and forged
//! in a random bit. It prints the seed, and the number of a packet that differs; the same seed finds it again.
//! `SEALANE_PLANT=N` plants a fault in the N-th packet.

use std::process::ExitCode;
use std::time::{Duration, Instant, SystemTime};

use ring::aead::{Aad, LessSafeKey, Nonce, UnboundKey, AES_128_GCM, AES_256_GCM, CHACHA20_POLY1305};
use sealane::{levels, open_batch, seal_batch, Algorithm, Error, Key, Packet, Text};

/// splitmix64: S. Vigna, <https://prng.di.unimi.it/splitmix64.c>, public domain.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }

    fn bytes(&mut self, n: usize) -> Vec<u8> {
        (0..n.div_ceil(8)).flat_map(|_| self.next().to_le_bytes()).take(n).collect()
    }

    /// Mostly short, often near lengths where kernels change their code path.
    fn length(&mut self) -> usize {
        match self.below(8) {
            0 => self.below(17),
            1..=3 => self.below(300),
            4 => (64 * self.below(40) + self.below(3)).saturating_sub(1),
            5 | 6 => self.below(2000),
            _ => self.below(20_000),
        }
    }
}

/// A key at one level, with ring's key.
struct Pair {
    ours: Key,
    theirs: LessSafeKey,
}

struct Sealed {
    key: usize,
    nonce: [u8; 12],
    ad: Vec<u8>,
    text: Vec<u8>,
    sealed: Vec<u8>,
    tag: [u8; 16],
}

fn pairs(random: &mut Random) -> Vec<Pair> {
    let mut pairs = vec![];
    for (algorithm, theirs) in [
        (Algorithm::ChaCha20Poly1305, &CHACHA20_POLY1305),
        (Algorithm::Aes128Gcm, &AES_128_GCM),
        (Algorithm::Aes256Gcm, &AES_256_GCM),
    ] {
        let key = random.bytes(algorithm.key_len());
        for (level, works) in levels(algorithm) {
            if works {
                let ours = Key::with_level(algorithm, &key, level).expect("key");
                let theirs = LessSafeKey::new(UnboundKey::new(theirs, &key).expect("key"));
                pairs.push(Pair { ours, theirs });
            }
        }
    }
    pairs
}

fn by_ring(random: &mut Random, pairs: &[Pair]) -> Sealed {
    let key = random.below(pairs.len());
    let nonce: [u8; 12] = random.bytes(12).try_into().expect("12 bytes");
    let n = if random.below(10) == 0 { random.below(2000) } else { random.below(40) };
    let ad = random.bytes(n);
    let n = random.length();
    let text = random.bytes(n);
    let mut sealed = text.clone();
    let tag = pairs[key]
        .theirs
        .seal_in_place_separate_tag(Nonce::assume_unique_for_key(nonce), Aad::from(&ad), &mut sealed)
        .expect("sealed by ring");
    Sealed { key, nonce, ad, text, sealed, tag: tag.as_ref().try_into().expect("16 bytes") }
}

/// Cuts at random, in place or to `to`.
fn pieces<'a>(random: &mut Random, mut from: &'a [u8], mut to: &'a mut [u8]) -> (Vec<Text<'a>>, Vec<u8>) {
    let (mut pieces, mut refused) = (vec![], from.to_vec()); // also the output of a forgery
    while !to.is_empty() {
        let most = [1, 16, 65, 300, 5000][random.below(5)];
        let n = random.below(to.len().min(most) + 1);
        let (first, rest) = to.split_at_mut(n);
        if random.below(2) == 0 {
            first.copy_from_slice(&from[..n]);
            pieces.push(Text::in_place(first));
        } else {
            first.fill(0xa5);
            let at = refused.len() - from.len();
            refused[at..at + n].fill(0);
            pieces.push(Text::apart(&from[..n], first).expect("lengths"));
        }
        (from, to) = (&from[n..], rest);
    }
    (pieces, refused)
}

/// Checks one packet individually, and returns the difference.
fn single(random: &mut Random, pairs: &[Pair], packet: &Sealed) -> Result<(), &'static str> {
    let key = &pairs[packet.key].ours;
    let Sealed { nonce, ad, text, sealed, tag, .. } = packet;
    let mut out = text.clone();
    let made = match random.below(3) {
        0 => key.seal_in_place(nonce, ad, &mut out),
        1 => {
            out.fill(0x5a);
            key.seal(nonce, ad, text, &mut out)
        }
        _ => {
            let (mut pieces, _) = pieces(random, text, &mut out);
            key.seal_pieces(nonce, ad, &mut pieces)
        }
    };
    if made != Ok(*tag) {
        return Err("the tag");
    }
    if out != *sealed {
        return Err("the sealed text");
    }
    let forged = random.below(3) == 0;
    let (mut nonce, mut ad, mut sealed, mut tag) = (*nonce, ad.clone(), sealed.clone(), *tag);
    if forged {
        let fields = [&mut nonce[..], &mut ad[..], &mut sealed[..], &mut tag[..]];
        let all: usize = fields.iter().map(|field| field.len()).sum();
        let mut at = random.below(all);
        for field in fields {
            if at < field.len() {
                field[at] ^= 1 << random.below(8);
                break;
            }
            at -= field.len();
        }
    }
    let mut refused = sealed.clone();
    let opened = match random.below(3) {
        0 => {
            out.copy_from_slice(&sealed);
            key.open_in_place(&nonce, &ad, &mut out, &tag)
        }
        1 => {
            out.fill(0x5a);
            refused.fill(0);
            key.open(&nonce, &ad, &sealed, &mut out, &tag)
        }
        _ => {
            let mut pieces;
            (pieces, refused) = self::pieces(random, &sealed, &mut out);
            key.open_pieces(&nonce, &ad, &mut pieces, &tag)
        }
    };
    match (forged, opened) {
        (true, Err(Error::NotAuthentic)) if out == refused => Ok(()),
        (true, Err(Error::NotAuthentic)) => Err("what a forgery leaves"),
        (true, _) => Err("a forgery was opened"),
        (false, Ok(())) if out == *text => Ok(()),
        (false, Ok(())) => Err("the opened text"),
        (false, Err(_)) => Err("not opened"),
    }
}

fn batch(random: &mut Random, pairs: &[Pair], packets: &[Sealed]) -> Result<(), (usize, &'static str)> {
    let mut outs: Vec<Vec<u8>> = packets.iter().map(|packet| packet.text.clone()).collect();
    let mut batch: Vec<Packet<'_, _>> = packets
        .iter()
        .zip(&mut outs)
        .map(|(p, out)| Packet::to_seal(&pairs[p.key].ours, &p.nonce, &p.ad, Text::in_place(out)))
        .collect();
    let good = seal_batch(&mut batch);
    let tags: Vec<[u8; 16]> = batch.iter().map(|packet| *packet.tag()).collect();
    drop(batch);
    for (i, (packet, (out, tag))) in packets.iter().zip(outs.iter().zip(&tags)).enumerate() {
        if *out != packet.sealed || *tag != packet.tag {
            return Err((i, "sealed in a batch"));
        }
    }
    let forged: Vec<bool> = packets.iter().map(|_| random.below(6) == 0).collect();
    let mut batch: Vec<Packet<'_, _>> = packets
        .iter()
        .zip(&mut outs)
        .zip(&forged)
        .map(|((p, out), forged)| {
            let mut tag = p.tag;
            tag[random.below(16)] ^= u8::from(*forged) << random.below(8);
            Packet::to_open(&pairs[p.key].ours, &p.nonce, &p.ad, Text::in_place(out), &tag)
        })
        .collect();
    let opened = open_batch(&mut batch);
    drop(batch);
    for (i, (packet, (out, forged))) in packets.iter().zip(outs.iter().zip(&forged)).enumerate() {
        if *forged && *out != packet.sealed {
            return Err((i, "a forgery in a batch"));
        }
        if !*forged && *out != packet.text {
            return Err((i, "opened in a batch"));
        }
    }
    if good != packets.len() || opened != forged.iter().filter(|forged| !**forged).count() {
        return Err((0, "how many of a batch are good"));
    }
    Ok(())
}

/// Parses `SEALANE_SEED` as in C: decimal, or with prefix 0x or 0.
fn number(text: &str) -> Option<u64> {
    let (digits, radix) = match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        Some(digits) => (digits, 16),
        None if text.len() > 1 && text.starts_with('0') => (text, 8),
        None => (text, 10),
    };
    u64::from_str_radix(digits, radix).ok().filter(|_| !digits.starts_with('+'))
}

fn main() -> ExitCode {
    let given = std::env::var("SEALANE_SEED").ok().filter(|seed| !seed.is_empty());
    if given.as_deref().map(number) == Some(None) {
        eprintln!("SEALANE_SEED: {:?} is not a number from 0 to 2^64-1", given.unwrap_or_default());
        return ExitCode::from(2);
    }
    let mut arguments = std::env::args().skip(1).map(|argument| argument.parse::<u64>().expect("a number"));
    let seconds = arguments.next().unwrap_or(10);
    let clock = || SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(1, |now| now.as_nanos() as u64);
    let seed = arguments.next().or_else(|| number(given.as_deref()?)).unwrap_or_else(clock);
    let plant = std::env::var("SEALANE_PLANT").ok().and_then(|number| number.parse::<u64>().ok());
    println!("seed {seed}");
    let mut random = Random(seed);
    let (mut count, end) = (0u64, Instant::now() + Duration::from_secs(seconds));
    while Instant::now() < end {
        let pairs = pairs(&mut random);
        for _ in 0..20 {
            let mut packets = vec![];
            let most = 1 + random.below(80);
            for _ in 0..most {
                let mut packet = by_ring(&mut random, &pairs);
                if plant == Some(count) {
                    packet.tag[0] ^= 1;
                }
                count += 1;
                packets.push(packet);
            }
            let first = count - packets.len() as u64;
            let mut wrong = batch(&mut random, &pairs, &packets).err();
            for (i, packet) in packets.iter().enumerate() {
                wrong = wrong.or_else(|| single(&mut random, &pairs, packet).err().map(|what| (i, what)));
            }
            if let Some((i, what)) = wrong {
                let (packet, key) = (&packets[i], &pairs[packets[i].key].ours);
                println!(
                    "packet {} differs from ring's: {what}; {key:?}, {} bytes of text, {} of associated data",
                    first + i as u64,
                    packet.text.len(),
                    packet.ad.len()
                );
                return ExitCode::FAILURE;
            }
        }
    }
    println!("{count} packets, at {} keys of levels at a time: none differs", pairs(&mut random).len());
    ExitCode::SUCCESS
}
