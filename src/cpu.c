#include "cpu.h"

#include <stddef.h>

#if defined(__x86_64__) && defined(__GNUC__)

#include <cpuid.h>

/* XCR0: which register state the operating system saves (Intel SDM volume 1, section 13.3). */
static uint64_t xcr0(void)
{
    uint32_t low, high;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return (uint64_t)high << 32 | low;
}

uint32_t sealane_cpu_features(void)
{
    const uint64_t ymm = 1 << 1 | 1 << 2;                /* xmm, upper halves of ymm */
    const uint64_t zmm = ymm | 1 << 5 | 1 << 6 | 1 << 7; /* masks, upper halves of zmm, zmm16-31 */
    const uint32_t highest =
        __get_cpuid_max(0, NULL); /* read once: under a hypervisor each CPUID takes a microsecond */
    uint32_t a, b, c, d, found = 0;

    if (highest < 1)
        return 0;
    __cpuid(1, a, b, c, d);
    found |= (c & bit_SSSE3 ? SEALANE_X86_SSSE3 : 0) | (c & bit_SSE4_1 ? SEALANE_X86_SSE41 : 0);
    found |= (c & bit_AES ? SEALANE_X86_AES : 0) | (c & bit_PCLMUL ? SEALANE_X86_PCLMUL : 0);
    const uint64_t saved = (c & bit_OSXSAVE) ? xcr0() : 0;
    const int has_avx = (c & bit_AVX) && (saved & ymm) == ymm;
    const int has_avx512 = has_avx && (saved & zmm) == zmm;
    if (has_avx)
        found |= SEALANE_X86_AVX;

    if (highest < 7)
        return found;
    __cpuid_count(7, 0, a, b, c, d);
    found |= (b & bit_BMI ? SEALANE_X86_BMI : 0) | (b & bit_BMI2 ? SEALANE_X86_BMI2 : 0);
    if (has_avx)
        found |= (b & bit_AVX2 ? SEALANE_X86_AVX2 : 0) | (c & bit_VAES ? SEALANE_X86_VAES : 0) |
                 (c & bit_VPCLMULQDQ ? SEALANE_X86_VPCLMULQDQ : 0);
    if (has_avx512 && (b & bit_AVX512F))
        found |= SEALANE_X86_AVX512F | (b & bit_AVX512VL ? SEALANE_X86_AVX512VL : 0) |
                 (b & bit_AVX512BW ? SEALANE_X86_AVX512BW : 0) | (b & bit_AVX512IFMA ? SEALANE_X86_AVX512IFMA : 0);
    return found;
}

/* Intel SDM volume 2, CPUID: the extended family is added from family 15 on. */
sealane_cpu_identity sealane_cpu_identify(void)
{
    uint32_t highest, vendor, signature, b, c, d;

    __cpuid(0, highest, vendor, c, d);
    if (highest < 1)
        return (sealane_cpu_identity){0, 0};
    __cpuid(1, signature, b, c, d);
    const uint32_t family = signature >> 8 & 15;
    return (sealane_cpu_identity){vendor, family == 15 ? family + (signature >> 20 & 255) : family};
}

#elif defined(__aarch64__)

#include "dit.h"

#if defined(__linux__) || defined(__FreeBSD__)
#include <sys/auxv.h>

enum { ASIMD = 1 << 1, AES = 1 << 3, PMULL = 1 << 4, CPUID = 1 << 11, DIT = 1 << 24 }; /* HWCAP_* on both systems */

static unsigned long hwcap(void)
{
#if defined(__linux__)
    return getauxval(AT_HWCAP);
#else
    unsigned long has = 0;
    return elf_aux_info(AT_HWCAP, &has, sizeof has) == 0 ? has : ASIMD;
#endif
}

/* Some emulators have DIT but report it only in the ID register, which Linux lets programs read if there is CPUID. */
int sealane_cpu_has_dit(void)
{
    const unsigned long has = hwcap();
    uint64_t pfr0 = 0;

    if (has & DIT)
        return 1;
#if defined(__linux__) && defined(__GNUC__)
    if (has & CPUID)
        __asm__("mrs %0, s3_0_c0_c4_0" : "=r"(pfr0)); /* ID_AA64PFR0_EL1 */
#endif
    return (pfr0 >> 48 & 15) != 0;
}

#if defined(__linux__) && defined(__GNUC__)
#define HAVE_MIDR
/* Programs may read the register if Linux says so (Documentation/arch/arm64/cpu-feature-registers.rst). */
sealane_cpu_identity sealane_cpu_identify(void)
{
    uint64_t midr = 0;

    if (hwcap() & CPUID)
        __asm__("mrs %0, midr_el1" : "=r"(midr));
    return (sealane_cpu_identity){midr >> 24 & 0xff, midr >> 4 & 0xfff};
}
#endif

uint32_t sealane_cpu_features(void)
{
    const unsigned long has = hwcap();
    return (has & ASIMD ? SEALANE_ARM_NEON : 0) | (has & AES ? SEALANE_ARM_AES : 0) |
           (has & PMULL ? SEALANE_ARM_PMULL : 0);
}
#elif defined(__APPLE__)
extern int sysctlbyname(const char *, void *, size_t *, void *, size_t); /* from sys/sysctl.h */

int sealane_cpu_has_dit(void)
{
    int has = 0;
    size_t bytes = sizeof has;
    return sysctlbyname("hw.optional.arm.FEAT_DIT", &has, &bytes, NULL, 0) == 0 && has != 0;
}

uint32_t sealane_cpu_features(void)
{
    return SEALANE_ARM_NEON | SEALANE_ARM_AES | SEALANE_ARM_PMULL; /* every Apple processor has them */
}
#elif defined(_WIN32)
#include <windows.h>

int sealane_cpu_has_dit(void)
{
    return 0; /* Windows does not report it */
}

uint32_t sealane_cpu_features(void)
{
    const DWORD crypto = 30; /* PF_ARM_V8_CRYPTO_INSTRUCTIONS_AVAILABLE */
    return SEALANE_ARM_NEON | (IsProcessorFeaturePresent(crypto) ? SEALANE_ARM_AES | SEALANE_ARM_PMULL : 0);
}
#else
int sealane_cpu_has_dit(void)
{
    return 0;
}

uint32_t sealane_cpu_features(void)
{
    return SEALANE_ARM_NEON; /* every AArch64 system with floating point has NEON */
}
#endif

#if defined(__GNUC__)
_Atomic unsigned char sealane_dit;

unsigned char sealane_ask_for_dit(void)
{
    const unsigned char dit = sealane_cpu_has_dit() ? DIT_PRESENT : DIT_ABSENT;
    atomic_store_explicit(&sealane_dit, dit, memory_order_relaxed);
    return dit;
}
#endif

#elif defined(__arm__) && defined(__linux__)

#include <sys/auxv.h>

uint32_t sealane_cpu_features(void)
{
    const unsigned long neon = 1 << 12;               /* HWCAP_NEON */
    const unsigned long aes = 1 << 0, pmull = 1 << 1; /* HWCAP2_AES, HWCAP2_PMULL */
    const char *platform =
        (const char *)getauxval(AT_PLATFORM); /* v5l, v6l, v7l, v8l: the last letter is the endianness */
    const char version = platform && platform[0] == 'v' ? platform[1] : '0';
    uint32_t found = 0;

    if (version >= '6' && version <= '9')
        found |= SEALANE_ARM_ARMV6;
    if (version >= '7' && version <= '9' && (getauxval(AT_HWCAP) & neon))
        found |= SEALANE_ARM_NEON;
    if (found & SEALANE_ARM_NEON)
        found |=
            (getauxval(AT_HWCAP2) & aes ? SEALANE_ARM_AES : 0) | (getauxval(AT_HWCAP2) & pmull ? SEALANE_ARM_PMULL : 0);
    return found;
}

#elif defined(__mips__)

uint32_t sealane_cpu_features(void)
{
    return SEALANE_MIPS_MIPS32R2 | SEALANE_MIPS_MIPS64R2;
}

#elif defined(__riscv) && defined(__riscv_mul)

#if defined(__linux__)
#include <sys/auxv.h>
#include <unistd.h>

extern long syscall(long, ...); /* from unistd.h, which hides it in strict C11 */

/* Linux 6.5 and later reports the features common to all processors (Documentation/arch/riscv/hwprobe.rst). AT_HWCAP
 * reports whether this process may use vectors, but some vendors' kernels set it for another vector version. */
uint32_t sealane_cpu_features(void)
{
    const long hwprobe = 258;              /* system call number */
    const unsigned long vectors = 1 << 21; /* COMPAT_HWCAP_ISA_V */
    const uint64_t zbb = 1 << 4, v = 1 << 2, zvbb = 1 << 17, zvkb = 1 << 19, zvkg = 1 << 20, zvkned = 1 << 21;
    struct {
        int64_t key;
        uint64_t value;
    } extensions = {4, 0}; /* RISCV_HWPROBE_KEY_IMA_EXT_0, whose bits are above */
    uint32_t found = SEALANE_RISCV_M;

    if (syscall(hwprobe, &extensions, 1L, 0L, NULL, 0L) != 0 || extensions.key != 4)
        return found;
    if (extensions.value & zbb)
        found |= SEALANE_RISCV_ZBB;
    if (!(extensions.value & v) || !(getauxval(AT_HWCAP) & vectors))
        return found;
    found |= extensions.value & (zvbb | zvkb) ? SEALANE_RISCV_ZVKB : 0; /* Zvbb includes Zvkb */
    found |=
        (extensions.value & zvkg ? SEALANE_RISCV_ZVKG : 0) | (extensions.value & zvkned ? SEALANE_RISCV_ZVKNED : 0);
    return found | SEALANE_RISCV_V;
}
#else
uint32_t sealane_cpu_features(void)
{
    return SEALANE_RISCV_M;
}
#endif

#else

uint32_t sealane_cpu_features(void)
{
    return 0;
}

#endif

#if !(defined(__x86_64__) && defined(__GNUC__)) && !defined(HAVE_MIDR)
sealane_cpu_identity sealane_cpu_identify(void)
{
    return (sealane_cpu_identity){0, 0};
}
#endif
