/* AES-GCM-SIV (RFC 8452), put together of the kernels of AES and AES-GCM.
 *
 * POLYVAL is GHASH of blocks whose bytes are reversed, with a hash key that is reversed and multiplied by x, its result
 * reversed again (appendix A). A kernel of AES-GCM takes such blocks as ciphertext; what it opens them to, under a key
 * of zeroes, is thrown away.
 */
#include "../include/sealane.h"

#include "aesmodes.h"
#include "contract.h"
#include "dit.h"
#include "key.h"

#define GCM_SIV_MARK 0x736c7631

/* Section 6. */
#define GCM_SIV_TEXT_MAX ((uint64_t)1 << 36)

enum {
    CHUNK = 2048, /* bytes that are reversed, or counted, at a time */
    NONCE_BYTES = SEALANE_AES_GCM_SIV_NONCE_BYTES,
    TAG_BYTES = SEALANE_TAG_BYTES
};

static inline int is_key(const sealane_gcm_siv_key *k)
{
    return k != NULL && k->opaque >> 32 == GCM_SIV_MARK && ((uint32_t)k->opaque == 16 || (uint32_t)k->opaque == 32);
}

int sealane_aes_gcm_siv_key_init(sealane_gcm_siv_key *k, const uint8_t *key, size_t key_bytes)
{
    if (k == NULL)
        return SEALANE_NULL;
    int failed =
        key_bytes != 16 && key_bytes != 32 ? SEALANE_INVALID_KEY : source_mistake(k, sizeof *k, key, key_bytes);
    if (!failed && sealane_level_of_process(&sealane_tables[SEALANE_AESGCM]) < 0)
        failed = SEALANE_NO_LEVEL;
    if (!failed)
        failed = sealane_aes_key_init(&k->aes, key, key_bytes);
    if (failed)
        wipe(k, sizeof *k);
    else
        k->opaque = (uint64_t)GCM_SIV_MARK << 32 | key_bytes;
    return failed;
}

void sealane_aes_gcm_siv_key_wipe(sealane_gcm_siv_key *k)
{
    if (k != NULL)
        wipe(k, sizeof *k);
}

/* What needs scratch memory is in no other function's frame: burning the stack reaches all that those leave behind. */
static NOINLINE void call(const sealane_level *level, const void *a)
{
    SEALANE_SCRATCH(scratch);
    level->kernel(a, scratch, level->consts);
}

/* ---- AES ---- */

typedef struct {
    const sealane_level *level;
    sealane_aes_schedules key;
} aes;

static void encrypt(const sealane_level *level, const sealane_aes_schedules *key, uint8_t *out, const uint8_t *in,
                    size_t bytes)
{
    sealane_mode_args a;
    a.out = slot(out), a.in = slot(in), a.bytes = bytes, a.key = slot(key), a.operation = SEALANE_AES_ECB_ENCRYPT;
    call(level, &a);
}

static void expand(aes *k, const uint8_t *raw, size_t key_bytes)
{
    sealane_mode_args a;
    a.encrypts_only = 1, a.key = slot(&k->key), a.operation = SEALANE_AES_SETUP;
    k->key.rounds = 6 + key_bytes / 4;
    put_raw_key(k->key.schedule, key_bytes, raw, key_bytes);
    call(k->level, &a);
}

/* ---- POLYVAL ---- */

static inline void reverse(uint8_t *out, const uint8_t *in)
{
    uint64_t first, last;
    memcpy(&first, in, 8), memcpy(&last, in + 8, 8);
    first = swap64(first), last = swap64(last);
    memcpy(out, &last, 8), memcpy(out + 8, &first, 8);
}

typedef struct {
    const sealane_level *level;
    sealane_gcm_key key;
    sealane_gcm_state state;
    uint64_t flags;
    size_t held; /* bytes of chunk that wait */
    uint8_t chunk[CHUNK];
} polyval;

/* Times x in GCM's order of bits, where that of x^0 is a block's first one. */
static void times_x(uint8_t block[16])
{
    const uint64_t high = load64_be(block), low = load64_be(block + 8);
    store64_be(block, high >> 1 ^ ((uint64_t)0xe1 << 56 & (0 - hide(low & 1))));
    keep_stores(block);
    store64_be(block + 8, low >> 1 | high << 63);
}

/* Absorbs what waits: a multiple of 64 bytes. */
static void run_polyval(polyval *p)
{
    static const uint8_t none[SEALANE_AES_GCM_NONCE_BYTES] = {0};
    const sealane_packet_args a = {
        .out = slot(p->chunk),
        .in = slot(p->chunk),
        .bytes = p->held,
        .key = slot(&p->key),
        .nonce = slot(none),
        .state = slot(&p->state),
        .flags = p->flags | SEALANE_FLAG_OPEN | SEALANE_FLAG_NONCE,
    };
    call(p->level, &a);
    p->flags = 0, p->held = 0;
}

/* Zero blocks before the `blocks` of a text make their number a multiple of 4 and do not change the sum. */
static void begin_polyval(polyval *p, const uint8_t hash_key[16], uint64_t blocks)
{
    uint8_t h[16];
    const sealane_packet_args a = {
        .key = slot(&p->key), .nonce = slot(h), .flags = SEALANE_FLAG_SETUP | SEALANE_FLAG_NONCE};
    reverse(h, hash_key);
    times_x(h);
    p->key.rounds = 10;
    memset(p->key.schedule, 0, sizeof p->key.schedule);
    call(p->level, &a);
    p->flags = SEALANE_FLAG_FIRST, p->held = 16 * (size_t)(-blocks % 4);
    memset(p->chunk, 0, p->held);
    wipe(h, sizeof h);
}

/* Data, filled up with zeroes to whole blocks. */
static void absorb(polyval *p, const uint8_t *in, size_t bytes)
{
    while (bytes > 0) {
        if (p->held == CHUNK)
            run_polyval(p);
        const size_t room = CHUNK - p->held, n = bytes < room ? bytes : room, whole = n & ~(size_t)15;
        uint8_t *to = p->chunk + p->held;
        for (size_t i = 0; i < whole; i += 16)
            reverse(to + i, in + i);
        if (n != whole) {
            uint8_t last[16] = {0};
            memcpy(last, in + whole, n - whole);
            reverse(to + whole, last);
            wipe(last, sizeof last);
        }
        p->held += (n + 15) & ~(size_t)15;
        in += n, bytes -= n;
    }
}

/* ---- Packets ---- */

typedef struct {
    aes message;
    uint8_t hash_key[16], tag[16];
    polyval polyval;
} siv;

/* All of it except the end of the chunk that a packet does not reach, which is half of the bytes. */
static void wipe_siv(siv *s, const sealane_packet *p)
{
    const size_t ad = p->ad_bytes < CHUNK ? p->ad_bytes : CHUNK, text = p->bytes < CHUNK ? p->bytes : CHUNK;
    const size_t most = ad + text + 96; /* two fillings, the lengths, the zeroes before */
    const size_t used = most < CHUNK ? most : CHUNK;
    wipe(s, offsetof(siv, polyval) + offsetof(polyval, chunk) + used);
}

/* Section 4: the keys of one nonce, 8 bytes of each block. */
static NOINLINE void derive(siv *s, const sealane_gcm_siv_key *k, const uint8_t nonce[NONCE_BYTES])
{
    const size_t key_bytes = (size_t)(k->opaque & 0xff), blocks = 2 + key_bytes / 8;
    const sealane_aes_schedules *key = sealane_aes_schedules_of(&k->aes, &s->message.level);
    uint8_t in[6][16], out[6][16], raw[32];
    for (size_t i = 0; i < blocks; i++) {
        store32(in[i], (uint32_t)i);
        memcpy(in[i] + 4, nonce, NONCE_BYTES);
    }
    encrypt(s->message.level, key, out[0], in[0], 16 * blocks);
    memcpy(s->hash_key, out[0], 8), memcpy(s->hash_key + 8, out[1], 8);
    for (size_t i = 2; i < blocks; i++)
        memcpy(raw + 8 * (i - 2), out[i], 8);
    expand(&s->message, raw, key_bytes);
    wipe(out, sizeof out), wipe(raw, sizeof raw);
}

static inline uint64_t blocks_of(size_t bytes)
{
    return bytes / 16 + (bytes % 16 != 0);
}

/* Section 4: the tag of plaintext and associated data. */
static NOINLINE void make_tag(siv *s, uint8_t tag[16], const sealane_packet *p, const uint8_t *text)
{
    uint8_t sum[16];
    begin_polyval(&s->polyval, s->hash_key, blocks_of(p->ad_bytes) + blocks_of(p->bytes) + 1);
    store64(sum, 8 * (uint64_t)p->ad_bytes), store64(sum + 8, 8 * (uint64_t)p->bytes);
    absorb(&s->polyval, p->ad, p->ad_bytes);
    absorb(&s->polyval, text, p->bytes);
    absorb(&s->polyval, sum, 16);
    run_polyval(&s->polyval);
    reverse(sum, s->polyval.state.y);
    store64(sum, load64(sum) ^ load64(p->nonce));
    store64(sum + 8, (load64(sum + 8) ^ load32(p->nonce + 8)) << 1 >> 1);
    encrypt(s->message.level, &s->message.key, tag, sum, 16);
    wipe(sum, sizeof sum);
}

/* By words: compilers do not vectorize the loop over bytes. */
static void add(uint8_t *out, const uint8_t *in, const uint8_t *stream, size_t bytes)
{
    for (uint64_t a, b, c, d; bytes >= 16; bytes -= 16, in += 16, out += 16, stream += 16) {
        memcpy(&a, in, 8), memcpy(&b, in + 8, 8), memcpy(&c, stream, 8), memcpy(&d, stream + 8, 8);
        a ^= c, b ^= d;
        memcpy(out, &a, 8), memcpy(out + 8, &b, 8);
    }
    for (; bytes > 0; bytes--)
        *out++ = *in++ ^ *stream++;
}

/* Key stream onto the text. The first four bytes of the counter block count, little-endian, and wrap around. */
static NOINLINE void crypt(siv *s, uint8_t *out, const uint8_t *in, size_t bytes, const uint8_t tag[16])
{
    uint8_t *const stream = s->polyval.chunk;
    uint8_t block[16];
    memcpy(block, tag, 16);
    block[15] |= 0x80;
    for (size_t n; bytes > 0; bytes -= n, in += n, out += n) {
        n = bytes < CHUNK ? bytes : CHUNK;
        const size_t blocks = (n + 15) / 16;
        uint32_t counter = load32(block);
        for (size_t i = 0; i < blocks; i++, counter++) {
            memcpy(stream + 16 * i, block, 16);
            store32(stream + 16 * i, counter);
        }
        store32(block, counter); /* not in a register, which kernels would save where nothing is wiped */
        encrypt(s->message.level, &s->message.key, stream, stream, 16 * blocks);
        add(out, in, stream, n);
    }
    wipe(block, sizeof block);
}

static int mistake(const sealane_gcm_siv_key *k, const sealane_packet *p)
{
    const sealane_level *level;
    if (!is_key(k) || sealane_aes_schedules_of(&k->aes, &level) == NULL)
        return SEALANE_INVALID_KEY;
    if (p->nonce_bytes != NONCE_BYTES)
        return SEALANE_INVALID_NONCE;
    const size_t most = length_within(GCM_SIV_TEXT_MAX);
    return packet_mistake(p, (sealane_limits){most, most, TAG_BYTES});
}

static void begin(siv *s, const sealane_gcm_siv_key *k, const sealane_packet *p)
{
    const sealane_table *table = &sealane_tables[SEALANE_AESGCM];
    s->polyval.level = &table->levels[sealane_level_of_process(table)];
    derive(s, k, p->nonce);
}

int sealane_aes_gcm_siv_seal(const sealane_gcm_siv_key *k, uint8_t *out, uint8_t tag[16], const uint8_t *nonce,
                             size_t nonce_bytes, const uint8_t *ad, size_t ad_bytes, const uint8_t *in, size_t in_bytes)
{
    const sealane_packet p = {NULL, out, in, in_bytes, ad, ad_bytes, nonce, nonce_bytes, tag, 0};
    siv s;
    const int why = mistake(k, &p);
    if (why != SEALANE_OK)
        return why;
    const uint64_t dit = dit_on();
    begin(&s, k, &p);
    make_tag(&s, s.tag, &p, in);
    DECLASSIFY(s.tag); /* it is sent, and key stream follows from it */
    crypt(&s, out, in, in_bytes, s.tag);
    memcpy(tag, s.tag, TAG_BYTES);
    wipe_siv(&s, &p);
    sealane_burn_stack();
    dit_restore(dit);
    return SEALANE_OK;
}

int sealane_aes_gcm_siv_open(const sealane_gcm_siv_key *k, uint8_t *out, const uint8_t tag[16], const uint8_t *nonce,
                             size_t nonce_bytes, const uint8_t *ad, size_t ad_bytes, const uint8_t *in, size_t in_bytes)
{
    const sealane_packet p = {NULL, out, in, in_bytes, ad, ad_bytes, nonce, nonce_bytes, tag, 1};
    siv s;
    int status = mistake(k, &p);
    if (status != SEALANE_OK)
        return status;
    const uint64_t dit = dit_on();
    begin(&s, k, &p);
    crypt(&s, out, in, in_bytes, tag);
    make_tag(&s, s.tag, &p, out);
    if (!equal16(s.tag, tag)) {
        status = SEALANE_NOT_AUTHENTIC;
        if (out == in)
            crypt(&s, out, in, in_bytes, tag); /* as it came */
        else if (in_bytes != 0)
            memset(out, 0, in_bytes);
    }
    wipe_siv(&s, &p);
    sealane_burn_stack();
    dit_restore(dit);
    return status;
}
