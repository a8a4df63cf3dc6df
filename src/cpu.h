/* What the CPU and the operating system offer to kernels. */
#ifndef SEALANE_SRC_CPU_H
#define SEALANE_SRC_CPU_H

#include <stdint.h>

/* One bit per extension, under the names that the assembler and a kernel's isa line use. */
#define SEALANE_X86_FEATURES(X)    \
    X(SSSE3, "ssse3")              \
    X(SSE41, "sse4.1")             \
    X(BMI, "bmi")                  \
    X(BMI2, "bmi2")                \
    X(ADX, "adx")                  \
    X(AVX, "avx")                  \
    X(AVX2, "avx2")                \
    X(AVX512F, "avx512f")          \
    X(AVX512VL, "avx512vl")        \
    X(AVX512BW, "avx512bw")        \
    X(AVX512DQ, "avx512dq")        \
    X(AVX512IFMA, "avx512ifma")    \
    X(AVX512VBMI, "avx512_vbmi")   \
    X(AVX512VBMI2, "avx512_vbmi2") \
    X(AES, "aes")                  \
    X(PCLMUL, "pclmul")            \
    X(VAES, "vaes")                \
    X(VPCLMULQDQ, "vpclmulqdq")

#define SEALANE_ARM_FEATURES(X) \
    X(NEON, "neon")             \
    X(ARMV6, "armv6")           \
    X(AES, "aes")               \
    X(PMULL, "pmull")

#define SEALANE_RISCV_FEATURES(X) \
    X(M, "m")                     \
    X(ZBB, "zbb")

enum {
#define X(id, name) SEALANE_X86_BIT_##id,
    SEALANE_X86_FEATURES(X)
#undef X
        SEALANE_X86_BITS
};

enum {
#define X(id, name) SEALANE_X86_##id = 1 << SEALANE_X86_BIT_##id,
    SEALANE_X86_FEATURES(X)
#undef X
};

enum {
#define X(id, name) SEALANE_ARM_BIT_##id,
    SEALANE_ARM_FEATURES(X)
#undef X
        SEALANE_ARM_BITS
};

enum {
#define X(id, name) SEALANE_ARM_##id = 1 << SEALANE_ARM_BIT_##id,
    SEALANE_ARM_FEATURES(X)
#undef X
};

#define SEALANE_MIPS_MIPS32R2 1u /* every CPU that such a build runs on has it */

enum {
#define X(id, name) SEALANE_RISCV_BIT_##id,
    SEALANE_RISCV_FEATURES(X)
#undef X
        SEALANE_RISCV_BITS
};

enum {
#define X(id, name) SEALANE_RISCV_##id = 1 << SEALANE_RISCV_BIT_##id,
    SEALANE_RISCV_FEATURES(X)
#undef X
};

/* The features that are present and whose registers the operating system saves; 0 on other architectures. */
uint32_t sealane_cpu_features(void);

/* Who made the CPU, and what: on x86 the first four bytes of CPUID's vendor and the family, on ARM the implementer and
 * the part (MIDR_EL1); zeroes where neither the CPU nor the operating system tells. On a machine with unlike cores that
 * of the core in use. */
typedef struct {
    uint32_t vendor, model;
} sealane_cpu_identity;
sealane_cpu_identity sealane_cpu_identify(void);

/* AArch64: whether there is PSTATE.DIT (dit.h), as far as the operating system says. */
int sealane_cpu_has_dit(void);

#endif
