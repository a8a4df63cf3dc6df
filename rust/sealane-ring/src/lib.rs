//! The part of ring 0.17 that WireGuard programs such as boringtun use, with the same names and signatures, on sealane. They
//! run on sealane unchanged, and build without a C compiler:
//!
//! ```toml
//! [patch.crates-io]
//! ring = { git = "https://github.com/sealane/sealane" }
//! ```
//!
//! and `cargo update -p ring --precise 0.17.14` where there is a Cargo.lock already. The version is that of the ring whose part
//! this is. Advisories of ring are about ring's code, of which none is here: cargo-deny reports none for a crate that takes
//! ring's place. A program that uses more of ring does not compile: cargo lets no crate take another's place and build on it, so
//! that the rest of ring cannot be had here. For rustls there is `rustls-sealane`.
//!
//! Where ring leaves open what a failed call leaves behind, the ciphertext is there.
#![cfg_attr(not(feature = "std"), no_std)]
#![forbid(unsafe_code)]
#![warn(missing_docs)]

pub mod aead;

/// What went wrong, without details.
pub mod error {
    /// Something did.
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

    /// Whether two slices are equal.
    ///
    /// # Errors
    /// If they are not, or of different lengths.
    pub fn verify_slices_are_equal(a: &[u8], b: &[u8]) -> Result<(), Unspecified> {
        if a.ct_eq(b).into() {
            Ok(())
        } else {
            Err(Unspecified)
        }
    }
}

/// Random numbers of the operating system.
pub mod rand {
    use crate::error::Unspecified;

    /// A source of random numbers for secrets: [`SystemRandom`].
    pub trait SecureRandom: sealed::Sealed {
        /// Fills `dest` with random bytes.
        ///
        /// # Errors
        /// If the operating system has none; `dest` is not to be used then.
        fn fill(&self, dest: &mut [u8]) -> Result<(), Unspecified>;
    }

    /// The operating system.
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
        /// Nothing is opened and nothing is kept.
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
