#include "gcm_packet.h"

#include "../src/dit.h"

enum { NONE = 0, HOLDING, AD, TEXT };

static uint64_t direction(int open)
{
    return open ? SEALANE_FLAG_OPEN : 0;
}

/* Sets the arguments that are the same in all calls, and runs the kernel. */
static inline void run(const gcm_packet *p, sealane_packet_args *a, uint64_t flags)
{
    SEALANE_SCRATCH(scratch);
    a->key = slot(&p->key);
    a->nonce = slot(p->nonce);
    /* During key setup, NONCE would set a hash key. */
    a->flags = flags | (p->is_j0 || flags == SEALANE_FLAG_SETUP ? 0 : SEALANE_FLAG_NONCE);
    const uint64_t dit = dit_on();
    p->level->kernel(a, scratch, p->level->consts);
    dit_restore(dit);
}

/* The flag for the first text: the held associated data goes first while there is no state. */
static uint64_t first(const gcm_packet *p)
{
    return p->phase == HOLDING ? SEALANE_FLAG_FIRST : 0;
}

/* Runs whole 64-byte blocks and updates the state. */
static void run_blocks(gcm_packet *p, uint8_t *out, const uint8_t *in, size_t bytes, uint64_t flags)
{
    sealane_packet_args a = {
        .out = slot(out),
        .in = slot(in),
        .bytes = bytes,
        .ad = slot(p->held),
        .ad_bytes = p->ad_bytes,
        .state = slot(&p->state),
    };
    run(p, &a, flags | first(p));
    p->phase = TEXT;
    p->done += bytes;
}

/* Runs the end of the packet and makes the tag; the state does not change. */
static void run_end(const gcm_packet *p, uint8_t *out, const uint8_t *in, size_t bytes, uint64_t flags, uint8_t tag[16])
{
    sealane_packet_args a = {
        .out = slot(out),
        .in = slot(in),
        .bytes = bytes,
        .ad = slot(p->held),
        .ad_bytes = p->ad_bytes,
        .tag = slot(tag),
        .total = p->done + bytes,
    };
    if (p->phase == HOLDING) { /* a complete packet needs no state */
        run(p, &a, flags | SEALANE_FLAG_FIRST | SEALANE_FLAG_LAST);
        return;
    }
    sealane_gcm_state state = p->state;
    a.state = slot(&state);
    run(p, &a, flags | SEALANE_FLAG_LAST);
    wipe(&state, sizeof state);
}

/* ---- Start of a packet ---- */

static void forget(gcm_packet *p)
{
    if (p->phase >= AD) {
        wipe(&p->state, sizeof p->state);
        wipe(p->keystream, sizeof p->keystream);
    }
    p->phase = NONE;
}

void gcm_packet_set_key(gcm_packet *p, const uint8_t *key, size_t bytes)
{
    forget(p);
    p->key.rounds = 6 + bytes / 4;
    memcpy(p->key.schedule, key, bytes);
    run(p, &(sealane_packet_args){0}, SEALANE_FLAG_SETUP);
}

void gcm_packet_begin(gcm_packet *p, const uint8_t *nonce, size_t bytes)
{
    forget(p);
    p->phase = HOLDING;
    p->ad_bytes = p->text_bytes = p->done = 0;
    p->tag_known = p->more = p->keystream_known = 0;
    p->is_j0 = bytes != SEALANE_AES_GCM_NONCE_BYTES;
    if (p->is_j0)
        sealane_gcm_hash_nonce(p->nonce, p->level, &p->key, nonce, bytes);
    else
        memcpy(p->nonce, nonce, bytes);
}

/* ---- Associated data ---- */

/* Absorbs whole 16-byte blocks. Most are opened as if they were ciphertext, and the output is discarded. */
static void absorb(gcm_packet *p, const uint8_t *in, size_t bytes)
{
    uint8_t counter[16];
    memcpy(counter, p->state.counter, sizeof counter);
    while (bytes >= 64) {
        const size_t whole = bytes - bytes % 64, n = whole < sizeof p->copy ? whole : sizeof p->copy;
        sealane_packet_args a = {.out = slot(p->copy), .in = slot(in), .bytes = n, .state = slot(&p->state)};
        run(p, &a, SEALANE_FLAG_OPEN);
        wipe(p->copy, n);
        in += n, bytes -= n;
    }
    memcpy(p->state.counter, counter, sizeof counter);
    if (bytes != 0)
        sealane_gcm_absorb(&p->state, p->level, &p->key, in, bytes / 16);
}

/* Associated data that is too long to hold: as much as possible goes into a new state. */
static void stop_holding(gcm_packet *p, const uint8_t *ad, size_t bytes)
{
    sealane_packet_args a = {.ad = slot(ad), .ad_bytes = bytes - bytes % 16, .state = slot(&p->state)};
    run(p, &a, SEALANE_FLAG_FIRST);
    memmove(p->held, ad + (bytes - bytes % 16), bytes % 16);
    p->phase = AD;
}

static void continue_ad(gcm_packet *p, const uint8_t *ad, size_t bytes)
{
    const size_t held = (size_t)(p->ad_bytes % 16);
    p->ad_bytes += bytes;
    if (held != 0) {
        const size_t n = bytes < 16 - held ? bytes : 16 - held;
        memcpy(p->held + held, ad, n);
        ad += n, bytes -= n;
        if (held + n < 16)
            return;
        absorb(p, p->held, 16);
    }
    absorb(p, ad, bytes - bytes % 16);
    memcpy(p->held, ad + (bytes - bytes % 16), bytes % 16);
}

int gcm_packet_ad(gcm_packet *p, const uint8_t *ad, size_t bytes)
{
    if (p->text_bytes != 0 || bytes > AESGCM_AD_MAX - p->ad_bytes)
        return 0;
    p->tag_known = 0;
    if (p->phase == HOLDING && bytes <= sizeof p->held - p->ad_bytes) {
        memcpy(p->held + p->ad_bytes, ad, bytes);
        p->ad_bytes += bytes;
    } else if (p->phase == HOLDING && p->ad_bytes == 0) {
        stop_holding(p, ad, bytes);
        p->ad_bytes = bytes;
    } else {
        if (p->phase == HOLDING)
            stop_holding(p, p->held, (size_t)p->ad_bytes);
        continue_ad(p, ad, bytes);
    }
    return 1;
}

static void end_ad(gcm_packet *p)
{
    const size_t held = (size_t)(p->ad_bytes % 16);
    if (p->phase != AD)
        return;
    if (held != 0) {
        memset(p->held + held, 0, 16 - held);
        absorb(p, p->held, 16);
    }
    p->phase = TEXT;
}

/* ---- Text ---- */

static void make_keystream(gcm_packet *p)
{
    static const uint8_t zeroes[64];
    sealane_gcm_state state = p->state; /* sealing zeroes must not change the authentication */
    sealane_packet_args a = {
        .out = slot(p->keystream), .in = slot(zeroes), .bytes = sizeof p->keystream, .state = slot(&state)};
    run(p, &a, 0);
    wipe(&state, sizeof state);
    p->keystream_known = 1;
}

/* Processes text within the 64-byte block at done. */
static void text_within_block(gcm_packet *p, uint8_t *out, const uint8_t *in, size_t bytes, int open)
{
    const size_t at = (size_t)(p->text_bytes - p->done);
    uint8_t *ciphertext = p->copy + at;
    if (!p->keystream_known)
        make_keystream(p);
    if (open)
        memcpy(ciphertext, in, bytes);
    for (size_t i = 0; i < bytes; i++)
        out[i] = in[i] ^ p->keystream[at + i];
    if (!open)
        memcpy(ciphertext, out, bytes);
    p->text_bytes += bytes;
    if (p->text_bytes - p->done == 64) {
        run_blocks(p, p->keystream, p->copy, 64, SEALANE_FLAG_OPEN); /* the output is the plaintext */
        wipe(p->keystream, sizeof p->keystream);
        p->keystream_known = 0;
    }
}

/* The guess was wrong: absorbs the whole blocks of the copied ciphertext. The kernel also decrypts them; the output is
 * unused. */
static void go_on(gcm_packet *p)
{
    const size_t bytes = (size_t)(p->text_bytes - p->done), whole = bytes - bytes % 64;
    run_blocks(p, p->copy, p->copy, whole, SEALANE_FLAG_OPEN);
    wipe(p->copy, whole);
    memmove(p->copy, p->copy + whole, bytes - whole);
    p->tag_known = 0;
    p->more = 1;
}

static void guess_end(gcm_packet *p, uint8_t *out, const uint8_t *in, size_t bytes, int open)
{
    if (open)
        memcpy(p->copy, in, bytes);
    run_end(p, out, in, bytes, direction(open), p->tag);
    if (!open)
        memcpy(p->copy, out, bytes);
    p->text_bytes += bytes;
    p->tag_known = 1;
}

int gcm_packet_text(gcm_packet *p, uint8_t *out, const uint8_t *in, size_t bytes, int open)
{
    if (bytes > AESGCM_TEXT_MAX - p->text_bytes)
        return 0;
    end_ad(p);
    if (bytes == 0)
        return 1;
    if (p->tag_known)
        go_on(p);
    if (p->text_bytes != p->done) {
        const size_t to_block = 64 - (size_t)(p->text_bytes - p->done), n = bytes < to_block ? bytes : to_block;
        text_within_block(p, out, in, n, open);
        in += n, out += n, bytes -= n;
    }
    const size_t end = bytes % 64;
    if (!p->more && bytes <= sizeof p->copy) {
        guess_end(p, out, in, bytes, open);
        return 1;
    }
    if (bytes != end) {
        run_blocks(p, out, in, bytes - end, direction(open));
        p->text_bytes += bytes - end;
        in += bytes - end, out += bytes - end;
    }
    if (!p->more)
        guess_end(p, out, in, end, open);
    else if (end != 0)
        text_within_block(p, out, in, end, open);
    return 1;
}

void gcm_packet_tag(gcm_packet *p, uint8_t tag[16])
{
    end_ad(p);
    if (p->tag_known)
        memcpy(tag, p->tag, 16);
    else
        run_end(p, p->copy, p->copy, (size_t)(p->text_bytes - p->done), SEALANE_FLAG_OPEN, tag);
    if (!p->tag_known)
        wipe(p->copy, (size_t)(p->text_bytes - p->done));
    forget(p);
}

void gcm_packet_whole(gcm_packet *p, uint8_t *out, uint8_t tag[16], const uint8_t *ad, size_t ad_bytes,
                      const uint8_t *in, size_t bytes, int open)
{
    sealane_packet_args a = {
        .out = slot(out),
        .in = slot(in),
        .bytes = bytes,
        .ad = slot(ad),
        .ad_bytes = ad_bytes,
        .tag = slot(tag),
        .total = bytes,
    };
    run(p, &a, SEALANE_FLAG_FIRST | SEALANE_FLAG_LAST | direction(open));
    forget(p);
}
