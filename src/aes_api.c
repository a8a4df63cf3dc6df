/* The front end of the unauthenticated modes: partial blocks, long counters, and the caller's mistakes. */
#include "../include/sealane.h"

#include "aesmodes.h"
#include "contract.h"
#include "dit.h"
#include "level.h"

/* A key: a mark, the index of its level, and the schedules that the level's kernel made. */
#define AES_MARK 0x736c6131

typedef struct {
    uint64_t mark;
    sealane_aes_schedules schedules;
} aes_key;

_Static_assert(sizeof(aes_key) <= sizeof(sealane_aes_key), "key");
_Static_assert(sizeof(sealane_xts_key) == 2 * sizeof(sealane_aes_key), "two keys");

static const sealane_level *level_of_key(const aes_key *k)
{
    return &sealane_tables[SEALANE_AES].levels[k->mark & 0xff];
}

/* Whatever a damaged key contains, its index stays within the table. */
static inline const aes_key *valid(const sealane_aes_key *key)
{
    const aes_key *k = (const aes_key *)(const void *)key;
    const uint64_t index = k == NULL ? 0 : k->mark & 0xffffffff;
    return k != NULL && k->mark >> 32 == AES_MARK && index < sealane_tables[SEALANE_AES].count &&
                   k->schedules.rounds % 2 == 0 && k->schedules.rounds >= 10 && k->schedules.rounds <= 14
               ? k
               : NULL;
}

const sealane_aes_schedules *sealane_aes_schedules_of(const sealane_aes_key *key, const sealane_level **level)
{
    const aes_key *k = valid(key);
    if (k == NULL)
        return NULL;
    *level = level_of_key(k);
    return &k->schedules;
}

/* Sets only the fields that kernels of modes read; setting all would cost as much as a block. */
static ALWAYS_INLINE inline void run(const aes_key *k, uint64_t operation, uint8_t *out, const uint8_t *in,
                                     size_t bytes, uint8_t *state)
{
    SEALANE_SCRATCH(scratch);
    const sealane_level *level = level_of_key(k);
    sealane_mode_args a;
    a.out = slot(out), a.in = slot(in), a.bytes = bytes;
    a.key = slot(&k->schedules), a.state = slot(state), a.operation = operation;
    level->kernel(&a, scratch, level->consts);
}

static inline void set_up(aes_key *k, const uint8_t *raw, size_t key_bytes, int index, int encrypts_only)
{
    SEALANE_SCRATCH(scratch);
    const uint64_t dit = dit_on();
    const sealane_level *level = &sealane_tables[SEALANE_AES].levels[index];
    /* Unread fields stay unset: compilers zero them with rep stos, which takes as long as everything else here. */
    sealane_mode_args a;
    a.encrypts_only = (uint64_t)encrypts_only, a.key = slot(&k->schedules), a.operation = SEALANE_AES_SETUP;
    k->schedules.rounds = 6 + key_bytes / 4;
    put_raw_key(k->schedules.schedule, key_bytes, raw, key_bytes); /* bytes after it are not read */
    level->kernel(&a, scratch, level->consts);
    k->mark = (uint64_t)AES_MARK << 32 | (uint64_t)index;
    dit_restore(dit);
}

int sealane_aes_key_encrypts(sealane_aes_key *key, const uint8_t *raw, size_t key_bytes)
{
    const int index = sealane_level_of_process(&sealane_tables[SEALANE_AES]);
    if (index < 0 || (key_bytes != 16 && key_bytes != 24 && key_bytes != 32))
        return 0;
    set_up((aes_key *)(void *)key, raw, key_bytes, index, 1);
    return 1;
}

static sealane_status key_mistake(const sealane_aes_key *key, const uint8_t *raw, size_t key_bytes)
{
    if (key_bytes != 16 && key_bytes != 24 && key_bytes != 32)
        return SEALANE_INVALID_KEY;
    return source_mistake(key, sizeof *key, raw, key_bytes);
}

int sealane_aes_key_init(sealane_aes_key *key, const uint8_t *raw, size_t key_bytes)
{
    if (key == NULL)
        return SEALANE_NULL;
    const sealane_status why = key_mistake(key, raw, key_bytes);
    const int index = why == SEALANE_OK ? sealane_level_of_process(&sealane_tables[SEALANE_AES]) : -1;
    wipe(key, sizeof *key);
    if (index < 0)
        return why != SEALANE_OK ? why : SEALANE_NO_LEVEL;
    set_up((aes_key *)(void *)key, raw, key_bytes, index, 0);
    return SEALANE_OK;
}

void sealane_aes_key_wipe(sealane_aes_key *key)
{
    if (key != NULL)
        wipe(key, sizeof *key);
}

const char *sealane_aes_impl_name(const sealane_aes_key *key)
{
    const aes_key *k = valid(key);
    return k == NULL ? "none" : level_of_key(k)->name;
}

/* ---- The caller's mistakes ---- */

/* For a text of whole blocks with a 16-byte initial value, which may be written. */
static ALWAYS_INLINE inline sealane_status mistake(const aes_key *k, const uint8_t *out, const uint8_t *in,
                                                   size_t bytes, const uint8_t *iv)
{
    REFUSE_IF(k == NULL, SEALANE_INVALID_KEY);
    REFUSE_IF(bytes % 16 != 0, SEALANE_INVALID_LENGTH);
    const sealane_status why = text_mistake(out, in, bytes, LENGTH_MAX);
    REFUSE_IF(why != SEALANE_OK, why);
    REFUSE_IF(iv == NULL, SEALANE_NULL);
    REFUSE_IF(overlap(out, bytes, iv, 16) || overlap(in, bytes, iv, 16), SEALANE_OVERLAP);
    return SEALANE_OK;
}

/* ---- Single blocks ---- */

static int ecb(const sealane_aes_key *key, uint64_t operation, uint8_t *out, const uint8_t *in, size_t bytes)
{
    const aes_key *k = valid(key);
    const sealane_status why = k == NULL         ? SEALANE_INVALID_KEY
                               : bytes % 16 != 0 ? SEALANE_INVALID_LENGTH
                                                 : text_mistake(out, in, bytes, LENGTH_MAX);
    if (why != SEALANE_OK)
        return why;
    const uint64_t dit = dit_on();
    run(k, operation, out, in, bytes, NULL);
    dit_restore(dit);
    return SEALANE_OK;
}

int sealane_aes_ecb_encrypt(const sealane_aes_key *k, uint8_t *out, const uint8_t *in, size_t in_bytes)
{
    return ecb(k, SEALANE_AES_ECB_ENCRYPT, out, in, in_bytes);
}

int sealane_aes_ecb_decrypt(const sealane_aes_key *k, uint8_t *out, const uint8_t *in, size_t in_bytes)
{
    return ecb(k, SEALANE_AES_ECB_DECRYPT, out, in, in_bytes);
}

/* ---- Counter mode ---- */

static uint32_t counter_of(const uint8_t block[16])
{
    return swap32(load32(block + 12));
}

/* Whole blocks. Kernels count with 32 bits, so each call ends where that counter wraps around; the carry is added
 * here. */
static ALWAYS_INLINE inline void ctr_blocks(const aes_key *k, uint8_t counter[16], uint8_t *out, const uint8_t *in,
                                            size_t bytes)
{
    while (bytes > 0) {
        const uint64_t until = 16 * (((uint64_t)1 << 32) - counter_of(counter));
        const size_t n = bytes < until ? bytes : (size_t)until;
        run(k, SEALANE_AES_CTR, out, in, n, counter);
        for (int i = 11; i >= 0 && n == until; i--)
            if (++counter[i] != 0)
                break;
        out += n, in += n, bytes -= n;
    }
}

void sealane_aes_ctr_blocks(const sealane_aes_key *k, uint8_t counter[16], uint8_t *out, const uint8_t *in,
                            size_t bytes)
{
    const uint64_t dit = dit_on();
    ctr_blocks((const aes_key *)(const void *)k, counter, out, in, bytes);
    dit_restore(dit);
}

int sealane_aes_ctr_init(sealane_aes_ctr *s, const uint8_t counter[16], unsigned counter_bits)
{
    if (s == NULL)
        return SEALANE_INVALID_STREAM;
    const sealane_status why =
        counter_bits != 32 && counter_bits != 128 ? SEALANE_INVALID_LENGTH : source_mistake(s, sizeof *s, counter, 16);
    wipe(s, sizeof *s);
    if (why != SEALANE_OK)
        return why;
    memcpy(s->counter, counter, 16);
    s->limited = counter_bits == 32;
    s->blocks = s->limited ? ((uint64_t)1 << 32) - counter_of(counter) : 0;
    s->ready = AES_MARK;
    return SEALANE_OK;
}

void sealane_aes_ctr_wipe(sealane_aes_ctr *s)
{
    if (s != NULL)
        wipe(s, sizeof *s);
}

static ALWAYS_INLINE inline void ctr_pieces(const aes_key *k, sealane_aes_ctr *s, uint8_t *out, const uint8_t *in,
                                            size_t bytes)
{
    for (; bytes > 0 && s->left > 0; bytes--)
        *out++ = *in++ ^ s->stream[16 - s->left--];
    const size_t whole = bytes & ~(size_t)15;
    ctr_blocks(k, s->counter, out, in, whole);
    if (bytes == whole)
        return;
    memset(s->stream, 0, 16);
    ctr_blocks(k, s->counter, s->stream, s->stream, 16);
    for (size_t i = whole; i < bytes; i++)
        out[i] = in[i] ^ s->stream[i - whole];
    s->left = 16 - (uint32_t)(bytes - whole);
}

int sealane_aes_ctr_xor(const sealane_aes_key *key, sealane_aes_ctr *s, uint8_t *out, const uint8_t *in,
                        size_t in_bytes)
{
    const aes_key *k = valid(key);
    if (s == NULL || s->ready != AES_MARK || s->left > 15)
        return SEALANE_INVALID_STREAM;
    const sealane_status why = k == NULL ? SEALANE_INVALID_KEY : text_mistake(out, in, in_bytes, LENGTH_MAX);
    if (why != SEALANE_OK)
        return why;
    if (overlap(out, in_bytes, s, sizeof *s) || overlap(in, in_bytes, s, sizeof *s))
        return SEALANE_OVERLAP;
    const uint64_t beyond = in_bytes > s->left ? (uint64_t)in_bytes - s->left : 0;
    const uint64_t blocks = beyond / 16 + (beyond % 16 != 0);
    if (s->limited && blocks > s->blocks)
        return SEALANE_TOO_LONG;
    const uint64_t dit = dit_on();
    s->blocks -= s->limited ? blocks : 0;
    ctr_pieces(k, s, out, in, in_bytes);
    dit_restore(dit);
    return SEALANE_OK;
}

/* ---- Cipher block chaining ---- */

static void encrypt_lanes(const sealane_level *level, sealane_mode_lane *lanes, size_t count, size_t bytes)
{
    SEALANE_SCRATCH(scratch);
    sealane_mode_args a;
    a.lanes = slot(lanes), a.count = count, a.bytes_each = bytes, a.operation = SEALANE_AES_CBC_ENCRYPT;
    level->kernel(&a, scratch, level->consts);
}

static ALWAYS_INLINE inline void set_lane(sealane_mode_lane *l, const aes_key *k, uint8_t *out, const uint8_t *in,
                                          uint8_t *iv)
{
    l->out = slot(out), l->in = slot(in), l->key = slot(&k->schedules), l->chain = slot(iv);
}

int sealane_aes_cbc_encrypt(const sealane_aes_key *key, uint8_t iv[16], uint8_t *out, const uint8_t *in,
                            size_t in_bytes)
{
    const aes_key *k = valid(key);
    const sealane_status why = mistake(k, out, in, in_bytes, iv);
    if (why != SEALANE_OK)
        return why;
    const uint64_t dit = dit_on();
    sealane_mode_lane lane;
    set_lane(&lane, k, out, in, iv);
    if (in_bytes != 0)
        encrypt_lanes(level_of_key(k), &lane, 1, in_bytes);
    dit_restore(dit);
    return SEALANE_OK;
}

int sealane_aes_cbc_decrypt(const sealane_aes_key *key, uint8_t iv[16], uint8_t *out, const uint8_t *in,
                            size_t in_bytes)
{
    const aes_key *k = valid(key);
    const sealane_status why = mistake(k, out, in, in_bytes, iv);
    if (why != SEALANE_OK)
        return why;
    const uint64_t dit = dit_on();
    run(k, SEALANE_AES_CBC_DECRYPT, out, in, in_bytes, iv);
    dit_restore(dit);
    return SEALANE_OK;
}

/* The texts in progress, all with one level and number of rounds. When one ends, the next takes its place. */
enum { TOGETHER = 8 };

typedef struct {
    sealane_mode_lane lanes[TOGETHER];
    size_t left[TOGETHER], count;
    const aes_key *key; /* one of the keys; all have its level and rounds */
} cbc_run;

static void run_until(cbc_run *r, size_t count)
{
    while (r->count > count) {
        size_t n = r->left[0], kept = 0;
        for (size_t i = 1; i < r->count; i++)
            n = r->left[i] < n ? r->left[i] : n;
        encrypt_lanes(level_of_key(r->key), r->lanes, r->count, n);
        for (size_t i = 0; i < r->count; i++) {
            r->left[i] -= n;
            if (r->left[i] == 0)
                continue;
            r->lanes[kept] = r->lanes[i], r->left[kept] = r->left[i];
            r->lanes[kept].in += n, r->lanes[kept].out += n;
            kept++;
        }
        r->count = kept;
    }
}

static void add_text(cbc_run *r, const aes_key *k, const sealane_cbc_op *op)
{
    if (r->count > 0 && (r->key->mark != k->mark || r->key->schedules.rounds != k->schedules.rounds))
        run_until(r, 0);
    run_until(r, TOGETHER - 1);
    set_lane(&r->lanes[r->count], k, op->out, op->in, op->iv);
    r->left[r->count++] = op->in_bytes;
    r->key = k;
}

size_t sealane_aes_cbc_encrypt_batch(sealane_cbc_op *ops, size_t n)
{
    cbc_run r = {.count = 0};
    size_t good = 0;
    const uint64_t dit = dit_on();
    for (size_t i = 0; ops != NULL && i < n; i++) {
        const aes_key *k = valid(ops[i].key);
        ops[i].status = mistake(k, ops[i].out, ops[i].in, ops[i].in_bytes, ops[i].iv);
        if (ops[i].status == SEALANE_OK && ops[i].in_bytes != 0)
            add_text(&r, k, &ops[i]);
        good += ops[i].status == SEALANE_OK;
    }
    run_until(&r, 0);
    dit_restore(dit);
    return good;
}

/* ---- XTS ---- */

#define XTS_BYTES_MAX ((size_t)1 << 24)

static sealane_status xts_key_mistake(const sealane_xts_key *k, const uint8_t *raw, size_t key_bytes)
{
    uint8_t differ = 0;
    if (key_bytes != 32 && key_bytes != 64)
        return SEALANE_INVALID_KEY;
    const sealane_status why = source_mistake(k, sizeof *k, raw, key_bytes);
    for (size_t i = 0; why == SEALANE_OK && i < key_bytes / 2; i++)
        differ |= raw[i] ^ raw[key_bytes / 2 + i];
    int equal = hide(differ) == 0;
    DECLASSIFY(equal);
    return why != SEALANE_OK ? why : equal ? SEALANE_INVALID_KEY : SEALANE_OK;
}

int sealane_aes_xts_key_init(sealane_xts_key *k, const uint8_t *raw, size_t key_bytes)
{
    if (k == NULL)
        return SEALANE_NULL;
    int failed = xts_key_mistake(k, raw, key_bytes);
    if (!failed)
        failed = sealane_aes_key_init(&k->text, raw, key_bytes / 2);
    if (!failed)
        failed = sealane_aes_key_init(&k->tweak, raw + key_bytes / 2, key_bytes / 2);
    if (failed)
        wipe(k, sizeof *k);
    return failed;
}

void sealane_aes_xts_key_wipe(sealane_xts_key *k)
{
    if (k != NULL)
        wipe(k, sizeof *k);
}

/* A text that does not end with a whole block (ciphertext stealing, IEEE 1619, section 5.3.2). The last block is filled
 * up with output of the previous block, whose remaining bytes become the last output. Decryption swaps the two
 * tweaks. */
static void steal(const aes_key *k, uint64_t operation, uint8_t tweak[16], uint8_t *out, const uint8_t *in,
                  size_t bytes)
{
    const size_t rest = bytes % 16, whole = bytes - rest, before = whole - 16;
    uint8_t last[16], other[16], first[16], second[16];
    run(k, operation, out, in, before, tweak);
    memcpy(first, tweak, 16), memcpy(second, tweak, 16);
    sealane_xts_double(operation == SEALANE_AES_XTS_DECRYPT ? first : second);
    memcpy(last, in + whole, rest);
    run(k, operation, other, in + before, 16, first);
    memcpy(last + rest, other + rest, 16 - rest);
    run(k, operation, last, last, 16, second);
    memcpy(out + before, last, 16);
    memcpy(out + whole, other, rest);
    wipe(last, 16), wipe(other, 16), wipe(first, 16), wipe(second, 16);
}

static int xts(const sealane_xts_key *key, uint64_t operation, const uint8_t tweak[16], uint8_t *out, const uint8_t *in,
               size_t bytes)
{
    const aes_key *k = key == NULL ? NULL : valid(&key->text), *t = key == NULL ? NULL : valid(&key->tweak);
    sealane_status why = k == NULL || t == NULL ? SEALANE_INVALID_KEY
                         : tweak == NULL        ? SEALANE_NULL
                         : bytes < 16           ? SEALANE_INVALID_LENGTH
                                                : text_mistake(out, in, bytes, XTS_BYTES_MAX);
    if (why == SEALANE_OK && overlap(out, bytes, tweak, 16))
        why = SEALANE_OVERLAP;
    if (why != SEALANE_OK)
        return why;
    uint8_t encrypted[16];
    const uint64_t dit = dit_on();
    run(t, SEALANE_AES_ECB_ENCRYPT, encrypted, tweak, 16, NULL);
    if (bytes % 16 == 0)
        run(k, operation, out, in, bytes, encrypted);
    else
        steal(k, operation, encrypted, out, in, bytes);
    wipe(encrypted, 16);
    dit_restore(dit);
    return SEALANE_OK;
}

int sealane_aes_xts_encrypt(const sealane_xts_key *k, const uint8_t tweak[16], uint8_t *out, const uint8_t *in,
                            size_t in_bytes)
{
    return xts(k, SEALANE_AES_XTS_ENCRYPT, tweak, out, in, in_bytes);
}

int sealane_aes_xts_decrypt(const sealane_xts_key *k, const uint8_t tweak[16], uint8_t *out, const uint8_t *in,
                            size_t in_bytes)
{
    return xts(k, SEALANE_AES_XTS_DECRYPT, tweak, out, in, in_bytes);
}
