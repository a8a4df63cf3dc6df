//! A call leaves the same bytes on the stack for all secrets, at every level with a kernel. So nothing of a key, its
//! schedule, a subkey or a key stream remains there.
//! `SEALANE_PLANT=residue` plants a copy of a key, which must be found.
#![cfg(all(target_os = "linux", not(miri)))]

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs::File;
use std::hint::black_box;
use std::os::unix::fs::FileExt;
use std::process::Command;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::Mutex;

use sealane::{
    ccm_open_batch, ccm_seal_batch, cmac_batch, levels, open_batch, seal_batch, Algorithm, CcmKey, CcmPacket,
    ChaCha20Key, CmacKey, CmacText, GcmSivKey, HeaderKey, Key, Packet, SshKey, Text,
};

const ALGORITHMS: [Algorithm; 5] = [
    Algorithm::ChaCha20Poly1305,
    Algorithm::XChaCha20Poly1305,
    Algorithm::Aes128Gcm,
    Algorithm::Aes192Gcm,
    Algorithm::Aes256Gcm,
];

static SECRET: AtomicU8 = AtomicU8::new(0);
static MEMORY: Mutex<Memory> =
    Mutex::new(Memory { secret: [0; 32], place: None, text: [0; 1500], other: [0; 1500], tag: [0; 16] });
const LOOKED_AT: usize = 60 << 10;

/// All data of a thread, at the same addresses for each secret.
struct Memory {
    secret: [u8; 32],
    place: Option<Key>,
    text: [u8; 1500],
    other: [u8; 1500],
    tag: [u8; 16],
}

#[inline(never)]
fn paint() {
    black_box(&mut [0_u8; LOOKED_AT + (20 << 10)]);
}

/// Keeps the callee far enough from its caller, whose own calls do not reach down there.
#[inline(never)]
fn deep(call: fn(&mut Memory, Algorithm), memory: &mut Memory, algorithm: Algorithm) -> usize {
    let mut room = [0_u8; 16 << 10];
    black_box(&mut room);
    call(memory, algorithm);
    black_box(&mut room).as_ptr() as usize
}

#[inline(never)]
fn fill(memory: &mut Memory) {
    let secret = SECRET.load(Ordering::Relaxed);
    memory.secret = std::array::from_fn(|i| (i as u8).wrapping_mul(37) ^ secret);
    (memory.text, memory.other) = ([secret; 1500], [0; 1500]);
}

/// Makes a call. Returns the stack below `deep`, as read through /proc/self/mem, and the packet's tag.
#[inline(never)]
fn left_by(call: fn(&mut Memory, Algorithm), memory: &mut Memory, algorithm: Algorithm) -> (Vec<u8>, [u8; 16]) {
    fill(memory);
    paint();
    let below = deep(call, memory, algorithm);
    let mut stack = vec![0; LOOKED_AT];
    let all = File::open("/proc/self/mem").expect("memory");
    all.read_exact_at(&mut stack, ((below & !7) - LOOKED_AT) as u64).expect("the stack");
    // The tag of the packet is not secret, nor are parts of it.
    let part_of_tag = |i: usize| memory.tag.windows(4).any(|part| part != [0; 4] && stack[i..].starts_with(part));
    let parts: Vec<usize> = (0..LOOKED_AT).filter(|i| part_of_tag(*i)).collect();
    parts.iter().for_each(|i| stack[*i..*i + 4].fill(0));
    (stack, memory.tag)
}

/// Whether a word contains only some bytes of a tag. CPUs without unaligned word stores write a tag byte by byte.
fn has_tag(word: &[u8], tag: &[u8; 16]) -> bool {
    let start = word.iter().take_while(|byte| **byte == 0).count();
    let end = word.len() - word.iter().rev().take_while(|byte| **byte == 0).count();
    start < end && tag.windows(end - start).any(|part| *part == word[start..end])
}

fn key(memory: &mut Memory, algorithm: Algorithm) {
    Key::new_in(&mut memory.place, algorithm, &memory.secret[..algorithm.key_len()]).expect("key");
    if std::env::var_os("SEALANE_PLANT").is_some_and(|plant| plant == "residue") {
        black_box(memory.secret);
    }
}

/// The result of `Key::new` is wiped in its final place.
fn new(memory: &mut Memory, algorithm: Algorithm) {
    let made = Key::new(algorithm, &memory.secret[..algorithm.key_len()]);
    assert!(black_box(&made).is_ok());
}

fn nonce(algorithm: Algorithm) -> &'static [u8] {
    &[3; 24][..algorithm.nonce_len()]
}

fn seal(memory: &mut Memory, algorithm: Algorithm) {
    let Memory { place: Some(key), text, tag, .. } = memory else { panic!("a key") };
    *tag = key.seal_in_place(nonce(algorithm), b"ad", text).expect("sealed");
}

fn open(memory: &mut Memory, algorithm: Algorithm) {
    let Memory { place: Some(key), text, other, tag, .. } = memory else { panic!("a key") };
    *tag = key.seal_in_place(nonce(algorithm), b"ad", text).expect("sealed");
    key.open(nonce(algorithm), b"ad", text, other, tag).expect("opened");
}

fn forged(memory: &mut Memory, algorithm: Algorithm) {
    let Memory { place: Some(key), text, other, tag, .. } = memory else { panic!("a key") };
    *tag = [7; 16];
    assert!(key.open_in_place(nonce(algorithm), b"ad", text, tag).is_err());
    assert!(key.open(nonce(algorithm), b"ad", text, other, tag).is_err());
}

fn pieces(memory: &mut Memory, algorithm: Algorithm) {
    let Memory { place: Some(key), text, tag, .. } = memory else { panic!("a key") };
    let (first, second) = text.split_at_mut(700);
    let mut pieces = [Text::in_place(first), Text::in_place(second)];
    *tag = key.seal_pieces(nonce(algorithm), b"ad", &mut pieces).expect("sealed");
    key.open_pieces(nonce(algorithm), b"ad", &mut pieces, tag).expect("opened");
}

fn batch(memory: &mut Memory, algorithm: Algorithm) {
    let Memory { place: Some(key), text, tag, .. } = memory else { panic!("a key") };
    let mut texts = text.chunks_mut(150);
    let mut packets: [_; 10] = std::array::from_fn(|_| {
        let text = Text::in_place(texts.next().expect("text"));
        Packet::to_seal(key, nonce(algorithm), b"ad", text)
    });
    assert_eq!(seal_batch(&mut packets), 10);
    *tag = *packets[0].tag();
    let mut texts = text.chunks_mut(150);
    let mut packets: [_; 10] = std::array::from_fn(|_| {
        let text = Text::in_place(texts.next().expect("text"));
        Packet::to_open(key, nonce(algorithm), b"ad", text, tag)
    });
    assert!(open_batch(&mut packets) >= 1);
}

/// QUIC header keys; QUIC does not use all algorithms.
fn header(memory: &mut Memory, algorithm: Algorithm) {
    let made = HeaderKey::new(algorithm, &memory.secret[..algorithm.key_len()]);
    let Ok(key) = &made else { return };
    memory.tag[..5].copy_from_slice(&key.mask(&[9; 16]));
}

/// Key types other than `Key`, tested together with the algorithm that they are based on.
fn others(memory: &mut Memory, algorithm: Algorithm) {
    let Memory { secret, text, other, tag, .. } = memory;
    match algorithm {
        Algorithm::ChaCha20Poly1305 => {
            let key = SshKey::new(&text[..64]);
            let Ok(key) = &key else { panic!("a key") };
            *tag = key.seal_in_place(1, other).expect("sealed");
            key.open_in_place(1, other, tag).expect("opened");
        }
        Algorithm::XChaCha20Poly1305 => {
            let key = ChaCha20Key::new(secret);
            let Ok(key) = &key else { panic!("a key") };
            key.apply(&[3; 8], 1, text).expect("applied");
        }
        Algorithm::Aes128Gcm => {
            let key = GcmSivKey::new(&secret[..16]);
            let Ok(key) = &key else { panic!("a key") };
            *tag = key.seal_in_place(&[3; 12], b"ad", text).expect("sealed");
            key.open_in_place(&[3; 12], b"ad", text, tag).expect("opened");
        }
        Algorithm::Aes192Gcm => {
            let key = CcmKey::new(&secret[..24], 16);
            let Ok(key) = &key else { panic!("a key") };
            key.seal_in_place(&[3; 12], b"ad", text, tag).expect("sealed");
            key.open_in_place(&[3; 12], b"ad", text, tag).expect("opened");
            let mut texts = text.chunks_mut(150);
            let mut packets: [_; 10] = std::array::from_fn(|_| {
                CcmPacket::to_seal(key, &[3; 12], b"ad", Text::in_place(texts.next().expect("text")))
            });
            assert_eq!(ccm_seal_batch(&mut packets), 10);
            tag.copy_from_slice(packets[0].tag());
            let mut texts = text.chunks_mut(150);
            let mut packets: [_; 10] = std::array::from_fn(|_| {
                CcmPacket::to_open(key, &[3; 12], b"ad", Text::in_place(texts.next().expect("text")), tag)
            });
            assert!(ccm_open_batch(&mut packets) >= 1);
        }
        Algorithm::Aes256Gcm => {
            let key = CmacKey::new(&secret[..]);
            let Ok(key) = &key else { panic!("a key") };
            key.begin().update(text); // not `finish`, which moves the value and so leaves a copy
            let mut texts: [_; 10] = std::array::from_fn(|i| CmacText::new(key, &text[..150 * i]));
            cmac_batch(&mut texts);
        }
        _ => {}
    }
}

type Call = (&'static str, fn(&mut Memory, Algorithm));
const CALLS: [Call; 9] = [
    ("key", key),
    ("new", new),
    ("seal", seal),
    ("open", open),
    ("forged", forged),
    ("pieces", pieces),
    ("batch", batch),
    ("header", header),
    ("others", others),
];

#[test]
fn nothing_of_a_secret_is_left() {
    let mut bad = 0;
    for algorithm in ALGORITHMS {
        if Key::new(algorithm, &[1; 32][..algorithm.key_len()]).expect("key").level() == "portable" {
            println!("not run: {algorithm:?}: RustCrypto's crates at the level portable leave copies");
            continue;
        }
        for (name, call) in CALLS {
            // Everything except the secret is constant. The first run includes one-time work of the process.
            let left = move |secret| {
                SECRET.store(secret, Ordering::Relaxed);
                let mut memory = MEMORY.lock().expect("memory");
                fill(&mut memory);
                key(&mut memory, algorithm);
                left_by(call, &mut memory, algorithm)
            };
            let [_, (one, one_tag), (other, other_tag)] =
                std::thread::spawn(move || [0, 0x5a, 0xc3].map(left)).join().expect("thread");
            let words = one.chunks_exact(8).zip(other.chunks_exact(8));
            let differ = words.filter(|(a, b)| a != b && !(has_tag(a, &one_tag) && has_tag(b, &other_tag))).count();
            println!("{algorithm:?}, {name}: {differ} words");
            bad += differ;
        }
    }
    assert_eq!(bad, 0, "words on the stack depend on the secret");
}

/// A process uses other levels only if it is told to.
#[test]
fn nor_at_other_levels() {
    let all = levels(Algorithm::ChaCha20Poly1305).chain(levels(Algorithm::Aes128Gcm));
    let all: BTreeSet<_> = all.filter(|(name, works)| *works && *name != "portable").collect();
    for (level, _) in all {
        let mut words: Vec<OsString> = vec![];
        if let Ok(exec) = std::env::var("SEALANE_TEST_EXEC") {
            words.extend(exec.split(' ').map(OsString::from));
        }
        words.push(std::env::current_exe().expect("this program").into());
        let arguments = ["--exact", "nothing_of_a_secret_is_left"];
        let output = Command::new(&words[0]).args(&words[1..]).args(arguments).env("SEALANE_CPU", level).output();
        let output = output.expect("run");
        assert!(output.status.success(), "{level}: {}", String::from_utf8_lossy(&output.stdout));
    }
}
