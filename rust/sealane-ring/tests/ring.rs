//! Compares this crate with ring. `SEALANE_PLANT` names a fault that a test must find.

use ring::aead::{Aad, LessSafeKey, Nonce, UnboundKey, AES_128_GCM, AES_256_GCM, CHACHA20_POLY1305};
use ring::constant_time::verify_slices_are_equal;
use ring::rand::{SecureRandom, SystemRandom};

#[test]
fn what_is_refused_is_as_it_was() {
    for algorithm in [&AES_128_GCM, &AES_256_GCM, &CHACHA20_POLY1305] {
        let key = LessSafeKey::new(UnboundKey::new(algorithm, &[7; 32][..algorithm.key_len()]).expect("key"));
        let nonce = || Nonce::assume_unique_for_key([1; 12]);
        let mut packet = b"a packet".to_vec();
        key.seal_in_place_append_tag(nonce(), Aad::from(b"its header"), &mut packet).expect("sealed");
        assert_eq!(packet.len(), 24);
        for shift in [0, 1, 5, 30] {
            let mut moved = vec![9; shift];
            moved.extend_from_slice(&packet);
            let mut changed = moved.clone();
            changed[shift + 3] ^= 1;
            let opened = key.open_within(nonce(), Aad::from(b"its header"), &mut moved, shift..).expect("opened");
            assert_eq!(opened, b"a packet");
            assert!(key.open_within(nonce(), Aad::from(b"its header"), &mut changed, shift..).is_err());
            let mut text = packet[..8].to_vec();
            text[3] ^= 1;
            assert_eq!(changed[..8], text, "{algorithm:?}, {shift}");
        }
        // Input shorter than a tag, or a range that starts after the end.
        assert!(key.open_in_place(nonce(), Aad::empty(), &mut [0; 15]).is_err());
        assert!(key.open_within(nonce(), Aad::empty(), &mut packet.clone(), 9..).is_err());
        assert!(key.open_within(nonce(), Aad::empty(), &mut packet, usize::MAX..).is_err());
        assert_eq!(format!("{key:?}"), format!("LessSafeKey {{ algorithm: {algorithm:?} }}"));
    }
}

#[test]
fn compares_and_draws() {
    assert!(verify_slices_are_equal(b"same", b"same").is_ok());
    assert!(verify_slices_are_equal(b"same", b"sama").is_err());
    assert!(verify_slices_are_equal(b"same", b"sam").is_err());
    let (mut one, mut two) = ([0; 32], [0; 32]);
    SystemRandom::new().fill(&mut one).expect("random");
    SystemRandom::new().fill(&mut two).expect("random");
    assert_ne!(one, two);
}

struct Counter(u32);

impl ring::aead::NonceSequence for Counter {
    fn advance(&mut self) -> Result<Nonce, ring::error::Unspecified> {
        self.0 += 1;
        nonce(self.0).map(Nonce::assume_unique_for_key).ok_or(ring::error::Unspecified)
    }
}

impl theirs::aead::NonceSequence for Counter {
    fn advance(&mut self) -> Result<theirs::aead::Nonce, theirs::error::Unspecified> {
        self.0 += 1;
        nonce(self.0).map(theirs::aead::Nonce::assume_unique_for_key).ok_or(theirs::error::Unspecified)
    }
}

/// There are 1000 nonces.
fn nonce(count: u32) -> Option<[u8; 12]> {
    let mut nonce = [0; 12];
    nonce[8..].copy_from_slice(&count.to_be_bytes());
    (count <= 1000).then_some(nonce)
}

/// Calls all functions of the keys with the same arguments as ring's.
macro_rules! session {
    ($ring:ident, $algorithm:ident, $length:expr) => {{
        use $ring::aead::{self, Aad, BoundKey, LessSafeKey, Nonce, OpeningKey, SealingKey, UnboundKey};
        let algorithm = &aead::$algorithm;
        let key = [0x77; 32];
        let unbound = || UnboundKey::new(algorithm, &key[..algorithm.key_len()]).expect("key");
        assert!(UnboundKey::new(algorithm, &key[1..algorithm.key_len()]).is_err());
        assert!(Nonce::try_assume_unique_for_key(&[0; 13]).is_err());
        assert_eq!((algorithm.tag_len(), algorithm.nonce_len(), aead::MAX_TAG_LEN), (16, 12, 16));
        let text: Vec<u8> = (0..$length).map(|i| i as u8).collect();
        let mut sealing = SealingKey::new(unbound(), Counter(0));
        let mut opening = OpeningKey::new(unbound(), Counter(0));
        let mut all = format!("{:?} {:?} {:?}", unbound(), sealing, opening).into_bytes();
        let mut packet = text.clone();
        sealing.seal_in_place_append_tag(Aad::from(b"ad"), &mut packet).expect("sealed");
        all.extend_from_slice(&packet);
        assert_eq!(opening.open_in_place(Aad::from(b"ad"), &mut packet).expect("opened"), &text[..]);
        let mut packet = text.clone();
        let tag = sealing.seal_in_place_separate_tag(Aad::empty(), &mut packet).expect("sealed");
        all.extend_from_slice(&packet);
        all.extend_from_slice(tag.as_ref());
        let mut moved = vec![1; 13];
        moved.extend_from_slice(&packet);
        moved.extend_from_slice(tag.as_ref());
        assert_eq!(opening.open_within(Aad::empty(), &mut moved, 13..).expect("opened"), &text[..]);
        let key = LessSafeKey::new(unbound());
        let mut again = text.clone();
        let nonce = || Nonce::assume_unique_for_key(nonce(2).expect("nonce"));
        assert_eq!(
            key.seal_in_place_separate_tag(nonce(), Aad::empty(), &mut again).expect("sealed").as_ref(),
            tag.as_ref()
        );
        assert_eq!(again, packet);
        assert!(key.open_in_place(nonce(), Aad::from([1]), &mut moved).is_err());
        key.open_in_place_separate_tag(nonce(), Aad::empty(), tag, &mut again, 0..).expect("opened");
        all.extend_from_slice(&again);
        all
    }};
}

#[test]
fn keys_are_those_of_ring() {
    for length in (0..300).chain([1420, 4096, 16384]) {
        let pairs = [
            (session!(ring, AES_128_GCM, length), session!(theirs, AES_128_GCM, length)),
            (session!(ring, AES_256_GCM, length), session!(theirs, AES_256_GCM, length)),
            (session!(ring, CHACHA20_POLY1305, length), session!(theirs, CHACHA20_POLY1305, length)),
        ];
        for (mut ours, theirs) in pairs {
            let planted = std::env::var("SEALANE_PLANT").unwrap_or_default();
            let end = ours.len() - length - 1;
            match &planted[..] {
                "text" if length == 200 => ours[end - 16] ^= 1,
                "tag" if length == 200 => ours[end] ^= 1,
                _ => {}
            }
            assert_eq!(ours, theirs, "{length} bytes");
        }
    }
    // No nonce follows the last one.
    let key = || UnboundKey::new(&AES_128_GCM, &[1; 16]).expect("key");
    let mut sealing = <ring::aead::SealingKey<_> as ring::aead::BoundKey<_>>::new(key(), Counter(999));
    assert!(sealing.seal_in_place_separate_tag(Aad::empty(), &mut [0; 5]).is_ok());
    assert!(sealing.seal_in_place_separate_tag(Aad::empty(), &mut [0; 5]).is_err());
}
