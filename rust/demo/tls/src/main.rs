//! Downloads over TLS 1.3, and QUIC packets, with rustls on ring's provider and on sealane's.
//! It measures the CPU time of both ends, in memory, alternating, with the minimum of each. It fails if the
//! received bytes differ from the sent ones.
//!
//!     tls-demo [MEGABYTES]

use std::io::{Read, Write};
use std::sync::Arc;

use rustls::crypto::CryptoProvider;
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer, ServerName};
use rustls::quic::{Keys, Version};
use rustls::{
    CipherSuite, ClientConfig, ClientConnection, Connection, RootCertStore, ServerConfig, ServerConnection, Side,
};

const TURNS: usize = 7;
const RECORD: usize = 16384;
const PACKET: usize = 1200;
const PACKETS: u64 = 20_000;

fn cpu_seconds() -> f64 {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `now` is writable.
    assert_eq!(unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &mut now) }, 0);
    now.tv_sec as f64 + now.tv_nsec as f64 / 1e9
}

fn only(mut provider: CryptoProvider, suite: CipherSuite) -> Arc<CryptoProvider> {
    provider.cipher_suites.retain(|one| one.suite() == suite);
    assert_eq!(provider.cipher_suites.len(), 1);
    provider.into()
}

/// Transfers all output from one side to the other.
fn carry(from: &mut Connection, to: &mut Connection, wire: &mut Vec<u8>) {
    wire.clear();
    while from.wants_write() {
        from.write_tls(wire).expect("written");
    }
    let mut rest = &wire[..];
    while !rest.is_empty() {
        to.read_tls(&mut rest).expect("read");
        to.process_new_packets().expect("authentic");
    }
}

/// A client and a server after the handshake.
fn connect(provider: &Arc<CryptoProvider>) -> (Connection, Connection) {
    let made = rcgen::generate_simple_self_signed(["localhost".to_string()]).expect("certificate");
    let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(made.key_pair.serialize_der()));
    let mut roots = RootCertStore::empty();
    roots.add(made.cert.der().clone()).expect("root");
    let client = ClientConfig::builder_with_provider(provider.clone())
        .with_protocol_versions(&[&rustls::version::TLS13])
        .expect("versions")
        .with_root_certificates(roots)
        .with_no_client_auth();
    let server = ServerConfig::builder_with_provider(provider.clone())
        .with_protocol_versions(&[&rustls::version::TLS13])
        .expect("versions")
        .with_no_client_auth()
        .with_single_cert(vec![made.cert.der().clone()], key)
        .expect("server");
    let name = ServerName::try_from("localhost").expect("name");
    let mut client: Connection = ClientConnection::new(client.into(), name).expect("client").into();
    let mut server: Connection = ServerConnection::new(server.into()).expect("server").into();
    let mut wire = vec![];
    while client.is_handshaking() || server.is_handshaking() {
        carry(&mut client, &mut server, &mut wire);
        carry(&mut server, &mut client, &mut wire);
    }
    (client, server)
}

/// CPU seconds for a download of that many records.
fn download(provider: &Arc<CryptoProvider>, records: usize) -> f64 {
    let (mut client, mut server) = connect(provider);
    let text: Vec<u8> = (0..RECORD).map(|i| (i * 7) as u8).collect();
    let (mut got, mut wire) = (vec![0; RECORD], vec![]);
    let start = cpu_seconds();
    for _ in 0..records {
        server.writer().write_all(&text).expect("written");
        carry(&mut server, &mut client, &mut wire);
        client.reader().read_exact(&mut got).expect("read");
        assert!(got == text, "what was downloaded differs");
    }
    cpu_seconds() - start
}

/// CPU seconds for sealing, masking, unmasking and opening packets.
fn quic(provider: &Arc<CryptoProvider>) -> f64 {
    let suite = provider.cipher_suites[0].tls13().expect("of TLS 1.3");
    let algorithm = suite.quic.expect("of QUIC");
    let keys = |side| Keys::initial(Version::V1, suite, algorithm, b"\x83\x94\xc8\xf0\x3e\x51\x57\x08", side);
    let (client, server) = (keys(Side::Client), keys(Side::Server));
    let text = vec![0x42; PACKET - 13 - 16];
    let mut packet = vec![0; PACKET];
    let start = cpu_seconds();
    for number in 0..PACKETS {
        let (header, rest) = packet.split_at_mut(13);
        header.copy_from_slice(&[0x43, 1, 2, 3, 4, 5, 6, 7, 8, 0, 0, 0, 0]);
        header[9..].copy_from_slice(&(number as u32).to_be_bytes());
        let (body, end) = rest.split_at_mut(text.len());
        body.copy_from_slice(&text);
        let tag = client.local.packet.encrypt_in_place(number, header, body).expect("sealed");
        end.copy_from_slice(tag.as_ref());
        let (first, packet_number) = header.split_at_mut(1);
        client.local.header.encrypt_in_place(&rest[..16], &mut first[0], &mut packet_number[8..]).expect("masked");

        let (first, packet_number) = header.split_at_mut(1);
        server.remote.header.decrypt_in_place(&rest[..16], &mut first[0], &mut packet_number[8..]).expect("laid open");
        assert_eq!(header[9..], (number as u32).to_be_bytes());
        let opened = server.remote.packet.decrypt_in_place(number, header, rest).expect("opened");
        assert!(opened == text, "a packet differs");
    }
    cpu_seconds() - start
}

fn main() {
    let megabytes: usize = std::env::args().nth(1).map_or(32, |argument| argument.parse().expect("a number"));
    let records = megabytes * (1 << 20) / RECORD;
    println!("CPU time of both ends together, least of {TURNS} turns: ring, sealane");
    for suite in [
        CipherSuite::TLS13_CHACHA20_POLY1305_SHA256,
        CipherSuite::TLS13_AES_128_GCM_SHA256,
        CipherSuite::TLS13_AES_256_GCM_SHA384,
    ] {
        let providers = [
            only(rustls::crypto::ring::default_provider(), suite),
            only(rustls_sealane::on(rustls::crypto::ring::default_provider()), suite),
        ];
        let mut least = [[f64::MAX; 2]; 2];
        for _ in 0..TURNS {
            for (provider, least) in providers.iter().zip(&mut least) {
                least[0] = least[0].min(download(provider, records));
                least[1] = least[1].min(quic(provider));
            }
        }
        let [ring, sealane] = least;
        let name = suite.as_str().expect("a name");
        let record = |seconds: f64| seconds * 1e9 / records as f64;
        let packet = |seconds: f64| seconds * 1e9 / PACKETS as f64;
        println!("{name}, a record of 16 KiB: {:.0} ns, {:.0} ns", record(ring[0]), record(sealane[0]));
        println!("{name}, a QUIC packet of 1200 bytes: {:.0} ns, {:.0} ns", packet(ring[1]), packet(sealane[1]));
    }
}
