//! In-memory connections between sealane and the provider it is based on. `rust/rustls-bases` uses this file, too.

use std::io::{Read, Write};
use std::sync::Arc;

use rustls::client::EchMode;
use rustls::crypto::CryptoProvider;
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer, ServerName};
use rustls::server::{NoServerSessionStorage, ProducesTickets};
use rustls::{
    CipherSuite, ClientConfig, ClientConnection, Connection, HandshakeKind, RootCertStore, ServerConfig,
    ServerConnection, SupportedCipherSuite,
};

pub fn planted(name: &str) -> bool {
    std::env::var_os("SEALANE_PLANT").is_some_and(|plant| plant == name)
}

pub fn on(base: &CryptoProvider) -> Arc<CryptoProvider> {
    rustls_sealane::on(base.clone()).into()
}

pub fn only(mut provider: CryptoProvider, suite: CipherSuite) -> Arc<CryptoProvider> {
    provider.cipher_suites.retain(|one| one.suite() == suite);
    assert_eq!(provider.cipher_suites.len(), 1);
    provider.into()
}

/// Configurations: the roots that a client trusts, and the certificate of a server.
pub fn configs(
    client: Arc<CryptoProvider>,
    server: Arc<CryptoProvider>,
    ech: Option<EchMode>,
) -> (ClientConfig, ServerConfig) {
    let made = rcgen::generate_simple_self_signed(["localhost".to_string()]).expect("certificate");
    let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(made.key_pair.serialize_der()));
    let mut roots = RootCertStore::empty();
    roots.add(made.cert.der().clone()).expect("root");
    let client = ClientConfig::builder_with_provider(client);
    let client = match ech {
        Some(mode) => client.with_ech(mode).expect("ECH"),
        None => client.with_safe_default_protocol_versions().expect("versions"),
    };
    let client = client.with_root_certificates(roots).with_no_client_auth();
    let server = ServerConfig::builder_with_provider(server)
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_no_client_auth()
        .with_single_cert(vec![made.cert.der().clone()], key)
        .expect("server");
    (client, server)
}

/// A client and a server after the handshake.
pub fn shaken(client: &Arc<ClientConfig>, server: &Arc<ServerConfig>) -> (Connection, Connection) {
    let name = ServerName::try_from("localhost").expect("name");
    let mut client: Connection = ClientConnection::new(client.clone(), name).expect("client").into();
    let mut server: Connection = ServerConnection::new(server.clone()).expect("server").into();
    while client.is_handshaking() || server.is_handshaking() {
        carry(&mut client, &mut server, |_| ()).expect("handshake");
        carry(&mut server, &mut client, |_| ()).expect("handshake");
    }
    (client, server)
}

pub fn connect(client: Arc<CryptoProvider>, server: Arc<CryptoProvider>) -> (Connection, Connection) {
    let (client, server) = configs(client, server, None);
    shaken(&client.into(), &server.into())
}

/// Transfers all output from one side to the other, modified on the way. Returns the text that arrives.
pub fn carry(from: &mut Connection, to: &mut Connection, change: impl Fn(&mut [u8])) -> Result<Vec<u8>, rustls::Error> {
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

pub fn transfer(from: &mut Connection, to: &mut Connection, bytes: usize) {
    let text: Vec<u8> = (0..bytes).map(|i| (i * 7 + bytes) as u8).collect();
    from.writer().write_all(&text).expect("written");
    let mut got = carry(from, to, |_| ()).expect("carried");
    if planted("transfer") && bytes == 1000 {
        got[999] ^= 1;
    }
    assert!(got == text, "{bytes} bytes");
}

pub fn suites(base: &CryptoProvider) -> Vec<CipherSuite> {
    base.cipher_suites.iter().map(SupportedCipherSuite::suite).filter(|suite| !is_rsa(*suite)).collect()
}

/// The certificates of this test have another key type.
pub fn is_rsa(suite: CipherSuite) -> bool {
    format!("{suite:?}").contains("_RSA_")
}

/// The result of `on` has everything that its base has: suites, groups, signatures, and QUIC.
pub fn has_all_of(base: &CryptoProvider) {
    let mut ours = rustls_sealane::on(base.clone());
    if planted("base") {
        ours.kx_groups.pop();
    }
    assert_eq!(format!("{:?}", ours.kx_groups), format!("{:?}", base.kx_groups));
    let verified = |provider: &CryptoProvider| provider.signature_verification_algorithms.supported_schemes();
    assert_eq!(verified(&ours), verified(base));
    assert_eq!(ours.cipher_suites.len(), base.cipher_suites.len());
    for (ours, theirs) in ours.cipher_suites.iter().zip(&base.cipher_suites) {
        assert_eq!(ours.suite(), theirs.suite());
        if let (Some(ours), Some(theirs)) = (ours.tls13(), theirs.tls13()) {
            assert!(ours.quic.is_some()); // even if the base has none
            assert_eq!(ours.common.confidentiality_limit, theirs.common.confidentiality_limit);
        }
    }
    assert!(!ours.fips());
}

/// Connections in each suite, with the base itself and with sealane on both sides, and in each of the base's groups.
pub fn connections_with(base: &CryptoProvider) {
    assert!(suites(base).len() >= 6);
    for suite in suites(base) {
        let (ours, theirs) = (only(rustls_sealane::on(base.clone()), suite), only(base.clone(), suite));
        for (client, server) in [(&ours, &theirs), (&theirs, &ours), (&ours, &ours)] {
            let (mut client, mut server) = connect(client.clone(), server.clone());
            assert_eq!(client.negotiated_cipher_suite().map(|suite| suite.suite()), Some(suite));
            for bytes in [1, 15, 16, 17, 1000, 16383, 16384, 16385, 50000] {
                transfer(&mut client, &mut server, bytes);
                transfer(&mut server, &mut client, bytes);
            }
        }
    }
    for group in &base.kx_groups {
        let mut only = rustls_sealane::on(base.clone());
        only.kx_groups.retain(|one| one.name() == group.name());
        let (mut client, mut server) = connect(only.into(), base.clone().into());
        let used = client.negotiated_key_exchange_group().map(|group| group.name());
        assert_eq!(used, Some(group.name()));
        transfer(&mut client, &mut server, 1000);
    }
}

/// Ticketers are not part of a provider. The base's tickets resume sessions of sealane.
pub fn tickets_on(base: &CryptoProvider, ticketer: Arc<dyn ProducesTickets>) {
    let (client, mut server) = configs(on(base), on(base), None);
    server.ticketer = ticketer;
    server.session_storage = Arc::new(NoServerSessionStorage {});
    if planted("ticket") {
        server.send_tls13_tickets = 0;
    }
    let (client, server) = (client.into(), server.into());
    for kind in [HandshakeKind::Full, HandshakeKind::Resumed] {
        let (mut client, mut server) = shaken(&client, &server);
        transfer(&mut server, &mut client, 1000); // also delivers the ticket
        assert_eq!(client.handshake_kind(), Some(kind));
    }
}
