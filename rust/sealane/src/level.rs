//! The levels. One table per primitive, best first, drives dispatch, known-answer tests and tests.

use core::sync::atomic::{AtomicBool, AtomicU8, AtomicUsize, Ordering};

use crate::kernel::{
    names::NAMES, rows, AesBlocks, AesGcm, ChaCha20Masks, ChaCha20Poly1305, Level, Microarchitecture, Runnable,
    RunnableBatch, Usable, PORTABLE,
};
use crate::{cpu, selftest, Error};

/// The largest batch size that any level may require.
pub(crate) const FROM_MAX: usize = 16;

impl Microarchitecture {
    /// The entry for a CPU. The last entry matches any CPU.
    fn of((vendor, model): (u32, u32)) -> Option<&'static Self> {
        rows::MICROARCHITECTURES
            .iter()
            .find(|line| line.vendor == 0 || line.vendor == vendor && (line.models.0..=line.models.1).contains(&model))
    }
}

pub(crate) const LEVELS_MAX: usize = 8;

/// The state of a level's known-answer test.
const UNKNOWN: u8 = 0;
const WORKS: u8 = 1;
const FAILS: u8 = 2;

pub(crate) struct Table<P: 'static> {
    primitive: &'static str,
    rows: &'static [Level<P>],
    /// Whether there is also portable code.
    portable: bool,
    selftest: fn(Usable<P>) -> bool,
    tested: [AtomicU8; LEVELS_MAX],
    /// 0: not chosen yet; 1: no level works; otherwise the index of the level + 2.
    chosen: AtomicU8,
}

impl<P> Table<P> {
    const fn new(
        primitive: &'static str,
        rows: &'static [Level<P>],
        portable: bool,
        selftest: fn(Usable<P>) -> bool,
    ) -> Self {
        let tested = [const { AtomicU8::new(UNKNOWN) }; LEVELS_MAX];
        Table { primitive, rows, portable, selftest, tested, chosen: AtomicU8::new(0) }
    }
}

pub(crate) static CHACHA20POLY1305: Table<ChaCha20Poly1305> =
    Table::new("chacha20poly1305", &rows::CHACHA20POLY1305, cfg!(feature = "portable"), selftest::chacha20poly1305);
pub(crate) static AESGCM: Table<AesGcm> =
    Table::new("aesgcm", &rows::AESGCM, cfg!(feature = "portable"), selftest::aesgcm);
pub(crate) static AES_BLOCKS: Table<AesBlocks> =
    Table::new("aes", &rows::AES_BLOCKS, cfg!(feature = "portable"), selftest::aes);
/// Portable masks need no other crate.
pub(crate) static CHACHA20MASKS: Table<ChaCha20Masks> =
    Table::new("chacha20masks", &rows::CHACHA20MASKS, true, selftest::chacha20masks);

fn place_of(name: &str) -> Option<usize> {
    NAMES.iter().position(|known| *known == name)
}

/// Names of levels, and whether they work on this CPU.
pub(crate) type Works = core::iter::Take<core::array::IntoIter<(&'static str, bool), LEVELS_MAX>>;

impl<P> Table<P> {
    /// All levels, best first.
    fn names(&self) -> impl Iterator<Item = &'static str> {
        self.rows.iter().map(|level| level.name).chain(self.portable.then_some(PORTABLE))
    }

    /// Tests all levels and returns their results, best first.
    pub(crate) fn works(&self) -> Works {
        let mut all = [("", false); LEVELS_MAX];
        for (place, (one, name)) in all.iter_mut().zip(self.names()).enumerate() {
            *one = (name, self.at(place).is_some());
        }
        all.into_iter().take(self.names().count())
    }

    /// Whether the CPU has the features of the level at an index.
    #[cfg(all(test, not(miri)))]
    pub(crate) fn can_run(&'static self, place: usize) -> bool {
        self.rows.get(place).is_none_or(|level| Runnable::check(level).is_some())
    }

    /// The level at an index, if this CPU has its features and it passes the known-answer test, which runs once.
    #[allow(unsafe_code)]
    pub(crate) fn at(&self, place: usize) -> Option<Usable<P>> {
        let tested = self.tested.get(place)?;
        let level = self.rows.get(place);
        if level.is_none() && !(self.portable && place == self.rows.len()) {
            return None;
        }
        match (tested.load(Ordering::Acquire), level) {
            (FAILS, _) => None,
            (WORKS, None) => Some(Usable::Portable),
            // SAFETY: its features were checked before its test.
            (WORKS, Some(level)) => Some(Usable::Kernel(unsafe { Runnable::checked(level) })),
            _ => {
                let usable =
                    level.map_or(Some(Usable::Portable), |level| Runnable::check(level).map(Usable::Kernel))?;
                // Under Miri, which has only one level, the known-answer test would take minutes.
                note(tested, usable.name(), cfg!(miri) || (self.selftest)(usable)).then_some(usable)
            }
        }
    }

    /// The index at which the choice starts. If the cap names a level of this table, that is its index. Otherwise it is
    /// the index for the microarchitecture, or the one below the cap if that is lower.
    fn start(&self, line: Option<&Microarchitecture>, cap: Option<usize>) -> usize {
        let find = |name: &str| self.names().position(|one| one == name);
        let first = line.and_then(|line| line.first.iter().find(|(primitive, _)| *primitive == self.primitive));
        let first = first.and_then(|(_, name)| find(name)).unwrap_or(0);
        let below = NAMES.iter().enumerate().skip(cap.unwrap_or(NAMES.len()));
        match below.filter_map(|(i, name)| find(name).map(|place| (i, place))).next() {
            Some((i, place)) if Some(i) == cap => place,
            Some((_, place)) => place.max(first),
            None => cap.map_or(first, |_| usize::MAX),
        }
    }

    fn choose(&self) -> Option<usize> {
        let start = self.start(Microarchitecture::of(cpu::identify()), cap_of_process());
        (start..LEVELS_MAX).find(|place| self.at(*place).is_some())
    }

    /// The level of this process: chosen by the first call and constant from then on.
    pub(crate) fn of_process(&self) -> Result<Usable<P>, Error> {
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
        usize::from(known).checked_sub(2).and_then(|place| self.at(place)).ok_or(Error::NoLevel)
    }

    /// The level with a given name.
    pub(crate) fn named(&self, name: &str) -> Result<Usable<P>, Error> {
        let place = self.names().position(|one| one == name);
        place.and_then(|place| self.at(place)).ok_or(Error::InvalidLevel)
    }

    /// The level with a given name, or that of this process if there is none.
    pub(crate) fn of_process_or(&self, name: Option<&str>) -> Result<Usable<P>, Error> {
        name.map_or_else(|| self.of_process(), |name| self.named(name))
    }

    fn has(&self, name: &str) -> bool {
        self.names().any(|one| one == name)
    }
}

/// Records the result of a level's test.
fn note(tested: &AtomicU8, level: &str, works: bool) -> bool {
    #[cfg(all(test, feature = "std"))]
    let works = works && !tests::is_corrupt(level);
    #[cfg(not(all(test, feature = "std")))]
    let _ = level;
    tested.store(if works { WORKS } else { FAILS }, Ordering::Release);
    works
}

fn has_failed(tested: &[AtomicU8]) -> bool {
    tested.iter().any(|one| one.load(Ordering::Acquire) == FAILS)
}

static BATCHES_TESTED: [AtomicU8; LEVELS_MAX] = [const { AtomicU8::new(UNKNOWN) }; LEVELS_MAX];

impl Table<ChaCha20Poly1305> {
    /// The level's batch kernel, if it passes its known-answer test.
    pub(crate) fn batch(&self, level: Runnable<ChaCha20Poly1305>) -> Option<RunnableBatch> {
        let batch = level.batch()?;
        let tested = BATCHES_TESTED.get(level.place(self.rows)?)?;
        if tested.load(Ordering::Acquire) == UNKNOWN {
            note(tested, "batches", selftest::chacha20poly1305_batch(level, batch));
        }
        (tested.load(Ordering::Acquire) == WORKS).then_some(batch)
    }
}

/// Whether this instruction set has a level with that name.
fn is_here(name: &str) -> bool {
    name == PORTABLE
        || CHACHA20POLY1305.has(name)
        || AESGCM.has(name)
        || AES_BLOCKS.has(name)
        || CHACHA20MASKS.has(name)
}

/// Set when levels are chosen: a later cap of the program has no effect.
const SETTLED: usize = 1 << 8;
/// An index into `NAMES` + 1, or 0 for no level.
static PROGRAM_CAP: AtomicUsize = AtomicUsize::new(0);

/// Caps the levels that this process chooses from. `name` is the best level to use, as in the environment variable
/// `SEALANE_CPU` ("avx2", "neon", ..., "portable"). A cipher without a level of that name uses its next lower level.
/// Level names of other architectures are accepted and have no effect. The environment can lower this cap but not raise
/// it.
///
/// Call it before the process makes its first key; the last call counts.
///
/// # Errors
/// [`Error::InvalidLevel`] if no level has that name, [`Error::TooLate`] after the first key. Nothing is changed then.
pub fn set_max_level(name: &str) -> Result<(), Error> {
    let place = place_of(name).ok_or(Error::InvalidLevel)?;
    let cap = if is_here(name) { place + 1 } else { 0 };
    PROGRAM_CAP
        .fetch_update(Ordering::SeqCst, Ordering::SeqCst, |now| if now & SETTLED != 0 { None } else { Some(cap) })
        .map(|_| ())
        .map_err(|_| Error::TooLate)
}

/// The lower of the program's cap and the environment's, as an index into `NAMES`. It is constant after the first call.
fn cap_of_process() -> Option<usize> {
    let program = PROGRAM_CAP.fetch_or(SETTLED, Ordering::SeqCst) & !SETTLED;
    program.checked_sub(1).max(environment_cap())
}

static ENVIRONMENT_IS_MEANINGLESS: AtomicBool = AtomicBool::new(false);

/// The cap from the environment, which is read once.
#[cfg(feature = "std")]
fn environment_cap() -> Option<usize> {
    static CAP: std::sync::OnceLock<Option<usize>> = std::sync::OnceLock::new();
    *CAP.get_or_init(|| {
        let variable = |name: &str| if cpu::privileged() { None } else { std::env::var_os(name) };
        let (switch, name) = (variable("SEALANE_ASM").unwrap_or_default(), variable("SEALANE_CPU").unwrap_or_default());
        if switch == "0" {
            return place_of(PORTABLE);
        }
        let cap = name.to_str().filter(|name| is_here(name)).and_then(place_of);
        let means_nothing = !(switch.is_empty() || switch == "1") || cap.is_none() && !name.is_empty();
        ENVIRONMENT_IS_MEANINGLESS.store(means_nothing, Ordering::Relaxed);
        cap
    })
}

#[cfg(not(feature = "std"))]
fn environment_cap() -> Option<usize> {
    None
}

/// A problem with the choice of levels so far, in one line of English.
/// Either `SEALANE_CPU` or `SEALANE_ASM` has an invalid value, or a level fails its known-answer test and a slower
/// one is used. The crate itself prints nothing. Call this after making the first key.
pub fn warning() -> Option<&'static str> {
    if ENVIRONMENT_IS_MEANINGLESS.load(Ordering::Relaxed) {
        return Some("SEALANE_CPU or SEALANE_ASM has a value that means nothing here, and no effect");
    }
    let tested = [&CHACHA20POLY1305.tested, &AESGCM.tested, &AES_BLOCKS.tested, &CHACHA20MASKS.tested, &BATCHES_TESTED];
    tested
        .into_iter()
        .any(|one| has_failed(one))
        .then_some("a level fails its known-answer test on this CPU and is not used: `levels` says which")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether a test makes this level fail in this process.
    #[cfg(feature = "std")]
    pub(super) fn is_corrupt(level: &str) -> bool {
        std::env::var_os("SEALANE_TEST_CORRUPT").is_some_and(|name| name == level)
    }

    /// Makes a key of each cipher, and prints the nanoseconds of the first, the levels, the batch plan, and the
    /// warning.
    #[test]
    #[ignore = "for the test of failing levels and test/choices, which start it in processes of their own"]
    #[cfg(feature = "std")]
    fn chooses() {
        let begin = std::time::Instant::now();
        let chacha = crate::Key::new(crate::Algorithm::ChaCha20Poly1305, &[0; 32]);
        let first = begin.elapsed().as_nanos();
        let gcm = crate::Key::new(crate::Algorithm::Aes128Gcm, &[0; 16]);
        let from = match CHACHA20POLY1305.of_process() {
            Ok(Usable::Kernel(level)) => CHACHA20POLY1305.batch(level).map(|batch| batch.plan()),
            _ => None,
        };
        let [chacha, gcm] = [chacha, gcm].map(|key| key.map_or("none", |key| key.level()));
        println!("choice: {} {} {} batches from {:?}", first, chacha, gcm, from.unwrap_or(&[]));
        println!("warning: {:?}", warning());
    }

    /// A level that fails is reported, and the next one is used. A batch kernel that fails is reported and not used.
    #[test]
    #[cfg(all(feature = "std", not(miri), not(target_family = "wasm")))]
    fn failing_levels_are_told() {
        let run = |corrupt: &str, cap: &str| {
            let program = std::env::current_exe().expect("this program").into_os_string();
            let emulator = std::env::var("SEALANE_TEST_EXEC").unwrap_or_default();
            let mut words = emulator.split_whitespace().map(Into::into).chain([program]);
            let output = std::process::Command::new(words.next().expect("a word"))
                .args(words)
                .args(["--exact", "level::tests::chooses", "--ignored", "--nocapture"])
                .env("SEALANE_TEST_CORRUPT", corrupt)
                .env("SEALANE_CPU", cap)
                .env_remove("SEALANE_ASM")
                .output()
                .expect("run");
            String::from_utf8(output.stdout).expect("text")
        };
        let working: Vec<_> = CHACHA20POLY1305.works().filter(|(_, works)| *works).map(|(name, _)| name).collect();
        for (i, name) in working.iter().enumerate() {
            let (good, bad) = (run("", name), run(name, name));
            let next = working.get(i + 1).unwrap_or(&"none");
            assert!(good.contains(&format!(" {} ", name)) && good.contains("warning: None"), "{}", good);
            assert!(
                bad.contains(&format!(" {} ", next)) && bad.contains("a level fails its known-answer test"),
                "{}",
                bad
            );
            if !good.contains("from []") {
                let without = run("batches", name);
                assert!(without.contains(&format!(" {} ", name)) && without.contains("from []"), "{}", without);
                assert!(without.contains("fails its known-answer test"), "{}", without);
            }
        }
    }

    /// ChaCha20 masks have a level on every CPU, even without other crates and without a kernel.
    #[test]
    fn masks_need_no_kernel() {
        assert_eq!(CHACHA20MASKS.works().next_back(), Some(("portable", true)));
        assert_eq!(AESGCM.has("portable"), cfg!(feature = "portable"));
    }

    #[test]
    #[cfg(any(kernels = "x86_64", kernels = "aarch64"))]
    fn the_choice_starts_at_the_microarchitectures_level() {
        #[cfg(kernels = "x86_64")]
        let cases = [
            (0x6874_7541, 26, None, "avx512"),          // AMD, Zen 5
            (0x6874_7541, 27, None, "avx512"),          // future AMD
            (0x6874_7541, 25, None, "avx512mix"),       // AMD, Zen 3 and 4
            (0x756e_6547, 6, None, "avx512mix"),        // Intel
            (0x756e_6547, 26, None, "avx512mix"),       // Intel, any family
            (0, 0, None, "avx512mix"),                  // unknown CPU
            (0x756e_6547, 6, Some("avx512"), "avx512"), // named explicitly
            (0x6874_7541, 26, Some("avx512vl"), "avx512vl"),
            (0x756e_6547, 6, Some("aesni"), "ssse3"), // a level of another primitive: the next lower one
        ];
        #[cfg(kernels = "aarch64")]
        let cases = [
            (0x41, 0xd08, None, "neon6"),          // Cortex-A72
            (0x41, 0xd03, None, "neon"),           // Cortex-A53
            (0x51, 0xd08, None, "neon"),           // the same part number of another implementer
            (0, 0, None, "neon"),                  // unknown CPU
            (0x41, 0xd03, Some("neon6"), "neon6"), // named explicitly
            (0x41, 0xd03, Some("ce"), "neon"),     // a level of another primitive
        ];
        for (vendor, model, cap, want) in cases {
            let start = CHACHA20POLY1305.start(Microarchitecture::of((vendor, model)), cap.and_then(place_of));
            let level = CHACHA20POLY1305.names().nth(start);
            assert_eq!(level, Some(want), "vendor {:#x}, model {:#x}, cap {:?}", vendor, model, cap);
        }
    }
}
