//! TLS 1.2 records: AES-GCM, where 8 bytes of the nonce are sent (RFC 5288, section 3), and ChaCha20-Poly1305 (RFC
//! 7905, section 2).

use rustls::crypto::cipher::{
    make_tls12_aad, AeadKey, InboundOpaqueMessage, InboundPlainMessage, Iv, KeyBlockShape, MessageDecrypter,
    MessageEncrypter, Nonce, OutboundOpaqueMessage, OutboundPlainMessage, PrefixedPayload, Tls12AeadAlgorithm,
    UnsupportedOperationError, NONCE_LEN,
};
use rustls::crypto::CipherSuiteCommon;
use rustls::{ConnectionTrafficSecrets, Error, SupportedCipherSuite, Tls12CipherSuite};
use sealane::{Algorithm, TAG_LEN};

use crate::Cipher;

/// The largest plaintext of a record (RFC 5246, section 6.2.1).
const FRAGMENT_MAX: usize = 1 << 14;
const SALT_LEN: usize = 4;

/// A suite of another provider with its AEAD replaced.
pub(crate) fn suite(theirs: &'static Tls12CipherSuite, algorithm: Algorithm) -> SupportedCipherSuite {
    let aead: &'static Aead = Box::leak(Box::new(Aead { algorithm, theirs: theirs.aead_alg }));
    SupportedCipherSuite::Tls12(Box::leak(Box::new(Tls12CipherSuite {
        common: CipherSuiteCommon {
            suite: theirs.common.suite,
            hash_provider: theirs.common.hash_provider,
            confidentiality_limit: theirs.common.confidentiality_limit,
        },
        prf_provider: theirs.prf_provider,
        kx: theirs.kx,
        sign: theirs.sign,
        aead_alg: aead,
    })))
}

struct Aead {
    algorithm: Algorithm,
    theirs: &'static dyn Tls12AeadAlgorithm,
}

impl Aead {
    /// How many bytes of the nonce are sent with each record.
    fn explicit_len(&self) -> usize {
        match self.algorithm {
            Algorithm::ChaCha20Poly1305 => 0,
            _ => NONCE_LEN - SALT_LEN,
        }
    }

    fn records(&self, key: &AeadKey, iv: &[u8], explicit: &[u8]) -> Records {
        let mut whole = [0; NONCE_LEN];
        for (to, from) in whole.iter_mut().zip(iv.iter().chain(explicit)) {
            *to = *from;
        }
        Records { cipher: Cipher::new(self.algorithm, key.as_ref()), iv: Iv::new(whole), explicit: self.explicit_len() }
    }
}

impl Tls12AeadAlgorithm for Aead {
    fn encrypter(&self, key: AeadKey, iv: &[u8], extra: &[u8]) -> Box<dyn MessageEncrypter> {
        Box::new(self.records(&key, iv, extra))
    }

    fn decrypter(&self, key: AeadKey, iv: &[u8]) -> Box<dyn MessageDecrypter> {
        Box::new(self.records(&key, iv, &[]))
    }

    fn key_block_shape(&self) -> KeyBlockShape {
        KeyBlockShape {
            enc_key_len: self.algorithm.key_len(),
            fixed_iv_len: NONCE_LEN - self.explicit_len(),
            explicit_nonce_len: self.explicit_len(),
        }
    }

    fn extract_keys(
        &self,
        key: AeadKey,
        iv: &[u8],
        explicit: &[u8],
    ) -> Result<ConnectionTrafficSecrets, UnsupportedOperationError> {
        self.theirs.extract_keys(key, iv, explicit)
    }
}

struct Records {
    cipher: Cipher,
    /// The fixed part of the nonce. For sealing with AES-GCM also the start of the sent part, which is XORed with the
    /// record number so that it never repeats.
    iv: Iv,
    explicit: usize,
}

impl MessageEncrypter for Records {
    fn encrypt(&mut self, message: OutboundPlainMessage<'_>, seq: u64) -> Result<OutboundOpaqueMessage, Error> {
        let mut payload = PrefixedPayload::with_capacity(self.encrypted_payload_len(message.payload.len()));
        let nonce = Nonce::new(&self.iv, seq).0;
        let ad = make_tls12_aad(seq, message.typ, message.version, message.payload.len());
        payload.extend_from_slice(&nonce[NONCE_LEN - self.explicit..]);
        payload.extend_from_chunks(&message.payload);
        let tag = self.cipher.seal(&nonce, &ad, &mut payload.as_mut()[self.explicit..])?;
        payload.extend_from_slice(&tag);
        Ok(OutboundOpaqueMessage::new(message.typ, message.version, payload))
    }

    fn encrypted_payload_len(&self, payload_len: usize) -> usize {
        self.explicit + payload_len + TAG_LEN
    }
}

impl MessageDecrypter for Records {
    fn decrypt<'a>(
        &mut self,
        mut message: InboundOpaqueMessage<'a>,
        seq: u64,
    ) -> Result<InboundPlainMessage<'a>, Error> {
        let explicit = self.explicit;
        let length = message.payload.len().checked_sub(explicit + TAG_LEN).ok_or(Error::DecryptError)?;
        let mut nonce = Nonce::new(&self.iv, seq).0;
        if explicit > 0 {
            nonce[SALT_LEN..].copy_from_slice(&message.payload[..explicit]);
        }
        let ad = make_tls12_aad(seq, message.typ, message.version, length);
        self.cipher.open(&nonce, &ad, &mut message.payload[explicit..])?;
        if length > FRAGMENT_MAX {
            return Err(Error::PeerSentOversizedRecord); // only after authentication, so that a forger cannot cause it
        }
        Ok(message.into_plain_message_range(explicit..explicit + length))
    }
}
