//! Data-independent timing (Arm ARM, FEAT_DIT). While PSTATE.DIT is set, the instructions that the architecture lists
//! take the same time for all data. The flag belongs to a thread. Apple and Linux report whether the CPU has it.
#![allow(unsafe_code)]

/// Sets the flag for the current thread during its lifetime, if the CPU has the flag and the standard library reports
/// it.
pub(crate) struct Dit {
    #[cfg(all(target_arch = "aarch64", feature = "std", not(miri)))]
    restore: bool,
}

#[cfg(all(target_arch = "aarch64", feature = "std", not(miri)))]
impl Dit {
    #[inline(always)]
    pub(crate) fn on() -> Dit {
        use core::arch::asm;
        if !std::arch::is_aarch64_feature_detected!("dit") {
            return Dit { restore: false };
        }
        let before: u64;
        // SAFETY: the CPU has the flag; the second instruction is msr dit, #1.
        unsafe { asm!("mrs {}, s3_3_c4_c2_5", ".inst 0xd503415f", out(reg) before) };
        Dit { restore: before & 1 << 24 == 0 }
    }
}

#[cfg(all(target_arch = "aarch64", feature = "std", not(miri)))]
impl Drop for Dit {
    #[inline(always)]
    fn drop(&mut self) {
        if self.restore {
            // SAFETY: the CPU has the flag; msr dit, #0.
            unsafe { core::arch::asm!(".inst 0xd503405f") };
        }
    }
}

#[cfg(not(all(target_arch = "aarch64", feature = "std", not(miri))))]
impl Dit {
    #[inline(always)]
    pub(crate) fn on() -> Dit {
        Dit {}
    }
}
