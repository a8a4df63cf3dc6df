//! One download over a real socket on the loopback interface, by rustls with ring's provider or with sealane's.
//! It uses QUIC (quinn) or HTTPS (hyper), with both ends in this process, in one thread.
//!
//!     sockets-demo https|quic ring|sealane SUITE MEGABYTES [share]
//!
//! Prints the CPU time of the process as user and system time, in milliseconds. It counts from the first byte of the
//! handshake to the last of the download. It fails if the SHA-256 of the received bytes differs from that of the sent
//! ones. It also fails if another provider or suite made a key of the connection. With `share` it also sums up the
//! time of calls that seal and open, which costs two clock readings each.
//!
//! `SEALANE_PLANT` names a fault that must be found: `byte` (a received byte is changed), `provider` (the other one is
//! used).

mod watch;

use std::net::{Ipv4Addr, SocketAddr};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Empty, Full};
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use quinn::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use rustls::crypto::CryptoProvider;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer, ServerName};
use rustls::quic::Suite;
use rustls::{CipherSuite, ClientConfig, RootCertStore, ServerConfig};
use tokio::net::{TcpListener, TcpStream};

type Outcome<T> = Result<T, Box<dyn std::error::Error + Send + Sync>>;

const LOCAL: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 0);
const PIECE: usize = 1 << 20;

/// User and system time of the process.
fn cpu() -> [Duration; 2] {
    // SAFETY: all zeroes is a valid value, and `usage` is writable.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        assert_eq!(libc::getrusage(libc::RUSAGE_SELF, &mut usage), 0);
        usage
    };
    let time = |t: libc::timeval| Duration::new(t.tv_sec as u64, t.tv_usec as u32 * 1000);
    [time(usage.ru_utime), time(usage.ru_stime)]
}

struct Configs {
    client: Arc<ClientConfig>,
    server: Arc<ServerConfig>,
}

fn configs(provider: &Arc<CryptoProvider>) -> Outcome<Configs> {
    let made = rcgen::generate_simple_self_signed(["localhost".to_string()])?;
    let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(made.key_pair.serialize_der()));
    let certificate: CertificateDer<'static> = made.cert.der().clone();
    let mut roots = RootCertStore::empty();
    roots.add(certificate.clone())?;
    let client = ClientConfig::builder_with_provider(provider.clone())
        .with_protocol_versions(&[&rustls::version::TLS13])?
        .with_root_certificates(roots)
        .with_no_client_auth();
    let server = ServerConfig::builder_with_provider(provider.clone())
        .with_protocol_versions(&[&rustls::version::TLS13])?
        .with_no_client_auth()
        .with_single_cert(vec![certificate], key)?;
    Ok(Configs { client: client.into(), server: server.into() })
}

/// Downloads `body` into `got`.
async fn https(configs: Configs, body: Bytes, got: &mut Vec<u8>) -> Outcome<()> {
    let listener = TcpListener::bind(LOCAL).await?;
    let address = listener.local_addr()?;
    let acceptor = tokio_rustls::TlsAcceptor::from(configs.server);
    let server = tokio::spawn(async move {
        let stream = acceptor.accept(listener.accept().await?.0).await?;
        let answer = service_fn(|_: Request<hyper::body::Incoming>| {
            let body = Full::new(body.clone());
            async move { Ok::<_, std::convert::Infallible>(Response::new(body)) }
        });
        hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(stream), answer).await?;
        Outcome::Ok(())
    });
    let connector = tokio_rustls::TlsConnector::from(configs.client);
    let stream = connector.connect(ServerName::try_from("localhost")?, TcpStream::connect(address).await?).await?;
    let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await?;
    let connection = tokio::spawn(connection);
    let request = Request::get("/").header("host", "localhost").body(Empty::<Bytes>::new())?;
    let mut response = sender.send_request(request).await?;
    while let Some(frame) = response.frame().await {
        if let Some(data) = frame?.data_ref() {
            got.extend_from_slice(data);
        }
    }
    drop(sender);
    connection.await??;
    server.await?
}

/// Packets before the end of the handshake use AES-128-GCM with any suite (RFC 9001, section 5.2).
fn initial(provider: &CryptoProvider) -> Option<Suite> {
    let suites = provider.cipher_suites.iter();
    suites.filter(|one| one.suite() == CipherSuite::TLS13_AES_128_GCM_SHA256).find_map(|one| one.tls13()?.quic_suite())
}

async fn quic(configs: Configs, provider: &CryptoProvider, body: Bytes, got: &mut Vec<u8>) -> Outcome<()> {
    let first = || initial(provider).ok_or("the provider has no QUIC");
    let server = quinn::ServerConfig::with_crypto(Arc::new(QuicServerConfig::with_initial(configs.server, first()?)?));
    let client = quinn::ClientConfig::new(Arc::new(QuicClientConfig::with_initial(configs.client, first()?)?));
    let listener = quinn::Endpoint::server(server, LOCAL)?;
    let address = listener.local_addr()?;
    let server = tokio::spawn(async move {
        let connection = listener.accept().await.ok_or("nobody came")?.await?;
        let (mut send, mut request) = connection.accept_bi().await?;
        request.read_to_end(16).await?;
        for start in (0..body.len()).step_by(PIECE) {
            send.write_chunk(body.slice(start..body.len().min(start + PIECE))).await?;
        }
        send.finish()?;
        connection.closed().await;
        listener.wait_idle().await;
        Outcome::Ok(())
    });
    let endpoint = quinn::Endpoint::client(LOCAL)?;
    let connection = endpoint.connect_with(client, address, "localhost")?.await?;
    let (mut send, mut answer) = connection.open_bi().await?;
    send.write_all(b"GET").await?;
    send.finish()?;
    while let Some(chunk) = answer.read_chunk(usize::MAX, true).await? {
        got.extend_from_slice(&chunk.bytes);
    }
    connection.close(0_u32.into(), b"");
    endpoint.wait_idle().await;
    server.await?
}

fn sha256(bytes: &[u8]) -> ring::digest::Digest {
    ring::digest::digest(&ring::digest::SHA256, bytes)
}

fn run() -> Outcome<()> {
    const USAGE: &str = "usage: sockets-demo https|quic ring|sealane SUITE MEGABYTES [share]";
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let (protocol, name, suite, megabytes, share) = match arguments[..] {
        [protocol, name, suite, megabytes] => (protocol, name, suite, megabytes, false),
        [protocol, name, suite, megabytes, "share"] => (protocol, name, suite, megabytes, true),
        _ => return Err(USAGE.into()),
    };
    let plant = std::env::var("SEALANE_PLANT").unwrap_or_default();
    let providers = [
        ("ring", rustls::crypto::ring::default_provider()),
        ("sealane", rustls_sealane::on(rustls::crypto::ring::default_provider())),
    ]
    .map(|(name, provider)| watch::Watched::new(name, provider, share));
    let mut place = providers.iter().position(|one| one.name == name).ok_or(USAGE)?;
    let named = &providers[place];
    if plant == "provider" {
        place = 1 - place;
    }
    let provider = Arc::new(providers[place].first(suite).ok_or(USAGE)?);
    let configs = configs(&provider)?;

    // Stale memory cannot match this by chance, and no two pieces of it are equal.
    let mut state = 1_u64;
    let words = std::iter::repeat_with(|| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 32) as u32
    });
    let bytes = megabytes.parse::<usize>()? << 20;
    let body: Bytes = words.take(bytes / 4).flat_map(u32::to_le_bytes).collect::<Vec<u8>>().into();
    let mut got = vec![0x55; bytes]; // so that its pages are mapped
    got.clear();

    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let before = cpu();
    match protocol {
        "https" => runtime.block_on(https(configs, body.clone(), &mut got))?,
        "quic" => runtime.block_on(quic(configs, &provider, body.clone(), &mut got))?,
        _ => return Err(USAGE.into()),
    }
    let after = cpu();

    if plant == "byte" {
        got[bytes / 2] ^= 1;
    }
    if got.len() != bytes || sha256(&got).as_ref() != sha256(&body).as_ref() {
        return Err(format!("{} of {bytes} bytes arrived, or others than were sent", got.len()).into());
    }
    let made = named.keys(suite);
    let others: usize = providers.iter().filter(|one| one.name != name).map(watch::Watched::all_keys).sum();
    if made < 4 || others > 0 {
        return Err(
            format!("{made} keys of the connection by {name} for {suite}, {others} by the other provider").into()
        );
    }
    let [user, system] = [0, 1].map(|i| (after[i] - before[i]).as_secs_f64() * 1e3);
    print!("{protocol} {suite} {name} {bytes} {:.0} {user:.0} {system:.0}", user + system);
    if share {
        print!(" {:.0}", named.took().as_secs_f64() * 1e3);
    }
    println!();
    Ok(())
}

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("sockets-demo: {why}");
            ExitCode::FAILURE
        }
    }
}
