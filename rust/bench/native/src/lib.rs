//! RustCrypto's crates built with `-C target-cpu=native`, with C's calling convention.

use aes_gcm::aead::generic_array::GenericArray;
use aes_gcm::aead::{AeadInPlace, KeyInit};
use aes_gcm::{Aes128Gcm, Aes256Gcm};
use chacha20poly1305::ChaCha20Poly1305;

#[allow(clippy::large_enum_variant)]
pub enum Key {
    ChaCha(ChaCha20Poly1305),
    Aes128(Aes128Gcm),
    Aes256(Aes256Gcm),
}

/// # Safety
/// `key` is valid for `bytes` bytes. Pass the result to `native_drop`.
#[no_mangle]
pub unsafe extern "C" fn native_new(algorithm: u32, key: *const u8, bytes: usize) -> *mut Key {
    let key = std::slice::from_raw_parts(key, bytes);
    let key = match algorithm {
        0 => ChaCha20Poly1305::new_from_slice(key).map(Key::ChaCha),
        1 => Aes128Gcm::new_from_slice(key).map(Key::Aes128),
        _ => Aes256Gcm::new_from_slice(key).map(Key::Aes256),
    };
    key.map_or(std::ptr::null_mut(), |key| Box::into_raw(Box::new(key)))
}

/// # Safety
/// `key` comes from `native_new`, and is not used afterwards.
#[no_mangle]
pub unsafe extern "C" fn native_drop(key: *mut Key) {
    drop(Box::from_raw(key));
}

/// Returns whether it succeeded.
///
/// # Safety
/// `key` comes from `native_new`; the other pointers are valid for their lengths.
#[no_mangle]
pub unsafe extern "C" fn native_seal(
    key: *const Key,
    nonce: *const [u8; 12],
    ad: *const u8,
    ad_bytes: usize,
    text: *mut u8,
    bytes: usize,
    tag: *mut [u8; 16],
) -> bool {
    let (nonce, ad) = (GenericArray::from_slice(&*nonce), std::slice::from_raw_parts(ad, ad_bytes));
    let text = std::slice::from_raw_parts_mut(text, bytes);
    let made = match &*key {
        Key::ChaCha(key) => key.encrypt_in_place_detached(nonce, ad, text),
        Key::Aes128(key) => key.encrypt_in_place_detached(nonce, ad, text),
        Key::Aes256(key) => key.encrypt_in_place_detached(nonce, ad, text),
    };
    made.map(|made| (*tag).copy_from_slice(&made)).is_ok()
}

/// Returns whether the packet is authentic.
///
/// # Safety
/// As for `native_seal`.
#[no_mangle]
pub unsafe extern "C" fn native_open(
    key: *const Key,
    nonce: *const [u8; 12],
    ad: *const u8,
    ad_bytes: usize,
    text: *mut u8,
    bytes: usize,
    tag: *const [u8; 16],
) -> bool {
    let (nonce, ad) = (GenericArray::from_slice(&*nonce), std::slice::from_raw_parts(ad, ad_bytes));
    let (text, tag) = (std::slice::from_raw_parts_mut(text, bytes), GenericArray::from_slice(&*tag));
    let opened = match &*key {
        Key::ChaCha(key) => key.decrypt_in_place_detached(nonce, ad, text, tag),
        Key::Aes128(key) => key.decrypt_in_place_detached(nonce, ad, text, tag),
        Key::Aes256(key) => key.decrypt_in_place_detached(nonce, ad, text, tag),
    };
    opened.is_ok()
}
