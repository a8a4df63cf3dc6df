//! RustCrypto's crates built for this very CPU: the library of native/, which the build script links.

use sealane::Algorithm;

use crate::{rows, Candidate};

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
        // SAFETY: native/src/lib.rs; so below.
        let key = unsafe { native_new(number, key.as_ptr(), key.len()) };
        assert!(!key.is_null());
        Native(key)
    }

    fn open(&self, nonce: &[u8; 12], ad: &[u8], text: &mut [u8], tag: &[u8; 16]) -> bool {
        unsafe { native_open(self.0, nonce, ad.as_ptr(), ad.len(), text.as_mut_ptr(), text.len(), tag) }
    }
}

impl Drop for Native {
    fn drop(&mut self) {
        unsafe { native_drop(self.0) };
    }
}

impl Candidate for Native {
    fn seal(&mut self, nonce: &[u8; 12], text: &mut [u8]) -> [u8; 16] {
        rows::Session::seal(self, nonce, b"", text).expect("sealed")
    }

    fn open(&mut self, nonce: &[u8; 12], text: &mut [u8], tag: &[u8; 16]) -> bool {
        Native::open(self, nonce, b"", text, tag)
    }
}

impl rows::Session for Native {
    fn seal(&self, nonce: &[u8; 12], ad: &[u8], text: &mut [u8]) -> Option<[u8; 16]> {
        let mut tag = [0; 16];
        let (ad, ad_bytes) = (ad.as_ptr(), ad.len());
        let good = unsafe { native_seal(self.0, nonce, ad, ad_bytes, text.as_mut_ptr(), text.len(), &mut tag) };
        good.then_some(tag)
    }

    fn open(&self, nonce: &[u8; 12], ad: &[u8], packet: &mut [u8]) -> bool {
        let (text, tag) = packet.split_at_mut(packet.len() - 16);
        let tag: &[u8; 16] = (&*tag).try_into().expect("a tag");
        Native::open(self, nonce, ad, text, tag)
    }
}
