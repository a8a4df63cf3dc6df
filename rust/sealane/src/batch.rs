//! Many packets in one call. They are sorted by length into the lanes of a batch kernel; packets not worth a lane are
//! processed individually. The plan is that of the C library (src/batch.c).

use core::marker::PhantomData;

use zeroize::Zeroize;

use crate::cipher::same_tag;
use crate::dit::Dit;
use crate::kernel::{tag_of_bytes, ChaCha20Poly1305, Lanes, Runnable, RunnableBatch, Text, Usable, CHUNK};
use crate::key::{ChaChaKey, State, SubKey};
use crate::level::{CHACHA20POLY1305, FROM_MAX};
use crate::{Error, Key, TAG_LEN};

/// The direction of a packet: [`Seal`] or [`Open`].
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

/// The direction of a [`Packet`] that will be sealed. [`seal_batch`] has an example.
#[derive(Debug)]
pub enum Seal {}
/// The direction of a [`Packet`] that will be opened. [`Packet`] has an example.
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

/// One packet of a batch, for [`seal_batch`] or [`open_batch`]. After the call it holds its tag or its result.
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
    /// A packet that will be sealed.
    pub fn to_seal(key: &'a Key, nonce: &'a [u8], ad: &'a [u8], text: Text<'a>) -> Self {
        Packet { key, nonce, ad, text, tag: [0; TAG_LEN], result: Ok(()), direction: PhantomData }
    }
}

impl<'a> Packet<'a, Open> {
    /// A packet that will be opened.
    pub fn to_open(key: &'a Key, nonce: &'a [u8], ad: &'a [u8], text: Text<'a>, tag: &[u8; TAG_LEN]) -> Self {
        Packet { key, nonce, ad, text, tag: *tag, result: Ok(()), direction: PhantomData }
    }
}

impl<D: Direction> Packet<'_, D> {
    /// The tag: before opening the expected one, after sealing the packet's own, or zeroes if sealing failed.
    pub fn tag(&self) -> &[u8; TAG_LEN] {
        &self.tag
    }

    /// The result for this packet. The errors are those of [`Key::seal_in_place`] and [`Key::open_in_place`].
    pub fn result(&self) -> Result<(), Error> {
        self.result
    }

    /// Processes the packet individually, and returns whether it succeeded.
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

/// Seals all packets, with any mix of keys, algorithms and lengths, and returns how many succeeded. A packet that fails
/// does not affect the others: its text is unchanged, and its tag is zeroed. Small packets run side by side in the
/// lanes of the CPU's vectors, where that is faster. The results are the same as for individual calls. Some dozens of
/// packets per call work best.
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
/// Packets to open have another type, and do not compile here:
///
/// ```compile_fail,E0308
/// # let key = sealane::Key::new(sealane::Algorithm::Aes128Gcm, &[7; 16]).unwrap();
/// use sealane::{seal_batch, Packet, Text};
/// seal_batch(&mut [Packet::to_open(&key, &[1; 12], b"", Text::in_place(&mut [0; 9]), &[0; 16])]);
/// ```
pub fn seal_batch(packets: &mut [Packet<'_, Seal>]) -> usize {
    run(packets)
}

/// Opens all packets, and returns how many are authentic. A packet that fails does not affect the others, and leaves
/// its buffers as [`Key::open_in_place`] or [`Key::open`] does.
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

/// Processes ChaCha20-Poly1305 packets side by side where that is faster, and the rest individually.
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

/// The kernel level of a packet's key, and the bytes of the key.
fn key_of<'a, D: Direction>(packet: &Packet<'a, D>) -> Option<(Runnable<ChaCha20Poly1305>, &'a [u8; 32])> {
    match &packet.key.state {
        State::ChaCha(ChaChaKey { level: Usable::Kernel(level), bytes }) => Some((*level, bytes)),
        _ => None,
    }
}

/// The key of a packet, if the packet is valid and faster in a lane of that level.
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

/// The weight of a packet is `PAYS` / `from`, rounded up. A batch is used if the weights reach `PAYS`.
const PAYS: usize = 240;

/// Plans a batch for the level of the first packet that has one.
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

/// Processes the packets that were given a lane.
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
