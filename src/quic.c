/* QUIC packet protection (RFC 9001, section 5; RFC 9369). */
#include "../include/sealane.h"

#include "aesmodes.h"
#include "batch.h"
#include "dit.h"
#include "key.h"

#define QUIC_MARK 0x736c7131 /* plus the algorithm */

enum { CHUNK = SEALANE_LANES_MAX, SAMPLE_OFFSET = 4, SAMPLE_BYTES = 16 };
enum { PACKET_MAX = INT32_MAX }; /* bytes: below the limit of every cipher, and far above the size of a datagram */

static const uint64_t NUMBER_MAX = ((uint64_t)1 << 62) - 1;

/* Masks of the same kind can be made together: the same level, and the same number of AES rounds (0 for ChaCha20).
 * level is NULL if the keys are invalid. */
typedef struct {
    const sealane_level *level;
    const void *key;
    uint64_t rounds;
} mask_kind;

/* The members are combined in registers: a compiler that stores them one by one and loads two at once causes a
 * stall. */
static ALWAYS_INLINE inline mask_kind kind_of(const sealane_quic_keys *k)
{
    const sealane_table *masks = &sealane_tables[SEALANE_CHACHA20MASKS];
    const sealane_level *level = NULL;
    if (k == NULL)
        return (mask_kind){NULL, NULL, 0};
    if (k->ready == QUIC_MARK + SEALANE_CHACHA20_POLY1305)
        return (mask_kind){&masks->levels[sealane_level_of_process(masks)], k->mask_key, 0};
    if (k->ready != QUIC_MARK + SEALANE_AES_128_GCM && k->ready != QUIC_MARK + SEALANE_AES_256_GCM)
        return (mask_kind){NULL, NULL, 0};
    const sealane_aes_schedules *schedules = sealane_aes_schedules_of(&k->mask, &level);
    return (mask_kind){level, schedules, schedules == NULL ? 0 : schedules->rounds};
}

static sealane_status keys_mistake(const sealane_quic_keys *k, sealane_alg alg, const uint8_t *key, const uint8_t *iv,
                                   const uint8_t *hp, size_t key_bytes)
{
    if (key_bytes != (alg == SEALANE_AES_128_GCM                                       ? 16
                      : alg == SEALANE_AES_256_GCM || alg == SEALANE_CHACHA20_POLY1305 ? 32
                                                                                       : 0))
        return SEALANE_INVALID_KEY;
    sealane_status why = source_mistake(k, sizeof *k, key, key_bytes);
    if (why == SEALANE_OK)
        why = source_mistake(k, sizeof *k, iv, 12);
    return why == SEALANE_OK ? source_mistake(k, sizeof *k, hp, key_bytes) : why;
}

int sealane_quic_keys_init(sealane_quic_keys *k, sealane_alg alg, const uint8_t *key, const uint8_t iv[12],
                           const uint8_t *hp, size_t key_bytes)
{
    if (k == NULL)
        return SEALANE_NULL;
    int failed = keys_mistake(k, alg, key, iv, hp, key_bytes);
    wipe(k, sizeof *k);
    if (!failed)
        failed = sealane_key_init(&k->packet, alg, key, key_bytes);
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

/* Makes masks in the first bytes of blocks. A lane has a sample, a block and a key of that kind. */
static void make_masks(const mask_kind *kind, const sealane_mode_lane *lanes, size_t n)
{
    SEALANE_SCRATCH(scratch);
    sealane_mode_args a; /* unread fields stay unset: see set_up in aes_api.c */
    a.lanes = slot(lanes), a.count = n, a.operation = SEALANE_AES_MASKS;
    kind->level->kernel(&a, scratch, kind->level->consts);
}

int sealane_quic_mask(const sealane_quic_keys *k, uint8_t mask[5], const uint8_t sample[16])
{
    const mask_kind kind = kind_of(k);
    uint8_t block[16];
    const sealane_mode_lane lane = {.out = slot(block), .in = slot(sample), .key = slot(kind.key)};
    if (kind.level == NULL)
        return SEALANE_INVALID_KEY;
    if (mask == NULL || sample == NULL)
        return SEALANE_NULL;
    const uint64_t dit = dit_on();
    make_masks(&kind, &lane, 1);
    dit_restore(dit);
    memcpy(mask, block, 5);
    wipe(block, sizeof block);
    return SEALANE_OK;
}

/* Up to CHUNK packets. */
typedef struct {
    union {
        _Alignas(64) sealane_lane lanes[CHUNK];
        sealane_packet_args one; /* used if there is only one packet */
    };
    union {                                    /* for one call of a kernel */
        _Alignas(64) sealane_lane some[CHUNK]; /* for packets */
        sealane_mode_lane samples[CHUNK];
    };
    sealane_quic_packet *packets[CHUNK];  /* valid packets */
    uint8_t *numbers[CHUNK];              /* start of their packet numbers */
    const sealane_quic_keys *keys[CHUNK]; /* keys that they are sealed or opened with */
    uint64_t expected[CHUNK];
    uint8_t nonces[CHUNK][12], masks[CHUNK][16], tags[CHUNK][16];
    mask_kind kinds[CHUNK]; /* consecutive packets may share one */
    uint8_t kind_at[CHUNK]; /* which kind makes a packet's mask */
    size_t kind_count;
} work;

/* Properties of a packet's keys. They are determined only when the keys change, which is rare for a sender. They are
 * kept in local variables, because a compiler assumes that any byte store may change work. */
typedef struct {
    const sealane_quic_keys *keys, *other;
    unsigned kind; /* index into kinds of work; NO_KIND: invalid keys */
} mask_keys;

enum { NO_KIND = CHUNK };

static const mask_keys no_keys = {NULL, NULL, NO_KIND};

/* Like key_valid, for memory that a fault elsewhere may have overwritten. */
static int usable(const sealane_quic_keys *k)
{
    return kind_of(k).level != NULL && key_valid(&k->packet);
}

static ALWAYS_INLINE inline mask_keys mask_keys_of(work *w, const sealane_quic_packet *p)
{
    const mask_kind kind = kind_of(p->keys);
    const size_t n = w->kind_count;
    if (kind.level == NULL || !key_valid(&p->keys->packet) || (p->other != NULL && !usable(p->other)))
        return (mask_keys){p->keys, p->other, NO_KIND};
    if (n == 0 || w->kinds[n - 1].key != kind.key)
        w->kinds[w->kind_count++] = kind;
    return (mask_keys){p->keys, p->other, (unsigned)w->kind_count - 1};
}

typedef struct {
    const sealane_quic_keys *keys;
    uint64_t key, iv; /* for lanes; iv holds all but the first four bytes of the IV */
    uint8_t iv_begin[4];
} lane_keys;

static ALWAYS_INLINE inline lane_keys lane_keys_of(const sealane_quic_keys *k)
{
    const int gcm = is_gcm(key_alg(&k->packet));
    return (lane_keys){.keys = k,
                       .key = slot(gcm ? (const void *)gcm_key_of(&k->packet) : key_bytes_of(&k->packet)),
                       .iv = load64(k->iv + 4),
                       .iv_begin = {k->iv[0], k->iv[1], k->iv[2], k->iv[3]}};
}

/* Finds the caller's mistake in a packet, and sets its results to those of a failure. */
static ALWAYS_INLINE inline sealane_status mistake(sealane_quic_packet *p, int keys_valid)
{
    const size_t at = p->pn_offset, packet_bytes = p->packet_bytes;
    p->payload = NULL, p->payload_bytes = 0;
    if (!keys_valid)
        return p->status = SEALANE_INVALID_KEY;
    if (p->bytes == NULL)
        return p->status = SEALANE_NULL;
    if (packet_bytes > PACKET_MAX)
        return p->status = SEALANE_TOO_LONG;
    if (at == 0 || at > packet_bytes || packet_bytes - at < SAMPLE_OFFSET + SAMPLE_BYTES)
        return p->status = SEALANE_INVALID_LENGTH;
    if (p->number > NUMBER_MAX)
        return p->status = SEALANE_TOO_LONG;
    return p->status = SEALANE_OK;
}

/* Adds packet i unless it has a mistake; returns its status. */
static ALWAYS_INLINE inline sealane_status take(work *w, sealane_quic_packet *p, size_t i, mask_keys k)
{
    const sealane_status status = mistake(p, k.kind != NO_KIND);
    if (status != SEALANE_OK)
        return status;
    w->packets[i] = p;
    w->numbers[i] = p->bytes + p->pn_offset;
    w->kind_at[i] = (uint8_t)k.kind;
    return SEALANE_OK;
}

static inline size_t number_bytes(uint8_t first)
{
    return (size_t)(first & 3) + 1;
}

/* Makes the masks of all packets with one AES key, as blocks of one text: this loads its round keys once. Lanes would
 * take 4 to 16 % more of the time of 64-byte packets. */
static NOINLINE void make_row_of_masks(work *w, size_t count)
{
    SEALANE_SCRATCH(scratch);
    const mask_kind *const kind = &w->kinds[0];
    sealane_mode_args a;
    const uint8_t *in = w->numbers[0] + SAMPLE_OFFSET;
    if (count > 1) {
        for (size_t i = 0; i < count; i++)
            memcpy(w->masks[i], w->numbers[i] + SAMPLE_OFFSET, SAMPLE_BYTES);
        in = w->masks[0];
    }
    a.out = slot(w->masks), a.in = slot(in), a.bytes = SAMPLE_BYTES * count;
    a.key = slot(kind->key), a.state = 0, a.operation = SEALANE_AES_ECB_ENCRYPT;
    kind->level->kernel(&a, scratch, kind->level->consts);
}

/* Otherwise, each call makes the masks of one kind, starting with the first packet without a mask. */
static NOINLINE void make_all_masks(work *w, size_t count)
{
    uint64_t done = 0;
    if (w->kind_count == 1 && w->kinds[0].rounds != 0) {
        make_row_of_masks(w, count);
        return;
    }
    for (size_t first = 0; first < count; first++) {
        if (done >> first & 1)
            continue;
        const mask_kind kind = w->kinds[w->kind_at[first]];
        size_t n = 0;
        for (size_t i = first; i < count; i++) {
            const mask_kind *of = &w->kinds[w->kind_at[i]];
            if (of->level != kind.level || of->rounds != kind.rounds)
                continue;
            done |= (uint64_t)1 << i;
            w->samples[n].out = slot(w->masks[i]), w->samples[n].in = slot(w->numbers[i] + SAMPLE_OFFSET);
            w->samples[n++].key = slot(of->key);
        }
        make_masks(&kind, w->samples, n);
    }
}

/* Writes only the packet number and reads nothing: the text follows, and registers would keep it. */
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

/* The bits of a packet number in the four bytes from its start, as load32 returns them. Every packet has these
 * bytes. */
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

/* Masks an unmasked header. */
static inline void mask_header(const sealane_quic_packet *p, const uint8_t mask[16])
{
    uint8_t *const bytes = p->bytes;
    mask_number(bytes + p->pn_offset, mask, number_bytes(bytes[0]));
    bytes[0] ^= mask[0] & masked_bits(bytes[0]);
}

/* Fills the lane of packet i, whose unmasked header has `header` bytes. */
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

/* Restores the payload of a refused packet. */
static NOINLINE void take_back(const sealane_quic_keys *k, uint8_t *bytes, size_t header, size_t text,
                               const uint8_t nonce[12])
{
    SEALANE_SCRATCH(scratch);
    uint8_t *const payload = bytes + header;
    const sealane_packet forged = {&k->packet, payload, payload, text, bytes, header, nonce, 12, payload + text, 1};
    (void)sealane_take_back(&forged, scratch);
}

/* Compares the computed tags with those in the packets. */
static ALWAYS_INLINE inline void compare_tags(work *w, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        sealane_quic_packet *const p = w->packets[i];
        const int same = equal16(w->tags[i], p->bytes + p->packet_bytes - SEALANE_TAG_BYTES);
        memset(w->tags[i], 0, sizeof w->tags[i]);
        if (same)
            continue;
        p->status = SEALANE_NOT_AUTHENTIC;
        take_back(w->keys[i], p->bytes, (size_t)w->lanes[i].ad_bytes, (size_t)w->lanes[i].bytes, w->nonces[i]);
    }
    keep_stores(w->tags);
}

/* Seals or opens the lanes, in groups with the same algorithm and level. */
static ALWAYS_INLINE inline void run_lanes(work *w, size_t count, uint64_t direction)
{
    uint64_t done = 0;
    if (count == 1) {
        sealane_run_lane(key_level(&w->keys[0]->packet), &w->one, direction);
        return;
    }
    for (size_t first = 0; first < count; first++) {
        if (done >> first & 1)
            continue;
        const sealane_key *const k = &w->keys[first]->packet;
        size_t n = 0, last = first;
        for (size_t i = first; i < count; i++)
            if (w->keys[i]->packet.opaque[0] == k->opaque[0])
                done |= (uint64_t)1 << i, n++, last = i;
        const sealane_lane *lanes = &w->lanes[first];
        if (last - first >= n) { /* packets of other groups are among them */
            n = 0;
            for (size_t i = first; i <= last; i++)
                if (w->keys[i]->packet.opaque[0] == k->opaque[0])
                    w->some[n++] = w->lanes[i];
            lanes = w->some;
        }
        sealane_run_lanes(key_level(k), sealane_level_batch(table_of(key_alg(k)), key_level(k)), lanes, n, direction);
    }
}

static ALWAYS_INLINE inline size_t protect(work *w, sealane_quic_packet *packets, size_t n)
{
    size_t count = 0;
    mask_keys keys = no_keys;
    lane_keys of_lane = {NULL, 0, 0, {0}};
    for (size_t i = 0; i < n; i++) {
        sealane_quic_packet *const p = &packets[i];
        if (p->keys != keys.keys || p->other != keys.other)
            keys = mask_keys_of(w, p);
        if (take(w, p, count, keys) != SEALANE_OK)
            continue;
        const size_t bytes = number_bytes(p->bytes[0]);
        if (keys.keys != of_lane.keys)
            of_lane = lane_keys_of(keys.keys);
        set_lane(w, count, p, p->pn_offset + bytes, of_lane, 0);
        put_number(w->numbers[count], (uint32_t)p->number, bytes);
        count++;
    }
    if (count == 0)
        return 0;
    run_lanes(w, count, 0);
    make_all_masks(w, count);
    for (size_t i = 0; i < count; i++) {
        mask_header(w->packets[i], w->masks[i]);
        memset(w->masks[i], 0, sizeof w->masks[i]);
    }
    keep_stores(w->masks);
    return count;
}

/* The packet number closest to the expected one whose low bytes are these (RFC 9000, appendix A.3). */
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

/* The keys that open a packet, by the unmasked first byte of its header. */
static inline const sealane_quic_keys *keys_of_phase(const sealane_quic_packet *p, uint8_t first)
{
    const int other = !(first & 0x80) && p->other != NULL && (first >> 2 & 1) != (p->phase != 0);
    return other ? p->other : p->keys;
}

/* Sets the payload of an authentic packet, and checks its reserved bits. */
static inline int opened(sealane_quic_packet *p, uint8_t *payload, size_t payload_bytes)
{
    const int reserved = p->bytes[0] & (p->bytes[0] & 0x80 ? 0x0c : 0x18);
    p->payload = payload, p->payload_bytes = payload_bytes;
    if (reserved)
        p->status = SEALANE_RESERVED_BITS;
    return !reserved;
}

/* Restores the header and the packet number of a refused packet. */
static ON_SECRET_WORDS void mask_again(sealane_quic_packet *p, const uint8_t mask[16], uint64_t expected)
{
    mask_header(p, mask);
    p->number = expected;
}

static ALWAYS_INLINE inline size_t unprotect(work *w, sealane_quic_packet *packets, size_t n)
{
    size_t count = 0, good = 0;
    mask_keys keys = no_keys;
    lane_keys of_lane = {NULL, 0, 0, {0}};
    for (size_t i = 0; i < n; i++) {
        if (packets[i].keys != keys.keys || packets[i].other != keys.other)
            keys = mask_keys_of(w, &packets[i]);
        count += take(w, &packets[i], count, keys) == SEALANE_OK;
    }
    if (count == 0)
        return 0;
    make_all_masks(w, count);
    for (size_t i = 0; i < count; i++) {
        sealane_quic_packet *const p = w->packets[i];
        uint8_t *const at = w->numbers[i], *const mask = w->masks[i];
        const uint8_t first = p->bytes[0] ^ (mask[0] & masked_bits(p->bytes[0]));
        const size_t bytes = number_bytes(first);
        p->bytes[0] = first;
        mask_number(at, mask, bytes);
        w->expected[i] = p->number;
        p->number = decode(p->number, at, bytes);
        const sealane_quic_keys *const k = keys_of_phase(p, first);
        if (k != of_lane.keys)
            of_lane = lane_keys_of(k);
        set_lane(w, i, p, p->pn_offset + bytes, of_lane, 1);
    }
    run_lanes(w, count, SEALANE_FLAG_OPEN);
    compare_tags(w, count);
    for (size_t i = 0; i < count; i++) {
        sealane_quic_packet *p = w->packets[i];
        if (p->status == SEALANE_OK)
            good += (size_t)opened(p, slot_bytes(w->lanes[i].out), (size_t)w->lanes[i].bytes);
        else
            mask_again(p, w->masks[i], w->expected[i]);
        memset(w->masks[i], 0, sizeof w->masks[i]);
    }
    keep_stores(w->masks);
    return good;
}

/* Duplicates the batch path for one packet, so that the compiler knows the count. */
static NOINLINE size_t protect_one(sealane_quic_packet *p)
{
    work w;
    w.kind_count = 0;
    return protect(&w, p, 1);
}

static NOINLINE size_t unprotect_one(sealane_quic_packet *p)
{
    work w;
    w.kind_count = 0;
    return unprotect(&w, p, 1);
}

static NOINLINE size_t run_many(sealane_quic_packet *packets, size_t n, int sealing)
{
    work w;
    size_t good = 0;
    for (size_t at = 0; at < n; at += CHUNK) {
        const size_t left = n - at < CHUNK ? n - at : CHUNK;
        w.kind_count = 0;
        good += sealing ? protect(&w, packets + at, left) : unprotect(&w, packets + at, left);
    }
    return good;
}

static ALWAYS_INLINE inline size_t run(sealane_quic_packet *packets, size_t n, int sealing)
{
    if (packets == NULL)
        return 0;
    const uint64_t dit = dit_on();
    const size_t good = n != 1    ? run_many(packets, n, sealing)
                        : sealing ? protect_one(packets)
                                  : unprotect_one(packets);
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
    /* RFC 9001, section 5.8, and RFC 9369, section 3.3.3. These keys are public. */
    static const uint8_t keys[2][16] = {
        {0xbe, 0x0c, 0x69, 0x0b, 0x9f, 0x66, 0x57, 0x5a, 0x1d, 0x76, 0x6b, 0x54, 0xe3, 0x68, 0xc8, 0x4e},
        {0x8f, 0xb4, 0xb0, 0x1b, 0x56, 0xac, 0x48, 0xe2, 0x60, 0xfb, 0xcb, 0xce, 0xad, 0x7c, 0xcc, 0x92}};
    static const uint8_t nonces[2][12] = {{0x46, 0x15, 0x99, 0xd3, 0x5d, 0x63, 0x2b, 0xf2, 0x23, 0x98, 0x25, 0xbb},
                                          {0xd8, 0x69, 0x69, 0xbc, 0x2d, 0x7c, 0x6d, 0x99, 0x90, 0xef, 0xb0, 0x4a}};
    const int second = version == 0x6b3343cf;
    const uint8_t length = (uint8_t)dcid_bytes;
    const sealane_iovec pseudo[] = {{&length, NULL, 1}, {dcid, NULL, dcid_bytes}, {retry, NULL, retry_bytes}};
    sealane_key k;
    if (tag == NULL || (dcid == NULL && dcid_bytes != 0) || (retry == NULL && retry_bytes != 0))
        return SEALANE_NULL;
    if (dcid_bytes > 255)
        return SEALANE_INVALID_LENGTH;
    if (!second && version != 1)
        return SEALANE_INVALID_KEY;
    const int failed = sealane_key_init(&k, SEALANE_AES_128_GCM, keys[second], 16);
    return failed ? failed : sealane_sealv(&k, tag, nonces[second], 12, pseudo, 3, NULL, 0);
}
