//! The stack that calls need, as docs/rust.md states it. Threads with only that much make the first keys and batches of
//! a process. `SEALANE_PLANT=stack` first uses 16 KiB of it, which must overflow.
#![cfg(all(target_os = "linux", target_arch = "x86_64", not(miri)))]

use std::hint::black_box;

use sealane::{open_batch, seal_batch, Algorithm, HeaderKey, Key, Packet, Text};

const ALGORITHMS: [Algorithm; 3] = [Algorithm::XChaCha20Poly1305, Algorithm::Aes128Gcm, Algorithm::Aes256Gcm];

/// Makes a call on a new thread, which itself uses some KiB of its stack.
fn with_stack(kib: usize, call: fn()) {
    let planted = std::env::var_os("SEALANE_PLANT").is_some_and(|plant| plant == "stack");
    let builder = std::thread::Builder::new().stack_size(kib << 10);
    builder.spawn(move || if planted { deeper(call) } else { call() }).expect("thread").join().expect("thread");
}

#[inline(never)]
fn deeper(call: fn()) {
    let mut taken = [0_u8; 16 << 10];
    black_box(&mut taken);
    call();
    black_box(&mut taken);
}

fn keys() {
    let mut place = Box::new(None);
    for algorithm in ALGORITHMS {
        Key::new_in(&mut place, algorithm, &[1; 32][..algorithm.key_len()]).expect("key");
    }
    HeaderKey::new(Algorithm::ChaCha20Poly1305, &[1; 32]).expect("key");
    HeaderKey::new(Algorithm::Aes128Gcm, &[1; 16]).expect("key");
}

fn packets() {
    for algorithm in ALGORITHMS {
        let mut place = Box::new(None);
        let key = Key::new_in(&mut place, algorithm, &[1; 32][..algorithm.key_len()]).expect("key");
        let (nonce, mut text) = (&[2; 24][..algorithm.nonce_len()], vec![7; 3000]);
        let tag = key.seal_in_place(nonce, b"", &mut text).expect("sealed");
        assert!(key.open_in_place(nonce, b"x", &mut text, &tag).is_err());
        let mut pieces: Vec<Text<'_>> = text.chunks_mut(77).map(Text::in_place).collect();
        key.open_pieces(nonce, b"", &mut pieces, &tag).expect("opened");
    }
}

fn batches() {
    for algorithm in ALGORITHMS {
        let key = Box::new(Key::new(algorithm, &[1; 32][..algorithm.key_len()]).expect("key"));
        let (nonce, mut text) = (&[2; 24][..algorithm.nonce_len()], vec![7; 6400]);
        let sealed = |text| Packet::to_seal(&key, nonce, b"", Text::in_place(text));
        assert_eq!(seal_batch(&mut text.chunks_mut(100).map(sealed).collect::<Vec<_>>()), 64);
        let opened = |text| Packet::to_open(&key, nonce, b"", Text::in_place(text), &[0; 16]);
        assert_eq!(open_batch(&mut text.chunks_mut(100).map(opened).collect::<Vec<_>>()), 0);
    }
}

#[test]
fn calls_need_what_is_said() {
    with_stack(20, keys);
    with_stack(20, packets);
    with_stack(32, batches);
    with_stack(28, batches);
}
