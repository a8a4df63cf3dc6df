//! Every cipher suite between sealane and ring's own provider, each as client and as server.
//! It tests resumed sessions, early data, key updates, and records of all lengths. Records that are modified on the
//! way must cause the same error as with ring. `SEALANE_PLANT` names a fault that a test must find.

use std::io::{IoSlice, Read, Write};
use std::sync::Arc;

use rustls::crypto::CryptoProvider;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer, ServerName};
use rustls::{
    AlertDescription, CipherSuite, ClientConfig, ClientConnection, Connection, ConnectionTrafficSecrets, Error,
    HandshakeKind, RootCertStore, ServerConfig, ServerConnection, SupportedCipherSuite,
};

const HEADER: usize = 5;
const TAG: usize = 16;

fn planted(name: &str) -> bool {
    std::env::var_os("SEALANE_PLANT").is_some_and(|plant| plant == name)
}

fn ring() -> CryptoProvider {
    rustls::crypto::ring::default_provider()
}

fn suites() -> Vec<CipherSuite> {
    let suites: Vec<_> = ring().cipher_suites.iter().map(SupportedCipherSuite::suite).collect();
    assert!(suites.len() >= 9);
    suites
}

fn is_tls13(suite: CipherSuite) -> bool {
    format!("{suite:?}").starts_with("TLS13")
}

/// The overhead of a TLS record: the header, the tag, and a nonce before or a type after the text.
fn overhead(suite: CipherSuite) -> usize {
    let chacha = format!("{suite:?}").contains("CHACHA20");
    HEADER
        + TAG
        + if is_tls13(suite) {
            1
        } else if chacha {
            0
        } else {
            8
        }
}

/// A certificate for the suite, and its key. The RSA key was made for this test.
fn certificate(suite: CipherSuite) -> (CertificateDer<'static>, PrivateKeyDer<'static>) {
    let key = if format!("{suite:?}").contains("_RSA_") {
        let key = PrivatePkcs8KeyDer::from(&include_bytes!("rsa.pk8")[..]);
        rcgen::KeyPair::from_pkcs8_der_and_sign_algo(&key, &rcgen::PKCS_RSA_SHA256).expect("an RSA key")
    } else {
        rcgen::KeyPair::generate().expect("a key")
    };
    let parameters = rcgen::CertificateParams::new(["localhost".to_string()]).expect("names");
    let made = parameters.self_signed(&key).expect("a certificate");
    (made.der().clone(), PrivatePkcs8KeyDer::from(key.serialize_der()).into())
}

#[derive(Clone)]
struct Ends {
    client: ClientConfig,
    server: ServerConfig,
}

/// A client and a server that support only one suite.
fn ends(suite: CipherSuite, client: CryptoProvider, server: CryptoProvider) -> Ends {
    let [client, server] = [client, server].map(|mut provider| {
        provider.cipher_suites.retain(|one| one.suite() == suite);
        assert_eq!(provider.cipher_suites.len(), 1);
        Arc::new(provider)
    });
    let (certificate, key) = certificate(suite);
    let mut roots = RootCertStore::empty();
    roots.add(certificate.clone()).expect("root");
    Ends {
        client: ClientConfig::builder_with_provider(client)
            .with_safe_default_protocol_versions()
            .expect("versions")
            .with_root_certificates(roots)
            .with_no_client_auth(),
        server: ServerConfig::builder_with_provider(server)
            .with_safe_default_protocol_versions()
            .expect("versions")
            .with_no_client_auth()
            .with_single_cert(vec![certificate], key)
            .expect("server"),
    }
}

/// sealane as client, as server, and as both, with ring as the other.
fn pairs(suite: CipherSuite) -> [Ends; 3] {
    let ours = || rustls_sealane::on(ring());
    [ends(suite, ours(), ring()), ends(suite, ring(), ours()), ends(suite, ours(), ours())]
}

/// A client and a server that have not exchanged data yet.
fn begin(client: &Arc<ClientConfig>, server: &Arc<ServerConfig>) -> (Connection, Connection) {
    let name = ServerName::try_from("localhost").expect("name");
    let client = ClientConnection::new(client.clone(), name).expect("client");
    (client.into(), ServerConnection::new(server.clone()).expect("server").into())
}

fn shake_hands(client: &mut Connection, server: &mut Connection) {
    for _ in 0..10 {
        assert_eq!(carry(client, server).expect("handshake"), b"");
        assert_eq!(carry(server, client).expect("handshake"), b"");
    }
    assert!(!client.is_handshaking() && !server.is_handshaking());
}

fn connect(ends: &Ends) -> (Connection, Connection) {
    let (mut client, mut server) = begin(&ends.client.clone().into(), &ends.server.clone().into());
    shake_hands(&mut client, &mut server);
    (client, server)
}

/// All bytes that one side wants to send.
fn wire(from: &mut Connection) -> Vec<u8> {
    let mut wire = vec![];
    while from.wants_write() {
        from.write_tls(&mut wire).expect("written");
    }
    wire
}

/// Processes the received bytes and returns their plaintext.
fn receive(to: &mut Connection, mut wire: &[u8]) -> Result<Vec<u8>, Error> {
    let mut text = vec![];
    while !wire.is_empty() {
        to.read_tls(&mut wire).expect("read");
        let here = to.process_new_packets()?.plaintext_bytes_to_read();
        let before = text.len();
        text.resize(before + here, 0);
        to.reader().read_exact(&mut text[before..]).expect("text");
    }
    Ok(text)
}

fn carry(from: &mut Connection, to: &mut Connection) -> Result<Vec<u8>, Error> {
    let wire = wire(from);
    receive(to, &wire)
}

fn text(bytes: usize) -> Vec<u8> {
    (0..bytes).map(|i| (i * 7 + (i >> 8) + bytes) as u8).collect()
}

fn transfer(from: &mut Connection, to: &mut Connection, bytes: usize) {
    from.writer().write_all(&text(bytes)).expect("written");
    assert!(carry(from, to).expect("carried") == text(bytes), "{bytes} bytes");
}

fn both_ways(client: &mut Connection, server: &mut Connection) {
    for bytes in [1, 16, 1000, 16384, 40000] {
        transfer(client, server, bytes);
        transfer(server, client, bytes);
    }
}

/// Splits received bytes into records.
fn records(mut wire: &[u8]) -> Vec<Vec<u8>> {
    let mut records = vec![];
    while !wire.is_empty() {
        let bytes = HEADER + usize::from(u16::from_be_bytes([wire[3], wire[4]]));
        records.push(wire[..bytes].to_vec());
        wire = &wire[bytes..];
    }
    records
}

#[test]
fn sessions_are_resumed() {
    for suite in suites() {
        for mut ends in pairs(suite) {
            if planted("resumption") && suite == CipherSuite::TLS13_AES_256_GCM_SHA384 {
                ends.client.resumption = rustls::client::Resumption::disabled();
            }
            let (client, server) = (Arc::new(ends.client), Arc::new(ends.server));
            for kind in [HandshakeKind::Full, HandshakeKind::Resumed, HandshakeKind::Resumed] {
                let (mut client, mut server) = begin(&client, &server);
                shake_hands(&mut client, &mut server);
                let found = [&client, &server].map(|end| end.handshake_kind().expect("shaken hands"));
                assert_eq!(found, [kind; 2], "{suite:?}");
                both_ways(&mut client, &mut server);
            }
        }
    }
}

#[test]
fn early_data_arrives() {
    for suite in suites().into_iter().filter(|suite| is_tls13(*suite)) {
        for mut ends in pairs(suite) {
            ends.client.enable_early_data = true;
            ends.server.max_early_data_size = if planted("early") { 0 } else { 40000 };
            let (client, server) = (Arc::new(ends.client), Arc::new(ends.server));
            for (bytes, change) in [(0, false), (1, false), (1000, false), (30000, false), (1000, true)] {
                let (mut client, mut server) = begin(&client, &server);
                if bytes > 0 {
                    let Connection::Client(client) = &mut client else { unreachable!() };
                    let mut early = client.early_data().expect("a ticket that allows early data");
                    early.write_all(&text(bytes)).expect("written");
                }
                let mut hello = wire(&mut client);
                if change {
                    *hello.last_mut().expect("a tag") ^= 1;
                    assert_eq!(receive(&mut server, &hello), Err(Error::DecryptError), "{suite:?}");
                    continue;
                }
                assert_eq!(receive(&mut server, &hello).expect("authentic"), b"");
                {
                    let Connection::Server(server) = &mut server else { unreachable!() };
                    let mut got = vec![];
                    if let Some(mut early) = server.early_data() {
                        early.read_to_end(&mut got).expect("read");
                    }
                    assert!(got == text(bytes), "{suite:?}: {} of {bytes} bytes of early data", got.len());
                }
                shake_hands(&mut client, &mut server);
                let Connection::Client(ended) = &client else { unreachable!() };
                assert_eq!(ended.is_early_data_accepted(), bytes > 0);
                both_ways(&mut client, &mut server);
            }
        }
    }
}

#[test]
fn keys_are_updated() {
    for suite in suites() {
        for ends in pairs(suite) {
            let (mut client, mut server) = connect(&ends);
            if !is_tls13(suite) {
                assert!(client.refresh_traffic_keys().is_err()); // TLS 1.2 has no key update
                continue;
            }
            for turn in 0..6 {
                let (from, to) = if turn % 2 == 0 { (&mut client, &mut server) } else { (&mut server, &mut client) };
                if !planted("update") {
                    from.refresh_traffic_keys().expect("updated");
                }
                // The key update message is a record of its own, and requests an update from the peer.
                from.writer().write_all(b"behind an update").expect("written");
                let sent = wire(from);
                assert_eq!(records(&sent).len(), 2, "{suite:?}");
                assert_eq!(receive(to, &sent).expect("authentic"), b"behind an update");
                to.writer().write_all(b"and the answer").expect("written");
                let sent = wire(to);
                assert_eq!(records(&sent).len(), 2, "{suite:?}");
                assert_eq!(receive(from, &sent).expect("authentic"), b"and the answer");
                both_ways(&mut client, &mut server);
            }
        }
    }
}

#[test]
fn records_have_all_lengths() {
    for suite in suites() {
        for ends in pairs(suite) {
            // The limit applies to text and header: at least 32 bytes, at most a whole record.
            for (limit, lengths) in [
                (32, [0, 1, 2, 26, 27, 28, 54, 500].as_slice()),
                (100, &[94, 95, 96, 190, 1000]),
                (1029, &[1023, 1024, 1025, 5000]),
                (16389, &[1, 15, 16, 17, 63, 64, 65, 255, 256, 257, 16383, 16384, 16385, 50000]),
            ] {
                let mut ends = ends.clone();
                (ends.client.max_fragment_size, ends.server.max_fragment_size) = (Some(limit), Some(limit));
                let (mut client, mut server) = connect(&ends);
                for (i, bytes) in lengths.iter().enumerate() {
                    let (from, to) = if i % 2 == 0 { (&mut client, &mut server) } else { (&mut server, &mut client) };
                    let text = text(*bytes);
                    // Several slices, which become one text.
                    let slices: Vec<IoSlice<'_>> = text.chunks(bytes / 3 + 1).map(IoSlice::new).collect();
                    assert_eq!(from.writer().write_vectored(&slices).expect("written"), *bytes);
                    let sent = wire(from);
                    let count = (bytes + limit - HEADER - 1) / (limit - HEADER);
                    assert_eq!(records(&sent).len(), count, "{suite:?}, {bytes} bytes, at most {limit}");
                    assert_eq!(
                        sent.len(),
                        bytes + count * overhead(suite),
                        "{suite:?}, {bytes} bytes, at most {limit}"
                    );
                    let mut got = receive(to, &sent).expect("authentic");
                    if planted("records") && *bytes == 16385 {
                        got[16384] ^= 1;
                    }
                    assert!(got == text, "{suite:?}, {bytes} bytes, at most {limit}");
                }
            }
        }
    }
}

/// A name and a modification of three records on the way.
type Change = (String, Box<dyn Fn(&mut Vec<Vec<u8>>)>);

fn changes(suite: CipherSuite) -> Vec<Change> {
    fn change(name: &str, change: impl Fn(&mut Vec<Vec<u8>>) + 'static) -> Change {
        (name.to_string(), Box::new(change))
    }
    /// The same header for a record of another length.
    fn with_length(record: &[u8], bytes: usize) -> Vec<u8> {
        let mut changed = record.to_vec();
        changed.resize(HEADER + bytes, 0x5a);
        changed[3..HEADER].copy_from_slice(&(bytes as u16).to_be_bytes());
        changed
    }
    let more = overhead(suite) - HEADER;
    let mut all = vec![
        change("two change places", |records| records.swap(0, 1)),
        change("one comes twice", |records| records.insert(1, records[0].clone())),
        change("one is lost", |records| drop(records.remove(0))),
        change("no text, no tag", |records| records[0] = with_length(&records[0], 0)),
        change("the first byte", |records| records[1][HEADER] ^= 0x80),
        change("another type", |records| records[0][0] = 22),
        // A record with 16384 bytes of text, and one with one byte more.
        change("the longest", move |records| records[0] = with_length(&records[0], 16384 + more)),
        change("too long", move |records| records[0] = with_length(&records[0], 16385 + more)),
        change("far too long", |records| records[0] = with_length(&records[0], 16384 + 2048 + 1)),
    ];
    for bytes in [1, 8, TAG - 1, TAG, more - 1, more] {
        all.push((format!("{bytes} bytes"), Box::new(move |records| records[0] = with_length(&records[0], bytes))));
    }
    for byte in 0..TAG {
        all.push((
            format!("byte {byte} of the tag"),
            Box::new(move |records| {
                let end = records[0].len();
                records[0][end - TAG + byte] ^= if planted("tag") { 0 } else { 1 << (byte % 8) };
            }),
        ));
    }
    all
}

/// How a connection with modified records ends: the error of the receiver, and the alert that the sender gets.
fn ending(
    ends: &Ends,
    to_client: bool,
    change: &dyn Fn(&mut Vec<Vec<u8>>),
) -> (Result<usize, Error>, Result<(), Error>) {
    let (mut client, mut server) = connect(ends);
    let (from, to) = if to_client { (&mut server, &mut client) } else { (&mut client, &mut server) };
    for bytes in [100, 1, 1000] {
        from.writer().write_all(&text(bytes)).expect("written");
    }
    let mut sent = records(&wire(from));
    assert_eq!(sent.len(), 3);
    change(&mut sent);
    let got = receive(to, &sent.concat()).map(|text| text.len());
    let told = carry(to, from).map(drop);
    (got, told)
}

#[test]
fn changed_records_end_as_with_ring() {
    let ours = || rustls_sealane::on(ring());
    for suite in suites() {
        let (ours, theirs) = (ends(suite, ours(), ours()), ends(suite, ring(), ring()));
        for (name, change) in changes(suite) {
            for to_client in [false, true] {
                let ended = ending(&ours, to_client, &change);
                // TLS 1.3 authenticates the type inside the record, so rustls accepts text under another outer type.
                let passes = is_tls13(suite) && name == "another type";
                assert_eq!(ended.0.is_ok(), passes, "{suite:?}: {name}: {ended:?}");
                assert_eq!(ended, ending(&theirs, to_client, &change), "{suite:?}: {name}");
                if name.contains("tag") {
                    let alert = Err(Error::AlertReceived(AlertDescription::BadRecordMac));
                    assert_eq!(ended, (Err(Error::DecryptError), alert), "{suite:?}: {name}");
                }
            }
        }
    }
}

#[test]
fn secrets_can_be_taken_out() {
    fn bytes(secrets: &ConnectionTrafficSecrets) -> (&str, Vec<u8>) {
        let (name, key, iv) = match secrets {
            ConnectionTrafficSecrets::Aes128Gcm { key, iv } => ("AES_128_GCM", key, iv),
            ConnectionTrafficSecrets::Aes256Gcm { key, iv } => ("AES_256_GCM", key, iv),
            ConnectionTrafficSecrets::Chacha20Poly1305 { key, iv } => ("CHACHA20_POLY1305", key, iv),
            _ => unreachable!("a secret of another kind"),
        };
        (name, [key.as_ref(), iv.as_ref()].concat())
    }
    for suite in suites() {
        for mut ends in pairs(suite) {
            (ends.client.enable_secret_extraction, ends.server.enable_secret_extraction) = (true, true);
            let (mut client, mut server) = connect(&ends);
            both_ways(&mut client, &mut server);
            let [client, server] = [client, server].map(|end| end.dangerous_extract_secrets().expect("secrets"));
            for (sent, received) in [(&client.tx, &server.rx), (&server.tx, &client.rx)] {
                assert_eq!(sent.0, received.0 + u64::from(planted("secrets")));
                assert!(bytes(&sent.1) == bytes(&received.1), "{suite:?}");
                assert!(format!("{suite:?}").contains(bytes(&sent.1).0));
            }
        }
    }
}
