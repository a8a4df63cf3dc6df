/* The front end: checks what callers hand in, and runs whole packets through a kernel. */
#include "dit.h"
#include "ghash.h"
#include "key.h"

enum { PLAIN_BYTES = 1 << 30 };

static size_t key_bytes_for(sealane_alg alg)
{
    switch (alg) {
    case SEALANE_CHACHA20_POLY1305:
    case SEALANE_XCHACHA20_POLY1305:
    case SEALANE_AES_256_GCM:
        return 32;
    case SEALANE_AES_192_GCM:
        return 24;
    case SEALANE_AES_128_GCM:
        return 16;
    }
    return 0;
}

static void set_up_gcm(sealane_key *k, const uint8_t *key, size_t key_bytes)
{
    SEALANE_SCRATCH(scratch);
    const sealane_level *level = key_level(k);
    sealane_gcm_key *gcm = (sealane_gcm_key *)&k->opaque[8];
    const sealane_args a = {.key = slot(gcm), .flags = SEALANE_FLAG_SETUP};
    gcm->rounds = 6 + key_bytes / 4;
    memcpy(gcm->schedule, key, key_bytes);
    level->kernel(&a, scratch, level->consts);
}

static int init(sealane_key *k, sealane_alg alg, const uint8_t *key, size_t key_bytes, size_t tag_bytes, int level)
{
    const uint64_t dit = dit_on();
    k->opaque[0] = key_word(alg, level, tag_bytes);
    if (is_gcm(alg))
        set_up_gcm(k, key, key_bytes);
    else
        memcpy(&k->opaque[1], key, 32);
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
    if (k == NULL || key == NULL)
        return refuse_key(SEALANE_NULL, k);
    if (key_bytes == 0 || key_bytes != key_bytes_for(alg))
        return refuse_key(SEALANE_INVALID_KEY, k);
    if (!tag_fits(alg, tag_bytes))
        return refuse_key(SEALANE_INVALID_TAG, k);
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

/* The packet with all its pointers, as both directions are given it. */
typedef struct {
    const sealane_key *key;
    uint8_t *out;
    const uint8_t *nonce, *ad, *in;
    size_t nonce_bytes, ad_bytes, bytes;
} packet;

static packet packet_of(const sealane_key *k, const sealane_args *a, const uint8_t *nonce, size_t nonce_bytes)
{
    return (packet){k,           slot_bytes(a->out),  nonce,           slot_bytes(a->ad), slot_bytes(a->in),
                    nonce_bytes, (size_t)a->ad_bytes, (size_t)a->bytes};
}

static sealane_status mistake(const packet *p, const uint8_t *tag, int open)
{
    if (!key_valid(p->key))
        return SEALANE_INVALID_KEY;
    const sealane_alg alg = key_alg(p->key);
    const size_t tag_bytes = key_tag_bytes(p->key);
    const uint64_t bytes = p->bytes, ad_bytes = p->ad_bytes; /* size_t may be too narrow for the comparison */
    if (!nonce_fits(alg, p->nonce_bytes))
        return SEALANE_INVALID_NONCE;
    if (bytes > text_max(alg) || ad_bytes > ad_max(alg))
        return SEALANE_TOO_LONG;
    if (p->nonce == NULL || tag == NULL || (ad_bytes != 0 && p->ad == NULL) ||
        (bytes != 0 && (p->in == NULL || p->out == NULL)))
        return SEALANE_NULL;
    if (!open && (overlap(tag, tag_bytes, p->ad, p->ad_bytes) || overlap(tag, tag_bytes, p->nonce, p->nonce_bytes)))
        return SEALANE_OVERLAP;
    if ((p->out != p->in && overlap(p->out, p->bytes, p->in, p->bytes)) ||
        overlap(p->out, p->bytes, p->ad, p->ad_bytes) || overlap(p->out, p->bytes, p->nonce, p->nonce_bytes) ||
        overlap(p->out, p->bytes, tag, tag_bytes))
        return SEALANE_OVERLAP;
    return SEALANE_OK;
}

sealane_status sealane_mistake(const sealane_op *op, int open)
{
    const packet p = {op->key, op->out, op->nonce, op->ad, op->in, op->nonce_bytes, op->ad_bytes, op->in_bytes};
    return mistake(&p, op->tag, open);
}

int sealane_refuse(sealane_status why, const sealane_key *k, uint8_t *out, size_t bytes)
{
    const uint64_t most = key_valid(k) ? text_max(key_alg(k)) : CHACHA20_TEXT_MAX, n = bytes;
    if (out != NULL && n != 0 && n <= most && n <= PTRDIFF_MAX)
        memset(out, 0, bytes);
    return why;
}

int sealane_refuse_to_seal(sealane_status why, const sealane_key *k, uint8_t *out, size_t bytes, uint8_t *tag)
{
    if (tag != NULL)
        memset(tag, 0, key_valid(k) ? key_tag_bytes(k) : SHORTEST_TAG);
    return sealane_refuse(why, k, out, bytes);
}

int sealane_same_tag(const sealane_key *k, uint8_t expected[16], const uint8_t *tag)
{
    uint8_t given[16];
    memcpy(given, expected, sizeof given);
    memcpy(given, tag, key_tag_bytes(k)); /* what is cut off is as if it were right */
    const int same = equal16(expected, given);
    wipe(expected, 16);
    wipe(given, sizeof given);
    return same;
}

/* One scratch area for all that come by here. */
static NOINLINE void run(const packet *p, const void *key, const uint8_t *nonce, uint8_t *tag, uint64_t direction)
{
    SEALANE_SCRATCH(scratch);
    const sealane_level *level = key_level(p->key);
    const sealane_args a = {
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

static void run_xchacha(const packet *p, uint8_t *tag, uint64_t direction)
{
    uint8_t subkey[32], subnonce[12];
    xchacha_begin(subkey, subnonce, p->key, p->nonce);
    run(p, subkey, subnonce, tag, direction);
    wipe(subkey, sizeof subkey);
    sealane_burn_little();
}

/* Runs the first part of a packet that has no text and a J0 of zeroes: the state has GHASH of the associated data, and
 * for a mask the hash key H, the encrypted block of zeroes. */
static NOINLINE void run_ad(sealane_gcm_state *state, const sealane_level *level, const sealane_gcm_key *key,
                            const uint8_t *ad, size_t ad_bytes)
{
    static const uint8_t zero[16] = {0};
    SEALANE_SCRATCH(scratch);
    const sealane_args a = {
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
    sealane_gcm_state state;
    run_ad(&state, level, key, NULL, 0);
    memcpy(h, state.mask, 16);
    wipe(&state, sizeof state);
}

/* J0 is GHASH of the nonce and its length: what a kernel makes of associated data, but for the lengths' block, which is
 * of the associated data here, or where it would have to be copied far is added by portable code. */
static NOINLINE void hash_nonce(uint8_t j0[16], const sealane_level *level, const sealane_gcm_key *key,
                                const uint8_t *nonce, size_t nonce_bytes)
{
    uint8_t blocks[128] = {0};
    const size_t padded = (nonce_bytes + 15) / 16 * 16;
    sealane_gcm_state state;
    if (nonce_bytes <= sizeof blocks - 16) {
        memcpy(blocks, nonce, nonce_bytes);
        store64_be(blocks + padded + 8, 8 * (uint64_t)nonce_bytes);
        run_ad(&state, level, key, blocks, padded + 16);
        memcpy(j0, state.y, 16);
    } else {
        ghash_key k;
        run_ad(&state, level, key, nonce, nonce_bytes);
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
    hash_nonce(j0, level, key, nonce, nonce_bytes);
    sealane_burn_stack();
}

void sealane_begin_gcm(uint8_t j0[16], const sealane_key *k, const uint8_t *nonce, size_t nonce_bytes)
{
    if (nonce_bytes == SEALANE_AES_GCM_NONCE_BYTES) {
        memcpy(j0, nonce, SEALANE_AES_GCM_NONCE_BYTES);
        store32(j0 + SEALANE_AES_GCM_NONCE_BYTES, swap32(1));
    } else {
        sealane_gcm_hash_nonce(j0, key_level(k), gcm_key_of(k), nonce, nonce_bytes);
    }
}

static void run_gcm(const packet *p, uint8_t *tag, uint64_t direction)
{
    uint8_t j0[16];
    if (p->nonce_bytes == SEALANE_AES_GCM_NONCE_BYTES) {
        run(p, gcm_key_of(p->key), p->nonce, tag, direction | SEALANE_FLAG_NONCE);
        return;
    }
    sealane_begin_gcm(j0, p->key, p->nonce, p->nonce_bytes);
    run(p, gcm_key_of(p->key), j0, tag, direction);
    wipe(j0, sizeof j0);
}

static inline void run_any(const packet *p, uint8_t *tag, uint64_t direction)
{
    const sealane_alg alg = key_alg(p->key);
    if (alg == SEALANE_CHACHA20_POLY1305)
        run(p, key_bytes_of(p->key), p->nonce, tag, direction);
    else if (alg == SEALANE_XCHACHA20_POLY1305)
        run_xchacha(p, tag, direction);
    else
        run_gcm(p, tag, direction);
}

/* 1 if [x, x + x_bytes) and [y, y + y_bytes) have a byte in common; neither is empty, and no sum of their lengths is
 * too large for a size_t. */
static ALWAYS_INLINE inline int touch(const void *x, size_t x_bytes, const void *y, size_t y_bytes)
{
    return (uintptr_t)x - (uintptr_t)y + (x_bytes - 1) < y_bytes + (x_bytes - 1);
}

/* A packet with a nonce of 12 bytes, a whole tag, some text, and beyond doubt well formed: what nearly all are. Returns
 * its key's level, else NULL: it may be well formed all the same. Written for few instructions: every packet pays for
 * them, and a short one as many as a tenth of its time. What mistake() looks for is all here, each in a test of its
 * own. */
static ALWAYS_INLINE inline const sealane_level *plain(const sealane_key *k, uint8_t *out, const uint8_t *tag,
                                                       const uint8_t *nonce, const uint8_t *ad, size_t ad_bytes,
                                                       const uint8_t *in, size_t n, int open)
{
#define GIVE_UP_IF(condition)    \
    do {                         \
        if (UNLIKELY(condition)) \
            return NULL;         \
        KEEP_APART();            \
    } while (0)

    GIVE_UP_IF(k == NULL);
    const uint64_t number = k->opaque[0] - ((uint64_t)KEY_MARK << 32);
    GIVE_UP_IF(number >= PLAIN_KEYS);
    const sealane_level *level = sealane_plain_levels[number];
    HAVE_NOW(level); /* what the kernel does waits for its constants, and they for this */
    GIVE_UP_IF(n - 1 >= PLAIN_BYTES - 1);
    GIVE_UP_IF(out == NULL);
    if (in != out) {
        GIVE_UP_IF(in == NULL);
        GIVE_UP_IF(touch(in, n, out, n));
    }
    GIVE_UP_IF(tag == NULL);
    if (ad_bytes != 0) {
        GIVE_UP_IF(ad == NULL);
        GIVE_UP_IF(ad_bytes >= PLAIN_BYTES);
        GIVE_UP_IF(touch(ad, ad_bytes, out, n));
        GIVE_UP_IF(!open && touch(ad, ad_bytes, tag, SEALANE_TAG_BYTES));
    }
    GIVE_UP_IF(nonce == NULL);
    GIVE_UP_IF(touch(nonce, 12, out, n));
    GIVE_UP_IF(!open && touch(nonce, 12, tag, SEALANE_TAG_BYTES));
    GIVE_UP_IF(touch(tag, SEALANE_TAG_BYTES, out, n));
    return level;
#undef GIVE_UP_IF
}

/* Whatever may come; out, in and the associated data are in a. */
static NOINLINE int seal_any(const sealane_key *k, const sealane_args *a, uint8_t *tag, const uint8_t *nonce,
                             size_t nonce_bytes)
{
    const packet p = packet_of(k, a, nonce, nonce_bytes);
    const sealane_status why = mistake(&p, tag, 0);
    uint8_t whole[SEALANE_TAG_BYTES];
    if (why != SEALANE_OK)
        return sealane_refuse_to_seal(why, k, p.out, p.bytes, tag);
    const uint64_t dit = dit_on();
    run_any(&p, whole, 0);
    memcpy(tag, whole, key_tag_bytes(k));
    wipe(whole, sizeof whole);
    dit_restore(dit);
    return SEALANE_OK;
}

/* What a kernel wants of a packet, but for tag, key and flags. */
#define BEGIN_ARGS(a)                                                                            \
    (a).out = slot(out), (a).in = slot(in), (a).bytes = (a).total = in_bytes, (a).ad = slot(ad), \
    (a).ad_bytes = ad_bytes, (a).nonce = slot(nonce)

/* And key and flags, as AES-GCM has them. Not taken from the level: the key's address would be known three loads later,
 * and all that the kernel does waits for it. */
#define BEGIN_KEY(a, direction)     \
    (a).key = slot(k) + GCM_KEY_AT, \
    (a).flags = SEALANE_FLAG_FIRST | SEALANE_FLAG_LAST | SEALANE_FLAG_NONCE | (direction)

/* They are other ones where a level is not AES-GCM's. */
static ALWAYS_INLINE inline void end_key(sealane_args *a, const sealane_level *level)
{
    if (UNLIKELY(!(level->flags & SEALANE_FLAG_NONCE))) {
        a->key += CHACHA20_KEY_AT - GCM_KEY_AT;
        a->flags -= SEALANE_FLAG_NONCE;
        KEEP_APART();
    }
}

int sealane_seal(const sealane_key *k, uint8_t *out, uint8_t tag[16], const uint8_t *nonce, size_t nonce_bytes,
                 const uint8_t *ad, size_t ad_bytes, const uint8_t *in, size_t in_bytes)
{
    SEALANE_SCRATCH(scratch);
    sealane_args a;
    BEGIN_ARGS(a);
    BEGIN_KEY(a, 0);
    if (UNLIKELY(nonce_bytes != 12))
        return seal_any(k, &a, tag, nonce, nonce_bytes);
    const sealane_level *level = plain(k, out, tag, nonce, ad, ad_bytes, in, in_bytes, 0);
    if (UNLIKELY(level == NULL))
        return seal_any(k, &a, tag, nonce, 12);
    const uint64_t dit = dit_on();
    end_key(&a, level);
    a.tag = slot(tag);
    level->kernel(&a, scratch, level->consts);
    dit_restore(dit);
    return SEALANE_OK;
}

static int refuse_forgery(const sealane_args *a)
{
    if (a->bytes != 0)
        memset(slot_bytes(a->out), 0, (size_t)a->bytes);
    return SEALANE_NOT_AUTHENTIC;
}

static NOINLINE int open_any(const sealane_key *k, const sealane_args *a, const uint8_t *tag, const uint8_t *nonce,
                             size_t nonce_bytes)
{
    const packet p = packet_of(k, a, nonce, nonce_bytes);
    const sealane_status why = mistake(&p, tag, 1);
    uint8_t expected[SEALANE_TAG_BYTES];
    if (why != SEALANE_OK)
        return sealane_refuse(why, k, p.out, p.bytes);
    const uint64_t dit = dit_on();
    run_any(&p, expected, SEALANE_FLAG_OPEN);
    const int authentic = sealane_same_tag(k, expected, tag);
    dit_restore(dit);
    return authentic ? SEALANE_OK : refuse_forgery(a);
}

int sealane_open(const sealane_key *k, uint8_t *out, const uint8_t tag[16], const uint8_t *nonce, size_t nonce_bytes,
                 const uint8_t *ad, size_t ad_bytes, const uint8_t *in, size_t in_bytes)
{
    SEALANE_SCRATCH(scratch);
    uint8_t expected[SEALANE_TAG_BYTES];
    sealane_args a;
    BEGIN_ARGS(a);
    BEGIN_KEY(a, SEALANE_FLAG_OPEN);
    if (UNLIKELY(nonce_bytes != 12))
        return open_any(k, &a, tag, nonce, nonce_bytes);
    const sealane_level *level = plain(k, out, tag, nonce, ad, ad_bytes, in, in_bytes, 1);
    if (UNLIKELY(level == NULL))
        return open_any(k, &a, tag, nonce, 12);
    const uint64_t dit = dit_on();
    end_key(&a, level);
    a.tag = slot(expected);
    level->kernel(&a, scratch, level->consts);
    const int authentic = equal16(expected, tag);
    wipe(expected, sizeof expected);
    dit_restore(dit);
    return authentic ? SEALANE_OK : refuse_forgery(&a);
}
