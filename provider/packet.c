#include "packet.h"

#include "../src/dit.h"

enum { IDLE = 0, HOLDING, WHOLE, STREAM };

static void run(const packet *p, const sealane_packet_args *a)
{
    SEALANE_SCRATCH(scratch);
    const uint64_t dit = dit_on();
    p->level->kernel(a, scratch, p->level->consts);
    dit_restore(dit);
}

static uint64_t direction(int open)
{
    return open ? SEALANE_FLAG_OPEN : 0;
}

void packet_whole(const packet *p, uint8_t *out, uint8_t tag[16], const uint8_t *ad, size_t ad_bytes, const uint8_t *in,
                  size_t bytes, int open)
{
    const sealane_packet_args a = {
        .out = slot(out),
        .in = slot(in),
        .bytes = bytes,
        .ad = slot(ad),
        .ad_bytes = ad_bytes,
        .key = slot(p->key),
        .nonce = slot(p->nonce),
        .tag = slot(tag),
        .total = bytes,
        .flags = SEALANE_FLAG_FIRST | SEALANE_FLAG_LAST | direction(open),
    };
    run(p, &a);
}

/* Runs whole 64-byte blocks of a stream; with FIRST also the held associated data. */
static void run_blocks(packet *p, uint8_t *out, const uint8_t *in, size_t bytes, uint64_t flags)
{
    const sealane_packet_args a = {
        .out = slot(out),
        .in = slot(in),
        .bytes = bytes,
        .ad = slot(p->held),
        .ad_bytes = p->ad_bytes,
        .key = slot(p->key),
        .nonce = slot(p->nonce),
        .state = slot(&p->state),
        .flags = flags,
    };
    run(p, &a);
}

/* ---- Poly1305 of bytes that do not fill blocks ---- */

static void absorb(packet *p, const uint8_t *in, size_t bytes)
{
    if (p->part_bytes != 0) {
        const size_t room = sizeof p->part - p->part_bytes, n = bytes < room ? bytes : room;
        memcpy(p->part + p->part_bytes, in, n);
        p->part_bytes = (uint8_t)(p->part_bytes + n);
        in += n, bytes -= n;
        if (p->part_bytes < sizeof p->part)
            return;
        sealane_poly1305_blocks(&p->state, p->part, 1);
        p->part_bytes = 0;
    }
    sealane_poly1305_blocks(&p->state, in, bytes / 16);
    if (bytes % 16 != 0) {
        memcpy(p->part, in + bytes / 16 * 16, bytes % 16);
        p->part_bytes = (uint8_t)(bytes % 16);
    }
}

/* Adds zeroes after `counted` bytes up to the next multiple of 16. */
static void pad(packet *p, uint64_t counted)
{
    static const uint8_t zeroes[16];
    absorb(p, zeroes, (size_t)(-counted % 16));
}

static void close_ad(packet *p)
{
    if (p->ad_open)
        pad(p, p->ad_bytes);
    p->ad_open = 0;
}

/* ---- Phases ---- */

void packet_reset(packet *p)
{
    if (p->phase == STREAM) {
        wipe(&p->state, sizeof p->state);
        wipe(p->keystream, (size_t)p->keystream_bytes);
    }
    p->phase = IDLE;
}

static void begin(packet *p)
{
    p->phase = HOLDING;
    p->ad_bytes = p->text_bytes = 0;
    p->ad_open = p->part_bytes = p->ahead = 0;
    p->keystream_at = p->keystream_bytes = 0;
}

static void begin_stream(packet *p)
{
    uint8_t block[64];
    sealane_chacha20_block(block, p->key, p->nonce, 0);
    sealane_poly1305_key(&p->state, block);
    wipe(block, sizeof block);
    absorb(p, p->held, (size_t)p->ad_bytes);
    p->ad_open = 1;
    p->phase = STREAM;
}

static uint32_t counter_at(uint64_t text_bytes)
{
    return (uint32_t)(text_bytes / 64 + 1);
}

static void refill(packet *p, uint64_t at)
{
    p->keystream_at = at;
    p->keystream_bytes = p->ahead ? KEYSTREAM_AHEAD : KEYSTREAM_BLOCK;
    p->ahead = 1;
    keystream_make(p->level, p->key, p->nonce, counter_at(at), p->keystream, (size_t)p->keystream_bytes);
}

/* Restarts from the copied ciphertext. The kernel also decrypts it; the output is unused. */
static void restart(packet *p)
{
    const size_t bytes = (size_t)p->text_bytes, blocks = bytes - bytes % 64;
    if (blocks != 0) {
        run_blocks(p, p->copy, p->copy, blocks, SEALANE_FLAG_FIRST | SEALANE_FLAG_OPEN);
        wipe(p->copy, blocks);
        p->phase = STREAM;
    } else {
        begin_stream(p);
        close_ad(p);
    }
    absorb(p, p->copy + blocks, bytes - blocks);
    if (bytes != blocks)
        refill(p, blocks);
}

static void settle(packet *p)
{
    if (p->phase == HOLDING)
        begin_stream(p);
    else if (p->phase == WHOLE)
        restart(p);
}

void packet_set_nonce(packet *p, const uint8_t nonce[12])
{
    settle(p);
    if (p->phase == STREAM) { /* key stream of unused blocks belongs to the old nonce */
        const uint64_t begun = (p->text_bytes + 63) / 64 * 64 - p->keystream_at;
        if (p->keystream_bytes > begun)
            p->keystream_bytes = begun;
    }
    memcpy(p->nonce, nonce, sizeof p->nonce);
}

int packet_ad(packet *p, const uint8_t *ad, size_t bytes)
{
    if (p->phase == IDLE)
        begin(p);
    if (p->text_bytes != 0)
        return 0;
    if (p->phase == HOLDING && bytes <= PACKET_HELD - p->ad_bytes) {
        memcpy(p->held + p->ad_bytes, ad, bytes);
        p->ad_bytes += bytes;
        return 1;
    }
    settle(p);
    absorb(p, ad, bytes);
    p->ad_bytes += bytes;
    p->ad_open = 1;
    return 1;
}

/* ---- Text ---- */

static void text_whole(packet *p, uint8_t *out, const uint8_t *in, size_t bytes, int open)
{
    if (open)
        memcpy(p->copy, in, bytes);
    packet_whole(p, out, p->tag, p->held, (size_t)p->ad_bytes, in, bytes, open);
    if (!open)
        memcpy(p->copy, out, bytes);
    p->text_bytes = bytes;
    p->phase = WHOLE;
}

static void text_short(packet *p, uint8_t *out, const uint8_t *in, size_t bytes, int open)
{
    while (bytes != 0) {
        if (p->text_bytes - p->keystream_at >= p->keystream_bytes)
            refill(p, p->text_bytes);
        const size_t at = (size_t)(p->text_bytes - p->keystream_at), left = (size_t)p->keystream_bytes - at;
        const size_t n = bytes < left ? bytes : left;
        if (open)
            absorb(p, in, n);
        keystream_xor(out, in, p->keystream + at, n);
        if (!open)
            absorb(p, out, n);
        p->text_bytes += n;
        in += n, out += n, bytes -= n;
    }
}

static void text_of_stream(packet *p, uint8_t *out, const uint8_t *in, size_t bytes, int open)
{
    const size_t to_block = (size_t)(-p->text_bytes % 64), n = bytes < to_block ? bytes : to_block;
    text_short(p, out, in, n, open);
    in += n, out += n, bytes -= n;
    if (bytes >= KEYSTREAM_SMALL) {
        const size_t blocks = bytes - bytes % 64;
        p->state.counter = counter_at(p->text_bytes);
        run_blocks(p, out, in, blocks, direction(open));
        p->text_bytes += blocks;
        p->ahead = 0;
        in += blocks, out += blocks, bytes -= blocks;
    }
    text_short(p, out, in, bytes, open);
}

int packet_text(packet *p, uint8_t *out, const uint8_t *in, size_t bytes, int open)
{
    if (p->phase == IDLE)
        begin(p);
    if (bytes > CHACHA20_TEXT_MAX - p->text_bytes)
        return 0;
    if (p->phase == HOLDING && bytes != 0 && bytes <= PACKET_COPY) {
        text_whole(p, out, in, bytes, open);
        return 1;
    }
    if (p->phase == HOLDING && bytes != 0) {
        const size_t blocks = bytes - bytes % 64;
        run_blocks(p, out, in, blocks, SEALANE_FLAG_FIRST | direction(open));
        p->phase = STREAM;
        p->text_bytes = blocks;
        in += blocks, out += blocks, bytes -= blocks;
    }
    settle(p);
    close_ad(p);
    text_of_stream(p, out, in, bytes, open);
    return 1;
}

/* ---- The tag ---- */

/* A message that does not end with a whole block: a 1 follows its last bytes in place of 2^128 (RFC 8439, section
 * 2.5.1). The blocks function adds 2^128, so it is subtracted beforehand. */
static void absorb_last_part(packet *p)
{
    uint8_t block[16] = {0};
    memcpy(block, p->part, p->part_bytes);
    block[p->part_bytes] = 1;
    p->state.h[2]--;
    sealane_poly1305_blocks(&p->state, block, 1);
}

static void finish_stream(packet *p, uint8_t tag[16])
{
    uint8_t lengths[16];
    close_ad(p);
    pad(p, p->text_bytes);
    store64(lengths, p->ad_bytes);
    store64(lengths + 8, p->text_bytes);
    absorb(p, lengths, sizeof lengths);
    if (p->part_bytes != 0)
        absorb_last_part(p);
    sealane_poly1305_tag(&p->state, tag);
}

void packet_tag(packet *p, uint8_t tag[16])
{
    if (p->phase == IDLE)
        begin(p);
    if (p->phase == HOLDING)
        packet_whole(p, NULL, tag, p->held, (size_t)p->ad_bytes, NULL, 0, 0);
    else if (p->phase == WHOLE)
        memcpy(tag, p->tag, sizeof p->tag);
    else
        finish_stream(p, tag);
    packet_reset(p);
}
