//! Packets in pieces.

use zeroize::Zeroize;

use crate::dit::Dit;
use crate::kernel::{bytes_of_tag, CallNonce, Tag, Text};
use crate::key::{is_tag, State, SubKey};
use crate::{Error, Key, TAG_LEN};

const BLOCK: usize = 64;

impl Key {
    /// Seals a packet whose text is split into pieces of any length, including 0. The result is the same as for their
    /// concatenation.
    ///
    /// # Errors
    /// Those of [`seal_in_place`](Key::seal_in_place). All pieces are unchanged.
    pub fn seal_pieces(&self, nonce: &[u8], ad: &[u8], pieces: &mut [Text<'_>]) -> Result<[u8; TAG_LEN], Error> {
        let _dit = Dit::on();
        let mut tag = [0; 2];
        self.run_pieces(nonce, ad, pieces, Way::Seal, &mut tag)?;
        Ok(bytes_of_tag(&tag))
    }

    /// Opens a packet whose text is split into pieces.
    ///
    /// # Errors
    /// Those of [`open_in_place`](Key::open_in_place) and [`open`](Key::open). After a forgery, each piece in place is
    /// unchanged, and each separate output is zeroed.
    pub fn open_pieces(
        &self,
        nonce: &[u8],
        ad: &[u8],
        pieces: &mut [Text<'_>],
        tag: &[u8; TAG_LEN],
    ) -> Result<(), Error> {
        let _dit = Dit::on();
        let mut expected = [0; 2];
        self.run_pieces(nonce, ad, pieces, Way::Open, &mut expected)?;
        if is_tag(&mut expected, tag) {
            return Ok(());
        }
        self.run_pieces(nonce, ad, pieces, Way::Restore, &mut expected)?;
        expected.zeroize();
        pieces.iter_mut().filter(|piece| !piece.is_in_place()).for_each(|piece| piece.output().fill(0));
        Err(Error::NotAuthentic)
    }

    fn run_pieces(
        &self,
        nonce: &[u8],
        ad: &[u8],
        pieces: &mut [Text<'_>],
        way: Way,
        tag: &mut Tag,
    ) -> Result<(), Error> {
        let open = way == Way::Open;
        let total = pieces.iter().map(|piece| piece.len() as u64).fold(0, u64::saturating_add);
        if let Some(why) = self.mistake(nonce, ad, total) {
            return Err(why);
        }
        let mut sub = SubKey::UNSET;
        let block;
        let mut parts = match (&self.state, <&[u8; 12]>::try_from(nonce)) {
            (State::ChaCha(key), Ok(nonce)) => key.level.parts(&key.bytes, nonce, ad, total, open),
            (State::Gcm(gcm), Ok(nonce)) => gcm.parts(CallNonce::Nonce(nonce), ad, total, open),
            (State::ChaCha(key), Err(_)) => {
                sub.set(&key.bytes, nonce);
                key.level.parts(&sub.key, &sub.nonce, ad, total, open)
            }
            (State::Gcm(gcm), Err(_)) => {
                block = gcm.block_of_nonce(nonce);
                gcm.parts(CallNonce::Block(&block), ad, total, open)
            }
        };
        let mut block = Block { bytes: [0; BLOCK], filled: 0, piece: 0, offset: 0 };
        for i in 0..pieces.len() {
            let mut at = block.take(&pieces[i].view(way), i, 0);
            if block.filled == BLOCK {
                parts.next(&mut Text::in_place(&mut block.bytes));
                block.give_back(pieces);
            }
            let whole = (pieces[i].len() - at) / BLOCK * BLOCK;
            if whole > 0 {
                parts.next(&mut pieces[i].view(way).part(at, whole));
                at += whole;
            }
            block.take(&pieces[i].view(way), i, at);
        }
        let filled = block.filled;
        parts.last(&mut Text::in_place(&mut block.bytes[..filled]), tag);
        block.give_back(pieces);
        Ok(())
    }
}

/// The operation on the text.
#[derive(Clone, Copy, PartialEq)]
enum Way {
    Seal,
    Open,
    /// Encrypts the output of an opened forgery in place, which restores the ciphertext.
    Restore,
}

impl Text<'_> {
    fn view(&mut self, way: Way) -> Text<'_> {
        match way {
            Way::Restore => Text::in_place(self.output()),
            _ => self.part(0, self.len()),
        }
    }
}

/// A block that spans pieces or ends the packet. It starts at an offset of some piece.
struct Block {
    bytes: [u8; BLOCK],
    filled: usize,
    piece: usize,
    offset: usize,
}

impl Block {
    /// Takes bytes from a piece, starting at an offset, if a block is incomplete or less than a block remains. Returns
    /// the offset after them.
    fn take(&mut self, text: &Text<'_>, piece: usize, offset: usize) -> usize {
        let left = &text.input()[offset..];
        if left.is_empty() || (self.filled == 0 && left.len() >= BLOCK) {
            return offset;
        }
        if self.filled == 0 {
            (self.piece, self.offset) = (piece, offset);
        }
        let n = left.len().min(BLOCK - self.filled);
        self.bytes[self.filled..self.filled + n].copy_from_slice(&left[..n]);
        self.filled += n;
        offset + n
    }

    /// Writes the processed block back to where it came from.
    fn give_back(&mut self, pieces: &mut [Text<'_>]) {
        let mut at = 0;
        while at < self.filled {
            let piece = &mut pieces[self.piece].output()[self.offset..];
            let n = piece.len().min(self.filled - at);
            piece[..n].copy_from_slice(&self.bytes[at..at + n]);
            at += n;
            (self.piece, self.offset) = (self.piece + 1, 0);
        }
        self.filled = 0;
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        self.bytes.zeroize();
    }
}
