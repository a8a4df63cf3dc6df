//! The kernels, and all that touches raw memory: what they are called with, and the calls.
//!
//! A kernel is the machine code that the C library and the Go packages run, too: rows of bytes that `tools/gas2go` writes
//! from `asm/`. The prologue and the return around them stand in `frame_*.rs` (for C they are in asm/asm.S). Kernels never
//! move the stack pointer, call nothing and need no relocation; they may change every register but those of stack and
//! frame, and the ones that the platform reserves.
#![allow(unsafe_code)]

use core::marker::PhantomData;
use core::mem::MaybeUninit;

use crate::cpu;

#[cfg(not(kernels = "none"))]
#[macro_use]
#[cfg_attr(kernels = "x86_64", path = "frame_x86_64.rs")]
#[cfg_attr(kernels = "aarch64", path = "frame_aarch64.rs")]
#[cfg_attr(kernels = "arm", path = "frame_arm.rs")]
#[cfg_attr(kernels = "riscv64", path = "frame_riscv64.rs")]
#[cfg_attr(feature = "build-from-source", allow(unused_macros))]
mod frame;
pub(crate) mod layout;
pub(crate) mod names;
use layout::*;

/// A row's kernel.
#[cfg(not(kernels = "none"))]
macro_rules! kernel {
    ($code:path, $constants:path) => {
        // SAFETY: gas2go has made both, the type, and the row's features of one kernel.
        unsafe { super::Kernel::new($code, &$constants.0) }
    };
}

/// The kernels of an instruction set, and how they are called.
#[cfg(not(kernels = "none"))]
macro_rules! kernels {
    ($abi:literal; $($name:ident, $symbol:literal, $rows:literal, $extensions:tt;)*) => {
        $(
            #[cfg(not(feature = "build-from-source"))]
            core::arch::global_asm!(frame!($symbol, $rows, $extensions), options(raw));
        )*
        extern $abi {
            $(
                #[link_name = $symbol]
                pub(crate) fn $name(args: *const super::Args, scratch: *mut u8, constants: *const u8);
            )*
        }
    };
}

// Instruction sets: each has a frame, generated kernels, and rows of the tables. build.rs says which is this target's.
#[cfg(kernels = "aarch64")]
mod aarch64;
#[cfg(kernels = "arm")]
mod arm;
#[cfg(kernels = "riscv64")]
mod riscv64;
#[cfg_attr(kernels = "x86_64", path = "rows_x86_64.rs")]
#[cfg_attr(kernels = "aarch64", path = "rows_aarch64.rs")]
#[cfg_attr(kernels = "arm", path = "rows_arm.rs")]
#[cfg_attr(kernels = "riscv64", path = "rows_riscv64.rs")]
#[cfg_attr(kernels = "none", path = "rows_none.rs")]
pub(crate) mod rows;
#[cfg(kernels = "x86_64")]
mod x86_64;

/// The primitives. A kernel of one is of another type than those of the others, and so is a level.
pub(crate) enum ChaCha20Poly1305 {}
/// Many packets of it in one call.
pub(crate) enum ChaCha20Poly1305Batch {}
#[derive(Clone)]
pub(crate) enum AesGcm {}
#[derive(Clone)]
pub(crate) enum AesBlocks {}
/// QUIC's masks.
pub(crate) enum ChaCha20Masks {}

/// A structure of layout.rs of the kernel's kind.
pub(crate) type Args = core::ffi::c_void;

/// Constants of a kernel.
#[repr(C, align(64))]
#[allow(dead_code)] // where there are no kernels
pub(crate) struct Constants<const N: usize>(pub(crate) [u8; N]);

/// The machine code. x86-64: System V's calling convention on every system, so that one frame serves all.
#[cfg(target_arch = "x86_64")]
pub(crate) type Code = unsafe extern "sysv64" fn(*const Args, *mut u8, *const u8);
#[cfg(not(target_arch = "x86_64"))]
pub(crate) type Code = unsafe extern "C" fn(*const Args, *mut u8, *const u8);

/// A kernel of a primitive, and its constants.
pub(crate) struct Kernel<P> {
    machine: Machine,
    primitive: PhantomData<P>,
}

#[derive(Clone, Copy)]
struct Machine {
    code: Code,
    constants: &'static [u8],
}

impl<P> Kernel<P> {
    /// # Safety
    /// `code` is a kernel of that primitive, with these constants, for CPUs with the features of the level that has it.
    #[cfg_attr(kernels = "none", allow(dead_code))]
    pub(crate) const unsafe fn new(code: Code, constants: &'static [u8]) -> Self {
        Kernel { machine: Machine { code, constants }, primitive: PhantomData }
    }
}

/// A level that has a kernel.
pub(crate) struct Level<P: 'static> {
    pub(crate) name: &'static str,
    /// Of `cpu`.
    pub(crate) needs: u32,
    pub(crate) kernel: Kernel<P>,
    pub(crate) batch: Option<Batch>,
}

/// A kernel for many packets in one call, which needs no more than its level, and when it pays: for packets of each number
/// of whole blocks from how many on they are faster side by side. Unlike packets pay if the sum of 1/from is 1 or more.
pub(crate) struct Batch {
    pub(crate) kernel: Kernel<ChaCha20Poly1305Batch>,
    /// The least of `from`: fewer packets never pay.
    pub(crate) few: u8,
    /// By number of whole blocks; longer packets never pay.
    pub(crate) from: &'static [u8],
}

/// A level whose kernel this CPU can run. All that runs machine code is a function of this, or of a key that has one.
pub(crate) struct Runnable<P: 'static>(&'static Level<P>);

impl<P> Clone for Runnable<P> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}

impl<P> Copy for Runnable<P> {}

impl<P> Runnable<P> {
    /// Looks for the features.
    pub(crate) fn check(level: &'static Level<P>) -> Option<Self> {
        (level.needs & !cpu::features() == 0).then_some(Runnable(level))
    }

    /// # Safety
    /// `check` has found the features in this process.
    #[inline(always)]
    pub(crate) unsafe fn checked(level: &'static Level<P>) -> Self {
        Runnable(level)
    }

    pub(crate) fn name(self) -> &'static str {
        self.0.name
    }

    /// Its place in a table.
    pub(crate) fn place(self, rows: &'static [Level<P>]) -> Option<usize> {
        rows.iter().position(|row| core::ptr::eq(row, self.0))
    }

    pub(crate) fn is(self, other: Self) -> bool {
        core::ptr::eq(self.0, other.0)
    }

    /// Whether it needs some of the CPU's features.
    #[cfg(target_arch = "x86_64")]
    pub(crate) fn needs(self, features: u32) -> bool {
        self.0.needs & features != 0
    }

    /// What tests plant faults in.
    #[cfg(all(test, not(miri)))]
    pub(crate) fn code(self) -> (Code, &'static [u8]) {
        (self.0.kernel.machine.code, self.0.kernel.machine.constants)
    }

    #[inline(always)]
    fn machine(self) -> &'static Machine {
        &self.0.kernel.machine
    }
}

/// The batch kernel of a level that this CPU can run.
#[derive(Clone, Copy)]
pub(crate) struct RunnableBatch(&'static Batch);

impl Runnable<ChaCha20Poly1305> {
    pub(crate) fn batch(self) -> Option<RunnableBatch> {
        self.0.batch.as_ref().map(RunnableBatch)
    }
}

impl RunnableBatch {
    /// Fewer packets never pay.
    pub(crate) fn few(self) -> usize {
        usize::from(self.0.few)
    }

    /// From how many packets on they pay, by number of whole blocks.
    #[cfg(test)]
    pub(crate) fn plan(self) -> &'static [u8] {
        self.0.from
    }

    /// From how many packets of that length on they pay; 0: never.
    pub(crate) fn from(self, bytes: usize) -> usize {
        self.0.from.get(bytes / 64).map_or(0, |from| usize::from(*from))
    }

    /// Seals or opens the packets of all lanes. By itself: it has most of the stack that batches need.
    #[inline(never)]
    pub(crate) fn run<const N: usize>(self, lanes: &Lanes<'_, N>, open: bool) {
        let args = BatchArgs {
            lanes: slot(lanes.lane.as_ptr()),
            count: lanes.count as u64,
            flags: flags(open) as u64,
            ..BatchArgs::default()
        };
        // SAFETY: this CPU can run it, and lanes borrow what they are made of.
        unsafe { self.0.kernel.machine.call::<BATCH_ROOM, _>(&args) };
    }
}

/// Text that is sealed or opened: in place, or from one slice to another of the same length.
///
/// Opening and sealing consume nothing: the same `Text` may be sealed and then opened again if it is in place.
///
/// ```
/// use sealane::{Error, Text};
///
/// let (input, mut output) = (*b"a packet", [0; 8]);
/// assert_eq!(Text::apart(&input, &mut output)?.len(), 8);
/// assert!(matches!(Text::apart(&input, &mut output[1..]), Err(Error::LengthMismatch)));
/// # Ok::<(), Error>(())
/// ```
pub struct Text<'a> {
    // `input` is valid for reads and `output` for writes of `bytes`, for 'a; they are equal, or do not overlap.
    output: *mut u8,
    input: *const u8,
    bytes: usize,
    slices: PhantomData<&'a mut [u8]>,
}

// SAFETY: as the slices that it was made of.
unsafe impl Send for Text<'_> {}
// SAFETY: the same.
unsafe impl Sync for Text<'_> {}

impl<'a> Text<'a> {
    /// Text that is replaced by what becomes of it.
    #[inline]
    pub fn in_place(text: &'a mut [u8]) -> Text<'a> {
        let output = text.as_mut_ptr();
        Text { input: output, output, bytes: text.len(), slices: PhantomData }
    }

    /// Text that is read from `input`, encrypted or decrypted, and written to `output`.
    ///
    /// # Errors
    /// [`Error::LengthMismatch`](crate::Error::LengthMismatch) if `output` does not have the length of `input`.
    #[inline]
    pub fn apart(input: &'a [u8], output: &'a mut [u8]) -> Result<Text<'a>, crate::Error> {
        if input.len() != output.len() {
            return Err(crate::Error::LengthMismatch);
        }
        let (input, bytes) = (input.as_ptr(), input.len());
        Ok(Text { input, output: output.as_mut_ptr(), bytes, slices: PhantomData })
    }

    /// How many bytes of input and output there are.
    #[inline]
    pub fn len(&self) -> usize {
        self.bytes
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.bytes == 0
    }

    pub(crate) fn is_in_place(&self) -> bool {
        core::ptr::eq(self.input, self.output)
    }

    /// What was written.
    pub fn output(&mut self) -> &mut [u8] {
        // SAFETY: `output` is valid for writes, and of memory that was initialized, for as long as self is borrowed.
        unsafe { core::slice::from_raw_parts_mut(self.output, self.bytes) }
    }

    /// What is read.
    pub(crate) fn input(&self) -> &[u8] {
        // SAFETY: `input` is valid for reads, and nothing is written while self is borrowed.
        unsafe { core::slice::from_raw_parts(self.input, self.bytes) }
    }

    /// The output, into which the input has been copied.
    #[cfg(feature = "portable")]
    pub(crate) fn copied(&mut self) -> &mut [u8] {
        if !self.is_in_place() {
            // SAFETY: `input` and `output` are valid for `bytes`, and since they are not equal they do not overlap.
            unsafe { core::ptr::copy_nonoverlapping(self.input, self.output, self.bytes) };
        }
        self.output()
    }

    /// Writes the input xored with `stream`, which is no shorter.
    pub(crate) fn add(&mut self, stream: &[u8]) {
        assert!(stream.len() >= self.bytes);
        for (i, byte) in stream[..self.bytes].iter().enumerate() {
            // SAFETY: `input` and `output` are valid for `bytes`, and equal or apart.
            unsafe { *self.output.add(i) = *self.input.add(i) ^ byte };
        }
    }

    /// The bytes of it from `start` on; `start + bytes` is no more than there are.
    pub(crate) fn part(&mut self, start: usize, bytes: usize) -> Text<'_> {
        assert!(start <= self.bytes && bytes <= self.bytes - start);
        // SAFETY: both are within, or one past, what `input` and `output` are valid for.
        let (input, output) = unsafe { (self.input.add(start), self.output.add(start)) };
        Text { input, output, bytes, slices: PhantomData }
    }
}

#[cfg(feature = "aead")]
impl<'inp: 'a, 'out: 'a, 'a> From<aead::inout::InOutBuf<'inp, 'out, u8>> for Text<'a> {
    /// Its input and output are equal, or do not overlap.
    fn from(buffer: aead::inout::InOutBuf<'inp, 'out, u8>) -> Text<'a> {
        let bytes = buffer.len();
        let (input, output) = buffer.into_raw();
        Text { input, output, bytes, slices: PhantomData }
    }
}

impl core::fmt::Debug for Text<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Text").field("bytes", &self.bytes).finish_non_exhaustive()
    }
}

/// A key, and the kernel that sets it up and uses it. It is wiped when it is dropped.
#[derive(Clone)]
#[repr(C, align(64))]
pub(crate) struct KernelKey<P: 'static, const BYTES: usize> {
    bytes: [u8; BYTES],
    kernel: Runnable<P>,
}

pub(crate) type GcmKey = KernelKey<AesGcm, GCM_KEY_BYTES>;
pub(crate) type AesKey = KernelKey<AesBlocks, AES_KEY_BYTES>;
const _: () = assert!(GCM_KEY_ROUNDS == AES_KEY_ROUNDS && GCM_KEY_SCHEDULE == AES_KEY_SCHEDULE);

impl<P, const BYTES: usize> KernelKey<P, BYTES> {
    /// A key of zeroes, without a table, which `set` or `set_hash_key` makes one of in its place.
    pub(crate) fn unset(kernel: Runnable<P>) -> Self {
        let mut key = KernelKey { bytes: [0; BYTES], kernel };
        key.bytes[AES_KEY_ROUNDS] = LEAST_ROUNDS;
        key
    }

    pub(crate) fn level(&self) -> Runnable<P> {
        self.kernel
    }

    /// Puts a raw key where kernels expand it, which is nowhere else.
    fn put(&mut self, key: &[u8]) {
        assert!(matches!(key.len(), 16 | 24 | 32));
        self.bytes[AES_KEY_ROUNDS..AES_KEY_ROUNDS + 8].copy_from_slice(&(6 + key.len() as u64 / 4).to_le_bytes());
        self.bytes[AES_KEY_SCHEDULE..AES_KEY_SCHEDULE + key.len()].copy_from_slice(key);
    }
}

impl<P, const BYTES: usize> Drop for KernelKey<P, BYTES> {
    fn drop(&mut self) {
        wipe(&mut self.bytes);
    }
}

/// Wipes word by word, for what is wiped with each packet.
pub(crate) fn wipe(bytes: &mut [u8]) {
    // SAFETY: any bytes are words, and words of zeroes are bytes.
    let (before, words, behind) = unsafe { bytes.align_to_mut::<u64>() };
    zeroize::Zeroize::zeroize(before);
    zeroize::Zeroize::zeroize(words);
    zeroize::Zeroize::zeroize(behind);
}

/// What all keys have until they are set: kernels run as many rounds as it says.
const LEAST_ROUNDS: u8 = 10;

/// How much a kernel chains in one call for a MAC.
pub(crate) const UNUSED_LEN: usize = 512;

/// Memory for what is wiped when it is dropped; in words, of which wiping takes one instruction each.
pub(crate) struct Memory<const WORDS: usize>([u64; WORDS]);

/// Output of a chaining kernel beside the last block; it is never read.
pub(crate) type Unused = Memory<{ UNUSED_LEN / 8 }>;

impl<const WORDS: usize> Memory<WORDS> {
    pub(crate) fn new() -> Self {
        Memory([0; WORDS])
    }

    pub(crate) fn bytes(&mut self) -> &mut [u8] {
        // SAFETY: words are bytes, eight each.
        unsafe { core::slice::from_raw_parts_mut(self.0.as_mut_ptr() as *mut u8, 8 * WORDS) }
    }
}

impl<const WORDS: usize> Drop for Memory<WORDS> {
    fn drop(&mut self) {
        zeroize::Zeroize::zeroize(&mut self.0);
    }
}

/// The nonce of one call.
#[derive(Clone, Copy)]
pub(crate) enum CallNonce<'a> {
    /// 12 bytes.
    Nonce(&'a [u8; 12]),
    /// AES-GCM: the block J0.
    Block(&'a [u8; 16]),
}

impl CallNonce<'_> {
    #[inline(always)]
    fn slot(&self) -> u64 {
        match self {
            CallNonce::Nonce(nonce) => slot(nonce.as_ptr()),
            CallNonce::Block(block) => slot(block.as_ptr()),
        }
    }

    #[inline(always)]
    fn flag(&self) -> usize {
        match self {
            CallNonce::Nonce(_) => FLAG_NONCE,
            CallNonce::Block(_) => 0,
        }
    }
}

/// A tag, in words so that wiping and comparing it takes two instructions each. One that is expected is a secret until it has
/// come: it is written where it can be wiped, and not returned.
pub(crate) type Tag = [u64; 2];

/// Moves 16 bytes at once: CPUs do not forward two stores of 8 to a caller's load of 16, which waits 15 ns with small packets.
#[inline(always)]
pub(crate) fn bytes_of_tag(tag: &Tag) -> [u8; 16] {
    // SAFETY: integers of as many bytes.
    unsafe { core::mem::transmute(*tag) }
}

fn slot<T>(pointer: *const T) -> u64 {
    pointer as usize as u64
}

/// Memory for a kernel on the stack, uninitialised; aligned by hand, since a frame that is aligned costs every call.
struct Scratch<const N: usize>(MaybeUninit<[u8; N]>);

impl<const N: usize> Scratch<N> {
    #[inline(always)]
    fn new() -> Self {
        Scratch(MaybeUninit::uninit())
    }

    /// All but the first 0 to 63 bytes.
    #[inline(always)]
    fn aligned(&mut self) -> *mut u8 {
        let start = self.0.as_mut_ptr() as *mut u8;
        start.wrapping_add((start as usize).wrapping_neg() & 63)
    }
}

const ROOM: usize = SCRATCH_BYTES + 63;
const BATCH_ROOM: usize = BATCH_SCRATCH_BYTES + 63;

#[inline(always)]
fn flags(open: bool) -> usize {
    if open {
        FLAG_OPEN
    } else {
        0
    }
}

impl Machine {
    /// One call, with so much memory.
    ///
    /// # Safety
    /// The CPU can run it. `args` is of its kind, and each address in it is valid for what layout.rs says is read or written
    /// there.
    #[inline(always)]
    unsafe fn call<const ROOM: usize, A>(&self, args: &A) {
        let mut scratch = Scratch::<ROOM>::new();
        let args: *const A = args;
        // SAFETY: the caller's part.
        unsafe { (self.code)(args.cast(), scratch.aligned(), self.constants.as_ptr()) };
    }

    /// Seals or opens a whole packet, and writes the tag that belongs to it.
    ///
    /// # Safety
    /// The CPU can run it; `key` and `nonce` are addresses of its key and nonce.
    #[inline(always)]
    unsafe fn packet(&self, key: u64, nonce: u64, ad: &[u8], text: &mut Text<'_>, flags: usize, tag: &mut Tag) {
        let mut args = PacketArgs {
            input: slot(text.input),
            bytes: text.bytes as u64,
            ad: slot(ad.as_ptr()),
            ad_bytes: ad.len() as u64,
            key,
            nonce,
            tag: slot(tag.as_mut_ptr()),
            total: text.bytes as u64,
            flags: (flags | FLAG_FIRST | FLAG_LAST) as u64,
            ..PacketArgs::default()
        };
        // By itself: a caller has just written both addresses of a text, and a load of the two as one vector would wait
        // until both stores have reached the cache.
        // SAFETY: the slot is this function's.
        unsafe { core::ptr::write_volatile(&mut args.out, slot(text.output)) };
        // SAFETY: the caller's part, and the rest is borrowed by this call.
        unsafe { self.call::<ROOM, _>(&args) };
    }

    /// Writes the mask of a sample; of ChaCha20's, 8 bytes.
    ///
    /// # Safety
    /// The CPU can run it; `key` is the address of its key.
    unsafe fn mask(&self, key: u64, sample: &[u8; 16], mask: &mut [u8; 16]) {
        let lane = ModeLane { out: slot(mask.as_mut_ptr()), input: slot(sample.as_ptr()), key, ..ModeLane::default() };
        let args =
            ModeLanesArgs { lanes: slot(&lane), count: 1, operation: AES_MASKS as u64, ..ModeLanesArgs::default() };
        // SAFETY: the caller's part, and the rest is borrowed by this call.
        unsafe { self.call::<ROOM, _>(&args) };
    }
}

impl Runnable<ChaCha20Poly1305> {
    /// Seals or opens a whole packet, and writes the tag that belongs to it.
    #[inline(always)]
    pub(crate) fn packet(
        self,
        key: &[u8; 32],
        nonce: &[u8; 12],
        ad: &[u8],
        text: &mut Text<'_>,
        open: bool,
        tag: &mut Tag,
    ) {
        let (key, nonce) = (slot(key.as_ptr()), slot(nonce.as_ptr()));
        // SAFETY: this CPU can run it, and both are borrowed by this call.
        unsafe { self.machine().packet(key, nonce, ad, text, flags(open), tag) };
    }

    /// A packet of `total` bytes of text.
    pub(crate) fn parts<'a>(
        self,
        key: &'a [u8; 32],
        nonce: &'a [u8; 12],
        ad: &'a [u8],
        total: u64,
        open: bool,
    ) -> Parts<'a> {
        let (key, nonce) = (slot(key.as_ptr()), slot(nonce.as_ptr()));
        Parts::new(self.machine(), key, nonce, ad, flags(open), total)
    }

    /// ChaCha20's keystream from a block on, in one part that is the last: its authentication has the key zero, and comes to
    /// nothing.
    pub(crate) fn stream<'a>(self, key: &'a [u8; 32], nonce: &'a [u8; 12], block: u32) -> Parts<'a> {
        let mut parts = self.parts(key, nonce, &[], 0, false);
        parts.begun = true;
        parts.state.0[STATE_COUNTER / 8] = u64::from(block);
        parts
    }
}

impl Runnable<ChaCha20Masks> {
    /// Writes the mask of a sample: 8 bytes.
    pub(crate) fn mask(self, key: &[u8; 32], sample: &[u8; 16], mask: &mut [u8; 16]) {
        // SAFETY: this CPU can run it, and the key is borrowed by this call.
        unsafe { self.machine().mask(slot(key.as_ptr()), sample, mask) }
    }
}

impl GcmKey {
    /// Sets a key of 16, 24 or 32 bytes up.
    pub(crate) fn set(&mut self, key: &[u8]) {
        self.put(key);
        let args = PacketArgs { key: slot(self.bytes.as_mut_ptr()), flags: FLAG_SETUP as u64, ..PacketArgs::default() };
        // SAFETY: this CPU can run it, and the key is as it wants it.
        unsafe { self.kernel.machine().call::<ROOM, _>(&args) };
    }

    /// Takes the table away.
    pub(crate) fn forget_table(&mut self) {
        self.bytes[GCM_KEY_TABLE..].fill(0);
    }

    /// Makes the table, and nothing else of it, for a hash key.
    pub(crate) fn set_hash_key(&mut self, hash_key: &[u8; 16]) {
        self.make_table(hash_key, 0, 0);
    }

    #[inline(never)]
    fn make_table(&mut self, hash_key: &[u8; 16], flags: usize, longest: usize) {
        let args = PacketArgs {
            bytes: longest as u64,
            key: slot(self.bytes.as_mut_ptr()),
            nonce: slot(hash_key.as_ptr()),
            flags: (FLAG_SETUP | FLAG_NONCE | flags) as u64,
            ..PacketArgs::default()
        };
        // SAFETY: this CPU can run it, and both keys are borrowed by this call.
        unsafe { self.kernel.machine().call::<ROOM, _>(&args) };
    }

    /// The same for POLYVAL's hash key, and text and associated data of at most `longest` bytes.
    #[cfg(polyval)]
    pub(crate) fn set_polyval_key(&mut self, hash_key: &[u8; 16], longest: usize) {
        self.make_table(hash_key, FLAG_POLYVAL, longest);
    }

    /// POLYVAL of associated data, text and their lengths, under such a key.
    #[cfg(polyval)]
    #[inline(never)]
    pub(crate) fn polyval(&self, ad: &[u8], text: &[u8], sum: &mut [u8; 16]) {
        let args = PacketArgs {
            input: slot(text.as_ptr()),
            bytes: text.len() as u64,
            ad: slot(ad.as_ptr()),
            ad_bytes: ad.len() as u64,
            key: slot(self.bytes.as_ptr()),
            tag: slot(sum.as_mut_ptr()),
            total: text.len() as u64,
            flags: (FLAG_FIRST | FLAG_LAST | FLAG_POLYVAL) as u64,
            ..PacketArgs::default()
        };
        // SAFETY: this CPU can run it, and all of it is borrowed by this call.
        unsafe { self.kernel.machine().call::<ROOM, _>(&args) };
    }

    /// Seals or opens a whole packet, and writes the tag that belongs to it.
    #[inline(always)]
    pub(crate) fn packet(&self, nonce: CallNonce<'_>, ad: &[u8], text: &mut Text<'_>, open: bool, tag: &mut Tag) {
        let (key, flags) = (slot(self.bytes.as_ptr()), flags(open) | nonce.flag());
        // SAFETY: this CPU can run it, and the key is its own.
        unsafe { self.kernel.machine().packet(key, nonce.slot(), ad, text, flags, tag) };
    }

    /// A packet of `total` bytes of text.
    pub(crate) fn parts<'a>(&'a self, nonce: CallNonce<'a>, ad: &'a [u8], total: u64, open: bool) -> Parts<'a> {
        let (key, flags) = (slot(self.bytes.as_ptr()), flags(open) | nonce.flag());
        Parts::new(self.kernel.machine(), key, nonce.slot(), ad, flags, total)
    }
}

impl AesKey {
    /// Sets a key of 16, 24 or 32 bytes up.
    pub(crate) fn set(&mut self, key: &[u8]) {
        self.put(key);
        let args = ModeArgs { key: slot(self.bytes.as_mut_ptr()), operation: AES_SETUP as u64, ..ModeArgs::default() };
        // SAFETY: this CPU can run it, and the key is as it wants it.
        unsafe { self.kernel.machine().call::<ROOM, _>(&args) };
    }

    /// One block.
    #[inline(never)]
    pub(crate) fn encrypt(&self, block: &[u8; 16], to: &mut [u8; 16]) {
        // SAFETY: this CPU can run it, and the key is its own.
        unsafe { self.kernel.machine().mask(slot(self.bytes.as_ptr()), block, to) }
    }

    /// Adds keystream to whole blocks of text, and leaves the next block's counter: its last four bytes.
    pub(crate) fn count(&self, counter: &mut [u8; 16], text: &mut Text<'_>) {
        self.count_as(AES_CTR, counter, text);
    }

    /// The same with a counter that is the first four bytes, little-endian.
    #[cfg(polyval)]
    pub(crate) fn count_little(&self, counter: &mut [u8; 16], text: &mut Text<'_>) {
        self.count_as(AES_CTR_LITTLE, counter, text);
    }

    #[inline(never)]
    fn count_as(&self, mode: usize, counter: &mut [u8; 16], text: &mut Text<'_>) {
        assert!(text.bytes % 16 == 0);
        let args = ModeArgs {
            out: slot(text.output),
            input: slot(text.input),
            bytes: text.bytes as u64,
            key: slot(self.bytes.as_ptr()),
            state: slot(counter.as_mut_ptr()),
            operation: mode as u64,
            ..ModeArgs::default()
        };
        // SAFETY: this CPU can run it, and all of it is borrowed by this call.
        unsafe { self.kernel.machine().call::<ROOM, _>(&args) };
    }

    /// Encrypts whole blocks, every one by itself, in place.
    #[inline(never)]
    pub(crate) fn encrypt_all(&self, blocks: &mut [u8]) {
        assert!(blocks.len() % 16 == 0);
        let text = slot(blocks.as_mut_ptr());
        let args = ModeArgs {
            out: text,
            input: text,
            bytes: blocks.len() as u64,
            key: slot(self.bytes.as_ptr()),
            operation: AES_ECB_ENCRYPT as u64,
            ..ModeArgs::default()
        };
        // SAFETY: this CPU can run it, and all of it is borrowed by this call.
        unsafe { self.kernel.machine().call::<ROOM, _>(&args) };
    }

    /// Encrypts whole blocks as CBC does, at least one and no more than `unused` has room for, and leaves the last one in
    /// `chain`.
    #[inline(never)]
    pub(crate) fn chain(&self, chain: &mut [u8; 16], input: &[u8], unused: &mut Unused) {
        assert!(!input.is_empty() && input.len() % 16 == 0 && input.len() <= UNUSED_LEN);
        let lane = ModeLane {
            out: slot(unused.0.as_mut_ptr()),
            input: slot(input.as_ptr()),
            key: slot(self.bytes.as_ptr()),
            chain: slot(chain.as_mut_ptr()),
            ..ModeLane::default()
        };
        let args = ModeLanesArgs {
            lanes: slot(&lane),
            count: 1,
            bytes_each: input.len() as u64,
            operation: AES_CBC_ENCRYPT as u64,
            ..ModeLanesArgs::default()
        };
        // SAFETY: this CPU can run it, and all of it is borrowed by this call.
        unsafe { self.kernel.machine().call::<ROOM, _>(&args) };
    }

    /// Whether texts under both can be chained side by side: one level, one number of rounds.
    pub(crate) fn is_like(&self, other: &Self) -> bool {
        self.kernel.is(other.kernel) && self.bytes[AES_KEY_ROUNDS] == other.bytes[AES_KEY_ROUNDS]
    }
}

/// How many texts are chained side by side, and how many bytes of each at most in one call.
pub(crate) const TOGETHER: usize = 8;
pub(crate) const STEP: usize = 256;

/// Output of one of them beside the last block; it is never read.
pub(crate) type UnusedStep = [u64; STEP / 8];

/// `chain` of several texts in one call, which borrows what they are made of for 'a.
pub(crate) struct Chains<'a> {
    lane: [MaybeUninit<ModeLane>; TOGETHER], // the first `count` are initialized
    count: usize,
    bytes_each: usize,
    key: Option<&'a AesKey>, // like all others
    borrowed: PhantomData<&'a mut [u8]>,
}

impl<'a> Chains<'a> {
    /// Of each text `bytes_each` bytes: whole blocks.
    pub(crate) fn new(bytes_each: usize) -> Self {
        assert!(bytes_each > 0 && bytes_each % 16 == 0 && bytes_each <= STEP);
        let lane = [const { MaybeUninit::uninit() }; TOGETHER];
        Chains { lane, count: 0, bytes_each, key: None, borrowed: PhantomData }
    }

    /// One more, whose key is like the others'; there are at most `TOGETHER`.
    pub(crate) fn push(
        &mut self,
        key: &'a AesKey,
        chain: &'a mut [u8; 16],
        input: &'a [u8],
        unused: &'a mut UnusedStep,
    ) {
        assert!(input.len() >= self.bytes_each && self.key.get_or_insert(key).is_like(key));
        let lane = ModeLane {
            out: slot(unused.as_mut_ptr()),
            input: slot(input.as_ptr()),
            key: slot(key.bytes.as_ptr()),
            chain: slot(chain.as_mut_ptr()),
            ..ModeLane::default()
        };
        self.lane[self.count] = MaybeUninit::new(lane);
        self.count += 1;
    }

    #[inline(never)]
    pub(crate) fn run(self) {
        let Some(key) = self.key else { return };
        let args = ModeLanesArgs {
            lanes: slot(self.lane.as_ptr()),
            count: self.count as u64,
            bytes_each: self.bytes_each as u64,
            operation: AES_CBC_ENCRYPT as u64,
            ..ModeLanesArgs::default()
        };
        // SAFETY: this CPU can run it, and lanes borrow what they are made of.
        unsafe { key.kernel.machine().call::<ROOM, _>(&args) };
    }
}

/// A packet that goes through a kernel in parts. It borrows what it is made of for 'a.
pub(crate) struct Parts<'a> {
    machine: &'static Machine, // this CPU can run it
    key: u64,
    nonce: u64,
    ad: &'a [u8],
    flags: usize,
    total: u64,
    begun: bool,
    state: State,
}

#[repr(C, align(64))]
struct State([u64; STATE_BYTES / 8]);

const _: () = assert!(STATE_BYTES == GCM_STATE_BYTES);

impl<'a> Parts<'a> {
    fn new(machine: &'static Machine, key: u64, nonce: u64, ad: &'a [u8], flags: usize, total: u64) -> Self {
        Parts { machine, key, nonce, ad, flags, total, begun: false, state: State([0; STATE_BYTES / 8]) }
    }

    /// The next part: a multiple of 64 bytes, except the last, which writes the tag.
    #[inline(never)]
    pub(crate) fn next(&mut self, text: &mut Text<'_>, last: bool, tag: &mut Tag) {
        assert!(last || text.bytes % 64 == 0);
        let first = if self.begun { 0 } else { FLAG_FIRST };
        let last = if last { FLAG_LAST } else { 0 };
        let args = PacketArgs {
            out: slot(text.output),
            input: slot(text.input),
            bytes: text.bytes as u64,
            ad: slot(self.ad.as_ptr()),
            ad_bytes: self.ad.len() as u64,
            key: self.key,
            nonce: self.nonce,
            tag: slot(tag.as_mut_ptr()),
            state: slot(self.state.0.as_mut_ptr()),
            total: self.total,
            flags: (self.flags | first | last) as u64,
        };
        self.begun = true;
        // SAFETY: this CPU can run it; what the addresses point to is borrowed by self and by this call.
        unsafe { self.machine.call::<ROOM, _>(&args) };
    }
}

impl Parts<'_> {
    /// Of ChaCha20-Poly1305: what Poly1305 has of the parts so far.
    pub(crate) fn poly1305(&self) -> Poly1305 {
        let state = &self.state.0;
        let (h, r, s) = (STATE_H / 8, STATE_R / 8, STATE_S / 8);
        Poly1305 { h: [state[h], state[h + 1], state[h + 2]], r: [state[r], state[r + 1]], s: [state[s], state[s + 1]] }
    }
}

/// Poly1305 in progress: h below 2^131, r clamped.
pub(crate) struct Poly1305 {
    h: [u64; 3],
    r: [u64; 2],
    s: [u64; 2],
}

impl Drop for Poly1305 {
    fn drop(&mut self) {
        zeroize::Zeroize::zeroize(&mut self.h);
        zeroize::Zeroize::zeroize(&mut self.r);
        zeroize::Zeroize::zeroize(&mut self.s);
    }
}

/// The lower word of a sum, and the carry.
fn split(sum: u128) -> (u64, u128) {
    (sum as u64, sum >> 64)
}

impl Poly1305 {
    /// Takes in the rest, less than 16 bytes, as Poly1305 by itself does: a one and zeroes follow. Returns the tag.
    pub(crate) fn finish(&mut self, rest: &[u8]) -> [u8; 16] {
        self.fold();
        if !rest.is_empty() {
            let mut last = [0; 16];
            last[..rest.len()].copy_from_slice(rest);
            last[rest.len()] = 1;
            self.multiply(u128::from_le_bytes(last));
            self.fold();
        }
        // h is below 2^130 + 40, and at least p = 2^130 - 5 exactly if h + 5 reaches 2^130.
        let [h0, h1, h2] = self.h.map(u128::from);
        let (g0, carry) = split(h0 + 5);
        let (g1, carry) = split(h1 + carry);
        let reduced = 0_u128.wrapping_sub((h2 + carry) >> 2);
        let (h, g) = (h0 | (h1 << 64), u128::from(g0) | (u128::from(g1) << 64));
        let s = u128::from(self.s[0]) | (u128::from(self.s[1]) << 64);
        ((h & !reduced) | (g & reduced)).wrapping_add(s).to_le_bytes()
    }

    /// 2^130 is 5.
    fn fold(&mut self) {
        let [h0, h1, h2] = self.h.map(u128::from);
        let (low, carry) = split(h0 + 5 * (h2 >> 2));
        let (middle, carry) = split(h1 + carry);
        self.h = [low, middle, (h2 & 3) as u64 + carry as u64];
    }

    /// h = (h + block) r, with h folded. r1 is a multiple of 4, so that 2^128 r1 is q = 5 r1/4.
    fn multiply(&mut self, block: u128) {
        let [h0, h1, h2] = self.h.map(u128::from);
        let (h0, carry) = split(h0 + u128::from(block as u64));
        let (h1, carry) = split(h1 + (block >> 64) + carry);
        let h2 = h2 as u64 + carry as u64;
        let [r0, r1] = self.r;
        let q = r1 + (r1 >> 2);
        let product = |a: u64, b: u64| u128::from(a) * u128::from(b);
        let (d0, carry) = split(product(h0, r0) + product(h1, q));
        let (d1, carry) = split(product(h0, r1) + product(h1, r0) + product(h2, q) + carry);
        self.h = [d0, d1, h2 * r0 + carry as u64];
    }
}

impl Parts<'_> {
    /// GHASH of the parts so far.
    pub(crate) fn hash(&self) -> [u8; 16] {
        let mut hash = [0; 16];
        hash[..8].copy_from_slice(&self.state.0[GCM_STATE_Y / 8].to_ne_bytes());
        hash[8..].copy_from_slice(&self.state.0[GCM_STATE_Y / 8 + 1].to_ne_bytes());
        hash
    }
}

impl Drop for Parts<'_> {
    fn drop(&mut self) {
        zeroize::Zeroize::zeroize(&mut self.state.0);
    }
}

/// Packets that are planned together.
pub(crate) const CHUNK: usize = 64;

/// The packets of one call of a batch kernel. They borrow what they are made of for 'a.
pub(crate) struct Lanes<'a, const N: usize = CHUNK> {
    lane: [MaybeUninit<Lane>; N], // the first `count` are initialized
    count: usize,
    borrowed: PhantomData<&'a mut [u8]>,
}

impl<'a, const N: usize> Lanes<'a, N> {
    pub(crate) fn new() -> Self {
        Lanes { lane: [const { MaybeUninit::uninit() }; N], count: 0, borrowed: PhantomData }
    }

    /// One more; there are at most N.
    pub(crate) fn push(
        &mut self,
        text: Text<'a>,
        ad: &'a [u8],
        key: &'a [u8; 32],
        nonce: &'a [u8; 12],
        tag: &'a mut [u8; 16],
    ) {
        let lane = Lane {
            out: slot(text.output),
            input: slot(text.input),
            bytes: text.bytes as u64,
            ad: slot(ad.as_ptr()),
            ad_bytes: ad.len() as u64,
            key: slot(key.as_ptr()),
            nonce: slot(nonce.as_ptr()),
            tag: slot(tag.as_mut_ptr()),
        };
        self.lane[self.count] = MaybeUninit::new(lane);
        self.count += 1;
    }

    /// How many whole blocks of text lane `i` has.
    fn class(&self, i: usize) -> usize {
        assert!(i < self.count);
        // SAFETY: the first `count` are initialized.
        unsafe { self.lane[i].assume_init() }.bytes as usize / 64
    }

    /// Puts those of like length side by side, the longest first: an insertion sort, as mostly they are.
    pub(crate) fn sort(&mut self) {
        for i in 1..self.count {
            let (lane, class) = (self.lane[i], self.class(i));
            let mut place = i;
            while place > 0 && self.class(place - 1) < class {
                self.lane[place] = self.lane[place - 1];
                place -= 1;
            }
            self.lane[place] = lane;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Poly1305;

    /// h next to p and to 2^131, with r of 1: the end adds the rest, reduces, and adds s.
    #[test]
    fn the_end_of_poly1305() {
        const TOP: u64 = u64::MAX;
        // p = 2^130 - 5: h, the rest of the data, and h + that and a one behind it mod p, in 128 bits.
        let cases: [([u64; 3], &[u8], u128); 8] = [
            ([0, 0, 0], &[], 0),
            ([TOP - 4, TOP, 3], &[], 0),             // p
            ([TOP - 5, TOP, 3], &[], u128::MAX - 5), // p - 1
            ([TOP, TOP, 3], &[], 4),                 // p + 4
            ([TOP, TOP, 7], &[], 9),                 // 2^131 - 1 = 2p + 9
            ([0, 0, 0], &[0], 0x100),
            ([TOP - 4, TOP, 3], &[7], 0x107), // p
            ([4, 0, 0], &[0xfa], 0x1fe),
        ];
        for (h, rest, want) in cases {
            let mut sum = Poly1305 { h, r: [1, 0], s: [0, 0] };
            assert_eq!(u128::from_le_bytes(sum.finish(rest)), want, "{:x?} {:x?}", h, rest);
        }
        let mut sum = Poly1305 { h: [0, 0, 0], r: [1, 0], s: [TOP, TOP] };
        assert_eq!(u128::from_le_bytes(sum.finish(&[0])), 0xff);
    }
}
