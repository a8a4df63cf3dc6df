//! Seals packets with each algorithm, and prints the level that this CPU uses, and its time.

use std::time::Instant;

use sealane::{Algorithm, Key};

const PACKETS: u64 = 10_000;

fn main() -> Result<(), sealane::Error> {
    for algorithm in [Algorithm::ChaCha20Poly1305, Algorithm::Aes128Gcm, Algorithm::Aes256Gcm] {
        let key = Key::new(algorithm, &[7; 32][..algorithm.key_len()])?; // use your own key
        let mut packet = [0; 1420];
        let begin = Instant::now();
        for number in 0..PACKETS {
            let mut nonce = [0; 12]; // never reuse a nonce
            nonce[4..].copy_from_slice(&number.to_be_bytes());
            key.seal_in_place(&nonce, b"its header", &mut packet)?;
        }
        let time = begin.elapsed().as_nanos() / u128::from(PACKETS);
        println!("{algorithm:?}: level {}, {time} ns for each packet of {} bytes", key.level(), packet.len());
    }
    Ok(())
}
