/* Batches: packets are sorted by length into the lanes of a batch kernel, and what is not worth a lane goes one by one.
 */
#include "batch.h"

#include "dit.h"
#include "key.h"

/* Packets that are planned together. More fill the lanes better when lengths are mixed, and take stack: an Internet mix
 * has about 36 packets of 64 bytes, 20 of 576 and 5 of 1420 in 64. */
enum { CHUNK = 64 };

/* Keeps the rest from taking registers from the loop that matters. */
#define OUT_OF_LINE NOINLINE

/* One packet by itself; 1 if it succeeded. */
static int alone(sealane_op *op, uint64_t direction)
{
    op->status = (sealane_status)(direction == SEALANE_FLAG_OPEN
                                      ? sealane_open(op->key, op->out, op->tag, op->nonce, op->nonce_bytes, op->ad,
                                                     op->ad_bytes, op->in, op->in_bytes)
                                      : sealane_seal(op->key, op->out, op->tag, op->nonce, op->nonce_bytes, op->ad,
                                                     op->ad_bytes, op->in, op->in_bytes));
    return op->status == SEALANE_OK;
}

/* What a packet counts towards a batch that pays: PAYS / from, rounded up. */
enum { PAYS = 240 };
static const uint8_t weights[SEALANE_BATCH_FROM_MAX + 1] = {0,  240, 120, 80, 60, 48, 40, 35, 30,
                                                            27, 24,  22,  20, 19, 18, 16, 15};

/* A sealane_lane. Where addresses are narrower than slots and stand at their beginning, what is above is not written,
 * as nobody reads it. */
typedef struct {
#if UINTPTR_MAX < UINT64_MAX && defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    uintptr_t v;
    uint8_t above[8 - sizeof(uintptr_t)];
#else
    uint64_t v;
#endif
} address;

typedef struct {
    address out, in;
    uint64_t bytes;
    address ad;
    uint64_t ad_bytes;
    address key, nonce, tag;
} lane;

_Static_assert(sizeof(lane) == SEALANE_LANE_STRIDE && offsetof(lane, tag) == SEALANE_LANE_TAG, "lane");

/* The packets of a chunk that share a call of the batch kernel. */
typedef struct {
    _Alignas(64) lane lane[CHUNK], sorted[CHUNK];
    unsigned count, subkeys, later;
    int mixed;   /* there may be lanes of different classes */
    int skipped; /* lanes are not of the packets of their own number, but of these: */
    uint8_t op[CHUNK];
    uint8_t tag[CHUNK][16];                         /* open: to be compared */
    uint8_t subkey[CHUNK][32], subnonce[CHUNK][12]; /* XChaCha20-Poly1305 */
    uint8_t put_off[CHUNK];                         /* those of the other primitive */
} plan;

static void begin_plan(plan *p)
{
    p->count = p->subkeys = 0;
    p->mixed = p->skipped = 0;
}

/* Which packet a lane is of. */
static inline unsigned op_of(const plan *p, unsigned i)
{
    return p->skipped ? p->op[i] : i;
}

/* Notes that the next n lanes are for the packets from number first on. */
static void add_ops(plan *p, unsigned first, unsigned n)
{
    if (p->count != first && !p->skipped) {
        for (unsigned i = 0; i < p->count; i++)
            p->op[i] = (uint8_t)i;
        p->skipped = 1;
    }
    for (unsigned i = 0; i < n && p->skipped; i++)
        p->op[p->count + i] = (uint8_t)(first + i);
    p->count += n;
}

/* Number of whole blocks of text. */
static inline unsigned class_of(const lane *l)
{
    return (unsigned)l->bytes / 64;
}

/* The lane for a packet, with the key and nonce that the kernel is to have. */
static ALWAYS_INLINE inline void set_lane(lane *l, sealane_op *op, uintptr_t key, const uint8_t *nonce,
                                          const uint8_t *tag)
{
    l->out.v = (uintptr_t)op->out;
    l->in.v = (uintptr_t)op->in;
    l->bytes = op->in_bytes;
    l->ad.v = (uintptr_t)op->ad;
    l->ad_bytes = op->ad_bytes;
    l->key.v = key;
    l->nonce.v = (uintptr_t)nonce;
    l->tag.v = (uintptr_t)tag;
    op->status = SEALANE_OK; /* until its tag is found wrong */
}

static inline sealane_packet packet_of(const sealane_op *op, int open)
{
    return (sealane_packet){op->key,      op->out,   op->in,          op->in_bytes, op->ad,
                            op->ad_bytes, op->nonce, op->nonce_bytes, op->tag,      open};
}

/* 1 if a packet with a nonce of 12 bytes and a text of some class is without mistakes. 0 also if there is very much
 * associated data. */
static ALWAYS_INLINE inline int well_formed(const sealane_op *op, int open)
{
    const sealane_packet p = {op->key,      op->out,   op->in, op->in_bytes, op->ad,
                              op->ad_bytes, op->nonce, 12,     op->tag,      open};
    return packet_mistake(&p, (sealane_limits){LENGTH_MAX, INT32_MAX, SEALANE_TAG_BYTES}) == SEALANE_OK;
}

/* What packets of a level are done with. */
typedef struct {
    const sealane_table *table;
    const sealane_level *level;
    const sealane_batch *batch;
    sealane_batch_choice *choice;
    uint64_t direction;
    uint32_t key_word, more_words; /* of keys that go into lanes as they are: that one and so many after it */
    size_t key_at;                 /* where in them the kernel's key is */
} planner;

/* NULL for its batch: no packets are ever faster side by side. */
static planner planner_of(const sealane_key *k, uint64_t direction, sealane_batch_choice *choice)
{
    planner r = {.table = table_of(key_alg(k)), .level = key_level(k), .choice = choice, .direction = direction};
    const int gcm = is_gcm(key_alg(k)), index = (int)(r.level - r.table->levels);
    _Static_assert(SEALANE_AES_256_GCM == SEALANE_AES_128_GCM + 1 && SEALANE_AES_192_GCM == SEALANE_AES_128_GCM + 2,
                   "AES-GCM's numbers are not in a row");
    r.batch = choice(r.table, r.level, direction);
    if (r.batch != NULL && r.batch->classes == 0)
        r.batch = NULL;
    r.key_word = (uint32_t)key_word(gcm ? SEALANE_AES_128_GCM : SEALANE_CHACHA20_POLY1305, index, SEALANE_TAG_BYTES);
    r.more_words = gcm ? 2 : 0;
    r.key_at = r.level->key_at;
    return r;
}

/* Whether packets of that length are ever faster side by side. */
static inline int has_lane(const planner *r, size_t class)
{
    return class < r->batch->classes &&
           r->batch->from[class % SEALANE_BATCH_CLASSES] != 0; /* there are no more classes */
}

static inline int is_plain_key(const planner *r, const sealane_key *k)
{
    return key_marked(k) && (uint32_t)k->opaque[0] - r->key_word <= r->more_words;
}

static inline int goes_alone(const planner *r, const sealane_op *op)
{
    return is_plain_key(r, op->key) && !has_lane(r, op->in_bytes / 64);
}

/* Lanes for the first packets, as far as they need nothing but one and are of one class, or of any; how many. */
static ALWAYS_INLINE inline unsigned fill(plan *p, sealane_op *ops, unsigned n, const planner *r, int any, int open)
{
    const size_t least = any ? 0 : ops->in_bytes / 64 * 64, span = any ? (size_t)r->batch->classes * 64 : 64;
    const uintptr_t key_at = r->key_at;
    lane *l = &p->lane[p->count];
    uint8_t(*tag)[16] = &p->tag[p->count];
    unsigned i = 0;
    for (; i < n; i++, l++) {
        sealane_op *op = &ops[i];
        const sealane_key *const key = op->key; /* loaded side by side */
        const size_t beyond = op->in_bytes - least, nonce_bytes = op->nonce_bytes;
        if (key == NULL || beyond >= span || nonce_bytes != 12 || !is_plain_key(r, key) || !well_formed(op, open))
            break;
        set_lane(l, op, (uintptr_t)op->key + key_at, op->nonce, open ? *tag++ : op->tag);
    }
    return i;
}

OUT_OF_LINE static unsigned fill_to_seal(plan *p, sealane_op *ops, unsigned n, const planner *r, int any)
{
    return fill(p, ops, n, r, any, 0);
}

OUT_OF_LINE static unsigned fill_to_open(plan *p, sealane_op *ops, unsigned n, const planner *r, int any)
{
    return fill(p, ops, n, r, any, 1);
}

/* Lanes for packets that need nothing but one, from number n on; returns the first that is not such. Their order is
 * looked at only where their classes differ. */
static unsigned plan_plain(plan *p, sealane_op *ops, unsigned n, unsigned end, const planner *r)
{
    while (n < end && has_lane(r, ops[n].in_bytes / 64)) {
        unsigned (*const fills)(plan *, sealane_op *, unsigned, const planner *, int) =
            r->direction == SEALANE_FLAG_OPEN ? fill_to_open : fill_to_seal;
        const unsigned added = fills(p, ops + n, end - n, r, p->mixed);
        add_ops(p, n, added);
        n += added;
        if (p->mixed)
            break;
        p->mixed = n < end;
    }
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
    const sealane_packet wanted = packet_of(op, r->direction == SEALANE_FLAG_OPEN);
    op->status = sealane_mistake(&wanted);
    if (op->status != SEALANE_OK)
        return alone(op, r->direction);
    uint8_t *subkey = p->subkey[p->subkeys], *subnonce = p->subnonce[p->subkeys];
    p->subkeys++;
    xchacha_begin(subkey, subnonce, op->key, op->nonce);
    set_lane(&p->lane[p->count], op, (uintptr_t)subkey, subnonce,
             r->direction == SEALANE_FLAG_OPEN ? p->tag[p->count] : op->tag);
    add_ops(p, n, 1);
    p->mixed = 1;
    return 0;
}

/* Does the packets that no lane is for, and plans the others; the number of those that succeeded. */
static size_t make_plan(plan *p, sealane_op *ops, unsigned n, const planner *r)
{
    size_t good = 0;
    unsigned i = 0;
    begin_plan(p);
    p->later = 0;
    while ((i = plan_plain(p, ops, i, n, r)) < n) {
        good += (size_t)plan_special(p, &ops[i], i, r), i++;
        for (; i < n && goes_alone(r, &ops[i]); i++) /* mostly they are many */
            good += (size_t)alone(&ops[i], r->direction);
    }
    return good;
}

/* The lanes by falling class: a counting sort, left out where there is nothing to do. */
static const lane *sorted_lanes(plan *p)
{
    uint8_t place[SEALANE_BATCH_CLASSES] = {0};
    unsigned i = 1, next = 0;
    if (!p->mixed)
        return p->lane;
    while (i < p->count && class_of(&p->lane[i]) <= class_of(&p->lane[i - 1]))
        i++;
    if (i >= p->count)
        return p->lane;
    for (i = 0; i < p->count; i++)
        place[class_of(&p->lane[i])]++;
    for (int class = SEALANE_BATCH_CLASSES - 1; class >= 0; class --) {
        const unsigned size = place[class];
        place[class] = (uint8_t)next;
        next += size;
    }
    for (i = 0; i < p->count; i++)
        p->sorted[place[class_of(&p->lane[i])]++] = p->lane[i];
    return p->sorted;
}

/* Compares the tags of all packets, and takes back what forgeries have left. */
static size_t authenticate(plan *p, sealane_op *ops, void *scratch)
{
    size_t good = p->count;
    for (unsigned i = 0; i < p->count; i++) {
        sealane_op *op = &ops[op_of(p, i)];
        if (equal16(p->tag[i], op->tag))
            continue;
        good--;
        const sealane_packet forged = packet_of(op, 1);
        op->status = sealane_take_back(&forged, scratch);
    }
    wipe(p->tag, sizeof p->tag[0] * p->count);
    return good;
}

OUT_OF_LINE static size_t side_by_side(plan *p, sealane_op *ops, const planner *r)
{
    SEALANE_BATCH_SCRATCH(scratch);
    const sealane_args a = {.in = slot(sorted_lanes(p)), .bytes = p->count, .flags = r->direction};
    r->batch->kernel(&a, scratch, r->batch->consts);
    return r->direction == SEALANE_FLAG_OPEN ? authenticate(p, ops, scratch) : p->count;
}

static size_t one_by_one(sealane_op *ops, size_t n, uint64_t direction)
{
    size_t good = 0;
    for (size_t i = 0; i < n; i++)
        good += (size_t)alone(&ops[i], direction);
    return good;
}

/* How many of the lanes' packets are better done by themselves. */
static unsigned better_alone(const plan *p, const sealane_batch *batch)
{
    if (p->count < SEALANE_BATCH_FROM_MAX) {
        unsigned weight = 0;
        for (unsigned i = 0; i < p->count; i++)
            weight += weights[batch->from[class_of(&p->lane[i])]];
        if (weight < PAYS)
            return p->count;
    }
    return 0;
}

/* What was planned. */
OUT_OF_LINE static size_t carry_out(plan *p, sealane_op *ops, const planner *r)
{
    size_t good = 0;
    for (unsigned left = better_alone(p, r->batch); left > 0; left--)
        p->count--, good += (size_t)alone(&ops[op_of(p, p->count)], r->direction);
    if (p->count > 0)
        good += side_by_side(p, ops, r);
    if (p->subkeys != 0) {
        wipe(p->subkey, sizeof p->subkey[0] * p->subkeys);
        sealane_burn_stack();
    }
    return good;
}

/* The packets of the other primitive. */
OUT_OF_LINE static size_t run_put_off(plan *p, sealane_op *ops, const planner *before)
{
    const planner r = planner_of(ops[p->put_off[0]].key, before->direction, before->choice);
    const unsigned later = p->later;
    size_t good = 0;
    begin_plan(p);
    p->mixed = 1;
    for (unsigned i = 0; i < later; i++) {
        const unsigned n = p->put_off[i];
        if (r.batch == NULL)
            good += (size_t)alone(&ops[n], r.direction);
        else if (plan_plain(p, ops, n, n + 1, &r) == n)
            good += (size_t)plan_special(p, &ops[n], n, &r);
    }
    return r.batch ? good + carry_out(p, ops, &r) : good;
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
        if (r.batch != NULL && n < r.batch->few)
            break;
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
    const uint64_t dit = dit_on();
    for (size_t at = 0; at < n; at += CHUNK) {
        const size_t left = n - at;
        good += run_chunk(ops + at, left < CHUNK ? (unsigned)left : CHUNK, direction, choice);
    }
    dit_restore(dit);
    return good;
}

size_t sealane_seal_batch(sealane_op *ops, size_t n)
{
    return sealane_batch_run(ops, n, 0, sealane_batch_of_process);
}

size_t sealane_open_batch(sealane_op *ops, size_t n)
{
    return sealane_batch_run(ops, n, SEALANE_FLAG_OPEN, sealane_batch_of_process);
}

/* Whether one call of the batch kernel is the best for lanes in this order. */
static int in_order(const sealane_batch *batch, const sealane_lane *lanes, size_t n)
{
    if (n < SEALANE_BATCH_FROM_MAX)
        return 0;
    uint64_t bytes = UINT64_MAX; /* of the lanes that were looked at last, which mostly are of one length */
    size_t before = batch->classes - 1u;
    for (size_t i = 0; i < n; i++) {
        if (lanes[i].bytes == bytes)
            continue;
        bytes = lanes[i].bytes;
        const size_t class = (size_t)(bytes / 64);
        if (class > before || batch->from[class] == 0)
            return 0;
        before = class;
    }
    return 1;
}

/* Whether some of the lanes are of lengths that are ever faster side by side. */
static int has_any_lane(const sealane_batch *batch, const sealane_lane *lanes, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (lanes[i].bytes / 64 < batch->classes && batch->from[lanes[i].bytes / 64 % SEALANE_BATCH_CLASSES] != 0)
            return 1;
    return 0;
}

/* What a lane and the arguments of one packet have in common. */
enum { COMMON = offsetof(sealane_args, state) };
_Static_assert(COMMON == sizeof(sealane_lane) && offsetof(sealane_args, nonce) == offsetof(sealane_lane, nonce),
               "lane");

int sealane_batch_lanes(const sealane_key *key, const sealane_lane *lanes, size_t n, uint64_t direction)
{
    const sealane_level *level = key_level(key);
    const sealane_batch *batch = sealane_batch_of_process(table_of(key_alg(key)), level, direction);
    SEALANE_BATCH_SCRATCH(scratch);
    sealane_args a;
    if (batch != NULL && batch->classes == 0)
        batch = NULL;
    if (batch != NULL && n > 1 && in_order(batch, lanes, n)) {
        a.in = slot(lanes), a.bytes = n,
        a.flags = direction; /* batch_args, but what is not read is not zeroed and copied */
        batch->kernel(&a, scratch, batch->consts);
        return 1;
    }
    if (batch != NULL && n >= batch->few && has_any_lane(batch, lanes, n))
        return 0;
    for (size_t i = 0; i < n; i++)
        if (lanes[i].bytes > INT32_MAX) /* it may be too long for the cipher */
            return 0;
    for (size_t i = 0; i < n; i++) {
        memcpy(&a, &lanes[i], COMMON);
        a.state = 0, a.total = a.bytes, a.flags = direction | level->flags;
        level->kernel(&a, scratch, level->consts);
    }
    return 1;
}
