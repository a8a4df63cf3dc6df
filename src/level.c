#if !defined(_GNU_SOURCE)
#define _GNU_SOURCE
#endif

#include "level.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#if !defined(_WIN32)
#include <unistd.h>
#endif
#if defined(__linux__)
#include <sys/auxv.h>
#endif

#include "../include/sealane.h"
#include "aesgcm.h"
#include "aesmodes.h"
#include "cpu.h"
#include "key.h"
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

#define KERNEL(primitive, level)                         \
    extern sealane_kernel sealane_##primitive##_##level; \
    extern const uint8_t sealane_##primitive##_##level##_constants[];

/* How the front end calls the kernels of a primitive: key_at, flags. */
enum { WHOLE_PACKET = SEALANE_FLAG_FIRST | SEALANE_FLAG_LAST };
#define CALL_chacha20poly1305 CHACHA20_KEY_AT, WHOLE_PACKET
#define CALL_aesgcm GCM_KEY_AT, WHOLE_PACKET | SEALANE_FLAG_NONCE
#define CALL_aes 0, 0
#define CALL_chacha20masks 0, 0

/* Versions of clang-format differ on braces in a macro. */
/* clang-format off */
#define LEVEL_OF(timed, primitive, level, needs, ...) \
    {#level, (needs), sealane_##primitive##_##level, sealane_##primitive##_##level##_constants, __VA_ARGS__, timed, \
     CALL_##primitive}
#define LEVEL(primitive, level, needs, batch) LEVEL_OF(0, primitive, level, needs, batch)
#define TIMED_LEVEL(primitive, level, needs, batch) LEVEL_OF(1, primitive, level, needs, batch)
/* clang-format on */

/* The level's batch kernel, and when it pays: see sealane_batch. */
#define BATCH_KERNEL(primitive, level)                         \
    extern sealane_kernel sealane_##primitive##_batch_##level; \
    extern const uint8_t sealane_##primitive##_batch_##level##_constants[];

/* Which packets go in a stream: least, below. AES-GCM's kernel could from 257 bytes on; two pay from 500 on Zen 5, and
 * as modelled from 800 on Ice Lake, and nowhere much on Zen 4, where three do. */
#define STREAM_chacha20poly1305 0, 0
#define STREAM_aesgcm 768, 2289

/* Versions of clang-format differ on braces in a macro. */
/* clang-format off */
#define BATCH(primitive, level, group, few, ...) \
    {sealane_##primitive##_batch_##level, sealane_##primitive##_batch_##level##_constants, (group), (few), \
     sizeof((uint8_t[]){__VA_ARGS__}), {__VA_ARGS__}, STREAM_##primitive}
#define NO_BATCH {NULL, NULL, 0, 0, 0, {0}, 0, 0}
/* clang-format on */

/* The rows of ChaCha20-Poly1305 hold where nothing may be measured, or that would take too long: see batchrule.c. On
 * x86-64 they are the same in C and Go, from four packets on, up to a length that is modelled of the CPUs that run the
 * level. AES-GCM's kernel takes four packets at a time, or a stream of any number, and pays from one group on; packets
 * of many lengths measured on Zen 5 gave no better rule.
 *
 * How to fill the row of a batch kernel for a CPU too slow to measure itself: for each number of whole blocks, n = 2,
 * 3, ... packets of the shortest and of a middling length of that class in one call, by turns with n single calls; the
 * first n where both are at least as fast. Modelled cycles do where there is no CPU to measure on. Go has rows of its
 * own for ARM in internal/kernel, as its calls cost something else.
 */
#define FOUR_4 4, 4, 4, 4
#define FOUR_8 FOUR_4, FOUR_4
#define FOUR_32 FOUR_8, FOUR_8, FOUR_8, FOUR_8
#define AVX512_BATCH BATCH(chacha20poly1305, avx512, 0, 4, FOUR_32)
#define AVX2_BATCH BATCH(chacha20poly1305, avx2, 0, 4, FOUR_8, FOUR_4)
/* The same kernel beside one for single packets that is faster. */
#define AVX512VL_BATCH BATCH(chacha20poly1305, avx2, 0, 4, FOUR_8)
#define AVX512_GCM_BATCH BATCH(aesgcm, avx512, 4, 4, FOUR_32)

#if defined(HAVE_AARCH64_KERNELS)
/* One kernel beside two for single packets; modelled, of Cortex-A53 and Neoverse N1, and of Cortex-A72. */
#define NEON_BATCH BATCH(chacha20poly1305, neon, 0, 2, 2, 2, 2, 2, 2, 4, 4, 4, 4, 4, 4)
#define NEON6_BATCH BATCH(chacha20poly1305, neon, 0, 2, 2, 3, 3, 8)
#else
/* Modelled in Go (tools/armcost): where Cortex-A53 and A72 gain and A7 loses no more than a fiftieth. */
#define NEON_BATCH BATCH(chacha20poly1305, neon, 0, 3, 4, 4, 3, 3, 4, 4, 3, 3, 4, 4, 4, 6, 6, 6)
#endif

/* Two kernels as one level: whole packets leave no state, so one kernel does those of at most `most` bytes, and of
 * those that are opened also what has more than `above` and at most `opened`, and the other all else. */
#define COMPOSED(primitive, level, little, most, above, opened, large)                                          \
    static void SEALANE_KERNEL_ABI sealane_##primitive##_##level(const sealane_args *a, void *scratch,          \
                                                                 const void *consts)                            \
    {                                                                                                           \
        enum { WHOLE = SEALANE_FLAG_FIRST | SEALANE_FLAG_LAST };                                                \
        const int between = a->bytes > (above) && a->bytes <= (opened);                                         \
        if ((a->flags & WHOLE) == WHOLE && (a->bytes <= (most) || ((a->flags & SEALANE_FLAG_OPEN) && between))) \
            sealane_##primitive##_##little(a, scratch, sealane_##primitive##_##little##_constants);             \
        else                                                                                                    \
            sealane_##primitive##_##large(a, scratch, consts);                                                  \
    }

#if defined(HAVE_X86_64_KERNELS)
KERNEL(chacha20poly1305, avx512)
BATCH_KERNEL(chacha20poly1305, avx512)
BATCH_KERNEL(chacha20poly1305, avx2)
KERNEL(chacha20poly1305, avx512vl)
KERNEL(chacha20poly1305, avx2)
KERNEL(chacha20poly1305, ssse3)
COMPOSED(chacha20poly1305, avx512mix, avx512vl, 320, 512, 576, avx512)
#define sealane_chacha20poly1305_avx512mix_constants sealane_chacha20poly1305_avx512_constants
KERNEL(aesgcm, avx512)
BATCH_KERNEL(aesgcm, avx512)
KERNEL(aesgcm, avx2)
KERNEL(aesgcm, aesniavx)
KERNEL(aesgcm, aesni)
KERNEL(aes, avx512)
KERNEL(aes, avx2)
KERNEL(aes, aesni)
KERNEL(chacha20masks, avx512)
KERNEL(chacha20masks, avx2)
#endif
#if defined(HAVE_AARCH64_KERNELS)
BATCH_KERNEL(chacha20poly1305, neon)
KERNEL(chacha20poly1305, neon6)
KERNEL(chacha20poly1305, neon)
KERNEL(aesgcm, ce)
KERNEL(aesgcm, neon)
KERNEL(aes, ce)
KERNEL(aes, neon)
#endif
#if defined(HAVE_ARM_KERNELS)
KERNEL(chacha20poly1305, neon)
BATCH_KERNEL(chacha20poly1305, neon)
KERNEL(chacha20poly1305, armv6)
KERNEL(aesgcm, ce32)
KERNEL(aesgcm, neon)
KERNEL(aesgcm, armv6)
KERNEL(aes, ce32)
KERNEL(aes, neon)
KERNEL(aes, armv6)
#endif

const sealane_level sealane_levels[] = {
#if defined(HAVE_X86_64_KERNELS)
    TIMED_LEVEL(chacha20poly1305, avx512,
                SEALANE_X86_BMI | SEALANE_X86_BMI2 | SEALANE_X86_AVX2 | SEALANE_X86_AVX512F | SEALANE_X86_AVX512VL |
                    SEALANE_X86_AVX512BW | SEALANE_X86_AVX512IFMA,
                AVX512_BATCH),
    TIMED_LEVEL(chacha20poly1305, avx512mix,
                SEALANE_X86_SSSE3 | SEALANE_X86_SSE41 | SEALANE_X86_BMI | SEALANE_X86_BMI2 | SEALANE_X86_AVX2 |
                    SEALANE_X86_AVX512F | SEALANE_X86_AVX512VL | SEALANE_X86_AVX512BW | SEALANE_X86_AVX512IFMA,
                AVX512_BATCH),
    TIMED_LEVEL(chacha20poly1305, avx512vl,
                SEALANE_X86_SSSE3 | SEALANE_X86_SSE41 | SEALANE_X86_BMI2 | SEALANE_X86_AVX2 | SEALANE_X86_AVX512F |
                    SEALANE_X86_AVX512VL,
                AVX512VL_BATCH),
    TIMED_LEVEL(chacha20poly1305, avx2, SEALANE_X86_SSSE3 | SEALANE_X86_SSE41 | SEALANE_X86_BMI2 | SEALANE_X86_AVX2,
                AVX2_BATCH),
    LEVEL(chacha20poly1305, ssse3, SEALANE_X86_SSSE3, NO_BATCH),
#endif
#if defined(HAVE_AARCH64_KERNELS)
    TIMED_LEVEL(chacha20poly1305, neon6, SEALANE_ARM_NEON, NEON6_BATCH),
    TIMED_LEVEL(chacha20poly1305, neon, SEALANE_ARM_NEON, NEON_BATCH),
#endif
#if defined(HAVE_ARM_KERNELS)
    LEVEL(chacha20poly1305, neon, SEALANE_ARM_NEON, NEON_BATCH),
    LEVEL(chacha20poly1305, armv6, SEALANE_ARM_ARMV6, NO_BATCH),
#endif
    {"portable",
     0,
     sealane_chacha20poly1305_portable,
     NULL,
     {sealane_chacha20poly1305_batch_portable, NULL, 0, 2, 16, {2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2}, 0, 0},
     0,
     CALL_chacha20poly1305},
};

_Static_assert(sizeof sealane_levels / sizeof sealane_levels[0] <= SEALANE_LEVELS_MAX, "too many levels");
const unsigned sealane_level_count = sizeof sealane_levels / sizeof sealane_levels[0];

static const sealane_level aesgcm_levels[] = {
#if defined(HAVE_X86_64_KERNELS)
    LEVEL(aesgcm, avx512,
          SEALANE_X86_BMI2 | SEALANE_X86_AES | SEALANE_X86_PCLMUL | SEALANE_X86_VAES | SEALANE_X86_VPCLMULQDQ |
              SEALANE_X86_AVX2 | SEALANE_X86_AVX512F | SEALANE_X86_AVX512VL | SEALANE_X86_AVX512BW,
          AVX512_GCM_BATCH),
    LEVEL(aesgcm, avx2,
          SEALANE_X86_AVX2 | SEALANE_X86_AES | SEALANE_X86_PCLMUL | SEALANE_X86_VAES | SEALANE_X86_VPCLMULQDQ,
          NO_BATCH),
    LEVEL(aesgcm, aesniavx, SEALANE_X86_AVX | SEALANE_X86_AES | SEALANE_X86_PCLMUL, NO_BATCH),
    LEVEL(aesgcm, aesni, SEALANE_X86_SSSE3 | SEALANE_X86_SSE41 | SEALANE_X86_AES | SEALANE_X86_PCLMUL, NO_BATCH),
#endif
#if defined(HAVE_AARCH64_KERNELS)
    LEVEL(aesgcm, ce, SEALANE_ARM_NEON | SEALANE_ARM_AES | SEALANE_ARM_PMULL, NO_BATCH),
    LEVEL(aesgcm, neon, SEALANE_ARM_NEON, NO_BATCH),
#endif
#if defined(HAVE_ARM_KERNELS)
    LEVEL(aesgcm, ce32, SEALANE_ARM_NEON | SEALANE_ARM_AES | SEALANE_ARM_PMULL, NO_BATCH),
    LEVEL(aesgcm, neon, SEALANE_ARM_NEON, NO_BATCH),
    LEVEL(aesgcm, armv6, SEALANE_ARM_ARMV6, NO_BATCH),
#endif
    {"portable",
     0,
     sealane_aesgcm_portable,
     NULL,
     {sealane_aesgcm_batch_portable, NULL, 0, 2, 16, {2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2}, 0, 0},
     0,
     CALL_aesgcm},
};

_Static_assert(sizeof aesgcm_levels / sizeof aesgcm_levels[0] <= SEALANE_LEVELS_MAX, "too many levels");

/* The modes that do not authenticate. */
static const sealane_level aes_levels[] = {
#if defined(HAVE_AARCH64_KERNELS)
    LEVEL(aes, ce, SEALANE_ARM_NEON | SEALANE_ARM_AES, NO_BATCH),
    LEVEL(aes, neon, SEALANE_ARM_NEON, NO_BATCH),
#endif
#if defined(HAVE_ARM_KERNELS)
    LEVEL(aes, ce32, SEALANE_ARM_NEON | SEALANE_ARM_AES, NO_BATCH),
    LEVEL(aes, neon, SEALANE_ARM_NEON, NO_BATCH),
    LEVEL(aes, armv6, SEALANE_ARM_ARMV6, NO_BATCH),
#endif
#if defined(HAVE_X86_64_KERNELS)
    LEVEL(aes, avx512,
          SEALANE_X86_AES | SEALANE_X86_PCLMUL | SEALANE_X86_VAES | SEALANE_X86_VPCLMULQDQ | SEALANE_X86_AVX2 |
              SEALANE_X86_AVX512F | SEALANE_X86_AVX512VL | SEALANE_X86_AVX512BW,
          NO_BATCH),
    LEVEL(aes, avx2,
          SEALANE_X86_AVX2 | SEALANE_X86_AES | SEALANE_X86_PCLMUL | SEALANE_X86_VAES | SEALANE_X86_VPCLMULQDQ,
          NO_BATCH),
    LEVEL(aes, aesni, SEALANE_X86_SSSE3 | SEALANE_X86_SSE41 | SEALANE_X86_AES | SEALANE_X86_PCLMUL, NO_BATCH),
#endif
    {"portable", 0, sealane_aes_portable, NULL, NO_BATCH, 0, 0, 0},
};

static const sealane_level chacha20masks_levels[] = {
#if defined(HAVE_X86_64_KERNELS)
    LEVEL(chacha20masks, avx512, SEALANE_X86_AVX2 | SEALANE_X86_AVX512F, NO_BATCH),
    LEVEL(chacha20masks, avx2, SEALANE_X86_AVX2, NO_BATCH),
#endif
    {"portable", 0, sealane_chacha20masks_portable, NULL, NO_BATCH, 0, 0, 0},
};

const sealane_table sealane_tables[SEALANE_ALL_TABLES] = {
    {"chacha20poly1305", sealane_levels, sizeof sealane_levels / sizeof sealane_levels[0], sealane_selftest,
     sealane_batch_selftest},
    {"aesgcm", aesgcm_levels, sizeof aesgcm_levels / sizeof aesgcm_levels[0], sealane_aesgcm_selftest,
     sealane_aesgcm_batch_selftest},
    {"aes", aes_levels, sizeof aes_levels / sizeof aes_levels[0], sealane_aes_selftest, NULL},
    {"chacha20masks", chacha20masks_levels, sizeof chacha20masks_levels / sizeof chacha20masks_levels[0],
     sealane_chacha20masks_selftest, NULL},
};

/* The rows of the algorithms' numbers 0 to 7. */
_Static_assert(SEALANE_CHACHA20_POLY1305 == 1 && SEALANE_XCHACHA20_POLY1305 == 2 && SEALANE_AES_128_GCM == 3 &&
                   SEALANE_AES_256_GCM == 4 && SEALANE_AES_192_GCM == 5,
               "an algorithm's row is another one's");
#define LEVEL_AT(levels, i) ((i) < sizeof(levels) / sizeof(levels)[0] ? &(levels)[i] : NULL)
#define GCM_LEVEL_AT(i) LEVEL_AT(aesgcm_levels, i)
#define PLAIN_LEVELS_AT(i) \
    NULL, LEVEL_AT(sealane_levels, i), NULL, GCM_LEVEL_AT(i), GCM_LEVEL_AT(i), GCM_LEVEL_AT(i), NULL, NULL

const sealane_level *const sealane_plain_levels[PLAIN_KEYS] = {
    PLAIN_LEVELS_AT(0), PLAIN_LEVELS_AT(1), PLAIN_LEVELS_AT(2), PLAIN_LEVELS_AT(3),
    PLAIN_LEVELS_AT(4), PLAIN_LEVELS_AT(5), PLAIN_LEVELS_AT(6), PLAIN_LEVELS_AT(7),
};

/* Every name that may be asked for on any build and of any primitive, best first. A primitive that has no level of the
 * name takes the next below. From here "make gen" writes the lists of Go and Rust. */
static const char *const known_names[] = {"avx512", "avx512mix", "avx512vl", "avx2", "aesniavx", "aesni",   "ssse3",
                                          "ce",     "ce32",      "neon6",    "neon", "armv6",    "portable"};

int sealane_level_find(const sealane_table *table, const char *name)
{
    for (unsigned i = 0; i < table->count; i++)
        if (strcmp(table->levels[i].name, name) == 0)
            return (int)i;
    return -1;
}

int sealane_level_choose(const sealane_table *table, unsigned start, uint32_t features,
                         void (*failed)(const sealane_level *))
{
    for (unsigned i = start; i < table->count; i++) {
        if ((table->levels[i].needs & ~features) != 0)
            continue;
        if (table->selftest(&table->levels[i]))
            return (int)i;
        failed(&table->levels[i]);
    }
    return -1;
}

#if defined(__APPLE__) || defined(__FreeBSD__) || defined(__NetBSD__) || defined(__OpenBSD__) || defined(__DragonFly__)
extern int issetugid(void); /* of unistd.h, unless a macro of some system hides it */
#endif

/* Whether this process has more rights than who started it, to whom the environment belongs: set-uid, set-gid, and on
 * Linux file capabilities and what security modules say. */
static int privileged(void)
{
#if defined(__APPLE__) || defined(__FreeBSD__) || defined(__NetBSD__) || defined(__OpenBSD__) || defined(__DragonFly__)
    return issetugid();
#elif defined(_WIN32)
    return 0;
#else
#if defined(__linux__)
    if (getauxval(AT_SECURE) != 0)
        return 1;
#endif
    return getuid() != geteuid() || getgid() != getegid();
#endif
}

static const char *environment(const char *name)
{
    return privileged() ? NULL : getenv(name);
}

/* Caps are places in known_names: nothing before them is used. */
enum { NAMES = sizeof known_names / sizeof known_names[0] };

static int cap_named(const char *name)
{
    for (int i = 0; i < NAMES; i++)
        if (strcmp(known_names[i], name) == 0)
            return i;
    return -1;
}

/* The cap that the environment sets, -1 without one; a name that means nothing is in *ignored. */
static int cap_of_environment(const char **ignored)
{
    const char *asm_switch = environment("SEALANE_ASM"), *name = environment("SEALANE_CPU");
    if (asm_switch != NULL && strcmp(asm_switch, "0") == 0)
        return NAMES - 1;
    if (name == NULL || *name == 0)
        return -1;
    const int cap = cap_named(name);
    *ignored = cap < 0 ? name : NULL;
    return cap;
}

enum { SETTLED = 1 << 8 }; /* levels are being chosen: what the program says comes too late */

static atomic_int program_cap; /* 0: none; else a place + 1 */

int sealane_set_max_level(const char *name)
{
    if (name == NULL)
        return SEALANE_NULL;
    const int cap = cap_named(name);
    if (cap < 0)
        return SEALANE_INVALID_LEVEL;
    int before = atomic_load(&program_cap);
    do {
        if (before & SETTLED)
            return SEALANE_TOO_LATE;
    } while (!atomic_compare_exchange_weak(&program_cap, &before, cap + 1));
    return SEALANE_OK;
}

/* The cap for this process, the same ever after: the lower of the program's and the environment's, -1 if neither has
 * one. Names that mean nothing are ignored, with one warning. */
static int cap_of_process(void)
{
    static atomic_int environment_cap; /* 0: not read yet; 1: none; else a place + 2 */
    const int program = (atomic_fetch_or(&program_cap, SETTLED) & ~SETTLED) - 1;
    int known = atomic_load(&environment_cap);
    if (known == 0) {
        const char *ignored = NULL;
        const int read = cap_of_environment(&ignored) + 2;
        if (atomic_compare_exchange_strong(&environment_cap, &known, read)) {
            known = read;
            if (ignored != NULL)
                fprintf(stderr, "sealane: SEALANE_CPU=%s is ignored: no such level\n", ignored);
        }
    }
    return program > known - 2 ? program : known - 2;
}

/* The first level of a table that a cap allows. */
static unsigned best_allowed(const sealane_table *table, int cap)
{
    for (int i = cap < 0 ? 0 : cap; i < NAMES; i++) {
        const int level = sealane_level_find(table, known_names[i]);
        if (level >= 0)
            return (unsigned)level;
    }
    return table->count - 1;
}

static uint64_t smaller(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

int sealane_level_fastest(const sealane_table *table, int first, uint32_t features, sealane_ticks *ticks,
                          uint64_t limit, void (*failed)(const sealane_level *))
{
    enum { TURNS = 4, TURNS_AT_LEAST = 2, SIZES = 2, IN_A_ROW = 8, ROW_SHARE = 32 };
    static const size_t sizes[SIZES] = {64, 1420};
    uint64_t least[SEALANE_LEVELS_MAX][SIZES];
    unsigned rivals[SEALANE_LEVELS_MAX], count = 0;
    for (unsigned i = (unsigned)first; i < table->count && table->levels[first].timed; i++) {
        const sealane_level *level = &table->levels[i];
        if (!level->timed || (level->needs & ~features) != 0)
            continue;
        if (i == (unsigned)first || table->selftest(level))
            rivals[count] = i, least[count][0] = least[count][1] = UINT32_MAX, count++;
        else
            failed(level);
    }
    uint64_t shortest = 0, runs[SIZES] = {1, 1}; /* of a turn; in a row */
    for (unsigned turn = 0; count > 1 && (turn < TURNS_AT_LEAST || (turn < TURNS && turn * shortest <= limit));
         turn++) {
        uint64_t quickest[SIZES] = {UINT32_MAX, UINT32_MAX};
        shortest = 0;
        for (unsigned i = 0; i < count; i++)
            for (unsigned j = 0; j < SIZES; j++) {
                for (unsigned run = 0; run < runs[j]; run++)
                    least[i][j] = smaller(ticks(&table->levels[rivals[i]], sizes[j]), least[i][j]);
                shortest += runs[j] * least[i][j];
                quickest[j] = smaller(least[i][j], quickest[j]);
            }
        for (unsigned j = 0; j < SIZES; j++) {
            const uint64_t fit = quickest[j] == 0 ? 1 : limit / ROW_SHARE / quickest[j]; /* 0: too coarse a clock */
            runs[j] = fit == 0 ? 1 : smaller(fit, IN_A_ROW);
        }
    }
    unsigned best = 0;
    for (unsigned i = 1; i < count; i++) {
        const uint64_t ours = least[i][0] * least[i][1], product = least[best][0] * least[best][1];
        if (ours < product - product / 16)
            best = i;
    }
    return count == 0 ? first : (int)rivals[best];
}

#if defined(SEALANE_CLOCK)
enum { LIMIT_NS = 30000 }; /* for two turns, so that all ends within twice that */

#if defined(HAVE_AARCH64_KERNELS)
/* The virtual counter is slow, 8 to 50 ns, but even a short packet takes a microsecond where the choice matters. */
static uint64_t counter(void)
{
    uint64_t now;
    __asm__ volatile("isb\n\tmrs %0, cntvct_el0" : "=r"(now) : : "memory");
    return now;
}

static uint64_t limit(void)
{
    uint64_t frequency;
    __asm__("mrs %0, cntfrq_el0" : "=r"(frequency));
    return frequency * LIMIT_NS / 1000000000;
}
#elif defined(_WIN32)
static uint64_t counter(void)
{
    uint64_t low, high;
    __asm__ volatile("lfence\n\trdtsc" : "=a"(low), "=d"(high) : : "memory");
    return high << 32 | low;
}

static uint64_t limit(void)
{
    return (uint64_t)LIMIT_NS * 3; /* at about 3 GHz */
}
#else
static uint64_t counter(void)
{
    struct timespec t;
    return clock_gettime(CLOCK_MONOTONIC, &t) == 0 ? (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec : 0;
}

static uint64_t limit(void)
{
    return LIMIT_NS;
}
#endif

uint64_t sealane_clock(void)
{
    return counter();
}

uint64_t sealane_clock_limit(void)
{
    return limit();
}

int sealane_may_measure(void)
{
    return cap_of_process() < 0 && !privileged();
}

#if defined(HAVE_AARCH64_KERNELS) || defined(HAVE_X86_64_KERNELS)
#define MEASURE_LEVELS
/* A packet of up to 1420 bytes. */
static uint64_t ticks_of_packet(const sealane_level *level, size_t bytes)
{
    static const uint8_t key[32], nonce[12];
    uint8_t text[1420] = {0}, tag[16];
    _Alignas(64) uint8_t scratch[SEALANE_SCRATCH_BYTES];
    const sealane_args args = {.out = slot(text),
                               .in = slot(text),
                               .bytes = bytes,
                               .total = bytes,
                               .key = slot(key),
                               .nonce = slot(nonce),
                               .tag = slot(tag),
                               .flags = SEALANE_FLAG_FIRST | SEALANE_FLAG_LAST};
    const uint64_t start = counter();
    level->kernel(&args, scratch, level->consts);
    return counter() - start;
}
#endif
#endif

static void report_failed(const sealane_level *level)
{
    for (const sealane_table *t = sealane_tables; t < sealane_tables + SEALANE_ALL_TABLES; t++)
        for (unsigned i = 0; i < t->count; i++)
            if (level == &t->levels[i])
                fprintf(stderr, "sealane: %s: level %s fails its self-test on this CPU and is not used\n", t->primitive,
                        level->name);
}

int sealane_level_of_process(const sealane_table *table)
{
    static atomic_int outcomes[SEALANE_ALL_TABLES]; /* 0: not known yet; else level + 2, so that 1 stands for -1 */

    atomic_int *outcome = &outcomes[table - sealane_tables];
    int known = atomic_load_explicit(outcome, memory_order_acquire);
    if (known == 0) {
        const int cap = cap_of_process();
        const unsigned start = best_allowed(table, cap);
        int level = sealane_level_choose(table, start, sealane_cpu_features(), report_failed);
#if defined(MEASURE_LEVELS)
        /* What is to be the same each time is not measured: a level that somebody names, a program with more rights. */
        if (level >= 0 && table == &sealane_tables[SEALANE_CHACHA20POLY1305] && sealane_may_measure())
            level =
                sealane_level_fastest(table, level, sealane_cpu_features(), ticks_of_packet, limit(), report_failed);
#endif
        known = level + 2;
        atomic_store_explicit(outcome, known, memory_order_release);
    }
    return known - 2;
}

static void report_failed_batch(const sealane_table *table, const sealane_level *level)
{
    fprintf(stderr, "sealane: %s: level %s fails its self-test of batches on this CPU, and does packets one by one\n",
            table->primitive, level->name);
}

const sealane_batch *sealane_batch_choose(const sealane_table *table, const sealane_level *level,
                                          _Atomic unsigned char *outcome, sealane_batch_failed *failed)
{
    enum { UNKNOWN, WORKS, FAILS };
    if (level->batch.kernel == NULL)
        return NULL;
    unsigned char known = atomic_load_explicit(outcome, memory_order_acquire);
    if (known == UNKNOWN) {
        known = table->batch_selftest(level) ? WORKS : FAILS;
        if (atomic_exchange(outcome, known) == UNKNOWN && known == FAILS)
            failed(table, level);
    }
    return known == WORKS ? &level->batch : NULL;
}

const sealane_batch *sealane_level_batch(const sealane_table *table, const sealane_level *level)
{
    static _Atomic unsigned char outcomes[SEALANE_ALL_TABLES][SEALANE_LEVELS_MAX];
    return sealane_batch_choose(table, level, &outcomes[table - sealane_tables][level - table->levels],
                                report_failed_batch);
}
