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

static void chacha20_mask(const mask_kind *kind, uint8_t out[16], const uint8_t sample[16])
{
    SEALANE_SCRATCH(scratch);
    const sealane_lane lane = {.out = slot(out), .in = slot(sample), .key = slot(kind->key)};
    sealane_args a; /* see sealane_aes_key_init: what masks do not read is not set */
    a.in = slot(&lane), a.bytes = 1, a.flags = 0;
    kind->level->kernel(&a, scratch, kind->level->consts);
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
        chacha20_mask(&kind, block, sample);
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
    uint8_t *numbers[CHUNK];              /* where their packet numbers begin */
    const sealane_quic_keys *keys[CHUNK]; /* that they are sealed or opened with */
    uint8_t nonces[CHUNK][12], masks[CHUNK][16], tags[CHUNK][16];
    mask_kind kinds[CHUNK]; /* several packets one after the other may be of one */
    uint8_t kind_at[CHUNK]; /* which of them makes a packet's mask */
    size_t count, kind_count;
    int alike;             /* 1: all lanes' keys are valid, of one algorithm and level */
    sealane_op ops[CHUNK]; /* if not all go into lanes */
} work;

/* What packets of the same keys have alike, found out where keys change, as those of a sender mostly do not. In
 * variables of the loops over packets, not in work: a compiler takes it that any store of a byte changes that. */
typedef struct {
    const sealane_quic_keys *keys, *other;
    unsigned kind; /* where in work's; NO_KIND: no valid keys */
} mask_keys;

enum { NO_KIND = CHUNK };

static const mask_keys no_keys = {NULL, NULL, NO_KIND};

static NOINLINE mask_keys mask_keys_of(work *w, const sealane_quic_packet *p)
{
    const mask_kind kind = kind_of(p->keys);
    const size_t n = w->kind_count;
    if (kind.level == NULL || (p->other != NULL && kind_of(p->other).level == NULL))
        return (mask_keys){p->keys, p->other, NO_KIND};
    if (n == 0 || w->kinds[n - 1].key != kind.key)
        w->kinds[w->kind_count++] = kind;
    return (mask_keys){p->keys, p->other, (unsigned)w->kind_count - 1};
}

typedef struct {
    const sealane_quic_keys *keys;
    uint64_t key, iv; /* of lanes; all but the first four bytes of the IV */
    uint8_t iv_begin[4];
} lane_keys;

static NOINLINE lane_keys lane_keys_of(work *w, const sealane_quic_keys *k, size_t i)
{
    const int gcm = is_gcm(key_alg(&k->packet));
    w->alike = key_valid(&k->packet) && (i == 0 || (w->alike && k->packet.opaque[0] == w->keys[0]->packet.opaque[0]));
    return (lane_keys){.keys = k,
                       .key = slot(gcm ? (const void *)gcm_key_of(&k->packet) : key_bytes_of(&k->packet)),
                       .iv = load64(k->iv + 4),
                       .iv_begin = {k->iv[0], k->iv[1], k->iv[2], k->iv[3]}};
}

/* Takes packet i, unless it has a mistake; its status. */
static ALWAYS_INLINE inline sealane_status take(work *w, sealane_quic_packet *p, size_t i, mask_keys k)
{
    uint8_t *const bytes = p->bytes;
    const size_t at = p->pn_offset, packet_bytes = p->packet_bytes;
    p->payload = NULL, p->payload_bytes = 0;
    if (k.kind == NO_KIND)
        return p->status = SEALANE_INVALID_KEY;
    if (bytes == NULL)
        return p->status = SEALANE_NULL;
    if (at == 0 || at > packet_bytes || packet_bytes - at < SAMPLE_OFFSET + SAMPLE_BYTES)
        return p->status = SEALANE_INVALID_LENGTH;
    if (p->number > NUMBER_MAX)
        return p->status = SEALANE_TOO_LONG;
    w->packets[i] = p;
    w->numbers[i] = bytes + at;
    w->kind_at[i] = (uint8_t)k.kind;
    return p->status = SEALANE_OK;
}

static inline size_t number_bytes(uint8_t first)
{
    return (size_t)(first & 3) + 1;
}

/* The masks of all packets, if one AES key makes them: as blocks of a text. */
static void make_masks_of_one_key(work *w)
{
    SEALANE_SCRATCH(scratch);
    const sealane_level *level = w->kinds[0].level;
    sealane_args a; /* see sealane_aes_key_init: what this operation does not read is not set */
    for (size_t i = 0; i < w->count; i++)
        memcpy(w->masks[i], w->numbers[i] + SAMPLE_OFFSET, SAMPLE_BYTES);
    a.out = a.in = slot(w->masks), a.bytes = SAMPLE_BYTES * w->count;
    a.key = slot(w->kinds[0].key), a.state = 0, a.flags = SEALANE_AES_ECB_ENCRYPT;
    level->kernel(&a, scratch, level->consts);
}

/* The masks of the first packet that has none yet, and of all that are alike, in one call. */
static void make_masks_of_kinds(work *w)
{
    SEALANE_SCRATCH(scratch);
    uint8_t done[CHUNK] = {0};
    for (size_t first = 0; first < w->count; first++) {
        if (done[first])
            continue;
        const mask_kind kind = w->kinds[w->kind_at[first]];
        size_t lanes = 0;
        for (size_t i = first; i < w->count; i++) {
            const mask_kind *of = &w->kinds[w->kind_at[i]];
            if (done[i] || of->level != kind.level || of->rounds != kind.rounds)
                continue;
            done[i] = 1;
            w->lanes[lanes++] = (sealane_lane){
                .out = slot(w->masks[i]), .in = slot(w->numbers[i] + SAMPLE_OFFSET), .key = slot(of->key)};
        }
        const sealane_args a = {
            .in = slot(w->lanes), .bytes = lanes, .flags = kind.rounds == 0 ? 0 : SEALANE_AES_MASKS};
        kind.level->kernel(&a, scratch, kind.level->consts);
    }
}

static void make_masks(work *w)
{
    if (w->kind_count == 1 && w->kinds[0].rounds != 0)
        make_masks_of_one_key(w);
    else
        make_masks_of_kinds(w);
}

/* Writes nothing but the number, and reads nothing: what is behind it is text, which registers would keep. */
static inline void put_number(uint8_t *at, uint32_t number, size_t bytes)
{
    if (bytes == 4) {
        store32(at, swap32(number));
        return;
    }
    at[bytes - 1] = (uint8_t)number;
    if (bytes > 1)
        at[bytes - 2] = (uint8_t)(number >> 8);
    if (bytes > 2)
        at[0] = (uint8_t)(number >> 16);
}

/* A number's bits, as load32 has them, of the four bytes from where it begins, which every packet has. */
static inline uint32_t number_bits(size_t bytes)
{
    return UINT32_MAX >> (32 - 8 * bytes);
}

static inline void mask_number(uint8_t *at, const uint8_t mask[16], size_t bytes)
{
    store32(at, load32(at) ^ (load32(mask + 1) & number_bits(bytes)));
}

/* Bits of the first byte that are masked (section 5.4.1). */
static uint8_t masked_bits(uint8_t first)
{
    return first & 0x80 ? 0x0f : 0x1f;
}

/* The lane of packet i, whose header is not masked and has so many bytes. */
static ALWAYS_INLINE inline void set_lane(work *w, size_t i, const sealane_quic_packet *p, size_t header, lane_keys k,
                                          int open)
{
    sealane_lane *l = &w->lanes[i];
    uint8_t *const nonce = w->nonces[i], *const bytes = p->bytes;
    const size_t text = p->packet_bytes - header - SEALANE_TAG_BYTES;
    const uint64_t number = p->number;
    l->out = l->in = slot(bytes + header);
    l->bytes = text;
    l->ad = slot(bytes);
    l->ad_bytes = header;
    l->key = k.key;
    l->nonce = slot(nonce);
    l->tag = slot(open ? w->tags[i] : bytes + header + text);
    w->keys[i] = k.keys;
    memcpy(nonce, k.iv_begin, 4);
    store64(nonce + 4, k.iv ^ swap64(number));
}

/* Compares the tags that belong to the packets with those that they have; how many are right. */
static size_t compare_tags(work *w)
{
    size_t good = w->count;
    for (size_t i = 0; i < w->count; i++) {
        sealane_quic_packet *p = w->packets[i];
        if (equal16(w->tags[i], p->bytes + p->packet_bytes - SEALANE_TAG_BYTES))
            continue;
        p->status = SEALANE_NOT_AUTHENTIC, good--;
        memset(slot_bytes(w->lanes[i].out), 0, w->lanes[i].bytes);
    }
    wipe(w->tags, sizeof w->tags[0] * w->count);
    return good;
}

/* Seals or opens what is in lanes, sets each packet's status, and returns how many have SEALANE_OK. The packets of a
 * sender are mostly of one algorithm, and all but the last of one length. */
static size_t run_lanes(work *w, int open)
{
    const uint64_t direction = open ? SEALANE_FLAG_OPEN : 0;
    if (w->count == 0)
        return 0;
    if (w->alike && sealane_batch_lanes(&w->keys[0]->packet, w->lanes, w->count, direction))
        return open ? compare_tags(w) : w->count;
    for (size_t i = 0; i < w->count; i++) {
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
    const size_t good = sealane_batch_run(w->ops, w->count, direction, sealane_level_batch);
    for (size_t i = 0; i < w->count; i++)
        w->packets[i]->status = w->ops[i].status;
    return good;
}

static size_t protect(work *w, sealane_quic_packet *packets, size_t n)
{
    size_t count = 0;
    mask_keys keys = no_keys;
    lane_keys of_lane = {NULL, 0, 0, {0}};
    for (size_t i = 0; i < n; i++) {
        sealane_quic_packet *const p = &packets[i];
        if (p->keys != keys.keys || p->other != keys.other)
            keys = mask_keys_of(w, p);
        if (take(w, p, count, keys) != SEALANE_OK) {
            if (p->bytes != NULL)
                memset(p->bytes, 0, p->packet_bytes);
            continue;
        }
        const size_t bytes = number_bytes(p->bytes[0]);
        if (keys.keys != of_lane.keys)
            of_lane = lane_keys_of(w, keys.keys, count);
        set_lane(w, count, p, p->pn_offset + bytes, of_lane, 0);
        put_number(w->numbers[count], (uint32_t)p->number, bytes);
        count++;
    }
    w->count = count;
    const size_t good = run_lanes(w, 0);
    make_masks(w);
    for (size_t i = 0; i < count; i++) {
        uint8_t *const bytes = w->packets[i]->bytes, *const mask = w->masks[i], first = bytes[0];
        bytes[0] = first ^ (mask[0] & masked_bits(first));
        mask_number(w->numbers[i], mask, number_bytes(first));
        memset(mask, 0, sizeof w->masks[i]);
    }
    keep_stores(w->masks);
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

static size_t unprotect(work *w, sealane_quic_packet *packets, size_t n)
{
    size_t count = 0, good = 0;
    mask_keys keys = no_keys;
    lane_keys of_lane = {NULL, 0, 0, {0}};
    for (size_t i = 0; i < n; i++) {
        if (packets[i].keys != keys.keys || packets[i].other != keys.other)
            keys = mask_keys_of(w, &packets[i]);
        count += take(w, &packets[i], count, keys) == SEALANE_OK;
    }
    w->count = count;
    make_masks(w);
    for (size_t i = 0; i < count; i++) {
        sealane_quic_packet *const p = w->packets[i];
        uint8_t *const at = w->numbers[i], *const mask = w->masks[i];
        const uint8_t first = p->bytes[0] ^ (mask[0] & masked_bits(p->bytes[0]));
        const size_t bytes = number_bytes(first);
        p->bytes[0] = first;
        mask_number(at, mask, bytes);
        memset(mask, 0, sizeof w->masks[i]);
        p->number = decode(p->number, at, bytes);
        const int other = !(first & 0x80) && p->other != NULL && (first >> 2 & 1) != (p->phase != 0);
        const sealane_quic_keys *const k = other ? p->other : p->keys;
        if (k != of_lane.keys)
            of_lane = lane_keys_of(w, k, i);
        set_lane(w, i, p, p->pn_offset + bytes, of_lane, 1);
    }
    keep_stores(w->masks);
    (void)run_lanes(w, 1);
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
    if (packets == NULL)
        return 0;
    const uint64_t dit = dit_on();
    for (size_t at = 0; at < n; at += CHUNK) {
        const size_t left = n - at < CHUNK ? n - at : CHUNK;
        w.kind_count = 0;
        good += sealing ? protect(&w, packets + at, left) : unprotect(&w, packets + at, left);
    }
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
