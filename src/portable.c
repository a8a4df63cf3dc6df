/* ChaCha20-Poly1305 (RFC 8439) in constant-time C. */
#include "portable.h"

#include "bytes.h"

/* With 32-bit words, compilers spill more of them, and even more on MIPS. */
#if UINTPTR_MAX > UINT32_MAX && !defined(__mips__)
#define SPILLED 1024
#else
#define SPILLED 2048
#endif

NOINLINE void sealane_burn_stack(void)
{
    uint8_t room[SPILLED];
    wipe_long(room, sizeof room);
}

NOINLINE void sealane_burn_little(void)
{
    uint64_t room[48];
    wipe_long(room, sizeof room);
}

/* ---- ChaCha20 (RFC 8439, section 2.1 to 2.4) ---- */

static inline uint32_t rotl(uint32_t v, int n)
{
    return v << n | v >> (32 - n);
}

#define QUARTER(a, b, c, d)          \
    do {                             \
        a += b, d = rotl(d ^ a, 16); \
        c += d, b = rotl(b ^ c, 12); \
        a += b, d = rotl(d ^ a, 8);  \
        c += d, b = rotl(b ^ c, 7);  \
    } while (0)

static inline void rounds20(uint32_t x[16])
{
    for (int i = 0; i < 10; i++) {
        QUARTER(x[0], x[4], x[8], x[12]);
        QUARTER(x[1], x[5], x[9], x[13]);
        QUARTER(x[2], x[6], x[10], x[14]);
        QUARTER(x[3], x[7], x[11], x[15]);
        QUARTER(x[0], x[5], x[10], x[15]);
        QUARTER(x[1], x[6], x[11], x[12]);
        QUARTER(x[2], x[7], x[8], x[13]);
        QUARTER(x[3], x[4], x[9], x[14]);
    }
}

/* Rows 0 to 2 of the state: "expand 32-byte k" and the key. */
static void init_rows(uint32_t x[16], const uint8_t key[32])
{
    x[0] = 0x61707865, x[1] = 0x3320646e, x[2] = 0x79622d32, x[3] = 0x6b206574;
    for (int i = 0; i < 8; i++)
        x[4 + i] = load32(key + 4 * i);
}

static void init_state(uint32_t x[16], const uint8_t key[32], const uint8_t nonce[12], uint32_t counter)
{
    init_rows(x, key);
    x[12] = counter;
    for (int i = 0; i < 3; i++)
        x[13 + i] = load32(nonce + 4 * i);
}

void sealane_chacha20_block(uint8_t out[64], const uint8_t key[32], const uint8_t nonce[12], uint32_t counter)
{
    uint32_t start[16], x[16];
    init_state(start, key, nonce, counter);
    memcpy(x, start, sizeof x);
    rounds20(x);
    for (int i = 0; i < 16; i++)
        store32(out + 4 * i, x[i] + start[i]);
    wipe(start, sizeof start);
    wipe(x, sizeof x);
}

void sealane_hchacha20(uint8_t out[32], const uint8_t key[32], const uint8_t nonce[16])
{
    uint32_t x[16];
    init_rows(x, key);
    for (int i = 0; i < 4; i++)
        x[12 + i] = load32(nonce + 4 * i);
    rounds20(x);
    for (int i = 0; i < 4; i++) {
        store32(out + 4 * i, x[i]);
        store32(out + 16 + 4 * i, x[12 + i]);
    }
    wipe(x, sizeof x);
}

/* Encrypts whole blocks. start is the state with the counter of the first block, and is advanced. */
static void chacha20_xor(uint32_t start[16], uint8_t *out, const uint8_t *in, size_t blocks)
{
    uint32_t x[16];
    for (; blocks > 0; blocks--, in += 64, out += 64, start[12]++) {
        memcpy(x, start, sizeof x);
        rounds20(x);
        for (int i = 0; i < 16; i++)
            store32(out + 4 * i, load32(in + 4 * i) ^ (x[i] + start[i]));
    }
    wipe(x, sizeof x);
}

/* ---- Poly1305 (RFC 8439, section 2.5): h = (h + block + 2^128) r mod p, p = 2^130 - 5 ---- */

void sealane_poly1305_key(sealane_state *s, const uint8_t block[32])
{
    s->h[0] = s->h[1] = s->h[2] = 0;
    s->r[0] = load64(block) & 0x0ffffffc0fffffff;
    s->r[1] = load64(block + 8) & 0x0ffffffc0ffffffc;
    s->s[0] = load64(block + 16);
    s->s[1] = load64(block + 24);
}

#if defined(__SIZEOF_INT128__) && !defined(SEALANE_TEST_NO_INT128)

/* Limbs of 64 bits; h2 is at most 12. Clamping makes r1 a multiple of 4, so with 2^130 = 5:
 *   2^128 h1 r1 = h1 (5 r1/4),   2^192 h2 r1 = 2^64 h2 (5 r1/4),   and 5 r1/4 = r1 + (r1 >> 2) is below 5 2^58. */
void sealane_poly1305_blocks(sealane_state *s, const uint8_t *in, size_t blocks)
{
    __extension__ typedef unsigned __int128 u128;
    uint64_t h0 = s->h[0], h1 = s->h[1], h2 = s->h[2];
    const uint64_t r0 = s->r[0], r1 = s->r[1], r1_5_4 = r1 + (r1 >> 2);

    for (; blocks > 0; blocks--, in += 16) {
        u128 t = (u128)h0 + load64(in);
        h0 = (uint64_t)t;
        t = (u128)h1 + load64(in + 8) + (uint64_t)(t >> 64);
        h1 = (uint64_t)t;
        h2 += 1 + (uint64_t)(t >> 64);

        u128 d0 = (u128)h0 * r0 + (u128)h1 * r1_5_4;
        u128 d1 = (u128)h0 * r1 + (u128)h1 * r0 + (u128)(h2 * r1_5_4);
        h0 = (uint64_t)d0;
        d1 += (uint64_t)(d0 >> 64);
        h1 = (uint64_t)d1;
        uint64_t d2 = h2 * r0 + (uint64_t)(d1 >> 64);

        /* 2^130 = 5: the part above is (d2 >> 2) 2^130 = 5 (d2 >> 2) = (d2 >> 2) + 4 (d2 >> 2) */
        t = (u128)h0 + (d2 >> 2) + (d2 & ~(uint64_t)3);
        h0 = (uint64_t)t;
        t = (u128)h1 + (uint64_t)(t >> 64);
        h1 = (uint64_t)t;
        h2 = (d2 & 3) + (uint64_t)(t >> 64);
    }
    s->h[0] = h0, s->h[1] = h1, s->h[2] = h2;
}

#else

/* Limbs of 26 bits in 32-bit words; products of two and their sums fit 64 bits. */
void sealane_poly1305_blocks(sealane_state *s, const uint8_t *in, size_t blocks)
{
    const uint32_t mask = 0x3ffffff;
    const uint32_t r0 = (uint32_t)s->r[0] & mask, r1 = (uint32_t)(s->r[0] >> 26) & mask,
                   r2 = (uint32_t)(s->r[0] >> 52 | s->r[1] << 12) & mask, r3 = (uint32_t)(s->r[1] >> 14) & mask,
                   r4 = (uint32_t)(s->r[1] >> 40);
    const uint32_t s1 = r1 * 5, s2 = r2 * 5, s3 = r3 * 5, s4 = r4 * 5;
    uint32_t h0 = (uint32_t)s->h[0] & mask, h1 = (uint32_t)(s->h[0] >> 26) & mask,
             h2 = (uint32_t)(s->h[0] >> 52 | s->h[1] << 12) & mask, h3 = (uint32_t)(s->h[1] >> 14) & mask,
             h4 = (uint32_t)(s->h[1] >> 40 | s->h[2] << 24);

    for (; blocks > 0; blocks--, in += 16) {
        h0 += load32(in) & mask;
        h1 += (load32(in + 3) >> 2) & mask;
        h2 += (load32(in + 6) >> 4) & mask;
        h3 += (load32(in + 9) >> 6) & mask;
        h4 += (load32(in + 12) >> 8) | 1 << 24;

        uint64_t d0 = (uint64_t)h0 * r0 + (uint64_t)h1 * s4 + (uint64_t)h2 * s3 + (uint64_t)h3 * s2 + (uint64_t)h4 * s1;
        uint64_t d1 = (uint64_t)h0 * r1 + (uint64_t)h1 * r0 + (uint64_t)h2 * s4 + (uint64_t)h3 * s3 + (uint64_t)h4 * s2;
        uint64_t d2 = (uint64_t)h0 * r2 + (uint64_t)h1 * r1 + (uint64_t)h2 * r0 + (uint64_t)h3 * s4 + (uint64_t)h4 * s3;
        uint64_t d3 = (uint64_t)h0 * r3 + (uint64_t)h1 * r2 + (uint64_t)h2 * r1 + (uint64_t)h3 * r0 + (uint64_t)h4 * s4;
        uint64_t d4 = (uint64_t)h0 * r4 + (uint64_t)h1 * r3 + (uint64_t)h2 * r2 + (uint64_t)h3 * r1 + (uint64_t)h4 * r0;

        d1 += d0 >> 26, h0 = (uint32_t)d0 & mask;
        d2 += d1 >> 26, h1 = (uint32_t)d1 & mask;
        d3 += d2 >> 26, h2 = (uint32_t)d2 & mask;
        d4 += d3 >> 26, h3 = (uint32_t)d3 & mask;
        h4 = (uint32_t)d4 & mask;
        d0 = h0 + (d4 >> 26) * 5;
        h0 = (uint32_t)d0 & mask;
        h1 += (uint32_t)(d0 >> 26);
    }
    h2 += h1 >> 26, h1 &= mask;
    h3 += h2 >> 26, h2 &= mask;
    h4 += h3 >> 26, h3 &= mask;
    s->h[0] = (uint64_t)h0 | (uint64_t)h1 << 26 | (uint64_t)h2 << 52;
    s->h[1] = (uint64_t)h2 >> 12 | (uint64_t)h3 << 14 | (uint64_t)h4 << 40;
    s->h[2] = (uint64_t)h4 >> 24;
}

#endif

void sealane_poly1305_padded(sealane_state *s, const uint8_t *in, size_t bytes)
{
    sealane_poly1305_blocks(s, in, bytes / 16);
    if (bytes % 16 != 0) {
        uint8_t last[16] = {0};
        memcpy(last, in + bytes / 16 * 16, bytes % 16);
        sealane_poly1305_blocks(s, last, 1);
        wipe(last, sizeof last);
    }
}

void sealane_poly1305_last(sealane_state *s, const uint8_t *in, size_t bytes)
{
    uint8_t last[16] = {0};
    memcpy(last, in, bytes);
    last[bytes] = 1;
    /* The result lacks 2^128, which is therefore subtracted from h beforehand: 3 2^128 - 5 is -2^128 modulo p. */
    const uint64_t borrow = s->h[0] < 5, next = s->h[1] < borrow;
    s->h[0] -= 5, s->h[1] -= borrow, s->h[2] += 3 - next;
    sealane_poly1305_blocks(s, last, 1);
    wipe(last, sizeof last);
}

static uint64_t add_carry(uint64_t a, uint64_t b, uint64_t *carry)
{
    uint64_t low = a + *carry, sum = low + b;
    *carry = (low < a) | (sum < b);
    return sum;
}

void sealane_poly1305_finish(sealane_state *s, uint8_t tag[16], uint64_t ad_bytes, uint64_t text_bytes)
{
    uint8_t lengths[16];
    store64(lengths, ad_bytes);
    store64(lengths + 8, text_bytes);
    sealane_poly1305_blocks(s, lengths, 1);
    sealane_poly1305_tag(s, tag);
}

void sealane_poly1305_tag(const sealane_state *s, uint8_t tag[16])
{
    /* h below 2^131 is reduced to below 2^130 + 40. Then h is at least p if and only if h + 5 reaches 2^130. */
    uint64_t carry = 0;
    uint64_t h0 = add_carry(s->h[0], 5 * (s->h[2] >> 2), &carry);
    uint64_t h1 = add_carry(s->h[1], 0, &carry);
    uint64_t h2 = (s->h[2] & 3) + carry;
    carry = 0;
    uint64_t g0 = add_carry(h0, 5, &carry);
    uint64_t g1 = add_carry(h1, 0, &carry);
    uint64_t reduced = hide(0 - ((h2 + carry) >> 2));
    h0 = (h0 & ~reduced) | (g0 & reduced);
    h1 = (h1 & ~reduced) | (g1 & reduced);

    carry = 0;
    h0 = add_carry(h0, s->s[0], &carry);
    h1 = add_carry(h1, s->s[1], &carry);
    store64(tag, h0);
    store64(tag + 8, h1);
}

/* ---- The AEAD (RFC 8439, section 2.8), as a kernel ---- */

static void text_blocks(uint32_t chacha[16], sealane_state *s, uint8_t *out, const uint8_t *in, size_t bytes, int open)
{
    const size_t stride = 1024; /* both passes over it hit the cache */
    while (bytes > 0) {
        size_t n = bytes < stride ? bytes : stride;
        if (open)
            sealane_poly1305_blocks(s, in, n / 16);
        chacha20_xor(chacha, out, in, n / 64);
        if (!open)
            sealane_poly1305_blocks(s, out, n / 16);
        in += n, out += n, bytes -= n;
    }
}

static void text_tail(uint32_t chacha[16], sealane_state *s, uint8_t *out, const uint8_t *in, size_t bytes, int open)
{
    uint8_t block[64] = {0};
    if (open)
        sealane_poly1305_padded(s, in, bytes);
    memcpy(block, in, bytes);
    chacha20_xor(chacha, block, block, 1);
    memcpy(out, block, bytes);
    if (!open)
        sealane_poly1305_padded(s, out, bytes);
    wipe(block, sizeof block);
}

static NOINLINE void run(const sealane_packet_args *a)
{
    uint8_t *out = slot_bytes(a->out);
    const uint8_t *in = slot_bytes(a->in);
    const size_t bytes = (size_t)a->bytes, tail = bytes % 64;
    const int open = (a->flags & SEALANE_FLAG_OPEN) != 0;
    const uint8_t *key = slot_bytes(a->key), *nonce = slot_bytes(a->nonce);
    sealane_state s;
    uint32_t chacha[16];

    if (a->flags & SEALANE_FLAG_FIRST) {
        uint8_t block[64];
        sealane_chacha20_block(block, key, nonce, 0);
        sealane_poly1305_key(&s, block);
        s.counter = 1;
        wipe(block, sizeof block);
        if (a->ad_bytes > 0)
            sealane_poly1305_padded(&s, slot_bytes(a->ad), (size_t)a->ad_bytes);
    } else {
        memcpy(&s, slot_bytes(a->state), sizeof s);
    }

    init_state(chacha, key, nonce, (uint32_t)s.counter);
    text_blocks(chacha, &s, out, in, bytes - tail, open);
    s.counter += bytes / 64;
    if (tail > 0)
        text_tail(chacha, &s, out + (bytes - tail), in + (bytes - tail), tail, open);

    if (a->flags & SEALANE_FLAG_LAST)
        sealane_poly1305_finish(&s, slot_bytes(a->tag), a->ad_bytes, a->total);
    else
        memcpy(slot_bytes(a->state), &s, sizeof s);
    wipe(&s, sizeof s);
    wipe(chacha, sizeof chacha);
}

void SEALANE_KERNEL_ABI sealane_chacha20poly1305_portable(const void *args, void *scratch, const void *consts)
{
    (void)scratch, (void)consts;
    run(args);
    sealane_burn_stack();
}
