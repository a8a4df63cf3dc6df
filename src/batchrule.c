/* From how many packets on a batch pays: one rule for all CPUs, from six times that a process takes at its first batch.
 * Of AES-GCM, whose packets a CPU overlaps by itself, whether they pay at all: from eight.
 */
#include <stdatomic.h>

#include "batch.h"
#include "key.h"

/* A batch of n packets takes a + n b, and one packet by itself s; a, b and s grow steadily with the length. Times of
 * batches of two sizes give a and b of a length, and those of two lengths all others, shorter and longer ones too. */
static int64_t between(const sealane_batch_times *t, const uint64_t at[2], int64_t class)
{
    return (int64_t)at[0] * (t->blocks[1] - class) + (int64_t)at[1] * (class - t->blocks[0]);
}

void sealane_batch_rule(sealane_batch *batch, const sealane_batch_times *t)
{
    enum { FEW = SEALANE_RULE_FEW, MANY = SEALANE_RULE_MANY };
    batch->few = UINT8_MAX;
    batch->classes = 0;
    for (int class = 0; class < SEALANE_BATCH_CLASSES; class ++) {
        const int64_t few = between(t, t->few, class), many = between(t, t->many, class),
                      s = between(t, t->single, class);
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

/* Packets of less than so many whole blocks are done side by side. */
enum { SIDE_BY_SIDE = 4 };

/* Clearly slower: packets that are measured are at hand, and those of a batch are fetched beside each other. */
static int is_slower(uint64_t batch, uint64_t single)
{
    return batch > single + single / 8;
}

void sealane_gcm_batch_rule(sealane_batch batch[2], const sealane_batch *of_level, const sealane_gcm_batch_times *t)
{
    for (int opened = 0; opened < 2; opened++) {
        sealane_batch *const b = &batch[opened];
        int slower[SEALANE_GCM_WAYS];
        for (int way = 0; way < SEALANE_GCM_WAYS; way++)
            slower[way] = is_slower(t->batch[opened][way], t->single[opened][way]);
        *b = *of_level;
        if (slower[SEALANE_GCM_SIDE_BY_SIDE])
            memset(b->from, 0, SIDE_BY_SIDE);
        if (slower[SEALANE_GCM_STREAM]) {
            memset(b->from + SIDE_BY_SIDE, 0, sizeof b->from - SIDE_BY_SIDE);
            b->least = b->below = 0;
        }
        b->few = UINT8_MAX;
        b->classes = 0;
        for (int class = 0; class < SEALANE_BATCH_CLASSES; class ++)
            if (b->from[class] != 0) {
                b->classes = (uint8_t)(class + 1);
                b->few = b->from[class] < b->few ? b->from[class] : b->few;
            }
    }
}

#if defined(SEALANE_CLOCK)

enum {
    PACKETS = SEALANE_RULE_MANY,
    ALONE = 4,
    TURNS = 4,
    TURNS_AT_LEAST = 2,
    A_TURN = SEALANE_RULE_FEW + SEALANE_RULE_MANY + ALONE, /* packets of each length */
};

/* The lengths that are measured, in whole blocks: where the first two would take too long, the others. */
static const uint8_t lengths[][2] = {{10, 20}, {2, 10}};
enum { LENGTHS = sizeof lengths / sizeof *lengths, BYTES = 64 * 20 + 32 };

/* What a process has found: for each level of either primitive, by whoever came first; who comes meanwhile takes the
 * table's. */
static struct {
    _Atomic unsigned char outcome;
    sealane_batch batch[2]; /* AES-GCM: what is sealed, what is opened */
} found[2][SEALANE_LEVELS_MAX];
enum { UNKNOWN, BUSY, TABLE, FOUND };

static const sealane_batch *of_level(const sealane_table *table, const sealane_level *level, uint64_t direction)
{
    (void)direction;
    return found[0][level - table->levels].batch;
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

typedef struct {
    sealane_key key;
    sealane_op ops[PACKETS];
    uint8_t nonce[12], tag[PACKETS][SEALANE_TAG_BYTES], text[PACKETS][BYTES];
} samples;

static size_t bytes_of(unsigned blocks)
{
    return 64 * blocks + 32;
}

/* They are sealed in place. */
static void set_ops(samples *s, unsigned blocks)
{
    for (int j = 0; j < PACKETS; j++)
        s->ops[j] = (sealane_op){.out = s->text[j],
                                 .in = s->text[j],
                                 .in_bytes = bytes_of(blocks),
                                 .key = &s->key,
                                 .nonce = s->nonce,
                                 .nonce_bytes = sizeof s->nonce,
                                 .tag = s->tag[j]};
}

/* The first lengths of which as many turns as there must be will take no more than twice the limit, NULL if none do: by
 * the time of a few packets, done before. */
static const uint8_t *lengths_within(samples *s, uint64_t limit)
{
    set_ops(s, lengths[0][0]);
    (void)time_of_batch(s->ops, SEALANE_RULE_FEW);
    const uint64_t few = time_of_batch(s->ops, SEALANE_RULE_FEW);
    for (int i = 0; i < LENGTHS; i++) {
        const uint64_t bytes = A_TURN * (bytes_of(lengths[i][0]) + bytes_of(lengths[i][1]));
        if (TURNS_AT_LEAST * bytes * few <= 2 * limit * SEALANE_RULE_FEW * bytes_of(lengths[0][0]))
            return lengths[i];
    }
    return NULL;
}

/* Interruptions only add: the shortest times count, of four turns, or of two where those took long. 0 if the level has
 * no keys, where it would take too long, and by a clock that is too coarse. */
static NOINLINE int measure(sealane_batch_times *t, const sealane_table *table, const sealane_level *level,
                            uint64_t limit)
{
    static const uint8_t key[32];
    samples s;
    memset(&s, 0, sizeof s);
    const uint64_t start = sealane_clock();
    if (sealane_key_init_at(&s.key, SEALANE_CHACHA20_POLY1305, key, 32, (int)(level - table->levels)) != SEALANE_OK)
        return 0;
    const uint8_t *const blocks = lengths_within(&s, limit);
    if (blocks == NULL)
        return 0;
    for (int i = 0; i < 2; i++) {
        t->blocks[i] = blocks[i];
        t->single[i] = t->few[i] = t->many[i] = UINT32_MAX;
    }
    for (int turn = 0; turn < TURNS && (turn < TURNS_AT_LEAST || sealane_clock() - start < limit); turn++)
        for (int i = 0; i < 2; i++) {
            set_ops(&s, blocks[i]);
            t->few[i] = least(t->few[i], time_of_batch(s.ops, SEALANE_RULE_FEW));
            t->many[i] = least(t->many[i], time_of_batch(s.ops, SEALANE_RULE_MANY));
            t->single[i] = least(t->single[i], time_alone(s.ops));
        }
    for (int i = 0; i < 2; i++) { /* in quarters of a tick */
        if (t->few[i] == 0 || t->many[i] == 0 || t->single[i] == 0)
            return 0;
        t->few[i] *= ALONE, t->many[i] *= ALONE;
    }
    return 1;
}

int sealane_batch_measured(sealane_batch *batch, const sealane_table *table, const sealane_level *level, uint64_t limit)
{
    sealane_batch_times t;
    if (!measure(&t, table, level, limit))
        return 0;
    sealane_batch_rule(batch, &t);
    return 1;
}

/* AES-GCM: a length that is done side by side, and one that is not. */
static const size_t gcm_bytes[SEALANE_GCM_WAYS] = {160, 704};
enum { GCM_MOST = 704, GCM_PACKETS = 16, GCM_IN_A_ROW = 2 };

/* Each packet has another key than the one before; all of a key are the same one. */
typedef struct {
    sealane_key keys[2];
    sealane_op seal[GCM_PACKETS], open[GCM_PACKETS];
    uint8_t nonce[12], tag[2][SEALANE_TAG_BYTES], text[GCM_MOST], sealed[2][GCM_MOST], opened[GCM_MOST];
} gcm_samples;

static void set_gcm_ops(gcm_samples *s, size_t bytes)
{
    for (unsigned j = 0; j < GCM_PACKETS; j++) {
        const unsigned key = j % 2;
        s->seal[j] = (sealane_op){.out = s->sealed[key],
                                  .in = s->text,
                                  .in_bytes = bytes,
                                  .key = &s->keys[key],
                                  .nonce = s->nonce,
                                  .nonce_bytes = sizeof s->nonce,
                                  .tag = s->tag[key]};
        s->open[j] = s->seal[j];
        s->open[j].in = s->sealed[key], s->open[j].out = s->opened;
    }
}

static const sealane_batch *of_table(const sealane_table *table, const sealane_level *level, uint64_t direction)
{
    (void)table, (void)direction;
    return &level->batch;
}

/* In a batch or by themselves, twice in a row: what ran before tells on the first. */
static void time_gcm(uint64_t *shortest, sealane_op *ops, uint64_t direction, size_t at_a_time)
{
    for (int run = 0; run < GCM_IN_A_ROW; run++) {
        const uint64_t start = sealane_clock();
        for (size_t j = 0; j < GCM_PACKETS; j += at_a_time)
            (void)sealane_batch_run(ops + j, at_a_time, direction, of_table);
        *shortest = least(*shortest, sealane_clock() - start);
    }
}

static NOINLINE int measure_gcm(sealane_gcm_batch_times *t, const sealane_table *table, const sealane_level *level,
                                uint64_t limit)
{
    static const uint8_t zeroes[16];
    gcm_samples s;
    memset(&s, 0, sizeof s);
    memset(t, 0x7f, sizeof *t); /* more than all that will come */
    const uint64_t start = sealane_clock();
    for (int i = 0; i < 2; i++)
        if (sealane_key_init_at(&s.keys[i], SEALANE_AES_128_GCM, zeroes, 16, (int)(level - table->levels)) !=
            SEALANE_OK)
            return 0;
    for (int turn = 0; turn < TURNS && (turn < TURNS_AT_LEAST || sealane_clock() - start < limit); turn++)
        for (int way = 0; way < SEALANE_GCM_WAYS; way++) {
            set_gcm_ops(&s, gcm_bytes[way]);
            for (int opened = 0; opened < 2; opened++) {
                sealane_op *const ops = opened ? s.open : s.seal;
                const uint64_t direction = opened ? SEALANE_FLAG_OPEN : 0;
                time_gcm(&t->batch[opened][way], ops, direction, GCM_PACKETS);
                time_gcm(&t->single[opened][way], ops, direction, 1);
            }
        }
    for (int way = 0; way < SEALANE_GCM_WAYS; way++)
        if (t->single[0][way] == 0 || t->single[1][way] == 0) /* too coarse a clock */
            return 0;
    return 1;
}

int sealane_gcm_batch_measured(sealane_batch batch[2], const sealane_table *table, const sealane_level *level,
                               uint64_t limit)
{
    sealane_gcm_batch_times t;
    if (!measure_gcm(&t, table, level, limit))
        return 0;
    sealane_gcm_batch_rule(batch, &level->batch, &t);
    return 1;
}

static NOINLINE int measured(const sealane_table *table, const sealane_level *level, size_t i)
{
    if (table == &sealane_tables[SEALANE_AESGCM])
        return sealane_gcm_batch_measured(found[1][i].batch, table, level, sealane_clock_limit());
    sealane_batch *const batch = found[0][i].batch;
    *batch = level->batch;
    batch->few = 2, batch->classes = SEALANE_BATCH_CLASSES;
    memset(batch->from, 2, SEALANE_BATCH_CLASSES); /* while it is measured, batches of two pay */
    return sealane_batch_measured(batch, table, level, sealane_clock_limit());
}

static unsigned char find(const sealane_table *table, const sealane_level *level, _Atomic unsigned char *known)
{
    unsigned char outcome = UNKNOWN;
    if (!sealane_may_measure()) {
        atomic_store_explicit(known, TABLE, memory_order_relaxed);
        return TABLE;
    }
    if (!atomic_compare_exchange_strong(known, &outcome, BUSY))
        return outcome;
    outcome = measured(table, level, (size_t)(level - table->levels)) ? FOUND : TABLE;
    atomic_store_explicit(known, outcome, memory_order_release);
    return outcome;
}

const sealane_batch *sealane_batch_of_process(const sealane_table *table, const sealane_level *level,
                                              uint64_t direction)
{
    const sealane_batch *batch = sealane_level_batch(table, level);
    if (batch == NULL || level->needs == 0)
        return batch;
    const int gcm = table == &sealane_tables[SEALANE_AESGCM];
    const size_t i = (size_t)(level - table->levels);
    unsigned char outcome = atomic_load_explicit(&found[gcm][i].outcome, memory_order_acquire);
    if (outcome == UNKNOWN)
        outcome = find(table, level, &found[gcm][i].outcome);
    return outcome == FOUND ? &found[gcm][i].batch[gcm && direction == SEALANE_FLAG_OPEN] : batch;
}

#else

int sealane_batch_measured(sealane_batch *batch, const sealane_table *table, const sealane_level *level, uint64_t limit)
{
    (void)batch, (void)table, (void)level, (void)limit;
    return 0;
}

int sealane_gcm_batch_measured(sealane_batch batch[2], const sealane_table *table, const sealane_level *level,
                               uint64_t limit)
{
    (void)batch, (void)table, (void)level, (void)limit;
    return 0;
}

const sealane_batch *sealane_batch_of_process(const sealane_table *table, const sealane_level *level,
                                              uint64_t direction)
{
    (void)direction;
    return sealane_level_batch(table, level);
}

#endif
