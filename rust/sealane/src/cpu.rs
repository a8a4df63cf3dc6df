//! CPU features that kernels need, as supported by CPU and operating system: one bit per feature. Bits that an
//! instruction set does not use are not compiled there.
#![allow(unsafe_code, dead_code)]

#[cfg(any(target_arch = "aarch64", target_arch = "arm"))]
pub(crate) use arm::*;
#[cfg(target_arch = "riscv64")]
pub(crate) use riscv::*;
#[cfg(target_arch = "x86_64")]
pub(crate) use x86::*;

#[cfg(target_arch = "x86_64")]
mod x86 {
    pub(crate) const SSSE3: u32 = 1 << 0;
    pub(crate) const SSE41: u32 = 1 << 1;
    pub(crate) const BMI: u32 = 1 << 2;
    pub(crate) const BMI2: u32 = 1 << 3;
    pub(crate) const AVX2: u32 = 1 << 4;
    pub(crate) const AVX512F: u32 = 1 << 5;
    pub(crate) const AVX512VL: u32 = 1 << 6;
    pub(crate) const AVX512BW: u32 = 1 << 7;
    pub(crate) const AVX512IFMA: u32 = 1 << 8;
    pub(crate) const AES: u32 = 1 << 9;
    pub(crate) const PCLMUL: u32 = 1 << 10;
    pub(crate) const VAES: u32 = 1 << 11;
    pub(crate) const VPCLMULQDQ: u32 = 1 << 12;
    pub(crate) const AVX: u32 = 1 << 13;

    /// Sources: Intel SDM, volume 2, CPUID; volume 1, section 13.3, for XCR0 (the registers that the operating system
    /// saves).
    #[cfg(not(any(miri, target_env = "sgx")))]
    pub(crate) fn features() -> u32 {
        #![allow(unused_unsafe)] // in some versions of the standard library these functions are safe
        use core::arch::x86_64::{__cpuid, __cpuid_count};

        #[target_feature(enable = "xsave")]
        unsafe fn xcr0() -> u64 {
            // SAFETY: the caller has checked OSXSAVE.
            unsafe { core::arch::x86_64::_xgetbv(0) }
        }

        let has = |register: u32, bit: u32| register >> bit & 1 != 0;
        // SAFETY: every x86-64 CPU has CPUID, and a CPU that reports OSXSAVE has XGETBV.
        let (one, seven, saved) = unsafe {
            let most = __cpuid(0).eax;
            let one = __cpuid(1);
            let seven = if most >= 7 { Some(__cpuid_count(7, 0)) } else { None };
            (one, seven, if has(one.ecx, 27) { xcr0() } else { 0 })
        };
        let avx = has(one.ecx, 28) && saved & 6 == 6; // xmm, upper halves of ymm
        let avx512 = avx && saved & 0xe0 == 0xe0; // masks, upper halves of zmm, zmm16 to zmm31
        let mut found = 0;
        let mut add = |present: bool, feature: u32| found |= if present { feature } else { 0 };
        add(has(one.ecx, 9), SSSE3);
        add(has(one.ecx, 19), SSE41);
        add(has(one.ecx, 25), AES);
        add(has(one.ecx, 1), PCLMUL);
        add(avx, AVX);
        if let Some(seven) = seven {
            let foundation = avx512 && has(seven.ebx, 16);
            add(has(seven.ebx, 3), BMI);
            add(has(seven.ebx, 8), BMI2);
            add(avx && has(seven.ebx, 5), AVX2);
            add(avx && has(seven.ecx, 9), VAES);
            add(avx && has(seven.ecx, 10), VPCLMULQDQ);
            add(foundation, AVX512F);
            add(foundation && has(seven.ebx, 31), AVX512VL);
            add(foundation && has(seven.ebx, 30), AVX512BW);
            add(foundation && has(seven.ebx, 21), AVX512IFMA);
        }
        found
    }

    /// The first four bytes of the vendor, and the family. The extended family is added from family 15 on.
    #[cfg(not(any(miri, target_env = "sgx")))]
    pub(crate) fn identify() -> (u32, u32) {
        #![allow(unused_unsafe)]
        use core::arch::x86_64::__cpuid;

        // SAFETY: every x86-64 CPU has CPUID.
        let (vendor, signature) = unsafe { (__cpuid(0).ebx, __cpuid(1).eax) };
        let family = signature >> 8 & 15;
        (vendor, if family == 15 { family + (signature >> 20 & 255) } else { family })
    }

    #[cfg(any(miri, target_env = "sgx"))]
    pub(crate) fn features() -> u32 {
        0
    }

    #[cfg(any(miri, target_env = "sgx"))]
    pub(crate) fn identify() -> (u32, u32) {
        (0, 0)
    }
}

#[cfg(any(target_arch = "aarch64", target_arch = "arm"))]
mod arm {
    pub(crate) const NEON: u32 = 1 << 0;
    pub(crate) const ARMV6: u32 = 1 << 1;
    pub(crate) const AES: u32 = 1 << 2;
    pub(crate) const PMULL: u32 = 1 << 3;

    /// Every AArch64 system with floating point has NEON. Only the operating system reports other features.
    #[cfg(all(target_arch = "aarch64", feature = "std", not(miri)))]
    pub(crate) fn features() -> u32 {
        let cryptography = std::arch::is_aarch64_feature_detected!("aes"); // the standard library's name for both AES and PMULL
        NEON | if cryptography { AES | PMULL } else { 0 }
    }

    /// Without the standard library, the features are those of the compilation target.
    #[cfg(all(target_arch = "aarch64", not(feature = "std"), not(miri)))]
    pub(crate) fn features() -> u32 {
        NEON | if cfg!(target_feature = "aes") { AES | PMULL } else { 0 }
    }

    #[cfg(all(target_arch = "arm", target_os = "linux", feature = "std", not(miri)))]
    pub(crate) fn features() -> u32 {
        use super::auxiliary;
        use std::ffi::CStr;
        use std::os::raw::c_char;

        const PLATFORM: usize = 15;
        const HWCAP: usize = 16;
        const HWCAP2: usize = 26;
        let platform = auxiliary(PLATFORM) as *const c_char; // v5l, v6l, v7l, v8l: the last letter is the endianness
        let name = if platform.is_null() {
            &[]
        } else {
            // SAFETY: the kernel points to a string that stays for the life of the process.
            unsafe { CStr::from_ptr(platform) }.to_bytes()
        };
        let version = match name {
            [b'v', digit @ b'0'..=b'9', ..] => digit - b'0',
            _ => 0,
        };
        let mut found = 0;
        if version >= 6 {
            found |= ARMV6;
        }
        if version >= 7 && auxiliary(HWCAP) & 1 << 12 != 0 {
            found |= NEON;
            if auxiliary(HWCAP2) & 1 != 0 {
                found |= AES;
            }
            if auxiliary(HWCAP2) & 2 != 0 {
                found |= PMULL;
            }
        }
        found
    }

    #[cfg(any(miri, all(target_arch = "arm", not(all(target_os = "linux", feature = "std")))))]
    pub(crate) fn features() -> u32 {
        0
    }
}

#[cfg(target_arch = "riscv64")]
mod riscv {
    pub(crate) const M: u32 = 1 << 0;
    pub(crate) const ZBB: u32 = 1 << 1;
    pub(crate) const V: u32 = 1 << 2;
    pub(crate) const ZVKB: u32 = 1 << 3;
    pub(crate) const ZVKG: u32 = 1 << 4;
    pub(crate) const ZVKNED: u32 = 1 << 5;

    /// M is always set: programs with kernels are compiled for it.
    pub(crate) fn features() -> u32 {
        let has = extensions();
        let mut found = M;
        if cfg!(target_feature = "zbb") || has & 1 << 4 != 0 {
            found |= ZBB;
        }
        for (bits, feature) in [(1 << 2, V), (1 << 17 | 1 << 19, ZVKB), (1 << 20, ZVKG), (1 << 21, ZVKNED)] {
            if has & bits != 0 {
                found |= feature;
            }
        }
        found
    }

    /// Linux 6.5 and later reports the features common to all processors (Documentation/arch/riscv/hwprobe.rst). The
    /// auxiliary vector reports whether this process may use vectors, but some vendors' kernels set its bit for another
    /// vector version.
    #[cfg(all(target_os = "linux", feature = "std", not(miri)))]
    fn extensions() -> u64 {
        use std::os::raw::c_long;

        #[repr(C)]
        struct Pair {
            key: i64,
            value: u64,
        }
        extern "C" {
            fn syscall(number: c_long, ...) -> c_long; // from the C library that std links to
        }
        const HWPROBE: c_long = 258;
        const EXTENSIONS: i64 = 4; // RISCV_HWPROBE_KEY_IMA_EXT_0
        let (mut pair, none) = (Pair { key: EXTENSIONS, value: 0 }, 0 as c_long);
        // SAFETY: it writes one pair, and takes no CPU set.
        let failed = unsafe { syscall(HWPROBE, &mut pair as *mut Pair, 1 as c_long, none, none, none) };
        if failed != 0 || pair.key != EXTENSIONS {
            return 0;
        }
        const HWCAP: usize = 16;
        let may = if super::auxiliary(HWCAP) & 1 << 21 != 0 { 1 << 2 } else { 0 };
        pair.value & (may | !(1 << 2))
    }

    #[cfg(not(all(target_os = "linux", feature = "std", not(miri))))]
    fn extensions() -> u64 {
        0
    }
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "arm", target_arch = "riscv64")))]
pub(crate) fn features() -> u32 {
    0
}

/// The implementer and part (MIDR_EL1) of the current core. Programs may read it where Linux says so
/// (Documentation/arch/arm64/cpu-feature-registers.rst).
#[cfg(all(target_arch = "aarch64", any(target_os = "linux", target_os = "android"), feature = "std", not(miri)))]
pub(crate) fn identify() -> (u32, u32) {
    const HWCAP: usize = 16;
    const CPUID: usize = 1 << 11;
    if auxiliary(HWCAP) & CPUID == 0 {
        return (0, 0);
    }
    let register: u64;
    // SAFETY: Linux has just reported that programs may read it.
    unsafe { core::arch::asm!("mrs {}, midr_el1", out(reg) register, options(nomem, nostack, preserves_flags)) };
    ((register >> 24 & 0xff) as u32, (register >> 4 & 0xfff) as u32)
}

/// Other systems do not identify the core.
#[cfg(not(any(
    target_arch = "x86_64",
    all(target_arch = "aarch64", any(target_os = "linux", target_os = "android"), feature = "std", not(miri))
)))]
pub(crate) fn identify() -> (u32, u32) {
    (0, 0)
}

/// A value of the auxiliary vector, which Linux gives to each process, or 0.
#[cfg(all(feature = "std", any(target_os = "linux", target_os = "android"), not(miri)))]
pub(crate) fn auxiliary(what: usize) -> usize {
    use std::os::raw::c_ulong;
    extern "C" {
        fn getauxval(what: c_ulong) -> c_ulong; // from the C library that std links to
    }
    // SAFETY: it only reads.
    unsafe { getauxval(what as c_ulong) as usize }
}

/// Whether this process is privileged (setuid, setcap), so that the environment of its caller is not trusted.
#[cfg(feature = "std")]
#[allow(unreachable_code)] // on systems where an earlier branch returns
pub(crate) fn privileged() -> bool {
    #[cfg(all(any(target_os = "linux", target_os = "android"), not(miri)))]
    {
        const SECURE: usize = 23;
        return auxiliary(SECURE) != 0;
    }
    #[cfg(any(
        target_vendor = "apple",
        target_os = "freebsd",
        target_os = "netbsd",
        target_os = "openbsd",
        target_os = "dragonfly"
    ))]
    {
        extern "C" {
            fn issetugid() -> std::os::raw::c_int;
        }
        // SAFETY: it only reads.
        return unsafe { issetugid() != 0 };
    }
    false
}
