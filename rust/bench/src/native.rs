//! RustCrypto's crates built for the CPU of this machine: the library of native/, which the build script links.

use sealane::Algorithm;

use crate::{Session, TAG};

#[repr(C)]
struct Opaque([u8; 0]);

#[link(name = "sealane_bench_native")]
extern "C" {
    fn native_new(algorithm: u32, key: *const u8, bytes: usize) -> *mut Opaque;
    fn native_drop(key: *mut Opaque);
    fn native_seal(
        key: *const Opaque,
        nonce: *const [u8; 12],
        ad: *const u8,
        ad_bytes: usize,
        text: *mut u8,
        bytes: usize,
        tag: *mut [u8; 16],
    ) -> bool;
    fn native_open(
        key: *const Opaque,
        nonce: *const [u8; 12],
        ad: *const u8,
        ad_bytes: usize,
        text: *mut u8,
        bytes: usize,
        tag: *const [u8; 16],
    ) -> bool;
}

pub(crate) struct Native(*mut Opaque);

impl Native {
    pub(crate) fn new(algorithm: Algorithm, key: &[u8]) -> Self {
        let number = match algorithm {
            Algorithm::ChaCha20Poly1305 => 0,
            Algorithm::Aes128Gcm => 1,
            _ => 2,
        };
        // SAFETY: see native/src/lib.rs, here and below.
        let key = unsafe { native_new(number, key.as_ptr(), key.len()) };
        assert!(!key.is_null());
        Native(key)
    }
}

impl Drop for Native {
    fn drop(&mut self) {
        unsafe { native_drop(self.0) };
    }
}

impl Session for Native {
    fn seal(&self, nonce: &[u8; 12], ad: &[u8], text: &mut [u8]) -> [u8; TAG] {
        let mut tag = [0; TAG];
        let (ad, ad_bytes) = (ad.as_ptr(), ad.len());
        assert!(unsafe { native_seal(self.0, nonce, ad, ad_bytes, text.as_mut_ptr(), text.len(), &mut tag) });
        tag
    }

    fn open(&self, nonce: &[u8; 12], ad: &[u8], packet: &mut [u8]) -> bool {
        let (text, tag) = packet.split_at_mut(packet.len() - TAG);
        let tag: &[u8; TAG] = (&*tag).try_into().expect("a tag");
        unsafe { native_open(self.0, nonce, ad.as_ptr(), ad.len(), text.as_mut_ptr(), text.len(), tag) }
    }
}
