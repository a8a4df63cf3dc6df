//! rustls-sealane on the providers of aws-lc-rs and RustCrypto, with the checks that `rustls-sealane/tests` has for
//! ring and graviola. `SEALANE_PLANT` names a fault that a test must find.
#![cfg(test)]

#[path = "../../rustls-sealane/tests/memory/mod.rs"]
mod memory;

use rustls::client::{EchGreaseConfig, EchMode, EchStatus};
use rustls::crypto::{aws_lc_rs, hpke::Hpke};
use rustls::Connection;

#[test]
fn aws_lc_rs_as_base() {
    memory::has_all_of(&aws_lc_rs::default_provider());
    memory::connections_with(&aws_lc_rs::default_provider());
    memory::tickets_on(&aws_lc_rs::default_provider(), aws_lc_rs::Ticketer::new().expect("a ticketer"));
}

/// RustCrypto's provider has no ticketer.
#[test]
fn rustcrypto_as_base() {
    memory::has_all_of(&rustls_rustcrypto::provider());
    memory::connections_with(&rustls_rustcrypto::provider());
}

/// HPKE is not part of a provider. The HPKE of aws-lc-rs also works for sealane's connections.
#[test]
fn hpke_of_aws_lc_rs() {
    let ours = memory::on(&aws_lc_rs::default_provider());
    for hpke in aws_lc_rs::hpke::ALL_SUPPORTED_SUITES {
        let (public, _) = hpke.generate_key_pair().expect("a key");
        let hpke: &'static dyn Hpke = *hpke;
        let mode = EchMode::Grease(EchGreaseConfig::new(hpke, public));
        let (client, server) = memory::configs(ours.clone(), ours.clone(), Some(mode));
        let (mut client, mut server) = memory::shaken(&client.into(), &server.into());
        let Connection::Client(one) = &client else { panic!("a client") };
        assert_eq!(one.ech_status(), EchStatus::Grease);
        memory::transfer(&mut client, &mut server, 1000);
    }
}
