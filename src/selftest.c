/* The known-answer tests: a chain of packets of lengths where kernels change their ways, each authenticated by the tag
 * of the one before, so that one tag at the end answers for all of them. Those tags were computed with OpenSSL's
 * implementation of ChaCha20-Poly1305, and with AES-GCM of Go's standard library.
 */
#include "aesgcm.h"
#include "bytes.h"
#include "level.h"
#include "portable.h"

enum { LONGEST = 3200 };

static const uint16_t lengths[] = {0,   1,   16,   31,   64,   65,   127,  128,  192,  256, 257,
                                   511, 512, 1023, 1024, 1420, 1472, 1536, 1537, 2100, 3200};

static const uint8_t chacha_answer[16] = {0x8b, 0x9b, 0xa7, 0x78, 0x69, 0x59, 0x51, 0x4d,
                                          0x2f, 0xca, 0x03, 0xaf, 0x99, 0x8d, 0x62, 0xab};
static const uint8_t gcm_answer[16] = {0x9e, 0x5e, 0x8a, 0x1a, 0xb7, 0xa8, 0x7a, 0x14,
                                       0x6f, 0x4d, 0x95, 0x98, 0x9b, 0x83, 0x24, 0x61};

typedef struct {
    const sealane_level *level;
    const void *key;
    int flags;         /* of all calls */
    uint8_t nonce[16]; /* AES-GCM: J0 */
    uint8_t tag[16], opened_tag[16];
    uint8_t ad[16 + 32];
    uint8_t plain[LONGEST], sealed[LONGEST];
} chain;

static void fill(chain *c, size_t n)
{
    for (size_t j = 0; j < LONGEST; j++)
        c->plain[j] = (uint8_t)(7 * j + n);
    memcpy(c->ad, c->tag, 16);
    memcpy(c->ad + 16, c->plain, 32);
}

static void run(const chain *c, uint8_t *out, const uint8_t *in, size_t bytes, size_t ad_bytes, uint8_t *tag, int flags)
{
    SEALANE_SCRATCH(scratch);
    const sealane_args a = {
        .out = slot(out),
        .in = slot(in),
        .bytes = bytes,
        .ad = slot(c->ad),
        .ad_bytes = ad_bytes,
        .key = slot(c->key),
        .nonce = slot(c->nonce),
        .tag = slot(tag),
        .total = bytes,
        .flags = (uint64_t)(c->flags | flags) | SEALANE_FLAG_FIRST | SEALANE_FLAG_LAST,
    };
    c->level->kernel(&a, scratch, c->level->consts);
}

/* Seals n bytes and opens them in place. */
static int link_of_chain(chain *c, size_t n)
{
    const size_t ad_bytes = 16 + n % 33;
    fill(c, n);
    run(c, c->sealed, c->plain, n, ad_bytes, c->tag, 0);
    run(c, c->sealed, c->sealed, n, ad_bytes, c->opened_tag, SEALANE_FLAG_OPEN);
    return memcmp(c->sealed, c->plain, n) == 0 && equal16(c->tag, c->opened_tag);
}

static void seal_in_parts(chain *c)
{
    static const uint16_t ends[] = {0, 1024, 2048, LONGEST};
    SEALANE_SCRATCH(scratch);
    _Static_assert(sizeof(sealane_state) == sizeof(sealane_gcm_state), "one size for both");
    sealane_state state;
    fill(c, LONGEST);
    for (int i = 0; i < 3; i++) {
        const sealane_args a = {
            .out = slot(c->sealed + ends[i]),
            .in = slot(c->plain + ends[i]),
            .bytes = ends[i + 1] - ends[i],
            .ad = slot(c->ad),
            .ad_bytes = 16,
            .key = slot(c->key),
            .nonce = slot(c->nonce),
            .tag = slot(c->tag),
            .state = slot(&state),
            .total = LONGEST,
            .flags = i == 0   ? SEALANE_FLAG_FIRST
                     : i == 2 ? SEALANE_FLAG_LAST
                              : 0,
        };
        c->level->kernel(&a, scratch, c->level->consts);
    }
}

static const uint8_t nonce[12] = {7, 0, 0, 0, 0x40, 0x41, 0x42, 0x43, 0x44, 0x45, 0x46, 0x47};

static void make_key(uint8_t key[32])
{
    for (int i = 0; i < 32; i++)
        key[i] = (uint8_t)(0x80 + i);
}

int sealane_selftest(const sealane_level *level)
{
    uint8_t key[32];
    chain c = {.level = level, .key = key};
    make_key(key);
    memcpy(c.nonce, nonce, sizeof nonce);

    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++)
        if (!link_of_chain(&c, lengths[i]))
            return 0;
    seal_in_parts(&c);
    return equal16(c.tag, chacha_answer);
}

/* One of each length. */
static void make_gcm_keys(sealane_gcm_key keys[3], const sealane_level *level, const uint8_t key[32])
{
    for (int i = 0; i < 3; i++) {
        SEALANE_SCRATCH(scratch);
        const sealane_args a = {.key = slot(&keys[i]), .flags = SEALANE_FLAG_SETUP};
        keys[i].rounds = (uint64_t)(10 + 2 * i);
        memcpy(keys[i].schedule, key, (size_t)(16 + 8 * i));
        level->kernel(&a, scratch, level->consts);
    }
}

/* Keys of the three lengths by turns; every second packet, and the one in parts, has a counter that wraps around at
 * 2^32. */
int sealane_aesgcm_selftest(const sealane_level *level)
{
    sealane_gcm_key keys[3];
    uint8_t key[32];
    chain c = {.level = level};
    make_key(key);
    memcpy(c.nonce, nonce, sizeof nonce);
    make_gcm_keys(keys, level, key);
    for (unsigned i = 0; i <= sizeof lengths / sizeof lengths[0]; i++) {
        c.flags = i % 2 == 0 ? SEALANE_FLAG_NONCE : 0;
        store32(c.nonce + 12, swap32(0 - i));
        c.key = &keys[i % 3];
        if (i == sizeof lengths / sizeof lengths[0])
            seal_in_parts(&c);
        else if (!link_of_chain(&c, lengths[i]))
            return 0;
    }
    return equal16(c.tag, gcm_answer);
}

/* The same for a batch kernel: packets of 0, 1, 4, 9, ... 1024 bytes, among them whole blocks and all but one byte of
 * them, each with its own key, nonce and associated data, are sealed and opened together. The tag of all their tags was
 * computed with another implementation. */
enum { PACKETS = 33, SQUARES = (PACKETS - 1) * PACKETS * (2 * PACKETS - 1) / 6 };

static const uint8_t batch_answer[16] = {0x9f, 0x17, 0xba, 0xec, 0xc0, 0x3b, 0x80, 0xd2,
                                         0x26, 0xe3, 0xa7, 0x8e, 0x01, 0x62, 0x47, 0x2d};
static const uint8_t gcm_batch_answer[16] = {0x13, 0xf0, 0x65, 0x2a, 0xdc, 0x12, 0x36, 0xf0,
                                             0xdd, 0x44, 0xe9, 0x90, 0x93, 0xb0, 0xdd, 0xb6};

typedef struct {
    sealane_lane lane[PACKETS];
    uint8_t key[PACKETS][32], nonce[PACKETS][12];
    uint8_t tag[PACKETS][16], opened_tag[PACKETS][16];
    uint8_t text[SQUARES];
} squares;

static void fill_squares(squares *s)
{
    size_t at = 0;
    for (size_t n = 0; n < PACKETS; n++) {
        for (size_t j = 0; j < 32; j++)
            s->key[n][j] = (uint8_t)(0x80 + j + n);
        memset(s->nonce[n], (int)n, 12);
        for (size_t j = 0; j < n * n; j++)
            s->text[at + j] = (uint8_t)(7 * j + n);
        s->lane[n] = (sealane_lane){
            .out = slot(s->text + at),
            .in = slot(s->text + at),
            .bytes = n * n,
            .ad = slot(s->key),
            .ad_bytes = n,
            .key = slot(s->key[n]),
            .nonce = slot(s->nonce[n]),
            .tag = slot(s->tag[n]),
        };
        at += n * n;
    }
}

static int squares_are_plain(const squares *s)
{
    size_t at = 0;
    for (size_t n = 0; n < PACKETS; at += n * n, n++)
        for (size_t j = 0; j < n * n; j++)
            if (s->text[at + j] != (uint8_t)(7 * j + n))
                return 0;
    return memcmp(s->tag, s->opened_tag, sizeof s->tag) == 0;
}

static void tag_of_tags(uint8_t tag[16], const squares *s)
{
    const sealane_args all = {
        .ad = slot(s->tag),
        .ad_bytes = sizeof s->tag,
        .key = slot(s->key),
        .nonce = slot(s->nonce),
        .tag = slot(tag),
        .flags = SEALANE_FLAG_FIRST | SEALANE_FLAG_LAST,
    };
    sealane_chacha20poly1305_portable(&all, NULL, NULL);
}

static int run_squares(squares *s, const sealane_batch *batch, const uint8_t answer[16])
{
    SEALANE_BATCH_SCRATCH(scratch);
    uint8_t tag[16];
    const sealane_args seal = batch_args(s->lane, PACKETS, 0), open = batch_args(s->lane, PACKETS, SEALANE_FLAG_OPEN);
    batch->kernel(&seal, scratch, batch->consts);
    tag_of_tags(tag, s);
    for (size_t n = 0; n < PACKETS; n++)
        s->lane[n].tag = slot(s->opened_tag[n]);
    batch->kernel(&open, scratch, batch->consts);
    return squares_are_plain(s) && equal16(tag, answer);
}

int sealane_batch_selftest(const sealane_level *level)
{
    _Alignas(64) squares s;
    fill_squares(&s);
    return run_squares(&s, &level->batch, batch_answer);
}

/* Keys of the three lengths by turns. */
int sealane_aesgcm_batch_selftest(const sealane_level *level)
{
    _Alignas(64) squares s;
    sealane_gcm_key keys[3];
    fill_squares(&s);
    make_gcm_keys(keys, level, s.key[0]);
    for (size_t n = 0; n < PACKETS; n++)
        s.lane[n].key = slot(&keys[n % 3]);
    return run_squares(&s, &level->batch, gcm_batch_answer);
}
