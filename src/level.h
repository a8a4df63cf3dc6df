/* The levels: one table for each primitive, best first, that drives dispatch, self-test, tests and benchmark. */
#ifndef SEALANE_SRC_LEVEL_H
#define SEALANE_SRC_LEVEL_H

#include "kernel.h"

typedef struct sealane_level {
    const char *name;
    uint32_t needs; /* SEALANE_X86_* or SEALANE_ARM_* */
    sealane_kernel *kernel;
    const void *consts;
} sealane_level;

typedef struct sealane_table {
    const char *primitive;
    const sealane_level *levels;
    unsigned count;
    int (*selftest)(const sealane_level *); /* 1 if the level gives the known answers (selftest.c) */
} sealane_table;

enum { SEALANE_CHACHA20POLY1305, SEALANE_AESGCM, SEALANE_TABLES };

extern const sealane_table sealane_tables[SEALANE_TABLES];

/* The levels of ChaCha20-Poly1305. */
extern const sealane_level sealane_levels[];
extern const unsigned sealane_level_count;

/* Index of the level of that name, or -1. */
int sealane_level_find(const sealane_table *table, const char *name);

/* The first level of a table, from start on, that the features allow and that passes its known-answer test; -1 if
 * there is none. failed is called with each level that does not pass. */
int sealane_level_choose(const sealane_table *table, unsigned start, uint32_t features,
                         void (*failed)(const sealane_table *, const sealane_level *));

/* The level of one of sealane_tables for this process: chosen at the first call, the same ever after. -1 if not even
 * portable works. */
int sealane_level_of_process(const sealane_table *table);

int sealane_selftest(const sealane_level *level);
int sealane_aesgcm_selftest(const sealane_level *level);

#endif
