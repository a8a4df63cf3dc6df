/* Packets in pieces: the stream, and scatter/gather on top of it.
 *
 * The state is that of the kernels, so whole 64-byte blocks go through the kernel of the key's level. For
 * ChaCha20-Poly1305, portable code processes the ends of pieces. AES-GCM keys can be read only by their level, so the
 * kernel processes these ends. It seals zeroes to get the keystream, and opens a block again to authenticate it. */
#include "dit.h"
#include "ghash.h"
#include "key.h"

/* Associated data is held back at first. If it is short, as it nearly always is, the kernel takes it together with the
 * first text and makes the Poly1305 key in the same pass. Longer data is absorbed as it arrives. */
enum { HOLDING_AD = 1, ABSORBING_AD = 2, TEXT = 3 };

#if defined(__GNUC__)
#define MAY_ALIAS __attribute__((may_alias))
#else
#define MAY_ALIAS
#endif

typedef struct MAY_ALIAS stream {
    uint64_t mark; /* KEY_MARK while a packet is in progress */
    uint64_t phase, direction;
    const sealane_key *key_of; /* for AES-GCM it is used to the end; for ChaCha20-Poly1305 it is only checked */
    uint64_t key_word;         /* its first word; a different one means that the key has changed */
    uint64_t ad_bytes, text_bytes, text_max, ad_max;
    uint64_t flags; /* for all calls */
    union {
        sealane_state state;
        sealane_gcm_state gcm_state;
    };
    uint8_t key[32], nonce[16]; /* for AES-GCM key is unused, and nonce is J0 */
    uint8_t keystream[64];      /* for the 64 bytes that contain text_bytes */
    uint8_t block[64];          /* associated data or ciphertext that is not yet authenticated */
} stream;

_Static_assert(sizeof(stream) <= sizeof(sealane_stream), "sealane_stream is too small");

static stream *in_progress(sealane_stream *handle)
{
    stream *s = (stream *)handle;
    return s != NULL && s->mark == KEY_MARK ? s : NULL;
}

/* Without this check, a wiped key would continue as a zero key. */
static int key_is_there(const stream *s)
{
    return key_valid(s->key_of) && s->key_of->opaque[0] == s->key_word;
}

/* The kernel's key, or NULL if the algorithm is not AES-GCM. */
static const sealane_gcm_key *gcm_of(const stream *s)
{
    return is_gcm(key_alg(s->key_of)) ? gcm_key_of(s->key_of) : NULL;
}

static sealane_status mistake_at_begin(const sealane_stream *s, const sealane_key *k, sealane_direction direction,
                                       const uint8_t *nonce, size_t nonce_bytes)
{
    if (!key_valid(k))
        return SEALANE_INVALID_KEY;
    if (!nonce_fits(key_alg(k), nonce_bytes))
        return SEALANE_INVALID_NONCE;
    if (direction != SEALANE_STREAM_SEAL && direction != SEALANE_STREAM_OPEN)
        return SEALANE_INVALID_STREAM;
    return source_mistake(s, sizeof *s, nonce, nonce_bytes);
}

int sealane_stream_init(sealane_stream *handle, const sealane_key *k, sealane_direction direction, const uint8_t *nonce,
                        size_t nonce_bytes)
{
    SEALANE_SCRATCH(scratch);
    stream *s = (stream *)handle;
    const sealane_status why = mistake_at_begin(handle, k, direction, nonce, nonce_bytes);
    if (s == NULL)
        return SEALANE_NULL;
    if (why != SEALANE_OK) {
        wipe(handle, sizeof *handle);
        return why;
    }
    s->mark = KEY_MARK;
    s->phase = HOLDING_AD;
    s->direction = direction;
    s->key_of = k;
    s->key_word = k->opaque[0];
    s->ad_bytes = s->text_bytes = 0;
    s->text_max = text_max(key_alg(k)), s->ad_max = ad_max(key_alg(k));
    s->flags = 0;
    const uint64_t dit = dit_on();
    if (is_gcm(key_alg(k))) {
        s->flags = nonce_bytes == SEALANE_AES_GCM_NONCE_BYTES ? SEALANE_FLAG_NONCE : 0;
        sealane_begin_gcm(s->nonce, k, nonce, nonce_bytes, scratch);
    } else if (key_alg(k) == SEALANE_XCHACHA20_POLY1305) {
        xchacha_begin(s->key, s->nonce, k, nonce);
        sealane_burn_little();
    } else {
        memcpy(s->key, key_bytes_of(k), 32);
        memcpy(s->nonce, nonce, 12);
    }
    dit_restore(dit);
    return 0;
}

static NOINLINE void run_kernel(stream *s, void *state, uint8_t *out, const uint8_t *in, size_t bytes, size_t ad_bytes,
                                uint8_t *tag, uint64_t flags)
{
    SEALANE_SCRATCH(scratch);
    const sealane_level *level = key_level(s->key_of);
    const sealane_gcm_key *gcm = gcm_of(s);
    const sealane_packet_args a = {
        .out = slot(out),
        .in = slot(in),
        .bytes = bytes,
        .ad = slot(s->block),
        .ad_bytes = flags & SEALANE_FLAG_LAST ? s->ad_bytes : ad_bytes,
        .key = gcm ? slot(gcm) : slot(s->key),
        .nonce = slot(s->nonce),
        .tag = slot(tag),
        .state = slot(state),
        .total = s->text_bytes,
        .flags = s->flags | flags,
    };
    level->kernel(&a, scratch, level->consts);
}

void sealane_gcm_absorb(sealane_gcm_state *state, const sealane_level *level, const sealane_gcm_key *k,
                        const uint8_t *in, size_t blocks)
{
    uint8_t h[16];
    ghash_key key;
    ghash_sum sum = {{load64_be(state->y + 8), load64_be(state->y)}};
    sealane_gcm_hash_key(h, level, k);
    sealane_ghash_key(&key, h);
    sealane_ghash_blocks(&sum, &key, in, blocks);
    store64_be(state->y, sum.y[1]), store64_be(state->y + 8, sum.y[0]);
    wipe(h, sizeof h);
    wipe(&key, sizeof key);
    wipe(&sum, sizeof sum);
}

/* Authenticates blocks that the kernel does not get: associated data, and the ends of ChaCha20-Poly1305 pieces. */
static void absorb(stream *s, const uint8_t *in, size_t blocks)
{
    const sealane_gcm_key *gcm = gcm_of(s);
    if (gcm == NULL)
        sealane_poly1305_blocks(&s->state, in, blocks);
    else
        sealane_gcm_absorb(&s->gcm_state, key_level(s->key_of), gcm, in, blocks);
}

static void absorb_ad(stream *s, const uint8_t *ad, size_t ad_bytes)
{
    const size_t held = s->ad_bytes % 16;
    s->ad_bytes += ad_bytes;
    if (held != 0) {
        const size_t n = ad_bytes < 16 - held ? ad_bytes : 16 - held;
        memcpy(s->block + held, ad, n);
        ad += n, ad_bytes -= n;
        if (held + n < 16)
            return;
        absorb(s, s->block, 1);
    }
    if (ad_bytes >= 16)
        absorb(s, ad, ad_bytes / 16);
    if (ad_bytes % 16 != 0)
        memcpy(s->block, ad + ad_bytes / 16 * 16, ad_bytes % 16);
}

/* Makes the Poly1305 key or the encrypted J0, and absorbs the data that was held back. */
static void stop_holding(stream *s)
{
    uint8_t held[sizeof s->block];
    const size_t n = (size_t)s->ad_bytes;
    s->phase = ABSORBING_AD;
    if (gcm_of(s)) {
        run_kernel(s, &s->gcm_state, NULL, NULL, 0, n - n % 16, NULL, SEALANE_FLAG_FIRST);
        memmove(s->block, s->block + (n - n % 16), n % 16);
        return;
    }
    sealane_chacha20_block(s->keystream, s->key, s->nonce, 0);
    sealane_poly1305_key(&s->state, s->keystream);
    s->state.counter = 1;
    memcpy(held, s->block, n);
    s->ad_bytes = 0;
    absorb_ad(s, held, n);
}

int sealane_stream_ad(sealane_stream *handle, const uint8_t *ad, size_t ad_bytes)
{
    stream *s = in_progress(handle);
    if (s == NULL || s->phase == TEXT)
        return SEALANE_INVALID_STREAM;
    if (!key_is_there(s))
        return SEALANE_INVALID_KEY;
    if (ad == NULL && ad_bytes != 0)
        return SEALANE_NULL;
    if (ad_bytes > length_within(s->ad_max - s->ad_bytes))
        return SEALANE_TOO_LONG;
    if (ad_bytes == 0)
        return 0;
    if (s->phase == HOLDING_AD && ad_bytes <= sizeof s->block - s->ad_bytes) {
        memcpy(s->block + s->ad_bytes, ad, ad_bytes);
        s->ad_bytes += ad_bytes;
        return 0;
    }
    const uint64_t dit = dit_on();
    if (s->phase == HOLDING_AD)
        stop_holding(s);
    absorb_ad(s, ad, ad_bytes);
    sealane_burn_stack();
    dit_restore(dit);
    return 0;
}

static void begin_text(stream *s)
{
    if (s->phase == HOLDING_AD && gcm_of(s)) {
        run_kernel(s, &s->gcm_state, NULL, NULL, 0, s->ad_bytes, NULL, SEALANE_FLAG_FIRST);
        s->phase = TEXT;
    }
    if (s->phase == HOLDING_AD)
        stop_holding(s);
    if (s->phase == ABSORBING_AD && s->ad_bytes % 16 != 0) {
        memset(s->block + s->ad_bytes % 16, 0, 16 - s->ad_bytes % 16);
        absorb(s, s->block, 1);
    }
    s->phase = TEXT;
}

/* Makes the keystream of the next 64 bytes. */
static void make_keystream(stream *s)
{
    if (gcm_of(s) == NULL) {
        sealane_chacha20_block(s->keystream, s->key, s->nonce, (uint32_t)s->state.counter++);
        return;
    }
    sealane_gcm_state copy = s->gcm_state; /* sealing zeroes must not change the authentication */
    memset(s->keystream, 0, sizeof s->keystream);
    run_kernel(s, &copy, s->keystream, s->keystream, sizeof s->keystream, 0, NULL, 0);
    wipe(&copy, sizeof copy);
}

/* Authenticates the 64 bytes of text whose keystream is used up. */
static void absorb_text(stream *s)
{
    if (gcm_of(s) == NULL)
        absorb(s, s->block, 4);
    else
        run_kernel(s, &s->gcm_state, s->keystream, s->block, sizeof s->block, 0, NULL, SEALANE_FLAG_OPEN);
}

/* Processes text within one block, whose keystream is available. */
static void update_within_block(stream *s, uint8_t *out, const uint8_t *in, size_t bytes)
{
    const size_t at = s->text_bytes % 64;
    for (size_t i = 0; i < bytes; i++) {
        const uint8_t x = in[i], y = x ^ s->keystream[at + i];
        s->block[at + i] = s->direction == SEALANE_STREAM_OPEN ? x : y;
        out[i] = y;
    }
    s->text_bytes += bytes;
    if (at + bytes == 64)
        absorb_text(s);
}

/* Runs whole blocks through the kernel, with FIRST if associated data is still held back. */
static void update_blocks(stream *s, uint8_t *out, const uint8_t *in, size_t bytes)
{
    const uint64_t first = s->phase == HOLDING_AD ? SEALANE_FLAG_FIRST : 0;
    run_kernel(s, &s->state, out, in, bytes, first ? (size_t)s->ad_bytes : 0, NULL,
               first | (s->direction == SEALANE_STREAM_OPEN ? SEALANE_FLAG_OPEN : 0));
    s->phase = TEXT;
    s->text_bytes += bytes;
}

int sealane_stream_update(sealane_stream *handle, uint8_t *out, const uint8_t *in, size_t in_bytes)
{
    stream *s = in_progress(handle);
    if (s == NULL)
        return SEALANE_INVALID_STREAM;
    if (!key_is_there(s))
        return SEALANE_INVALID_KEY;
    const sealane_status why = text_mistake(out, in, in_bytes, length_within(s->text_max - s->text_bytes));
    if (why != SEALANE_OK)
        return why;
    if (in_bytes == 0)
        return SEALANE_OK;
    const uint64_t dit = dit_on();
    if (in_bytes < 64 || s->phase == ABSORBING_AD)
        begin_text(s);

    const size_t at = s->text_bytes % 64;
    if (at != 0) {
        const size_t n = in_bytes < 64 - at ? in_bytes : 64 - at;
        update_within_block(s, out, in, n);
        in += n, out += n, in_bytes -= n;
    }
    const size_t whole = in_bytes - in_bytes % 64;
    if (whole != 0)
        update_blocks(s, out, in, whole);
    if (in_bytes != whole) {
        make_keystream(s);
        update_within_block(s, out + whole, in + whole, in_bytes - whole);
    }
    sealane_burn_stack();
    dit_restore(dit);
    return 0;
}

static NOINLINE void make_tag(stream *s, uint8_t tag[16])
{
    begin_text(s);
    if (gcm_of(s)) {
        run_kernel(s, &s->gcm_state, s->keystream, s->block, s->text_bytes % 64, 0, tag,
                   SEALANE_FLAG_OPEN | SEALANE_FLAG_LAST);
    } else {
        sealane_poly1305_padded(&s->state, s->block, s->text_bytes % 64);
        sealane_poly1305_finish(&s->state, tag, s->ad_bytes, s->text_bytes);
    }
}

static void finish(stream *s, uint8_t tag[16])
{
    make_tag(s, tag);
    wipe(s, sizeof *s);
    sealane_burn_stack();
}

/* The reason why the packet cannot be ended now. A stream whose key is gone is wiped. */
static sealane_status cannot_end(stream *s, const uint8_t *tag, sealane_direction direction)
{
    if (s == NULL || s->direction != (uint64_t)direction)
        return SEALANE_INVALID_STREAM;
    if (tag == NULL)
        return SEALANE_NULL;
    if (key_is_there(s))
        return SEALANE_OK;
    wipe(s, sizeof *s);
    return SEALANE_INVALID_KEY;
}

int sealane_stream_seal_final(sealane_stream *handle, uint8_t tag[16])
{
    uint8_t whole[SEALANE_TAG_BYTES];
    stream *s = in_progress(handle);
    const sealane_status why = cannot_end(s, tag, SEALANE_STREAM_SEAL);
    if (why != SEALANE_OK)
        return why;
    const size_t tag_bytes = key_tag_bytes(s->key_of);
    const uint64_t dit = dit_on();
    finish(s, whole);
    memcpy(tag, whole, tag_bytes);
    wipe(whole, sizeof whole);
    dit_restore(dit);
    return SEALANE_OK;
}

int sealane_stream_open_final(sealane_stream *handle, const uint8_t tag[16])
{
    uint8_t expected[SEALANE_TAG_BYTES];
    stream *s = in_progress(handle);
    const sealane_status why = cannot_end(s, tag, SEALANE_STREAM_OPEN);
    if (why != SEALANE_OK)
        return why;
    const size_t tag_bytes = key_tag_bytes(s->key_of);
    const uint64_t dit = dit_on();
    finish(s, expected);
    const int authentic = sealane_same_tag(expected, tag, tag_bytes);
    dit_restore(dit);
    return authentic ? SEALANE_OK : SEALANE_NOT_AUTHENTIC;
}

void sealane_stream_wipe(sealane_stream *handle)
{
    if (handle != NULL)
        wipe(handle, sizeof *handle);
}

/* ---- Scatter/gather ---- */

/* Checks each piece of text against each piece of associated data, and the pieces of text against each other. */
static sealane_status mistake_in_pieces(sealane_packet p, const sealane_iovec *ad, size_t ad_pieces,
                                        const sealane_iovec *text, size_t pieces)
{
    static const sealane_iovec none = {NULL, NULL, 0};
    uint64_t total = 0, ad_total = 0;
    if (pieces > SEALANE_IOV_MAX || ad_pieces > SEALANE_IOV_MAX)
        return SEALANE_TOO_LONG;
    if ((text == NULL && pieces != 0) || (ad == NULL && ad_pieces != 0))
        return SEALANE_NULL;
    for (size_t i = 0; i == 0 || i < pieces; i++) {
        const sealane_iovec *t = pieces == 0 ? &none : &text[i];
        p.out = t->out, p.in = t->in, p.bytes = t->bytes;
        for (size_t j = 0; j == 0 || j < ad_pieces; j++) {
            const sealane_iovec *a = ad_pieces == 0 ? &none : &ad[j];
            p.ad = a->in, p.ad_bytes = a->bytes;
            const sealane_status why = sealane_mistake(&p);
            if (why != SEALANE_OK)
                return why;
            if (i == 0 && a->bytes > ad_max(key_alg(p.key)) - ad_total)
                return SEALANE_TOO_LONG;
            ad_total += i == 0 ? a->bytes : 0;
        }
        if (t->bytes > text_max(key_alg(p.key)) - total)
            return SEALANE_TOO_LONG;
        total += t->bytes;
    }
    for (size_t i = 0; i < pieces; i++)
        for (size_t j = 0; j < pieces; j++)
            if (i != j && (overlap(text[i].out, text[i].bytes, text[j].in, text[j].bytes) ||
                           overlap(text[i].out, text[i].bytes, text[j].out, text[j].bytes)))
                return SEALANE_OVERLAP;
    return SEALANE_OK;
}

/* Runs a valid packet: writes its tag, or checks it. */
static int run_pieces(const sealane_packet *p, uint8_t *tag, const sealane_iovec *ad, size_t ad_pieces,
                      const sealane_iovec *text, size_t pieces)
{
    sealane_stream s;
    int status =
        sealane_stream_init(&s, p->key, p->open ? SEALANE_STREAM_OPEN : SEALANE_STREAM_SEAL, p->nonce, p->nonce_bytes);
    for (size_t i = 0; i < ad_pieces && status == SEALANE_OK; i++)
        status = sealane_stream_ad(&s, ad[i].in, ad[i].bytes);
    for (size_t i = 0; i < pieces && status == SEALANE_OK; i++)
        status = sealane_stream_update(&s, text[i].out, text[i].in, text[i].bytes);
    if (status == SEALANE_OK)
        status = p->open ? sealane_stream_open_final(&s, p->tag) : sealane_stream_seal_final(&s, tag);
    sealane_stream_wipe(&s);
    return status;
}

int sealane_sealv(const sealane_key *k, uint8_t tag[16], const uint8_t *nonce, size_t nonce_bytes,
                  const sealane_iovec *ad, size_t ad_pieces, const sealane_iovec *text, size_t text_pieces)
{
    const sealane_packet p = {.key = k, .nonce = nonce, .nonce_bytes = nonce_bytes, .tag = tag};
    const sealane_status why = mistake_in_pieces(p, ad, ad_pieces, text, text_pieces);
    return why != SEALANE_OK ? (int)why : run_pieces(&p, tag, ad, ad_pieces, text, text_pieces);
}

/* sealane_take_back for pieces: one stream covers both those in place and separate ones. */
static void take_back_pieces(const sealane_packet *p, const sealane_iovec *text, size_t pieces)
{
    sealane_stream s;
    int failed = sealane_stream_init(&s, p->key, SEALANE_STREAM_SEAL, p->nonce, p->nonce_bytes);
    for (size_t i = 0; i < pieces; i++) {
        failed |= sealane_stream_update(&s, text[i].out, text[i].out, text[i].bytes);
        if ((failed || text[i].in != text[i].out) && text[i].bytes != 0)
            memset(text[i].out, 0, text[i].bytes);
    }
    sealane_stream_wipe(&s);
}

int sealane_openv(const sealane_key *k, const uint8_t tag[16], const uint8_t *nonce, size_t nonce_bytes,
                  const sealane_iovec *ad, size_t ad_pieces, const sealane_iovec *text, size_t text_pieces)
{
    const sealane_packet p = {.key = k, .nonce = nonce, .nonce_bytes = nonce_bytes, .tag = tag, .open = 1};
    const sealane_status why = mistake_in_pieces(p, ad, ad_pieces, text, text_pieces);
    if (why != SEALANE_OK)
        return why;
    const int status = run_pieces(&p, NULL, ad, ad_pieces, text, text_pieces);
    if (status != SEALANE_OK)
        take_back_pieces(&p, text, text_pieces);
    return status;
}
