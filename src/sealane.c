/* The front end: checks arguments, and runs whole packets through a kernel. */
#include "dit.h"
#include "ghash.h"
#include "key.h"

enum { PLAIN_BYTES = 1 << 30, PLAIN_NONCE = 12 };

const char *sealane_version(void)
{
    return SEALANE_VERSION;
}

int sealane_init(void)
{
    int status = SEALANE_OK;
    dit_restore(dit_on()); /* detects once whether the CPU has the flag */
    for (int t = 0; t < SEALANE_ALL_TABLES; t++) {
        const sealane_table *table = &sealane_tables[t];
        const int level = sealane_level_of_process(table);
        if (level < 0)
            status = SEALANE_NO_LEVEL;
        else
            (void)sealane_level_batch(table, &table->levels[level]);
    }
    return status;
}

static size_t key_bytes_for(sealane_alg alg)
{
    static const uint8_t bytes[] = {0, 32, 32, 16, 32, 24};
    return (size_t)alg < sizeof bytes ? bytes[alg] : 0;
}

static void set_up_gcm(sealane_key *k, const uint8_t *key, size_t key_bytes)
{
    sealane_gcm_key *gcm = (sealane_gcm_key *)&k->opaque[8];
    const sealane_packet_args a = {.key = slot(gcm), .flags = SEALANE_FLAG_SETUP};
    gcm->rounds = 6 + key_bytes / 4;
    put_raw_key(gcm->schedule, sizeof gcm->schedule, key, key_bytes);
    sealane_call(key_level(k), &a);
}

static int init(sealane_key *k, sealane_alg alg, const uint8_t *key, size_t key_bytes, size_t tag_bytes, int level)
{
    const uint64_t dit = dit_on();
    k->opaque[0] = key_word(alg, level, tag_bytes);
    /* *k may have been another key. The level of an AES-GCM key overwrites everything after its schedule. */
    if (is_gcm(alg)) {
        wipe(&k->opaque[1], GCM_KEY_AT - CHACHA20_KEY_AT);
        set_up_gcm(k, key, key_bytes);
    } else {
        memcpy(&k->opaque[1], key, 32);
        wipe(&k->opaque[5], (size_t)hide(sizeof *k - 5 * sizeof k->opaque[0])); /* hide prevents rep stos */
    }
    dit_restore(dit);
    return SEALANE_OK;
}

int sealane_key_init_at(sealane_key *k, sealane_alg alg, const uint8_t *key, size_t key_bytes, int level)
{
    if (k == NULL || key == NULL || key_bytes == 0 || key_bytes != key_bytes_for(alg) || level < 0 ||
        (unsigned)level >= table_of(alg)->count)
        return SEALANE_INVALID_KEY;
    return init(k, alg, key, key_bytes, SEALANE_TAG_BYTES, level);
}

static int refuse_key(sealane_status why, sealane_key *k)
{
    sealane_key_wipe(k);
    return why;
}

int sealane_key_init_with_tag(sealane_key *k, sealane_alg alg, const uint8_t *key, size_t key_bytes, size_t tag_bytes)
{
    if (k == NULL)
        return SEALANE_NULL;
    if (key_bytes == 0 || key_bytes != key_bytes_for(alg))
        return refuse_key(SEALANE_INVALID_KEY, k);
    if (!tag_fits(alg, tag_bytes))
        return refuse_key(SEALANE_INVALID_TAG, k);
    const sealane_status why = source_mistake(k, sizeof *k, key, key_bytes);
    if (why != SEALANE_OK)
        return refuse_key(why, k);
    const int level = sealane_level_of_process(table_of(alg));
    return level < 0 ? refuse_key(SEALANE_NO_LEVEL, k) : init(k, alg, key, key_bytes, tag_bytes, level);
}

int sealane_key_init(sealane_key *k, sealane_alg alg, const uint8_t *key, size_t key_bytes)
{
    return sealane_key_init_with_tag(k, alg, key, key_bytes, SEALANE_TAG_BYTES);
}

void sealane_key_wipe(sealane_key *k)
{
    if (k != NULL)
        wipe(k, sizeof *k);
}

const char *sealane_impl_name(const sealane_key *k)
{
    return key_valid(k) ? key_level(k)->name : "none";
}

sealane_status sealane_mistake(const sealane_packet *p)
{
    if (!key_valid(p->key))
        return SEALANE_INVALID_KEY;
    const sealane_alg alg = key_alg(p->key);
    if (!nonce_fits(alg, p->nonce_bytes))
        return SEALANE_INVALID_NONCE;
    return packet_mistake(
        p, (sealane_limits){length_within(text_max(alg)), length_within(ad_max(alg)), key_tag_bytes(p->key)});
}

int sealane_same_tag(uint8_t expected[16], const uint8_t *tag, size_t tag_bytes)
{
    uint8_t given[16];
    memcpy(given, expected, sizeof given);
    memcpy(given, tag, tag_bytes); /* bytes that were cut off count as right */
    const int same = equal16(expected, given);
    wipe(expected, 16);
    wipe(given, sizeof given);
    return same;
}

static void run(const sealane_packet *p, const void *key, const uint8_t *nonce, uint8_t *tag, uint64_t direction,
                void *scratch)
{
    const sealane_level *level = key_level(p->key);
    const sealane_packet_args a = {
        .out = slot(p->out),
        .in = slot(p->in),
        .bytes = p->bytes,
        .ad = slot(p->ad),
        .ad_bytes = p->ad_bytes,
        .key = slot(key),
        .nonce = slot(nonce),
        .tag = slot(tag),
        .total = p->bytes,
        .flags = SEALANE_FLAG_FIRST | SEALANE_FLAG_LAST | direction,
    };
    level->kernel(&a, scratch, level->consts);
}

static void run_xchacha(const sealane_packet *p, uint8_t *tag, uint64_t direction, void *scratch)
{
    uint8_t subkey[32], subnonce[12];
    xchacha_begin(subkey, subnonce, p->key, p->nonce);
    run(p, subkey, subnonce, tag, direction, scratch);
    wipe(subkey, sizeof subkey);
    sealane_burn_little();
}

/* Runs the first part of a packet without text and with a zero J0. state then has GHASH of the associated data, and as
 * its mask the hash key H, which is the encrypted zero block. */
static void run_ad(sealane_gcm_state *state, const sealane_level *level, const sealane_gcm_key *key, const uint8_t *ad,
                   size_t ad_bytes, void *scratch)
{
    static const uint8_t zero[16] = {0};
    const sealane_packet_args a = {
        .ad = slot(ad),
        .ad_bytes = ad_bytes,
        .key = slot(key),
        .nonce = slot(zero),
        .state = slot(state),
        .flags = SEALANE_FLAG_FIRST,
    };
    level->kernel(&a, scratch, level->consts);
}

void sealane_gcm_hash_key(uint8_t h[16], const sealane_level *level, const sealane_gcm_key *key)
{
    SEALANE_SCRATCH(scratch);
    sealane_gcm_state state;
    run_ad(&state, level, key, NULL, 0, scratch);
    memcpy(h, state.mask, 16);
    wipe(&state, sizeof state);
}

/* J0 is GHASH of the nonce and its length. A kernel hashes them as associated data, except for the block of lengths.
 * For short nonces that block is part of the associated data; otherwise portable code adds it, which avoids a long
 * copy. */
static NOINLINE void hash_nonce(uint8_t j0[16], const sealane_level *level, const sealane_gcm_key *key,
                                const uint8_t *nonce, size_t nonce_bytes, void *scratch)
{
    uint8_t blocks[128] = {0};
    const size_t padded = (nonce_bytes + 15) / 16 * 16;
    sealane_gcm_state state;
    if (nonce_bytes <= sizeof blocks - 16) {
        memcpy(blocks, nonce, nonce_bytes);
        store64_be(blocks + padded + 8, 8 * (uint64_t)nonce_bytes);
        run_ad(&state, level, key, blocks, padded + 16, scratch);
        memcpy(j0, state.y, 16);
    } else {
        ghash_key k;
        run_ad(&state, level, key, nonce, nonce_bytes, scratch);
        ghash_sum s = {{load64_be(state.y + 8), load64_be(state.y)}};
        sealane_ghash_key(&k, state.mask);
        sealane_ghash_lengths(&s, &k, 0, nonce_bytes);
        store64_be(j0, s.y[1]), store64_be(j0 + 8, s.y[0]);
        wipe(&k, sizeof k);
        wipe(&s, sizeof s);
        sealane_burn_stack();
    }
    wipe(blocks, sizeof blocks);
    wipe(&state, sizeof state);
}

void sealane_gcm_hash_nonce(uint8_t j0[16], const sealane_level *level, const sealane_gcm_key *key,
                            const uint8_t *nonce, size_t nonce_bytes)
{
    SEALANE_SCRATCH(scratch);
    hash_nonce(j0, level, key, nonce, nonce_bytes, scratch);
    sealane_burn_stack();
}

void sealane_begin_gcm(uint8_t j0[16], const sealane_key *k, const uint8_t *nonce, size_t nonce_bytes, void *scratch)
{
    if (nonce_bytes == SEALANE_AES_GCM_NONCE_BYTES) {
        memcpy(j0, nonce, SEALANE_AES_GCM_NONCE_BYTES);
        store32(j0 + SEALANE_AES_GCM_NONCE_BYTES, swap32(1));
    } else {
        hash_nonce(j0, key_level(k), gcm_key_of(k), nonce, nonce_bytes, scratch);
        sealane_burn_stack();
    }
}

static void run_gcm(const sealane_packet *p, uint8_t *tag, uint64_t direction, void *scratch)
{
    uint8_t j0[16];
    if (p->nonce_bytes == SEALANE_AES_GCM_NONCE_BYTES) {
        run(p, gcm_key_of(p->key), p->nonce, tag, direction | SEALANE_FLAG_NONCE, scratch);
        return;
    }
    sealane_begin_gcm(j0, p->key, p->nonce, p->nonce_bytes, scratch);
    run(p, gcm_key_of(p->key), j0, tag, direction, scratch);
    wipe(j0, sizeof j0);
}

static void run_any(const sealane_packet *p, uint8_t *tag, uint64_t direction, void *scratch)
{
    const sealane_alg alg = key_alg(p->key);
    if (alg == SEALANE_CHACHA20_POLY1305)
        run(p, key_bytes_of(p->key), p->nonce, tag, direction, scratch);
    else if (alg == SEALANE_XCHACHA20_POLY1305)
        run_xchacha(p, tag, direction, scratch);
    else
        run_gcm(p, tag, direction, scratch);
}

NOINLINE sealane_status sealane_take_back(const sealane_packet *p, void *scratch)
{
    uint8_t tag[SEALANE_TAG_BYTES];
    if (p->bytes == 0)
        return SEALANE_NOT_AUTHENTIC;
    if (p->out != p->in) {
        memset(p->out, 0, p->bytes);
        return SEALANE_NOT_AUTHENTIC;
    }
    run_any(p, tag, 0, scratch);
    wipe(tag, sizeof tag); /* the tag under which the forgery would be authentic */
    return SEALANE_NOT_AUTHENTIC;
}

/* Reconstructs a packet from the kernel arguments of sealane_seal and sealane_open. So nearly all packets need no
 * registers for it. */
static sealane_packet packet_of(const sealane_key *k, const sealane_packet_args *a, const uint8_t *tag,
                                size_t nonce_bytes)
{
    return (sealane_packet){k,
                            slot_bytes(a->out),
                            slot_bytes(a->in),
                            (size_t)a->bytes,
                            slot_bytes(a->ad),
                            (size_t)a->ad_bytes,
                            slot_bytes(a->nonce),
                            nonce_bytes,
                            tag,
                            (a->flags & SEALANE_FLAG_OPEN) != 0};
}

/* Runs any packet. */
static NOINLINE int run_packet(const sealane_key *k, const sealane_packet_args *a, uint8_t *tag, size_t nonce_bytes,
                               void *scratch)
{
    const sealane_packet p = packet_of(k, a, tag, nonce_bytes);
    uint8_t whole[SEALANE_TAG_BYTES];
    int status = sealane_mistake(&p);
    if (status != SEALANE_OK)
        return status;
    const uint64_t dit = dit_on();
    run_any(&p, whole, a->flags & SEALANE_FLAG_OPEN, scratch);
    if (!p.open)
        memcpy(tag, whole, key_tag_bytes(k));
    else if (!sealane_same_tag(whole, tag, key_tag_bytes(k)))
        status = sealane_take_back(&p, scratch);
    wipe(whole, sizeof whole);
    dit_restore(dit);
    return status;
}

/* Only the kernel's arguments stay live during its run, not the key nor the start of scratch; they are derived here. */
static NOINLINE int forged(const sealane_packet_args *a, uint8_t *scratch_room)
{
    const size_t key_at = a->flags & SEALANE_FLAG_NONCE ? GCM_KEY_AT : CHACHA20_KEY_AT;
    const sealane_key *k = (const sealane_key *)(const void *)(slot_bytes(a->key) - key_at);
    const sealane_packet p = packet_of(k, a, NULL, PLAIN_NONCE);
    return sealane_take_back(&p, SCRATCH_IN(scratch_room));
}

/* The level for a packet with a 12-byte nonce, a whole tag, some text, and no mistake, as nearly all packets are. NULL
 * means that the packet needs the full checks; it may still be valid. */
static ALWAYS_INLINE inline const sealane_level *plain(const sealane_packet *p)
{
    REFUSE_IF(p->key == NULL, NULL);
    const uint64_t number = p->key->opaque[0] - ((uint64_t)KEY_MARK << 32);
    REFUSE_IF(number >= PLAIN_KEYS, NULL);
    const sealane_level *level = sealane_plain_levels[number];
    HAVE_NOW(level); /* the kernel waits for its constants, which depend on this */
    REFUSE_IF(p->bytes - 1 >= PLAIN_BYTES, NULL);
    REFUSE_IF(packet_mistake(p, (sealane_limits){PLAIN_BYTES, PLAIN_BYTES, SEALANE_TAG_BYTES}) != SEALANE_OK, NULL);
    return level;
}

/* If a compiler combines two arguments in a vector, the kernel waits for both. */
#define KEEP_SINGLE()   \
    HAVE_NOW(k);        \
    HAVE_NOW(out);      \
    HAVE_NOW(in);       \
    HAVE_NOW(in_bytes); \
    HAVE_NOW(ad);       \
    HAVE_NOW(ad_bytes); \
    HAVE_NOW(nonce)

/* Sets the kernel arguments of a packet, except tag, key and flags. */
#define BEGIN_ARGS(a)                                                                            \
    (a).out = slot(out), (a).in = slot(in), (a).bytes = (a).total = in_bytes, (a).ad = slot(ad), \
    (a).ad_bytes = ad_bytes, (a).nonce = slot(nonce)

/* Sets key and flags for AES-GCM. They are not taken from the level, which would delay the key's address by three
 * loads, and with it the whole kernel. */
#define BEGIN_KEY(a, direction)     \
    (a).key = slot(k) + GCM_KEY_AT, \
    (a).flags = SEALANE_FLAG_FIRST | SEALANE_FLAG_LAST | SEALANE_FLAG_NONCE | (direction)

/* Corrects them if the level is not AES-GCM's. */
static ALWAYS_INLINE inline void end_key(sealane_packet_args *a, const sealane_level *level)
{
    if (UNLIKELY(!(level->flags & SEALANE_FLAG_NONCE))) {
        a->key += CHACHA20_KEY_AT - GCM_KEY_AT;
        a->flags -= SEALANE_FLAG_NONCE;
        KEEP_APART();
    }
}

static ALWAYS_INLINE inline int seal(const sealane_key *k, uint8_t *out, uint8_t *tag, const uint8_t *nonce,
                                     size_t nonce_bytes, const uint8_t *ad, size_t ad_bytes, const uint8_t *in,
                                     size_t in_bytes)
{
    SEALANE_SCRATCH(scratch);
    sealane_packet_args a;
    KEEP_SINGLE();
    BEGIN_ARGS(a);
    BEGIN_KEY(a, 0);
    if (UNLIKELY(nonce_bytes != PLAIN_NONCE))
        return run_packet(k, &a, tag, nonce_bytes, scratch);
    const sealane_packet p = {k, out, in, in_bytes, ad, ad_bytes, nonce, PLAIN_NONCE, tag, 0};
    const sealane_level *level = plain(&p);
    if (UNLIKELY(level == NULL))
        return run_packet(k, &a, tag, PLAIN_NONCE, scratch);
    const uint64_t dit = dit_on();
    end_key(&a, level);
    a.tag = slot(tag);
    level->kernel(&a, scratch, level->consts);
    dit_restore(dit);
    return SEALANE_OK;
}

static ALWAYS_INLINE inline int open(const sealane_key *k, uint8_t *out, const uint8_t *tag, const uint8_t *nonce,
                                     size_t nonce_bytes, const uint8_t *ad, size_t ad_bytes, const uint8_t *in,
                                     size_t in_bytes)
{
    SEALANE_SCRATCH(scratch);
    uint8_t expected[SEALANE_TAG_BYTES];
    sealane_packet_args a;
    KEEP_SINGLE();
    BEGIN_ARGS(a);
    BEGIN_KEY(a, SEALANE_FLAG_OPEN);
    if (UNLIKELY(nonce_bytes != PLAIN_NONCE))
        return run_packet(k, &a, (uint8_t *)(uintptr_t)tag, nonce_bytes, scratch); /* opening does not write to it */
    const sealane_packet p = {k, out, in, in_bytes, ad, ad_bytes, nonce, PLAIN_NONCE, tag, 1};
    const sealane_level *level = plain(&p);
    if (UNLIKELY(level == NULL))
        return run_packet(k, &a, (uint8_t *)(uintptr_t)tag, PLAIN_NONCE, scratch);
    const uint64_t dit = dit_on();
    end_key(&a, level);
    a.tag = slot(expected);
    level->kernel(&a, scratch, level->consts);
    const int authentic = equal16(expected, tag);
    wipe(expected, sizeof expected);
    const int status = authentic ? SEALANE_OK : forged(&a, scratch_room);
    dit_restore(dit);
    return status;
}

int sealane_seal(const sealane_key *k, uint8_t *out, uint8_t tag[16], const uint8_t *nonce, size_t nonce_bytes,
                 const uint8_t *ad, size_t ad_bytes, const uint8_t *in, size_t in_bytes)
{
    return seal(k, out, tag, nonce, nonce_bytes, ad, ad_bytes, in, in_bytes);
}

int sealane_open(const sealane_key *k, uint8_t *out, const uint8_t tag[16], const uint8_t *nonce, size_t nonce_bytes,
                 const uint8_t *ad, size_t ad_bytes, const uint8_t *in, size_t in_bytes)
{
    return open(k, out, tag, nonce, nonce_bytes, ad, ad_bytes, in, in_bytes);
}

int sealane_seal_op(sealane_op *op)
{
    const int status =
        seal(op->key, op->out, op->tag, op->nonce, op->nonce_bytes, op->ad, op->ad_bytes, op->in, op->in_bytes);
    op->status = (sealane_status)status;
    return status == SEALANE_OK;
}

int sealane_open_op(sealane_op *op)
{
    const int status = open(op->key, op->out, op->expected_tag, op->nonce, op->nonce_bytes, op->ad, op->ad_bytes,
                            op->in, op->in_bytes);
    op->status = (sealane_status)status;
    return status == SEALANE_OK;
}
