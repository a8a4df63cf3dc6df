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

/* Other algorithms have no batch kernels. */
static inline int is_chacha20(const sealane_key *k)
{
    return !is_gcm(key_alg(k));
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
    unsigned count, weight, subkeys;
    uint8_t op[CHUNK];                              /* which of the chunk's they are */
    uint8_t class[CHUNK];                           /* whole blocks of text */
    uint8_t tag[CHUNK][16];                         /* open: to be compared */
    uint8_t subkey[CHUNK][32], subnonce[CHUNK][12]; /* XChaCha20-Poly1305 */
} plan;

/* Lane number i, for packet number n of the chunk, with the key and nonce of ChaCha20-Poly1305 that it needs. */
static inline void set_lane(plan *p, unsigned i, sealane_op *op, unsigned n, uint64_t direction, const uint8_t *key,
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

/* 1 if a packet with a key of ChaCha20-Poly1305 and a text of some class is without mistakes: what mistake finds, in
 * fewer instructions. */
static inline int well_formed(const sealane_op *op)
{
    const size_t n = op->in_bytes;
    if (op->nonce_bytes != 12 || op->nonce == NULL || op->tag == NULL)
        return 0;
    if (op->ad_bytes != 0 && (op->ad == NULL || (n != 0 && touches(op->ad, op->ad_bytes, op->out, n))))
        return 0;
    if (n == 0)
        return 1;
    if (op->in == NULL || op->out == NULL || touches(op->nonce, 12, op->out, n) || touches(op->tag, 16, op->out, n))
        return 0;
    return op->out == op->in || !touches(op->in, n, op->out, n);
}

/* Lanes for packets of plain ChaCha20-Poly1305 without mistakes, from number n on; returns the first that is not such.
 */
OUT_OF_LINE static unsigned plan_plain(plan *p, sealane_op *ops, unsigned n, unsigned end, uint64_t direction,
                                       uint64_t key_word, const sealane_batch *batch)
{
    unsigned count = p->count, weight = p->weight;
    for (; n < end; n++) {
        sealane_op *op = &ops[n];
        const size_t class = op->in_bytes / 64;
        if (op->key == NULL || op->key->opaque[0] != key_word || class >= SEALANE_BATCH_CLASSES ||
            batch->from[class] == 0 || !well_formed(op))
            break;
        weight += weights[batch->from[class]];
        set_lane(p, count++, op, n, direction, key_bytes_of(op->key), op->nonce);
    }
    p->count = count, p->weight = weight;
    return n;
}

/* Any other packet: does it, unless it gets a lane; 1 if it succeeded. */
OUT_OF_LINE static int plan_special(plan *p, sealane_op *op, unsigned n, uint64_t direction, const sealane_level *level,
                                    const sealane_batch *batch)
{
    const size_t class = op->in_bytes / 64;
    if (class >= SEALANE_BATCH_CLASSES || batch->from[class] == 0 || !key_valid(op->key) ||
        key_level(op->key) != level || key_alg(op->key) != SEALANE_XCHACHA20_POLY1305)
        return alone(op, direction);
    op->status = mistake(op);
    if (op->status != SEALANE_OK)
        return 0;
    uint8_t *subkey = p->subkey[p->subkeys], *subnonce = p->subnonce[p->subkeys];
    p->subkeys++;
    xchacha_begin(subkey, subnonce, op->key, op->nonce);
    p->weight += weights[batch->from[class]];
    set_lane(p, p->count++, op, n, direction, subkey, subnonce);
    return 0;
}

/* Does the packets that no lane is for, and plans the others; the number of those that succeeded. */
static size_t make_plan(plan *p, sealane_op *ops, unsigned n, uint64_t direction, const sealane_level *level,
                        const sealane_batch *batch)
{
    const uint64_t plain = key_word(SEALANE_CHACHA20_POLY1305, (int)(level - sealane_levels));
    size_t good = 0;
    unsigned i = 0;
    p->count = p->weight = p->subkeys = 0;
    while ((i = plan_plain(p, ops, i, n, direction, plain, batch)) < n)
        good += (size_t)plan_special(p, &ops[i], i, direction, level, batch), i++;
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

static size_t side_by_side(plan *p, sealane_op *ops, uint64_t direction, const sealane_batch *batch)
{
    SEALANE_BATCH_SCRATCH(scratch);
    const sealane_args a = batch_args(sorted_lanes(p), p->count, direction);
    batch->kernel(&a, scratch, batch->consts);
    return direction == SEALANE_FLAG_OPEN ? authenticate(p, ops) : p->count;
}

static size_t one_by_one(sealane_op *ops, size_t n, uint64_t direction)
{
    size_t good = 0;
    for (size_t i = 0; i < n; i++)
        good += (size_t)alone(&ops[i], direction);
    return good;
}

/* Packets of a level, those of others by themselves. */
static size_t run_planned(sealane_op *ops, unsigned n, uint64_t direction, const sealane_level *level,
                          const sealane_batch *batch)
{
    plan p;
    size_t good = make_plan(&p, ops, n, direction, level, batch);
    if (p.weight >= PAYS)
        good += side_by_side(&p, ops, direction, batch);
    else
        for (unsigned i = 0; i < p.count; i++)
            good += (size_t)alone(&ops[p.op[i]], direction);
    wipe(p.subkey, sizeof p.subkey[0] * p.subkeys);
    return good;
}

static size_t run_chunk(sealane_op *ops, unsigned n, uint64_t direction, sealane_batch_choice *choice)
{
    unsigned first = 0;
    while (first < n && !(key_valid(ops[first].key) && is_chacha20(ops[first].key)))
        first++;
    const sealane_level *level = first < n ? key_level(ops[first].key) : NULL;
    const sealane_batch *batch = level ? choice(level) : NULL;
    if (batch == NULL)
        return one_by_one(ops, n, direction);
    return run_planned(ops, n, direction, level, batch);
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
