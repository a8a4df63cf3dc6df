/* The unauthenticated modes of AES (NIST SP 800-38A; IEEE 1619) in constant-time C. */
#include "aesmodes.h"

#include "aes.h"
#include "bytes.h"
#include "portable.h"

/* The text of one call, a batch of blocks at a time. */
typedef struct {
    aes_keys keys;
    uint8_t blocks[AES_BATCH], chain[AES_BATCH];
} work;

void sealane_xts_double(uint8_t tweak[16])
{
    const uint64_t low = load64(tweak), high = load64(tweak + 8);
    store64(tweak, low << 1 ^ (0x87 & (0 - hide(high >> 63))));
    keep_stores(tweak); /* otherwise gcc combines both halves on the stack and leaves them there */
    store64(tweak + 8, high << 1 | low >> 63);
}

static void ecb(work *w, uint8_t *out, const uint8_t *in, size_t n, int decrypt)
{
    memcpy(w->blocks, in, n);
    (decrypt ? sealane_aes_decrypt : sealane_aes_encrypt)(&w->keys, w->blocks, w->blocks);
    memcpy(out, w->blocks, n);
}

static void ctr(work *w, uint8_t *out, const uint8_t *in, size_t n, uint8_t state[16])
{
    const uint32_t counter = swap32(load32(state + 12));
    sealane_aes_counters(&w->keys, w->blocks, state, counter);
    for (size_t i = 0; i < n; i++)
        out[i] = in[i] ^ w->blocks[i];
    store32(state + 12, swap32(counter + (uint32_t)(n / 16)));
}

static void ctr_little(work *w, uint8_t *out, const uint8_t *in, size_t n, uint8_t state[16])
{
    for (size_t i = 0; i < n; i += 16) {
        memcpy(w->blocks + i, state, 16);
        store32(state, load32(state) + 1);
    }
    sealane_aes_encrypt(&w->keys, w->blocks, w->blocks);
    for (size_t i = 0; i < n; i++)
        out[i] = in[i] ^ w->blocks[i];
}

static void cbc_decrypt(work *w, uint8_t *out, const uint8_t *in, size_t n, uint8_t state[16])
{
    memcpy(w->chain, state, 16);
    memcpy(w->chain + 16, in, n - 16);
    memcpy(state, in + n - 16, 16);
    memcpy(w->blocks, in, n);
    sealane_aes_decrypt(&w->keys, w->blocks, w->blocks);
    for (size_t i = 0; i < n; i++)
        out[i] = w->blocks[i] ^ w->chain[i];
}

static void xts(work *w, uint8_t *out, const uint8_t *in, size_t n, uint8_t state[16], int decrypt)
{
    for (size_t i = 0; i < n; i += 16) {
        memcpy(w->chain + i, state, 16);
        sealane_xts_double(state);
    }
    for (size_t i = 0; i < n; i++)
        w->blocks[i] = in[i] ^ w->chain[i];
    (decrypt ? sealane_aes_decrypt : sealane_aes_encrypt)(&w->keys, w->blocks, w->blocks);
    for (size_t i = 0; i < n; i++)
        out[i] = w->blocks[i] ^ w->chain[i];
}

/* Up to AES_LANES lanes side by side. */
static void lanes_together(work *w, const sealane_mode_lane *lanes, size_t count, size_t bytes, int chained)
{
    const sealane_aes_schedules *key = NULL;
    for (size_t l = 0; l < count; l++) {
        key = (const sealane_aes_schedules *)(uintptr_t)lanes[l].key;
        sealane_aes_spread_lane(&w->keys, (int)l, key->schedule, (int)key->rounds);
        if (chained)
            memcpy(w->chain + 16 * l, slot_bytes(lanes[l].chain), 16);
    }
    for (size_t at = 0; at < bytes; at += 16) {
        for (size_t l = 0; l < count; l++)
            for (size_t i = 0; i < 16; i++)
                w->blocks[16 * l + i] = slot_bytes(lanes[l].in)[at + i] ^ w->chain[16 * l + i];
        sealane_aes_encrypt(&w->keys, w->chain, w->blocks);
        for (size_t l = 0; l < count; l++)
            memcpy(slot_bytes(lanes[l].out) + at, w->chain + 16 * l, 16);
    }
    for (size_t l = 0; chained && l < count; l++)
        memcpy(slot_bytes(lanes[l].chain), w->chain + 16 * l, 16);
}

static void run_lanes(work *w, const sealane_mode_args *a)
{
    const sealane_mode_lane *lanes = (const sealane_mode_lane *)(uintptr_t)a->lanes;
    const int chained = a->operation == SEALANE_AES_CBC_ENCRYPT;
    for (size_t i = 0; i < a->count; i += AES_LANES) {
        const size_t left = (size_t)a->count - i;
        memset(w, 0, sizeof *w);
        lanes_together(w, lanes + i, left < AES_LANES ? left : AES_LANES, chained ? (size_t)a->bytes_each : 16,
                       chained);
    }
}

static void run_batch(work *w, const sealane_mode_args *a, size_t at, size_t n)
{
    uint8_t *out = slot_bytes(a->out) + at, *state = slot_bytes(a->state);
    const uint8_t *in = slot_bytes(a->in) + at;
    switch (a->operation) {
    case SEALANE_AES_ECB_ENCRYPT:
    case SEALANE_AES_ECB_DECRYPT:
        ecb(w, out, in, n, a->operation == SEALANE_AES_ECB_DECRYPT);
        return;
    case SEALANE_AES_CTR:
        ctr(w, out, in, n, state);
        return;
    case SEALANE_AES_CTR_LITTLE:
        ctr_little(w, out, in, n, state);
        return;
    case SEALANE_AES_CBC_DECRYPT:
        cbc_decrypt(w, out, in, n, state);
        return;
    default:
        xts(w, out, in, n, state, a->operation == SEALANE_AES_XTS_DECRYPT);
    }
}

static NOINLINE void run(const sealane_mode_args *a)
{
    sealane_aes_schedules *key = (sealane_aes_schedules *)(uintptr_t)a->key;
    work w = {{0}, {0}, {0}};
    if (a->operation == SEALANE_AES_SETUP) {
        sealane_aes_expand(key->schedule, key->schedule, (int)key->rounds);
    } else if (a->operation == SEALANE_AES_CBC_ENCRYPT || a->operation == SEALANE_AES_MASKS) {
        run_lanes(&w, a);
    } else {
        sealane_aes_spread(&w.keys, key->schedule, (int)key->rounds);
        for (size_t at = 0; at < a->bytes; at += AES_BATCH) {
            const size_t left = (size_t)a->bytes - at;
            run_batch(&w, a, at, left < AES_BATCH ? left : AES_BATCH);
        }
    }
    wipe(&w, sizeof w);
}

void SEALANE_KERNEL_ABI sealane_aes_portable(const void *args, void *scratch, const void *consts)
{
    (void)scratch, (void)consts;
    run(args);
    sealane_aes_burn_stack();
}

void SEALANE_KERNEL_ABI sealane_chacha20masks_portable(const void *args, void *scratch, const void *consts)
{
    const sealane_mode_args *a = args;
    const sealane_mode_lane *lanes = (const sealane_mode_lane *)(uintptr_t)a->lanes;
    (void)scratch, (void)consts;
    for (size_t i = 0; i < a->count; i++) {
        const uint8_t *sample = slot_bytes(lanes[i].in);
        uint8_t block[64];
        sealane_chacha20_block(block, slot_bytes(lanes[i].key), sample + 4, load32(sample));
        memcpy(slot_bytes(lanes[i].out), block, 8);
        wipe(block, sizeof block);
    }
    sealane_burn_stack();
}
