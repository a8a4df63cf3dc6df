/* AES-GCM-SIV (RFC 8452), composed of AES and AES-GCM kernels. */
#include "../include/sealane.h"

#include "aesmodes.h"
#include "contract.h"
#include "dit.h"
#include "key.h"

#define GCM_SIV_MARK 0x736c7631

/* RFC 8452, section 6. */
#define GCM_SIV_TEXT_MAX ((uint64_t)1 << 36)

enum {
    CHUNK = 2048, /* bytes that are reversed or counted at a time */
    DERIVED = 6,  /* the most blocks from which a nonce's keys are made */
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

/* The only frame with scratch memory, so that burning the stack reaches everything that the other functions leave
 * behind. */
static NOINLINE void call(const sealane_level *level, const void *a)
{
    SEALANE_SCRATCH(scratch);
    level->kernel(a, scratch, level->consts);
}

typedef struct {
    const sealane_level *level;
    sealane_aes_schedules key;
} aes;

typedef struct {
    aes message;
    const sealane_level *gcm;
    sealane_gcm_key hash;
    uint8_t hash_key[16], tag[16], last[16];
#if !defined(SEALANE_SIV_KERNELS)
    sealane_gcm_state state;
    size_t held; /* pending bytes in chunk */
    uint8_t chunk[CHUNK];
#endif
} siv;

static void run_aes(const sealane_level *level, const sealane_aes_schedules *key, uint64_t mode, uint8_t *out,
                    const uint8_t *in, size_t bytes)
{
    sealane_mode_args a;
    a.out = slot(out), a.in = slot(in), a.bytes = bytes, a.key = slot(key), a.operation = mode;
    call(level, &a);
}

static void encrypt_block(const aes *k, uint8_t out[16], uint8_t block[16])
{
    run_aes(k->level, &k->key, SEALANE_AES_ECB_ENCRYPT, out, block, 16);
}

static void expand(aes *k, const uint8_t *raw, size_t key_bytes)
{
    sealane_mode_args a;
    a.encrypts_only = 1, a.key = slot(&k->key), a.operation = SEALANE_AES_SETUP;
    k->key.rounds = 6 + key_bytes / 4;
    put_raw_key(k->key.schedule, key_bytes, raw, key_bytes);
    call(k->level, &a);
}

#if !defined(SEALANE_SIV_KERNELS)

/* ---- MIPS, RISC-V: from GHASH and single blocks ---- */

static void derivation_blocks(const sealane_level *level, const sealane_aes_schedules *key, uint8_t (*out)[16],
                              size_t blocks, const uint8_t nonce[NONCE_BYTES])
{
    for (size_t i = 0; i < blocks; i++) {
        store32(out[i], (uint32_t)i);
        memcpy(out[i] + 4, nonce, NONCE_BYTES);
    }
    run_aes(level, key, SEALANE_AES_ECB_ENCRYPT, out[0], out[0], 16 * blocks);
}

/* In words, because compilers do not vectorize the loop over bytes. */
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

static void count(siv *s, uint8_t block[16], uint8_t *out, const uint8_t *in, size_t bytes)
{
    for (size_t n; bytes > 0; bytes -= n, in += n, out += n) {
        n = bytes < CHUNK ? bytes : CHUNK;
        const size_t blocks = (n + 15) / 16;
        uint32_t counter = load32(block);
        for (size_t i = 0; i < blocks; i++, counter++) {
            memcpy(s->chunk + 16 * i, block, 16);
            store32(s->chunk + 16 * i, counter);
        }
        store32(block, counter); /* not in a register, which kernels would save in memory that is not wiped */
        run_aes(s->message.level, &s->message.key, SEALANE_AES_ECB_ENCRYPT, s->chunk, s->chunk, 16 * blocks);
        add(out, in, s->chunk, n);
    }
}

/* POLYVAL equals GHASH of byte-reversed blocks. The hash key is reversed and multiplied by x, and the result is
 * reversed again (appendix A). An AES-GCM kernel takes such blocks as associated data, which it does not decrypt. */
static inline void reverse(uint8_t *out, const uint8_t *in)
{
    uint64_t first, last;
    memcpy(&first, in, 8), memcpy(&last, in + 8, 8);
    first = swap64(first), last = swap64(last);
    memcpy(out, &last, 8), memcpy(out + 8, &first, 8);
}

/* Multiplies by x in GCM's bit order, where the first bit of a block is the coefficient of x^0. */
static void times_x(uint8_t block[16])
{
    const uint64_t high = load64_be(block), low = load64_be(block + 8);
    store64_be(block, high >> 1 ^ ((uint64_t)0xe1 << 56 & (0 - hide(low & 1))));
    keep_stores(block);
    store64_be(block + 8, low >> 1 | high << 63);
}

static void set_hash_key(siv *s, const sealane_packet *p)
{
    uint8_t h[16];
    (void)p;
    const sealane_packet_args a = {
        .key = slot(&s->hash), .nonce = slot(h), .flags = SEALANE_FLAG_SETUP | SEALANE_FLAG_NONCE};
    reverse(h, s->hash_key);
    times_x(h);
    s->hash.rounds = 10;
    memset(s->hash.schedule, 0, sizeof s->hash.schedule);
    call(s->gcm, &a);
    wipe(h, sizeof h);
}

/* Absorbs the blocks of chunk. Each kernel call starts with a zero sum, so the previous sum is XORed into the first
 * block. */
static void flush(siv *s)
{
    static const uint8_t none[SEALANE_AES_GCM_NONCE_BYTES] = {0};
    const sealane_packet_args a = {
        .ad = slot(s->chunk),
        .ad_bytes = s->held,
        .key = slot(&s->hash),
        .nonce = slot(none),
        .state = slot(&s->state),
        .flags = SEALANE_FLAG_FIRST | SEALANE_FLAG_NONCE,
    };
    add(s->chunk, s->chunk, s->state.y, 16);
    call(s->gcm, &a);
    s->held = 0;
}

/* Absorbs data, padded with zeroes to whole blocks. */
static void absorb(siv *s, const uint8_t *in, size_t bytes)
{
    while (bytes > 0) {
        if (s->held == CHUNK)
            flush(s);
        const size_t room = CHUNK - s->held, n = bytes < room ? bytes : room, whole = n & ~(size_t)15;
        uint8_t *to = s->chunk + s->held;
        for (size_t i = 0; i < whole; i += 16)
            reverse(to + i, in + i);
        if (n != whole) {
            memset(s->last, 0, 16);
            memcpy(s->last, in + whole, n - whole);
            reverse(to + whole, s->last);
        }
        s->held += (n + 15) & ~(size_t)15;
        in += n, bytes -= n;
    }
}

static void polyval(siv *s, uint8_t sum[16], const sealane_packet *p, const uint8_t *text)
{
    s->held = 0;
    memset(s->state.y, 0, 16);
    store64(sum, 8 * (uint64_t)p->ad_bytes), store64(sum + 8, 8 * (uint64_t)p->bytes);
    absorb(s, p->ad, p->ad_bytes);
    absorb(s, text, p->bytes);
    absorb(s, sum, 16);
    flush(s);
    reverse(sum, s->state.y);
}

/* Wipes everything except the end of the chunk that the packet does not reach, which is half of the bytes. */
static void wipe_siv(siv *s, const sealane_packet *p)
{
    const size_t ad = p->ad_bytes < CHUNK ? p->ad_bytes : CHUNK, text = p->bytes < CHUNK ? p->bytes : CHUNK;
    const size_t most = ad + text + 48; /* two paddings and the lengths */
    wipe_long(s, offsetof(siv, chunk) + (most < CHUNK ? most : CHUNK));
}

#else

/* ---- x86-64, ARM, portable: kernels have POLYVAL and this counter mode ---- */

static const uint8_t zeroes[16 * DERIVED];

static void run_ctr(const sealane_level *level, const sealane_aes_schedules *key, uint8_t block[16], uint8_t *out,
                    const uint8_t *in, size_t bytes)
{
    sealane_mode_args a;
    a.out = slot(out), a.in = slot(in), a.bytes = bytes, a.key = slot(key), a.state = slot(block);
    a.operation = SEALANE_AES_CTR_LITTLE;
    call(level, &a);
}

static void derivation_blocks(const sealane_level *level, const sealane_aes_schedules *key, uint8_t (*out)[16],
                              size_t blocks, const uint8_t nonce[NONCE_BYTES])
{
    uint8_t block[16];
    store128(block, (uint64_t)load32(nonce) << 32, load64(nonce + 4));
    run_ctr(level, key, block, out[0], zeroes, 16 * blocks);
}

static void count(siv *s, uint8_t block[16], uint8_t *out, const uint8_t *in, size_t bytes)
{
    const size_t whole = bytes & ~(size_t)15;
    if (whole != 0)
        run_ctr(s->message.level, &s->message.key, block, out, in, whole);
    if (whole == bytes)
        return;
    encrypt_block(&s->message, s->last, block);
    for (size_t i = whole; i < bytes; i++)
        out[i] = in[i] ^ s->last[i - whole];
}

static void set_hash_key(siv *s, const sealane_packet *p)
{
    sealane_packet_args a;
    a.key = slot(&s->hash), a.nonce = slot(s->hash_key);
    a.bytes = p->bytes > p->ad_bytes ? p->bytes : p->ad_bytes;
    a.flags = SEALANE_FLAG_SETUP | SEALANE_FLAG_NONCE | SEALANE_FLAG_POLYVAL;
    call(s->gcm, &a);
}

static void polyval(siv *s, uint8_t sum[16], const sealane_packet *p, const uint8_t *text)
{
    const sealane_packet_args a = {
        .in = slot(text),
        .bytes = p->bytes,
        .ad = slot(p->ad),
        .ad_bytes = p->ad_bytes,
        .key = slot(&s->hash),
        .tag = slot(sum),
        .total = p->bytes,
        .flags = SEALANE_FLAG_FIRST | SEALANE_FLAG_LAST | SEALANE_FLAG_POLYVAL,
    };
    call(s->gcm, &a);
}

/* In both keys, nothing was written after the schedules and the table. */
static void wipe_siv(siv *s, const sealane_packet *p)
{
    (void)p;
    wipe_long(s->message.key.schedule, sizeof s->message.key.schedule);
    wipe_long((uint8_t *)s + offsetof(siv, hash.table), sizeof *s - offsetof(siv, hash.table));
}

#endif

/* ---- Packets ---- */

/* Section 4: makes the keys of one nonce, 8 bytes from each block. */
static NOINLINE void derive(siv *s, const sealane_gcm_siv_key *k, const sealane_packet *p)
{
    const size_t key_bytes = (size_t)(k->opaque & 0xff), blocks = 2 + key_bytes / 8;
    const sealane_aes_schedules *key = sealane_aes_schedules_of(&k->aes, &s->message.level);
    uint8_t out[DERIVED][16], raw[32];
    derivation_blocks(s->message.level, key, out, blocks, p->nonce);
    memcpy(s->hash_key, out[0], 8), memcpy(s->hash_key + 8, out[1], 8);
    set_hash_key(s, p);
    for (size_t i = 2; i < blocks; i += 2)
        store128(raw + 8 * (i - 2), load64(out[i]), load64(out[i + 1]));
    expand(&s->message, raw, key_bytes);
    wipe(out, sizeof out), wipe(raw, sizeof raw);
}

/* Section 4: computes the tag of plaintext and associated data. */
static NOINLINE void make_tag(siv *s, uint8_t tag[16], const sealane_packet *p, const uint8_t *text)
{
    uint8_t sum[16];
    polyval(s, sum, p, text);
    store128(sum, load64(sum) ^ load64(p->nonce), (load64(sum + 8) ^ load32(p->nonce + 8)) << 1 >> 1);
    encrypt_block(&s->message, tag, sum);
    wipe(sum, sizeof sum);
}

/* XORs keystream into the text. The first four bytes of the counter block count, little-endian, and wrap around. */
static NOINLINE void crypt(siv *s, uint8_t *out, const uint8_t *in, size_t bytes, const uint8_t tag[16])
{
    uint8_t block[16];
    store128(block, load64(tag), load64(tag + 8) | (uint64_t)1 << 63);
    count(s, block, out, in, bytes);
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
    s->gcm = &table->levels[sealane_level_of_process(table)];
    derive(s, k, p);
}

/* Sealing and opening are separate: in one function, gcc leaves 16 secret bytes on the stack of 32-bit ARM. */
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
    DECLASSIFY(s.tag); /* it is sent, and determines the keystream */
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
            crypt(&s, out, in, in_bytes, tag); /* restores the ciphertext */
        else if (in_bytes != 0)
            memset(out, 0, in_bytes);
    }
    wipe_siv(&s, &p);
    sealane_burn_stack();
    dit_restore(dit);
    return status;
}
