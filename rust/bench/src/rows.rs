//! The rows of `make bench` in Rust: the cells that bench/c/bench.c measures for C libraries, measured for crates and
//! printed in the same form. All candidates seal and open in place, which all of them support.
//!
//!     sealane-bench --alg NAME [--seconds S] [--cpu N] [--fault CANDIDATE] [--list]
//!
//! All candidates alternate within every repetition; a run takes about RUN_NS. The printed time is the minimum per
//! packet over all runs. Before the measurement, each must seal to the same bytes as the first, open them, and refuse a
//! changed tag. --fault plants a wrong byte in one to show that this check can fail.

use std::hint::black_box;
use std::time::{Duration, Instant};

use aes_gcm::aead::KeyInit;
use sealane::{levels, open_batch, seal_batch, Algorithm, Key, Open, Packet, Seal, Text};

use super::peers::Evp;
use super::{AwsLc, Ring, RustCrypto, Sealane};

const ALGORITHMS: [(&str, Algorithm); 3] = [
    ("ChaCha20-Poly1305", Algorithm::ChaCha20Poly1305),
    ("AES-128-GCM", Algorithm::Aes128Gcm),
    ("AES-256-GCM", Algorithm::Aes256Gcm),
];
const SIZES: [usize; 8] = [64, 256, 576, 1024, 1420, 4096, 8192, 16384];
/// As a size: the Internet mix, 7 packets of 64, 4 of 576 and 1 of 1420 bytes, interleaved.
const MIX: usize = 0;
const MIXED: [usize; 12] = [64, 576, 64, 64, 576, 64, 1420, 64, 576, 64, 64, 576];
const BATCH_SIZES: [usize; 6] = [64, 128, 256, 576, 1420, MIX];
const MAX_BYTES: usize = 16384;
const KEYS: usize = 64;
const BATCHED: usize = 64;
const RUN_NS: f64 = 12_000.0;
const MAX_RUN: usize = 512;
const TURNS: usize = 3;
pub(super) const TAG: usize = 16;
const AD: [u8; 64] = [0xad; 64];

/// A crate's state for a key. All seal and open in place.
pub(super) trait Session {
    fn seal(&self, nonce: &[u8; 12], ad: &[u8], text: &mut [u8]) -> [u8; TAG];
    /// `packet` is a text followed by its tag.
    fn open(&self, nonce: &[u8; 12], ad: &[u8], packet: &mut [u8]) -> bool;

    /// Seals or opens many packets, with one key or a key each; returns how many succeeded.
    fn batch(sessions: &[Self], open: bool, slots: &mut [Slot]) -> usize
    where
        Self: Sized,
    {
        let mut good = 0;
        for (slot, i) in slots.iter_mut().zip(0..) {
            let session = &sessions[if sessions.len() == 1 { 0 } else { i }];
            good += usize::from(if open {
                session.open(&slot.nonce, &[], &mut slot.buffer)
            } else {
                let (text, tag) = slot.buffer.split_at_mut(slot.text.len());
                tag.copy_from_slice(&session.seal(&slot.nonce, &[], text));
                true
            });
        }
        good
    }
}

impl Session for Sealane {
    fn seal(&self, nonce: &[u8; 12], ad: &[u8], text: &mut [u8]) -> [u8; TAG] {
        self.0.seal_in_place(nonce, ad, text).expect("sealed")
    }

    fn open(&self, nonce: &[u8; 12], ad: &[u8], packet: &mut [u8]) -> bool {
        let (text, tag) = packet.split_at_mut(packet.len() - TAG);
        let tag: &[u8; TAG] = (&*tag).try_into().expect("a tag");
        self.0.open_in_place(nonce, ad, text, tag).is_ok()
    }

    fn batch(sessions: &[Self], open: bool, slots: &mut [Slot]) -> usize {
        match slots.len() {
            1 => together::<1>(sessions, open, slots),
            _ => together::<BATCHED>(sessions, open, slots),
        }
    }
}

/// Processes N packets in one call.
fn together<const N: usize>(sessions: &[Sealane], open: bool, slots: &mut [Slot]) -> usize {
    let mut rest = slots.iter_mut().enumerate();
    let mut next = || {
        let (i, slot) = rest.next().expect("as many slots as packets");
        let key = &sessions[if sessions.len() == 1 { 0 } else { i }].0;
        let (text, tag) = slot.buffer.split_at_mut(slot.text.len());
        (key, &slot.nonce, Text::in_place(text), tag)
    };
    if open {
        let mut packets: [Packet<'_, Open>; N] = std::array::from_fn(|_| {
            let (key, nonce, text, tag) = next();
            Packet::to_open(key, nonce, &[], text, (&*tag).try_into().expect("a tag"))
        });
        return open_batch(&mut packets);
    }
    let mut packets: [Packet<'_, Seal>; N] = std::array::from_fn(|_| {
        let (key, nonce, text, _) = next();
        Packet::to_seal(key, nonce, &[], text)
    });
    let good = seal_batch(&mut packets);
    let tags: [[u8; TAG]; N] = std::array::from_fn(|i| *packets[i].tag());
    for (slot, tag) in slots.iter_mut().zip(&tags) {
        let bytes = slot.text.len();
        slot.buffer[bytes..].copy_from_slice(tag);
    }
    good
}

/// A packet: its text, the first candidate's sealed form, and the memory in which it is sealed or opened.
pub(super) struct Slot {
    nonce: [u8; 12],
    text: Vec<u8>,
    sealed: Vec<u8>,
    buffer: Vec<u8>,
}

#[derive(Clone, Copy, PartialEq)]
enum Op {
    Seal,
    Open,
    Setup,
}

/// One row of the result: an operation and the shape of its packets.
struct Cell {
    op: Op,
    bytes: usize,
    ad: usize,
    keys: usize,
    batch: usize,
    next: u64,
    slots: Vec<Slot>,
    best: Vec<f64>,
    repeat: Vec<usize>,
}

fn nonce(number: u64) -> [u8; 12] {
    let mut nonce = [0; 12];
    nonce[4..].copy_from_slice(&number.to_le_bytes());
    nonce
}

impl Cell {
    fn new(op: Op, bytes: usize, ad: usize, keys: usize, batch: usize, candidates: &[Candidate]) -> Self {
        let count = match (op, batch) {
            (Op::Seal | Op::Setup, 0) => 0,
            (_, 0) if keys > 1 => keys,
            (_, 0) => (65536 / bytes).clamp(4, 64),
            _ => BATCHED, // also for batches of one, because reading the clock takes longer than some packets
        };
        let slots = (0..count)
            .map(|i| {
                let bytes = if batch > 0 && bytes == MIX { MIXED[i % MIXED.len()] } else { bytes };
                let text: Vec<u8> = (7 * i..7 * i + bytes).map(|i| (7 * i + (i >> 8)) as u8).collect();
                let (nonce, mut sealed) = (nonce(i as u64), text.clone());
                let key = if keys == 1 { 0 } else { i };
                let tag = candidates[0].runner.seal(key, &nonce, &AD[..ad], &mut sealed);
                sealed.extend_from_slice(&tag);
                Slot {
                    nonce,
                    buffer: if op == Op::Open { sealed.clone() } else { [&text[..], &tag].concat() },
                    text,
                    sealed,
                }
            })
            .collect();
        let (best, repeat) = (vec![f64::MAX; candidates.len()], vec![1; candidates.len()]);
        Cell { op, bytes, ad, keys, batch, next: 1 << 32, slots, best, repeat }
    }

    fn key_of(&self, slot: usize) -> usize {
        if self.keys == 1 {
            0
        } else {
            slot
        }
    }
}

/// A candidate's keys, behind an interface that is called once per run.
trait Runner {
    fn seal(&self, key: usize, nonce: &[u8; 12], ad: &[u8], text: &mut [u8]) -> [u8; TAG];
    fn open(&self, key: usize, nonce: &[u8; 12], ad: &[u8], packet: &mut [u8]) -> bool;
    /// Seals or opens all slots of a cell, one batch per call; returns how many succeeded.
    fn batches(&self, cell: &mut Cell, open: bool) -> usize;
    /// Nanoseconds per packet for at least n packets of a cell; `None` if one failed.
    fn time(&self, cell: &mut Cell, n: usize, text: &mut [u8]) -> Option<f64>;
}

struct Keys<S, F> {
    sessions: Vec<S>,
    make: F,
    first: Vec<u8>,
}

impl<S: Session, F: Fn(&[u8]) -> S> Keys<S, F> {
    fn boxed(keys: &[Vec<u8>], make: F) -> Box<Self> {
        Box::new(Keys { sessions: keys.iter().map(|key| make(key)).collect(), make, first: keys[0].clone() })
    }

    /// Opens each slot of a cell once. Filling the slots is not timed.
    fn open_slots(&self, cell: &mut Cell, count: usize) -> Option<Duration> {
        for slot in &mut cell.slots[..count] {
            slot.buffer.copy_from_slice(&slot.sealed);
        }
        let (ad, keys, mut good) = (&AD[..cell.ad], cell.keys, true);
        let start = Instant::now();
        for (i, slot) in cell.slots[..count].iter_mut().enumerate() {
            let session = &self.sessions[if keys == 1 { 0 } else { i }];
            good &= session.open(&slot.nonce, ad, black_box(&mut slot.buffer));
        }
        let took = start.elapsed();
        good.then_some(took)
    }

    /// Seals all slots of a cell, or opens them; filling them before is not timed.
    fn run_batches(&self, cell: &mut Cell) -> Option<Duration> {
        let open = cell.op == Op::Open;
        if open {
            cell.slots.iter_mut().for_each(|slot| slot.buffer.copy_from_slice(&slot.sealed));
        }
        let start = Instant::now();
        if !open {
            for slot in &mut cell.slots {
                cell.next += 1;
                slot.nonce = nonce(cell.next);
            }
        }
        let good = self.batches(black_box(&mut *cell), open);
        let took = start.elapsed();
        (good == cell.slots.len()).then_some(took)
    }
}

impl<S: Session, F: Fn(&[u8]) -> S> Runner for Keys<S, F> {
    fn seal(&self, key: usize, nonce: &[u8; 12], ad: &[u8], text: &mut [u8]) -> [u8; TAG] {
        self.sessions[key].seal(nonce, ad, text)
    }

    fn open(&self, key: usize, nonce: &[u8; 12], ad: &[u8], packet: &mut [u8]) -> bool {
        self.sessions[key].open(nonce, ad, packet)
    }

    fn batches(&self, cell: &mut Cell, open: bool) -> usize {
        let sessions = &self.sessions[..cell.keys];
        cell.slots.chunks_mut(cell.batch).map(|slots| S::batch(sessions, open, slots)).sum()
    }

    fn time(&self, cell: &mut Cell, n: usize, text: &mut [u8]) -> Option<f64> {
        let (mut took, mut done) = (Duration::ZERO, 0);
        if cell.batch > 0 {
            self.run_batches(cell)?;
            while done < n {
                took += self.run_batches(cell)?;
                done += cell.slots.len();
            }
        } else if cell.op == Op::Open {
            self.open_slots(cell, 1)?;
            while done < n {
                let count = cell.slots.len();
                took += self.open_slots(cell, count)?;
                done += count;
            }
        } else if cell.op == Op::Seal {
            let (mut text, ad) = (&mut text[..cell.bytes], &AD[..cell.ad]);
            let mut key = 0;
            let mut seal = |n| {
                let start = Instant::now();
                for _ in 0..n {
                    cell.next += 1;
                    // black_box of the slice itself would store two words and load them as one, which stalls the CPU.
                    black_box(self.sessions[key].seal(&nonce(cell.next), ad, black_box(&mut text)));
                    key = if key + 1 == cell.keys { 0 } else { key + 1 };
                }
                start.elapsed()
            };
            seal(1);
            took = seal(n);
            done = n;
        } else {
            let start = Instant::now();
            for _ in 0..n {
                black_box((self.make)(black_box(&self.first)));
            }
            took = start.elapsed();
            done = n;
        }
        Some(took.as_nanos() as f64 / done as f64)
    }
}

struct Candidate {
    name: String,
    library: &'static str,
    version: &'static str,
    how: &'static str,
    level: &'static str,
    /// Its keys are made as in a program, so that key set-up is measured.
    sets_up: bool,
    runner: Box<dyn Runner>,
}

fn rustcrypto(algorithm: Algorithm, keys: &[Vec<u8>]) -> Candidate {
    let (version, how, runner): (_, _, Box<dyn Runner>) = match algorithm {
        Algorithm::ChaCha20Poly1305 => (
            env!("VERSION_CHACHA20POLY1305"),
            "chacha20poly1305, encrypt_in_place_detached",
            Keys::boxed(keys, |key| RustCrypto(chacha20poly1305::ChaCha20Poly1305::new_from_slice(key).expect("key"))),
        ),
        Algorithm::Aes128Gcm => (
            env!("VERSION_AES_GCM"),
            "aes-gcm, encrypt_in_place_detached",
            Keys::boxed(keys, |key| RustCrypto(aes_gcm::Aes128Gcm::new_from_slice(key).expect("key"))),
        ),
        _ => (
            env!("VERSION_AES_GCM"),
            "aes-gcm, encrypt_in_place_detached",
            Keys::boxed(keys, |key| RustCrypto(aes_gcm::Aes256Gcm::new_from_slice(key).expect("key"))),
        ),
    };
    Candidate { name: "RustCrypto".into(), library: "RustCrypto", version, how, level: "", sets_up: true, runner }
}

/// The peers first (s2n-quic seals with aws-lc-rs), then sealane's levels, best first.
fn candidates(algorithm: Algorithm) -> Vec<Candidate> {
    let keys: Vec<Vec<u8>> =
        (0..KEYS).map(|k| (0..algorithm.key_len()).map(|j| (0x80 + 13 * k + j) as u8).collect()).collect();
    let mut all = vec![
        Candidate {
            name: "ring".into(),
            library: "ring",
            version: env!("VERSION_RING"),
            how: "LessSafeKey, seal_in_place_separate_tag, open_in_place",
            level: "",
            sets_up: true,
            runner: Keys::boxed(&keys, move |key| Ring::new(algorithm, key)),
        },
        Candidate {
            name: "aws-lc-rs".into(),
            library: "aws-lc-rs",
            version: env!("VERSION_AWS_LC_RS"),
            how: "LessSafeKey, seal_in_place_separate_tag, open_in_place",
            level: "",
            sets_up: true,
            runner: Keys::boxed(&keys, move |key| AwsLc::new(algorithm, key)),
        },
        rustcrypto(algorithm, &keys),
        Candidate {
            name: "OpenSSL".into(),
            library: "OpenSSL",
            version: openssl::version::version(),
            how: "CipherCtx, as msquic calls EVP: a context for each key, nonce, associated data, text, end, tag",
            level: "",
            sets_up: true,
            runner: Keys::boxed(&keys, move |key| Evp::new(algorithm, key)),
        },
        #[cfg(native)]
        Candidate {
            name: "RustCrypto native".into(),
            library: "RustCrypto native",
            how: "the same, with -C target-cpu=native, in a shared library",
            runner: Keys::boxed(&keys, move |key| super::native::Native::new(algorithm, key)),
            ..rustcrypto(algorithm, &keys)
        },
    ];
    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
    if graviola::util::is_cpu_supported() {
        all.push(Candidate {
            name: "graviola".into(),
            library: "graviola",
            version: env!("VERSION_GRAVIOLA"),
            how: "encrypt, decrypt",
            level: "",
            sets_up: true,
            runner: Keys::boxed(&keys, move |key| super::peers::Graviola::new(algorithm, key)),
        });
    }
    // The level of the process uses Key::new; with_level looks its level up by name.
    let chosen = Key::new(algorithm, &keys[0]).expect("key").level();
    for (level, _) in levels(algorithm).filter(|(_, works)| *works) {
        let (how, runner): (_, Box<dyn Runner>) = if level == chosen {
            (
                "Key::new; seal_in_place, open_in_place, seal_batch, open_batch",
                Keys::boxed(&keys, move |key| Sealane(Key::new(algorithm, key).expect("key"))),
            )
        } else {
            (
                "Key::with_level; the same",
                Keys::boxed(&keys, move |key| Sealane(Key::with_level(algorithm, key, level).expect("key"))),
            )
        };
        all.push(Candidate {
            name: format!("sealane {level}"),
            library: "sealane",
            version: "this tree",
            how,
            level,
            sets_up: level == chosen,
            runner,
        });
    }
    all
}

/// Whether a candidate agrees with the first on the packets of a cell; otherwise the reason.
fn agrees(cell: &mut Cell, candidate: &Candidate, spoil: bool) -> Result<(), &'static str> {
    let Some(last) = cell.slots.len().checked_sub(1) else {
        return Ok(());
    };
    let runner = &candidate.runner;
    if cell.batch > 0 {
        for slot in &mut cell.slots {
            slot.buffer[..slot.text.len()].copy_from_slice(&slot.text);
        }
        if runner.batches(cell, false) != cell.slots.len() {
            return Err("a batch was not sealed");
        }
        cell.slots[last].buffer[0] ^= u8::from(spoil);
        if cell.slots.iter().any(|slot| slot.buffer != slot.sealed) {
            return Err("sealed a batch to other bytes than the first candidate");
        }
        if runner.batches(cell, true) != cell.slots.len()
            || cell.slots.iter().any(|slot| slot.buffer[..slot.text.len()] != slot.text[..])
        {
            return Err("did not open a batch");
        }
        for slot in &mut cell.slots {
            slot.buffer.copy_from_slice(&slot.sealed);
        }
        *cell.slots[last].buffer.last_mut().expect("a tag") ^= 0x80;
        if runner.batches(cell, true) != last {
            return Err("opened a packet of a batch with a wrong tag, or lost another");
        }
        return Ok(());
    }
    let (key, ad, slot) = (cell.key_of(last), &AD[..cell.ad], &cell.slots[last]);
    let mut packet = slot.text.clone();
    let tag = runner.seal(key, &slot.nonce, ad, &mut packet);
    packet.extend_from_slice(&tag);
    packet[0] ^= u8::from(spoil);
    if packet != slot.sealed {
        return Err("sealed to other bytes than the first candidate");
    }
    if !runner.open(key, &slot.nonce, ad, &mut packet) || packet[..cell.bytes] != slot.text[..] {
        return Err("did not open what it sealed");
    }
    packet.copy_from_slice(&slot.sealed);
    packet[cell.bytes + TAG - 1] ^= 0x80;
    if runner.open(key, &slot.nonce, ad, &mut packet) {
        return Err("opened a packet with a wrong tag");
    }
    Ok(())
}

fn cells(candidates: &[Candidate]) -> Vec<Cell> {
    let mut all = vec![];
    for op in [Op::Seal, Op::Open] {
        for (ad, keys) in [(0, 1), (13, 1), (0, KEYS)] {
            all.extend(SIZES.map(|bytes| Cell::new(op, bytes, ad, keys, 0, candidates)));
        }
        for bytes in BATCH_SIZES {
            all.extend([1, KEYS].map(|keys| Cell::new(op, bytes, 0, keys, BATCHED, candidates)));
        }
        all.push(Cell::new(op, 64, 0, 1, 1, candidates));
    }
    all.push(Cell::new(Op::Setup, 0, 0, 1, 0, candidates));
    all
}

/// The core's clock: dependent register additions take one cycle each on every CPU.
fn clock_ghz() -> f64 {
    const ROUNDS: usize = 1000;
    let mut best = f64::MAX;
    for repeat in 0..200_usize {
        let (mut x, mut y) = (repeat, repeat | 1);
        let start = Instant::now();
        for _ in 0..ROUNDS {
            macro_rules! sixteen {
                ($($unused:literal)*) => {$(
                    let _ = $unused;
                    x = x.wrapping_add(y);
                    // SAFETY: it contains no instruction; it keeps the additions separate.
                    unsafe { std::arch::asm!("/* {0} {1} */", inout(reg) x, inout(reg) y, options(nomem, nostack)) };
                )*};
            }
            sixteen!(0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15);
        }
        best = best.min(start.elapsed().as_nanos() as f64);
        black_box(x);
    }
    (ROUNDS * 16) as f64 / best
}

/// Pins the process to one CPU, and returns its number, or -1.
#[cfg(target_os = "linux")]
fn pin(cpu: i32) -> i32 {
    extern "C" {
        fn sched_setaffinity(process: i32, bytes: usize, cpus: *const u64) -> i32;
    }
    let mut cpus = [0_u64; 16];
    let Some(word) = usize::try_from(cpu).ok().and_then(|cpu| cpus.get_mut(cpu / 64)) else {
        return -1;
    };
    *word = 1 << (cpu % 64);
    // SAFETY: sched_setaffinity(2) reads as many bytes as it is given.
    if unsafe { sched_setaffinity(0, std::mem::size_of_val(&cpus), cpus.as_ptr()) } == 0 {
        cpu
    } else {
        -1
    }
}

#[cfg(not(target_os = "linux"))]
fn pin(_: i32) -> i32 {
    -1
}

fn print(cells: &[Cell], candidates: &[Candidate], ghz: f64, cpu: i32, repetitions: usize) {
    println!("{{\"clock_ghz\": {ghz:.4}, \"class\": \"\", \"cpu\": {cpu}, \"repetitions\": {repetitions},");
    let rows: Vec<String> = candidates
        .iter()
        .map(|c| {
            format!(
                "  {{\"name\": \"{}\", \"library\": \"{}\", \"version\": \"{}\", \"how\": \"{}\", \"level\": \"{}\"}}",
                c.name, c.library, c.version, c.how, c.level
            )
        })
        .collect();
    println!(" \"candidates\": [\n{}\n ],", rows.join(",\n"));
    let rows: Vec<String> = cells
        .iter()
        .map(|cell| {
            let times: Vec<String> = candidates
                .iter()
                .zip(&cell.best)
                .filter(|(c, _)| cell.op != Op::Setup || c.sets_up)
                .map(|(c, ns)| format!("\"{}\": {ns:.3}", c.name))
                .collect();
            let op = match cell.op {
                Op::Seal => "seal",
                Op::Open => "open",
                Op::Setup => "setup",
            };
            format!(
                "  {{\"op\": \"{op}\", \"bytes\": {}, \"ad\": {}, \"keys\": {}, \"batch\": {}, \"ns\": {{{}}}}}",
                cell.bytes,
                cell.ad,
                cell.keys,
                cell.batch,
                times.join(", ")
            )
        })
        .collect();
    println!(" \"cells\": [\n{}\n ]}}", rows.join(",\n"));
}

struct Options {
    algorithm: Algorithm,
    seconds: f64,
    cpu: i32,
    fault: String,
    list: bool,
}

fn options(arguments: &[String]) -> Option<Options> {
    let mut o =
        Options { algorithm: Algorithm::ChaCha20Poly1305, seconds: 10.0, cpu: -1, fault: String::new(), list: false };
    let mut arguments = arguments.iter();
    while let Some(argument) = arguments.next() {
        if argument == "--list" {
            o.list = true;
            continue;
        }
        let value = arguments.next()?;
        match argument.as_str() {
            "--alg" => o.algorithm = ALGORITHMS.iter().find(|(name, _)| name == value)?.1,
            "--seconds" => o.seconds = value.parse().ok()?,
            "--cpu" => o.cpu = value.parse().ok()?,
            "--fault" => o.fault = value.clone(),
            _ => return None,
        }
    }
    Some(o)
}

/// Runs what the arguments say; otherwise returns the reason.
pub(super) fn run(arguments: &[String]) -> Result<(), String> {
    let o = options(arguments)
        .ok_or("usage: sealane-bench --alg NAME [--seconds S] [--cpu N] [--fault CANDIDATE] [--list]")?;
    let candidates = candidates(o.algorithm);
    if o.list {
        candidates.iter().for_each(|candidate| println!("{}", candidate.name));
        return Ok(());
    }
    if !o.fault.is_empty() && candidates.iter().all(|candidate| candidate.name != o.fault) {
        return Err(format!("there is no candidate {}", o.fault));
    }
    let cpu = pin(o.cpu);
    let mut cells = cells(&candidates);
    for cell in &mut cells {
        for candidate in &candidates {
            agrees(cell, candidate, candidate.name == o.fault).map_err(|why| format!("{}: {why}", candidate.name))?;
        }
    }
    let mut room = vec![0x55; 4096 + MAX_BYTES];
    let (start, mut ghz, mut repetitions) = (Instant::now(), clock_ghz(), 0);
    while repetitions == 0 || start.elapsed().as_secs_f64() < o.seconds {
        for cell in &mut cells {
            for turn in 0..TURNS * candidates.len() {
                let i = (turn + repetitions) % candidates.len();
                if cell.op == Op::Setup && !candidates[i].sets_up {
                    continue;
                }
                // The page offset changes from run to run, because some offsets alias those of a key.
                let text = &mut room[(turn / candidates.len() + TURNS * repetitions) * 448 % 4096..];
                let n = cell.repeat[i];
                let Some(ns) = candidates[i].runner.time(cell, n, text) else {
                    return Err(format!("{}: a packet failed while it was timed", candidates[i].name));
                };
                cell.best[i] = ns.min(cell.best[i]);
                cell.repeat[i] = ((RUN_NS / cell.best[i]) as usize).clamp(1, MAX_RUN);
            }
        }
        repetitions += 1;
        if repetitions % 64 == 0 {
            ghz = clock_ghz().max(ghz);
        }
    }
    print(&cells, &candidates, ghz, cpu, repetitions);
    Ok(())
}
