/* The levels. One table per primitive, best first, drives dispatch, self-tests, tests and benchmarks. */
#ifndef SEALANE_SRC_LEVEL_H
#define SEALANE_SRC_LEVEL_H

#include <stdatomic.h>

#include "kernel.h"

#if defined(__x86_64__) && !defined(__ILP32__) && !defined(SEALANE_NO_ASM)
#define SEALANE_X86_64_KERNELS
#endif
#if defined(__aarch64__) && !defined(__ILP32__) && !defined(__AARCH64EB__) && !defined(SEALANE_NO_ASM)
#define SEALANE_AARCH64_KERNELS
#endif
#if defined(__ARM_ARCH_ISA_ARM) && !defined(__aarch64__) && !defined(__ARMEB__) && !defined(SEALANE_NO_ASM)
#define SEALANE_ARM_KERNELS
#endif
#if defined(__riscv) && defined(__riscv_mul) && defined(__LP64__) && !defined(SEALANE_NO_ASM)
#define SEALANE_RISCV64_KERNELS
#endif
#if defined(__mips__) && defined(_ABIO32) && _MIPS_SIM == _ABIO32 && __mips_isa_rev >= 2 && __mips_isa_rev < 6 && \
    !defined(SEALANE_NO_ASM)
#define SEALANE_MIPS_KERNELS
#endif
#if defined(__mips__) && defined(_ABI64) && _MIPS_SIM == _ABI64 && __mips_isa_rev >= 2 && __mips_isa_rev < 6 && \
    !defined(SEALANE_NO_ASM)
#define SEALANE_MIPS64_KERNELS
#endif

/* Kernels of MIPS and RISC-V have neither POLYVAL nor a counter at the start of a block (SEALANE_FLAG_POLYVAL,
 * SEALANE_AES_CTR_LITTLE). */
#if !defined(SEALANE_RISCV64_KERNELS) && !defined(SEALANE_MIPS_KERNELS) && !defined(SEALANE_MIPS64_KERNELS)
#define SEALANE_SIV_KERNELS
#endif

#define SEALANE_BATCH_CLASSES 32 /* a class is a number of whole blocks */

/* A kernel for many packets in one call. from gives, for each number of whole blocks, the number of packets from which
 * on the kernel is faster, up to SEALANE_BATCH_FROM_MAX. Packets of mixed lengths use it if the sum of 1/from is at
 * least 1.
 */
typedef struct sealane_batch {
    sealane_kernel *kernel; /* NULL: all packets are processed individually */
    const void *consts;
    uint8_t few;                         /* smallest value of from; a smaller batch never uses the kernel */
    uint8_t classes;                     /* number of classes; longer packets never use the kernel */
    uint8_t from[SEALANE_BATCH_CLASSES]; /* 0: never */
} sealane_batch;

#define SEALANE_BATCH_FROM_MAX 16

typedef struct sealane_level {
    const char *name;
    uint32_t needs; /* SEALANE_X86_*, SEALANE_ARM_*, ... */
    sealane_kernel *kernel;
    const void *consts;
    sealane_batch batch;
    uint8_t key_at; /* for packet ciphers: offset of the kernel's key in a sealane_key */
    uint8_t flags;  /* for packet ciphers: flags of a whole packet with a 12-byte nonce */
} sealane_level;

typedef struct sealane_table {
    const char *primitive;
    const sealane_level *levels;
    unsigned count;
    int (*selftest)(const sealane_level *);       /* 1 if the level passes its known-answer test (selftest.c) */
    int (*batch_selftest)(const sealane_level *); /* 1 if its batch kernel does; NULL if no level has one */
} sealane_table;

enum {
    SEALANE_CHACHA20POLY1305,
    SEALANE_AESGCM,
    SEALANE_TABLES, /* tables of packet ciphers */
    SEALANE_AES = SEALANE_TABLES,
    SEALANE_CHACHA20MASKS,
    SEALANE_ALL_TABLES,
    SEALANE_LEVELS_MAX = 8 /* levels of a table */
};

/* CPUs for which the choice starts at another level than the first that they can run, because features do not
 * distinguish pipelines. */
typedef struct sealane_microarchitecture {
    const char *name;
    uint32_t vendor, from, to;             /* from sealane_cpu_identify; vendor 0: any CPU */
    const char *first[SEALANE_ALL_TABLES]; /* NULL: the table's first level */
} sealane_microarchitecture;

/* tables.c, which is generated from asm/levels.json. */
extern const sealane_table sealane_tables[SEALANE_ALL_TABLES];
extern const sealane_microarchitecture sealane_microarchitectures[]; /* the last entry matches any CPU */
extern const char
    *const sealane_level_names[]; /* names in all builds and primitives, best first; the last is "portable" */
extern const unsigned sealane_level_name_count;

/* The entry of sealane_microarchitectures for a CPU. */
const sealane_microarchitecture *sealane_microarchitecture_of(uint32_t vendor, uint32_t model);

/* The same for this CPU. With different cores, that of the core that asked first. */
const sealane_microarchitecture *sealane_microarchitecture_of_process(void);

/* Index of the level of that name, or -1. */
int sealane_level_find(const sealane_table *table, const char *name);

/* The index at which the choice from a table starts. If the cap names a level of the table, that is its index.
 * Otherwise, and without a cap (-1), it is that of the microarchitecture, or the one below the cap if that is lower.
 * Caps are indices into sealane_level_names.
 */
unsigned sealane_level_start(const sealane_table *table, const sealane_microarchitecture *cpu, int cap);

/* The first level of a table, from start on, that the features allow and that passes its known-answer test; -1 if there
 * is none. */
int sealane_level_choose(const sealane_table *table, unsigned start, uint32_t features);

/* Whether a level failed its known-answer test in that choice. */
int sealane_level_failed(const sealane_table *table, unsigned start, uint32_t features, int chosen);

/* The level from one of sealane_tables for this process: chosen by the first call and constant from then on. -1 if not
 * even portable works. */
int sealane_level_of_process(const sealane_table *table);

/* The level's batch kernel. NULL if there is none, or if it fails its known-answer test, which the first call runs. */
const sealane_batch *sealane_level_batch(const sealane_table *table, const sealane_level *level);

/* The same for a level outside the table. outcome is 0 at first, and stores the result of the test. */
const sealane_batch *sealane_batch_choose(const sealane_table *table, const sealane_level *level, atomic_int *outcome);

/* Calls the level's kernel. No other frame contains the scratch memory, so burning the callers' stack reaches
 * everything that they leave behind. */
void sealane_call(const sealane_level *level, const void *args);

/* In environment.c: the cap for this process, constant after the first call. It is the lower of the program's and the
 * environment's, as an index into sealane_level_names; -1 if there is none. */
int sealane_cap_of_process(void);

/* Whether the environment had an invalid value when it was read. */
int sealane_environment_is_meaningless(void);

/* 1 if the level, or its batch kernel, passes its known-answer test (selftest.c). */
int sealane_chacha20poly1305_selftest(const sealane_level *level);
int sealane_chacha20poly1305_batch_selftest(const sealane_level *level);
int sealane_aesgcm_selftest(const sealane_level *level);
int sealane_aes_selftest(const sealane_level *level);
int sealane_chacha20masks_selftest(const sealane_level *level);

#endif
