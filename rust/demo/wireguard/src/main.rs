//! A WireGuard tunnel of boringtun in memory. After the handshake, it sends packets in one direction, and measures the
//! CPU time to seal, open and compare each. Fails if a packet changes on the way.
//!
//!     wireguard-demo BYTES PACKETS

use boringtun::noise::{Tunn, TunnResult};
use boringtun::x25519::{PublicKey, StaticSecret};

fn cpu_seconds() -> f64 {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `now` is writable.
    assert_eq!(unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &mut now) }, 0);
    now.tv_sec as f64 + now.tv_nsec as f64 / 1e9
}

fn to_network(result: TunnResult<'_>) -> Vec<u8> {
    match result {
        TunnResult::WriteToNetwork(packet) => packet.to_vec(),
        other => panic!("{other:?}"),
    }
}

/// An IPv4 packet of that length.
fn packet(bytes: usize) -> Vec<u8> {
    let mut packet: Vec<u8> = (0..bytes).map(|i| i as u8).collect();
    packet[..20].copy_from_slice(&[0x45, 0, 0, 0, 0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
    packet[2..4].copy_from_slice(&(bytes as u16).to_be_bytes());
    packet
}

fn main() {
    let mut arguments = std::env::args().skip(1).map(|argument| argument.parse::<usize>().expect("a number"));
    let (bytes, packets) = (arguments.next().unwrap_or(1420), arguments.next().unwrap_or(200_000));
    assert!((20..=65_000).contains(&bytes), "a packet has 20 to 65000 bytes");

    let secrets = [(); 2].map(|()| StaticSecret::random_from_rng(rand_core::OsRng));
    let public = [PublicKey::from(&secrets[0]), PublicKey::from(&secrets[1])];
    let [first, second] = secrets;
    let mut here = Tunn::new(first, public[1], None, None, 1, None);
    let mut there = Tunn::new(second, public[0], None, None, 2, None);

    let (mut one, mut two) = (vec![0; bytes + 200], vec![0; bytes + 200]);
    let hello = to_network(here.format_handshake_initiation(&mut one, false));
    let answer = to_network(there.decapsulate(None, &hello, &mut one));
    let keep_alive = to_network(here.decapsulate(None, &answer, &mut one));
    assert!(matches!(there.decapsulate(None, &keep_alive, &mut one), TunnResult::Done));

    let sent = packet(bytes);
    let mut least = f64::MAX;
    for _ in 0..20 {
        let start = cpu_seconds();
        for _ in 0..packets / 20 {
            let TunnResult::WriteToNetwork(sealed) = here.encapsulate(&sent, &mut one) else { panic!("not sealed") };
            match there.decapsulate(None, sealed, &mut two) {
                TunnResult::WriteToTunnelV4(got, _) if got == sent => {}
                other => panic!("{other:?}"),
            }
        }
        least = least.min((cpu_seconds() - start) / (packets / 20) as f64);
    }
    // A forgery must not come through.
    let mut forged = to_network(here.encapsulate(&sent, &mut one));
    *forged.last_mut().expect("a byte") ^= 1;
    assert!(matches!(there.decapsulate(None, &forged, &mut two), TunnResult::Err(_)));
    println!("{bytes} bytes: {:.0} ns of CPU a packet, sealed and opened", least * 1e9);
}
