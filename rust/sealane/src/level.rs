//! The levels: one table for each primitive, best first, that drives dispatch, known-answer tests and tests.

use core::sync::atomic::{AtomicU8, AtomicUsize, Ordering};

use crate::kernel::{names::NAMES, rows, Kernel};
use crate::{cpu, selftest, Error};

/// A kernel for many packets in one call, and when it pays where that is not measured (batchrule.rs): for packets of each
/// number of whole blocks from how many on they are faster side by side. Unlike packets pay if the sum of 1/from is 1 or
/// more.
pub(crate) struct Batch {
    pub(crate) kernel: Kernel,
    /// Packets at a time, a power of 2: one or two over go one by one; 0: no matter.
    pub(crate) group: u8,
    /// The least of `from`: fewer packets never pay.
    pub(crate) few: u8,
    /// By number of whole blocks; longer packets never pay.
    pub(crate) from: &'static [u8],
}

pub(crate) struct Level {
    pub(crate) name: &'static str,
    /// Of `cpu`.
    pub(crate) needs: u32,
    /// None: portable code.
    pub(crate) kernel: Option<Kernel>,
    pub(crate) batch: Option<Batch>,
    /// A measurement decides between this level and other timed ones.
    pub(crate) timed: bool,
}

pub(crate) const LEVELS_MAX: usize = 8;

/// What is known of a level's known-answer test.
const UNKNOWN: u8 = 0;
const WORKS: u8 = 1;
const FAILS: u8 = 2;

pub(crate) struct Table {
    pub(crate) primitive: &'static str,
    rows: &'static [Level],
    selftest: fn(&'static Level) -> bool,
    batch_selftest: fn(&'static Level, &Batch) -> bool,
    tested: [AtomicU8; LEVELS_MAX],
    batch_tested: [AtomicU8; LEVELS_MAX],
    /// 0: not chosen yet; 1: there is none; else the level's place + 2.
    chosen: AtomicU8,
}

static PORTABLE: Level = Level { name: "portable", needs: 0, kernel: None, batch: None, timed: false };

#[allow(clippy::declare_interior_mutable_const)] // one for each element of an array
const NOT_TESTED: AtomicU8 = AtomicU8::new(UNKNOWN);

pub(crate) static CHACHA20POLY1305: Table = Table {
    primitive: "chacha20poly1305",
    rows: &rows::CHACHA20POLY1305,
    selftest: selftest::chacha20poly1305,
    batch_selftest: selftest::chacha20poly1305_batch,
    tested: [NOT_TESTED; LEVELS_MAX],
    batch_tested: [NOT_TESTED; LEVELS_MAX],
    chosen: AtomicU8::new(0),
};

pub(crate) static AESGCM: Table = Table {
    primitive: "aesgcm",
    rows: &rows::AESGCM,
    selftest: selftest::aesgcm,
    batch_selftest: selftest::aesgcm_batch,
    tested: [NOT_TESTED; LEVELS_MAX],
    batch_tested: [NOT_TESTED; LEVELS_MAX],
    chosen: AtomicU8::new(0),
};

fn no_batch(_: &'static Level, _: &Batch) -> bool {
    false
}

/// The masks of QUIC's headers.
pub(crate) static AES_BLOCKS: Table = Table {
    primitive: "aes",
    rows: &rows::AES_BLOCKS,
    selftest: selftest::aes,
    batch_selftest: no_batch,
    tested: [NOT_TESTED; LEVELS_MAX],
    batch_tested: [NOT_TESTED; LEVELS_MAX],
    chosen: AtomicU8::new(0),
};

pub(crate) static CHACHA20MASKS: Table = Table {
    primitive: "chacha20masks",
    rows: &rows::CHACHA20MASKS,
    selftest: selftest::chacha20masks,
    batch_selftest: no_batch,
    tested: [NOT_TESTED; LEVELS_MAX],
    batch_tested: [NOT_TESTED; LEVELS_MAX],
    chosen: AtomicU8::new(0),
};

fn place_of(name: &str) -> Option<usize> {
    NAMES.iter().position(|known| *known == name)
}

fn report(_what: core::fmt::Arguments<'_>) {
    #[cfg(feature = "std")]
    {
        use std::io::Write;
        // A closed standard error is no reason to stop.
        let _ = writeln!(std::io::stderr(), "sealane: {}", _what);
    }
}

impl Table {
    /// All levels, best first.
    pub(crate) fn levels(&'static self) -> impl Iterator<Item = (usize, &'static Level)> {
        let portable = if cfg!(feature = "portable") { Some(&PORTABLE) } else { None };
        self.rows.iter().chain(portable).enumerate()
    }

    fn level(&'static self, place: usize) -> Option<&'static Level> {
        self.levels().nth(place).map(|(_, level)| level)
    }

    /// Whether this CPU has what the level needs, and it gives the known answers, which is tested once.
    pub(crate) fn works(&'static self, place: usize, level: &'static Level) -> bool {
        if place >= LEVELS_MAX {
            return false;
        }
        match self.tested[place].load(Ordering::Acquire) {
            WORKS => true,
            FAILS => false,
            // CPUID takes a virtual machine some microseconds.
            _ if level.needs & !cpu::features() != 0 => false,
            // Miri takes minutes for the known answers, of the one level that it has.
            _ if cfg!(miri) => true,
            _ => {
                let works = (self.selftest)(level);
                self.tested[place].store(if works { WORKS } else { FAILS }, Ordering::Release);
                if !works {
                    report(format_args!(
                        "{}: level {} fails its self-test on this CPU and is not used",
                        self.primitive, level.name
                    ));
                }
                works
            }
        }
    }

    /// The place of a level that has a kernel.
    pub(crate) fn place(&'static self, level: &'static Level) -> Option<usize> {
        self.rows.iter().position(|row| core::ptr::eq(row, level))
    }

    /// What the level does batches with, if that gives the known answers.
    pub(crate) fn batch(&'static self, level: &'static Level) -> Option<&'static Batch> {
        let batch = level.batch.as_ref()?;
        let tested = self.batch_tested.get(self.place(level)?)?;
        match tested.load(Ordering::Acquire) {
            WORKS => Some(batch),
            FAILS => None,
            _ => {
                let works = (self.batch_selftest)(level, batch);
                tested.store(if works { WORKS } else { FAILS }, Ordering::Release);
                if !works {
                    report(format_args!(
                        "{}: level {} fails its self-test of batches on this CPU, and does packets one by one",
                        self.primitive, level.name
                    ));
                }
                if works {
                    Some(batch)
                } else {
                    None
                }
            }
        }
    }

    /// The first place that a cap allows.
    fn best_allowed(&'static self, cap: usize) -> usize {
        for name in NAMES.iter().skip(cap) {
            if let Some((place, _)) = self.levels().find(|(_, level)| level.name == *name) {
                return place;
            }
        }
        usize::MAX
    }

    fn choose(&'static self) -> Option<usize> {
        let cap = cap_of_process();
        let start = self.best_allowed(cap.unwrap_or(0));
        let (first, level) = self.levels().find(|(place, level)| *place >= start && self.works(*place, level))?;
        if !level.timed || !may_measure() {
            return Some(first);
        }
        Some(clock::fastest(self, first))
    }

    /// The level of this process: chosen at the first call, the same ever after.
    pub(crate) fn of_process(&'static self) -> Result<&'static Level, Error> {
        let known = match self.chosen.load(Ordering::Acquire) {
            0 => {
                let known = self.choose().map_or(1, |place| place as u8 + 2);
                // Of several threads the first counts, as a measurement may find differently.
                match self.chosen.compare_exchange(0, known, Ordering::AcqRel, Ordering::Acquire) {
                    Ok(_) => known,
                    Err(earlier) => earlier,
                }
            }
            known => known,
        };
        usize::from(known).checked_sub(2).and_then(|place| self.level(place)).ok_or(Error::NoLevel)
    }

    /// The level of a name.
    pub(crate) fn named(&'static self, name: &str) -> Result<&'static Level, Error> {
        self.levels()
            .find(|(place, level)| level.name == name && self.works(*place, level))
            .map(|(_, level)| level)
            .ok_or(Error::InvalidLevel)
    }
}

/// What is to be the same each time is not measured: with a level that somebody names, in a program with more rights.
pub(crate) fn may_measure() -> bool {
    cap_of_process().is_none() && !privileged()
}

fn privileged() -> bool {
    #[cfg(feature = "std")]
    {
        cpu::privileged()
    }
    #[cfg(not(feature = "std"))]
    {
        false
    }
}

/// Levels are being chosen: what the program says comes too late.
const SETTLED: usize = 1 << 8;
/// A place in `NAMES` + 1; 0: none.
static PROGRAM_CAP: AtomicUsize = AtomicUsize::new(0);

/// Caps the levels that this process picks from: `name` is the best one to use, as in the environment variable
/// `SEALANE_CPU` ("avx2", "neon", ..., "portable"). A cipher that has no level of that name takes the next below, and names
/// of other architectures may be given. The environment can lower this cap and not raise it.
///
/// To be called before the process makes its first key; of several calls the last one counts.
///
/// # Errors
/// [`Error::InvalidLevel`] if no level has that name, [`Error::TooLate`] after the first key: nothing is changed.
pub fn set_max_level(name: &str) -> Result<(), Error> {
    let cap = place_of(name).ok_or(Error::InvalidLevel)?;
    PROGRAM_CAP
        .fetch_update(Ordering::SeqCst, Ordering::SeqCst, |now| if now & SETTLED != 0 { None } else { Some(cap + 1) })
        .map(|_| ())
        .map_err(|_| Error::TooLate)
}

/// The lower of the program's cap and the environment's, as a place in `NAMES`; the same ever after.
fn cap_of_process() -> Option<usize> {
    let program = PROGRAM_CAP.fetch_or(SETTLED, Ordering::SeqCst) & !SETTLED;
    program.checked_sub(1).max(environment_cap())
}

/// A name that means nothing is ignored, with one warning.
#[cfg(feature = "std")]
fn environment_cap() -> Option<usize> {
    static CAP: AtomicUsize = AtomicUsize::new(0); // 0: not read yet; 1: none; else a place + 2
    let known = CAP.load(Ordering::Acquire);
    if known != 0 {
        return known.checked_sub(2);
    }
    let variable = |name: &str| if cpu::privileged() { None } else { std::env::var_os(name) };
    let mut ignored = None;
    let cap = if variable("SEALANE_ASM").map_or(false, |value| value == "0") {
        Some(NAMES.len() - 1)
    } else {
        match variable("SEALANE_CPU") {
            Some(name) if !name.is_empty() => {
                let cap = name.to_str().and_then(place_of);
                if cap.is_none() {
                    ignored = Some(name);
                }
                cap
            }
            _ => None,
        }
    };
    match CAP.compare_exchange(0, cap.map_or(1, |cap| cap + 2), Ordering::AcqRel, Ordering::Acquire) {
        Ok(_) => {
            if let Some(name) = ignored {
                report(format_args!("SEALANE_CPU={} is ignored: no such level", name.to_string_lossy()));
            }
            cap
        }
        Err(earlier) => earlier.checked_sub(2),
    }
}

#[cfg(not(feature = "std"))]
fn environment_cap() -> Option<usize> {
    None
}

/// Which of the timed levels is fastest a CPU's pipeline decides, and no feature tells.
pub(crate) mod clock {
    use super::{Level, Table, LEVELS_MAX};
    use crate::kernel::Text;

    pub(crate) const TURNS: u64 = 4;
    pub(crate) const TURNS_AT_LEAST: u64 = 2;
    /// From the second turn on packets are done several times in a row, at most so often, if that takes no more than one
    /// such share of the limit: what ran before tells on the first.
    const IN_A_ROW: u64 = 8;
    const ROW_SHARE: u64 = 32;
    const SIZES: [usize; 2] = [64, 1420];
    const LIMIT_NS: u64 = 30_000; // for two turns, so that all ends within twice that

    /// Of level `first` and the timed ones behind it that work, the one with the least product of its shortest times for
    /// a short and a long packet; but one further up the table if it is not clearly slower. They take turns, and
    /// interruptions only add. Past the limit no third turn begins.
    pub(super) fn fastest(table: &'static Table, first: usize) -> usize {
        let mut rivals: [Option<(usize, &'static Level)>; LEVELS_MAX] = [None; LEVELS_MAX];
        let timed = table.levels().filter(|(place, level)| *place >= first && level.timed);
        let mut count = 0;
        for (rival, slot) in timed.filter(|(place, level)| table.works(*place, level)).zip(rivals.iter_mut()) {
            *slot = Some(rival);
            count += 1;
        }
        let times = |rival: usize, bytes| rivals[rival].map_or(0, |(_, level)| ticks_of_packet(level, bytes));
        rivals[least_of(count, times, limit())].map_or(first, |(place, _)| place)
    }

    /// The rival of those with the least product of the shortest of its `ticks`, unless one before it is hardly slower. The
    /// turns that the limit allows are counted by the shortest times.
    fn least_of(count: usize, ticks: impl Fn(usize, usize) -> u64, limit: u64) -> usize {
        let mut least = [[u64::MAX; SIZES.len()]; LEVELS_MAX];
        let mut shortest = 0; // of a turn
        let mut runs = [1; SIZES.len()]; // in a row
        for turn in 0..TURNS {
            if count < 2 || (turn >= TURNS_AT_LEAST && turn * shortest > limit) {
                break;
            }
            shortest = 0;
            let mut quickest = [u64::MAX; SIZES.len()];
            for (rival, least) in least.iter_mut().enumerate().take(count) {
                for (place, size) in SIZES.iter().enumerate() {
                    for _ in 0..runs[place] {
                        least[place] = ticks(rival, *size).min(u64::from(u32::MAX)).min(least[place]);
                    }
                    shortest += runs[place] * least[place];
                    quickest[place] = least[place].min(quickest[place]);
                }
            }
            for (runs, quickest) in runs.iter_mut().zip(quickest) {
                // 0: too coarse a clock.
                *runs = (limit / ROW_SHARE).checked_div(quickest).unwrap_or(1).clamp(1, IN_A_ROW);
            }
        }
        let (mut best, mut least_product) = (0, u64::MAX);
        for (rival, least) in least.iter().enumerate().take(count) {
            let product = least[0].saturating_mul(least[1]);
            if least_product == u64::MAX || product < least_product - least_product / 16 {
                best = rival;
                least_product = product;
            }
        }
        best
    }

    fn ticks_of_packet(level: &'static Level, bytes: usize) -> u64 {
        let mut text = [0u8; 1420];
        let text = &mut Text::in_place(&mut text[..bytes]);
        let start = Clock::start();
        level.chacha20poly1305(&[0; 32], &[0; 12], &[], text, false);
        start.elapsed()
    }

    #[cfg(feature = "std")]
    pub(crate) struct Clock(std::time::Instant);

    #[cfg(feature = "std")]
    impl Clock {
        pub(crate) fn start() -> Self {
            Clock(std::time::Instant::now())
        }

        pub(crate) fn elapsed(&self) -> u64 {
            self.0.elapsed().as_nanos() as u64
        }
    }

    #[cfg(feature = "std")]
    pub(crate) fn limit() -> u64 {
        LIMIT_NS
    }

    #[cfg(not(feature = "std"))]
    pub(crate) struct Clock(u64);

    #[cfg(not(feature = "std"))]
    impl Clock {
        pub(crate) fn start() -> Self {
            Clock(crate::cpu::ticks())
        }

        pub(crate) fn elapsed(&self) -> u64 {
            crate::cpu::ticks().wrapping_sub(self.0)
        }
    }

    #[cfg(not(feature = "std"))]
    pub(crate) fn limit() -> u64 {
        (u128::from(crate::cpu::ticks_per_second()) * u128::from(LIMIT_NS) / 1_000_000_000) as u64
    }

    #[cfg(test)]
    mod tests {
        use super::least_of;
        use core::cell::Cell;

        /// Two rivals, by what each takes in its turns; one takes ten times as long when it runs first in a row.
        fn chosen_cold(turns: [[u64; 4]; 2], limit: u64, cold: usize) -> usize {
            let (turn, before) = (Cell::new([0, 0]), Cell::new([0, 0]));
            let ticks = |rival: usize, size: usize| {
                let (mut turn_of, mut before_of) = (turn.get(), before.get());
                let first = before_of[rival] != size;
                turn_of[rival] += usize::from(size < before_of[rival]);
                before_of[rival] = size;
                turn.set(turn_of);
                before.set(before_of);
                turns[rival][turn_of[rival]] * if first && rival == cold { 10 } else { 1 }
            };
            least_of(2, ticks, limit)
        }

        fn chosen(turns: [[u64; 4]; 2], limit: u64) -> usize {
            chosen_cold(turns, limit, usize::MAX)
        }

        #[test]
        fn the_fastest_is_chosen() {
            const INTERRUPTED: u64 = 1_000_000;
            assert_eq!(chosen([[9, 9, 9, 9], [9, 9, 8, 9]], u64::MAX), 1);
            assert_eq!(chosen([[100; 4], [98; 4]], u64::MAX), 0);
            assert_eq!(chosen([[0; 4], [0; 4]], u64::MAX), 0);
            // Two turns take 68: a third begins if the limit allows that, whatever interruptions take.
            assert_eq!(chosen([[9, 9, 1, 9], [8, 8, 8, 8]], 67), 1);
            assert_eq!(chosen([[9, 9, 1, 9], [8, 8, 8, 8]], 68), 0);
            assert_eq!(chosen([[9, INTERRUPTED, 1, 9], [8, 8, 8, 8]], 68), 0);
            assert_eq!(chosen([[INTERRUPTED, 9, 1, 9], [8, 8, INTERRUPTED, 8]], 68), 0);
            // With room for several in a row.
            assert_eq!(chosen_cold([[9; 4], [10; 4]], 3000, 0), 0);
            assert_eq!(chosen_cold([[9; 4], [10; 4]], 30, 0), 1);
        }
    }
}
