//! RFC 8439, the GCM specification, NIST and Wycheproof, at every level that works on this CPU. The vectors are
//! build/vectors.txt of the repository, or the file that `SEALANE_VECTORS` names; the packed crate has none.

use std::collections::BTreeMap;

use sealane::{levels, Algorithm, Error, Key};

#[test]
#[cfg_attr(miri, ignore)] // 10000 of them
fn vectors() {
    let path = std::env::var("SEALANE_VECTORS")
        .unwrap_or_else(|_| concat!(env!("CARGO_MANIFEST_DIR"), "/../../build/vectors.txt").into());
    let file = std::fs::read_to_string(&path)
        .unwrap_or_else(|why| panic!("{}: {}; make build/vectors.txt makes it", path, why));
    let hex = |text: &str| -> Vec<u8> {
        if text == "-" {
            return vec![];
        }
        (0..text.len() / 2).map(|i| u8::from_str_radix(&text[2 * i..2 * i + 2], 16).expect("hexadecimal")).collect()
    };
    let mut counts = BTreeMap::new();
    for (number, line) in file.lines().enumerate() {
        let fields: Vec<&str> = line.split(' ').collect();
        let [name, _, key, nonce, ad, text, sealed, tag, verdict]: [&str; 9] = fields.try_into().expect("nine fields");
        let (key, nonce, ad, text) = (hex(key), hex(nonce), hex(ad), hex(text));
        let (sealed, tag) = (hex(sealed), hex(tag));
        let valid = (verdict == "valid")
            != (std::env::var_os("SEALANE_PLANT").is_some_and(|plant| plant == "vector") && number == 0);
        let algorithm = match (name, key.len()) {
            ("CHACHA20-POLY1305", _) => Algorithm::ChaCha20Poly1305,
            ("XCHACHA20-POLY1305", _) => Algorithm::XChaCha20Poly1305,
            ("AES-GCM", 16) => Algorithm::Aes128Gcm,
            ("AES-GCM", 24) => Algorithm::Aes192Gcm,
            ("AES-GCM", _) => Algorithm::Aes256Gcm,
            ("AES-ECB", _) | ("AES-CBC", _) | ("AES-XTS", _) => continue, // which this crate has not
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
