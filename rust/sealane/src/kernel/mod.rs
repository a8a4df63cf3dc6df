//! The kernels, and all code that touches raw memory: kernel arguments and calls.
//!
//! A kernel is the same machine code that the C library and the Go packages run, as bytes that `tools/gas2go` writes
//! from `asm/`. Its prologue and return are in `frame_*.rs` (for C in asm/asm.S). Kernels never move the stack pointer,
//! call nothing and need no relocation. They may change every register except the stack and frame pointers and those
//! that the platform reserves.
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

/// The kernel of a table entry.
#[cfg(not(kernels = "none"))]
macro_rules! kernel {
    ($code:path, $constants:path) => {
        // SAFETY: gas2go has made the code, the constants, the type and the entry's features from one kernel.
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

// Each instruction set has a frame, generated kernels, and tables. build.rs selects that of the target.
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

/// The primitives. Kernels and levels of different primitives have different types.
pub(crate) enum ChaCha20Poly1305 {}
/// Many ChaCha20-Poly1305 packets in one call.
pub(crate) enum ChaCha20Poly1305Batch {}
#[derive(Clone)]
pub(crate) enum AesGcm {}
#[derive(Clone)]
pub(crate) enum AesBlocks {}
/// QUIC header masks.
pub(crate) enum ChaCha20Masks {}

/// The argument structure in layout.rs that belongs to the kernel.
pub(crate) type Args = core::ffi::c_void;

/// The constants of a kernel.
#[repr(C, align(64))]
#[allow(dead_code)] // unused without kernels
pub(crate) struct Constants<const N: usize>(pub(crate) [u8; N]);

/// The machine code. On x86-64, it follows System V's calling convention on every system, so that one frame serves all.
#[cfg(target_arch = "x86_64")]
pub(crate) type Code = unsafe extern "sysv64" fn(*const Args, *mut u8, *const u8);
#[cfg(not(target_arch = "x86_64"))]
pub(crate) type Code = unsafe extern "C" fn(*const Args, *mut u8, *const u8);

/// A kernel of a primitive, with its constants.
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
    /// `code` is a kernel of that primitive, with these constants, for CPUs with the features of its level.
    #[cfg_attr(kernels = "none", allow(dead_code))]
    pub(crate) const unsafe fn new(code: Code, constants: &'static [u8]) -> Self {
        Kernel { machine: Machine { code, constants }, primitive: PhantomData }
    }
}

/// A level that has a kernel.
pub(crate) struct Level<P: 'static> {
    pub(crate) name: &'static str,
    /// Feature bits of `cpu`.
    pub(crate) needs: u32,
    pub(crate) kernel: Kernel<P>,
    pub(crate) batch: Option<Batch>,
}

/// A kernel for many packets in one call, which needs no other features than its level. `from` gives the number of
/// packets of a length from which on the batch kernel is faster. Packets of mixed lengths use it if the sum of 1/from
/// is at least 1.
pub(crate) struct Batch {
    pub(crate) kernel: Kernel<ChaCha20Poly1305Batch>,
    /// The smallest value of `from`; a smaller batch never uses the kernel.
    pub(crate) few: u8,
    /// Indexed by the number of whole blocks. Longer packets never use the kernel.
    pub(crate) from: &'static [u8],
}

/// CPUs for which the choice starts at another level than the first that they can run, because features do not
/// distinguish pipelines.
pub(crate) struct Microarchitecture {
    /// The vendor from `cpu::identify`; 0 for any CPU.
    pub(crate) vendor: u32,
    /// The first and the last model.
    pub(crate) models: (u32, u32),
    /// A primitive and the level at which its choice starts.
    pub(crate) first: &'static [(&'static str, &'static str)],
}

/// A level whose kernel this CPU can run. Machine code runs only in methods of this type, or of a key that contains it.
pub(crate) struct Runnable<P: 'static>(&'static Level<P>);

impl<P> Clone for Runnable<P> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}

impl<P> Copy for Runnable<P> {}

impl<P> Runnable<P> {
    /// Checks that the CPU has the features.
    pub(crate) fn check(level: &'static Level<P>) -> Option<Self> {
        (level.needs & !cpu::features() == 0).then_some(Runnable(level))
    }

    /// # Safety
    /// `check` has succeeded in this process.
    #[inline(always)]
    pub(crate) unsafe fn checked(level: &'static Level<P>) -> Self {
        Runnable(level)
    }

    pub(crate) fn name(self) -> &'static str {
        self.0.name
    }

    /// Its index in a table.
    pub(crate) fn place(self, rows: &'static [Level<P>]) -> Option<usize> {
        rows.iter().position(|row| core::ptr::eq(row, self.0))
    }

    pub(crate) fn is(self, other: Self) -> bool {
        core::ptr::eq(self.0, other.0)
    }

    /// Whether it needs any of these CPU features.
    #[cfg(target_arch = "x86_64")]
    pub(crate) fn needs(self, features: u32) -> bool {
        self.0.needs & features != 0
    }

    /// Constructor for tests that plant faults.
    #[cfg(all(test, not(miri)))]
    pub(crate) fn code(self) -> (Code, &'static [u8]) {
        (self.0.kernel.machine.code, self.0.kernel.machine.constants)
    }

    #[inline(always)]
    fn machine(self) -> &'static Machine {
        &self.0.kernel.machine
    }
}

/// A level that this CPU can run.
pub(crate) enum Usable<P: 'static> {
    Kernel(Runnable<P>),
    Portable,
}

impl<P> Clone for Usable<P> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}

impl<P> Copy for Usable<P> {}

pub(crate) const PORTABLE: &str = "portable";

impl<P> Usable<P> {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Usable::Kernel(kernel) => kernel.name(),
            Usable::Portable => PORTABLE,
        }
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
    /// A smaller batch never uses the kernel.
    pub(crate) fn few(self) -> usize {
        usize::from(self.0.few)
    }

    /// The number of packets from which on the kernel is used, indexed by the number of whole blocks.
    #[cfg(test)]
    pub(crate) fn plan(self) -> &'static [u8] {
        self.0.from
    }

    /// The number of packets of that length from which on the kernel is used; 0 for never.
    pub(crate) fn from(self, bytes: usize) -> usize {
        self.0.from.get(bytes / 64).map_or(0, |from| usize::from(*from))
    }

    /// Seals or opens the packets of all lanes. A separate function, because it needs most of the stack space of
    /// batches.
    #[inline(never)]
    pub(crate) fn run<const N: usize>(self, lanes: &Lanes<'_, N>, open: bool) {
        let args = BatchArgs {
            lanes: slot(lanes.lane.as_ptr()),
            count: lanes.count as u64,
            flags: flags(open) as u64,
            ..BatchArgs::default()
        };
        // SAFETY: this CPU can run it, and the lanes borrow their buffers.
        unsafe { self.0.kernel.machine.call::<BATCH_ROOM, _>(&args) };
    }
}

/// A text to seal or open: in place, or from one slice to another of the same length.
///
/// Sealing and opening do not consume it. A `Text` in place may be sealed and then opened.
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

// SAFETY: like the slices that it was made from.
unsafe impl Send for Text<'_> {}
// SAFETY: like the slices that it was made from.
unsafe impl Sync for Text<'_> {}

impl<'a> Text<'a> {
    /// A text that is replaced by the result.
    #[inline]
    pub fn in_place(text: &'a mut [u8]) -> Text<'a> {
        let output = text.as_mut_ptr();
        Text { input: output, output, bytes: text.len(), slices: PhantomData }
    }

    /// A text that is read from `input`, encrypted or decrypted, and written to `output`.
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

    /// The length of input and output, in bytes.
    #[inline]
    pub fn len(&self) -> usize {
        self.bytes
    }

    /// Whether the length is 0.
    pub fn is_empty(&self) -> bool {
        self.bytes == 0
    }

    pub(crate) fn is_in_place(&self) -> bool {
        core::ptr::eq(self.input, self.output)
    }

    /// The output.
    pub fn output(&mut self) -> &mut [u8] {
        // SAFETY: `output` is valid for writes, and its memory is initialized, for as long as self is borrowed.
        unsafe { core::slice::from_raw_parts_mut(self.output, self.bytes) }
    }

    /// The input.
    pub(crate) fn input(&self) -> &[u8] {
        // SAFETY: `input` is valid for reads, and nothing is written while self is borrowed.
        unsafe { core::slice::from_raw_parts(self.input, self.bytes) }
    }

    /// The output, after copying the input there.
    #[cfg(feature = "portable")]
    pub(crate) fn copied(&mut self) -> &mut [u8] {
        if !self.is_in_place() {
            // SAFETY: `input` and `output` are valid for `bytes`. They are not equal, so they do not overlap.
            unsafe { core::ptr::copy_nonoverlapping(self.input, self.output, self.bytes) };
        }
        self.output()
    }

    /// Writes the input XOR `stream`, which is at least as long.
    pub(crate) fn add(&mut self, stream: &[u8]) {
        assert!(stream.len() >= self.bytes);
        for (i, byte) in stream[..self.bytes].iter().enumerate() {
            // SAFETY: `input` and `output` are valid for `bytes`, and equal or disjoint.
            unsafe { *self.output.add(i) = *self.input.add(i) ^ byte };
        }
    }

    /// The part of `bytes` bytes at `start`; the caller ensures that it is within the text.
    pub(crate) fn part(&mut self, start: usize, bytes: usize) -> Text<'_> {
        assert!(start <= self.bytes && bytes <= self.bytes - start);
        // SAFETY: both are within, or one past, the memory for which `input` and `output` are valid.
        let (input, output) = unsafe { (self.input.add(start), self.output.add(start)) };
        Text { input, output, bytes, slices: PhantomData }
    }
}

#[cfg(feature = "aead")]
impl<'inp: 'a, 'out: 'a, 'a> From<aead::inout::InOutBuf<'inp, 'out, u8>> for Text<'a> {
    /// The input and the output of an `InOutBuf` are equal or do not overlap.
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

/// A key with the kernel that sets it up and uses it. It is wiped when it is dropped.
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
    /// A zeroed key without a table. `set` or `set_hash_key` completes it in place.
    pub(crate) fn unset(kernel: Runnable<P>) -> Self {
        let mut key = KernelKey { bytes: [0; BYTES], kernel };
        key.bytes[AES_KEY_ROUNDS] = LEAST_ROUNDS;
        key
    }

    pub(crate) fn level(&self) -> Runnable<P> {
        self.kernel
    }

    /// Copies a raw key to where kernels expand it, and nowhere else.
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

/// Wipes word by word; for data that is wiped with each packet.
pub(crate) fn wipe(bytes: &mut [u8]) {
    // SAFETY: all bytes are valid as words, and zero words are valid as bytes.
    let (before, words, behind) = unsafe { bytes.align_to_mut::<u64>() };
    zeroize::Zeroize::zeroize(before);
    zeroize::Zeroize::zeroize(words);
    zeroize::Zeroize::zeroize(behind);
}

/// The value in all keys before they are set. Kernels run as many rounds as it says.
const LEAST_ROUNDS: u8 = 10;

/// The most that a kernel chains in one call for a MAC.
pub(crate) const UNUSED_LEN: usize = 512;

/// Memory that is wiped when it is dropped; in words, because wiping takes one instruction for each.
pub(crate) struct Memory<const WORDS: usize>([u64; WORDS]);

/// Output of a chaining kernel except the last block; it is never read.
pub(crate) type Unused = Memory<{ UNUSED_LEN / 8 }>;

impl<const WORDS: usize> Memory<WORDS> {
    pub(crate) fn new() -> Self {
        Memory([0; WORDS])
    }

    pub(crate) fn bytes(&mut self) -> &mut [u8] {
        // SAFETY: a word is eight bytes.
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
    /// A 12-byte nonce.
    Nonce(&'a [u8; 12]),
    /// The block J0 of AES-GCM.
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

/// A tag, in words so that wiping and comparing take two instructions each. An expected tag is secret until the packet
/// has arrived. It is therefore written to memory that can be wiped, and not returned.
pub(crate) type Tag = [u64; 2];

#[inline(always)]
pub(crate) fn tag_of_bytes(bytes: &[u8; 16]) -> Tag {
    let [low, high]: [[u8; 8]; 2] = [
        [bytes[0], bytes[1], bytes[2], bytes[3], bytes[4], bytes[5], bytes[6], bytes[7]],
        [bytes[8], bytes[9], bytes[10], bytes[11], bytes[12], bytes[13], bytes[14], bytes[15]],
    ];
    [u64::from_ne_bytes(low), u64::from_ne_bytes(high)]
}

/// Moves 16 bytes at once. CPUs cannot forward two 8-byte stores to a caller's 16-byte load, which would wait 15 ns for
/// small packets.
#[inline(always)]
pub(crate) fn bytes_of_tag(tag: &Tag) -> [u8; 16] {
    // SAFETY: both are integers of the same total size.
    unsafe { core::mem::transmute(*tag) }
}

fn slot<T>(pointer: *const T) -> u64 {
    pointer as usize as u64
}

/// Uninitialized stack memory for a kernel. It is aligned by hand, because an aligned frame would slow every call.
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
    /// Makes one call, with N bytes of scratch memory.
    ///
    /// # Safety
    /// The CPU can run the kernel. `args` is of its kind, and each address in it is valid for the accesses that
    /// layout.rs states.
    #[inline(always)]
    unsafe fn call<const ROOM: usize, A>(&self, args: &A) {
        let mut scratch = Scratch::<ROOM>::new();
        let args: *const A = args;
        // SAFETY: guaranteed by the caller.
        unsafe { (self.code)(args.cast(), scratch.aligned(), self.constants.as_ptr()) };
    }

    /// Seals or opens a whole packet, and writes its computed tag.
    ///
    /// # Safety
    /// The CPU can run the kernel; `key` and `nonce` are addresses of its key and nonce.
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
        // Written separately. A caller has just written both addresses of a text. One vector load of the two
        // would wait until both stores have reached the cache.
        // SAFETY: the slot belongs to this function.
        unsafe { core::ptr::write_volatile(&mut args.out, slot(text.output)) };
        // SAFETY: guaranteed by the caller, and the rest is borrowed by this call.
        unsafe { self.call::<ROOM, _>(&args) };
    }

    /// Writes the mask of a sample; for ChaCha20 only 8 bytes.
    ///
    /// # Safety
    /// The CPU can run the kernel; `key` is the address of its key.
    unsafe fn mask(&self, key: u64, sample: &[u8; 16], mask: &mut [u8; 16]) {
        let lane = ModeLane { out: slot(mask.as_mut_ptr()), input: slot(sample.as_ptr()), key, ..ModeLane::default() };
        let args =
            ModeLanesArgs { lanes: slot(&lane), count: 1, operation: AES_MASKS as u64, ..ModeLanesArgs::default() };
        // SAFETY: guaranteed by the caller, and the rest is borrowed by this call.
        unsafe { self.call::<ROOM, _>(&args) };
    }
}

impl Runnable<ChaCha20Poly1305> {
    /// Seals or opens a whole packet, and writes its computed tag.
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

    /// Starts a packet with `total` bytes of text.
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

    /// ChaCha20 keystream starting at a block, as a packet whose first part is the last. Its authentication has a zero
    /// key and yields nothing.
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
    /// Sets up a key of 16, 24 or 32 bytes.
    pub(crate) fn set(&mut self, key: &[u8]) {
        self.put(key);
        let args = PacketArgs { key: slot(self.bytes.as_mut_ptr()), flags: FLAG_SETUP as u64, ..PacketArgs::default() };
        // SAFETY: this CPU can run it, and the key has the layout that it requires.
        unsafe { self.kernel.machine().call::<ROOM, _>(&args) };
    }

    /// Removes the table.
    pub(crate) fn forget_table(&mut self) {
        self.bytes[GCM_KEY_TABLE..].fill(0);
    }

    /// Makes the table for a hash key, and leaves the rest of the key as it is.
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

    /// The same for a POLYVAL hash key, for text and associated data of at most `longest` bytes.
    #[cfg(polyval)]
    pub(crate) fn set_polyval_key(&mut self, hash_key: &[u8; 16], longest: usize) {
        self.make_table(hash_key, FLAG_POLYVAL, longest);
    }

    /// POLYVAL of associated data, text and their lengths, with such a key.
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
        // SAFETY: this CPU can run it, and everything is borrowed by this call.
        unsafe { self.kernel.machine().call::<ROOM, _>(&args) };
    }

    /// Seals or opens a whole packet, and writes its computed tag.
    #[inline(always)]
    pub(crate) fn packet(&self, nonce: CallNonce<'_>, ad: &[u8], text: &mut Text<'_>, open: bool, tag: &mut Tag) {
        let (key, flags) = (slot(self.bytes.as_ptr()), flags(open) | nonce.flag());
        // SAFETY: this CPU can run it, and the key belongs to it.
        unsafe { self.kernel.machine().packet(key, nonce.slot(), ad, text, flags, tag) };
    }

    /// Starts a packet with `total` bytes of text.
    pub(crate) fn parts<'a>(&'a self, nonce: CallNonce<'a>, ad: &'a [u8], total: u64, open: bool) -> Parts<'a> {
        let (key, flags) = (slot(self.bytes.as_ptr()), flags(open) | nonce.flag());
        Parts::new(self.kernel.machine(), key, nonce.slot(), ad, flags, total)
    }
}

impl AesKey {
    /// Sets up a key of 16, 24 or 32 bytes.
    pub(crate) fn set(&mut self, key: &[u8]) {
        self.put(key);
        let args = ModeArgs { key: slot(self.bytes.as_mut_ptr()), operation: AES_SETUP as u64, ..ModeArgs::default() };
        // SAFETY: this CPU can run it, and the key has the layout that it requires.
        unsafe { self.kernel.machine().call::<ROOM, _>(&args) };
    }

    /// Encrypts one block.
    #[inline(never)]
    pub(crate) fn encrypt(&self, block: &[u8; 16], to: &mut [u8; 16]) {
        // SAFETY: this CPU can run it, and the key belongs to it.
        unsafe { self.kernel.machine().mask(slot(self.bytes.as_ptr()), block, to) }
    }

    /// XORs keystream into whole blocks of text, and leaves the counter of the next block, whose last four bytes count.
    pub(crate) fn count(&self, counter: &mut [u8; 16], text: &mut Text<'_>) {
        self.count_as(AES_CTR, counter, text);
    }

    /// The same with a counter in the first four bytes, little-endian.
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
        // SAFETY: this CPU can run it, and everything is borrowed by this call.
        unsafe { self.kernel.machine().call::<ROOM, _>(&args) };
    }

    /// Encrypts whole blocks independently, in place.
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
        // SAFETY: this CPU can run it, and everything is borrowed by this call.
        unsafe { self.kernel.machine().call::<ROOM, _>(&args) };
    }

    /// Encrypts at least one whole block like CBC, at most as many as `unused` has room for, and leaves the last one in
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
        // SAFETY: this CPU can run it, and everything is borrowed by this call.
        unsafe { self.kernel.machine().call::<ROOM, _>(&args) };
    }

    /// Whether texts with both keys can be chained side by side: they have the same level and number of rounds.
    pub(crate) fn is_like(&self, other: &Self) -> bool {
        self.kernel.is(other.kernel) && self.bytes[AES_KEY_ROUNDS] == other.bytes[AES_KEY_ROUNDS]
    }
}

/// How many texts are chained side by side, and the most bytes of each per call.
pub(crate) const TOGETHER: usize = 8;
pub(crate) const STEP: usize = 256;

/// Output of one text except the last block; it is never read.
pub(crate) type UnusedStep = [u64; STEP / 8];

/// The operation `chain` for several texts in one call. It borrows their buffers for 'a.
pub(crate) struct Chains<'a> {
    lane: [MaybeUninit<ModeLane>; TOGETHER], // the first `count` are initialized
    count: usize,
    bytes_each: usize,
    key: Option<&'a AesKey>, // all others are equal
    borrowed: PhantomData<&'a mut [u8]>,
}

impl<'a> Chains<'a> {
    /// Chains `bytes_each` bytes of each text, which are whole blocks.
    pub(crate) fn new(bytes_each: usize) -> Self {
        assert!(bytes_each > 0 && bytes_each % 16 == 0 && bytes_each <= STEP);
        let lane = [const { MaybeUninit::uninit() }; TOGETHER];
        Chains { lane, count: 0, bytes_each, key: None, borrowed: PhantomData }
    }

    /// Adds a text, whose key is like those of the others. There are at most `TOGETHER`.
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
        // SAFETY: this CPU can run it, and the lanes borrow their buffers.
        unsafe { key.kernel.machine().call::<ROOM, _>(&args) };
    }
}

/// A packet that goes through a kernel in parts. It borrows its buffers for 'a.
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

    /// Processes the next part, a multiple of 64 bytes except for the last, which writes the tag.
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
        // SAFETY: this CPU can run it; self and this call borrow the memory at all addresses.
        unsafe { self.machine.call::<ROOM, _>(&args) };
    }
}

impl Parts<'_> {
    /// For ChaCha20-Poly1305: the state of Poly1305 after the parts so far.
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

/// The low word of a sum, and the carry.
fn split(sum: u128) -> (u64, u128) {
    (sum as u64, sum >> 64)
}

impl Poly1305 {
    /// Absorbs the rest, less than 16 bytes, with Poly1305's own padding: a one and then zeroes. Returns the tag.
    pub(crate) fn finish(&mut self, rest: &[u8]) -> [u8; 16] {
        self.fold();
        if !rest.is_empty() {
            let mut last = [0; 16];
            last[..rest.len()].copy_from_slice(rest);
            last[rest.len()] = 1;
            self.multiply(u128::from_le_bytes(last));
            self.fold();
        }
        // h is below 2^130 + 40, so h is at least p = 2^130 - 5 if and only if h + 5 reaches 2^130.
        let [h0, h1, h2] = self.h.map(u128::from);
        let (g0, carry) = split(h0 + 5);
        let (g1, carry) = split(h1 + carry);
        let reduced = 0_u128.wrapping_sub((h2 + carry) >> 2);
        let (h, g) = (h0 | (h1 << 64), u128::from(g0) | (u128::from(g1) << 64));
        let s = u128::from(self.s[0]) | (u128::from(self.s[1]) << 64);
        ((h & !reduced) | (g & reduced)).wrapping_add(s).to_le_bytes()
    }

    /// Reduces h partially: 2^130 is 5 modulo p.
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

/// The number of packets that are planned together.
pub(crate) const CHUNK: usize = 64;

/// The packets of one batch kernel call. They borrow their buffers for 'a.
pub(crate) struct Lanes<'a, const N: usize = CHUNK> {
    lane: [MaybeUninit<Lane>; N], // the first `count` are initialized
    count: usize,
    borrowed: PhantomData<&'a mut [u8]>,
}

impl<'a, const N: usize> Lanes<'a, N> {
    pub(crate) fn new() -> Self {
        Lanes { lane: [const { MaybeUninit::uninit() }; N], count: 0, borrowed: PhantomData }
    }

    /// Adds a packet; there are at most N.
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

    /// The number of whole blocks of text in lane `i`.
    fn class(&self, i: usize) -> usize {
        assert!(i < self.count);
        // SAFETY: the first `count` are initialized.
        unsafe { self.lane[i].assume_init() }.bytes as usize / 64
    }

    /// Sorts lanes by length, the longest first, so that similar lengths are adjacent. An insertion sort, since most
    /// are sorted.
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

    /// h near p and near 2^131, with r = 1: the final step adds the rest, reduces, and adds s.
    #[test]
    fn the_end_of_poly1305() {
        const TOP: u64 = u64::MAX;
        // p = 2^130 - 5. Each case: h, the rest of the data, and h + (rest followed by a one) mod p, in 128 bits.
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
