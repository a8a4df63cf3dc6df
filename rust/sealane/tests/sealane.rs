//! Tests of the public interface at every level that works on this CPU. They cover vectors, all short lengths
//! compared with RustCrypto's crates, tampering, pieces, batches and invalid input.
//!
//! `SEALANE_PLANT` names a fault to plant, which a test must find: see `planted`.

use std::collections::BTreeMap;
use std::process::Command;

use aes_gcm::aead::array::{Array, ArraySize};
use aes_gcm::aead::{AeadInOut, KeyInit};
use aes_gcm::aes::Aes192;
use aes_gcm::{Aes128Gcm, Aes256Gcm, AesGcm};
use chacha20poly1305::{ChaCha20Poly1305, XChaCha20Poly1305};
use sealane::{
    ccm_open_batch, ccm_seal_batch, cmac_batch, levels, open_batch, seal_batch, Algorithm, CcmKey, CcmPacket,
    ChaCha20Key, CmacKey, CmacText, Error, GcmSivKey, HeaderKey, Key, Packet, SshKey, Text,
};

const ALGORITHMS: [Algorithm; 5] = [
    Algorithm::ChaCha20Poly1305,
    Algorithm::XChaCha20Poly1305,
    Algorithm::Aes128Gcm,
    Algorithm::Aes192Gcm,
    Algorithm::Aes256Gcm,
];

/// Whether the fault with that name is planted in this run.
fn planted(name: &str) -> bool {
    std::env::var_os("SEALANE_PLANT").is_some_and(|plant| plant == name)
}

/// How many cases to run: Miri is several thousand times slower, and runs `few`.
fn unless_miri(all: usize, few: usize) -> usize {
    if cfg!(miri) {
        few
    } else {
        all
    }
}

/// Pseudorandom bytes, the same in every run.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 >> 11
    }

    fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }

    fn bytes(&mut self, n: usize) -> Vec<u8> {
        (0..n).map(|_| self.next() as u8).collect()
    }
}

fn nonce_fits(algorithm: Algorithm, bytes: usize) -> bool {
    match algorithm {
        Algorithm::ChaCha20Poly1305 => bytes == 12,
        Algorithm::XChaCha20Poly1305 => bytes == 24,
        _ => bytes > 0,
    }
}

/// Every algorithm at every level that works.
fn each(mut test: impl FnMut(Algorithm, &'static str)) {
    let mut count = 0;
    for algorithm in ALGORITHMS {
        for (name, works) in levels(algorithm) {
            if works {
                test(algorithm, name);
                count += 1;
            } else {
                println!("not run: {:?} at {}: this CPU cannot", algorithm, name);
            }
        }
    }
    assert!(count >= ALGORITHMS.len(), "no levels");
}

/// Seals a packet with RustCrypto's crates.
fn peer(algorithm: Algorithm, key: &[u8], nonce: &[u8], ad: &[u8], text: &[u8]) -> (Vec<u8>, [u8; 16]) {
    fn seal<C: AeadInOut + KeyInit>(key: &[u8], nonce: &[u8], ad: &[u8], text: &mut [u8]) -> [u8; 16] {
        let cipher = C::new_from_slice(key).expect("key");
        let tag = cipher.encrypt_inout_detached(nonce.try_into().expect("nonce"), ad, text.into()).expect("sealed");
        tag.as_slice().try_into().expect("tag")
    }
    let mut text = text.to_vec();
    let tag = match algorithm {
        Algorithm::ChaCha20Poly1305 => seal::<ChaCha20Poly1305>(key, nonce, ad, &mut text),
        Algorithm::XChaCha20Poly1305 => seal::<XChaCha20Poly1305>(key, nonce, ad, &mut text),
        Algorithm::Aes128Gcm => seal::<Aes128Gcm>(key, nonce, ad, &mut text),
        Algorithm::Aes192Gcm => seal::<AesGcm<Aes192, aes_gcm::aead::consts::U12>>(key, nonce, ad, &mut text),
        _ => seal::<Aes256Gcm>(key, nonce, ad, &mut text),
    };
    (text, tag)
}

#[test]
fn levels_are_there() {
    for algorithm in ALGORITHMS {
        let all: Vec<_> = levels(algorithm).collect();
        println!("{:?}: {:?}", algorithm, all);
        assert_eq!(all.last(), Some(&("portable", true)));
        let key = Key::new(algorithm, &vec![1; algorithm.key_len()]).expect("key");
        assert!(all.contains(&(key.level(), true)));
        if cfg!(all(target_arch = "x86_64", not(miri))) && std::env::var_os("SEALANE_TEST_CPU").is_none() {
            assert!(all.len() >= 4);
        }
    }
    // The caller of the test may state which CPU this is.
    if let Ok(wanted) = std::env::var("SEALANE_TEST_CPU") {
        let works: Vec<_> = levels(Algorithm::ChaCha20Poly1305)
            .chain(levels(Algorithm::Aes128Gcm))
            .filter(|(_, works)| *works)
            .map(|(name, _)| name)
            .collect();
        assert_eq!(works.join(" "), wanted);
    }
}

#[test]
fn all_lengths_beside_rustcrypto() {
    let mut random = Random(0x243f_6a88_85a3_08d3);
    let mut expected = BTreeMap::new();
    for algorithm in ALGORITHMS {
        let lengths = (0..=1100).chain([1420, 1536, 2048, 4096, 8191, 16384, 65537]);
        for bytes in lengths.filter(|bytes| !cfg!(miri) || [0, 17, 100].contains(bytes)) {
            let key = random.bytes(algorithm.key_len());
            let nonce = random.bytes(algorithm.nonce_len());
            let ad_bytes = if bytes % 64 == 0 { random.below(300) } else { random.below(33) };
            let (ad, text) = (random.bytes(ad_bytes), random.bytes(bytes));
            let (mut sealed, tag) = peer(algorithm, &key, &nonce, &ad, &text);
            if planted("text") && bytes == 700 {
                sealed[699] ^= 1;
            }
            expected.insert((algorithm as u8, bytes), (key, nonce, ad, text, sealed, tag));
        }
    }
    each(|algorithm, level| {
        for ((_, bytes), (key, nonce, ad, text, sealed, tag)) in
            expected.range((algorithm as u8, 0)..=(algorithm as u8, usize::MAX))
        {
            let what =
                format!("{:?} at {}, {} bytes of text, {} of associated data", algorithm, level, bytes, ad.len());
            let key = Key::with_level(algorithm, key, level).expect("key");
            assert_eq!(key.level(), level);

            let mut out = text.clone();
            let mut made = key.seal_in_place(nonce, ad, &mut out).expect("sealed");
            if planted("tag") && *bytes == 64 {
                made[15] ^= 0x80;
            }
            assert!(out == *sealed, "sealed in place: {}", what);
            assert!(made == *tag, "tag in place: {}", what);
            key.open_in_place(nonce, ad, &mut out, tag).expect(&what);
            assert!(out == *text, "opened in place: {}", what);

            out.fill(0xa5);
            assert!(key.seal(nonce, ad, text, &mut out) == Ok(*tag), "tag apart: {}", what);
            assert!(out == *sealed, "sealed apart: {}", what);
            out.fill(0xa5);
            key.open(nonce, ad, sealed, &mut out, tag).expect(&what);
            assert!(out == *text, "opened apart: {}", what);
        }
    });
}

/// AES-GCM with nonces of other than 12 bytes, compared with RustCrypto's crate.
#[test]
fn other_nonces() {
    fn peer<N: ArraySize>(nonce: &[u8], key: &[u8; 16]) -> [u8; 16] {
        let cipher = AesGcm::<aes_gcm::aes::Aes128, N>::new(key.into());
        let nonce = Array::try_from(nonce).expect("nonce");
        let tag = cipher.encrypt_inout_detached(&nonce, b"ad", (&mut [3; 90][..]).into()).expect("sealed");
        tag.as_slice().try_into().expect("tag")
    }
    let (bytes, key): (Vec<u8>, [u8; 16]) = ((0..=255).collect(), [9; 16]);
    use aes_gcm::aead::consts as n;
    let expected = [
        (&bytes[..1], peer::<n::U1>(&bytes[..1], &key)),
        (&bytes[..8], peer::<n::U8>(&bytes[..8], &key)),
        (&bytes[..12], peer::<n::U12>(&bytes[..12], &key)),
        (&bytes[..16], peer::<n::U16>(&bytes[..16], &key)),
        (&bytes[..63], peer::<n::U63>(&bytes[..63], &key)),
        (&bytes[..64], peer::<n::U64>(&bytes[..64], &key)),
        (&bytes[..65], peer::<n::U65>(&bytes[..65], &key)),
        (&bytes[..128], peer::<n::U128>(&bytes[..128], &key)),
        (&bytes[..256], peer::<n::U256>(&bytes[..256], &key)),
    ];
    for (level, _) in levels(Algorithm::Aes128Gcm).filter(|(_, works)| *works) {
        let ours = Key::with_level(Algorithm::Aes128Gcm, &key, level).expect("key");
        for (nonce, mut tag) in expected {
            tag[3] ^= u8::from(planted("nonce") && nonce.len() == 64);
            let mut text = [3; 90];
            assert_eq!(ours.seal_in_place(nonce, b"ad", &mut text), Ok(tag), "{}: {} bytes", level, nonce.len());
            let (first, second) = text.split_at_mut(33);
            let mut pieces = [Text::in_place(first), Text::in_place(second)];
            assert_eq!(ours.open_pieces(nonce, b"ad", &mut pieces, &tag), Ok(()), "{}: {} bytes", level, nonce.len());
            assert_eq!(text, [3; 90]);
        }
    }
}

#[test]
fn pieces() {
    let mut random = Random(0x1319_8a2e_0370_7344);
    each(|algorithm, level| {
        let secret = random.bytes(algorithm.key_len());
        let key = Key::with_level(algorithm, &secret, level).expect("key");
        for round in 0..unless_miri(120, 2) {
            let bytes = random.below(if round % 8 == 0 { unless_miri(5000, 150) } else { unless_miri(400, 80) });
            let nonce = random.bytes(algorithm.nonce_len());
            let n = random.below(100);
            let (ad, text) = (random.bytes(n), random.bytes(bytes));
            let mut sealed = text.clone();
            let tag = key.seal_in_place(&nonce, &ad, &mut sealed).expect("sealed");

            // Random cuts, with some pieces in place and some separate.
            let cut = |random: &mut Random, mut rest: usize| {
                let mut cuts = vec![];
                while rest > 0 {
                    let most = [1, 17, 64, 65, 200, 1000][random.below(6)];
                    let n = random.below(rest.min(most) + 1);
                    cuts.push(n);
                    rest -= n;
                }
                cuts
            };
            let run = |random: &mut Random, from: &[u8], open: Option<&[u8; 16]>| {
                let cuts = cut(random, from.len());
                let mut to: Vec<u8> = from.to_vec();
                let (mut pieces, mut refused) = (vec![], from.to_vec()); // the expected contents after a refusal
                let (mut input, mut output) = (from, &mut to[..]);
                for n in cuts {
                    let (first, rest) = std::mem::take(&mut output).split_at_mut(n);
                    output = rest;
                    pieces.push(if random.below(2) == 0 {
                        Text::in_place(first)
                    } else {
                        first.fill(0xa5);
                        let at = from.len() - input.len();
                        refused[at..at + n].fill(0);
                        Text::apart(&input[..n], first).expect("lengths")
                    });
                    input = &input[n..];
                }
                let result = match open {
                    None => key.seal_pieces(&nonce, &ad, &mut pieces).map(Some),
                    Some(tag) => key.open_pieces(&nonce, &ad, &mut pieces, tag).map(|()| None),
                };
                drop(pieces);
                (to, result, refused)
            };
            let (mut made, result, _) = run(&mut random, &text, None);
            if planted("pieces") && bytes > 100 {
                made[bytes / 2] ^= 1;
            }
            assert_eq!(result, Ok(Some(tag)), "{:?} at {}: {} bytes", algorithm, level, bytes);
            assert!(made == sealed, "{:?} at {}: {} bytes", algorithm, level, bytes);
            let (opened, result, _) = run(&mut random, &sealed, Some(&tag));
            assert_eq!(result, Ok(None));
            assert!(opened == text, "{:?} at {}: {} bytes", algorithm, level, bytes);
            let mut wrong = tag;
            wrong[random.below(16)] ^= 1 << random.below(8);
            let (mut left, result, refused) = run(&mut random, &sealed, Some(&wrong));
            if planted("refused") && bytes > 100 {
                left[bytes / 2] ^= 1;
            }
            assert_eq!(result, Err(Error::NotAuthentic));
            assert!(left == refused, "{:?} at {}: {} bytes", algorithm, level, bytes);
        }
    });
}

#[test]
fn every_bit_counts() {
    each(|algorithm, level| {
        let key = Key::with_level(algorithm, &vec![9; algorithm.key_len()], level).expect("key");
        for bytes in [0, 33, 1, 16, 80].into_iter().take(unless_miri(5, 2)) {
            let (nonce, ad, text) = (vec![3; algorithm.nonce_len()], vec![4; 13], vec![5; bytes]);
            let mut sealed = text.clone();
            let tag = key.seal_in_place(&nonce, &ad, &mut sealed).expect("sealed");
            let refused = |nonce: &[u8], ad: &[u8], sealed: &[u8], tag: &[u8; 16]| {
                let mut out = vec![0xa5; sealed.len()];
                let result = key.open(nonce, ad, sealed, &mut out, tag);
                if planted("forgery") && !sealed.is_empty() {
                    out[0] = 1;
                }
                assert_eq!(result, Err(Error::NotAuthentic));
                assert!(out.iter().all(|byte| *byte == 0), "{:?} at {}: output is not zeroed", algorithm, level);
                let mut out = sealed.to_vec();
                assert_eq!(key.open_in_place(nonce, ad, &mut out, tag), Err(Error::NotAuthentic));
                assert!(out == sealed, "{:?} at {}: the ciphertext is not back", algorithm, level);
            };
            let flip = |bytes: &[u8], bit: usize| {
                let mut bytes = bytes.to_vec();
                bytes[bit / 8] ^= 1 << (bit % 8);
                bytes
            };
            for bit in (0..nonce.len() * 8).step_by(unless_miri(1, 127)) {
                refused(&flip(&nonce, bit), &ad, &sealed, &tag);
            }
            for bit in (0..ad.len() * 8).step_by(unless_miri(1, 127)) {
                refused(&nonce, &flip(&ad, bit), &sealed, &tag);
            }
            for bit in (0..sealed.len() * 8).step_by(unless_miri(1, 127)) {
                refused(&nonce, &ad, &flip(&sealed, bit), &tag);
            }
            for bit in (0..128).step_by(unless_miri(1, 127)) {
                refused(&nonce, &ad, &sealed, &flip(&tag, bit).try_into().expect("tag"));
            }
            if bytes > 0 {
                refused(&nonce, &ad, &sealed[..bytes - 1], &tag);
            }
        }
    });
}

/// A receiver with two keys tries both on the same bytes.
#[test]
fn a_second_key_can_be_tried() {
    each(|algorithm, level| {
        let key = |byte| Key::with_level(algorithm, &vec![byte; algorithm.key_len()], level).expect("key");
        let (old, new) = (key(1), key(2));
        let nonce = vec![3; algorithm.nonce_len()];
        for bytes in [0, 1, 63, 64, 65, 1420].into_iter().take(unless_miri(6, 3)) {
            let mut packet = vec![7; bytes];
            let tag = new.seal_in_place(&nonce, b"ad", &mut packet).expect("sealed");
            assert_eq!(old.open_in_place(&nonce, b"ad", &mut packet, &tag), Err(Error::NotAuthentic));
            assert_eq!(new.open_in_place(&nonce, b"ad", &mut packet, &tag), Ok(()), "{:?} at {}", algorithm, level);
            assert_eq!(packet, vec![7; bytes]);
        }
    });
}

#[test]
fn wrong_input() {
    for algorithm in ALGORITHMS {
        for bytes in (0..40).filter(|bytes| *bytes != algorithm.key_len()) {
            assert_eq!(Key::new(algorithm, &vec![1; bytes]).err(), Some(Error::InvalidKey));
        }
        assert_eq!(Key::with_level(algorithm, &vec![1; algorithm.key_len()], "mmx").err(), Some(Error::InvalidLevel));
        let key = Key::new(algorithm, &vec![1; algorithm.key_len()]).expect("key");
        for bytes in (0..40).filter(|bytes| !nonce_fits(algorithm, *bytes)) {
            let nonce = vec![2; bytes];
            let mut text = [7; 50];
            assert_eq!(key.seal_in_place(&nonce, b"", &mut text), Err(Error::InvalidNonce));
            assert_eq!(text, [7; 50]);
            let mut text = [7; 50];
            assert_eq!(key.open_in_place(&nonce, b"", &mut text, &[0; 16]), Err(Error::InvalidNonce));
            assert_eq!(text, [7; 50]);
            let (mut one, mut two) = ([7; 30], [8; 40]);
            let mut pieces = [Text::in_place(&mut one), Text::in_place(&mut two)];
            assert_eq!(key.seal_pieces(&nonce, b"", &mut pieces), Err(Error::InvalidNonce));
            assert_eq!((one, two), ([7; 30], [8; 40]));
            let mut out = [9; 50];
            assert_eq!(key.seal(&nonce, b"", &text, &mut out), Err(Error::InvalidNonce));
            assert_eq!(key.open(&nonce, b"", &text, &mut out, &[0; 16]), Err(Error::InvalidNonce));
            out[0] ^= u8::from(planted("mistake"));
            assert_eq!(out, [9; 50]);
        }
        let nonce = vec![2; algorithm.nonce_len()];
        let mut out = [7; 49];
        assert_eq!(key.seal(&nonce, b"", &[1; 50], &mut out), Err(Error::LengthMismatch));
        assert_eq!(out, [7; 49]);
        let mut out = [7; 51];
        assert_eq!(key.open(&nonce, b"", &[1; 50], &mut out, &[0; 16]), Err(Error::LengthMismatch));
        assert_eq!(out, [7; 51]);
        assert!(Text::apart(&[1; 3], &mut [2; 4]).is_err());
    }
    assert_eq!(sealane::set_max_level("sse9"), Err(Error::InvalidLevel));
    assert_eq!(sealane::set_max_level("portable"), Err(Error::TooLate));
}

#[test]
fn batches() {
    let mut random = Random(0xa409_3822_299f_31d0);
    let keys: Vec<Key> = {
        let mut keys = vec![];
        each(|algorithm, level| {
            let secret: Vec<u8> = (0..algorithm.key_len()).map(|i| i as u8).collect();
            keys.push(Key::with_level(algorithm, &secret, level).expect("key"));
        });
        keys
    };
    for round in 0..unless_miri(600, 3) {
        // Keys: one key; one level; any.
        let most = [3, unless_miri(16, 4), unless_miri(40, 5), 150][round % 4];
        let count = 1 + random.below(most);
        let first = random.below(keys.len());
        let longest = [64, unless_miri(200, 90), unless_miri(700, 100), unless_miri(2500, 110)][random.below(4)];
        let alike = random.below(3) == 0;
        let mut texts = vec![];
        for _ in 0..count {
            let key = match round % 3 {
                0 => first,
                1 => keys
                    .iter()
                    .enumerate()
                    .filter(|(_, key)| key.level() == keys[first].level())
                    .map(|(i, _)| i)
                    .nth(random.below(2))
                    .unwrap_or(first),
                _ => random.below(keys.len()),
            };
            let bytes = if alike { longest } else { random.below(longest + 1) };
            let algorithm = keys[key].algorithm();
            let short = usize::from(random.below(40) == 0);
            let nonce = random.bytes(algorithm.nonce_len() - short);
            let wrong_nonce = !nonce_fits(algorithm, nonce.len());
            let n = random.below(30);
            texts.push((key, nonce, random.bytes(n), random.bytes(bytes), wrong_nonce));
        }
        let expected: Vec<_> = texts
            .iter()
            .map(|(key, nonce, ad, text, _)| {
                let mut sealed = text.clone();
                let tag = keys[*key].seal_in_place(nonce, ad, &mut sealed);
                if tag.is_err() && text.len() % 2 == 1 {
                    sealed.fill(0xa5); // separate output, below
                }
                (sealed, tag)
            })
            .collect();

        let mut outs: Vec<Vec<u8>> = texts.iter().map(|(_, _, _, text, _)| text.clone()).collect();
        let mut packets: Vec<_> = texts
            .iter()
            .zip(&mut outs)
            .map(|((key, nonce, ad, text, _), out)| {
                let text = if text.len() % 2 == 0 {
                    Text::in_place(out)
                } else {
                    out.fill(0xa5);
                    Text::apart(text, out).expect("lengths")
                };
                Packet::to_seal(&keys[*key], nonce, ad, text)
            })
            .collect();
        let wrong = texts.iter().filter(|text| text.4).count();
        assert_eq!(seal_batch(&mut packets), count - wrong);
        let made: Vec<_> = packets.iter().map(|packet| (*packet.tag(), packet.result())).collect();
        drop(packets);
        for (i, ((tag, result), (sealed, expected))) in made.iter().zip(&expected).enumerate() {
            assert_eq!(*result, expected.map(|_| ()));
            assert_eq!(*tag, expected.unwrap_or([0; 16]));
            let same = outs[i] == *sealed && !(planted("batch") && round == 50 && i == 0);
            assert!(same, "round {}, packet {} of {}, {:?}", round, i, count, keys[texts[i].0]);
        }

        let forged: Vec<bool> = texts.iter().map(|text| text.4 || random.below(5) == 0).collect();
        let (before, apart) = (outs.clone(), round % 5 == 0);
        let mut packets: Vec<_> = texts
            .iter()
            .zip(outs.iter_mut().zip(&before))
            .zip(made.iter().zip(&forged))
            .map(|(((key, nonce, ad, _, _), (out, before)), ((tag, _), forged))| {
                let mut tag = *tag;
                if *forged {
                    tag[random.below(16)] ^= 1;
                }
                let text = if apart { Text::apart(before, out).expect("lengths") } else { Text::in_place(out) };
                Packet::to_open(&keys[*key], nonce, ad, text, &tag)
            })
            .collect();
        assert_eq!(open_batch(&mut packets), forged.iter().filter(|forged| !**forged).count());
        let results: Vec<_> = packets.iter().map(|packet| packet.result()).collect();
        drop(packets);
        for (i, result) in results.iter().enumerate() {
            if forged[i] {
                let why = if texts[i].4 { Error::InvalidNonce } else { Error::NotAuthentic };
                assert_eq!(*result, Err(why));
                let zeroed = apart && !texts[i].4;
                assert!(if zeroed { outs[i].iter().all(|byte| *byte == 0) } else { outs[i] == before[i] });
            } else {
                assert_eq!(*result, Ok(()));
                assert!(outs[i] == texts[i].3);
            }
        }
    }
    assert_eq!(seal_batch(&mut []), 0);
}

/// Effects of the environment. A process reads it once, so each case starts a process.
#[test]
#[cfg_attr(any(miri, target_family = "wasm"), ignore)] // they cannot start processes
fn environment() {
    let run = |name: &str, value: &str| {
        let program = std::env::current_exe().expect("this program");
        let mut command = match std::env::var("SEALANE_TEST_EXEC") {
            Ok(exec) => {
                let mut words = exec.split(' ');
                let mut command = Command::new(words.next().expect("a word"));
                command.args(words).arg(program);
                command
            }
            Err(_) => Command::new(program),
        };
        let arguments = ["--exact", "says_its_levels", "--nocapture", "--ignored"];
        let output = command.args(arguments).env(name, value).output().expect("run");
        assert!(output.status.success());
        let said = String::from_utf8(output.stdout).expect("text");
        let levels = said.lines().find_map(|line| line.split("levels: ").nth(1)).expect("levels").to_string();
        assert!(!String::from_utf8(output.stderr).expect("text").contains("sealane:"), "the crate prints");
        (levels, said.contains("warning: SEALANE_CPU or SEALANE_ASM"))
    };
    let best = |name: &str| {
        let below = |algorithm: Algorithm| {
            // The table follows the order of names, and omits the names that it lacks.
            let all: Vec<_> = levels(algorithm).collect();
            let start = all.iter().position(|(level, _)| *level == name).unwrap_or(0);
            all[start..].iter().find(|(_, works)| *works).map_or("none", |(level, _)| *level)
        };
        format!("{} {}", below(Algorithm::ChaCha20Poly1305), below(Algorithm::Aes128Gcm))
    };
    for (level, _) in levels(Algorithm::ChaCha20Poly1305) {
        if levels(Algorithm::Aes128Gcm).any(|(other, _)| other == level) {
            let wanted = if planted("environment") { String::new() } else { best(level) };
            assert_eq!(run("SEALANE_CPU", level).0, wanted, "SEALANE_CPU={}", level);
        }
    }
    assert_eq!(run("SEALANE_ASM", "0").0, "portable portable");
    let warned = |name: &str, value: &str| run(name, value).1;
    assert!(warned("SEALANE_CPU", "sse9") && warned("SEALANE_ASM", "off"));
    assert!(!warned("SEALANE_CPU", "") && !warned("SEALANE_ASM", "1"));
}

#[test]
#[ignore = "for the test of the environment"]
fn says_its_levels() {
    let level =
        |algorithm: Algorithm| Key::new(algorithm, &vec![1; algorithm.key_len()]).map_or("none", |key| key.level());
    println!("levels: {} {}", level(Algorithm::ChaCha20Poly1305), level(Algorithm::Aes128Gcm));
    println!("warning: {}", sealane::warning().unwrap_or_default());
}

/// RustCrypto's names, used as in its documentation, for both versions of the traits, and compared with its crates.
macro_rules! rustcrypto_names {
    ($name:ident, $ours:ident, $($aead:ident)::+) => {
        #[test]
        fn $name() {
            use $ours::aes_gcm::{self, aead::consts, aes::Aes192, AesGcm};
            use $ours::chacha20poly1305;
            use $($aead)::+::{Aead, KeyInit, Payload};

            let payload = |msg| Payload { msg, aad: b"its header" };
            macro_rules! compare {
                ($type:ty, $theirs:ty, $key:expr, $nonce:expr) => {
                    let nonce = &[1; $nonce].into();
                    let cipher = <$type>::new(&[7; $key].into());
                    let sealed = cipher.encrypt(nonce, payload(b"a packet")).expect("sealed");
                    let theirs = <$theirs as aes_gcm_current::KeyInit>::new(&[7; $key].into());
                    let wanted = aes_gcm_current::Payload { msg: b"a packet", aad: b"its header" };
                    let wanted = aes_gcm_current::Aead::encrypt(&theirs, &[1; $nonce].into(), wanted).expect("sealed");
                    assert_eq!(sealed, wanted);
                    assert_eq!(cipher.decrypt(nonce, payload(&sealed)).expect("opened"), b"a packet");
                    assert!(cipher.decrypt(nonce, &sealed[..]).is_err());
                    assert!(cipher.decrypt(nonce, payload(&sealed[1..])).is_err());
                    assert!(cipher.decrypt(nonce, payload(&sealed[..5])).is_err());
                };
            }
            use ::aes_gcm::aead as aes_gcm_current;
            use aes_gcm_current::consts as n;
            type Theirs<Aes, N, T> = ::aes_gcm::AesGcm<Aes, N, T>;
            compare!(chacha20poly1305::ChaCha20Poly1305, ChaCha20Poly1305, 32, 12);
            compare!(chacha20poly1305::XChaCha20Poly1305, XChaCha20Poly1305, 32, 24);
            compare!(aes_gcm::Aes128Gcm, Aes128Gcm, 16, 12);
            compare!(aes_gcm::Aes256Gcm, Aes256Gcm, 32, 12);
            compare!(AesGcm<Aes192, consts::U16>, Theirs<::aes_gcm::aes::Aes192, n::U16, n::U16>, 24, 16);
            compare!(AesGcm<Aes192, consts::U12, consts::U12>, Theirs<::aes_gcm::aes::Aes192, n::U12, n::U12>, 24, 12);
            compare!(AesGcm<Aes192, consts::U1, consts::U15>, Theirs<::aes_gcm::aes::Aes192, n::U1, n::U15>, 24, 1);
        }
    };
}
rustcrypto_names!(rustcrypto_names, sealane, sealane::aes_gcm::aead);
#[cfg(feature = "aead05")]
use sealane::aead05;
#[cfg(feature = "aead05")]
rustcrypto_names!(rustcrypto_names_of_aead_05, aead05, sealane::aead05::aes_gcm::aead);

/// `AeadInOut` from one slice to another.
#[test]
fn rustcrypto_apart() {
    use sealane::aes_gcm::aead::inout::InOutBuf;

    let cipher = sealane::aes_gcm::Aes128Gcm::new(&[7; 16].into());
    let (text, mut sealed, mut opened) = ([5; 90], [0; 90], [1; 90]);
    let buffer = InOutBuf::new(&text, &mut sealed).expect("lengths");
    let mut tag: [u8; 16] = cipher.encrypt_inout_detached(&[1; 12].into(), b"", buffer).expect("sealed").into();
    let mut open = |tag: [u8; 16]| {
        let buffer = InOutBuf::new(&sealed, &mut opened).expect("lengths");
        let result = cipher.decrypt_inout_detached(&[1; 12].into(), b"", buffer, &tag.into());
        (result.is_ok(), opened)
    };
    assert_eq!(open(tag), (true, text));
    tag[15] ^= 1;
    assert_eq!(open(tag), (false, [0; 90]));
}

/// QUIC header masks at every level: RFC 9001, appendices A.2 and A.5, and compared with RustCrypto's AES.
#[test]
fn header_masks() {
    use aes_gcm::aes::cipher::BlockCipherEncrypt;

    let rows = [
        (
            Algorithm::Aes128Gcm,
            "9f50449e04a0e810283a1e9933adedd2",
            "d1b1c98dd7689fb8ec11d242b123dc9b",
            [0x43, 0x7b, 0x9a, 0xec, 0x36],
        ),
        (
            Algorithm::ChaCha20Poly1305,
            "25a282b9e82f06f21f488917a4fc8f1b73573685608597d0efcb076b0ab7a7a4",
            "5e5cd55c41f69080575d7999c25a5bfb",
            [0xae, 0xfe, 0xfe, 0x7d, 0x03],
        ),
    ];
    for (algorithm, key, sample, mut mask) in rows {
        let mut count = 0;
        mask[4] ^= u8::from(planted("mask"));
        for (level, _) in HeaderKey::levels(algorithm).filter(|(_, works)| *works) {
            let key = HeaderKey::with_level(algorithm, &hex(key), level).expect("key");
            assert_eq!(key.level(), level);
            let sample: [u8; 16] = hex(sample).try_into().expect("16 bytes");
            assert_eq!(key.mask(&sample), mask, "{:?} at {}", algorithm, level);
            count += 1;
        }
        assert!(count > 0);
    }
    let mut random = Random(0x082e_fa98_ec4e_6c89);
    for _ in 0..unless_miri(300, 1) {
        let key: [u8; 32] = random.bytes(32).try_into().expect("32 bytes");
        let mut sample: [u8; 16] = random.bytes(16).try_into().expect("16 bytes");
        if random.below(4) == 0 {
            sample[..4].fill(0xff); // counter of ChaCha20
        }
        for algorithm in [Algorithm::Aes128Gcm, Algorithm::Aes256Gcm, Algorithm::ChaCha20Poly1305] {
            let key = &key[..algorithm.key_len()];
            let mut block = Array(sample);
            match algorithm {
                Algorithm::Aes128Gcm => {
                    aes_gcm::aes::Aes128::new(key.try_into().expect("key")).encrypt_block(&mut block)
                }
                Algorithm::Aes256Gcm => {
                    aes_gcm::aes::Aes256::new(key.try_into().expect("key")).encrypt_block(&mut block)
                }
                _ => {
                    let portable = HeaderKey::with_level(algorithm, key, "portable").expect("portable");
                    block[..5].copy_from_slice(&portable.mask(&sample));
                }
            }
            for (level, _) in HeaderKey::levels(algorithm).filter(|(_, works)| *works) {
                let key = HeaderKey::with_level(algorithm, key, level).expect("key");
                assert_eq!(key.mask(&sample)[..], block[..5], "{:?} at {}", algorithm, level);
            }
            assert_eq!(HeaderKey::new(algorithm, key).expect("key").mask(&sample)[..], block[..5]);
        }
    }
    for algorithm in ALGORITHMS {
        let quic = matches!(algorithm, Algorithm::Aes128Gcm | Algorithm::Aes256Gcm | Algorithm::ChaCha20Poly1305);
        for bytes in 0..40 {
            let made = HeaderKey::new(algorithm, &vec![1; bytes]);
            assert_eq!(made.is_ok(), quic && bytes == algorithm.key_len());
            assert!(made.map_or_else(|why| why == Error::InvalidKey, |key| !format!("{:?}", key).contains("[1, 1")));
        }
        assert_eq!(HeaderKey::levels(algorithm).count() > 0, quic);
    }
    assert_eq!(HeaderKey::with_level(Algorithm::Aes128Gcm, &[1; 16], "mmx").err(), Some(Error::InvalidLevel));
}

/// The AES levels that work on this CPU.
fn aes_levels() -> Vec<&'static str> {
    HeaderKey::levels(Algorithm::Aes128Gcm).filter(|(_, works)| *works).map(|(level, _)| level).collect()
}

fn hex(text: &str) -> Vec<u8> {
    if text == "-" {
        return vec![];
    }
    (0..text.len() / 2).map(|i| u8::from_str_radix(&text[2 * i..2 * i + 2], 16).expect("hexadecimal")).collect()
}

/// AES-CCM and AES-CMAC block by block, with RustCrypto's AES (NIST SP 800-38B, SP 800-38C).
mod oracle {
    use aes_gcm::aead::KeyInit;
    use aes_gcm::aes::cipher::BlockCipherEncrypt;
    use aes_gcm::aes::{Aes128, Aes192, Aes256};

    pub fn encrypt(key: &[u8], block: [u8; 16]) -> [u8; 16] {
        let mut block = block.into();
        match key.len() {
            16 => Aes128::new_from_slice(key).expect("key").encrypt_block(&mut block),
            24 => Aes192::new_from_slice(key).expect("key").encrypt_block(&mut block),
            _ => Aes256::new_from_slice(key).expect("key").encrypt_block(&mut block),
        }
        block.into()
    }

    fn chain(key: &[u8], blocks: &[u8]) -> [u8; 16] {
        blocks.chunks(16).fold([0; 16], |mut last, block| {
            last.iter_mut().zip(block).for_each(|(sum, byte)| *sum ^= byte);
            encrypt(key, last)
        })
    }

    pub fn cmac(key: &[u8], text: &[u8]) -> [u8; 16] {
        let double = |block: u128| (block << 1) ^ if block >> 127 == 1 { 0x87 } else { 0 };
        let mut subkey = double(u128::from_be_bytes(encrypt(key, [0; 16])));
        let mut text = text.to_vec();
        if text.is_empty() || text.len() % 16 != 0 {
            subkey = double(subkey);
            text.push(0x80);
            text.resize(text.len().next_multiple_of(16), 0);
        }
        let last = text.len() - 16;
        text[last..].iter_mut().zip(subkey.to_be_bytes()).for_each(|(byte, add)| *byte ^= add);
        chain(key, &text)
    }

    pub fn ccm(key: &[u8], nonce: &[u8], ad: &[u8], text: &[u8], tag_len: usize) -> (Vec<u8>, Vec<u8>) {
        let length_len = 15 - nonce.len();
        let mut blocks = vec![((((tag_len - 2) / 2) << 3) | (length_len - 1)) as u8];
        blocks.extend(nonce);
        blocks.extend(&(text.len() as u64).to_be_bytes()[8 - length_len..]);
        if !ad.is_empty() {
            blocks[0] |= 0x40;
            if ad.len() < 0xff00 {
                blocks.extend((ad.len() as u16).to_be_bytes());
            } else {
                blocks.extend([0xff, 0xfe]);
                blocks.extend((ad.len() as u32).to_be_bytes());
            }
            blocks.extend(ad);
            blocks.resize(blocks.len().next_multiple_of(16), 0);
        }
        blocks.extend(text);
        blocks.resize(blocks.len().next_multiple_of(16), 0);
        let stream = |number: usize| {
            let mut block = [0; 16];
            block[8..].copy_from_slice(&(number as u64).to_be_bytes());
            block[0] = (length_len - 1) as u8;
            block[1..1 + nonce.len()].copy_from_slice(nonce);
            encrypt(key, block)
        };
        let tag = chain(key, &blocks).iter().zip(stream(0)).map(|(a, b)| a ^ b).take(tag_len).collect();
        (text.iter().enumerate().map(|(i, byte)| byte ^ stream(1 + i / 16)[i % 16]).collect(), tag)
    }
}

#[test]
fn cmac_of_all_lengths() {
    let mut random = Random(0x4528_21e6_38d0_1377);
    for level in aes_levels() {
        for n in 0..unless_miri(600, 40) {
            let (key, text) = (random.bytes(16 + 8 * (n % 3)), random.bytes(n));
            let made = CmacKey::with_level(&key, level).expect("key");
            let mut want = oracle::cmac(&key, &text);
            want[15] ^= u8::from(planted("cmac"));
            let begun = || {
                let mut mac = made.begin();
                let mut rest = &text[..];
                let mut random = Random(n as u64 + 1);
                while !rest.is_empty() {
                    let (piece, behind) = rest.split_at(random.below(40).min(rest.len()));
                    mac.update(piece);
                    rest = behind;
                }
                mac
            };
            assert_eq!(begun().finish(), want, "{} bytes at {}", n, level);
            for short in 0..=17 {
                let mut mac = [want, [0; 16]].concat();
                let outcome = begun().verify(&mac[..short]);
                assert_eq!(outcome, if (4..=16).contains(&short) { Ok(()) } else { Err(Error::InvalidTag) });
                mac[random.below(16)] ^= 1 << random.below(8);
                if short == 16 {
                    assert_eq!(begun().verify(&mac[..16]), Err(Error::NotAuthentic));
                }
            }
        }
    }
}

#[test]
fn ccm_of_all_lengths() {
    let mut random = Random(0xbe54_66cf_34e9_0c6c);
    for level in aes_levels() {
        for n in 0..unless_miri(400, 40) {
            let (key, nonce_len) = (random.bytes(16 + 8 * (n % 3)), 7 + random.below(7));
            let (nonce, mut text) = (random.bytes(nonce_len), random.bytes(n));
            let tag_len = 4 + 2 * random.below(7);
            let mut ad = random.bytes(n % 40);
            if n % 100 == 50 {
                ad = random.bytes(0xff00 - 2 + n / 100);
                text = random.bytes(3000 + n);
            }
            let made = CcmKey::with_level(&key, tag_len, level).expect("key");
            let (sealed, mut want) = oracle::ccm(&key, &nonce, &ad, &text, tag_len);
            want[0] ^= u8::from(planted("ccm"));
            let (mut out, mut tag) = (vec![0xa5; text.len()], vec![0xa5; tag_len]);
            made.seal(&nonce, &ad, &text, &mut out, &mut tag).expect("sealed");
            assert!(out == sealed && tag == want, "{} bytes at {}", n, level);
            let mut place = text.clone();
            made.seal_in_place(&nonce, &ad, &mut place, &mut tag).expect("sealed");
            assert!(place == sealed && tag == want, "{} bytes in place at {}", n, level);
            made.open(&nonce, &ad, &sealed, &mut out, &tag).expect("opened");
            made.open_in_place(&nonce, &ad, &mut place, &tag).expect("opened");
            assert!(out == text && place == text, "{} bytes at {}", n, level);
            for part in 0..4 {
                let mut forged = [nonce.clone(), ad.clone(), sealed.clone(), tag.clone()];
                if forged[part].is_empty() {
                    continue;
                }
                let bit = random.below(8 * forged[part].len());
                forged[part][bit / 8] ^= 1 << (bit % 8);
                let [nonce, ad, sealed, tag] = &mut forged;
                let came = sealed.clone();
                out.fill(0xa5);
                assert_eq!(made.open(nonce, ad, sealed, &mut out, tag), Err(Error::NotAuthentic));
                assert_eq!(made.open_in_place(nonce, ad, sealed, tag), Err(Error::NotAuthentic));
                assert!(out.iter().all(|byte| *byte == 0), "{} bytes at {}", n, level);
                assert!(*sealed == came, "{} bytes in place at {}", n, level);
            }
        }
    }
}

/// AES-GCM-SIV (RFC 8452, sections 3 and 4) bit by bit.
fn gcm_siv_by_definition(key: &[u8], nonce: &[u8], ad: &[u8], text: &[u8]) -> (Vec<u8>, [u8; 16]) {
    let mut keys = vec![];
    for i in 0..2 + key.len() / 8 {
        let mut block = [0; 16];
        block[0] = i as u8;
        block[4..].copy_from_slice(nonce);
        keys.extend(&oracle::encrypt(key, block)[..8]);
    }
    let number = |bytes: &[u8]| {
        let mut block = [0; 16];
        block[..bytes.len()].copy_from_slice(bytes);
        u128::from_le_bytes(block)
    };
    let h = number(&keys[..16]);
    let lengths = (8 * ad.len() as u128) | ((8 * text.len() as u128) << 64);
    let blocks = ad.chunks(16).chain(text.chunks(16)).map(number).chain(Some(lengths));
    let sum = blocks.fold(0, |sum: u128, block| {
        // sum * h * x^-128; x^-1 is x^127 + x^126 + x^125 + x^120.
        let (mut v, mut product) = (sum ^ block, 0);
        for bit in (0..128).rev() {
            v = (v >> 1) ^ if v & 1 == 1 { 0xe1 << 120 } else { 0 };
            product ^= if h >> bit & 1 == 1 { v } else { 0 };
        }
        product
    });
    let masked = (sum ^ number(nonce)) & (u128::MAX >> 1);
    let tag = oracle::encrypt(&keys[16..], masked.to_le_bytes());
    let mut counter = tag;
    counter[15] |= 0x80;
    let mut out = text.to_vec();
    for part in out.chunks_mut(16) {
        let stream = oracle::encrypt(&keys[16..], counter);
        part.iter_mut().zip(stream).for_each(|(byte, add)| *byte ^= add);
        let next = u32::from_le_bytes([counter[0], counter[1], counter[2], counter[3]]).wrapping_add(1);
        counter[..4].copy_from_slice(&next.to_le_bytes());
    }
    (out, tag)
}

#[test]
fn gcm_siv_of_all_lengths() {
    let mut random = Random(0xc0ac_29b7_c97c_50dd);
    for (level, _) in levels(Algorithm::Aes256Gcm).filter(|(_, works)| *works).collect::<Vec<_>>() {
        for n in 0..unless_miri(300, 20) {
            let (key, nonce) = (random.bytes(16 + 16 * (n % 2)), random.bytes(12));
            let long = if n % 50 == 7 { random.below(6000) } else { 0 };
            let (ad, text) = (random.bytes(n % 40 + long), random.bytes(n + long));
            let made = GcmSivKey::with_level(&key, level).expect("key");
            let (sealed, mut want) = gcm_siv_by_definition(&key, &nonce, &ad, &text);
            want[0] ^= u8::from(planted("siv"));
            let mut out = vec![0xa5; text.len()];
            assert_eq!(made.seal(&nonce, &ad, &text, &mut out), Ok(want), "{} bytes at {}", text.len(), level);
            assert!(out == sealed, "{} bytes at {}", text.len(), level);
            let mut place = text.clone();
            assert_eq!(made.seal_in_place(&nonce, &ad, &mut place), Ok(want));
            assert!(place == sealed, "{} bytes in place at {}", text.len(), level);
            made.open(&nonce, &ad, &sealed, &mut out, &want).expect("opened");
            made.open_in_place(&nonce, &ad, &mut place, &want).expect("opened");
            assert!(out == text && place == text, "{} bytes at {}", text.len(), level);
            for part in 0..4 {
                let mut forged = [nonce.clone(), ad.clone(), sealed.clone(), want.to_vec()];
                if forged[part].is_empty() {
                    continue;
                }
                let bit = random.below(8 * forged[part].len());
                forged[part][bit / 8] ^= 1 << (bit % 8);
                let [nonce, ad, sealed, tag] = &mut forged;
                let tag = <[u8; 16]>::try_from(&tag[..]).expect("16 bytes");
                let came = sealed.clone();
                out.fill(0xa5);
                assert_eq!(made.open(nonce, ad, sealed, &mut out, &tag), Err(Error::NotAuthentic));
                assert_eq!(made.open_in_place(nonce, ad, sealed, &tag), Err(Error::NotAuthentic));
                assert!(out.iter().all(|byte| *byte == 0), "{} bytes at {}", text.len(), level);
                assert!(*sealed == came, "{} bytes in place at {}", text.len(), level);
            }
        }
    }
    for n in 0..40 {
        let made = GcmSivKey::new(&vec![0x77; n]);
        assert_eq!(made.err(), if n == 16 || n == 32 { None } else { Some(Error::InvalidKey) });
    }
    let key = GcmSivKey::new(&[0x77; 16]).expect("key");
    let mut text = [1; 9];
    assert_eq!(key.seal_in_place(&[1; 11], b"", &mut text), Err(Error::InvalidNonce));
    assert_eq!(text, [1; 9]);
    assert_eq!(key.open(&[1; 12], b"", &[1; 8], &mut [1; 9], &[0; 16]), Err(Error::LengthMismatch));
    assert_eq!(GcmSivKey::with_level(&[1; 16], "mmx").err(), Some(Error::InvalidLevel));
    assert!(!format!("{:?}", key).contains("119"));
}

/// SSH packets. The keystream is compared with RustCrypto's ChaCha20-Poly1305, which also starts at block 1. The tag is
/// compared with the portable level, which uses RustCrypto's Poly1305.
#[test]
fn ssh_packets() {
    let mut random = Random(0x3f84_d5b5_b547_0917);
    for n in 4..unless_miri(400, 40) {
        let (key, packet, sequence) = (random.bytes(64), random.bytes(n), random.next() as u32);
        let mut nonce = [0; 12];
        nonce[8..].copy_from_slice(&sequence.to_be_bytes());
        let (text, _) = peer(Algorithm::ChaCha20Poly1305, &key[..32], &nonce, b"", &packet[4..]);
        let portable = SshKey::with_level(&key, "portable").expect("key");
        let mut sealed = packet.clone();
        let mut want = portable.seal_in_place(sequence, &mut sealed).expect("sealed");
        want[0] ^= u8::from(planted("ssh"));
        assert!(sealed[4..] == text, "{} bytes", n);
        for (level, _) in levels(Algorithm::ChaCha20Poly1305).filter(|(_, works)| *works).collect::<Vec<_>>() {
            let key = SshKey::with_level(&key, level).expect("key");
            let mut place = packet.clone();
            assert_eq!(key.seal_in_place(sequence, &mut place), Ok(want), "{} bytes at {}", n, level);
            assert!(place == sealed, "{} bytes at {}", n, level);
            let length = u32::from_be_bytes([packet[0], packet[1], packet[2], packet[3]]);
            assert_eq!(key.length(sequence, &place[..4]), Ok(length));
            key.open_in_place(sequence, &mut place, &want).expect("opened");
            assert!(place == packet, "{} bytes at {}", n, level);
            let mut forged = sealed.clone();
            forged[random.below(n)] ^= 1 << random.below(8);
            for (mut packet, sequence) in [(forged, sequence), (sealed.clone(), sequence.wrapping_add(1))] {
                let came = packet.clone();
                assert_eq!(key.open_in_place(sequence, &mut packet, &want), Err(Error::NotAuthentic));
                assert!(packet == came);
            }
        }
    }
    for n in 0..70 {
        assert_eq!(SshKey::new(&vec![0x77; n]).err(), if n == 64 { None } else { Some(Error::InvalidKey) });
    }
    let key = SshKey::new(&[0x77; 64]).expect("key");
    let mut short = [1; 3];
    assert_eq!(key.seal_in_place(1, &mut short), Err(Error::LengthMismatch));
    assert_eq!(short, [1; 3]);
    assert_eq!(key.open_in_place(1, &mut short, &[0; 16]), Err(Error::LengthMismatch));
    assert_eq!(key.length(1, &[0; 5]), Err(Error::LengthMismatch));
    assert!(!format!("{:?}", key).contains("119"));
}

/// ChaCha20 with a 64-bit counter, compared with RustCrypto's; most texts cross a carry into the counter's upper half.
/// Also the first 64 bytes of the last vector of draft-agl-tls-chacha20poly1305-04, section 7.
#[test]
fn chacha20_of() {
    use chacha20::cipher::{KeyIvInit, StreamCipher, StreamCipherSeek};
    let mut random = Random(0x9216_d5d9_8979_fb1b);
    for n in 0..unless_miri(700, 140) {
        let (key, nonce, text) = (random.bytes(32), random.bytes(8), random.bytes(n));
        let lower = if n % 4 == 0 { random.next() as u32 } else { u32::MAX - random.below(n / 64 + 1) as u32 };
        let counter = random.next() << 33 >> 1 | u64::from(lower);
        let mut want = text.clone();
        let mut peer = chacha20::ChaCha20Legacy::new_from_slices(&key, &nonce).expect("lengths");
        peer.seek(64 * u128::from(counter));
        peer.apply_keystream(&mut want);
        if planted("chacha20") && n == 200 {
            want[150] ^= 1;
        }
        let nonce = nonce.try_into().expect("8 bytes");
        for (level, _) in levels(Algorithm::ChaCha20Poly1305).filter(|(_, works)| *works).collect::<Vec<_>>() {
            let key = ChaCha20Key::with_level(&key, level).expect("key");
            let (mut whole, mut pieces) = (text.clone(), text.clone());
            key.apply(&nonce, counter, &mut whole).expect("within the counter");
            assert!(whole == want, "{} bytes at {}", n, level);
            let cut = 64 * random.below(n / 64 + 1);
            key.apply(&nonce, counter, &mut pieces[..cut]).expect("within the counter");
            key.apply(&nonce, counter + cut as u64 / 64, &mut pieces[cut..]).expect("within the counter");
            assert!(pieces == want, "{} bytes at {}", n, level);
        }
    }
    for n in 0..40 {
        assert_eq!(ChaCha20Key::new(&vec![0x77; n]).err(), if n == 32 { None } else { Some(Error::InvalidKey) });
    }
    let counting: Vec<u8> = (0..32).collect();
    let mut stream = [0; 64];
    ChaCha20Key::new(&counting).expect("key").apply(&[0, 1, 2, 3, 4, 5, 6, 7], 0, &mut stream).expect("short");
    let hex: String = stream.iter().map(|b| format!("{:02x}", b)).collect();
    assert_eq!(
        hex,
        "f798a189f195e66982105ffb640bb7757f579da31602fc93ec01ac56f85ac3c1\
         34a4547b733b46413042c9440049176905d3be59ea1c53f15916155c2be8241a"
    );
    let key = ChaCha20Key::new(&[0x77; 32]).expect("key");
    let mut text = [1; 65];
    assert_eq!(key.apply(&[1; 8], u64::MAX - 1, &mut text), Err(Error::TooLong));
    assert_eq!(text, [1; 65]);
    assert_eq!(key.apply(&[1; 8], u64::MAX - 1, &mut text[..64]), Ok(()));
    assert_eq!(key.apply(&[1; 8], u64::MAX, &mut []), Ok(()));
    assert_eq!(ChaCha20Key::with_level(&[1; 32], "mmx").err(), Some(Error::InvalidLevel));
    assert!(!format!("{:?}", key).contains("119"));
}

#[test]
fn wrong_ccm_and_cmac() {
    for n in 0..40 {
        let good = n == 16 || n == 24 || n == 32;
        assert_eq!(CmacKey::new(&vec![0x77; n]).err(), if good { None } else { Some(Error::InvalidKey) });
        for tag_len in 0..20 {
            let want = match (good, (4..=16).contains(&tag_len) && tag_len % 2 == 0) {
                (false, _) => Some(Error::InvalidKey),
                (true, false) => Some(Error::InvalidTag),
                (true, true) => None,
            };
            assert_eq!(CcmKey::new(&vec![0x77; n], tag_len).err(), want);
        }
    }
    assert_eq!(CcmKey::with_level(&[1; 16], 16, "mmx").err(), Some(Error::InvalidLevel));
    let key = CcmKey::new(&[0x77; 16], 8).expect("key");
    let refused = |nonce: &[u8], bytes: usize, tag_len: usize, why: Error| {
        let (mut text, mut tag) = (vec![1; bytes], vec![1; tag_len]);
        assert_eq!(key.seal_in_place(nonce, b"", &mut text, &mut tag), Err(why));
        assert!(text.iter().chain(&tag).all(|byte| *byte == 1));
        let mut text = vec![1; bytes];
        assert_eq!(key.open_in_place(nonce, b"", &mut text, &tag), Err(why));
        assert!(text.iter().all(|byte| *byte == 1));
    };
    refused(&[1; 6], 9, 8, Error::InvalidNonce);
    refused(&[1; 14], 9, 8, Error::InvalidNonce);
    refused(&[1; 13], 1 << 16, 8, Error::TooLong);
    refused(&[1; 12], 9, 7, Error::InvalidTag);
    refused(&[1; 12], 9, 16, Error::InvalidTag);
    let (mut out, mut tag) = ([1; 9], [1; 8]);
    assert_eq!(key.seal(&[1; 12], b"", &[1; 8], &mut out, &mut tag), Err(Error::LengthMismatch));
    assert!(out.iter().chain(&tag).all(|byte| *byte == 1));
    assert_eq!(key.open(&[1; 12], b"", &[1; 8], &mut [1; 9], &tag), Err(Error::LengthMismatch));
    let mac = CmacKey::new(&[0x77; 16]).expect("key");
    let shown = format!("{:?} {:?} {:?}", key, mac, mac.begin());
    assert!(!shown.contains("119") && shown.contains("tag_len: 8"), "{}", shown);
}

/// A packet of a CCM batch, and the results of a single call.
struct CcmCase {
    key: CcmKey,
    nonce: Vec<u8>,
    ad: Vec<u8>,
    text: Vec<u8>,
    sealed: Vec<u8>,
    tag: Vec<u8>,
}

impl CcmCase {
    fn new(random: &mut Random, level: &str, key: &[u8], n: usize) -> CcmCase {
        let (nonce_len, tag_len, ad_len) = (7 + random.below(7), 4 + 2 * random.below(7), random.below(70));
        let key = CcmKey::with_level(key, tag_len, level).expect("key");
        let (nonce, ad, text) = (random.bytes(nonce_len), random.bytes(ad_len), random.bytes(n));
        let (mut sealed, mut tag) = (vec![0; n], vec![0; tag_len]);
        key.seal(&nonce, &ad, &text, &mut sealed, &mut tag).expect("sealed");
        CcmCase { key, nonce, ad, text, sealed, tag }
    }
}

/// Lengths of 0 to 200 bytes and some longer ones, in mixed order, with keys of one length or of all.
fn batch_lengths(random: &mut Random, packets: usize) -> Vec<usize> {
    (0..packets).map(|i| if i % 9 == 4 { 500 + random.below(1500) } else { random.below(201) }).collect()
}

#[test]
fn batches_of_ccm() {
    let mut random = Random(0x2ffd_72db_d01a_dfb7);
    for level in aes_levels() {
        for round in 0..unless_miri(60, 4) {
            let mut cases = vec![];
            let packets = if round == 0 { 0 } else { 1 + random.below(30) };
            for n in batch_lengths(&mut random, packets) {
                let key_len = if round % 2 == 0 { 16 + 8 * (round % 3) } else { 16 + 8 * random.below(3) };
                let key = random.bytes(key_len);
                cases.push(CcmCase::new(&mut random, level, &key, n));
            }
            let mut outs: Vec<_> = cases.iter().map(|case| vec![0xa5; case.text.len()]).collect();
            let mut places: Vec<_> = cases.iter().map(|case| case.text.clone()).collect();
            let texts = outs.iter_mut().zip(places.iter_mut()).zip(&cases).enumerate();
            let texts = texts.map(|(i, ((out, place), case))| match i % 2 {
                0 => Text::apart(&case.text, out).expect("text"),
                _ => Text::in_place(place),
            });
            let packet = |(text, case): (_, _)| {
                let CcmCase { key, nonce, ad, .. }: &CcmCase = case;
                CcmPacket::to_seal(key, nonce, ad, text)
            };
            let mut sealing: Vec<_> = texts.zip(&cases).map(packet).collect();
            assert_eq!(ccm_seal_batch(&mut sealing), packets);
            for (packet, case) in sealing.iter().zip(&cases) {
                assert!(packet.result().is_ok() && packet.tag() == case.tag, "{}", level);
            }
            drop(sealing);
            for (i, case) in cases.iter().enumerate() {
                let same = if i % 2 == 0 { &outs[i] } else { &places[i] } == &case.sealed;
                assert!(same && !(planted("ccm-batch") && round == 9), "{} bytes at {}", case.text.len(), level);
            }
            // One packet is forged, in one of its parts.
            let (forged, part) = (random.below(packets + 1), random.below(4));
            if let Some(case) = cases.get_mut(forged) {
                let CcmCase { nonce, ad, sealed, tag, .. } = case;
                let parts = [nonce, ad, sealed, tag];
                let part = if parts[part].is_empty() { 3 } else { part };
                let bit = random.below(8 * parts[part].len());
                parts.into_iter().nth(part).expect("part")[bit / 8] ^= 1 << (bit % 8);
            }
            for in_place in [false, true] {
                outs.iter_mut().for_each(|out| out.fill(0xa5));
                places = cases.iter().map(|case| case.sealed.clone()).collect();
                let texts = outs.iter_mut().zip(places.iter_mut()).zip(&cases);
                let packets_to_open = texts.map(|((out, place), case)| {
                    let CcmCase { key, nonce, ad, sealed, tag, .. } = case;
                    let text = if in_place { Text::in_place(place) } else { Text::apart(sealed, out).expect("text") };
                    CcmPacket::to_open(key, nonce, ad, text, tag)
                });
                let mut opening: Vec<_> = packets_to_open.collect();
                assert!(opening.iter().all(|packet| packet.result() == Err(Error::NotAuthentic)));
                assert_eq!(ccm_open_batch(&mut opening), packets - usize::from(forged < packets));
                let results: Vec<_> = opening.iter().map(|packet| packet.result()).collect();
                drop(opening);
                for (i, case) in cases.iter().enumerate() {
                    let zeroes = vec![0; case.text.len()];
                    let (result, left) = match (i == forged, in_place) {
                        (false, _) => (Ok(()), &case.text),
                        (true, false) => (Err(Error::NotAuthentic), &zeroes),
                        (true, true) => (Err(Error::NotAuthentic), &case.sealed),
                    };
                    assert_eq!(results[i], result);
                    assert!(if in_place { &places[i] } else { &outs[i] } == left, "packet {} at {}", i, level);
                }
            }
        }
    }
}

#[test]
fn batches_of_cmac() {
    let mut random = Random(0xb8e1_afed_6a26_7e96);
    for level in aes_levels() {
        for round in 0..unless_miri(60, 4) {
            let packets = if round == 0 { 0 } else { 1 + random.below(30) };
            let lengths = batch_lengths(&mut random, packets);
            let mut parts = vec![];
            for n in lengths {
                let key_len = if round % 2 == 0 { 16 + 8 * (round % 3) } else { 16 + 8 * random.below(3) };
                parts.push((CmacKey::with_level(&random.bytes(key_len), level).expect("key"), random.bytes(n)));
            }
            let mut texts: Vec<_> = parts.iter().map(|(key, text)| CmacText::new(key, text)).collect();
            assert!(texts.iter().all(|text| text.mac().is_none() && text.verify(&[0; 16]) == Err(Error::NotAuthentic)));
            cmac_batch(&mut texts);
            for (made, (key, text)) in texts.iter().zip(&parts) {
                let mut mac = key.begin();
                mac.update(text);
                let mut want = mac.finish();
                assert_eq!(made.mac(), Some(&want), "{} bytes at {}", text.len(), level);
                for short in 0..=17 {
                    let outcome = made.verify(&[want, [0; 16]].concat()[..short]);
                    assert_eq!(outcome, if (4..=16).contains(&short) { Ok(()) } else { Err(Error::InvalidTag) });
                }
                want[random.below(16)] ^= 1 << random.below(8);
                assert!(made.verify(&want) == Err(Error::NotAuthentic) && !(planted("cmac-batch") && round == 9));
            }
        }
    }
}

#[test]
fn mistakes_in_a_batch_of_ccm_change_nothing() {
    let key = CcmKey::new(&[0x77; 16], 8).expect("key");
    let mut texts = [vec![1; 9], vec![1; 9], vec![1; 1 << 16], vec![1; 9]];
    let nonces = [&[1; 13][..], &[1; 14], &[1; 13], &[1; 6]];
    let packets = texts.iter_mut().zip(nonces);
    let mut packets: Vec<_> =
        packets.map(|(text, nonce)| CcmPacket::to_seal(&key, nonce, b"", Text::in_place(text))).collect();
    for _ in 0..2 {
        assert_eq!(ccm_seal_batch(&mut packets), 1);
        let results: Vec<_> = packets.iter().map(|packet| packet.result()).collect();
        let wrong = Err(Error::InvalidNonce);
        assert_eq!(results, [Ok(()), wrong, Err(Error::TooLong), wrong]);
        assert!(packets[0].tag() != [0; 8] && packets[1..].iter().all(|packet| packet.tag() == [0; 8]));
    }
    drop(packets);
    assert!(texts[1..].iter().flatten().all(|byte| *byte == 1));
    for tag_len in [0, 7, 16, 17, 40] {
        let mut text = [1; 9];
        let tag = vec![1; tag_len];
        let mut packets = [CcmPacket::to_open(&key, &[1; 13], b"", Text::in_place(&mut text), &tag)];
        assert_eq!(ccm_open_batch(&mut packets), 0);
        assert_eq!(packets[0].result(), Err(Error::InvalidTag));
        assert_eq!(packets[0].tag(), &tag[..tag_len.min(16)]);
        assert_eq!(text, [1; 9]);
    }
}

/// Kernel code is not instrumented, so AddressSanitizer checks the slices around its calls.
#[test]
fn memory_is_there() {
    if planted("memory") {
        let text = vec![7_u8; 40];
        let gone = text.as_ptr();
        drop(text);
        // SAFETY: none; this is the planted fault.
        let byte = unsafe { std::ptr::read_volatile(gone) };
        println!("{}", byte);
    }
}

#[test]
fn keys_go_between_threads_and_show_nothing() {
    fn sendable<T: Send + Sync + Clone>(_: &T) {}
    let key = Key::new(Algorithm::Aes256Gcm, &[0x77; 32]).expect("key");
    sendable(&key);
    let shown = format!("{:?} {:?}", key, Text::in_place(&mut [0x77; 8]));
    assert!(!shown.contains("119") && shown.contains("Aes256Gcm"), "{}", shown);
}
