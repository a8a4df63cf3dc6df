//! Packets of QUIC (RFC 9001, section 5.3). Header protection is the other provider's.

use rustls::crypto::cipher::{AeadKey, Iv, Nonce};
use rustls::quic::{Algorithm as QuicAlgorithm, HeaderProtectionKey, PacketKey, Tag};
use rustls::Error;
use sealane::{Algorithm, TAG_LEN};

use crate::Cipher;

pub(crate) fn algorithm(theirs: &'static dyn QuicAlgorithm, algorithm: Algorithm) -> &'static dyn QuicAlgorithm {
    Box::leak(Box::new(Quic { algorithm, theirs }))
}

struct Quic {
    algorithm: Algorithm,
    theirs: &'static dyn QuicAlgorithm,
}

impl QuicAlgorithm for Quic {
    fn packet_key(&self, key: AeadKey, iv: Iv) -> Box<dyn PacketKey> {
        Box::new(Packets { algorithm: self.algorithm, cipher: Cipher::new(self.algorithm, key.as_ref()), iv })
    }

    fn header_protection_key(&self, key: AeadKey) -> Box<dyn HeaderProtectionKey> {
        self.theirs.header_protection_key(key)
    }

    fn aead_key_len(&self) -> usize {
        self.algorithm.key_len()
    }
}

struct Packets {
    algorithm: Algorithm,
    cipher: Cipher,
    iv: Iv,
}

impl Packets {
    fn seal(&self, nonce: Nonce, header: &[u8], payload: &mut [u8]) -> Result<Tag, Error> {
        Ok(Tag::from(&self.cipher.seal(&nonce.0, header, payload)?[..]))
    }

    fn open<'a>(&self, nonce: Nonce, header: &[u8], payload: &'a mut [u8]) -> Result<&'a [u8], Error> {
        let length = self.cipher.open(&nonce.0, header, payload)?;
        Ok(&payload[..length])
    }
}

impl PacketKey for Packets {
    fn encrypt_in_place(&self, packet_number: u64, header: &[u8], payload: &mut [u8]) -> Result<Tag, Error> {
        self.seal(Nonce::new(&self.iv, packet_number), header, payload)
    }

    fn encrypt_in_place_for_path(
        &self,
        path_id: u32,
        packet_number: u64,
        header: &[u8],
        payload: &mut [u8],
    ) -> Result<Tag, Error> {
        self.seal(Nonce::for_path(path_id, &self.iv, packet_number), header, payload)
    }

    fn decrypt_in_place<'a>(
        &self,
        packet_number: u64,
        header: &[u8],
        payload: &'a mut [u8],
    ) -> Result<&'a [u8], Error> {
        self.open(Nonce::new(&self.iv, packet_number), header, payload)
    }

    fn decrypt_in_place_for_path<'a>(
        &self,
        path_id: u32,
        packet_number: u64,
        header: &[u8],
        payload: &'a mut [u8],
    ) -> Result<&'a [u8], Error> {
        self.open(Nonce::for_path(path_id, &self.iv, packet_number), header, payload)
    }

    fn tag_len(&self) -> usize {
        TAG_LEN
    }

    /// RFC 9001, section 6.6.
    fn confidentiality_limit(&self) -> u64 {
        match self.algorithm {
            Algorithm::ChaCha20Poly1305 => u64::MAX,
            _ => 1 << 23,
        }
    }

    fn integrity_limit(&self) -> u64 {
        match self.algorithm {
            Algorithm::ChaCha20Poly1305 => 1 << 36,
            _ => 1 << 52,
        }
    }
}
