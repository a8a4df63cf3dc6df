/* QUIC's packet protection (RFC 9001, section 5; RFC 9369). */
#include "../include/sealane.h"

#include "aesmodes.h"
#include "batch.h"
#include "dit.h"
#include "key.h"

#define QUIC_MARK 0x736c7131 /* and the algorithm is added */

enum { CHUNK = 64, SAMPLE_OFFSET = 4, SAMPLE_BYTES = 16 };

static const uint64_t NUMBER_MAX = ((uint64_t)1 << 62) - 1;

/* What can make a packet's mask together with others': the level, and the rounds of AES, or 0; NULL in the level: the
 * keys are none. */
typedef struct {
    const sealane_level *level;
    const void *key;
    uint64_t rounds;
} mask_kind;

static mask_kind kind_of(const sealane_quic_keys *k)
{
    const sealane_table *masks = &sealane_tables[SEALANE_CHACHA20MASKS];
    mask_kind kind = {NULL, NULL, 0};
    if (k == NULL)
        return kind;
    if (k->ready == QUIC_MARK + SEALANE_CHACHA20_POLY1305) {
        kind.level = &masks->levels[sealane_level_of_process(masks)];
        kind.key = k->mask_key;
    } else if (k->ready == QUIC_MARK + SEALANE_AES_128_GCM || k->ready == QUIC_MARK + SEALANE_AES_256_GCM) {
        const sealane_aes_schedules *schedules = sealane_aes_schedules_of(&k->mask, &kind.level);
        kind.key = schedules, kind.rounds = schedules == NULL ? 0 : schedules->rounds;
    }
    return kind;
}

int sealane_quic_keys_init(sealane_quic_keys *k, sealane_alg alg, const uint8_t *key, const uint8_t iv[12],
                           const uint8_t *hp, size_t key_bytes)
{
    if (k == NULL)
        return SEALANE_INVALID_KEY;
    wipe(k, sizeof *k);
    if (key == NULL || iv == NULL || hp == NULL)
        return SEALANE_NULL;
    if (alg != SEALANE_AES_128_GCM && alg != SEALANE_AES_256_GCM && alg != SEALANE_CHACHA20_POLY1305)
        return SEALANE_INVALID_KEY;
    int failed = sealane_key_init(&k->packet, alg, key, key_bytes);
    if (!failed && alg != SEALANE_CHACHA20_POLY1305)
        failed = sealane_aes_key_init(&k->mask, hp, key_bytes);
    else if (!failed && sealane_level_of_process(&sealane_tables[SEALANE_CHACHA20MASKS]) < 0)
        failed = SEALANE_NO_LEVEL;
    if (failed) {
        wipe(k, sizeof *k);
        return failed;
    }
    if (alg == SEALANE_CHACHA20_POLY1305)
        memcpy(k->mask_key, hp, 32);
    memcpy(k->iv, iv, 12);
    k->ready = QUIC_MARK + (uint32_t)alg;
    return SEALANE_OK;
}

void sealane_quic_keys_wipe(sealane_quic_keys *k)
{
    if (k != NULL)
        wipe(k, sizeof *k);
}

/* ChaCha20's kernels make masks side by side and take as long for one as for many, longer than portable code. */
static void chacha20_mask(const void *key, uint8_t out[16], const uint8_t sample[16])
{
    const sealane_lane lane = {.out = slot(out), .in = slot(sample), .key = slot(key)};
    const sealane_args a = {.in = slot(&lane), .bytes = 1};
    sealane_chacha20masks_portable(&a, NULL, NULL);
}

int sealane_quic_mask(const sealane_quic_keys *k, uint8_t mask[5], const uint8_t sample[16])
{
    const mask_kind kind = kind_of(k);
    uint8_t block[16];
    int failed = kind.level == NULL ? SEALANE_INVALID_KEY : sample == NULL ? SEALANE_NULL : SEALANE_OK;
    if (mask == NULL)
        return SEALANE_NULL;
    if (!failed && kind.rounds != 0)
        failed = sealane_aes_ecb_encrypt(&k->mask, block, sample, sizeof block);
    else if (!failed)
        chacha20_mask(kind.key, block, sample);
    if (failed)
        memset(block, 0, sizeof block);
    memcpy(mask, block, 5);
    wipe(block, sizeof block);
    return failed;
}

/* Up to CHUNK packets. */
typedef struct {
    _Alignas(64) sealane_lane lanes[CHUNK];
    sealane_quic_packet *packets[CHUNK];  /* that have no mistake */
    const sealane_quic_keys *keys[CHUNK]; /* that they are sealed or opened with */
    mask_kind kinds[CHUNK];
    uint8_t nonces[CHUNK][12], masks[CHUNK][16], tags[CHUNK][16];
    size_t count;
    sealane_op ops[CHUNK]; /* if not all go into lanes */
} work;

static sealane_status mistake(const sealane_quic_packet *p, const mask_kind *kind)
{
    if (kind->level == NULL || (p->other != NULL && kind_of(p->other).level == NULL))
        return SEALANE_INVALID_KEY;
    if (p->bytes == NULL)
        return SEALANE_NULL;
    if (p->pn_offset == 0 || p->pn_offset > p->packet_bytes ||
        p->packet_bytes - p->pn_offset < SAMPLE_OFFSET + SAMPLE_BYTES)
        return SEALANE_INVALID_LENGTH;
    return p->number > NUMBER_MAX ? SEALANE_TOO_LONG : SEALANE_OK;
}

static size_t number_bytes(const sealane_quic_packet *p)
{
    return (size_t)(p->bytes[0] & 3) + 1;
}

/* The masks of all packets, if one AES key makes them: as blocks of a text; 0: there are several, or it is none. */
static int make_masks_of_one_key(work *w, void *scratch)
{
    const mask_kind kind = w->kinds[0];
    for (size_t i = 0; i < w->count; i++)
        if (w->kinds[i].key != kind.key)
            return 0;
    if (w->count == 0 || kind.rounds == 0)
        return 0;
    for (size_t i = 0; i < w->count; i++)
        memcpy(w->masks[i], w->packets[i]->bytes + w->packets[i]->pn_offset + SAMPLE_OFFSET, SAMPLE_BYTES);
    const sealane_args a = {.out = slot(w->masks),
                            .in = slot(w->masks),
                            .bytes = SAMPLE_BYTES * w->count,
                            .key = slot(kind.key),
                            .flags = SEALANE_AES_ECB_ENCRYPT};
    kind.level->kernel(&a, scratch, kind.level->consts);
    return 1;
}

/* The masks of the first packet that has none yet, and of all that are alike, in one call. */
static void make_masks(work *w)
{
    SEALANE_SCRATCH(scratch);
    uint8_t done[CHUNK] = {0};
    if (make_masks_of_one_key(w, scratch))
        return;
    memset(w->masks, 0, sizeof w->masks);
    for (size_t first = 0; first < w->count; first++) {
        if (done[first])
            continue;
        const mask_kind kind = w->kinds[first];
        size_t lanes = 0;
        for (size_t i = first; i < w->count; i++) {
            const sealane_quic_packet *p = w->packets[i];
            if (done[i] || w->kinds[i].level != kind.level || w->kinds[i].rounds != kind.rounds)
                continue;
            done[i] = 1;
            w->lanes[lanes++] = (sealane_lane){.out = slot(w->masks[i]),
                                               .in = slot(p->bytes + p->pn_offset + SAMPLE_OFFSET),
                                               .key = slot(w->kinds[i].key)};
        }
        const sealane_args a = {
            .in = slot(w->lanes), .bytes = lanes, .flags = kind.rounds == 0 ? 0 : SEALANE_AES_MASKS};
        kind.level->kernel(&a, scratch, kind.level->consts);
    }
}

/* Packet numbers are read and written with what is behind them of four bytes, which every packet has: these are the
 * number's own, as load32 has them. */
static inline uint32_t number_bits(size_t bytes)
{
    return UINT32_MAX >> (32 - 8 * bytes);
}

static inline void put_number(sealane_quic_packet *p, size_t bytes)
{
    uint8_t *at = p->bytes + p->pn_offset;
    store32(at, (load32(at) & ~number_bits(bytes)) | swap32((uint32_t)p->number << (32 - 8 * bytes)));
}

static inline void mask_number(const sealane_quic_packet *p, const uint8_t mask[16], size_t bytes)
{
    uint8_t *at = p->bytes + p->pn_offset;
    store32(at, load32(at) ^ (load32(mask + 1) & number_bits(bytes)));
}

/* Bits of the first byte that are masked (section 5.4.1). */
static uint8_t masked_bits(uint8_t first)
{
    return first & 0x80 ? 0x0f : 0x1f;
}

/* The lane of packet i, whose header is not masked. */
static ALWAYS_INLINE inline void set_lane(work *w, size_t i, const sealane_quic_keys *k, int open)
{
    const sealane_quic_packet *p = w->packets[i];
    sealane_lane *l = &w->lanes[i];
    const size_t header = p->pn_offset + number_bytes(p);
    uint8_t *nonce = w->nonces[i], *tag = p->bytes + p->packet_bytes - SEALANE_TAG_BYTES;
    memcpy(nonce, k->iv, 4);
    store64(nonce + 4, load64(k->iv + 4) ^ swap64(p->number));
    w->keys[i] = k;
    l->out = l->in = slot(p->bytes + header);
    l->bytes = p->packet_bytes - header - SEALANE_TAG_BYTES;
    l->ad = slot(p->bytes);
    l->ad_bytes = header;
    l->key = slot(is_gcm(key_alg(&k->packet)) ? (const void *)gcm_key_of(&k->packet) : key_bytes_of(&k->packet));
    l->nonce = slot(nonce);
    l->tag = slot(open ? w->tags[i] : tag);
}

/* Compares the tags that belong to the packets with those that they have. */
static void compare_tags(work *w)
{
    for (size_t i = 0; i < w->count; i++) {
        sealane_quic_packet *p = w->packets[i];
        if (equal16(w->tags[i], p->bytes + p->packet_bytes - SEALANE_TAG_BYTES))
            continue;
        p->status = SEALANE_NOT_AUTHENTIC;
        memset(slot_bytes(w->lanes[i].out), 0, w->lanes[i].bytes);
    }
    wipe(w->tags, sizeof w->tags[0] * w->count);
}

/* Seals or opens what is in lanes, and sets each packet's status. The packets of a sender are mostly of one algorithm,
 * and all but the last of one length. */
static void run_lanes(work *w, int open)
{
    const uint64_t direction = open ? SEALANE_FLAG_OPEN : 0;
    size_t i = 0;
    while (i < w->count && key_valid(&w->keys[i]->packet) &&
           w->keys[i]->packet.opaque[0] == w->keys[0]->packet.opaque[0])
        w->packets[i++]->status = SEALANE_OK;
    if (i != 0 && i == w->count && sealane_batch_lanes(&w->keys[0]->packet, w->lanes, i, direction)) {
        if (open)
            compare_tags(w);
        return;
    }
    for (i = 0; i < w->count; i++) {
        const sealane_lane *l = &w->lanes[i];
        w->ops[i] = (sealane_op){.out = slot_bytes(l->out),
                                 .in = slot_bytes(l->in),
                                 .in_bytes = (size_t)l->bytes,
                                 .ad = slot_bytes(l->ad),
                                 .ad_bytes = (size_t)l->ad_bytes,
                                 .key = &w->keys[i]->packet,
                                 .nonce = w->nonces[i],
                                 .tag = slot_bytes(l->ad) + w->packets[i]->packet_bytes - SEALANE_TAG_BYTES,
                                 .nonce_bytes = 12};
    }
    (void)!sealane_batch_run(w->ops, w->count, direction, sealane_level_batch);
    for (i = 0; i < w->count; i++)
        w->packets[i]->status = w->ops[i].status;
}

static size_t protect(work *w)
{
    size_t good = 0;
    for (size_t i = 0; i < w->count; i++) {
        put_number(w->packets[i], number_bytes(w->packets[i]));
        set_lane(w, i, w->packets[i]->keys, 0);
    }
    run_lanes(w, 0);
    make_masks(w);
    for (size_t i = 0; i < w->count; i++) {
        sealane_quic_packet *p = w->packets[i];
        good += p->status == SEALANE_OK;
        mask_number(p, w->masks[i], number_bytes(p));
        p->bytes[0] ^= w->masks[i][0] & masked_bits(p->bytes[0]);
    }
    return good;
}

/* The packet number next to the expected one that ends in these bytes (RFC 9000, appendix A.3). */
static uint64_t decode(uint64_t expected, const uint8_t *number, size_t bytes)
{
    const uint64_t window = (uint64_t)1 << 8 * bytes;
    uint64_t n = expected & ~(window - 1);
    for (size_t i = 0; i < bytes; i++)
        n |= (uint64_t)number[i] << 8 * (bytes - 1 - i);
    if (n + window / 2 <= expected && n <= NUMBER_MAX - window)
        return n + window;
    return n > expected + window / 2 && n >= window ? n - window : n;
}

static size_t unprotect(work *w)
{
    size_t good = 0;
    make_masks(w);
    for (size_t i = 0; i < w->count; i++) {
        sealane_quic_packet *p = w->packets[i];
        p->bytes[0] ^= w->masks[i][0] & masked_bits(p->bytes[0]);
        const size_t bytes = number_bytes(p);
        mask_number(p, w->masks[i], bytes);
        p->number = decode(p->number, p->bytes + p->pn_offset, bytes);
        const int other = !(p->bytes[0] & 0x80) && p->other != NULL && (p->bytes[0] >> 2 & 1) != (p->phase != 0);
        set_lane(w, i, other ? p->other : p->keys, 1);
    }
    run_lanes(w, 1);
    for (size_t i = 0; i < w->count; i++) {
        sealane_quic_packet *p = w->packets[i];
        const int reserved = p->bytes[0] & (p->bytes[0] & 0x80 ? 0x0c : 0x18);
        if (p->status != SEALANE_OK)
            continue;
        p->payload = slot_bytes(w->lanes[i].out), p->payload_bytes = (size_t)w->lanes[i].bytes;
        if (reserved)
            p->status = SEALANE_RESERVED_BITS;
        good += !reserved;
    }
    return good;
}

static size_t run(sealane_quic_packet *packets, size_t n, int sealing)
{
    work w;
    size_t good = 0;
    const sealane_quic_keys *last = NULL;
    mask_kind kind = {NULL, NULL, 0};
    const uint64_t dit = dit_on();
    for (size_t at = 0; packets != NULL && at < n; at += CHUNK) {
        w.count = 0;
        for (size_t i = at; i < n && i < at + CHUNK; i++) {
            sealane_quic_packet *p = &packets[i];
            if (p->keys != last || last == NULL)
                last = p->keys, kind = kind_of(last);
            p->payload = NULL, p->payload_bytes = 0;
            p->status = mistake(p, &kind);
            if (p->status == SEALANE_OK)
                w.kinds[w.count] = kind, w.packets[w.count++] = p;
            else if (sealing && p->bytes != NULL)
                memset(p->bytes, 0, p->packet_bytes);
        }
        good += sealing ? protect(&w) : unprotect(&w);
    }
    wipe(w.masks, sizeof w.masks);
    dit_restore(dit);
    return good;
}

size_t sealane_quic_protect_batch(sealane_quic_packet *packets, size_t n)
{
    return run(packets, n, 1);
}

size_t sealane_quic_unprotect_batch(sealane_quic_packet *packets, size_t n)
{
    return run(packets, n, 0);
}

int sealane_quic_retry_tag(uint8_t tag[16], uint32_t version, const uint8_t *dcid, size_t dcid_bytes,
                           const uint8_t *retry, size_t retry_bytes)
{
    /* RFC 9001, 5.8, and RFC 9369, 3.3.3: they are no secrets. */
    static const uint8_t keys[2][16] = {
        {0xbe, 0x0c, 0x69, 0x0b, 0x9f, 0x66, 0x57, 0x5a, 0x1d, 0x76, 0x6b, 0x54, 0xe3, 0x68, 0xc8, 0x4e},
        {0x8f, 0xb4, 0xb0, 0x1b, 0x56, 0xac, 0x48, 0xe2, 0x60, 0xfb, 0xcb, 0xce, 0xad, 0x7c, 0xcc, 0x92}};
    static const uint8_t nonces[2][12] = {{0x46, 0x15, 0x99, 0xd3, 0x5d, 0x63, 0x2b, 0xf2, 0x23, 0x98, 0x25, 0xbb},
                                          {0xd8, 0x69, 0x69, 0xbc, 0x2d, 0x7c, 0x6d, 0x99, 0x90, 0xef, 0xb0, 0x4a}};
    const int second = version == 0x6b3343cf;
    const uint8_t length = (uint8_t)dcid_bytes;
    const sealane_iovec pseudo[] = {{&length, NULL, 1}, {dcid, NULL, dcid_bytes}, {retry, NULL, retry_bytes}};
    sealane_key k;
    if (tag == NULL)
        return SEALANE_NULL;
    memset(tag, 0, 16);
    if ((dcid == NULL && dcid_bytes != 0) || (retry == NULL && retry_bytes != 0))
        return SEALANE_NULL;
    if (dcid_bytes > 255)
        return SEALANE_INVALID_LENGTH;
    if (!second && version != 1)
        return SEALANE_INVALID_KEY;
    const int failed = sealane_key_init(&k, SEALANE_AES_128_GCM, keys[second], 16);
    return failed ? failed : sealane_sealv(&k, tag, nonces[second], 12, pseudo, 3, NULL, 0);
}
