//! SSH's variant of ChaCha20-Poly1305.

use subtle::ConstantTimeEq;
use zeroize::{Zeroize, ZeroizeOnDrop};

use crate::cipher::{wiping, ChaChaMaskKey};
use crate::dit::Dit;
use crate::kernel::{ChaCha20Poly1305, Text, Usable};
use crate::level::{CHACHA20MASKS, CHACHA20POLY1305};
use crate::{Error, TAG_LEN};

/// The size of the length field at the start of a packet, in bytes.
const LENGTH_LEN: usize = 4;

/// A key of chacha20-poly1305@openssh.com (PROTOCOL.chacha20poly1305 of OpenSSH), for SSH packets. A separate key
/// encrypts the packet length. The nonce is the packet's sequence number. The key is wiped when it is dropped.
///
/// ```
/// use sealane::SshKey;
///
/// # fn main() -> Result<(), sealane::Error> {
/// let key = SshKey::new(&[7; 64])?; // derived by SSH
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

/// The first bytes of RFC 8439's nonce are the upper half of this cipher's counter, which is 0 because no packet is
/// that long.
fn nonce_of(sequence: u32) -> [u8; 12] {
    let mut nonce = [0; 12];
    nonce[8..].copy_from_slice(&sequence.to_be_bytes());
    nonce
}

impl SshKey {
    /// Makes a key of 64 bytes. The first key in a process chooses the level, as in [`Key::new`](crate::Key::new).
    ///
    /// # Errors
    /// [`Error::InvalidKey`] for other lengths; [`Error::NoLevel`] if no level works on this CPU.
    pub fn new(key: &[u8]) -> Result<SshKey, Error> {
        SshKey::at(key, CHACHA20POLY1305.of_process())
    }

    /// Like `new`, with a given level, for tests. [`levels`](crate::levels) of ChaCha20-Poly1305 lists the names.
    ///
    /// # Errors
    /// Those of `new`, and [`Error::InvalidLevel`] if the level does not exist or does not work on this CPU.
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

    /// Decrypts the length of an incoming packet from its first 4 bytes. The result counts the bytes after these 4,
    /// without the tag. It is not authentic until the packet has been opened, so check it against a limit before use.
    ///
    /// # Errors
    /// [`Error::LengthMismatch`] if `first` does not have 4 bytes.
    pub fn length(&self, sequence: u32, first: &[u8]) -> Result<u32, Error> {
        let _dit = Dit::on();
        let mut length = <[u8; LENGTH_LEN]>::try_from(first).map_err(|_| Error::LengthMismatch)?;
        self.crypt_length(&nonce_of(sequence), &mut length);
        Ok(u32::from_be_bytes(length))
    }

    /// Encrypts a packet in place, which starts with its length field, and returns its tag.
    ///
    /// # Errors
    /// [`Error::LengthMismatch`] for fewer than 4 bytes, [`Error::TooLong`] for more than 2^32 + 3. `packet` is
    /// unchanged.
    pub fn seal_in_place(&self, sequence: u32, packet: &mut [u8]) -> Result<[u8; TAG_LEN], Error> {
        let _dit = Dit::on();
        check(packet)?;
        let nonce = nonce_of(sequence);
        self.crypt(&nonce, packet);
        Ok(self.level.poly1305(&self.text, &nonce, packet))
    }

    /// Verifies the tag of a packet, and decrypts it in place.
    ///
    /// # Errors
    /// [`Error::NotAuthentic`] for any forgery; otherwise those of `seal_in_place`. `packet` is unchanged.
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

    /// Encrypts or decrypts the length with the first bytes of block 0, which a QUIC header mask kernel can make.
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

    /// Encrypts or decrypts length and text.
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
