//! Many packets in one call: they are sorted by length into the lanes of a batch kernel, and packets not worth a lane are
//! processed individually. The plan is that of the C library (src/batch.c).

use core::marker::PhantomData;

use zeroize::Zeroize;

use crate::cipher::{same_tag, tag_of_bytes};
use crate::dit::Dit;
use crate::kernel::{ChaCha20Poly1305, Lanes, Runnable, RunnableBatch, Text, CHUNK};
use crate::key::{ChaChaKey, State, SubKey};
use crate::level::{Usable, CHACHA20POLY1305, FROM_MAX};
use crate::{Error, Key, TAG_LEN};

/// What is to become of a packet: [`Seal`] or [`Open`].
///
/// ```
/// use sealane::{Direction, Packet};
///
/// fn failed<D: Direction>(packets: &[Packet<'_, D>]) -> usize {
///     packets.iter().filter(|packet| packet.result().is_err()).count()
/// }
/// # assert_eq!(failed::<sealane::Seal>(&[]), 0);
/// # assert_eq!(failed::<sealane::Open>(&[]), 0);
/// ```
pub trait Direction: private::Sealed {}

/// Of a [`Packet`] that is to be sealed: [`seal_batch`] has an example.
#[derive(Debug)]
pub enum Seal {}
/// Of a [`Packet`] that is to be opened, which has an example.
#[derive(Debug)]
pub enum Open {}

mod private {
    pub trait Sealed {
        const OPEN: bool;
    }
    impl Sealed for super::Seal {
        const OPEN: bool = false;
    }
    impl Sealed for super::Open {
        const OPEN: bool = true;
    }
}
impl Direction for Seal {}
impl Direction for Open {}

/// One packet of a batch, for [`seal_batch`] or [`open_batch`]; afterwards its tag, or its result.
///
/// ```
/// use sealane::{open_batch, Algorithm, Error, Key, Packet, Text};
///
/// let key = Key::new(Algorithm::Aes128Gcm, &[7; 16])?;
/// let mut forged = *b"a packet";
/// let mut packets = [Packet::to_open(&key, &[1; 12], b"its header", Text::in_place(&mut forged), &[0; 16])];
/// assert_eq!(open_batch(&mut packets), 0);
/// assert_eq!(packets[0].result(), Err(Error::NotAuthentic));
/// # Ok::<(), Error>(())
/// ```
#[derive(Debug)]
pub struct Packet<'a, D: Direction> {
    key: &'a Key,
    nonce: &'a [u8],
    ad: &'a [u8],
    text: Text<'a>,
    tag: [u8; TAG_LEN],
    result: Result<(), Error>,
    direction: PhantomData<D>,
}

impl<'a> Packet<'a, Seal> {
    /// A packet to be sealed.
    pub fn to_seal(key: &'a Key, nonce: &'a [u8], ad: &'a [u8], text: Text<'a>) -> Self {
        Packet { key, nonce, ad, text, tag: [0; TAG_LEN], result: Ok(()), direction: PhantomData }
    }
}

impl<'a> Packet<'a, Open> {
    /// A packet to be opened.
    pub fn to_open(key: &'a Key, nonce: &'a [u8], ad: &'a [u8], text: Text<'a>, tag: &[u8; TAG_LEN]) -> Self {
        Packet { key, nonce, ad, text, tag: *tag, result: Ok(()), direction: PhantomData }
    }
}

impl<D: Direction> Packet<'_, D> {
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
    fn alone(&mut self) -> bool {
        self.result = if D::OPEN {
            self.key.open_text(self.nonce, self.ad, &mut self.text, &self.tag)
        } else {
            let made = self.key.seal_text(self.nonce, self.ad, &mut self.text);
            self.tag = made.unwrap_or([0; TAG_LEN]);
            made.map(|_| ())
        };
        self.result.is_ok()
    }
}

/// Seals all packets, of any mix of keys, algorithms and lengths, and returns how many succeeded. A packet that fails does
/// not affect the others: its text is as it was, its tag zeroed. Small packets run side by side in the lanes of the CPU's
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
///
/// Packets that are to be opened are of another type, and do not compile here:
///
/// ```compile_fail,E0308
/// # let key = sealane::Key::new(sealane::Algorithm::Aes128Gcm, &[7; 16]).unwrap();
/// use sealane::{seal_batch, Packet, Text};
/// seal_batch(&mut [Packet::to_open(&key, &[1; 12], b"", Text::in_place(&mut [0; 9]), &[0; 16])]);
/// ```
pub fn seal_batch(packets: &mut [Packet<'_, Seal>]) -> usize {
    run(packets)
}

/// Opens all packets, and returns how many are authentic. A packet that fails does not affect the others, and leaves what
/// [`Key::open_in_place`] or [`Key::open`] leaves.
pub fn open_batch(packets: &mut [Packet<'_, Open>]) -> usize {
    run(packets)
}

fn run<D: Direction>(packets: &mut [Packet<'_, D>]) -> usize {
    match packets {
        [packet] => usize::from(packet.alone()),
        packets => run_chunks(packets),
    }
}

#[inline(never)]
fn run_chunks<D: Direction>(packets: &mut [Packet<'_, D>]) -> usize {
    let _dit = Dit::on();
    packets.chunks_mut(CHUNK).map(run_chunk).sum()
}

/// Packets of ChaCha20-Poly1305 side by side where that pays, and the rest one by one.
fn run_chunk<D: Direction>(packets: &mut [Packet<'_, D>]) -> usize {
    let mut done = [false; CHUNK];
    let mut good = 0;
    if packets.len() > 1 {
        good = plan(packets, &mut done);
    }
    for (packet, done) in packets.iter_mut().zip(&done) {
        if !done {
            good += usize::from(packet.alone());
        }
    }
    good
}

/// The level that a packet's key has a kernel of, and the key's bytes.
fn key_of<'a, D: Direction>(packet: &Packet<'a, D>) -> Option<(Runnable<ChaCha20Poly1305>, &'a [u8; 32])> {
    match &packet.key.state {
        State::ChaCha(ChaChaKey { level: Usable::Kernel(level), bytes }) => Some((*level, bytes)),
        _ => None,
    }
}

/// The key of a packet that is faster in a lane of that level's, and without mistakes.
fn lane_key<'a, D: Direction>(
    packet: &Packet<'a, D>,
    level: Runnable<ChaCha20Poly1305>,
    batch: RunnableBatch,
) -> Option<&'a [u8; 32]> {
    let (_, key) = key_of(packet).filter(|(own, _)| own.is(level))?;
    let wants = batch.from(packet.text.len()) != 0
        && packet.nonce.len() == packet.key.algorithm.nonce_len()
        && packet.key.mistake(packet.nonce, packet.ad, packet.text.len() as u64).is_none();
    wants.then_some(key)
}

/// What a packet counts towards a batch that pays: `PAYS` / from, rounded up.
const PAYS: usize = 240;

/// The level is that of the first packet that has one.
fn plan<D: Direction>(packets: &mut [Packet<'_, D>], done: &mut [bool; CHUNK]) -> usize {
    let Some((level, _)) = packets.iter().find_map(key_of) else { return 0 };
    let Some(batch) = CHACHA20POLY1305.batch(level) else { return 0 };
    if packets.len() < batch.few() {
        return 0;
    }
    let (mut count, mut weight, mut extended) = (0, 0, 0);
    for packet in packets.iter().filter(|packet| lane_key(packet, level, batch).is_some()) {
        let from = batch.from(packet.text.len()).max(1);
        count += 1;
        weight += PAYS.div_ceil(from);
        extended += usize::from(packet.nonce.len() != 12);
    }
    if count == 0 || count < FROM_MAX && weight < PAYS {
        return 0;
    }
    if extended == 0 {
        return side_by_side(packets, done, level, batch, &mut []);
    }
    extended_side_by_side(packets, done, level, batch)
}

#[inline(never)]
fn extended_side_by_side<D: Direction>(
    packets: &mut [Packet<'_, D>],
    done: &mut [bool; CHUNK],
    level: Runnable<ChaCha20Poly1305>,
    batch: RunnableBatch,
) -> usize {
    side_by_side(packets, done, level, batch, &mut [SubKey::UNSET; CHUNK])
}

/// The packets that want a lane.
#[inline(never)]
fn side_by_side<D: Direction>(
    packets: &mut [Packet<'_, D>],
    done: &mut [bool; CHUNK],
    level: Runnable<ChaCha20Poly1305>,
    batch: RunnableBatch,
    subkeys: &mut [SubKey],
) -> usize {
    let mut expected = [[0; TAG_LEN]; CHUNK];
    let mut lanes: Lanes<'_> = Lanes::new();
    let mut subkeys = subkeys.iter_mut();
    for ((packet, done), expected) in packets.iter_mut().zip(done.iter_mut()).zip(expected.iter_mut()) {
        let Some(key) = lane_key(packet, level, batch) else { continue };
        let Packet { nonce, ad, text, tag, result, .. } = packet;
        let (key, nonce) = match <&[u8; 12]>::try_from(*nonce) {
            Ok(nonce) => (key, nonce),
            Err(_) => {
                let Some(sub) = subkeys.next() else { continue };
                sub.set(key, nonce);
                (&sub.key, &sub.nonce)
            }
        };
        let bytes = text.len();
        lanes.push(text.part(0, bytes), ad, key, nonce, if D::OPEN { expected } else { tag });
        *result = Ok(());
        *done = true;
    }
    lanes.sort();
    batch.run(&lanes, D::OPEN);
    let mut good = 0;
    for ((packet, done), expected) in packets.iter_mut().zip(done.iter()).zip(expected.iter()) {
        if !done {
            continue;
        }
        if D::OPEN && !same_tag(&tag_of_bytes(expected), &tag_of_bytes(&packet.tag)) {
            packet.result = packet.key.refuse(packet.nonce, packet.ad, &mut packet.text);
        } else {
            good += 1;
        }
    }
    if D::OPEN {
        expected.zeroize();
    }
    good
}
