//! The part of ring 0.17 that WireGuard programs such as boringtun use, on sealane, with the same names and signatures.
//! Such programs run on sealane unchanged, and build without a C compiler:
//!
//! ```toml
//! [patch.crates-io]
//! ring = { git = "https://github.com/sealane/sealane" }
//! ```
//!
//! If there is already a Cargo.lock, run `cargo update -p ring --precise 0.17.14`. The version is that of the ring
//! release whose API this crate implements. Advisories for ring concern ring's code, none of which is here; cargo-deny
//! reports none for a patched crate.
//!
//! A program that uses other parts of ring does not compile. Cargo does not let a crate replace another one and also
//! depend on it, so this crate cannot re-export the rest of ring. For rustls, use `rustls-sealane`.
//!
//! Where ring does not specify the contents of buffers after a failed call, they hold the ciphertext.
#![cfg_attr(not(feature = "std"), no_std)]
#![forbid(unsafe_code)]
#![warn(missing_docs)]

pub mod aead;

/// The error type.
pub mod error {
    /// An error without details.
    ///
    /// ```
    /// use ring::{constant_time::verify_slices_are_equal, error::Unspecified};
    ///
    /// assert_eq!(verify_slices_are_equal(b"a mac", b"another"), Err(Unspecified));
    /// ```
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Unspecified;

    impl core::fmt::Display for Unspecified {
        fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
            f.write_str("ring::error::Unspecified")
        }
    }

    #[cfg(feature = "std")]
    impl std::error::Error for Unspecified {}

    impl From<core::array::TryFromSliceError> for Unspecified {
        fn from(_: core::array::TryFromSliceError) -> Self {
            Unspecified
        }
    }
}

/// Comparisons whose time depends on lengths only.
pub mod constant_time {
    use subtle::ConstantTimeEq;

    use crate::error::Unspecified;

    /// Compares two slices.
    ///
    /// # Errors
    /// If they differ in content or length.
    pub fn verify_slices_are_equal(a: &[u8], b: &[u8]) -> Result<(), Unspecified> {
        if a.ct_eq(b).into() {
            Ok(())
        } else {
            Err(Unspecified)
        }
    }
}

/// Random numbers from the operating system.
pub mod rand {
    use crate::error::Unspecified;

    /// A source of random numbers for secrets: [`SystemRandom`].
    pub trait SecureRandom: sealed::Sealed {
        /// Fills `dest` with random bytes.
        ///
        /// # Errors
        /// If the operating system provides none; do not use `dest` then.
        fn fill(&self, dest: &mut [u8]) -> Result<(), Unspecified>;
    }

    /// The random number generator of the operating system.
    ///
    /// ```
    /// use ring::rand::{SecureRandom, SystemRandom};
    ///
    /// let mut key = [0; 32];
    /// SystemRandom::new().fill(&mut key)?;
    /// # Ok::<(), ring::error::Unspecified>(())
    /// ```
    #[derive(Clone, Debug, Default)]
    pub struct SystemRandom(());

    impl SystemRandom {
        /// Returns a handle; it holds no resources.
        pub fn new() -> Self {
            SystemRandom(())
        }
    }

    impl SecureRandom for SystemRandom {
        fn fill(&self, dest: &mut [u8]) -> Result<(), Unspecified> {
            getrandom::getrandom(dest).map_err(|_| Unspecified)
        }
    }

    mod sealed {
        pub trait Sealed {}
        impl Sealed for super::SystemRandom {}
    }
}
