//! A provider whose cipher suites count the keys that they make, and optionally sum up the time of sealing and opening.
//! Keys that are not timed are the provider's own, so counting costs nothing per record.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::time::{Duration, Instant};

use rustls::crypto::cipher::{
    AeadKey, InboundOpaqueMessage, InboundPlainMessage, Iv, MessageDecrypter, MessageEncrypter, OutboundOpaqueMessage,
    OutboundPlainMessage, Tls13AeadAlgorithm, UnsupportedOperationError,
};
use rustls::crypto::{CipherSuiteCommon, CryptoProvider};
use rustls::quic::{Algorithm, HeaderProtectionKey, PacketKey, Tag};
use rustls::{CipherSuite, ConnectionTrafficSecrets, Error, SupportedCipherSuite, Tls13CipherSuite};

pub struct Watched {
    pub name: &'static str,
    provider: CryptoProvider,
    counts: Vec<&'static Count>, // one for each suite
}

struct Count {
    suite: CipherSuite,
    timed: bool,
    keys: AtomicUsize,
    calls: AtomicU64,
    interrupted: AtomicU64,
    nanoseconds: AtomicU64,
}

/// A longer call was interrupted: a record of 16 KiB takes some microseconds.
const INTERRUPTED: u64 = 100_000;

impl Count {
    fn time<T>(&self, work: impl FnOnce() -> T) -> T {
        let start = Instant::now();
        let made = work();
        let took = start.elapsed().as_nanos() as u64;
        if took < INTERRUPTED {
            self.calls.fetch_add(1, Relaxed);
            self.nanoseconds.fetch_add(took, Relaxed);
        } else {
            self.interrupted.fetch_add(1, Relaxed);
        }
        made
    }

    /// Assumes that interrupted calls took as long as the others.
    fn took(&self) -> Duration {
        let [calls, interrupted, nanoseconds] =
            [&self.calls, &self.interrupted, &self.nanoseconds].map(|n| n.load(Relaxed) as f64);
        Duration::from_nanos((nanoseconds * (1.0 + interrupted / calls.max(1.0))) as u64)
    }
}

impl Watched {
    /// Supports only TLS 1.3.
    pub fn new(name: &'static str, mut provider: CryptoProvider, timed: bool) -> Self {
        let mut counts = vec![];
        let suites = provider.cipher_suites.iter().filter_map(SupportedCipherSuite::tls13);
        let suites = suites.map(|theirs| {
            let [calls, interrupted, nanoseconds] = [(); 3].map(|()| AtomicU64::new(0));
            let (suite, keys) = (theirs.common.suite, AtomicUsize::new(0));
            let count: &'static Count =
                Box::leak(Box::new(Count { suite, timed, keys, calls, interrupted, nanoseconds }));
            counts.push(count);
            watched(theirs, count)
        });
        provider.cipher_suites = suites.collect();
        Watched { name, provider, counts }
    }

    /// The provider with that suite, followed by the one with which QUIC starts; `None` if it has no suite with that
    /// name.
    pub fn first(&self, suite: &str) -> Option<CryptoProvider> {
        let mut provider = self.provider.clone();
        let named = |one: &SupportedCipherSuite| one.suite().as_str() == Some(suite);
        provider.cipher_suites.retain(|one| named(one) || one.suite() == CipherSuite::TLS13_AES_128_GCM_SHA256);
        provider.cipher_suites.sort_by_key(|one| !named(one));
        provider.cipher_suites.first().is_some_and(named).then_some(provider)
    }

    /// The number of keys that a suite has made.
    pub fn keys(&self, suite: &str) -> usize {
        let counts = self.counts.iter().filter(|count| count.suite.as_str() == Some(suite));
        counts.map(|count| count.keys.load(Relaxed)).sum()
    }

    pub fn all_keys(&self) -> usize {
        self.counts.iter().map(|count| count.keys.load(Relaxed)).sum()
    }

    /// The time of sealing, opening and QUIC masks.
    pub fn took(&self) -> Duration {
        self.counts.iter().map(|count| count.took()).sum()
    }
}

fn watched(theirs: &'static Tls13CipherSuite, count: &'static Count) -> SupportedCipherSuite {
    let common = CipherSuiteCommon {
        suite: theirs.common.suite,
        hash_provider: theirs.common.hash_provider,
        confidentiality_limit: theirs.common.confidentiality_limit,
    };
    SupportedCipherSuite::Tls13(Box::leak(Box::new(Tls13CipherSuite {
        common,
        hkdf_provider: theirs.hkdf_provider,
        aead_alg: Box::leak(Box::new(Aead { theirs: theirs.aead_alg, count })),
        quic: theirs.quic.map(|theirs| -> &'static dyn Algorithm { Box::leak(Box::new(Quic { theirs, count })) }),
    })))
}

struct Aead {
    theirs: &'static dyn Tls13AeadAlgorithm,
    count: &'static Count,
}

impl Tls13AeadAlgorithm for Aead {
    fn encrypter(&self, key: AeadKey, iv: Iv) -> Box<dyn MessageEncrypter> {
        self.count.keys.fetch_add(1, Relaxed);
        let theirs = self.theirs.encrypter(key, iv);
        if self.count.timed {
            Box::new(Timed { theirs, count: self.count })
        } else {
            theirs
        }
    }

    fn decrypter(&self, key: AeadKey, iv: Iv) -> Box<dyn MessageDecrypter> {
        self.count.keys.fetch_add(1, Relaxed);
        let theirs = self.theirs.decrypter(key, iv);
        if self.count.timed {
            Box::new(Timed { theirs, count: self.count })
        } else {
            theirs
        }
    }

    fn key_len(&self) -> usize {
        self.theirs.key_len()
    }

    fn extract_keys(&self, key: AeadKey, iv: Iv) -> Result<ConnectionTrafficSecrets, UnsupportedOperationError> {
        self.theirs.extract_keys(key, iv)
    }
}

struct Quic {
    theirs: &'static dyn Algorithm,
    count: &'static Count,
}

impl Algorithm for Quic {
    fn packet_key(&self, key: AeadKey, iv: Iv) -> Box<dyn PacketKey> {
        self.count.keys.fetch_add(1, Relaxed);
        let theirs = self.theirs.packet_key(key, iv);
        if self.count.timed {
            Box::new(Timed { theirs, count: self.count })
        } else {
            theirs
        }
    }

    fn header_protection_key(&self, key: AeadKey) -> Box<dyn HeaderProtectionKey> {
        self.count.keys.fetch_add(1, Relaxed);
        let theirs = self.theirs.header_protection_key(key);
        if self.count.timed {
            Box::new(Timed { theirs, count: self.count })
        } else {
            theirs
        }
    }

    fn aead_key_len(&self) -> usize {
        self.theirs.aead_key_len()
    }
}

struct Timed<T> {
    theirs: T,
    count: &'static Count,
}

impl MessageEncrypter for Timed<Box<dyn MessageEncrypter>> {
    fn encrypt(&mut self, message: OutboundPlainMessage<'_>, seq: u64) -> Result<OutboundOpaqueMessage, Error> {
        self.count.time(|| self.theirs.encrypt(message, seq))
    }

    fn encrypted_payload_len(&self, payload_len: usize) -> usize {
        self.theirs.encrypted_payload_len(payload_len)
    }
}

impl MessageDecrypter for Timed<Box<dyn MessageDecrypter>> {
    fn decrypt<'a>(&mut self, message: InboundOpaqueMessage<'a>, seq: u64) -> Result<InboundPlainMessage<'a>, Error> {
        self.count.time(|| self.theirs.decrypt(message, seq))
    }
}

impl PacketKey for Timed<Box<dyn PacketKey>> {
    fn encrypt_in_place(&self, packet_number: u64, header: &[u8], payload: &mut [u8]) -> Result<Tag, Error> {
        self.count.time(|| self.theirs.encrypt_in_place(packet_number, header, payload))
    }

    fn decrypt_in_place<'a>(&self, number: u64, header: &[u8], payload: &'a mut [u8]) -> Result<&'a [u8], Error> {
        self.count.time(|| self.theirs.decrypt_in_place(number, header, payload))
    }

    fn tag_len(&self) -> usize {
        self.theirs.tag_len()
    }

    fn confidentiality_limit(&self) -> u64 {
        self.theirs.confidentiality_limit()
    }

    fn integrity_limit(&self) -> u64 {
        self.theirs.integrity_limit()
    }
}

impl HeaderProtectionKey for Timed<Box<dyn HeaderProtectionKey>> {
    fn encrypt_in_place(&self, sample: &[u8], first: &mut u8, packet_number: &mut [u8]) -> Result<(), Error> {
        self.count.time(|| self.theirs.encrypt_in_place(sample, first, packet_number))
    }

    fn decrypt_in_place(&self, sample: &[u8], first: &mut u8, packet_number: &mut [u8]) -> Result<(), Error> {
        self.count.time(|| self.theirs.decrypt_in_place(sample, first, packet_number))
    }

    fn sample_len(&self) -> usize {
        self.theirs.sample_len()
    }
}
