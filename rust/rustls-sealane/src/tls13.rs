//! TLS 1.3 records (RFC 8446, section 5.2).

use rustls::crypto::cipher::{
    make_tls13_aad, AeadKey, InboundOpaqueMessage, InboundPlainMessage, Iv, MessageDecrypter, MessageEncrypter, Nonce,
    OutboundOpaqueMessage, OutboundPlainMessage, PrefixedPayload, Tls13AeadAlgorithm, UnsupportedOperationError,
};
use rustls::crypto::CipherSuiteCommon;
use rustls::{ConnectionTrafficSecrets, ContentType, Error, ProtocolVersion, SupportedCipherSuite, Tls13CipherSuite};
use sealane::{Algorithm, TAG_LEN};

use crate::quic::Quic;
use crate::Cipher;

/// A suite of another provider with its AEAD replaced. It supports QUIC even if the other suite does not, as in
/// graviola.
pub(crate) fn suite(theirs: &'static Tls13CipherSuite, algorithm: Algorithm) -> SupportedCipherSuite {
    let aead: &'static Aead = Box::leak(Box::new(Aead { algorithm, theirs: theirs.aead_alg }));
    SupportedCipherSuite::Tls13(Box::leak(Box::new(Tls13CipherSuite {
        common: CipherSuiteCommon {
            suite: theirs.common.suite,
            hash_provider: theirs.common.hash_provider,
            confidentiality_limit: theirs.common.confidentiality_limit,
        },
        hkdf_provider: theirs.hkdf_provider,
        aead_alg: aead,
        quic: Some(Box::leak(Box::new(Quic(algorithm)))),
    })))
}

struct Aead {
    algorithm: Algorithm,
    theirs: &'static dyn Tls13AeadAlgorithm,
}

impl Tls13AeadAlgorithm for Aead {
    fn encrypter(&self, key: AeadKey, iv: Iv) -> Box<dyn MessageEncrypter> {
        Box::new(Records { cipher: Cipher::new(self.algorithm, key.as_ref()), iv })
    }

    fn decrypter(&self, key: AeadKey, iv: Iv) -> Box<dyn MessageDecrypter> {
        Box::new(Records { cipher: Cipher::new(self.algorithm, key.as_ref()), iv })
    }

    fn key_len(&self) -> usize {
        self.algorithm.key_len()
    }

    fn extract_keys(&self, key: AeadKey, iv: Iv) -> Result<ConnectionTrafficSecrets, UnsupportedOperationError> {
        self.theirs.extract_keys(key, iv)
    }
}

struct Records {
    cipher: Cipher,
    iv: Iv,
}

impl MessageEncrypter for Records {
    fn encrypt(&mut self, message: OutboundPlainMessage<'_>, seq: u64) -> Result<OutboundOpaqueMessage, Error> {
        let length = self.encrypted_payload_len(message.payload.len());
        let mut payload = PrefixedPayload::with_capacity(length);
        payload.extend_from_chunks(&message.payload);
        payload.extend_from_slice(&[message.typ.into()]);
        let tag = self.cipher.seal(&Nonce::new(&self.iv, seq).0, &make_tls13_aad(length), payload.as_mut())?;
        payload.extend_from_slice(&tag);
        Ok(OutboundOpaqueMessage::new(ContentType::ApplicationData, ProtocolVersion::TLSv1_2, payload))
    }

    fn encrypted_payload_len(&self, payload_len: usize) -> usize {
        payload_len + 1 + TAG_LEN
    }
}

impl MessageDecrypter for Records {
    fn decrypt<'a>(
        &mut self,
        mut message: InboundOpaqueMessage<'a>,
        seq: u64,
    ) -> Result<InboundPlainMessage<'a>, Error> {
        let payload = &mut message.payload;
        let ad = make_tls13_aad(payload.len());
        let length = self.cipher.open(&Nonce::new(&self.iv, seq).0, &ad, payload)?;
        payload.truncate(length);
        message.into_tls13_unpadded_message()
    }
}
