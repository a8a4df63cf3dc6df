/* A part of check.c: batch kernels lane by lane between guard pages, and the planner with all of them. */

#include "lane.h"
#include "poly1305_edges.h"

/* ---- One call of a batch kernel, its lanes compared with the portable code ---- */

enum { MAX_LANES = 70, LONGEST_LANE = 4096, LONGEST_LANE_AD = 300 };

typedef struct {
    size_t bytes, ad_bytes;
    int in_place, at_end, fill; /* fill: -1 for random text, otherwise a byte */
    int edge;                   /* 0, or its index in poly1305_edges + 1 */
    uint8_t *out, *in, *ad, *key, *nonce, *tag;
    uint8_t want_key[sizeof(sealane_gcm_key)], want_nonce[12], want_tag[16], want_ad[LONGEST_LANE_AD];
    sealane_gcm_key portable_key;
    uint8_t text[LONGEST_LANE], want[LONGEST_LANE];
    arena arena_out, arena_in, arena_ad, arena_key, arena_nonce, arena_tag;
} lane_job;

static lane_job lane_jobs[MAX_LANES];
static arena arena_lanes;
static unsigned lane_count;

static void lane_arenas_new(void)
{
    if (arena_lanes.base != NULL)
        return;
    arena_lanes = arena_new(MAX_LANES * sizeof(sealane_lane));
    for (int i = 0; i < MAX_LANES; i++) {
        lane_job *j = &lane_jobs[i];
        j->arena_out = arena_new(LONGEST_LANE + 64), j->arena_in = arena_new(LONGEST_LANE + 64);
        j->arena_ad = arena_new(LONGEST_LANE_AD + 64), j->arena_key = arena_new(1);
        j->arena_nonce = arena_new(1), j->arena_tag = arena_new(1);
    }
}

static int place_lane(sealane_lane *lane, lane_job *j)
{
    const size_t skew = j->at_end ? 0 : below(64);
    j->out = arena_place(&j->arena_out, j->bytes, j->at_end, skew);
    j->in = j->in_place ? j->out : arena_place(&j->arena_in, j->bytes, j->at_end, below(2) ? 0 : skew);
    j->ad = arena_place(&j->arena_ad, j->ad_bytes, j->at_end, skew);
    j->key = arena_place(&j->arena_key, key_size(), j->at_end, now.gcm ? skew & ~(size_t)7 : skew);
    j->nonce = arena_place(&j->arena_nonce, 12, j->at_end, skew);
    j->tag = arena_place(&j->arena_tag, 16, j->at_end, skew);

    randomize(key, 32), randomize(j->want_nonce, 12), randomize(j->want_ad, j->ad_bytes);
    if (j->edge)
        memcpy(key, poly1305_edges[j->edge - 1].key, 32), memcpy(j->want_nonce, poly1305_edges[j->edge - 1].nonce, 12);
    now.rounds = 10 + 2 * (int)below(3), now.with_j0 = 0;
    if (!set_up_key(j->key))
        return 0;
    j->portable_key = portable_key;
    memcpy(j->want_key, j->key, key_size());
    j->fill < 0 ? randomize(j->text, j->bytes) : (void)memset(j->text, j->fill, j->bytes);
    if (j->edge)
        memcpy(j->text, poly1305_edges[j->edge - 1].text, POLY1305_EDGE_BYTES);
    memset(j->arena_out.base, 0xc3, j->arena_out.room), memset(j->arena_tag.base, 0xc3, j->arena_tag.room);
    memcpy(j->in, j->text, j->bytes), memcpy(j->ad, j->want_ad, j->ad_bytes);
    memcpy(j->nonce, j->want_nonce, 12);
    *lane = (sealane_lane){
        .out = slot(j->bytes ? j->out : NULL),
        .in = slot(j->bytes ? j->in : NULL),
        .bytes = j->bytes,
        .ad = slot(j->ad_bytes ? j->ad : NULL),
        .ad_bytes = j->ad_bytes,
        .key = slot(j->key),
        .nonce = slot(j->nonce),
        .tag = slot(j->tag),
    };
    return 1;
}

static void expect_lane(lane_job *j)
{
    const sealane_packet_args a = {
        .out = slot(j->want),
        .in = slot(j->text),
        .bytes = j->bytes,
        .ad = slot(j->want_ad),
        .ad_bytes = j->ad_bytes,
        .key = slot(j->want_key),
        .nonce = slot(j->want_nonce),
        .tag = slot(j->want_tag),
        .total = j->bytes,
    };
    portable_key = j->portable_key;
    portable(a, NULL, first_flags() | SEALANE_FLAG_LAST | (now.open ? SEALANE_FLAG_OPEN : 0));
}

static int untouched(const arena *a, const uint8_t *p, size_t bytes)
{
    const size_t begin = (size_t)(p - a->base), behind = a->room - begin - bytes;
    return first_other(a->base, begin, 0xc3) == begin && first_other(p + bytes, behind, 0xc3) == behind;
}

static int lane_is_right(const lane_job *j)
{
    if (!same_bytes(j->out, j->want, j->bytes, "output"))
        return 0;
    if (memcmp(j->tag, j->want_tag, 16) != 0)
        return fail("wrong tag");
    if (!j->in_place && memcmp(j->in, j->text, j->bytes) != 0)
        return fail("the input was changed");
    if (memcmp(j->ad, j->want_ad, j->ad_bytes) || memcmp(j->key, j->want_key, key_size()) ||
        memcmp(j->nonce, j->want_nonce, 12))
        return fail("associated data, key or nonce was changed");
    if (!untouched(&j->arena_out, j->out, j->bytes) || !untouched(&j->arena_tag, j->tag, 16))
        return fail("bytes around the output or the tag were written");
    return 1;
}

static int run_lanes(void)
{
    static sealane_lane before[MAX_LANES];
    const size_t lanes_bytes = lane_count * sizeof(sealane_lane);
    sealane_lane *lanes = (void *)arena_place(&arena_lanes, lanes_bytes, 1, 0);
    const sealane_batch *batch = &now.level.batch;
    const sealane_batch_args a = {.lanes = slot(lanes), .count = lane_count, .flags = now.open ? SEALANE_FLAG_OPEN : 0};
    for (now.part = 0; now.part < lane_count; now.part++) {
        if (!place_lane(&lanes[now.part], &lane_jobs[now.part]))
            return 0;
        expect_lane(&lane_jobs[now.part]);
    }
    memcpy(before, lanes, lanes_bytes);
    if (!call_kernel(&a, batch->kernel, batch->consts, &arena_batch_scratch, arena_batch_scratch.room))
        return 0;
    if (memcmp(before, lanes, lanes_bytes) != 0)
        return fail("the lanes were changed");
    for (now.part = 0; now.part < lane_count; now.part++)
        if (!lane_is_right(&lane_jobs[now.part]))
            return 0;
    return 1;
}

static void plain_lane(lane_job *j, size_t bytes)
{
    j->bytes = bytes;
    j->ad_bytes = below(4) == 0 ? below(LONGEST_LANE_AD) : below(33);
    j->in_place = (int)below(2), j->at_end = (int)below(2), j->fill = -1, j->edge = 0;
}

static int by_length(const void *a, const void *b)
{
    const size_t x = ((const lane_job *)a)->bytes, y = ((const lane_job *)b)->bytes;
    return x / 64 < y / 64 ? 1 : x / 64 > y / 64 ? -1 : 0;
}

/* All lanes of one length: every length up to 700, larger ones in steps; all numbers of lanes. */
static int group_batch_lengths(void)
{
    lane_arenas_new();
    for (size_t bytes = 0, step = 1; bytes < LONGEST_LANE; bytes += step) {
        if (bytes > 300 && left_out())
            continue;
        lane_count = 1 + (unsigned)below(bytes < 300 ? 40 : 20);
        now.open = (int)below(2);
        for (unsigned i = 0; i < lane_count; i++)
            plain_lane(&lane_jobs[i], bytes);
        if (!run_lanes())
            return 0;
        step = bytes < 700 ? 1 : 1 + below(30);
    }
    return 1;
}

/* Sums near p, in any lane. */
static int group_batch_edge(void)
{
    lane_arenas_new();
    now.open = 1;
    for (unsigned n = 1; n <= 3 * POLY1305_EDGES; n++) {
        lane_count = n;
        for (unsigned i = 0; i < n; i++) {
            plain_lane(&lane_jobs[i], POLY1305_EDGE_BYTES);
            lane_jobs[i].ad_bytes = 0, lane_jobs[i].edge = 1 + (int)((n + i) % POLY1305_EDGES);
        }
        if (!run_lanes())
            return 0;
    }
    return 1;
}

/* Any mix, sorted by whole blocks as the planner's is, and sometimes unsorted, which may be slow but not wrong. */
static int group_batch_mixes(void)
{
    static const size_t imix[] = {64, 64, 64, 64, 64, 64, 64, 576, 576, 576, 576, 1420};
    lane_arenas_new();
    for (int i = 0; i < 260; i++) {
        if (i > MAX_LANES && left_out())
            continue;
        const size_t most = 1 + below(i % 4 ? 300 : LONGEST_LANE);
        lane_count = i <= MAX_LANES ? (unsigned)i : (unsigned)below(MAX_LANES + 1);
        now.open = i & 1;
        for (unsigned n = 0; n < lane_count; n++) {
            const size_t bytes = i % 5 == 0 ? imix[below(12)] : below(most + 1);
            plain_lane(&lane_jobs[n], bytes);
            lane_jobs[n].fill = i % 7 == 3 ? (below(2) ? 0xff : 0) : -1;
        }
        if (i % 3)
            qsort(lane_jobs, lane_count, sizeof *lane_jobs, by_length);
        if (!run_lanes())
            return 0;
    }
    return 1;
}

/* ---- The planner: whole batches through the interface, compared with portable code for single packets ---- */

enum { MAX_OPS = 300, OP_ROOM = 2 * 2048 + 300 + 24 + 16 + 64, KEYS = 12 };

static uint8_t memory_got[MAX_OPS * OP_ROOM], memory_want[MAX_OPS * OP_ROOM];
static sealane_key keys_got[KEYS], keys_want[KEYS], no_key;

/* The address in memory_want that corresponds to p in memory_got. */
static uint8_t *twin(const uint8_t *p)
{
    return p ? memory_want + (p - memory_got) : NULL;
}

/* The keys of a batch: most at the level under test, some at portable, and some of the other primitive. Their twins are
 * all portable.
 */
static void make_keys(void)
{
    static const sealane_alg algs[2][3] = {
        {SEALANE_CHACHA20_POLY1305, SEALANE_XCHACHA20_POLY1305, SEALANE_CHACHA20_POLY1305},
        {SEALANE_AES_128_GCM, SEALANE_AES_192_GCM, SEALANE_AES_256_GCM},
    };
    static const size_t sizes[2][3] = {{32, 32, 32}, {16, 24, 32}};
    for (int i = 0; i < KEYS; i++) {
        const int other = below(6) == 0, gcm = now.gcm != other;
        const size_t which = below(3);
        const sealane_table *table = &sealane_tables[gcm ? SEALANE_AESGCM : SEALANE_CHACHA20POLY1305];
        const int by_portable = (int)table->count - 1;
        int level = other ? sealane_level_of_process(table) : sealane_level_find(table, now.level.name);
        if (below(20) == 0)
            level = by_portable;
        randomize(key, 32);
        if (sealane_key_init_at(&keys_got[i], algs[gcm][which], key, sizes[gcm][which], level) != 0 ||
            sealane_key_init_at(&keys_want[i], algs[gcm][which], key, sizes[gcm][which], by_portable) != 0)
            exit(2);
    }
}

static size_t op_bytes(int mix)
{
    static const size_t imix[] = {64, 64, 64, 64, 64, 64, 64, 576, 576, 576, 576, 1420};
    return mix == 0 ? imix[below(12)] : mix == 1 ? 64 : mix == 2 ? below(200) : below(2049);
}

static void make_op(sealane_op *op, uint8_t *at, int mix)
{
    const size_t bytes = op_bytes(mix), ad_bytes = below(5) == 0 ? below(200) : below(33);
    memset(op, 0, sizeof *op);
    op->key = &keys_got[below(KEYS)];
    op->nonce = at, op->nonce_bytes = nonce_bytes_of(key_alg(op->key));
    if (is_gcm(key_alg(op->key)) && below(8) == 0)
        op->nonce_bytes = 1 + below(24);
    at += op->nonce_bytes;
    op->ad = ad_bytes ? at : NULL, op->ad_bytes = ad_bytes, at += ad_bytes + below(8);
    op->out = bytes ? at : NULL, op->in_bytes = bytes, op->tag = at + bytes, at += bytes + 16;
    op->in = below(2) ? op->out : bytes ? at : NULL;
    op->status = (sealane_status)99;
}

/* Returns the op that opens the output of op into the buffer that the text came from. */
static sealane_op opening(const sealane_op *op)
{
    sealane_op o = *op;
    o.in = op->out, o.out = (uint8_t *)(uintptr_t)op->in;
    return o;
}

/* Makes a caller's mistake. */
static void make_mistake(sealane_op *op)
{
    switch (below(6)) {
    case 0:
        op->key = below(2) ? NULL : &no_key;
        break;
    case 1:
        op->nonce_bytes = is_gcm(key_alg(op->key)) ? 0 : op->nonce_bytes + 1;
        break;
    case 2:
        op->tag = NULL;
        break;
    case 3:
        op->nonce = NULL;
        break;
    case 4:
        op->ad = NULL, op->ad_bytes = 5;
        break;
    default:
        op->tag = op->out ? op->out : NULL;
        break;
    }
}

static sealane_status status_by_rule(const sealane_op *op)
{
    if (op->key == NULL || op->key == &no_key)
        return SEALANE_INVALID_KEY;
    if (!nonce_fits(key_alg(op->key), op->nonce_bytes))
        return SEALANE_INVALID_NONCE;
    if (op->nonce == NULL || op->tag == NULL || (op->ad == NULL && op->ad_bytes))
        return SEALANE_NULL;
    return op->in_bytes && op->tag == op->out ? SEALANE_OVERLAP : SEALANE_OK;
}

/* The expected result of one op, from portable code on the twin of its memory. */
static sealane_status do_twin(const sealane_op *op, int open)
{
    const sealane_status status = status_by_rule(op);
    const sealane_key *k = status == SEALANE_INVALID_KEY ? NULL : &keys_want[op->key - keys_got];
    const int got = open ? sealane_open(k, twin(op->out), twin(op->tag), twin(op->nonce), op->nonce_bytes, twin(op->ad),
                                        op->ad_bytes, twin(op->in), op->in_bytes)
                         : sealane_seal(k, twin(op->out), twin(op->tag), twin(op->nonce), op->nonce_bytes, twin(op->ad),
                                        op->ad_bytes, twin(op->in), op->in_bytes);
    return status == SEALANE_OK && open ? (sealane_status)got : status;
}

/* Flips a bit of the authenticated bytes, or of the tag. */
static void forge(const sealane_op *op)
{
    uint8_t *parts[] = {op->tag, (uint8_t *)(uintptr_t)op->in, (uint8_t *)(uintptr_t)op->ad,
                        (uint8_t *)(uintptr_t)op->nonce};
    const size_t sizes[] = {16, op->in_bytes, op->ad_bytes, op->nonce_bytes};
    const size_t part = below(4);
    if (sizes[part])
        parts[part][below(sizes[part])] ^= (uint8_t)(1 << below(8));
}

static unsigned op_count;

static int same_outcome(const sealane_op *ops, const sealane_status *want, size_t good, int open)
{
    size_t want_good = 0;
    for (now.part = 0; now.part < op_count; now.part++) {
        want_good += want[now.part] == SEALANE_OK;
        if (ops[now.part].status != want[now.part])
            return fail("%s: packet %u of %u has status %d instead of %d", open ? "open" : "seal", now.part, op_count,
                        (int)ops[now.part].status, (int)want[now.part]);
        if (memcmp(memory_got + now.part * OP_ROOM, memory_want + now.part * OP_ROOM, OP_ROOM) != 0)
            return fail("%s: the memory of packet %u of %u (%zu bytes) is wrong", open ? "open" : "seal", now.part,
                        op_count, ops[now.part].in_bytes);
    }
    return good == want_good || fail("%zu packets are said to be good, not %zu", good, want_good);
}

/* The choice for the level under test. */
static const sealane_batch *test_choice(const sealane_table *table, const sealane_level *level)
{
    (void)level;
    return table == &sealane_tables[SEALANE_CHACHA20POLY1305] ? &now.level.batch : NULL;
}

/* Replaces a batch kernel for portable code, which has no batch kernel. */
static void SEALANE_KERNEL_ABI one_by_one(const void *args, void *scratch, const void *consts)
{
    const sealane_batch_args *a = args;
    const sealane_lane *lanes = (const sealane_lane *)(uintptr_t)a->lanes;
    for (size_t i = 0; i < a->count; i++) {
        const sealane_packet_args packet = lane_args(&lanes[i], a->flags);
        sealane_chacha20poly1305_portable(&packet, scratch, consts);
    }
}

static const sealane_batch portable_batch = {
    .kernel = one_by_one, .few = 2, .classes = 7, .from = {2, 3, 3, 5, 9, 0, 16}};

static const sealane_batch *portable_choice(const sealane_table *table, const sealane_level *level)
{
    (void)level;
    return table == &sealane_tables[SEALANE_CHACHA20POLY1305] ? &portable_batch : NULL;
}

/* Seals n packets, forges some, and opens them, with some caller's mistakes. */
static int run_ops(unsigned n, sealane_batch_choice *choice)
{
    static sealane_op sound[MAX_OPS], ops[MAX_OPS];
    static sealane_status want[MAX_OPS];
    const int mix = (int)below(4), with_mistakes = below(3) == 0, forgeries = (int)below(4);
    op_count = n;
    make_keys();
    randomize(memory_got, n * OP_ROOM);
    for (unsigned i = 0; i < n; i++)
        make_op(&sound[i], memory_got + i * OP_ROOM, mix);
    for (int open = 0; open < 2; open++) {
        for (unsigned i = 0; i < n; i++) {
            ops[i] = open ? opening(&sound[i]) : sound[i];
            if (open && (forgeries == 3 || (forgeries && below(10) == 0)))
                forge(&ops[i]);
            if (with_mistakes && below(10) == 0)
                make_mistake(&ops[i]);
        }
        memcpy(memory_want, memory_got, n * OP_ROOM);
        for (unsigned i = 0; i < n; i++)
            want[i] = do_twin(&ops[i], open);
        const size_t good = sealane_batch_run(ops, n, open ? SEALANE_FLAG_OPEN : 0, choice);
        if (!same_outcome(ops, want, good, open))
            return 0;
    }
    return 1;
}

/* The smallest useful batch and the last useful class must be those of the level. */
static int plan_is_whole(const sealane_batch *batch)
{
    unsigned least = SEALANE_BATCH_FROM_MAX + 1;
    if (batch->kernel == NULL)
        return 1;
    for (unsigned class = 0; class < batch->classes; class ++)
        if (batch->from[class] != 0 && batch->from[class] < least)
            least = batch->from[class];
    return (batch->few == least && batch->classes != 0 && batch->from[batch->classes - 1] != 0) ||
           fail("%u packets are few, %u pay; %u classes", batch->few, least, batch->classes);
}

static int group_batches(void)
{
    if (!plan_is_whole(&now.level.batch))
        return 0;
    for (unsigned n = 0; n <= MAX_OPS; n += n < 70 ? 1 : 1 + (unsigned)below(20))
        if (!(left_out() || run_ops(n, test_choice)) || !(left_out() || run_ops(n, portable_choice)))
            return 0;
    return sealane_batch_run(NULL, 5, 0, test_choice) == 0 || fail("packets were found at NULL");
}

/* ---- Batch kernels that are wrong in one way ---- */

static sealane_batch corrupt_batch;

static sealane_lane *lane_of(const sealane_batch_args *a, size_t i)
{
    return (sealane_lane *)(uintptr_t)a->lanes + i;
}

#define BATCH_INNER() corrupt_batch.kernel(a, scratch, consts)

#define BATCH_CORRUPTERS(X)            \
    X(tag, "tag-of-one-lane")          \
    X(text, "text-of-one-lane")        \
    X(crossed, "crossed-keys")         \
    X(behind, "write-behind-a-lane")   \
    X(reads, "read-behind-a-lane")     \
    X(last, "last-lane-left-out")      \
    X(lanes, "lanes-changed")          \
    X(scratch, "batch-scratch")        \
    X(mixed, "lanes-of-mixed-lengths") \
    X(ones, "text-of-ones")

CORRUPTER_OF(batch, corrupt_batch_tag)
{
    BATCH_INNER();
    if (a->count > 17)
        slot_bytes(lane_of(a, 17)->tag)[15] ^= 0x80;
}

CORRUPTER_OF(batch, corrupt_batch_text)
{
    BATCH_INNER();
    for (size_t i = 0; i < a->count; i++)
        if (lane_of(a, i)->bytes == 333)
            slot_bytes(lane_of(a, i)->out)[332] ^= 1;
}

/* Gives two lanes of one length each other's key. */
CORRUPTER_OF(batch, corrupt_batch_crossed)
{
    const int crossed = a->count > 33 && lane_of(a, 32)->bytes == lane_of(a, 33)->bytes;
    if (crossed) {
        const uint64_t k = lane_of(a, 32)->key;
        lane_of(a, 32)->key = lane_of(a, 33)->key, lane_of(a, 33)->key = k;
    }
    BATCH_INNER();
    if (crossed) {
        const uint64_t k = lane_of(a, 32)->key;
        lane_of(a, 32)->key = lane_of(a, 33)->key, lane_of(a, 33)->key = k;
    }
}

CORRUPTER_OF(batch, corrupt_batch_behind)
{
    BATCH_INNER();
    for (size_t i = 0; i < a->count; i++)
        if (lane_of(a, i)->bytes == 130)
            slot_bytes(lane_of(a, i)->out)[130] = 0;
}

CORRUPTER_OF(batch, corrupt_batch_reads)
{
    BATCH_INNER();
    for (size_t i = 0; i < a->count; i++)
        if (lane_of(a, i)->bytes % 16 == 7)
            (void)*(volatile uint8_t *)(slot_bytes(lane_of(a, i)->in) + lane_of(a, i)->bytes);
}

CORRUPTER_OF(batch, corrupt_batch_last)
{
    sealane_batch_args fewer = *a;
    fewer.count -= a->count % 16 == 1;
    corrupt_batch.kernel(&fewer, scratch, consts);
}

CORRUPTER_OF(batch, corrupt_batch_lanes)
{
    BATCH_INNER();
    if (a->count > 3)
        lane_of(a, 3)->bytes++;
}

CORRUPTER_OF(batch, corrupt_batch_scratch)
{
    BATCH_INNER();
    memcpy((uint8_t *)scratch + SEALANE_BATCH_SCRATCH_BYTES - 8, slot_bytes(lane_of(a, 0)->key), a->count ? 8 : 0);
}

CORRUPTER_OF(batch, corrupt_batch_mixed)
{
    BATCH_INNER();
    if (a->count > 1 && lane_of(a, 0)->bytes / 64 > lane_of(a, 1)->bytes / 64 + 3)
        slot_bytes(lane_of(a, 1)->tag)[0] ^= 1;
}

CORRUPTER_OF(batch, corrupt_batch_ones)
{
    int ones = a->count > 0 && (a->flags & SEALANE_FLAG_OPEN) && lane_of(a, 0)->bytes >= 64;
    for (size_t i = 0; ones && i < lane_of(a, 0)->bytes; i++)
        ones = slot_bytes(lane_of(a, 0)->in)[i] == 0xff;
    BATCH_INNER();
    if (ones)
        slot_bytes(lane_of(a, 0)->tag)[8] ^= 1;
}

/* For the self-test of batches: right except in the last lane, of 1024 bytes. */
CORRUPTER_OF(batch, wrong_batch_tag)
{
    one_by_one(a, scratch, consts);
    if (a->count > 0 && lane_of(a, a->count - 1)->bytes == 1024)
        slot_bytes(lane_of(a, a->count - 1)->tag)[7] ^= 1;
}
