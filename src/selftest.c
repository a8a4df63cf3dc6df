/* Known-answer tests: chains of packets whose lengths cover the kernels' special cases. Each packet authenticates the
 * tag of the previous one, so the last tag covers all of them. Those tags were computed with OpenSSL's implementation
 * of ChaCha20-Poly1305, and with AES-GCM of Go's standard library.
 */
#include "aesgcm.h"
#include "aesmodes.h"
#include "bytes.h"
#include "key.h"
#include "level.h"
#include "portable.h"

enum { LONGEST = 3200 };

static const uint16_t lengths[] = {0,   1,   16,   31,   64,   65,   127,  128,  192,  256,  257, 511,
                                   512, 700, 1023, 1024, 1200, 1420, 1472, 1536, 1537, 2100, 3200};

static const uint8_t chacha_answer[16] = {0x73, 0xbc, 0xd4, 0x2e, 0x83, 0x83, 0xf2, 0xbf,
                                          0x5e, 0x3d, 0xd9, 0xcc, 0x7e, 0x57, 0x53, 0xab};
static const uint8_t gcm_answer[16] = {0x7d, 0x70, 0x5a, 0x70, 0x0d, 0x51, 0x77, 0xea,
                                       0x67, 0x24, 0xe1, 0x73, 0x2e, 0x84, 0x01, 0x88};

typedef struct {
    const sealane_level *level;
    const void *key;
    int flags;         /* for all calls */
    uint8_t nonce[16]; /* J0 for AES-GCM */
    uint8_t tag[16], opened_tag[16];
    uint8_t ad[16 + 32];
    const uint8_t *plain; /* points into texts */
    uint8_t texts[LONGEST + 255], sealed[LONGEST];
} chain;

static void fill(uint8_t *text, size_t bytes, size_t first)
{
    for (size_t j = 0; j < bytes; j++)
        text[j] = (uint8_t)(7 * j + first);
}

/* Byte j of text n is 7 j + n, so text n starts n / 7 bytes after text 0; 183 is 1 / 7 modulo 256. */
static void take_text(chain *c, size_t n)
{
    c->plain = c->texts + (uint8_t)(183 * n);
    memcpy(c->ad, c->tag, 16);
    memcpy(c->ad + 16, c->plain, 32);
}

static NOINLINE void run(const chain *c, uint8_t *out, const uint8_t *in, size_t bytes, size_t ad_bytes, uint8_t *tag,
                         int flags)
{
    const sealane_packet_args a = {
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
    sealane_call(c->level, &a);
}

/* Seals n bytes and opens them in place. */
static int link_of_chain(chain *c, size_t n)
{
    const size_t ad_bytes = 16 + n % 33;
    take_text(c, n);
    run(c, c->sealed, c->plain, n, ad_bytes, c->tag, 0);
    run(c, c->sealed, c->sealed, n, ad_bytes, c->opened_tag, SEALANE_FLAG_OPEN);
    return memcmp(c->sealed, c->plain, n) == 0 && equal16(c->tag, c->opened_tag);
}

/* Runs the longest text in parts; take_text has selected it. */
static NOINLINE void run_parts(const chain *c, uint8_t *out, const uint8_t *in, const uint8_t *tag, uint64_t direction)
{
    static const uint16_t ends[] = {0, 1024, 2048, LONGEST};
    _Static_assert(sizeof(sealane_state) == sizeof(sealane_gcm_state), "one size for both");
    sealane_state state;
    for (int i = 0; i < 3; i++) {
        const sealane_packet_args a = {
            .out = slot(out + ends[i]),
            .in = slot(in + ends[i]),
            .bytes = ends[i + 1] - ends[i],
            .ad = slot(c->ad),
            .ad_bytes = 16,
            .key = slot(c->key),
            .nonce = slot(c->nonce),
            .tag = slot(tag),
            .state = slot(&state),
            .total = LONGEST,
            .flags = direction | (i == 0   ? SEALANE_FLAG_FIRST
                                  : i == 2 ? SEALANE_FLAG_LAST
                                           : 0),
        };
        sealane_call(c->level, &a);
    }
}

static const uint8_t nonce[12] = {7, 0, 0, 0, 0x40, 0x41, 0x42, 0x43, 0x44, 0x45, 0x46, 0x47};

static void make_key(uint8_t key[32])
{
    for (int i = 0; i < 32; i++)
        key[i] = (uint8_t)(0x80 + i);
}

int sealane_chacha20poly1305_selftest(const sealane_level *level)
{
    uint8_t key[32];
    chain c = {.level = level, .key = key};
    make_key(key);
    memcpy(c.nonce, nonce, sizeof nonce);
    fill(c.texts, sizeof c.texts, 0);

    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++)
        if (!link_of_chain(&c, lengths[i]))
            return 0;
    take_text(&c, LONGEST);
    run_parts(&c, c.sealed, c.plain, c.tag, 0);
    return equal16(c.tag, chacha_answer);
}

/* Restores a key's table from its hash key, in the way AES-GCM-SIV sets a different one. */
static void give_hash_key(sealane_gcm_key *key, const sealane_level *level)
{
    uint8_t h[16];
    const sealane_packet_args a = {
        .key = slot(key), .nonce = slot(h), .flags = SEALANE_FLAG_SETUP | SEALANE_FLAG_NONCE};
    sealane_gcm_hash_key(h, level, key);
    memset(key->table, 0, sizeof key->table);
    sealane_call(level, &a);
}

/* Makes a key of each length. */
static void make_gcm_keys(sealane_gcm_key keys[3], const sealane_level *level, const uint8_t key[32])
{
    for (int i = 0; i < 3; i++) {
        const sealane_packet_args a = {.key = slot(&keys[i]), .flags = SEALANE_FLAG_SETUP};
        keys[i].rounds = (uint64_t)(10 + 2 * i);
        memcpy(keys[i].schedule, key, (size_t)(16 + 8 * i));
        sealane_call(level, &a);
    }
    give_hash_key(&keys[1], level);
}

#if defined(SEALANE_SIV_KERNELS)
enum { HAS_SIV = 1 };
#else
enum { HAS_SIV = 0 };
#endif

/* Each sum is the hash key for the next length. Another implementation computed the answer. */
static NOINLINE int polyval_selftest(chain *c, sealane_gcm_key *key)
{
    static const uint16_t sizes[] = {1, 16, 31, 48, 64, 112, 113, 200, 304, 560, 1100, 2100};
    static const uint8_t answer[16] = {0xd4, 0x25, 0xbb, 0x71, 0xe6, 0x1c, 0xe6, 0x18,
                                       0xfa, 0x63, 0xdf, 0xaa, 0x63, 0x71, 0xdc, 0xdb};
    uint8_t sum[32];
    make_key(sum);
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        const size_t n = sizes[i];
        const sealane_packet_args hash_key = {
            .bytes = n,
            .key = slot(key),
            .nonce = slot(sum),
            .flags = SEALANE_FLAG_SETUP | SEALANE_FLAG_NONCE | SEALANE_FLAG_POLYVAL,
        };
        sealane_call(c->level, &hash_key);
        take_text(c, n);
        const sealane_packet_args a = {
            .in = slot(c->plain),
            .bytes = n,
            .ad = slot(c->plain),
            .ad_bytes = n % 33,
            .key = slot(key),
            .tag = slot(sum),
            .total = n,
            .flags = SEALANE_FLAG_FIRST | SEALANE_FLAG_LAST | SEALANE_FLAG_POLYVAL,
        };
        sealane_call(c->level, &a);
    }
    return equal16(sum, answer);
}

/* Alternates keys of the three lengths. For every second packet, and for the one in parts, the counter wraps around at
 * 2^32. */
int sealane_aesgcm_selftest(const sealane_level *level)
{
    sealane_gcm_key keys[3];
    uint8_t key[32];
    chain c = {.level = level};
    make_key(key);
    memcpy(c.nonce, nonce, sizeof nonce);
    fill(c.texts, sizeof c.texts, 0);
    make_gcm_keys(keys, level, key);
    for (unsigned i = 0; i <= sizeof lengths / sizeof lengths[0]; i++) {
        c.flags = i % 2 == 0 ? SEALANE_FLAG_NONCE : 0;
        store32(c.nonce + 12, swap32(0 - i));
        c.key = &keys[i % 3];
        if (i < sizeof lengths / sizeof lengths[0] && !link_of_chain(&c, lengths[i]))
            return 0;
    }
    take_text(&c, LONGEST);
    run_parts(&c, c.sealed, c.plain, c.tag, 0);
    run_parts(&c, c.sealed, c.sealed, c.opened_tag, SEALANE_FLAG_OPEN);
    return equal16(c.tag, gcm_answer) && equal16(c.opened_tag, gcm_answer) && (!HAS_SIV || polyval_selftest(&c, keys));
}

/* The test of a batch kernel seals and opens packets of 0, 1, 4, 9, ... 1024 bytes together. They include whole blocks,
 * and blocks that lack one byte. Each packet has its own key, nonce and associated data. Another implementation
 * computed the tag over all their tags. */
enum { PACKETS = 33, SQUARES = (PACKETS - 1) * PACKETS * (2 * PACKETS - 1) / 6 };

static const uint8_t batch_answer[16] = {0x9f, 0x17, 0xba, 0xec, 0xc0, 0x3b, 0x80, 0xd2,
                                         0x26, 0xe3, 0xa7, 0x8e, 0x01, 0x62, 0x47, 0x2d};

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
        fill(s->text + at, n * n, n);
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
    const sealane_packet_args all = {
        .ad = slot(s->tag),
        .ad_bytes = sizeof s->tag,
        .key = slot(s->key),
        .nonce = slot(s->nonce),
        .tag = slot(tag),
        .flags = SEALANE_FLAG_FIRST | SEALANE_FLAG_LAST,
    };
    sealane_chacha20poly1305_portable(&all, NULL, NULL);
}

int sealane_chacha20poly1305_batch_selftest(const sealane_level *level)
{
    SEALANE_BATCH_SCRATCH(scratch);
    _Alignas(64) squares s;
    uint8_t tag[16];
    const sealane_batch_args seal = {.lanes = slot(s.lane), .count = PACKETS},
                             open = {.lanes = slot(s.lane), .count = PACKETS, .flags = SEALANE_FLAG_OPEN};
    fill_squares(&s);
    level->batch.kernel(&seal, scratch, level->batch.consts);
    tag_of_tags(tag, &s);
    for (size_t n = 0; n < PACKETS; n++)
        s.lane[n].tag = slot(s.opened_tag[n]);
    level->batch.kernel(&open, scratch, level->batch.consts);
    return squares_are_plain(&s) && equal16(tag, batch_answer);
}

/* ---- Unauthenticated modes ---- */

/* A text goes in place through all operations, for each of these numbers of blocks, with keys of alternating lengths.
 * Each operation starts with the state that the previous one left. The last block of the CBC encryption depends on all
 * of them; it was computed with AES of Go's standard library. */
static const uint8_t link_blocks[] = {1,  2,  3,  4,  5,  6,  7,  8,  9,  12, 15, 16,
                                      17, 23, 31, 32, 33, 40, 48, 63, 64, 65, 96};
static const uint8_t aes_answer[16] = {0xf6, 0xa9, 0xf0, 0xc5, 0x92, 0x7f, 0xde, 0x00,
                                       0x48, 0x56, 0x89, 0x31, 0x8e, 0xd4, 0x68, 0xe7};

enum { MOST_BLOCKS = 96, MOST_LANES = 9 };

typedef struct {
    const sealane_level *level;
    sealane_aes_schedules keys[3][2];
    sealane_mode_lane lane[MOST_BLOCKS];
    uint8_t text[16 * MOST_BLOCKS], state[16], initial[MOST_LANES][16];
} modes;

static NOINLINE void run_mode(modes *m, uint64_t operation, void *key, size_t blocks)
{
    const sealane_mode_args a = {.out = slot(m->text),
                                 .in = slot(m->text),
                                 .bytes = 16 * blocks,
                                 .key = slot(key),
                                 .state = slot(m->state),
                                 .operation = operation};
    sealane_call(m->level, &a);
}

/* Runs `count` consecutive lanes of `blocks` blocks each. */
static NOINLINE void run_mode_lanes(modes *m, uint64_t operation, sealane_aes_schedules key[2], size_t count,
                                    size_t blocks)
{
    const sealane_mode_args a = {
        .lanes = slot(m->lane), .count = count, .bytes_each = 16 * blocks, .operation = operation};
    for (size_t l = 0; l < count; l++)
        m->lane[l] = (sealane_mode_lane){.out = slot(m->text + 16 * blocks * l),
                                         .in = slot(m->text + 16 * blocks * l),
                                         .key = slot(&key[l % 2]),
                                         .chain = slot(m->initial[l % MOST_LANES])};
    sealane_call(m->level, &a);
}

static void link_of_modes(modes *m, size_t i, size_t n)
{
    sealane_aes_schedules *key = m->keys[i % 3];
    const size_t lanes = 1 + i % MOST_LANES < n ? 1 + i % MOST_LANES : n;
    store32(m->state + 12, swap32(0 - (uint32_t)i)); /* makes it wrap around */
    run_mode(m, SEALANE_AES_CTR, key, n);
    run_mode(m, SEALANE_AES_XTS_ENCRYPT, key, n);
    run_mode(m, SEALANE_AES_ECB_DECRYPT, key, n);
    run_mode(m, SEALANE_AES_CBC_DECRYPT, key, n);
    run_mode_lanes(m, SEALANE_AES_CBC_ENCRYPT, key, lanes, n / lanes);
    run_mode(m, SEALANE_AES_XTS_DECRYPT, key, n);
    run_mode_lanes(m, SEALANE_AES_MASKS, key, n, 1);
    run_mode(m, SEALANE_AES_ECB_ENCRYPT, key, n);
}

/* Compares the mode with a wrapping counter at the start of the block with single blocks. */
static NOINLINE int counts_little(modes *m, size_t i, size_t n)
{
    uint8_t counted[16 * MOST_BLOCKS];
    memset(m->state, (int)i, 16), store32(m->state, 0 - (uint32_t)i);
    memset(m->text, 0, 16 * n);
    run_mode(m, SEALANE_AES_CTR_LITTLE, m->keys[i % 3], n);
    memcpy(counted, m->text, 16 * n);
    for (size_t j = 0; j < n; j++)
        memset(m->text + 16 * j, (int)i, 16), store32(m->text + 16 * j, (uint32_t)(j - i));
    run_mode(m, SEALANE_AES_ECB_ENCRYPT, m->keys[i % 3], n);
    return memcmp(counted, m->text, 16 * n) == 0 && load32(m->state) == (uint32_t)(n - i);
}

int sealane_aes_selftest(const sealane_level *level)
{
    modes m = {.level = level};
    for (size_t i = 0; i < 6; i++) {
        sealane_aes_schedules *key = &m.keys[i / 2][i % 2];
        key->rounds = 10 + 2 * (uint64_t)(i / 2);
        for (size_t j = 0; j < 16 + 8 * (i / 2); j++)
            key->schedule[j] = (uint8_t)(0x80 + 32 * (i % 2) + j);
        run_mode(&m, SEALANE_AES_SETUP, key, 0);
    }
    fill(m.text, sizeof m.text, 0);
    for (size_t i = 0; i < sizeof link_blocks; i++)
        link_of_modes(&m, i, link_blocks[i]);
    run_mode_lanes(&m, SEALANE_AES_CBC_ENCRYPT, m.keys[0], 1, MOST_BLOCKS);
    if (!equal16(m.initial[0], aes_answer))
        return 0;
    for (size_t i = 0; HAS_SIV && i < sizeof link_blocks; i++)
        if (!counts_little(&m, i, link_blocks[i]))
            return 0;
    return 1;
}

/* Makes 1 to MASKS masks side by side, whose samples contain the previous masks. Pairs of the last masks are the keys
 * for the final sample. Another implementation computed the answer. */
static const uint8_t masks_answer[16] = {0x5f, 0xd1, 0xe2, 0x1a, 0xec, 0xe0, 0x3d, 0xe4,
                                         0x38, 0x3f, 0x46, 0x4d, 0x54, 0x5b, 0x62, 0x69};

enum { MASKS = 36 };

int sealane_chacha20masks_selftest(const sealane_level *level)
{
    sealane_mode_lane lane[MASKS];
    uint8_t keys[3 * MASKS + 32], samples[MASKS][16];
    for (size_t i = 0; i < sizeof keys; i++)
        keys[i] = (uint8_t)(0x80 + i);
    for (size_t l = 0; l < MASKS; l++)
        fill(samples[l], 16, l);
    for (size_t l = 0; l < MASKS; l++)
        lane[l] = (sealane_mode_lane){.out = slot(samples[l]), .in = slot(samples[l]), .key = slot(keys + 3 * l)};
    for (size_t n = 1; n <= MASKS; n++) {
        const sealane_mode_args a = {.lanes = slot(lane), .count = n};
        sealane_call(level, &a);
    }
    for (size_t l = 2; l < MASKS; l += 2) {
        lane[0].key = slot(samples[l]);
        const sealane_mode_args a = {.lanes = slot(lane), .count = 1};
        sealane_call(level, &a);
    }
    return equal16(samples[0], masks_answer);
}
