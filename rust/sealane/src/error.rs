/// Why a call failed. All errors except the first are mistakes of the caller, which write nothing.
///
/// ```
/// use sealane::{Algorithm, Error, Key};
///
/// let key = Key::new(Algorithm::Aes128Gcm, &[7; 16])?;
/// let (mut forged, tag) = (*b"a packet", [0; 16]);
/// assert_eq!(key.open_in_place(&[1; 12], b"", &mut forged, &tag), Err(Error::NotAuthentic));
/// assert_eq!(key.open_in_place(&[], b"", &mut forged, &tag), Err(Error::InvalidNonce));
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Error {
    /// The tag does not match the packet.
    NotAuthentic,
    /// The key does not have the length that the algorithm requires.
    InvalidKey,
    /// The nonce does not have a length that the key's algorithm allows.
    InvalidNonce,
    /// The tag does not have a length that the algorithm allows, or not that of the key.
    InvalidTag,
    /// The text or the associated data is longer than the algorithm allows.
    TooLong,
    /// Output and input are of different lengths.
    LengthMismatch,
    /// The level does not exist, or does not work on this CPU.
    InvalidLevel,
    /// The process has already chosen its levels.
    TooLate,
    /// No level works on this CPU: it has no kernel, and the crate was built without the feature `portable`.
    NoLevel,
}

impl core::fmt::Display for Error {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(match self {
            Error::NotAuthentic => "message authentication failed",
            Error::InvalidKey => "the key does not have the length that the algorithm asks for",
            Error::InvalidNonce => "the nonce does not have a length that the algorithm allows",
            Error::InvalidTag => "the tag does not have a length that the algorithm, or the key, allows",
            Error::TooLong => "text or associated data is longer than the algorithm allows",
            Error::LengthMismatch => "output and input are of different lengths",
            Error::InvalidLevel => "no level has that name, or this CPU cannot run it",
            Error::TooLate => "the process has chosen its levels already",
            Error::NoLevel => "no level works on this CPU",
        })
    }
}

#[cfg(feature = "std")]
impl std::error::Error for Error {}
