/* Batches: packets are sorted by length into the lanes of a batch kernel, and what is not worth a lane goes one by one.
 */
#include "batch.h"

#include "key.h"

/* Packets that are planned together. More fill the lanes better when lengths are mixed, and take stack: an Internet mix
 * has about 36 packets of 64 bytes, 20 of 576 and 5 of 1420 in 64. */
enum { CHUNK = 64 };

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
static inline int alone(sealane_op *op, uint64_t direction)
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

/* The packets of a chunk that share a call of the batch kernel. */
typedef struct {
    unsigned count, gain;
    uint8_t op[CHUNK];    /* which of the chunk's they are */
    uint8_t class[CHUNK]; /* whole blocks of each */
    uint8_t in_class[SEALANE_BATCH_CLASSES];
} plan;

/* Lanes in the kernel's order, and what they point to that is not the caller's. */
typedef struct {
    _Alignas(64) sealane_lane lane[CHUNK];
    uint8_t op[CHUNK];
    uint8_t tag[CHUNK][16];                         /* open: to be compared */
    uint8_t subkey[CHUNK][32], subnonce[CHUNK][12]; /* XChaCha20-Poly1305 */
    unsigned subkeys;
} lanes;

/* Does the packets that no lane is for, and plans the others; the number of those that succeeded. */
static size_t make_plan(plan *p, sealane_op *ops, unsigned n, uint64_t direction, const sealane_level *level,
                        const sealane_batch *batch)
{
    size_t good = 0;
    p->count = p->gain = 0;
    memset(p->in_class, 0, sizeof p->in_class);
    for (unsigned i = 0; i < n; i++) {
        sealane_op *op = &ops[i];
        const sealane_status status = mistake(op);
        const size_t class = op->in_bytes / 64;
        if (status != SEALANE_OK) {
            op->status = status;
        } else if (class >= SEALANE_BATCH_CLASSES || batch->gain[class] == 0 || key_level(op->key) != level ||
                   !is_chacha20(op->key)) {
            good += (size_t)alone(op, direction);
        } else {
            p->op[p->count] = (uint8_t)i;
            p->class[p->count++] = (uint8_t) class;
            p->in_class[class]++;
            p->gain += batch->gain[class];
        }
    }
    return good;
}

/* Turns the sizes of the classes into the place of each one's first packet; the longest packets come first. */
static void place_classes(plan *p)
{
    unsigned place = 0;
    for (int class = SEALANE_BATCH_CLASSES - 1; class >= 0; class --) {
        const unsigned size = p->in_class[class];
        p->in_class[class] = (uint8_t)place;
        place += size;
    }
}

static void fill_lanes(lanes *l, plan *p, const sealane_op *ops, uint64_t direction)
{
    l->subkeys = 0;
    for (unsigned i = 0; i < p->count; i++) {
        const sealane_op *op = &ops[p->op[i]];
        const unsigned place = p->in_class[p->class[i]]++;
        const uint8_t *key = key_bytes_of(op->key), *nonce = op->nonce;
        if (key_alg(op->key) == SEALANE_XCHACHA20_POLY1305) {
            xchacha_begin(l->subkey[l->subkeys], l->subnonce[l->subkeys], op->key, op->nonce);
            key = l->subkey[l->subkeys], nonce = l->subnonce[l->subkeys++];
        }
        l->op[place] = p->op[i];
        l->lane[place] = (sealane_lane){
            .out = slot(op->out),
            .in = slot(op->in),
            .bytes = op->in_bytes,
            .ad = slot(op->ad),
            .ad_bytes = op->ad_bytes,
            .key = slot(key),
            .nonce = slot(nonce),
            .tag = slot(direction == SEALANE_FLAG_OPEN ? l->tag[place] : op->tag),
        };
    }
}

/* Compares the tags of all packets, and zeroes what forgeries have left. */
static size_t settle(lanes *l, sealane_op *ops, unsigned count, uint64_t direction)
{
    size_t good = 0;
    for (unsigned i = 0; i < count; i++) {
        sealane_op *op = &ops[l->op[i]];
        const int authentic = direction != SEALANE_FLAG_OPEN || equal16(l->tag[i], op->tag);
        op->status = authentic ? SEALANE_OK : SEALANE_NOT_AUTHENTIC;
        good += (size_t)authentic;
        if (!authentic && op->in_bytes != 0)
            memset(op->out, 0, op->in_bytes);
    }
    if (direction == SEALANE_FLAG_OPEN)
        wipe(l->tag, sizeof l->tag[0] * count);
    wipe(l->subkey, sizeof l->subkey[0] * l->subkeys);
    return good;
}

static size_t side_by_side(plan *p, sealane_op *ops, uint64_t direction, const sealane_batch *batch)
{
    SEALANE_BATCH_SCRATCH(scratch);
    lanes l;
    place_classes(p);
    fill_lanes(&l, p, ops, direction);
    const sealane_args a = batch_args(l.lane, p->count, direction);
    batch->kernel(&a, scratch, batch->consts);
    return settle(&l, ops, p->count, direction);
}

static size_t one_by_one(sealane_op *ops, size_t n, uint64_t direction)
{
    size_t good = 0;
    for (size_t i = 0; i < n; i++)
        good += (size_t)alone(&ops[i], direction);
    return good;
}

static size_t run_chunk(sealane_op *ops, unsigned n, uint64_t direction, sealane_batch_choice *choice)
{
    unsigned first = 0;
    while (first < n && !(key_valid(ops[first].key) && is_chacha20(ops[first].key)))
        first++;
    const sealane_level *level = first < n ? key_level(ops[first].key) : NULL;
    const sealane_batch *batch = level ? choice(level) : NULL;
    size_t good;
    plan p;
    if (batch == NULL || n < batch->least)
        return one_by_one(ops, n, direction);
    good = make_plan(&p, ops, n, direction, level, batch);
    if (p.gain >= batch->cost)
        return good + side_by_side(&p, ops, direction, batch);
    for (unsigned i = 0; i < p.count; i++)
        good += (size_t)alone(&ops[p.op[i]], direction);
    return good;
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
