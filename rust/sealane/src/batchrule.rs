//! From how many packets on a batch pays: the rules of the C library and of Go, by times that a process takes at its first
//! batch of a level. Of AES-GCM, whose packets a CPU overlaps by itself, whether it pays at all.

use core::sync::atomic::{AtomicU32, AtomicU8, Ordering};

use crate::batch::{run_by, Packet};
use crate::level::clock::{limit, Clock, TURNS, TURNS_AT_LEAST};
use crate::level::{may_measure, Batch, Level, Table, AESGCM, LEVELS_MAX};
use crate::{Algorithm, Key, Text, TAG_LEN};

/// Of packets with the same number of whole blocks of 64 bytes; longer packets never pay.
pub(crate) const CLASSES: usize = 32;
pub(crate) const FROM_MAX: usize = 16;

/// When a batch pays.
#[derive(Clone, Copy)]
pub(crate) struct Rule {
    /// The least of `from`: fewer packets never pay.
    few: u8,
    /// By number of whole blocks: from how many packets on; 0: never.
    from: [u8; CLASSES],
}

impl Rule {
    fn new(from: [u8; CLASSES]) -> Self {
        let few = from.iter().copied().filter(|from| *from != 0).min().unwrap_or(u8::MAX);
        Rule { few, from }
    }

    /// That of a level's row.
    fn of_table(batch: &Batch) -> Self {
        let mut rule = Rule { few: batch.few, from: [0; CLASSES] };
        for (from, of_table) in rule.from.iter_mut().zip(batch.from) {
            *from = *of_table;
        }
        rule
    }

    /// Whether so many packets may pay at all.
    pub(crate) fn may_pay(&self, count: usize) -> bool {
        count >= usize::from(self.few)
    }

    /// From how many packets of so many bytes on they pay; 0: never.
    pub(crate) fn from(&self, bytes: usize) -> usize {
        self.from.get(bytes / 64).map_or(0, |from| usize::from(*from))
    }

    /// A batch of n packets takes a + n b, and one packet by itself s; a, b and s grow steadily with the length. Times of
    /// batches of two sizes give a and b of a length, and those of two lengths all others, shorter and longer ones too.
    fn of_times(times: &Times) -> Self {
        let mut from = [0; CLASSES];
        for (class, from) in from.iter_mut().enumerate() {
            let class = class as i64;
            let between = |at: &[i64; 2]| at[0] * (times.blocks[1] - class) + at[1] * (class - times.blocks[0]);
            let (few, many, single) = (between(&times.few), between(&times.many), between(&times.single));
            let (f, m) = (FEW as i64, MANY as i64);
            let pays = |n: i64| m * few - f * many + n * (many - few) <= (m - f) * n * single;
            *from = (2..=FROM_MAX as u8).find(|n| pays(i64::from(*n))).unwrap_or(0);
        }
        Rule::new(from)
    }

    /// That of a level's row without the lengths of packets of AES-GCM that are clearly faster by themselves.
    fn of_gcm_times(batch: &Batch, times: &GcmTimes) -> Self {
        // Clearly: packets that are measured are at hand, and those of a batch are fetched beside each other.
        let slower = |way: usize| times.batch[way] > times.single[way] + times.single[way] / 8;
        let mut from = Rule::of_table(batch).from;
        let (side_by_side, stream) = from.split_at_mut(SIDE_BY_SIDE);
        for (way, classes) in [side_by_side, stream].iter_mut().enumerate() {
            if slower(way) {
                classes.fill(0);
            }
        }
        Rule::new(from)
    }
}

/// Packets in the batches that `Times` are of.
const FEW: usize = 3;
const MANY: usize = 8;

/// Of a level, in any unit: of one packet, and of batches of `FEW` and of `MANY`, of two lengths, in whole blocks and half
/// a one.
struct Times {
    blocks: [i64; 2],
    single: [i64; 2],
    few: [i64; 2],
    many: [i64; 2],
}

/// From how many whole blocks on packets of AES-GCM are done in a stream, and no longer side by side.
const SIDE_BY_SIDE: usize = 4;

/// Of a level and a direction, in any unit: of some packets of AES-GCM by themselves, and of the same in a batch; of those
/// that a kernel does side by side, and of those in a stream.
#[derive(Clone, Copy)]
struct GcmTimes {
    single: [u64; 2],
    batch: [u64; 2],
}

// ---- What this process has found ---------------------------------------------------------------------------------------

/// Of a level, by whoever came first; who comes meanwhile takes the table's.
struct Found {
    outcome: AtomicU8,
    /// Of what is sealed and of what is opened.
    few: [AtomicU8; 2],
    /// `from`, four in a word.
    from: [[AtomicU32; CLASSES / 4]; 2],
}

const UNKNOWN: u8 = 0;
const BUSY: u8 = 1;
const OF_TABLE: u8 = 2;
const FOUND: u8 = 3;

#[allow(clippy::declare_interior_mutable_const)] // one for each element of an array
const BYTE: AtomicU8 = AtomicU8::new(UNKNOWN);
#[allow(clippy::declare_interior_mutable_const)]
const WORD: AtomicU32 = AtomicU32::new(0);
#[allow(clippy::declare_interior_mutable_const)]
const WORDS: [AtomicU32; CLASSES / 4] = [WORD; CLASSES / 4];
#[allow(clippy::declare_interior_mutable_const)]
const NOTHING: Found = Found { outcome: BYTE, few: [BYTE; 2], from: [WORDS; 2] };
#[allow(clippy::declare_interior_mutable_const)]
const NOTHING_OF_ANY: [Found; LEVELS_MAX] = [NOTHING; LEVELS_MAX];
static OF_LEVELS: [[Found; LEVELS_MAX]; 2] = [NOTHING_OF_ANY; 2];

impl Found {
    fn store(&self, rules: [Rule; 2]) {
        for ((words, few), rule) in self.from.iter().zip(&self.few).zip(&rules) {
            few.store(rule.few, Ordering::Relaxed);
            for (word, from) in words.iter().zip(rule.from.chunks_exact(4)) {
                word.store(u32::from_le_bytes([from[0], from[1], from[2], from[3]]), Ordering::Relaxed);
            }
        }
        self.outcome.store(FOUND, Ordering::Release);
    }

    fn load(&self, open: bool) -> Rule {
        let mut from = [0; CLASSES];
        for (word, from) in self.from[usize::from(open)].iter().zip(from.chunks_exact_mut(4)) {
            from.copy_from_slice(&word.load(Ordering::Relaxed).to_le_bytes());
        }
        Rule { few: self.few[usize::from(open)].load(Ordering::Relaxed), from }
    }

    #[inline(never)]
    fn find(&self, table: &'static Table, level: &'static Level, batch: &Batch) {
        if self.outcome.compare_exchange(UNKNOWN, BUSY, Ordering::Acquire, Ordering::Relaxed).is_err() {
            return;
        }
        let rules = if !may_measure() || cfg!(miri) {
            None
        } else if core::ptr::eq(table, &AESGCM) {
            measure_gcm(level, limit()).map(|times| times.map(|times| Rule::of_gcm_times(batch, &times)))
        } else {
            measure(level, limit()).map(|times| [Rule::of_times(&times); 2])
        };
        match rules {
            Some(rules) => self.store(rules),
            None => self.outcome.store(OF_TABLE, Ordering::Release),
        }
    }
}

/// When batches of a level pay. The first call for a level measures, where it may.
pub(crate) fn of_process(table: &'static Table, level: &'static Level, batch: &Batch, open: bool) -> Rule {
    let place = match table.place(level) {
        Some(place) if place < LEVELS_MAX => place,
        _ => return Rule::of_table(batch),
    };
    let found = &OF_LEVELS[usize::from(core::ptr::eq(table, &AESGCM))][place];
    if found.outcome.load(Ordering::Relaxed) == UNKNOWN {
        found.find(table, level, batch);
    }
    match found.outcome.load(Ordering::Acquire) {
        FOUND => found.load(open),
        _ => Rule::of_table(batch),
    }
}

// ---- Measuring it ------------------------------------------------------------------------------------------------------

/// Packets by themselves.
const ALONE: usize = 4;
/// The lengths that are measured, in whole blocks: where the first two would take too long, the others.
const LENGTHS: [[usize; 2]; 2] = [[10, 20], [2, 10]];

fn bytes_of(blocks: usize) -> usize {
    64 * blocks + 32
}

type Texts = [[u8; 64 * 20 + 32]; MANY];

/// What a batch of so many packets takes, or by themselves. They are sealed in place.
fn ticks_of(key: &Key, texts: &mut Texts, count: usize, blocks: usize, together: bool) -> u64 {
    let mut texts = texts.iter_mut();
    let mut packets = [(); MANY].map(|()| {
        let text = texts.next().map_or(&mut [][..], |text| &mut text[..bytes_of(blocks)]);
        Packet::to_seal(key, &[0; 12], &[], Text::in_place(text))
    });
    timed(&mut packets[..count], false, together)
}

fn timed(packets: &mut [Packet<'_>], open: bool, together: bool) -> u64 {
    let start = Clock::start();
    if together {
        run_by(packets, open, |_, _, _, _| Rule { few: 2, from: [2; CLASSES] });
    } else {
        for packet in packets {
            packet.alone(open);
        }
    }
    start.elapsed().min(u64::from(u32::MAX))
}

/// Interruptions only add: the shortest times count, of four turns, or of two where those took long. None if the level has
/// no keys, where it would take more than twice the limit, and by a clock that is too coarse.
#[inline(never)]
fn measure(level: &'static Level, limit: u64) -> Option<Times> {
    let key = Key::at(Algorithm::ChaCha20Poly1305, &[0; 32], level).ok()?;
    let mut texts = [[0; 64 * 20 + 32]; MANY];
    let start = Clock::start();
    ticks_of(&key, &mut texts, FEW, LENGTHS[0][0], true);
    let few = u128::from(ticks_of(&key, &mut texts, FEW, LENGTHS[0][0], true));
    let within = |blocks: &&[usize; 2]| {
        let bytes = (FEW + MANY + ALONE) * (bytes_of(blocks[0]) + bytes_of(blocks[1]));
        let ticks = u128::from(TURNS_AT_LEAST) * bytes as u128 * few;
        ticks <= 2 * u128::from(limit) * (FEW * bytes_of(LENGTHS[0][0])) as u128
    };
    let blocks = LENGTHS.iter().find(within)?;
    let mut least = [[u64::MAX; 3]; 2];
    for turn in 0..TURNS {
        if turn >= TURNS_AT_LEAST && start.elapsed() >= limit {
            break;
        }
        for (least, blocks) in least.iter_mut().zip(blocks) {
            for (least, (count, together)) in least.iter_mut().zip([(FEW, true), (MANY, true), (ALONE, false)]) {
                *least = ticks_of(&key, &mut texts, count, *blocks, together).min(*least);
            }
        }
    }
    if least.iter().flatten().any(|ticks| *ticks == 0) {
        return None;
    }
    let of = |i: usize, scale: usize| [least[0][i] as i64 * scale as i64, least[1][i] as i64 * scale as i64];
    // In quarters of a tick.
    Some(Times {
        blocks: [blocks[0] as i64, blocks[1] as i64],
        few: of(0, ALONE),
        many: of(1, ALONE),
        single: of(2, 1),
    })
}

/// AES-GCM: a length that is done side by side, and one that is not.
const GCM_BYTES: [usize; 2] = [160, 704];
const GCM_PACKETS: usize = 16;
const GCM_IN_A_ROW: usize = 2;

/// Each packet has another key than the one before; all of a key are the same one.
struct GcmSamples {
    keys: [Key; 2],
    sealed: [[u8; 704]; 2],
    tags: [[u8; TAG_LEN]; 2],
    out: [[u8; 704]; GCM_PACKETS],
}

impl GcmSamples {
    fn ticks(&mut self, bytes: usize, open: bool, together: bool) -> u64 {
        static ZEROES: [u8; 704] = [0; 704];
        let (keys, sealed, tags) = (&self.keys, &self.sealed, &self.tags);
        let (mut outs, mut number) = (self.out.iter_mut(), 0);
        let mut packets = [(); GCM_PACKETS].map(|()| {
            let out = outs.next().map_or(&mut [][..], |out| &mut out[..bytes]);
            let i = number % 2;
            number += 1;
            let input = if open { &sealed[i][..bytes] } else { &ZEROES[..bytes] };
            let text = Text::apart(input, out).unwrap_or_else(|_| Text::in_place(&mut []));
            if open {
                Packet::to_open(&keys[i], &[0; 12], &[], text, &tags[i])
            } else {
                Packet::to_seal(&keys[i], &[0; 12], &[], text)
            }
        });
        // Twice in a row: what ran before tells on the first.
        (0..GCM_IN_A_ROW).map(|_| timed(&mut packets, open, together)).min().unwrap_or(0)
    }
}

#[inline(never)]
fn measure_gcm(level: &'static Level, limit: u64) -> Option<[GcmTimes; 2]> {
    let start = Clock::start();
    let key = || Key::at(Algorithm::Aes128Gcm, &[0; 16], level).ok();
    let mut samples =
        GcmSamples { keys: [key()?, key()?], sealed: [[0; 704]; 2], tags: [[0; 16]; 2], out: [[0; 704]; GCM_PACKETS] };
    let mut times = [GcmTimes { single: [u64::MAX; 2], batch: [u64::MAX; 2] }; 2];
    for turn in 0..TURNS {
        if turn >= TURNS_AT_LEAST && start.elapsed() >= limit {
            break;
        }
        for (way, bytes) in GCM_BYTES.iter().enumerate() {
            for i in 0..2 {
                let sealed = &mut samples.sealed[i][..*bytes];
                sealed.fill(0);
                samples.tags[i] = samples.keys[i].seal_in_place(&[0; 12], &[], sealed).ok()?;
            }
            for (times, open) in times.iter_mut().zip([false, true]) {
                times.batch[way] = samples.ticks(*bytes, open, true).min(times.batch[way]);
                times.single[way] = samples.ticks(*bytes, open, false).min(times.single[way]);
            }
        }
    }
    if times.iter().any(|times| times.single.contains(&0)) {
        return None;
    }
    Some(times)
}

#[cfg(all(test, not(miri)))]
mod tests {
    use super::*;
    use crate::level::CHACHA20POLY1305;

    /// Of one packet 100 and 10 a block; a batch takes 400 and 50 a packet, and 4 a block and packet.
    fn times_of(blocks: [i64; 2]) -> Times {
        let batch = |n: i64| blocks.map(|blocks| 400 + n * (50 + 4 * blocks));
        Times {
            blocks,
            single: blocks.map(|blocks| 100 + 10 * blocks),
            few: batch(FEW as i64),
            many: batch(MANY as i64),
        }
    }

    #[test]
    fn the_rule_follows_from_times() {
        for blocks in [[10, 20], [2, 10]] {
            let rule = Rule::of_times(&times_of(blocks));
            for (class, from) in rule.from.iter().enumerate() {
                for n in 2..=FROM_MAX {
                    let pays = 400 + n * (50 + 4 * class) <= n * (100 + 10 * class);
                    assert_eq!(pays, *from != 0 && n >= usize::from(*from), "{} packets of {} blocks", n, class);
                }
            }
            assert_eq!((rule.few, rule.from[0], rule.from[31]), (2, 8, 2));
            assert!(rule.may_pay(2) && !rule.may_pay(1));
            assert_eq!((rule.from(63), rule.from(32 * 64 - 1), rule.from(32 * 64)), (8, 2, 0));
            // Batches that gain nothing.
            let mut times = times_of(blocks);
            for i in 0..2 {
                times.few[i] = FEW as i64 * times.single[i] + 1;
                times.many[i] = MANY as i64 * times.single[i] + 1;
            }
            let rule = Rule::of_times(&times);
            assert_eq!(rule.from, [0; CLASSES]);
            assert!(!rule.may_pay(64));
        }
    }

    /// A packet by itself takes 100, or of those in a stream 300, and in a batch 1.12 or 1.13 times as much.
    #[test]
    fn packets_of_aes_gcm_that_are_faster_alone_are_left_out() {
        for batch in AESGCM.levels().filter_map(|(_, level)| level.batch.as_ref()) {
            for slower in 0..4 {
                let (side, stream) = (slower & 1, slower >> 1);
                let times = GcmTimes { single: [100, 300], batch: [112 + side, 3 * (112 + stream)] };
                let (rule, of_table) = (Rule::of_gcm_times(batch, &times), Rule::of_table(batch));
                for (class, from) in rule.from.iter().enumerate() {
                    let left_out = if class < SIDE_BY_SIDE { side } else { stream } == 1;
                    assert_eq!(*from, if left_out { 0 } else { of_table.from[class] }, "{} {}", slower, class);
                }
                assert_eq!(rule.may_pay(CHUNK_MOST), slower < 3);
            }
        }
    }

    const CHUNK_MOST: usize = crate::kernel::CHUNK;

    #[test]
    fn what_was_found_is_kept() {
        let (found, mut rules) = (NOTHING, [Rule::new([0; CLASSES]); 2]);
        for (i, from) in rules.iter_mut().flat_map(|rule| &mut rule.from).enumerate() {
            *from = (i % 17) as u8;
        }
        let rules = rules.map(|rule| Rule::new(rule.from));
        found.store(rules);
        for (open, rule) in [false, true].iter().zip(&rules) {
            let kept = found.load(*open);
            assert_eq!((kept.few, kept.from), (rule.few, rule.from));
        }
    }

    /// Every level that has batches can be measured, and what is found is the same ever after.
    #[test]
    fn levels_are_measured() {
        for table in [&CHACHA20POLY1305, &AESGCM] {
            for (place, level) in table.levels() {
                let batch = match table.works(place, level).then(|| table.batch(level)).flatten() {
                    Some(batch) => batch,
                    None => continue,
                };
                let gcm = core::ptr::eq(table, &AESGCM);
                let taken = if gcm { measure_gcm(level, 1 << 40).is_some() } else { measure(level, 1 << 40).is_some() };
                assert!(taken, "{} {}", table.primitive, level.name);
                assert!(gcm || measure(level, 0).is_none(), "in no time");
                let rules = [false, true].map(|open| of_process(table, level, batch, open).from);
                assert_eq!(rules, [false, true].map(|open| of_process(table, level, batch, open).from));
                let found = OF_LEVELS[usize::from(gcm)][place].outcome.load(Ordering::Acquire);
                assert!(found == if may_measure() { FOUND } else { OF_TABLE } || found == BUSY, "{}", found);
            }
        }
    }
}
