//! Compares the crate with ring, aws-lc-rs, RustCrypto's crates, graviola, OpenSSL and the C library.
//! It measures seal and open in place, with one key and a new nonce per packet. Candidates alternate in one process,
//! and the minimum time of many short runs counts.
//!
//!     sealane-bench [--turns N] [--fault CANDIDATE]
//!
//! Prints nanoseconds per packet for sealane, and the ratio of each peer's time. Before the measurement, all candidates
//! must agree. With --fault, one of them makes a wrong byte, which must be found. With --alg it measures for `make
//! bench`, as described in rows.rs.

#[cfg(native)]
mod native;
mod peers;
mod rows;

use std::hint::black_box;
use std::time::Instant;

use aes_gcm::aead::generic_array::GenericArray;
use aes_gcm::aead::{AeadInPlace, KeyInit};
use rows::{Session, TAG};
use sealane::{Algorithm, Key};

const SIZES: [usize; 8] = [64, 256, 576, 1024, 1420, 4096, 8192, 16384];
const RUN_NS: u64 = 30_000;

/// How many keys each candidate has, at different addresses. A store to the stack and a load from a key wait for each
/// other if their addresses agree in the low 12 bits, which is chance. The addresses of texts vary too.
const PLACES: usize = 16;

struct Sealane(Key);

macro_rules! ring_like {
    ($name:ident, $library:ident) => {
        struct $name($library::aead::LessSafeKey);

        impl $name {
            fn new(algorithm: Algorithm, key: &[u8]) -> Self {
                let algorithm = match algorithm {
                    Algorithm::ChaCha20Poly1305 => &$library::aead::CHACHA20_POLY1305,
                    Algorithm::Aes128Gcm => &$library::aead::AES_128_GCM,
                    _ => &$library::aead::AES_256_GCM,
                };
                let key = $library::aead::UnboundKey::new(algorithm, key).expect("key");
                $name($library::aead::LessSafeKey::new(key))
            }
        }

        impl Session for $name {
            fn seal(&self, nonce: &[u8; 12], ad: &[u8], text: &mut [u8]) -> [u8; TAG] {
                let nonce = $library::aead::Nonce::assume_unique_for_key(*nonce);
                let tag =
                    self.0.seal_in_place_separate_tag(nonce, $library::aead::Aad::from(ad), text).expect("sealed");
                tag.as_ref().try_into().expect("tag")
            }
            fn open(&self, nonce: &[u8; 12], ad: &[u8], packet: &mut [u8]) -> bool {
                let nonce = $library::aead::Nonce::assume_unique_for_key(*nonce);
                self.0.open_in_place(nonce, $library::aead::Aad::from(ad), packet).is_ok()
            }
        }
    };
}

ring_like!(Ring, ring);
ring_like!(AwsLc, aws_lc_rs);

struct RustCrypto<C>(C);

impl<C: AeadInPlace> Session for RustCrypto<C> {
    fn seal(&self, nonce: &[u8; 12], ad: &[u8], text: &mut [u8]) -> [u8; TAG] {
        let tag = self.0.encrypt_in_place_detached(GenericArray::from_slice(nonce), ad, text).expect("sealed");
        tag.as_slice().try_into().expect("tag")
    }
    fn open(&self, nonce: &[u8; 12], ad: &[u8], packet: &mut [u8]) -> bool {
        let (text, tag) = packet.split_at_mut(packet.len() - TAG);
        let (nonce, tag) = (GenericArray::from_slice(nonce), GenericArray::from_slice(tag));
        self.0.decrypt_in_place_detached(nonce, ad, text, tag).is_ok()
    }
}

#[cfg(c_library)]
mod c {
    use super::{Algorithm, Session, TAG};
    use std::os::raw::c_int;

    #[repr(C, align(64))]
    pub(super) struct C([u64; 128]);

    extern "C" {
        fn sealane_key_init(key: *mut C, algorithm: c_int, bytes: *const u8, count: usize) -> c_int;
        fn sealane_seal(
            key: *const C,
            out: *mut u8,
            tag: *mut u8,
            nonce: *const u8,
            nonce_bytes: usize,
            ad: *const u8,
            ad_bytes: usize,
            input: *const u8,
            bytes: usize,
        ) -> c_int;
        fn sealane_open(
            key: *const C,
            out: *mut u8,
            tag: *const u8,
            nonce: *const u8,
            nonce_bytes: usize,
            ad: *const u8,
            ad_bytes: usize,
            input: *const u8,
            bytes: usize,
        ) -> c_int;
    }

    impl C {
        pub(super) fn new(algorithm: Algorithm, bytes: &[u8]) -> Self {
            let number = match algorithm {
                Algorithm::ChaCha20Poly1305 => 1,
                Algorithm::Aes128Gcm => 3,
                _ => 4,
            };
            let mut key = C([0; 128]);
            // SAFETY: as include/sealane.h requires.
            assert_eq!(unsafe { sealane_key_init(&mut key, number, bytes.as_ptr(), bytes.len()) }, 0);
            key
        }
    }

    impl Session for C {
        fn seal(&self, nonce: &[u8; 12], ad: &[u8], text: &mut [u8]) -> [u8; TAG] {
            let (mut tag, p, n) = ([0; TAG], text.as_mut_ptr(), text.len());
            // SAFETY: as include/sealane.h requires, in place.
            let made =
                unsafe { sealane_seal(self, p, tag.as_mut_ptr(), nonce.as_ptr(), 12, ad.as_ptr(), ad.len(), p, n) };
            assert_eq!(made, 0);
            tag
        }
        fn open(&self, nonce: &[u8; 12], ad: &[u8], packet: &mut [u8]) -> bool {
            let (text, tag) = packet.split_at_mut(packet.len() - TAG);
            let (p, n) = (text.as_mut_ptr(), text.len());
            // SAFETY: as include/sealane.h requires, in place.
            unsafe { sealane_open(self, p, tag.as_ptr(), nonce.as_ptr(), 12, ad.as_ptr(), ad.len(), p, n) == 0 }
        }
    }
}

/// A candidate that makes one wrong byte.
struct Faulty(Box<dyn Session>);

impl Session for Faulty {
    fn seal(&self, nonce: &[u8; 12], ad: &[u8], text: &mut [u8]) -> [u8; TAG] {
        let tag = self.0.seal(nonce, ad, text);
        text[0] ^= 1;
        tag
    }
    fn open(&self, nonce: &[u8; 12], ad: &[u8], packet: &mut [u8]) -> bool {
        self.0.open(nonce, ad, packet)
    }
}

struct Entry {
    name: &'static str,
    candidate: Box<dyn Session>,
}

fn candidates(algorithm: Algorithm, fault: &str) -> Vec<Entry> {
    let key = [7; 32];
    let key = &key[..algorithm.key_len()];
    let rustcrypto: Box<dyn Session> = match algorithm {
        Algorithm::ChaCha20Poly1305 => {
            Box::new(RustCrypto(chacha20poly1305::ChaCha20Poly1305::new_from_slice(key).expect("key")))
        }
        Algorithm::Aes128Gcm => Box::new(RustCrypto(aes_gcm::Aes128Gcm::new_from_slice(key).expect("key"))),
        _ => Box::new(RustCrypto(aes_gcm::Aes256Gcm::new_from_slice(key).expect("key"))),
    };
    let mut all: Vec<(&'static str, Box<dyn Session>)> = vec![
        ("sealane", Box::new(Sealane(Key::new(algorithm, key).expect("key")))),
        #[cfg(c_library)]
        ("sealane, C", Box::new(c::C::new(algorithm, key))),
        ("ring", Box::new(Ring::new(algorithm, key))),
        ("aws-lc-rs", Box::new(AwsLc::new(algorithm, key))),
        ("RustCrypto", rustcrypto),
        ("OpenSSL", Box::new(peers::Evp::new(algorithm, key))),
        #[cfg(native)]
        ("its native", Box::new(native::Native::new(algorithm, key))),
    ];
    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
    if graviola::util::is_cpu_supported() {
        all.push(("graviola", Box::new(peers::Graviola::new(algorithm, key))));
    }
    all.drain(..)
        .map(|(name, candidate)| Entry {
            name,
            candidate: if name == fault { Box::new(Faulty(candidate)) } else { candidate },
        })
        .collect()
}

/// Checks that all candidates seal a packet to the same bytes, and open it; otherwise returns the reason.
fn agree(entries: &mut [Entry], bytes: usize) -> Result<(), String> {
    let text: Vec<u8> = (0..bytes).map(|i| i as u8).collect();
    let mut first: Option<Vec<u8>> = None;
    for entry in entries {
        let mut sealed = text.clone();
        let tag = entry.candidate.seal(&[1; 12], b"", &mut sealed);
        sealed.extend_from_slice(&tag);
        if sealed != *first.get_or_insert(sealed.clone()) {
            return Err(format!("{} seals {} bytes differently", entry.name, bytes));
        }
        if !entry.candidate.open(&[1; 12], b"", &mut sealed) || sealed[..bytes] != text[..] {
            return Err(format!("{} does not open {} bytes", entry.name, bytes));
        }
    }
    Ok(())
}

/// Nanoseconds per packet in a run of `count`.
fn time(entry: &mut Entry, bytes: usize, open: bool, count: usize, offset: usize) -> f64 {
    let mut room = vec![0x55; 4096 + bytes];
    let mut text = &mut room[offset..offset + bytes];
    let mut nonce = [0; 12];
    if !open {
        let start = Instant::now();
        for i in 0..count as u64 {
            nonce[4..].copy_from_slice(&i.to_le_bytes());
            // black_box of the slice itself would store two words and load them as one, which stalls the CPU.
            black_box(entry.candidate.seal(&nonce, b"", black_box(&mut text)));
        }
        return start.elapsed().as_nanos() as f64 / count as f64;
    }
    // Copies of one packet, each opened once.
    let tag = entry.candidate.seal(&nonce, b"", text);
    let mut copies = [&*text, &tag].concat().repeat(count);
    let start = Instant::now();
    for mut copy in copies.chunks_exact_mut(bytes + TAG) {
        assert!(entry.candidate.open(&nonce, b"", black_box(&mut copy)));
    }
    start.elapsed().as_nanos() as f64 / count as f64
}

fn main() {
    let all: Vec<String> = std::env::args().skip(1).collect();
    if all.iter().any(|argument| argument == "--alg") {
        if let Err(why) = rows::run(&all) {
            eprintln!("sealane-bench: {why}");
            std::process::exit(1);
        }
        return;
    }
    let mut turns = 200;
    let mut fault = String::new();
    let mut arguments = all.into_iter();
    while let Some(argument) = arguments.next() {
        let value = arguments.next().unwrap_or_default();
        match argument.as_str() {
            "--turns" => turns = value.parse().expect("a number of turns"),
            "--fault" => fault = value,
            _ => panic!("usage: sealane-bench [--turns N] [--fault CANDIDATE]"),
        }
    }
    for algorithm in [Algorithm::ChaCha20Poly1305, Algorithm::Aes128Gcm, Algorithm::Aes256Gcm] {
        let mut entries = candidates(algorithm, &fault);
        for bytes in SIZES {
            if let Err(why) = agree(&mut entries, bytes) {
                eprintln!("{why}");
                std::process::exit(1);
            }
        }
        let level = Key::new(algorithm, &vec![7; algorithm.key_len()]).expect("key").level();
        println!("{algorithm:?}, level {level}");
        print!("{:>5} {:>6} {:>9}", "", "bytes", "ns");
        entries[1..].iter().for_each(|entry| print!(" {:>10}", entry.name));
        println!();
        let mut places: Vec<Vec<Entry>> = (1..PLACES)
            .map(|place| {
                std::mem::forget(vec![0u8; 64 * place + 256]);
                candidates(algorithm, "")
            })
            .collect();
        places.push(entries);
        let names: Vec<&str> = places[0].iter().map(|entry| entry.name).collect();
        for open in [false, true] {
            for bytes in SIZES {
                let mut least = vec![f64::MAX; names.len()];
                let mut counts = vec![4; names.len()];
                for turn in 0..turns {
                    for (i, entry) in places[turn % PLACES].iter_mut().enumerate() {
                        let took = time(entry, bytes, open, counts[i], turn / PLACES * 448 % 4096);
                        least[i] = took.min(least[i]);
                        counts[i] = ((RUN_NS as f64 / least[i]) as usize).clamp(2, 4096);
                    }
                }
                print!("{:>5} {:>6} {:>9.1}", if open { "open" } else { "seal" }, bytes, least[0]);
                least[1..].iter().for_each(|ns| print!(" {:>10.2}", ns / least[0]));
                println!();
            }
        }
    }
}
