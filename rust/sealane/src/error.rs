/// Why a call was refused. All but the first are the caller's mistakes, which write nothing.
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
    /// The tag is not the one that belongs to the packet, whatever the reason.
    NotAuthentic,
    /// The key does not have the length that the algorithm asks for.
    InvalidKey,
    /// The nonce does not have a length that the key's algorithm allows.
    InvalidNonce,
    /// The tag does not have a length that the algorithm allows, or not the key's.
    InvalidTag,
    /// The text, or the associated data, is longer than the algorithm allows.
    TooLong,
    /// Output and input are of different lengths.
    LengthMismatch,
    /// No level has that name, or this CPU cannot run it.
    InvalidLevel,
    /// The process has chosen its levels already.
    TooLate,
    /// No level works on this CPU: it has no kernel for it, and the crate was built without the feature `portable`.
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
