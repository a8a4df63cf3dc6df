/* From how many packets on a batch pays: one rule for all CPUs, from six times that a process takes at its first batch.
 */
#include <stdatomic.h>

#include "batch.h"
#include "key.h"

/* A batch of n packets takes a + n b, and one packet by itself s; a, b and s grow steadily with the length. Times of
 * batches of two sizes give a and b of a length, and those of two lengths all others, shorter and longer ones too. */
static int64_t between(const uint64_t at[2], int64_t class)
{
    const int64_t low = SEALANE_RULE_SHORT, high = SEALANE_RULE_LONG;
    return (int64_t)at[0] * (high - class) + (int64_t)at[1] * (class - low);
}

void sealane_batch_rule(sealane_batch *batch, const sealane_batch_times *t)
{
    enum { FEW = SEALANE_RULE_FEW, MANY = SEALANE_RULE_MANY };
    batch->few = UINT8_MAX;
    batch->classes = 0;
    for (int class = 0; class < SEALANE_BATCH_CLASSES; class ++) {
        const int64_t few = between(t->few, class), many = between(t->many, class), s = between(t->single, class);
        int n = 2;
        while (n <= SEALANE_BATCH_FROM_MAX && MANY * few - FEW * many + n * (many - few) > (MANY - FEW) * n * s)
            n++;
        batch->from[class] = (uint8_t)(n <= SEALANE_BATCH_FROM_MAX ? n : 0);
        if (batch->from[class] != 0) {
            batch->classes = (uint8_t)(class + 1);
            batch->few = batch->from[class] < batch->few ? batch->from[class] : batch->few;
        }
    }
}

#if defined(__x86_64__) && !defined(__ILP32__) && !defined(SEALANE_NO_ASM)

enum { PACKETS = SEALANE_RULE_MANY, BYTES = 64 * SEALANE_RULE_LONG + 32, ALONE = 4 };

/* What a process has found: for each level, by whoever came first; who comes meanwhile takes the table's. */
static struct {
    _Atomic unsigned char outcome;
    sealane_batch batch;
} found[SEALANE_LEVELS_MAX];
enum { UNKNOWN, BUSY, TABLE, FOUND };

static const sealane_batch *of_level(const sealane_table *table, const sealane_level *level)
{
    return &found[level - table->levels].batch;
}

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static uint64_t time_of_batch(sealane_op *ops, size_t n)
{
    const uint64_t start = sealane_clock();
    (void)sealane_batch_run(ops, n, 0, of_level);
    return sealane_clock() - start;
}

static uint64_t time_alone(const sealane_op *ops)
{
    const uint64_t start = sealane_clock();
    for (const sealane_op *op = ops; op < ops + ALONE; op++)
        if (sealane_seal(op->key, op->out, op->tag, op->nonce, op->nonce_bytes, NULL, 0, op->in, op->in_bytes) != 0)
            break;
    return sealane_clock() - start;
}

/* Interruptions only add: the shortest times count, of four turns, or of two where those took long. 0 if the level has
 * no keys. */
static NOINLINE int measure(sealane_batch_times *t, const sealane_table *table, const sealane_level *level)
{
    enum { TURNS = 4, TURNS_AT_LEAST = 2 };
    static const uint8_t key[32];
    uint8_t text[PACKETS][BYTES] = {{0}}, tag[PACKETS][SEALANE_TAG_BYTES], nonce[12] = {0};
    sealane_op ops[PACKETS];
    sealane_key k;
    const uint64_t start = sealane_clock();
    if (sealane_key_init_at(&k, SEALANE_CHACHA20_POLY1305, key, 32, (int)(level - table->levels)) != SEALANE_OK)
        return 0;
    for (int i = 0; i < 2; i++)
        t->single[i] = t->few[i] = t->many[i] = UINT32_MAX;
    for (int turn = 0; turn < TURNS && (turn < TURNS_AT_LEAST || sealane_clock() - start < sealane_clock_limit());
         turn++)
        for (int i = 0; i < 2; i++) {
            for (int j = 0; j < PACKETS; j++)
                ops[j] = (sealane_op){.out = text[j],
                                      .in = text[j],
                                      .in_bytes = 64 * (i ? SEALANE_RULE_LONG : SEALANE_RULE_SHORT) + 32,
                                      .key = &k,
                                      .nonce = nonce,
                                      .nonce_bytes = sizeof nonce,
                                      .tag = tag[j]};
            t->few[i] = least(t->few[i], time_of_batch(ops, SEALANE_RULE_FEW));
            t->many[i] = least(t->many[i], time_of_batch(ops, SEALANE_RULE_MANY));
            t->single[i] = least(t->single[i], time_alone(ops));
        }
    for (int i = 0; i < 2; i++) /* in quarters of a tick */
        t->few[i] *= ALONE, t->many[i] *= ALONE;
    return 1;
}

int sealane_batch_measured(sealane_batch *batch, const sealane_table *table, const sealane_level *level)
{
    sealane_batch_times t;
    if (!measure(&t, table, level))
        return 0;
    sealane_batch_rule(batch, &t);
    return 1;
}

static NOINLINE const sealane_batch *find(const sealane_table *table, const sealane_level *level)
{
    const size_t i = (size_t)(level - table->levels);
    unsigned char outcome = UNKNOWN;
    if (!sealane_may_measure()) {
        atomic_store_explicit(&found[i].outcome, TABLE, memory_order_relaxed);
        return &level->batch;
    }
    if (!atomic_compare_exchange_strong(&found[i].outcome, &outcome, BUSY))
        return outcome == FOUND ? &found[i].batch : &level->batch;
    found[i].batch = level->batch;
    found[i].batch.few = 2, found[i].batch.classes = SEALANE_BATCH_CLASSES;
    memset(found[i].batch.from, 2, SEALANE_BATCH_CLASSES); /* while it is measured, batches of two pay */
    outcome = sealane_batch_measured(&found[i].batch, table, level) ? FOUND : TABLE;
    atomic_store_explicit(&found[i].outcome, outcome, memory_order_release);
    return outcome == FOUND ? &found[i].batch : &level->batch;
}

const sealane_batch *sealane_batch_of_process(const sealane_table *table, const sealane_level *level)
{
    const sealane_batch *batch = sealane_level_batch(table, level);
    if (batch == NULL || !level->timed)
        return batch;
    const size_t i = (size_t)(level - table->levels);
    switch (atomic_load_explicit(&found[i].outcome, memory_order_acquire)) {
    case UNKNOWN:
        return find(table, level);
    case FOUND:
        return &found[i].batch;
    default:
        return batch;
    }
}

#else

int sealane_batch_measured(sealane_batch *batch, const sealane_table *table, const sealane_level *level)
{
    (void)batch, (void)table, (void)level;
    return 0;
}

/* Where a packet takes microseconds these times would too: the tables, modelled, stay. */
const sealane_batch *sealane_batch_of_process(const sealane_table *table, const sealane_level *level)
{
    return sealane_level_batch(table, level);
}

#endif
