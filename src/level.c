#if defined(__linux__) && !defined(_GNU_SOURCE)
#define _GNU_SOURCE /* secure_getenv */
#endif

#include "level.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#if !defined(_WIN32)
#include <unistd.h>
#endif

#include "cpu.h"
#include "portable.h"

#if defined(__x86_64__) && !defined(__ILP32__) && !defined(SEALANE_NO_ASM)
#define HAVE_X86_64_KERNELS
#endif
#if defined(__aarch64__) && !defined(__ILP32__) && !defined(__AARCH64EB__) && !defined(SEALANE_NO_ASM)
#define HAVE_AARCH64_KERNELS
#endif
#if defined(__ARM_ARCH_ISA_ARM) && !defined(__aarch64__) && !defined(__ARMEB__) && !defined(SEALANE_NO_ASM)
#define HAVE_ARM_KERNELS
#endif

#define KERNEL(level)                                       \
    extern sealane_kernel sealane_chacha20poly1305_##level; \
    extern const uint8_t sealane_chacha20poly1305_##level##_constants[];

#define LEVEL(level, needs, batch)                                                                             \
    {                                                                                                          \
#level, (needs), sealane_chacha20poly1305_##level, sealane_chacha20poly1305_##level##_constants, batch \
    }

/* The level's batch kernel, and when it pays: see sealane_batch. */
#define BATCH_KERNEL(level)                                       \
    extern sealane_kernel sealane_chacha20poly1305_batch_##level; \
    extern const uint8_t sealane_chacha20poly1305_batch_##level##_constants[];

#define BATCH(level, least, cost, ...)                                                                               \
    {                                                                                                                \
        sealane_chacha20poly1305_batch_##level, sealane_chacha20poly1305_batch_##level##_constants, (least), (cost), \
        {                                                                                                            \
            __VA_ARGS__                                                                                              \
        }                                                                                                            \
    }

#define NO_BATCH          \
    {                     \
        NULL, NULL, 0, 0, \
        {                 \
            0             \
        }                 \
    }

/* Nanoseconds, measured on Zen 5: one packet by itself less one of 64 in a batch; and what a batch of 3 takes more than
 * three times that. internal/kernel has the same for Go. */
#define AVX512_BATCH                                                                                                 \
    BATCH(avx512, 3, 240, 85, 92, 108, 106, 102, 96, 90, 84, 79, 79, 74, 67, 64, 56, 45, 40, 33, 45, 39, 35, 23, 19, \
          11, 9)

#if defined(HAVE_X86_64_KERNELS)
KERNEL(avx512)
BATCH_KERNEL(avx512)
KERNEL(avx2)
KERNEL(ssse3)
#endif
#if defined(HAVE_AARCH64_KERNELS)
KERNEL(neon)
#endif
#if defined(HAVE_ARM_KERNELS)
KERNEL(neon)
KERNEL(armv6)
#endif

const sealane_level sealane_levels[] = {
#if defined(HAVE_X86_64_KERNELS)
    LEVEL(avx512,
          SEALANE_X86_BMI | SEALANE_X86_BMI2 | SEALANE_X86_AVX2 | SEALANE_X86_AVX512F | SEALANE_X86_AVX512VL |
              SEALANE_X86_AVX512BW | SEALANE_X86_AVX512IFMA,
          AVX512_BATCH),
    LEVEL(avx2, SEALANE_X86_SSSE3 | SEALANE_X86_SSE41 | SEALANE_X86_BMI2 | SEALANE_X86_AVX2, NO_BATCH),
    LEVEL(ssse3, SEALANE_X86_SSSE3, NO_BATCH),
#endif
#if defined(HAVE_AARCH64_KERNELS) || defined(HAVE_ARM_KERNELS)
    LEVEL(neon, SEALANE_ARM_NEON, NO_BATCH),
#endif
#if defined(HAVE_ARM_KERNELS)
    LEVEL(armv6, SEALANE_ARM_ARMV6, NO_BATCH),
#endif
    {"portable",
     0,
     sealane_chacha20poly1305_portable,
     NULL,
     {sealane_chacha20poly1305_batch_portable, NULL, 2, 1, {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}}},
};

const unsigned sealane_level_count = sizeof sealane_levels / sizeof sealane_levels[0];

/* Every name that may be asked for on any build, best first. */
static const char *const known_names[] = {"avx512", "avx2", "ssse3", "neon", "armv6", "portable"};

int sealane_level_find(const char *name)
{
    for (unsigned i = 0; i < sealane_level_count; i++)
        if (strcmp(sealane_levels[i].name, name) == 0)
            return (int)i;
    return -1;
}

int sealane_level_choose(const sealane_level *levels, unsigned count, unsigned start, uint32_t features,
                         void (*failed)(const sealane_level *))
{
    for (unsigned i = start; i < count; i++) {
        if ((levels[i].needs & ~features) != 0)
            continue;
        if (sealane_selftest(&levels[i]))
            return (int)i;
        failed(&levels[i]);
    }
    return -1;
}

/* The environment of a set-uid program belongs to somebody else. */
static const char *environment(const char *name)
{
#if defined(__GLIBC__)
    return secure_getenv(name);
#elif defined(_WIN32)
    return getenv(name);
#else
    return getuid() == geteuid() && getgid() == getegid() ? getenv(name) : NULL;
#endif
}

/* Index of the best level that the environment allows; unknown names are ignored, with one warning. */
static unsigned best_allowed(int warn)
{
    const char *asm_switch = environment("SEALANE_ASM");
    if (asm_switch != NULL && strcmp(asm_switch, "0") == 0)
        return sealane_level_count - 1;

    const char *cap = environment("SEALANE_CPU");
    if (cap == NULL || *cap == 0)
        return 0;
    const unsigned names = sizeof known_names / sizeof known_names[0];
    for (unsigned i = 0, found = 0; i < names; i++) {
        found |= strcmp(known_names[i], cap) == 0;
        int level = found ? sealane_level_find(known_names[i]) : -1;
        if (level >= 0)
            return (unsigned)level;
    }
    if (warn)
        fprintf(stderr, "sealane: SEALANE_CPU=%s is ignored: no such level\n", cap);
    return 0;
}

static void report_failed(const sealane_level *level)
{
    fprintf(stderr, "sealane: level %s fails its self-test on this CPU and is not used\n", level->name);
}

int sealane_level_of_process(void)
{
    static atomic_int outcome; /* 0: not known yet; else level + 2, so that 1 stands for -1 */
    static atomic_flag warned = ATOMIC_FLAG_INIT;

    int known = atomic_load_explicit(&outcome, memory_order_acquire);
    if (known == 0) {
        unsigned start = best_allowed(!atomic_flag_test_and_set(&warned));
        known =
            2 + sealane_level_choose(sealane_levels, sealane_level_count, start, sealane_cpu_features(), report_failed);
        atomic_store_explicit(&outcome, known, memory_order_release);
    }
    return known - 2;
}

static void report_failed_batch(const sealane_level *level)
{
    fprintf(stderr, "sealane: level %s fails its self-test of batches on this CPU, and does packets one by one\n",
            level->name);
}

const sealane_batch *sealane_batch_choose(const sealane_level *level, _Atomic unsigned char *outcome,
                                          void (*failed)(const sealane_level *))
{
    enum { UNKNOWN, WORKS, FAILS };
    if (level->batch.kernel == NULL)
        return NULL;
    unsigned char known = atomic_load_explicit(outcome, memory_order_acquire);
    if (known == UNKNOWN) {
        known = sealane_batch_selftest(&level->batch) ? WORKS : FAILS;
        if (atomic_exchange(outcome, known) == UNKNOWN && known == FAILS)
            failed(level);
    }
    return known == WORKS ? &level->batch : NULL;
}

const sealane_batch *sealane_level_batch(const sealane_level *level)
{
    static _Atomic unsigned char outcomes[sizeof sealane_levels / sizeof sealane_levels[0]];
    return sealane_batch_choose(level, &outcomes[level - sealane_levels], report_failed_batch);
}
