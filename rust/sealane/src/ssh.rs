//! SSH's form of ChaCha20-Poly1305.

use subtle::ConstantTimeEq;
use zeroize::{Zeroize, ZeroizeOnDrop};

use crate::cipher::{wiping, ChaChaMaskKey};
use crate::dit::Dit;
use crate::kernel::{ChaCha20Poly1305, Text};
use crate::level::{Usable, CHACHA20MASKS, CHACHA20POLY1305};
use crate::{Error, TAG_LEN};

/// How long the length is that a packet begins with, in bytes.
const LENGTH_LEN: usize = 4;

/// A key of chacha20-poly1305@openssh.com (OpenSSH's PROTOCOL.chacha20poly1305): SSH's packets, whose length is encrypted by
/// a key of its own. The nonce is the packet's sequence number. It is wiped when it is dropped.
///
/// ```
/// use sealane::SshKey;
///
/// # fn main() -> Result<(), sealane::Error> {
/// let key = SshKey::new(&[7; 64])?; // as SSH derives it
/// let mut packet = *b"\0\0\0\x08a packet";
/// let tag = key.seal_in_place(0, &mut packet)?;
/// assert_eq!(key.length(0, &packet[..4])?, 8); // not authentic yet
/// key.open_in_place(0, &mut packet, &tag)?;
/// assert_eq!(&packet[4..], b"a packet");
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct SshKey {
    text: [u8; 32],
    level: Usable<ChaCha20Poly1305>,
    length: ChaChaMaskKey,
}

impl Drop for SshKey {
    fn drop(&mut self) {
        self.text.zeroize();
    }
}

impl ZeroizeOnDrop for SshKey {}

impl core::fmt::Debug for SshKey {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("SshKey").field("level", &self.level.name()).finish_non_exhaustive()
    }
}

/// RFC 8439's nonce begins with the upper half of this cipher's counter: 0, as no packet is that long.
fn nonce_of(sequence: u32) -> [u8; 12] {
    let mut nonce = [0; 12];
    nonce[8..].copy_from_slice(&sequence.to_be_bytes());
    nonce
}

impl SshKey {
    /// Makes a key of 64 bytes ready for use. The first key in a process picks the level, as
    /// [`Key::new`](crate::Key::new) does.
    ///
    /// # Errors
    /// [`Error::InvalidKey`] for other lengths; [`Error::NoLevel`] if nothing works here.
    pub fn new(key: &[u8]) -> Result<SshKey, Error> {
        SshKey::at(key, CHACHA20POLY1305.of_process())
    }

    /// The same with a level of the caller's choice, for tests: [`levels`](crate::levels) of ChaCha20-Poly1305 has their names.
    ///
    /// # Errors
    /// As for `new`, and [`Error::InvalidLevel`] if there is no such level, or it does not work on this CPU.
    pub fn with_level(key: &[u8], level: &str) -> Result<SshKey, Error> {
        SshKey::at(key, CHACHA20POLY1305.named(level))
    }

    fn at(key: &[u8], level: Result<Usable<ChaCha20Poly1305>, Error>) -> Result<SshKey, Error> {
        wiping(|| {
            let (text, length) = key.split_at(key.len().min(32));
            match (<[u8; 32]>::try_from(text), <[u8; 32]>::try_from(length)) {
                (Ok(text), Ok(length)) => Ok(SshKey {
                    text,
                    level: level?,
                    length: ChaChaMaskKey { key: length, level: CHACHA20MASKS.of_process()? },
                }),
                _ => Err(Error::InvalidKey),
            }
        })
    }

    /// Decrypts the length of a packet that is coming in, from its first 4 bytes: how many bytes follow these, without the
    /// tag. It is not authentic before the packet has been opened: bound it before use.
    ///
    /// # Errors
    /// [`Error::LengthMismatch`] if `first` does not have 4 bytes.
    pub fn length(&self, sequence: u32, first: &[u8]) -> Result<u32, Error> {
        let _dit = Dit::on();
        let mut length = <[u8; LENGTH_LEN]>::try_from(first).map_err(|_| Error::LengthMismatch)?;
        self.crypt_length(&nonce_of(sequence), &mut length);
        Ok(u32::from_be_bytes(length))
    }

    /// Encrypts a packet in place, which begins with its length, and returns its tag.
    ///
    /// # Errors
    /// [`Error::LengthMismatch`] if there are fewer than 4 bytes, [`Error::TooLong`] for more than 2^32 + 3: `packet` is as it was.
    pub fn seal_in_place(&self, sequence: u32, packet: &mut [u8]) -> Result<[u8; TAG_LEN], Error> {
        let _dit = Dit::on();
        check(packet)?;
        let nonce = nonce_of(sequence);
        self.crypt(&nonce, packet);
        Ok(self.level.poly1305(&self.text, &nonce, packet))
    }

    /// Checks the tag of a packet, and decrypts it in place.
    ///
    /// # Errors
    /// [`Error::NotAuthentic`] for any forgery; else as `seal_in_place`: `packet` is as it was.
    pub fn open_in_place(&self, sequence: u32, packet: &mut [u8], tag: &[u8; TAG_LEN]) -> Result<(), Error> {
        let _dit = Dit::on();
        check(packet)?;
        let nonce = nonce_of(sequence);
        let mut expected = self.level.poly1305(&self.text, &nonce, packet);
        let same = expected.ct_eq(tag).into();
        expected.zeroize();
        if same {
            self.crypt(&nonce, packet);
            return Ok(());
        }
        Err(Error::NotAuthentic)
    }

    /// The length, both ways: the beginning of block 0, as QUIC's header masks are of another.
    fn crypt_length(&self, nonce: &[u8; 12], length: &mut [u8]) {
        let mut counter_and_nonce = [0; 16];
        counter_and_nonce[4..].copy_from_slice(nonce);
        let mut mask = [0; 16];
        self.length.mask(&counter_and_nonce, &mut mask);
        for (byte, add) in length.iter_mut().zip(&mask[..LENGTH_LEN]) {
            *byte ^= add;
        }
        mask.zeroize();
    }

    /// Length and text, both ways.
    fn crypt(&self, nonce: &[u8; 12], packet: &mut [u8]) {
        let (length, text) = packet.split_at_mut(LENGTH_LEN);
        self.crypt_length(nonce, length);
        if !text.is_empty() {
            self.level.stream(&self.text, nonce, 1, &mut Text::in_place(text));
        }
    }
}

fn check(packet: &[u8]) -> Result<(), Error> {
    match packet.len() as u64 {
        0..=3 => Err(Error::LengthMismatch),
        4..=0x1_0000_0003 => Ok(()),
        _ => Err(Error::TooLong),
    }
}
