//! In-memory connections between sealane and the providers of ring and graviola, in each cipher suite and both
//! directions. Modified records and packets are refused. `SEALANE_PLANT` names a fault that a test must find.

mod memory;

use std::io::{Read, Write};

use memory::{carry, connect, only, planted, suites, transfer};
use rustls::crypto::CryptoProvider;
use rustls::quic::{Keys, Version};
use rustls::{NamedGroup, Side};

fn ring() -> CryptoProvider {
    rustls::crypto::ring::default_provider()
}

fn ours() -> CryptoProvider {
    rustls_sealane::on(ring())
}

#[test]
fn ring_as_base() {
    memory::has_all_of(&ring());
    memory::connections_with(&ring());
    memory::tickets_on(&ring(), rustls::crypto::ring::Ticketer::new().expect("a ticketer"));
}

#[test]
fn graviola_as_base() {
    let base = rustls_graviola::default_provider();
    memory::has_all_of(&base);
    memory::connections_with(&base);
    memory::tickets_on(&base, rustls_graviola::Ticketer::new().expect("a ticketer"));
}

/// The default provider prefers a post-quantum key exchange, and connects to peers without one.
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
fn changed_records_are_refused() {
    for suite in suites(&ring()) {
        let ours = only(ours(), suite);
        // Changes every byte after the header of a short record: nonce, text, tag.
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

/// Graviola itself has no QUIC support.
#[test]
fn quic_packets_are_those_of_ring() {
    let suites = [ours(), rustls_sealane::default_provider()].into_iter().flat_map(|p| p.cipher_suites);
    for ours in suites.filter_map(|suite| suite.tls13()) {
        let ring = ring().cipher_suites.into_iter().filter_map(|suite| suite.tls13());
        let theirs = ring.into_iter().find(|theirs| theirs.common.suite == ours.common.suite).expect("ring's suite");
        let our_quic = ours.quic.expect("QUIC in each suite");
        let their_quic = theirs.quic.expect("ring's QUIC");
        // Initial keys are derived from a connection ID for any suite.
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
        // Long and short headers, with packet numbers of each size.
        assert_eq!(ours.local.header.sample_len(), theirs.local.header.sample_len());
        for first in [0xc0, 0xc1, 0xc2, 0xc3, 0x40, 0x45, 0x5a, 0x5f] {
            let sample = [first ^ 0x5a; 16];
            let packet = (first, [1, 2, 3, 4]);
            let (mut by_us, mut by_them) = (packet, packet);
            ours.local.header.encrypt_in_place(&sample, &mut by_us.0, &mut by_us.1).expect("protected");
            theirs.local.header.encrypt_in_place(&sample, &mut by_them.0, &mut by_them.1).expect("protected by ring");
            assert_ne!(by_us, by_them); // the keys of the opposite side
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
