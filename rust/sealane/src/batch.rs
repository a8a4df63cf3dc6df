//! Many packets in one call: they are sorted by length into the lanes of a batch kernel, and what is not worth a lane goes
//! one by one. The plan is that of the C library (src/batch.c).

use zeroize::Zeroize;

use crate::cipher::{same_tag, tag_of_bytes, Gcm};
use crate::dit::Dit;
use crate::kernel::{CallKey, Lanes, Text, CHUNK};
use crate::key::{State, SubKey};
use crate::level::{Batch, Level, Table, AESGCM, CHACHA20POLY1305, FROM_MAX};
use crate::{Error, Key, TAG_LEN};

/// One packet of a batch.
#[derive(Debug)]
pub struct Packet<'a> {
    key: &'a Key,
    nonce: &'a [u8],
    ad: &'a [u8],
    text: Text<'a>,
    tag: [u8; TAG_LEN],
    result: Result<(), Error>,
}

impl<'a> Packet<'a> {
    /// A packet to be sealed.
    pub fn to_seal(key: &'a Key, nonce: &'a [u8], ad: &'a [u8], text: Text<'a>) -> Self {
        Packet { key, nonce, ad, text, tag: [0; TAG_LEN], result: Ok(()) }
    }

    /// A packet to be opened.
    pub fn to_open(key: &'a Key, nonce: &'a [u8], ad: &'a [u8], text: Text<'a>, tag: &[u8; TAG_LEN]) -> Self {
        Packet { key, nonce, ad, text, tag: *tag, result: Ok(()) }
    }

    /// The tag: to be opened with, or after sealing the one that belongs to the packet; zeroes if sealing failed.
    pub fn tag(&self) -> &[u8; TAG_LEN] {
        &self.tag
    }

    /// What became of the packet: the errors are those of [`Key::seal_in_place`] and [`Key::open_in_place`].
    pub fn result(&self) -> Result<(), Error> {
        self.result
    }

    /// By itself; whether it succeeded.
    #[inline(never)]
    pub(crate) fn alone(&mut self, open: bool) -> bool {
        self.result = if open {
            self.key.open_text(self.nonce, self.ad, &mut self.text, &self.tag)
        } else {
            self.key.seal_text_to(self.nonce, self.ad, &mut self.text, &mut self.tag)
        };
        self.result.is_ok()
    }
}

/// Seals all packets, of any mix of keys, algorithms and lengths, and returns how many succeeded. A packet that fails does
/// not affect the others: its output and its tag are zeroed. Small packets run side by side in the lanes of the CPU's
/// vectors, where that is faster; nothing else is different from sealing each. Give as many at once as there are, best some dozens.
///
/// ```
/// use sealane::{seal_batch, Algorithm, Key, Packet, Text};
///
/// # fn main() -> Result<(), sealane::Error> {
/// let key = Key::new(Algorithm::ChaCha20Poly1305, &[7; 32])?;
/// let (mut first, mut second) = (*b"a packet", *b"another one");
/// let mut packets = [
///     Packet::to_seal(&key, &[1; 12], b"its header", Text::in_place(&mut first)),
///     Packet::to_seal(&key, &[2; 12], b"", Text::in_place(&mut second)),
/// ];
/// assert_eq!(seal_batch(&mut packets), 2);
/// # Ok(())
/// # }
/// ```
pub fn seal_batch(packets: &mut [Packet<'_>]) -> usize {
    run(packets, false)
}

/// Opens all packets, and returns how many are authentic. A packet that fails does not affect the others: its output is
/// zeroed.
pub fn open_batch(packets: &mut [Packet<'_>]) -> usize {
    run(packets, true)
}

fn run(packets: &mut [Packet<'_>], open: bool) -> usize {
    match packets {
        [packet] => usize::from(packet.alone(open)),
        packets => run_chunks(packets, open),
    }
}

#[inline(never)]
fn run_chunks(packets: &mut [Packet<'_>], open: bool) -> usize {
    let _dit = Dit::on();
    packets.chunks_mut(CHUNK).map(|chunk| run_chunk(chunk, open)).sum()
}

/// Packets of a level side by side, first those of one primitive and then those of the other; the rest one by one.
fn run_chunk(packets: &mut [Packet<'_>], open: bool) -> usize {
    let mut done = [false; CHUNK];
    let mut good = 0;
    if packets.len() > 1 {
        for table in [&CHACHA20POLY1305, &AESGCM] {
            good += run_lanes(packets, &mut done, table, open);
        }
    }
    for (packet, done) in packets.iter_mut().zip(&done) {
        if !done {
            good += usize::from(packet.alone(open));
        }
    }
    good
}

/// Whether a packet is faster in a lane of that level's, and without mistakes.
fn wants_lane(packet: &Packet<'_>, level: &Level, batch: &Batch) -> bool {
    core::ptr::eq(packet.key.level, level)
        && batch.from(packet.text.len()) != 0
        && packet.nonce.len() == packet.key.algorithm.nonce_len()
        && packet.key.mistake(packet.nonce, packet.ad, packet.text.len() as u64).is_none()
}

/// What a packet counts towards a batch that pays: `PAYS` / from, rounded up.
const PAYS: usize = 240;

fn run_lanes(packets: &mut [Packet<'_>], done: &mut [bool; CHUNK], table: &'static Table, open: bool) -> usize {
    let level = match packets.iter().find(|packet| core::ptr::eq(packet.key.algorithm.table(), table)) {
        Some(packet) => packet.key.level,
        None => return 0,
    };
    let batch = match table.batch(level) {
        Some(batch) => batch,
        None => return 0,
    };
    if packets.len() < usize::from(batch.few) {
        return 0;
    }
    let (mut count, mut weight, mut extended) = (0, 0, 0);
    for packet in packets.iter().filter(|packet| wants_lane(packet, level, batch)) {
        let from = batch.from(packet.text.len()).max(1);
        count += 1;
        weight += (PAYS + from - 1) / from;
        extended += usize::from(packet.nonce.len() != 12);
    }
    if count == 0 || count < FROM_MAX && weight < PAYS {
        return 0;
    }
    if extended == 0 {
        return side_by_side(packets, done, (level, batch), count, &mut [], open);
    }
    const NONE: Option<SubKey> = None;
    side_by_side(packets, done, (level, batch), count, &mut [NONE; CHUNK], open)
}

/// The first `count` packets that want a lane.
fn side_by_side(
    packets: &mut [Packet<'_>],
    done: &mut [bool; CHUNK],
    (level, batch): (&Level, &Batch),
    count: usize,
    subkeys: &mut [Option<SubKey>],
    open: bool,
) -> usize {
    let mut expected = [[0; TAG_LEN]; CHUNK];
    {
        let mut lanes = Lanes::new();
        let mut subkeys = subkeys.iter_mut();
        for ((packet, done), expected) in packets.iter_mut().zip(done.iter_mut()).zip(expected.iter_mut()) {
            if lanes.len() == count {
                break;
            }
            if !wants_lane(packet, level, batch) {
                continue;
            }
            let Packet { key, nonce, ad, text, tag, result } = packet;
            let (key, nonce) = match (&key.state, <&[u8; 12]>::try_from(*nonce)) {
                (State::ChaCha(key), Ok(nonce)) => (CallKey::ChaCha(key), nonce),
                (State::Gcm(Gcm::Kernel(key)), Ok(nonce)) => (CallKey::Gcm(key), nonce),
                (State::ChaCha(key), Err(_)) => match subkeys.next() {
                    Some(place) => {
                        *place = SubKey::new(key, nonce);
                        match place {
                            Some(sub) => (CallKey::ChaCha(&sub.key), &sub.nonce),
                            None => continue,
                        }
                    }
                    None => continue,
                },
                _ => continue,
            };
            lanes.push(text, ad, key, nonce, if open { expected } else { tag });
            *result = Ok(());
            *done = true;
        }
        lanes.sort();
        batch.run(&lanes, open);
    }
    let mut good = 0;
    for ((packet, done), expected) in packets.iter_mut().zip(done.iter()).zip(expected.iter()) {
        if !*done || !wants_lane(packet, level, batch) {
            continue;
        }
        if open && !same_tag(&tag_of_bytes(expected), &tag_of_bytes(&packet.tag)) {
            packet.text.output().fill(0);
            packet.result = Err(Error::NotAuthentic);
        } else {
            good += 1;
        }
    }
    if open {
        expected.zeroize();
    }
    good
}
