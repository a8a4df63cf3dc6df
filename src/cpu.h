/* CPU features that kernels need, as supported by CPU and operating system. */
#ifndef SEALANE_SRC_CPU_H
#define SEALANE_SRC_CPU_H

#include <stdint.h>

/* One bit per extension in the kernels' isa lines. */
enum {
    SEALANE_X86_SSSE3 = 1 << 0,
    SEALANE_X86_SSE41 = 1 << 1,
    SEALANE_X86_BMI = 1 << 2,
    SEALANE_X86_BMI2 = 1 << 3,
    SEALANE_X86_AVX = 1 << 4,
    SEALANE_X86_AVX2 = 1 << 5,
    SEALANE_X86_AVX512F = 1 << 6,
    SEALANE_X86_AVX512VL = 1 << 7,
    SEALANE_X86_AVX512BW = 1 << 8,
    SEALANE_X86_AVX512IFMA = 1 << 9,
    SEALANE_X86_AES = 1 << 10,
    SEALANE_X86_PCLMUL = 1 << 11,
    SEALANE_X86_VAES = 1 << 12,
    SEALANE_X86_VPCLMULQDQ = 1 << 13
};

enum { SEALANE_ARM_NEON = 1 << 0, SEALANE_ARM_ARMV6 = 1 << 1, SEALANE_ARM_AES = 1 << 2, SEALANE_ARM_PMULL = 1 << 3 };

enum {
    SEALANE_MIPS_MIPS32R2 = 1 << 0,
    SEALANE_MIPS_MIPS64R2 = 1 << 1
}; /* a build that uses one requires it of every CPU */

enum {
    SEALANE_RISCV_M = 1 << 0,
    SEALANE_RISCV_ZBB = 1 << 1,
    SEALANE_RISCV_V = 1 << 2,
    SEALANE_RISCV_ZVKB = 1 << 3,
    SEALANE_RISCV_ZVKG = 1 << 4,
    SEALANE_RISCV_ZVKNED = 1 << 5
};

/* The features that are present and whose registers the operating system saves; 0 on other architectures. */
uint32_t sealane_cpu_features(void);

/* Vendor and model of the CPU. On x86, the first four bytes of CPUID's vendor, and the family. On ARM, the
 * implementer and the part (MIDR_EL1). Both are zero if neither the CPU nor the operating system reports them. With
 * different cores, they are those of the current core. */
typedef struct {
    uint32_t vendor, model;
} sealane_cpu_identity;
sealane_cpu_identity sealane_cpu_identify(void);

/* AArch64: whether there is PSTATE.DIT (dit.h), according to the operating system. */
int sealane_cpu_has_dit(void);

#endif
