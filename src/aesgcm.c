/* AES-GCM (NIST SP 800-38D) in constant-time C. */
#include "aesgcm.h"

#include "aes.h"
#include "bytes.h"
#include "ghash.h"

_Static_assert(sizeof(ghash_key) <= SEALANE_GCM_KEY_BYTES - SEALANE_GCM_KEY_TABLE, "the table is too small");
_Static_assert(AES_SCHEDULE_BYTES <= SEALANE_GCM_KEY_TABLE - SEALANE_GCM_KEY_SCHEDULE, "the schedule is too small");

/* Keystream, a batch of blocks at a time. */
typedef struct {
    aes_keys keys;
    uint8_t prefix[12];
    uint32_t counter; /* of the next block after the buffer */
    size_t left;      /* unused bytes at the end of the buffer: whole blocks */
    uint8_t buffer[AES_BATCH];
} key_stream;

static void refill(key_stream *k)
{
    sealane_aes_counters(&k->keys, k->buffer, k->prefix, k->counter);
    k->counter += AES_LANES;
    k->left = AES_BATCH;
}

static void start(key_stream *k, const uint8_t prefix[12], uint32_t counter)
{
    memcpy(k->prefix, prefix, 12);
    k->counter = counter;
    k->left = 0;
}

/* bytes is any length at the end of a packet, and otherwise a multiple of 16. */
static void crypt(key_stream *k, ghash_sum *s, const ghash_key *hash_key, uint8_t *out, const uint8_t *in, size_t bytes,
                  int open)
{
    while (bytes > 0) {
        if (k->left == 0)
            refill(k);
        const size_t n = bytes < k->left ? bytes : k->left;
        const uint8_t *stream = k->buffer + AES_BATCH - k->left;
        if (open)
            sealane_ghash_padded(s, hash_key, in, n);
        for (size_t i = 0; i < n; i++)
            out[i] = in[i] ^ stream[i];
        if (!open)
            sealane_ghash_padded(s, hash_key, out, n);
        k->left -= n;
        in += n, out += n, bytes -= n;
    }
}

static void set_hash_key(sealane_gcm_key *key, const uint8_t h[16], int polyval)
{
    ghash_key hash_key;
    (polyval ? sealane_polyval_key : sealane_ghash_key)(&hash_key, h);
    memcpy(key->table, &hash_key, sizeof hash_key);
    wipe(&hash_key, sizeof hash_key);
}

static void set_up(sealane_gcm_key *key)
{
    const int rounds = (int)key->rounds;
    uint8_t blocks[AES_BATCH] = {0};
    aes_keys keys;
    sealane_aes_expand(key->schedule, key->schedule, rounds);
    sealane_aes_spread(&keys, key->schedule, rounds);
    sealane_aes_encrypt(&keys, blocks, blocks);
    set_hash_key(key, blocks, 0);
    wipe(&keys, sizeof keys);
    wipe(blocks, sizeof blocks);
}

static void save(sealane_gcm_state *state, const key_stream *k, const ghash_sum *s, const uint8_t mask[16])
{
    store64_be(state->y, s->y[1]);
    store64_be(state->y + 8, s->y[0]);
    memcpy(state->counter, k->prefix, 12);
    store32(state->counter + 12, swap32(k->counter - (uint32_t)(k->left / 16)));
    memcpy(state->mask, mask, 16);
}

static void write_tag(uint8_t tag[16], const ghash_sum *s, const uint8_t mask[16])
{
    store64_be(tag, s->y[1] ^ load64_be(mask));
    store64_be(tag + 8, s->y[0] ^ load64_be(mask + 8));
}

static void run_polyval(const sealane_packet_args *a)
{
    const sealane_gcm_key *key = (const sealane_gcm_key *)(uintptr_t)a->key;
    sealane_gcm_state *state = (sealane_gcm_state *)(uintptr_t)a->state;
    ghash_sum s = {{0}};
    ghash_key hash_key;
    memcpy(&hash_key, key->table, sizeof hash_key);
    if (a->flags & SEALANE_FLAG_FIRST)
        sealane_polyval_padded(&s, &hash_key, slot_bytes(a->ad), (size_t)a->ad_bytes);
    else
        s.y[0] = load64(state->y), s.y[1] = load64(state->y + 8);
    sealane_polyval_padded(&s, &hash_key, slot_bytes(a->in), (size_t)a->bytes);
    if (a->flags & SEALANE_FLAG_LAST)
        sealane_ghash_lengths(&s, &hash_key, a->total, a->ad_bytes); /* reversed, because the bytes are reversed too */
    uint8_t *y = a->flags & SEALANE_FLAG_LAST ? slot_bytes(a->tag) : state->y;
    store64(y, s.y[0]), store64(y + 8, s.y[1]);
    wipe(&hash_key, sizeof hash_key);
    wipe(&s, sizeof s);
}

static NOINLINE void run(const sealane_packet_args *a)
{
    sealane_gcm_key *key = (sealane_gcm_key *)(uintptr_t)a->key;
    sealane_gcm_state *state = (sealane_gcm_state *)(uintptr_t)a->state;
    ghash_sum s = {{0}};
    ghash_key hash_key;
    key_stream k;
    uint8_t mask[16];

    if (a->flags & SEALANE_FLAG_SETUP) {
        if (a->flags & SEALANE_FLAG_NONCE)
            set_hash_key(key, slot_bytes(a->nonce), (a->flags & SEALANE_FLAG_POLYVAL) != 0);
        else
            set_up(key);
        return;
    }
    if (a->flags & SEALANE_FLAG_POLYVAL) {
        run_polyval(a);
        return;
    }
    sealane_aes_spread(&k.keys, key->schedule, (int)key->rounds);
    memcpy(&hash_key, key->table, sizeof hash_key);
    if (a->flags & SEALANE_FLAG_FIRST) {
        const uint8_t *nonce = slot_bytes(a->nonce);
        start(&k, nonce, a->flags & SEALANE_FLAG_NONCE ? 1 : swap32(load32(nonce + 12)));
        refill(&k); /* skips block J0, which does not encrypt text */
        memcpy(mask, k.buffer, 16);
        k.left -= 16;
        if (a->ad_bytes > 0)
            sealane_ghash_padded(&s, &hash_key, slot_bytes(a->ad), (size_t)a->ad_bytes);
    } else {
        start(&k, state->counter, swap32(load32(state->counter + 12)));
        memcpy(mask, state->mask, 16);
        s.y[1] = load64_be(state->y), s.y[0] = load64_be(state->y + 8);
    }

    crypt(&k, &s, &hash_key, slot_bytes(a->out), slot_bytes(a->in), (size_t)a->bytes,
          (a->flags & SEALANE_FLAG_OPEN) != 0);

    if (a->flags & SEALANE_FLAG_LAST) {
        sealane_ghash_lengths(&s, &hash_key, a->ad_bytes, a->total);
        write_tag(slot_bytes(a->tag), &s, mask);
    } else {
        save(state, &k, &s, mask);
    }
    wipe(&k, sizeof k);
    wipe(&hash_key, sizeof hash_key);
    wipe(&s, sizeof s);
    wipe(mask, sizeof mask);
}

void SEALANE_KERNEL_ABI sealane_aesgcm_portable(const void *args, void *scratch, const void *consts)
{
    (void)scratch, (void)consts;
    run(args);
    sealane_aes_burn_stack();
}
