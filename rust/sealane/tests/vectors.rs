//! Vectors of RFC 8439, the GCM specification, NIST and Wycheproof, at every level that works on this CPU. They are in
//! build/vectors.txt of the repository, or in the file that `SEALANE_VECTORS` names, with aeads.txt beside it. The
//! packed crate has none.

use std::collections::BTreeMap;

use sealane::{levels, Algorithm, CcmKey, CmacKey, Error, GcmSivKey, HeaderKey, Key};

/// Whether the fault with that name is planted in this run.
fn planted(name: &str) -> bool {
    std::env::var_os("SEALANE_PLANT").is_some_and(|plant| plant == name)
}

/// Returns `None` if the file has not been made and `SEALANE_VECTORS` is not set.
fn file(name: &str) -> Option<String> {
    let said = std::env::var("SEALANE_VECTORS");
    let path = said.as_deref().unwrap_or(concat!(env!("CARGO_MANIFEST_DIR"), "/../../build/vectors.txt"));
    let path = std::path::Path::new(path).with_file_name(name);
    match std::fs::read_to_string(&path) {
        Ok(text) => Some(text),
        Err(why) if said.is_ok() => panic!("{}: {why}", path.display()),
        Err(_) => {
            println!("not run: make build/{name} makes the vectors");
            None
        }
    }
}

fn hex(text: &str) -> Vec<u8> {
    if text == "-" {
        return vec![];
    }
    (0..text.len() / 2).map(|i| u8::from_str_radix(&text[2 * i..2 * i + 2], 16).expect("hexadecimal")).collect()
}

#[test]
#[cfg_attr(miri, ignore)] // 10000 cases
fn vectors() {
    let Some(file) = file("vectors.txt") else { return };
    let mut counts = BTreeMap::new();
    for (number, line) in file.lines().enumerate() {
        let fields: Vec<&str> = line.split(' ').collect();
        let [name, _, key, nonce, ad, text, sealed, tag, verdict]: [&str; 9] = fields.try_into().expect("nine fields");
        let (key, nonce, ad, text) = (hex(key), hex(nonce), hex(ad), hex(text));
        let (sealed, tag) = (hex(sealed), hex(tag));
        let valid = (verdict == "valid") != (planted("vector") && number == 0);
        let algorithm = match (name, key.len()) {
            ("CHACHA20-POLY1305", _) => Algorithm::ChaCha20Poly1305,
            ("XCHACHA20-POLY1305", _) => Algorithm::XChaCha20Poly1305,
            ("AES-GCM", 16) => Algorithm::Aes128Gcm,
            ("AES-GCM", 24) => Algorithm::Aes192Gcm,
            ("AES-GCM", _) => Algorithm::Aes256Gcm,
            ("AES-ECB", _) | ("AES-CBC", _) | ("AES-XTS", _) => continue, // not in this crate
            _ => panic!("{}: no such algorithm", name),
        };
        let mut count = |what: &'static str| *counts.entry(what).or_insert(0) += 1;
        for (level, works) in levels(algorithm).collect::<Vec<_>>() {
            if !works {
                continue;
            }
            let made = match Key::with_level(algorithm, &key, level) {
                Ok(made) => made,
                Err(why) => {
                    assert!(!valid && why == Error::InvalidKey, "{}: {:?}", line, why);
                    count("keys of another length, refused");
                    continue;
                }
            };
            let mut out = vec![0xa5; sealed.len()];
            let gcm = !matches!(algorithm, Algorithm::ChaCha20Poly1305 | Algorithm::XChaCha20Poly1305);
            if nonce.is_empty() || !gcm && nonce.len() != algorithm.nonce_len() {
                assert!(!valid, "{}", line);
                assert_eq!(made.open(&nonce, &ad, &sealed, &mut out, &[0; 16]), Err(Error::InvalidNonce));
                count("nonces of another length, refused");
                continue;
            }
            if let Ok(tag) = <[u8; 16]>::try_from(&tag[..]) {
                let result = made.open(&nonce, &ad, &sealed, &mut out, &tag);
                assert_eq!(result.is_ok(), valid, "{} at {}", line, level);
                assert!(if valid { out == text } else { out.iter().all(|byte| *byte == 0) }, "{} at {}", line, level);
                count("opened, or refused as they should be");
            }
            if valid {
                let made = made.seal(&nonce, &ad, &text, &mut out).expect("sealed");
                assert!(out == sealed && made[..tag.len()] == tag[..], "{} at {}", line, level);
                count("sealed");
            }
        }
    }
    println!("{:?}", counts);
    assert!(counts["sealed"] > 1000);
}

#[test]
#[cfg_attr(miri, ignore)]
fn vectors_of_ccm_and_cmac() {
    let Some(file) = file("aeads.txt") else { return };
    let aes_levels: Vec<_> =
        HeaderKey::levels(Algorithm::Aes128Gcm).filter(|(_, works)| *works).map(|(level, _)| level).collect();
    let mut counts = [0; 3];
    for (number, line) in file.lines().enumerate() {
        let fields: Vec<&str> = line.split(' ').collect();
        let [name, _, key, nonce, ad, text, sealed, tag, verdict]: [&str; 9] = fields.try_into().expect("nine fields");
        let (key, nonce, ad, text) = (hex(key), hex(nonce), hex(ad), hex(text));
        let (sealed, tag) = (hex(sealed), hex(tag));
        let valid = (verdict == "valid") != (planted("aead-vector") && number == 0);
        if name == "AES-GCM-SIV" {
            for (level, _) in levels(Algorithm::Aes256Gcm).filter(|(_, works)| *works).collect::<Vec<_>>() {
                let key = GcmSivKey::with_level(&key, level).expect("key");
                let tag = <[u8; 16]>::try_from(&tag[..]).expect("16 bytes");
                let mut out = vec![0xa5; sealed.len()];
                assert_eq!(key.open(&nonce, &ad, &sealed, &mut out, &tag).is_ok(), valid, "{} at {}", line, level);
                if valid {
                    assert!(out == text, "{} at {}", line, level);
                    assert_eq!(key.seal(&nonce, &ad, &text, &mut out), Ok(tag), "{} at {}", line, level);
                    assert!(out == sealed, "{} at {}", line, level);
                }
                counts[2] += 1;
            }
            continue;
        }
        for level in aes_levels.iter().copied() {
            if name == "AES-CMAC" {
                let verified = CmacKey::with_level(&key, level).and_then(|key| {
                    let mut mac = key.begin();
                    mac.update(&text);
                    mac.verify(&tag)
                });
                assert_eq!(verified.is_ok(), valid, "{} at {}", line, level);
                counts[1] += 1;
                continue;
            }
            assert_eq!(name, "AES-CCM");
            let mut out = vec![0xa5; sealed.len()];
            let made = CcmKey::with_level(&key, tag.len(), level);
            let opened =
                made.as_ref().map_or_else(|why| Err(*why), |key| key.open(&nonce, &ad, &sealed, &mut out, &tag));
            assert_eq!(opened.is_ok(), valid, "{} at {}", line, level);
            if let (Ok(key), true) = (made, valid) {
                assert!(out == text, "{} at {}", line, level);
                let mut made = vec![0xa5; tag.len()];
                key.seal(&nonce, &ad, &text, &mut out, &mut made).expect("sealed");
                assert!(out == sealed && made == tag, "{} at {}", line, level);
            }
            counts[0] += 1;
        }
    }
    let gcm_levels = levels(Algorithm::Aes256Gcm).filter(|(_, works)| *works).count();
    assert_eq!(counts, [552 * aes_levels.len(), 311 * aes_levels.len(), 202 * gcm_levels]);
}
