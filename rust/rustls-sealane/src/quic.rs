//! QUIC packets (RFC 9001, section 5): payloads and headers.

use rustls::crypto::cipher::{AeadKey, Iv, Nonce};
use rustls::quic::{Algorithm as QuicAlgorithm, HeaderProtectionKey, PacketKey, Tag};
use rustls::Error;
use sealane::{Algorithm, HeaderKey, TAG_LEN};

use crate::Cipher;

pub(crate) struct Quic(pub(crate) Algorithm);

impl QuicAlgorithm for Quic {
    fn packet_key(&self, key: AeadKey, iv: Iv) -> Box<dyn PacketKey> {
        Box::new(Packets { algorithm: self.0, cipher: Cipher::new(self.0, key.as_ref()), iv })
    }

    fn header_protection_key(&self, key: AeadKey) -> Box<dyn HeaderProtectionKey> {
        Box::new(Headers(HeaderKey::new(self.0, key.as_ref()).ok()))
    }

    fn aead_key_len(&self) -> usize {
        self.0.key_len()
    }
}

const SAMPLE_LEN: usize = 16;

/// A key, or none if sealane has no level for it on this CPU; then all packets fail.
struct Headers(Option<HeaderKey>);

impl Headers {
    /// Applies a mask (section 5.4.1). The low bits of the first byte encode the size of the packet number, and are
    /// masked too.
    fn apply(&self, sample: &[u8], first: &mut u8, number: &mut [u8], masked: bool) -> Result<(), Error> {
        let sample = sample.try_into().map_err(|_| Error::General("sample of invalid length".into()))?;
        let mask = self.0.as_ref().ok_or_else(|| Error::General("sealane has no level here".into()))?.mask(sample);
        let changed = *first ^ (mask[0] & if *first & 0x80 == 0 { 0x1f } else { 0x0f });
        let plain = if masked { changed } else { *first };
        let length = usize::from(plain & 3) + 1;
        if number.len() > 4 || number.len() < length {
            return Err(Error::General("packet number of invalid length".into()));
        }
        *first = changed;
        for (byte, mask) in number.iter_mut().zip(&mask[1..=length]) {
            *byte ^= mask;
        }
        Ok(())
    }
}

impl HeaderProtectionKey for Headers {
    fn encrypt_in_place(&self, sample: &[u8], first: &mut u8, packet_number: &mut [u8]) -> Result<(), Error> {
        self.apply(sample, first, packet_number, false)
    }

    fn decrypt_in_place(&self, sample: &[u8], first: &mut u8, packet_number: &mut [u8]) -> Result<(), Error> {
        self.apply(sample, first, packet_number, true)
    }

    fn sample_len(&self) -> usize {
        SAMPLE_LEN
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
