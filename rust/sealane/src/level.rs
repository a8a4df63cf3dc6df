//! The levels: one table for each primitive, best first, that drives dispatch, known-answer tests and tests.

use core::sync::atomic::{AtomicU8, AtomicUsize, Ordering};

use crate::kernel::{names::NAMES, rows, Kernel};
use crate::{cpu, selftest, Error};

/// The largest number of packets from which on a batch pays.
pub(crate) const FROM_MAX: usize = 16;

/// A kernel for many packets in one call, and when it pays: for packets of each number of whole blocks from how many on
/// they are faster side by side. Unlike packets pay if the sum of 1/from is 1 or more.
pub(crate) struct Batch {
    pub(crate) kernel: Kernel,
    /// The least of `from`: fewer packets never pay.
    pub(crate) few: u8,
    /// By number of whole blocks; longer packets never pay.
    pub(crate) from: &'static [u8],
}

impl Batch {
    /// From how many packets of so many bytes on they pay; 0: never.
    pub(crate) fn from(&self, bytes: usize) -> usize {
        self.from.get(bytes / 64).map_or(0, |from| usize::from(*from))
    }
}

/// CPUs on which the choice starts at another level than the first that they can run: where features do not tell
/// pipelines apart.
pub(crate) struct Microarchitecture {
    /// As `cpu::identify` has it; 0: any CPU.
    pub(crate) vendor: u32,
    /// The first and the last.
    pub(crate) models: (u32, u32),
    /// A primitive and its level.
    pub(crate) first: &'static [(&'static str, &'static str)],
}

impl Microarchitecture {
    /// That of a CPU. The last line matches any.
    fn of((vendor, model): (u32, u32)) -> Option<&'static Self> {
        rows::MICROARCHITECTURES.iter().find(|line| {
            line.vendor == 0 || line.vendor == vendor && (line.models.0..=line.models.1).contains(&model)
        })
    }
}

pub(crate) struct Level {
    pub(crate) name: &'static str,
    /// Of `cpu`.
    pub(crate) needs: u32,
    /// None: portable code.
    pub(crate) kernel: Option<Kernel>,
    pub(crate) batch: Option<Batch>,
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

static PORTABLE: Level = Level { name: "portable", needs: 0, kernel: None, batch: None };

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

    /// The place at which the choice starts: that of the level that the cap names; without one of that name, and without a
    /// cap, the microarchitecture's, or below the cap if that is further down.
    fn start(&'static self, line: Option<&Microarchitecture>, cap: Option<usize>) -> usize {
        let find = |name: &str| self.levels().position(|(_, level)| level.name == name);
        let first = line.and_then(|line| line.first.iter().find(|(primitive, _)| *primitive == self.primitive));
        let first = first.and_then(|(_, name)| find(name)).unwrap_or(0);
        let below = NAMES.iter().enumerate().skip(cap.unwrap_or(NAMES.len()));
        match below.filter_map(|(i, name)| find(name).map(|place| (i, place))).next() {
            Some((i, place)) if Some(i) == cap => place,
            Some((_, place)) => place.max(first),
            None => cap.map_or(first, |_| usize::MAX),
        }
    }

    fn choose(&'static self) -> Option<usize> {
        let start = self.start(Microarchitecture::of(cpu::identify()), cap_of_process());
        self.levels().find(|(place, level)| *place >= start && self.works(*place, level)).map(|(place, _)| place)
    }

    /// The level of this process: chosen at the first call, the same ever after.
    pub(crate) fn of_process(&'static self) -> Result<&'static Level, Error> {
        let known = match self.chosen.load(Ordering::Acquire) {
            0 => {
                let known = self.choose().map_or(1, |place| place as u8 + 2);
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

/// Whether this instruction set has a level of that name.
fn is_here(name: &str) -> bool {
    [&CHACHA20POLY1305, &AESGCM, &AES_BLOCKS, &CHACHA20MASKS]
        .iter()
        .any(|table| table.rows.iter().any(|level| level.name == name))
        || name == PORTABLE.name
}

/// Levels are being chosen: what the program says comes too late.
const SETTLED: usize = 1 << 8;
/// A place in `NAMES` + 1; 0: none.
static PROGRAM_CAP: AtomicUsize = AtomicUsize::new(0);

/// Caps the levels that this process picks from: `name` is the best one to use, as in the environment variable
/// `SEALANE_CPU` ("avx2", "neon", ..., "portable"). A cipher that has no level of that name takes the next below. Names of
/// other architectures may be given, and cap nothing. The environment can lower this cap and not raise it.
///
/// To be called before the process makes its first key; of several calls the last one counts.
///
/// # Errors
/// [`Error::InvalidLevel`] if no level has that name, [`Error::TooLate`] after the first key: nothing is changed.
pub fn set_max_level(name: &str) -> Result<(), Error> {
    let place = place_of(name).ok_or(Error::InvalidLevel)?;
    let cap = if is_here(name) { place + 1 } else { 0 };
    PROGRAM_CAP
        .fetch_update(Ordering::SeqCst, Ordering::SeqCst, |now| if now & SETTLED != 0 { None } else { Some(cap) })
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
                let cap = name.to_str().filter(|name| is_here(name)).and_then(place_of);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
    fn the_choice_starts_at_the_microarchitectures_level() {
        #[cfg(target_arch = "x86_64")]
        let cases = [
            (0x6874_7541, 26, None, "avx512"),          // AMD, Zen 5
            (0x6874_7541, 27, None, "avx512"),          // AMD, to come
            (0x6874_7541, 25, None, "avx512mix"),       // AMD, Zen 3 and 4
            (0x756e_6547, 6, None, "avx512mix"),        // Intel
            (0x756e_6547, 26, None, "avx512mix"),       // Intel, whatever family
            (0, 0, None, "avx512mix"),                  // nothing told
            (0x756e_6547, 6, Some("avx512"), "avx512"), // named, so taken
            (0x6874_7541, 26, Some("avx512vl"), "avx512vl"),
            (0x756e_6547, 6, Some("aesni"), "ssse3"), // of another primitive: the next below
        ];
        #[cfg(target_arch = "aarch64")]
        let cases = [
            (0x41, 0xd08, None, "neon6"),        // Cortex-A72
            (0x41, 0xd03, None, "neon"),         // Cortex-A53
            (0x51, 0xd08, None, "neon"),         // the same part of another implementer
            (0, 0, None, "neon"),                // nothing told
            (0x41, 0xd03, Some("neon6"), "neon6"), // named, so taken
            (0x41, 0xd03, Some("ce"), "neon"),     // of another primitive
        ];
        for (vendor, model, cap, want) in cases {
            let start = CHACHA20POLY1305.start(Microarchitecture::of((vendor, model)), cap.and_then(place_of));
            let level = CHACHA20POLY1305.level(start).map(|level| level.name);
            assert_eq!(level, Some(want), "vendor {:#x}, model {:#x}, cap {:?}", vendor, model, cap);
        }
    }
}
