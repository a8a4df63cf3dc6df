/* Batches. Packets that are faster side by side go into the lanes of a batch kernel, sorted by length; the others are
 * processed individually. */
#include "batch.h"

#include "dit.h"
#include "key.h"

/* The number of packets that are planned together. More packets fill the lanes better when lengths are mixed, but need
 * more stack. Of 64 packets, an Internet mix has about 36 of 64 bytes, 20 of 576 and 5 of 1420. */
enum { CHUNK = SEALANE_LANES_MAX };

/* ---- Lanes ---- */

/* The number of whole blocks of text. */
static inline size_t class_of(const sealane_lane *l)
{
    return (size_t)(l->bytes / 64);
}

/* Whether packets of that length can be faster side by side. */
static inline int has_lane(const sealane_batch *batch, size_t class)
{
    return class < batch->classes && batch->from[class % SEALANE_BATCH_CLASSES] != 0;
}

/* The weight of a packet: PAYS / from, rounded up. The batch kernel is used if the weights reach PAYS. */
enum { PAYS = 240 };
static const uint8_t weights[SEALANE_BATCH_FROM_MAX + 1] = {0,  240, 120, 80, 60, 48, 40, 35, 30,
                                                            27, 24,  22,  20, 19, 18, 16, 15};

/* Whether the lanes with batchable lengths are faster side by side. Also counts them by class. */
static int pays(const sealane_batch *batch, const sealane_lane *lanes, size_t n, uint8_t sizes[SEALANE_BATCH_CLASSES])
{
    unsigned weight = 0;
    memset(sizes, 0, SEALANE_BATCH_CLASSES);
    for (size_t i = 0; i < n; i++) {
        const size_t class = class_of(&lanes[i]);
        if (has_lane(batch, class))
            sizes[class]++, weight += weights[batch->from[class]];
    }
    return weight >= PAYS;
}

/* Sorts those lanes by descending class (counting sort), and returns their number. */
static size_t sort(sealane_lane *sorted, const sealane_batch *batch, const sealane_lane *lanes, size_t n,
                   uint8_t places[SEALANE_BATCH_CLASSES])
{
    unsigned next = 0;
    for (int class = SEALANE_BATCH_CLASSES - 1; class >= 0; class --) {
        const unsigned size = places[class];
        places[class] = (uint8_t)next;
        next += size;
    }
    for (size_t i = 0; i < n; i++)
        if (has_lane(batch, class_of(&lanes[i])))
            sorted[places[class_of(&lanes[i])]++] = lanes[i];
    return next;
}

/* A lane is the beginning of a packet's arguments. */
_Static_assert(offsetof(sealane_packet_args, state) == sizeof(sealane_lane) &&
                   offsetof(sealane_packet_args, nonce) == offsetof(sealane_lane, nonce),
               "lane");

/* Whether all lanes have one class, as in most batches. They are then in order already. */
static int alike(const sealane_lane *lanes, size_t n)
{
    for (size_t i = 1; i < n; i++)
        if (class_of(&lanes[i]) != class_of(lanes))
            return 0;
    return 1;
}

void sealane_run_lane(const sealane_level *level, sealane_packet_args *a, uint64_t direction)
{
    SEALANE_SCRATCH(scratch);
    a->state = 0, a->total = a->bytes, a->flags = direction | level->flags;
    level->kernel(a, scratch, level->consts);
}

void sealane_run_lanes(const sealane_level *level, const sealane_batch *batch, const sealane_lane *lanes, size_t n,
                       uint64_t direction)
{
    _Alignas(64) sealane_lane sorted[CHUNK];
    SEALANE_BATCH_SCRATCH(scratch);
    uint8_t sizes[SEALANE_BATCH_CLASSES];
    sealane_batch_args a; /* fields that batch kernels do not read stay unset */
    sealane_packet_args one;
    a.lanes = slot(lanes), a.count = n, a.flags = direction;
    if (batch != NULL && (n < batch->few || n == 1))
        batch = NULL;
    if (batch != NULL && alike(lanes, n)) {
        const size_t class = class_of(lanes);
        if (has_lane(batch, class) && n >= batch->from[class]) {
            batch->kernel(&a, scratch, batch->consts);
            return;
        }
        batch = NULL;
    }
    if (batch != NULL && pays(batch, lanes, n, sizes)) {
        a.lanes = slot(sorted), a.count = sort(sorted, batch, lanes, n, sizes);
        batch->kernel(&a, scratch, batch->consts);
    } else {
        batch = NULL;
    }
    for (size_t i = 0; i < n; i++) {
        if (batch != NULL && has_lane(batch, class_of(&lanes[i])))
            continue;
        memcpy(&one, &lanes[i], sizeof lanes[i]);
        one.state = 0, one.total = one.bytes, one.flags = direction | level->flags;
        level->kernel(&one, scratch, level->consts);
    }
}

/* ---- Packets ---- */

/* Processes one packet individually; 1 if it succeeded. */
static inline size_t alone(sealane_op *op, int open)
{
    return (size_t)(open ? sealane_open_op(op) : sealane_seal_op(op));
}

/* The packets of a chunk that get lanes. */
typedef struct {
    _Alignas(64) sealane_lane lane[CHUNK];
    unsigned count, subkeys;
    uint8_t op[CHUNK];                              /* index of a lane's packet */
    uint8_t tag[CHUNK][16];                         /* when opening, computed tags to compare */
    uint8_t subkey[CHUNK][32], subnonce[CHUNK][12]; /* XChaCha20-Poly1305 */
} plan;

/* The level of the keys that get lanes. */
typedef struct {
    const sealane_level *level;
    const sealane_batch *batch;
    uint64_t plain, extended; /* first words of ChaCha20-Poly1305 and XChaCha20-Poly1305 keys of this level */
} planner;

/* Whether a packet may get a lane. */
static inline int is_chacha(const sealane_op *op)
{
    return op->key != NULL && !is_gcm(key_alg(op->key)) && key_valid(op->key);
}

/* Plans for the first ChaCha20-Poly1305 key among n packets. Returns 0 if no packets are faster side by side. */
static int find_planner(planner *r, const sealane_op *ops, unsigned n, sealane_batch_choice *choice)
{
    const sealane_key *k = ops->key;
    const int level = (int)key_index(k);
    r->level = key_level(k);
    r->batch = choice(table_of(key_alg(k)), r->level);
    r->plain = key_word(SEALANE_CHACHA20_POLY1305, level, SEALANE_TAG_BYTES);
    r->extended = key_word(SEALANE_XCHACHA20_POLY1305, level, SEALANE_TAG_BYTES);
    return r->batch != NULL && n >= r->batch->few;
}

static inline sealane_packet packet_of(const sealane_op *op, int open)
{
    return (sealane_packet){op->key,      op->out,   op->in,          op->in_bytes, op->ad,
                            op->ad_bytes, op->nonce, op->nonce_bytes, op->tag,      open};
}

/* Fills the lane of packet i, with the key and nonce for the kernel. */
static ALWAYS_INLINE inline void add(plan *p, sealane_op *op, unsigned i, const uint8_t *key, const uint8_t *nonce,
                                     int open)
{
    sealane_lane *l = &p->lane[p->count];
    l->out = slot(op->out), l->in = slot(op->in), l->bytes = op->in_bytes;
    l->ad = slot(op->ad), l->ad_bytes = op->ad_bytes;
    l->key = slot(key), l->nonce = slot(nonce);
    l->tag = slot(open ? p->tag[p->count] : op->tag);
    p->op[p->count++] = (uint8_t)i;
    op->status = SEALANE_OK; /* until its tag turns out to be wrong */
}

/* A special packet: XChaCha20-Poly1305, invalid, or with a key of another level. Processes it unless it gets a lane; 1
 * if it succeeded. */
static NOINLINE size_t add_special(plan *p, sealane_op *op, unsigned i, const planner *r, int open)
{
    const sealane_packet wanted = packet_of(op, open);
    if (op->key == NULL || op->key->opaque[0] != r->extended || sealane_mistake(&wanted) != SEALANE_OK)
        return alone(op, open);
    uint8_t *subkey = p->subkey[p->subkeys], *subnonce = p->subnonce[p->subkeys];
    p->subkeys++;
    xchacha_begin(subkey, subnonce, op->key, op->nonce);
    add(p, op, i, subkey, subnonce, open);
    return 0;
}

/* Assigns lanes, and processes packets without one; returns how many of these succeeded. */
static ALWAYS_INLINE inline size_t make_plan(plan *p, sealane_op *ops, unsigned n, const planner *r, int open)
{
    const uint64_t plain = r->plain;
    const size_t key_at = r->level->key_at;
    size_t good = 0;
    p->count = p->subkeys = 0;
    for (unsigned i = 0; i < n; i++) {
        sealane_op *op = &ops[i];
        if (!has_lane(r->batch, op->in_bytes / 64)) { /* true for most packets */
            good += alone(op, open);
            continue;
        }
        const sealane_packet wanted = {op->key,      op->out,   op->in, op->in_bytes, op->ad,
                                       op->ad_bytes, op->nonce, 12,     op->tag,      open};
        if (op->key != NULL && op->key->opaque[0] == plain && op->nonce_bytes == 12 &&
            packet_mistake(&wanted, (sealane_limits){LENGTH_MAX, INT32_MAX, SEALANE_TAG_BYTES}) == SEALANE_OK)
            add(p, op, i, (const uint8_t *)op->key + key_at, op->nonce, open);
        else
            good += add_special(p, op, i, r, open);
    }
    return good;
}

static NOINLINE size_t plan_to_seal(plan *p, sealane_op *ops, unsigned n, const planner *r)
{
    return make_plan(p, ops, n, r, 0);
}

static NOINLINE size_t plan_to_open(plan *p, sealane_op *ops, unsigned n, const planner *r)
{
    return make_plan(p, ops, n, r, 1);
}

/* Erases the data that forgery i has left. */
static NOINLINE void take_back(sealane_op *op)
{
    SEALANE_SCRATCH(scratch);
    const sealane_packet forged = packet_of(op, 1);
    op->status = sealane_take_back(&forged, scratch);
}

/* Compares the tags of all packets in lanes, and returns how many are authentic. */
static size_t authenticate(plan *p, sealane_op *ops)
{
    size_t good = p->count;
    for (unsigned i = 0; i < p->count; i++) {
        sealane_op *op = &ops[p->op[i]];
        if (equal16(p->tag[i], op->tag))
            continue;
        good--;
        take_back(op);
    }
    wipe(p->tag, sizeof p->tag[0] * p->count);
    return good;
}

static NOINLINE size_t run_planned(sealane_op *ops, unsigned n, const planner *r, uint64_t direction)
{
    plan p;
    const int open = direction == SEALANE_FLAG_OPEN;
    size_t good = open ? plan_to_open(&p, ops, n, r) : plan_to_seal(&p, ops, n, r);
    if (p.count != 0)
        sealane_run_lanes(r->level, r->batch, p.lane, p.count, direction);
    good += open ? authenticate(&p, ops) : p.count;
    if (p.subkeys != 0) {
        wipe(p.subkey, sizeof p.subkey[0] * p.subkeys);
        sealane_burn_stack();
    }
    return good;
}

/* Runs packets, the first of which has a ChaCha20-Poly1305 key. */
static NOINLINE size_t run_chunk(sealane_op *ops, unsigned n, uint64_t direction, sealane_batch_choice *choice)
{
    planner r;
    if (n != 1 && find_planner(&r, ops, n, choice))
        return run_planned(ops, n, &r, direction);
    size_t good = 0;
    for (unsigned i = 0; i < n; i++)
        good += alone(&ops[i], direction == SEALANE_FLAG_OPEN);
    return good;
}

size_t sealane_batch_run(sealane_op *ops, size_t n, uint64_t direction, sealane_batch_choice *choice)
{
    size_t good = 0;
    if (ops == NULL)
        return 0;
    const uint64_t dit = dit_on();
    for (sealane_op *op = ops, *const end = ops + n; op != end;) {
        if (!is_chacha(op)) { /* kept small: it takes a tenth of a short packet's time */
            good += alone(op++, direction == SEALANE_FLAG_OPEN);
            continue;
        }
        const unsigned some = end - op < CHUNK ? (unsigned)(end - op) : CHUNK;
        good += run_chunk(op, some, direction, choice);
        op += some;
    }
    dit_restore(dit);
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
