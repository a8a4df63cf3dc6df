/* The levels: one table for each primitive, best first, that drives dispatch, self-test, tests and benchmark. */
#ifndef SEALANE_SRC_LEVEL_H
#define SEALANE_SRC_LEVEL_H

#include "kernel.h"

#define SEALANE_BATCH_CLASSES 32 /* of packets with the same number of whole blocks */

/* A kernel for many packets in one call, and when it pays: for packets of each number of whole blocks from how many on,
 * up to SEALANE_BATCH_FROM_MAX, they are faster side by side. Unlike packets pay if the sum of 1/from is 1 or more.
 */
typedef struct sealane_batch {
    sealane_kernel *kernel; /* NULL: there is none, all packets go one by one */
    const void *consts;
    uint8_t group;   /* packets at a time, a power of 2: one or two over go one by one; 0: no matter */
    uint8_t few;     /* the least of from: fewer packets never pay */
    uint8_t classes; /* of which packets ever pay; longer ones never do */
    uint8_t from[SEALANE_BATCH_CLASSES]; /* 0: never, unless they come between others that do */
    uint16_t least, below; /* bytes of packets that it does one after the other, of which two pay; 0, 0: it does not */
} sealane_batch;

#define SEALANE_BATCH_FROM_MAX 16

typedef struct sealane_level {
    const char *name;
    uint32_t needs; /* SEALANE_X86_* or SEALANE_ARM_* */
    sealane_kernel *kernel;
    const void *consts;
    sealane_batch batch;
    uint8_t timed;  /* 1: a measurement decides between this level and other timed ones (sealane_level_fastest) */
    uint8_t key_at; /* of what seals packets: offset of the kernel's key in a sealane_key */
    uint8_t flags;  /* and what goes with a whole packet that has a nonce of 12 bytes */
} sealane_level;

typedef struct sealane_table {
    const char *primitive;
    const sealane_level *levels;
    unsigned count;
    int (*selftest)(const sealane_level *);       /* 1 if the level gives the known answers (selftest.c) */
    int (*batch_selftest)(const sealane_level *); /* 1 if its batch kernel does */
} sealane_table;

enum {
    SEALANE_CHACHA20POLY1305,
    SEALANE_AESGCM,
    SEALANE_TABLES, /* of what seals packets */
    SEALANE_AES = SEALANE_TABLES,
    SEALANE_CHACHA20MASKS,
    SEALANE_ALL_TABLES,
    SEALANE_LEVELS_MAX = 8 /* of a table */
};

extern const sealane_table sealane_tables[SEALANE_ALL_TABLES];

/* The levels of ChaCha20-Poly1305. */
extern const sealane_level sealane_levels[];
extern const unsigned sealane_level_count;

/* Index of the level of that name, or -1. */
int sealane_level_find(const sealane_table *table, const char *name);

/* The first level of a table, from start on, that the features allow and that passes its known-answer test; -1 if
 * there is none. failed is called with each level that does not pass. */
int sealane_level_choose(const sealane_table *table, unsigned start, uint32_t features,
                         void (*failed)(const sealane_level *));

/* Which of the timed levels is fastest a CPU's pipeline decides, and no feature tells. Of level first, if it is timed,
 * and the timed ones behind it that the features allow and that work, the one with the least product of its shortest
 * times for a short and a long packet; but one further up the table if it is not clearly slower. They take turns, and
 * interruptions only add: the turns that the limit allows are counted by the shortest times. From the second turn on
 * packets are done several times in a row, eight at most, if that takes no more than a 32nd of the limit: what ran
 * before tells on the first. ticks is in any unit; past the limit no third turn begins. failed is called with each that
 * does not pass its known-answer test. */
typedef uint64_t sealane_ticks(const sealane_level *, size_t bytes);
int sealane_level_fastest(const sealane_table *table, int first, uint32_t features, sealane_ticks *ticks,
                          uint64_t limit, void (*failed)(const sealane_level *));

/* The level of one of sealane_tables for this process: chosen at the first call, the same ever after. -1 if not even
 * portable works. */
int sealane_level_of_process(const sealane_table *table);

/* What the level does batches with: NULL if nothing, or if that does not give the known answers, which is tested at
 * the first call and reported. */
const sealane_batch *sealane_level_batch(const sealane_table *table, const sealane_level *level);

/* Times of a level, in any unit: of one packet, and of batches of RULE_FEW and RULE_MANY packets, of two lengths, in
 * whole blocks and half a one. */
enum { SEALANE_RULE_FEW = 3, SEALANE_RULE_MANY = 8 };
typedef struct {
    int64_t blocks[2];
    uint64_t single[2], few[2], many[2];
} sealane_batch_times;

/* Fills in when the batch kernel pays (batchrule.c). */
void sealane_batch_rule(sealane_batch *batch, const sealane_batch_times *times);

/* The same for ChaCha20-Poly1305 by times that it takes: 1; 0, and batch is as it was, if it cannot: for a level
 * without keys, by a clock that is too coarse, and where that would take more than twice the limit. */
int sealane_batch_measured(sealane_batch *batch, const sealane_table *table, const sealane_level *level,
                           uint64_t limit);

/* Times of some packets of AES-GCM by themselves, in any unit, and of the same in a batch, sealed and opened: of those
 * that the kernel does side by side, and of those that it does in a stream. */
enum { SEALANE_GCM_SIDE_BY_SIDE, SEALANE_GCM_STREAM, SEALANE_GCM_WAYS };
typedef struct {
    uint64_t single[2][SEALANE_GCM_WAYS], batch[2][SEALANE_GCM_WAYS];
} sealane_gcm_batch_times;

/* What a level's batch does, without the lengths of packets that are clearly faster by themselves, sealed and opened
 * (batchrule.c). */
void sealane_gcm_batch_rule(sealane_batch batch[2], const sealane_batch *of_level,
                            const sealane_gcm_batch_times *times);

/* The same by times that it takes: 1, or 0 as above. */
int sealane_gcm_batch_measured(sealane_batch batch[2], const sealane_table *table, const sealane_level *level,
                               uint64_t limit);

/* sealane_level_batch with these rules by times that this process has taken, where it may: at the first call for a
 * level, in at most about 60 us. ChaCha20-Poly1305's rule is the same for both directions, 0 and SEALANE_FLAG_OPEN. */
const sealane_batch *sealane_batch_of_process(const sealane_table *table, const sealane_level *level,
                                              uint64_t direction);

/* 1 if choices may rest on measurements: nobody has named a level, and the program has no more rights than its user. */
int sealane_may_measure(void);

/* Ticks, and how many a measurement may take; there is a clock where SEALANE_CLOCK is defined. */
#if (defined(__x86_64__) && !defined(__ILP32__)) ||                             \
    (defined(__aarch64__) && !defined(__ILP32__) && !defined(__AARCH64EB__)) || \
    (defined(__ARM_ARCH_ISA_ARM) && !defined(__aarch64__) && !defined(__ARMEB__) && !defined(_WIN32))
#if !defined(SEALANE_NO_ASM)
#define SEALANE_CLOCK
#endif
#endif
uint64_t sealane_clock(void);
uint64_t sealane_clock_limit(void);

/* The same for a level outside the table. outcome is 0 at first and remembers the test; failed is called once. */
typedef void sealane_batch_failed(const sealane_table *table, const sealane_level *level);
const sealane_batch *sealane_batch_choose(const sealane_table *table, const sealane_level *level,
                                          _Atomic unsigned char *outcome, sealane_batch_failed *failed);

/* 1 if the level, or its batch kernel, gives the known answers (selftest.c). */
int sealane_selftest(const sealane_level *level);
int sealane_aesgcm_selftest(const sealane_level *level);
int sealane_batch_selftest(const sealane_level *level);
int sealane_aesgcm_batch_selftest(const sealane_level *level);
int sealane_aes_selftest(const sealane_level *level);
int sealane_chacha20masks_selftest(const sealane_level *level);

#endif
