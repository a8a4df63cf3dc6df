/* Batches: packets are sorted by length into the lanes of a batch kernel, and what is not worth a lane goes one by one.
 */
#include "batch.h"

#include "key.h"

/* Packets that are planned together. More fill the lanes better when lengths are mixed, and take stack: an Internet mix
 * has about 36 packets of 64 bytes, 20 of 576 and 5 of 1420 in 64. */
enum { CHUNK = 64 };

/* Keeps the rest from taking registers from the loop that matters. */
#if defined(__GNUC__)
#define OUT_OF_LINE __attribute__((noinline))
#else
#define OUT_OF_LINE
#endif

/* The caller's mistakes in one packet; SEALANE_OK if there is none. */
static inline sealane_status mistake(const sealane_op *op)
{
    if (!key_valid(op->key))
        return SEALANE_INVALID_KEY;
    const sealane_alg alg = key_alg(op->key);
    const uint64_t bytes = op->in_bytes, ad_bytes = op->ad_bytes; /* size_t may be too narrow for the comparison */
    if (!nonce_fits(alg, op->nonce_bytes))
        return SEALANE_INVALID_NONCE;
    if (bytes > text_max(alg) || ad_bytes > ad_max(alg))
        return SEALANE_TOO_LONG;
    if (op->nonce == NULL || op->tag == NULL || (op->ad_bytes != 0 && op->ad == NULL))
        return SEALANE_NULL;
    if (bytes != 0) {
        if (op->in == NULL || op->out == NULL)
            return SEALANE_NULL;
        if ((op->out != op->in && overlap(op->out, op->in_bytes, op->in, op->in_bytes)) ||
            overlap(op->out, op->in_bytes, op->nonce, op->nonce_bytes) ||
            overlap(op->out, op->in_bytes, op->tag, SEALANE_TAG_BYTES) ||
            overlap(op->out, op->in_bytes, op->ad, op->ad_bytes))
            return SEALANE_OVERLAP;
    }
    return SEALANE_OK;
}

/* One packet by itself; 1 if it succeeded. */
static int alone(sealane_op *op, uint64_t direction)
{
    const int failed = direction == SEALANE_FLAG_OPEN
                           ? sealane_open(op->key, op->out, op->tag, op->nonce, op->nonce_bytes, op->ad, op->ad_bytes,
                                          op->in, op->in_bytes)
                           : sealane_seal(op->key, op->out, op->tag, op->nonce, op->nonce_bytes, op->ad, op->ad_bytes,
                                          op->in, op->in_bytes);
    op->status = SEALANE_OK;
    if (failed) {
        op->status = mistake(op);
        if (op->status == SEALANE_OK)
            op->status = SEALANE_NOT_AUTHENTIC;
    }
    return !failed;
}

/* What a packet counts towards a batch that pays: PAYS / from, rounded up. */
enum { PAYS = 240 };
static const uint8_t weights[SEALANE_BATCH_FROM_MAX + 1] = {0,  240, 120, 80, 60, 48, 40, 35, 30,
                                                            27, 24,  22,  20, 19, 18, 16, 15};

/* The packets of a chunk that share a call of the batch kernel. */
typedef struct {
    _Alignas(64) sealane_lane lane[CHUNK], sorted[CHUNK];
    unsigned count, weight, subkeys, later;
    uint8_t op[CHUNK];                              /* which of the chunk's they are */
    uint8_t class[CHUNK];                           /* whole blocks of text */
    uint8_t tag[CHUNK][16];                         /* open: to be compared */
    uint8_t subkey[CHUNK][32], subnonce[CHUNK][12]; /* XChaCha20-Poly1305 */
    uint8_t put_off[CHUNK];                         /* those of the other primitive */
} plan;

/* Lane number i, for packet number n of the chunk, with the key and nonce that the kernel is to have. */
static inline void set_lane(plan *p, unsigned i, sealane_op *op, unsigned n, uint64_t direction, const void *key,
                            const uint8_t *nonce)
{
    p->lane[i] = (sealane_lane){
        .out = slot(op->out),
        .in = slot(op->in),
        .bytes = op->in_bytes,
        .ad = slot(op->ad),
        .ad_bytes = op->ad_bytes,
        .key = slot(key),
        .nonce = slot(nonce),
        .tag = slot(direction == SEALANE_FLAG_OPEN ? p->tag[i] : op->tag),
    };
    p->op[i] = (uint8_t)n;
    p->class[i] = (uint8_t)(op->in_bytes / 64);
    op->status = SEALANE_OK; /* until its tag is found wrong */
}

/* 1 if [p, p + n) and [out, out + bytes) have a byte in common; neither is empty, and out is not near the top of
 * memory.
 */
static inline int touches(const void *p, size_t n, const void *out, size_t bytes)
{
    return (uintptr_t)p - (uintptr_t)out + (n - 1) < bytes + (n - 1);
}

/* 1 if a packet with a nonce of 12 bytes and a text of some class is without mistakes: what mistake finds, in fewer
 * instructions. 0 also if there is very much associated data. */
static inline int well_formed(const sealane_op *op)
{
    const size_t n = op->in_bytes;
    if (op->nonce_bytes != 12 || op->nonce == NULL || op->tag == NULL || op->ad_bytes > INT32_MAX)
        return 0;
    if (op->ad_bytes != 0 && (op->ad == NULL || (n != 0 && touches(op->ad, op->ad_bytes, op->out, n))))
        return 0;
    if (n == 0)
        return 1;
    if (op->in == NULL || op->out == NULL || touches(op->nonce, 12, op->out, n) || touches(op->tag, 16, op->out, n))
        return 0;
    return op->out == op->in || !touches(op->in, n, op->out, n);
}

/* What packets of a level are done with. */
typedef struct {
    const sealane_table *table;
    const sealane_level *level;
    const sealane_batch *batch;
    sealane_batch_choice *choice;
    uint64_t direction;
    uint64_t key_word, more_words; /* of keys that go into lanes as they are: that one and so many after it */
    size_t key_at;                 /* where in them the kernel's key is */
} planner;

static planner planner_of(const sealane_key *k, uint64_t direction, sealane_batch_choice *choice)
{
    planner r = {.table = table_of(key_alg(k)), .level = key_level(k), .choice = choice, .direction = direction};
    const int gcm = is_gcm(key_alg(k)), index = (int)(r.level - r.table->levels);
    _Static_assert(SEALANE_AES_256_GCM == SEALANE_AES_128_GCM + 1 && SEALANE_AES_192_GCM == SEALANE_AES_128_GCM + 2,
                   "AES-GCM's numbers are not in a row");
    r.batch = choice(r.table, r.level);
    r.key_word = key_word(gcm ? SEALANE_AES_128_GCM : SEALANE_CHACHA20_POLY1305, index);
    r.more_words = gcm ? 2 : 0;
    r.key_at = gcm ? (size_t)((const uint8_t *)gcm_key_of(k) - (const uint8_t *)k)
                   : (size_t)(key_bytes_of(k) - (const uint8_t *)k);
    return r;
}

/* Whether packets of that length are ever faster side by side. */
static inline int has_lane(const planner *r, size_t class)
{
    return class < SEALANE_BATCH_CLASSES && r->batch->from[class] != 0;
}

static inline int goes_alone(const planner *r, const sealane_op *op)
{
    return op->key != NULL && op->key->opaque[0] - r->key_word <= r->more_words && !has_lane(r, op->in_bytes / 64);
}

/* Lanes for packets that need nothing but one, from number n on; returns the first that is not such. */
OUT_OF_LINE static unsigned plan_plain(plan *p, sealane_op *ops, unsigned n, unsigned end, const planner *r)
{
    const uint64_t first = r->key_word, more = r->more_words, direction = r->direction;
    const size_t key_at = r->key_at;
    const sealane_batch *batch = r->batch;
    unsigned count = p->count, weight = p->weight;
    for (; n < end; n++) {
        sealane_op *op = &ops[n];
        const size_t class = op->in_bytes / 64;
        if (op->key == NULL || op->key->opaque[0] - first > more || class >= SEALANE_BATCH_CLASSES ||
            batch->from[class] == 0 || !well_formed(op))
            break;
        weight += weights[batch->from[class]];
        set_lane(p, count++, op, n, direction, (const uint8_t *)op->key + key_at, op->nonce);
    }
    p->count = count, p->weight = weight;
    return n;
}

/* Any other packet: does it, unless it gets a lane or is put off; 1 if it succeeded. */
OUT_OF_LINE static int plan_special(plan *p, sealane_op *op, unsigned n, const planner *r)
{
    const size_t class = op->in_bytes / 64;
    if (key_valid(op->key) && table_of(key_alg(op->key)) != r->table && class < SEALANE_BATCH_CLASSES) {
        p->put_off[p->later++] = (uint8_t)n;
        return 0;
    }
    if (!has_lane(r, class) || !key_valid(op->key) || key_alg(op->key) != SEALANE_XCHACHA20_POLY1305 ||
        key_level(op->key) != r->level)
        return alone(op, r->direction);
    op->status = mistake(op);
    if (op->status != SEALANE_OK)
        return 0;
    uint8_t *subkey = p->subkey[p->subkeys], *subnonce = p->subnonce[p->subkeys];
    p->subkeys++;
    xchacha_begin(subkey, subnonce, op->key, op->nonce);
    p->weight += weights[r->batch->from[class]];
    set_lane(p, p->count++, op, n, r->direction, subkey, subnonce);
    return 0;
}

/* Does the packets that no lane is for, and plans the others; the number of those that succeeded. */
static size_t make_plan(plan *p, sealane_op *ops, unsigned n, const planner *r)
{
    size_t good = 0;
    unsigned i = 0;
    p->count = p->weight = p->subkeys = p->later = 0;
    while ((i = plan_plain(p, ops, i, n, r)) < n) {
        good += (size_t)plan_special(p, &ops[i], i, r), i++;
        for (; i < n && goes_alone(r, &ops[i]); i++) /* mostly they are many */
            good += (size_t)alone(&ops[i], r->direction);
    }
    return good;
}

/* The lanes by falling class: a counting sort, left out where there is nothing to do. */
static const sealane_lane *sorted_lanes(plan *p)
{
    uint8_t place[SEALANE_BATCH_CLASSES] = {0};
    unsigned i = 1, next = 0;
    while (i < p->count && p->class[i] <= p->class[i - 1])
        i++;
    if (i >= p->count)
        return p->lane;
    for (i = 0; i < p->count; i++)
        place[p->class[i]]++;
    for (int class = SEALANE_BATCH_CLASSES - 1; class >= 0; class --) {
        const unsigned size = place[class];
        place[class] = (uint8_t)next;
        next += size;
    }
    for (i = 0; i < p->count; i++)
        p->sorted[place[p->class[i]]++] = p->lane[i];
    return p->sorted;
}

/* Compares the tags of all packets, and zeroes what forgeries have left. */
static size_t authenticate(plan *p, sealane_op *ops)
{
    size_t good = p->count;
    for (unsigned i = 0; i < p->count; i++) {
        sealane_op *op = &ops[p->op[i]];
        if (equal16(p->tag[i], op->tag))
            continue;
        good--;
        op->status = SEALANE_NOT_AUTHENTIC;
        if (op->in_bytes != 0)
            memset(op->out, 0, op->in_bytes);
    }
    wipe(p->tag, sizeof p->tag[0] * p->count);
    return good;
}

static size_t side_by_side(plan *p, sealane_op *ops, const planner *r)
{
    SEALANE_BATCH_SCRATCH(scratch);
    const sealane_args a = batch_args(sorted_lanes(p), p->count, r->direction);
    r->batch->kernel(&a, scratch, r->batch->consts);
    return r->direction == SEALANE_FLAG_OPEN ? authenticate(p, ops) : p->count;
}

static size_t one_by_one(sealane_op *ops, size_t n, uint64_t direction)
{
    size_t good = 0;
    for (size_t i = 0; i < n; i++)
        good += (size_t)alone(&ops[i], direction);
    return good;
}

/* What was planned. */
static size_t carry_out(plan *p, sealane_op *ops, const planner *r)
{
    const unsigned over = r->batch && r->batch->group ? p->count & (r->batch->group - 1u) : 0;
    size_t good = 0;
    for (unsigned left = p->weight < PAYS ? p->count : over < 3 ? over : 0; left > 0; left--)
        good += (size_t)alone(&ops[p->op[--p->count]], r->direction);
    if (p->count > 0)
        good += side_by_side(p, ops, r);
    wipe(p->subkey, sizeof p->subkey[0] * p->subkeys);
    return good;
}

/* The packets of the other primitive. */
OUT_OF_LINE static size_t run_put_off(plan *p, sealane_op *ops, const planner *before)
{
    const planner r = planner_of(ops[p->put_off[0]].key, before->direction, before->choice);
    const unsigned later = p->later;
    size_t good = 0;
    p->count = p->weight = p->subkeys = 0;
    for (unsigned i = 0; i < later; i++) {
        const unsigned n = p->put_off[i];
        if (r.batch == NULL)
            good += (size_t)alone(&ops[n], r.direction);
        else if (plan_plain(p, ops, n, n + 1, &r) == n)
            good += (size_t)plan_special(p, &ops[n], n, &r);
    }
    return good + carry_out(p, ops, &r);
}

/* Packets of a level side by side, and then those of the other primitive's; the rest by themselves. */
static size_t run_planned(sealane_op *ops, unsigned n, const planner *r)
{
    plan p;
    size_t good = make_plan(&p, ops, n, r);
    good += carry_out(&p, ops, r);
    return p.later ? good + run_put_off(&p, ops, r) : good;
}

static size_t run_chunk(sealane_op *ops, unsigned n, uint64_t direction, sealane_batch_choice *choice)
{
    for (unsigned first = 0; first < n; first++) {
        if (!key_valid(ops[first].key))
            continue;
        const planner r = planner_of(ops[first].key, direction, choice);
        if (r.batch != NULL)
            return run_planned(ops, n, &r);
        const sealane_table *without = r.table;
        while (first + 1 < n && key_valid(ops[first + 1].key) && table_of(key_alg(ops[first + 1].key)) == without)
            first++;
    }
    return one_by_one(ops, n, direction);
}

size_t sealane_batch_run(sealane_op *ops, size_t n, uint64_t direction, sealane_batch_choice *choice)
{
    size_t good = 0;
    if (ops == NULL)
        return 0;
    if (n == 1)
        return (size_t)alone(ops, direction);
    for (size_t at = 0; at < n; at += CHUNK) {
        const size_t left = n - at;
        good += run_chunk(ops + at, left < CHUNK ? (unsigned)left : CHUNK, direction, choice);
    }
    return good;
}

size_t sealane_seal_batch(sealane_op *ops, size_t n)
{
    return sealane_batch_run(ops, n, 0, sealane_level_batch);
}

size_t sealane_open_batch(sealane_op *ops, size_t n)
{
    return sealane_batch_run(ops, n, SEALANE_FLAG_OPEN, sealane_level_batch);
}
