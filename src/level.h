/* The levels: one table for each primitive, best first, that drives dispatch, self-test, tests and benchmark. */
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

/* Kernels of 32-bit ARM, MIPS and RISC-V have no POLYVAL, and no counter at a block's begin (SEALANE_FLAG_POLYVAL,
 * SEALANE_AES_CTR_LITTLE). */
#if !defined(SEALANE_ARM_KERNELS) && !defined(SEALANE_RISCV64_KERNELS) && !defined(SEALANE_MIPS_KERNELS) && \
    !defined(SEALANE_MIPS64_KERNELS)
#define SEALANE_SIV_KERNELS
#endif

#define SEALANE_BATCH_CLASSES 32 /* of packets with the same number of whole blocks */

/* A kernel for many packets in one call, and when it pays: for packets of each number of whole blocks from how many on,
 * up to SEALANE_BATCH_FROM_MAX, they are faster side by side. Unlike packets pay if the sum of 1/from is 1 or more.
 */
typedef struct sealane_batch {
    sealane_kernel *kernel; /* NULL: there is none, all packets go one by one */
    const void *consts;
    uint8_t few;                         /* the least of from: fewer packets never pay */
    uint8_t classes;                     /* of which packets ever pay; longer ones never do */
    uint8_t from[SEALANE_BATCH_CLASSES]; /* 0: never */
} sealane_batch;

#define SEALANE_BATCH_FROM_MAX 16

typedef struct sealane_level {
    const char *name;
    uint32_t needs; /* SEALANE_X86_*, SEALANE_ARM_*, ... */
    sealane_kernel *kernel;
    const void *consts;
    sealane_batch batch;
    uint8_t key_at; /* of packet ciphers: offset of the kernel's key in a sealane_key */
    uint8_t flags;  /* and the flags of a whole packet with a nonce of 12 bytes */
} sealane_level;

typedef struct sealane_table {
    const char *primitive;
    const sealane_level *levels;
    unsigned count;
    int (*selftest)(const sealane_level *);       /* 1 if the level gives the known answers (selftest.c) */
    int (*batch_selftest)(const sealane_level *); /* 1 if its batch kernel does; NULL: no level has one */
} sealane_table;

enum {
    SEALANE_CHACHA20POLY1305,
    SEALANE_AESGCM,
    SEALANE_TABLES, /* of packet ciphers */
    SEALANE_AES = SEALANE_TABLES,
    SEALANE_CHACHA20MASKS,
    SEALANE_ALL_TABLES,
    SEALANE_LEVELS_MAX = 8 /* of a table */
};

/* CPUs on which the choice starts at another level than the first that they can run: where features do not tell
 * pipelines apart. */
typedef struct sealane_microarchitecture {
    const char *name;
    uint32_t vendor, from, to;             /* as sealane_cpu_identify has them; vendor 0: any CPU */
    const char *first[SEALANE_ALL_TABLES]; /* NULL: the table's first level */
} sealane_microarchitecture;

/* tables.c, which is generated from asm/levels.json. */
extern const sealane_table sealane_tables[SEALANE_ALL_TABLES];
extern const sealane_microarchitecture sealane_microarchitectures[]; /* the last is for any CPU */
extern const char *const sealane_level_names[]; /* of all builds and primitives, best first; the last is "portable" */
extern const unsigned sealane_level_name_count;

/* The line of sealane_microarchitectures that a CPU takes. */
const sealane_microarchitecture *sealane_microarchitecture_of(uint32_t vendor, uint32_t model);

/* The same of this CPU. On a machine with unlike cores it is that of the core that asked first. */
const sealane_microarchitecture *sealane_microarchitecture_of_process(void);

/* Index of the level of that name, or -1. */
int sealane_level_find(const sealane_table *table, const char *name);

/* Where the choice from a table starts: at the level that the cap names; without one of that name, and without a cap
 * (-1), at the microarchitecture's, or below the cap if that is further down. Caps are places in sealane_level_names.
 */
unsigned sealane_level_start(const sealane_table *table, const sealane_microarchitecture *cpu, int cap);

/* The first level of a table, from start on, that the features allow and that passes its known-answer test; -1 if
 * there is none. */
int sealane_level_choose(const sealane_table *table, unsigned start, uint32_t features);

/* Whether a level failed its known-answer test in that choice. */
int sealane_level_failed(const sealane_table *table, unsigned start, uint32_t features, int chosen);

/* The level of one of sealane_tables for this process: chosen at the first call, the same ever after. -1 if not even
 * portable works. */
int sealane_level_of_process(const sealane_table *table);

/* What the level does batches with: NULL if nothing, or if that does not give the known answers, which is tested at
 * the first call. */
const sealane_batch *sealane_level_batch(const sealane_table *table, const sealane_level *level);

/* The same for a level outside the table. outcome is 0 at first and remembers the test. */
const sealane_batch *sealane_batch_choose(const sealane_table *table, const sealane_level *level, atomic_int *outcome);

/* Calls its kernel. The scratch memory is in no other function's frame: burning the stack of those that call this
 * reaches all that they leave behind. */
void sealane_call(const sealane_level *level, const void *args);

/* environment.c: the cap for this process, the same ever after: the lower of the program's and the environment's, as a
 * place in sealane_level_names; -1 without one. */
int sealane_cap_of_process(void);

/* Whether the environment had a value that means nothing, when that was asked. */
int sealane_environment_is_meaningless(void);

/* 1 if the level, or its batch kernel, gives the known answers (selftest.c). */
int sealane_chacha20poly1305_selftest(const sealane_level *level);
int sealane_chacha20poly1305_batch_selftest(const sealane_level *level);
int sealane_aesgcm_selftest(const sealane_level *level);
int sealane_aes_selftest(const sealane_level *level);
int sealane_chacha20masks_selftest(const sealane_level *level);

#endif
