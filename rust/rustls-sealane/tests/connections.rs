//! Connections in memory between sealane and ring's own provider, in each cipher suite, both ways; records and packets that
//! were changed are refused. `SEALANE_PLANT` names a fault that a test must find.

use std::io::{Read, Write};
use std::sync::Arc;

use rustls::crypto::CryptoProvider;
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer, ServerName};
use rustls::quic::{Keys, Version};
use rustls::{
    CipherSuite, ClientConfig, ClientConnection, Connection, NamedGroup, RootCertStore, ServerConfig, ServerConnection,
    Side, SupportedCipherSuite,
};

fn planted(name: &str) -> bool {
    std::env::var_os("SEALANE_PLANT").is_some_and(|plant| plant == name)
}

fn ring() -> CryptoProvider {
    rustls::crypto::ring::default_provider()
}

fn ours() -> CryptoProvider {
    rustls_sealane::on(ring())
}

fn only(mut provider: CryptoProvider, suite: CipherSuite) -> Arc<CryptoProvider> {
    provider.cipher_suites.retain(|one| one.suite() == suite);
    assert_eq!(provider.cipher_suites.len(), 1);
    provider.into()
}

/// A client and a server that have shaken hands.
fn connect(client: Arc<CryptoProvider>, server: Arc<CryptoProvider>) -> (Connection, Connection) {
    let made = rcgen::generate_simple_self_signed(["localhost".to_string()]).expect("certificate");
    let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(made.key_pair.serialize_der()));
    let mut roots = RootCertStore::empty();
    roots.add(made.cert.der().clone()).expect("root");
    let client = ClientConfig::builder_with_provider(client)
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_root_certificates(roots)
        .with_no_client_auth();
    let server = ServerConfig::builder_with_provider(server)
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_no_client_auth()
        .with_single_cert(vec![made.cert.der().clone()], key)
        .expect("server");
    let name = ServerName::try_from("localhost").expect("name");
    let mut client: Connection = ClientConnection::new(client.into(), name).expect("client").into();
    let mut server: Connection = ServerConnection::new(server.into()).expect("server").into();
    while client.is_handshaking() || server.is_handshaking() {
        carry(&mut client, &mut server, |_| ()).expect("handshake");
        carry(&mut server, &mut client, |_| ()).expect("handshake");
    }
    (client, server)
}

/// Brings what one has written to the other, and changes it on the way. Returns the text that comes out there.
fn carry(from: &mut Connection, to: &mut Connection, change: impl Fn(&mut [u8])) -> Result<Vec<u8>, rustls::Error> {
    let (mut wire, mut text) = (vec![], vec![]);
    while from.wants_write() {
        from.write_tls(&mut wire).expect("written");
    }
    change(&mut wire);
    let mut rest = &wire[..];
    while !rest.is_empty() {
        to.read_tls(&mut rest).expect("read");
        let here = to.process_new_packets()?.plaintext_bytes_to_read();
        let before = text.len();
        text.resize(before + here, 0);
        to.reader().read_exact(&mut text[before..]).expect("text");
    }
    Ok(text)
}

fn transfer(from: &mut Connection, to: &mut Connection, bytes: usize) {
    let text: Vec<u8> = (0..bytes).map(|i| (i * 7 + bytes) as u8).collect();
    from.writer().write_all(&text).expect("written");
    let mut got = carry(from, to, |_| ()).expect("carried");
    if planted("transfer") && bytes == 1000 {
        got[999] ^= 1;
    }
    assert!(got == text, "{bytes} bytes");
}

fn suites() -> Vec<CipherSuite> {
    ring().cipher_suites.iter().map(SupportedCipherSuite::suite).filter(|suite| !is_rsa(*suite)).collect()
}

/// The certificates of this test are of the other kind.
fn is_rsa(suite: CipherSuite) -> bool {
    format!("{suite:?}").contains("_RSA_")
}

/// What `on` gives has all that its base has, for each base: suites, groups, signatures, and QUIC.
#[test]
fn all_of_the_base_is_there() {
    for base in [ring(), rustls_graviola::default_provider()] {
        let mut ours = rustls_sealane::on(base.clone());
        if planted("base") {
            ours.kx_groups.pop();
        }
        assert_eq!(format!("{:?}", ours.kx_groups), format!("{:?}", base.kx_groups));
        let verified = |provider: &CryptoProvider| provider.signature_verification_algorithms.supported_schemes();
        assert_eq!(verified(&ours), verified(&base));
        assert_eq!(ours.cipher_suites.len(), base.cipher_suites.len());
        for (ours, theirs) in ours.cipher_suites.iter().zip(&base.cipher_suites) {
            assert_eq!(ours.suite(), theirs.suite());
            if let (Some(ours), Some(theirs)) = (ours.tls13(), theirs.tls13()) {
                assert_eq!(ours.quic.is_some(), theirs.quic.is_some());
                assert_eq!(ours.common.confidentiality_limit, theirs.common.confidentiality_limit);
            }
        }
        assert!(!ours.fips());
    }
}

/// The default prefers the key exchange that is safe from quantum computers, and speaks to who has none.
#[test]
fn post_quantum_key_exchange() {
    let default = rustls_sealane::default_provider();
    let theirs = rustls_graviola::default_provider();
    for (client, server) in [(&default, &theirs), (&theirs, &default), (&default, &default)] {
        let (mut client, mut server) = connect(client.clone().into(), server.clone().into());
        let group = client.negotiated_key_exchange_group().map(|group| group.name());
        assert_eq!(group, Some(NamedGroup::X25519MLKEM768));
        transfer(&mut client, &mut server, 1000);
    }
    let (mut client, mut server) = connect(default.into(), ring().into());
    transfer(&mut server, &mut client, 5000);
}

#[test]
fn connections_with_ring() {
    assert!(suites().len() >= 6);
    for suite in suites() {
        let ours = only(ours(), suite);
        let theirs = only(ring(), suite);
        for (client, server) in [(&ours, &theirs), (&theirs, &ours), (&ours, &ours)] {
            let (mut client, mut server) = connect(client.clone(), server.clone());
            assert_eq!(client.negotiated_cipher_suite().map(|suite| suite.suite()), Some(suite));
            for bytes in [1, 15, 16, 17, 1000, 16383, 16384, 16385, 50000] {
                transfer(&mut client, &mut server, bytes);
                transfer(&mut server, &mut client, bytes);
            }
        }
    }
}

#[test]
fn changed_records_are_refused() {
    for suite in suites() {
        let ours = only(ours(), suite);
        // Every byte behind the record's header, of a short record: nonce, text, tag.
        for at in 5..40 {
            let (mut client, mut server) = connect(ours.clone(), ours.clone());
            client.writer().write_all(b"some text").expect("written");
            let refused = carry(&mut client, &mut server, |wire| {
                let at = at.min(wire.len() - 1);
                wire[at] ^= if planted("forgery") { 0 } else { 0x10 };
            });
            assert_eq!(refused, Err(rustls::Error::DecryptError), "{suite:?}, byte {at}");
            let mut got = vec![];
            assert!(server.reader().read_to_end(&mut got).is_err() && got.is_empty());
        }
    }
}

#[test]
fn quic_packets_are_those_of_ring() {
    for (ours, theirs) in ours().cipher_suites.iter().zip(&ring().cipher_suites) {
        let (Some(ours), Some(theirs)) = (ours.tls13(), theirs.tls13()) else { continue };
        let (Some(our_quic), Some(their_quic)) = (ours.quic, theirs.quic) else { continue };
        // Keys of initial packets are derived from a connection's number for any suite.
        let ours = Keys::initial(Version::V1, ours, our_quic, b"\x83\x94\xc8\xf0\x3e\x51\x57\x08", Side::Client);
        let theirs = Keys::initial(Version::V1, theirs, their_quic, b"\x83\x94\xc8\xf0\x3e\x51\x57\x08", Side::Server);
        assert_eq!(ours.local.packet.integrity_limit(), theirs.local.packet.integrity_limit());
        assert_eq!(ours.local.packet.confidentiality_limit(), theirs.local.packet.confidentiality_limit());
        for bytes in [4, 20, 300, 1162, 1400] {
            let header = [0xc3, 0, 0, 0, 1, 8, 0x83, 0x94, 2];
            let number = bytes as u64 * 77;
            let text = vec![0x42; bytes];
            let mut packet = text.clone();
            let tag = ours.local.packet.encrypt_in_place(number, &header, &mut packet).expect("sealed");
            packet.extend_from_slice(tag.as_ref());
            if planted("quic") {
                packet[0] ^= 1;
            }
            let opened = theirs.remote.packet.decrypt_in_place(number, &header, &mut packet).expect("opened by ring");
            assert!(opened == text);

            let mut packet = text.clone();
            let tag = theirs.local.packet.encrypt_in_place(number, &header, &mut packet).expect("sealed by ring");
            packet.extend_from_slice(tag.as_ref());
            let mut changed = packet.clone();
            changed[bytes / 2] ^= 1;
            assert!(ours.remote.packet.decrypt_in_place(number, &header, &mut changed).is_err());
            packet[bytes / 2] ^= 1;
            assert!(changed == packet, "a refused packet is not as it was");
            packet[bytes / 2] ^= 1;
            assert!(ours.remote.packet.decrypt_in_place(number + 1, &header, &mut packet.clone()).is_err());
            assert!(ours.remote.packet.decrypt_in_place(number, &header, &mut [0; 15]).is_err());
            assert!(ours.remote.packet.decrypt_in_place(number, &header, &mut packet).expect("opened") == text);

            let mut packet = text.clone();
            let tag = ours.local.packet.encrypt_in_place_for_path(3, number, &header, &mut packet).expect("sealed");
            packet.extend_from_slice(tag.as_ref());
            let remote = &theirs.remote.packet;
            assert!(remote.decrypt_in_place_for_path(3, number, &header, &mut packet).expect("opened") == text);
        }
        // Headers: long and short ones, packet numbers of each length.
        assert_eq!(ours.local.header.sample_len(), theirs.local.header.sample_len());
        for first in [0xc0, 0xc1, 0xc2, 0xc3, 0x40, 0x45, 0x5a, 0x5f] {
            let sample = [first ^ 0x5a; 16];
            let packet = (first, [1, 2, 3, 4]);
            let (mut by_us, mut by_them) = (packet, packet);
            ours.local.header.encrypt_in_place(&sample, &mut by_us.0, &mut by_us.1).expect("protected");
            theirs.local.header.encrypt_in_place(&sample, &mut by_them.0, &mut by_them.1).expect("protected by ring");
            assert_ne!(by_us, by_them); // their keys are of the other side
            theirs.remote.header.decrypt_in_place(&sample, &mut by_us.0, &mut by_us.1).expect("laid open by ring");
            by_them.0 ^= u8::from(planted("header"));
            ours.remote.header.decrypt_in_place(&sample, &mut by_them.0, &mut by_them.1).expect("laid open");
            assert_eq!((by_us, by_them), (packet, packet));
            let (mut first, mut number) = packet;
            assert!(ours.local.header.encrypt_in_place(&sample[1..], &mut first, &mut number).is_err());
            assert!(ours.local.header.encrypt_in_place(&sample, &mut first, &mut [0; 5]).is_err());
            assert_eq!((first, number), packet);
        }
    }
}
