/* GHASH (NIST SP 800-38D, section 6.4) with the integer multiplier of any CPU.
 *
 * Carry-less products are computed from integer products. An operand is split into four lanes that each keep every
 * fourth bit. In a product of two lanes, a column sum is at most 15, so no carry reaches the next column, and its
 * lowest bit is the sum modulo 2.
 *
 * A block is read as a 128-bit number, whose bit 127 - i is the coefficient of x^i. In the 256-bit product, the
 * coefficient of x^i is then bit 254 - i. Multiplying H by 1/x beforehand moves it to bit 255 - i, so the upper half of
 * the product is added as it is. The lower half is multiplied by x^128 = 1 + x + x^2 + x^7.
 */
#include "ghash.h"

#include "bytes.h"

static inline uint64_t every_fourth(uint64_t x, int from)
{
    return x & (uint64_t)0x1111111111111111 << from;
}

#if GHASH_WORDS == 24

__extension__ typedef unsigned __int128 u128;

/* 64 bits of H. Sixteen ones in a lane could meet sixteen, so the lanes omit bits 60 to 63, which are masks instead. */
typedef struct {
    uint64_t lane[4], top[4];
} factor;

_Static_assert(sizeof(factor[3]) == sizeof(ghash_key), "ghash_key has another size");

static void prepare(factor *f, uint64_t h)
{
    for (int i = 0; i < 4; i++) {
        f->lane[i] = every_fourth(h & ~((uint64_t)15 << 60), i);
        f->top[i] = 0 - (h >> (60 + i) & 1);
    }
}

static inline u128 multiply(uint64_t a, const factor *f)
{
    const uint64_t a0 = every_fourth(a, 0), a1 = every_fourth(a, 1), a2 = every_fourth(a, 2), a3 = every_fourth(a, 3);
    const uint64_t b0 = f->lane[0], b1 = f->lane[1], b2 = f->lane[2], b3 = f->lane[3];
    const u128 mask = (u128)0x1111111111111111 << 64 | 0x1111111111111111;
    const u128 c0 = (u128)a0 * b0 ^ (u128)a1 * b3 ^ (u128)a2 * b2 ^ (u128)a3 * b1;
    const u128 c1 = (u128)a0 * b1 ^ (u128)a1 * b0 ^ (u128)a2 * b3 ^ (u128)a3 * b2;
    const u128 c2 = (u128)a0 * b2 ^ (u128)a1 * b1 ^ (u128)a2 * b0 ^ (u128)a3 * b3;
    const u128 c3 = (u128)a0 * b3 ^ (u128)a1 * b2 ^ (u128)a2 * b1 ^ (u128)a3 * b0;
    const u128 top =
        (u128)(a & f->top[0]) ^ (u128)(a & f->top[1]) << 1 ^ (u128)(a & f->top[2]) << 2 ^ (u128)(a & f->top[3]) << 3;
    return ((c0 & mask) | (c1 & mask << 1) | (c2 & mask << 2) | (c3 & mask << 3)) ^ top << 60;
}

static inline void multiply64(uint64_t out[2], uint64_t a, const void *key, int i)
{
    const u128 z = multiply(a, (const factor *)key + i);
    out[0] = (uint64_t)z, out[1] = (uint64_t)(z >> 64);
}

#else

/* 64 bits of H: the lanes of both halves and of their sum. */
typedef struct {
    uint32_t lane[3][4];
} factor;

_Static_assert(sizeof(factor[3]) == sizeof(ghash_key), "ghash_key has another size");

static void prepare(factor *f, uint64_t h)
{
    const uint32_t parts[3] = {(uint32_t)h, (uint32_t)(h >> 32), (uint32_t)(h ^ h >> 32)};
    for (int j = 0; j < 3; j++)
        for (int i = 0; i < 4; i++)
            f->lane[j][i] = (uint32_t)every_fourth(parts[j], i);
}

static inline uint64_t multiply(uint32_t a, const uint32_t b[4])
{
    const uint64_t a0 = every_fourth(a, 0), a1 = every_fourth(a, 1), a2 = every_fourth(a, 2), a3 = every_fourth(a, 3);
    const uint32_t b0 = b[0], b1 = b[1], b2 = b[2], b3 = b[3];
    const uint64_t c0 = a0 * b0 ^ a1 * b3 ^ a2 * b2 ^ a3 * b1, c1 = a0 * b1 ^ a1 * b0 ^ a2 * b3 ^ a3 * b2;
    const uint64_t c2 = a0 * b2 ^ a1 * b1 ^ a2 * b0 ^ a3 * b3, c3 = a0 * b3 ^ a1 * b2 ^ a2 * b1 ^ a3 * b0;
    return every_fourth(c0, 0) | every_fourth(c1, 1) | every_fourth(c2, 2) | every_fourth(c3, 3);
}

/* Karatsuba: (a1 X + a0) (b1 X + b0) = z2 X^2 + ((a1 + a0) (b1 + b0) + z2 + z0) X + z0 */
static inline void multiply64(uint64_t out[2], uint64_t a, const void *key, int i)
{
    const factor *f = (const factor *)key + i;
    const uint64_t z0 = multiply((uint32_t)a, f->lane[0]), z2 = multiply((uint32_t)(a >> 32), f->lane[1]);
    const uint64_t z1 = multiply((uint32_t)(a ^ a >> 32), f->lane[2]) ^ z0 ^ z2;
    out[0] = z0 ^ z1 << 32, out[1] = z2 ^ z1 >> 32;
}

#endif

/* H / x */
static void set_key(ghash_key *key, uint64_t high, uint64_t low)
{
    factor f[3];
    prepare(&f[0], low), prepare(&f[1], high), prepare(&f[2], low ^ high);
    memcpy(key, f, sizeof f);
    wipe(f, sizeof f);
}

void sealane_ghash_key(ghash_key *key, const uint8_t h[16])
{
    const uint64_t high = load64_be(h), low = load64_be(h + 8);
    /* a bit shifted out at the low end becomes 1/x = x^127 + x^6 + x + 1 */
    const uint64_t carry = 0 - (high >> 63);
    set_key(key, (high << 1 | low >> 63) ^ (carry & 0xc200000000000000), low << 1 ^ (carry & 1));
}

/* RFC 8452, appendix A: the H of POLYVAL is that of GHASH times x. */
void sealane_polyval_key(ghash_key *key, const uint8_t h[16])
{
    set_key(key, load64(h + 8), load64(h));
}

void sealane_ghash_blocks(ghash_sum *s, const ghash_key *key, const uint8_t *in, size_t blocks)
{
    uint64_t y1 = s->y[1], y0 = s->y[0];
    for (; blocks > 0; blocks--, in += 16) {
        uint64_t low[2], middle[2], high[2];
        y1 ^= load64_be(in), y0 ^= load64_be(in + 8);
        multiply64(low, y0, key, 0);
        multiply64(high, y1, key, 1);
        multiply64(middle, y0 ^ y1, key, 2);
        const uint64_t v0 = low[0], v3 = high[1];
        uint64_t v1 = low[1] ^ middle[0] ^ low[0] ^ high[0], v2 = high[0] ^ middle[1] ^ low[1] ^ high[1];

        v1 ^= v0 << 63 ^ v0 << 62 ^ v0 << 57;
        v2 ^= v0 ^ v0 >> 1 ^ v0 >> 2 ^ v0 >> 7;
        y0 = v2 ^ v1 << 63 ^ v1 << 62 ^ v1 << 57;
        y1 = v3 ^ v1 ^ v1 >> 1 ^ v1 >> 2 ^ v1 >> 7;
    }
    s->y[1] = y1, s->y[0] = y0;
}

void sealane_ghash_padded(ghash_sum *s, const ghash_key *key, const uint8_t *in, size_t bytes)
{
    sealane_ghash_blocks(s, key, in, bytes / 16);
    if (bytes % 16 != 0) {
        uint8_t last[16] = {0};
        memcpy(last, in + bytes / 16 * 16, bytes % 16);
        sealane_ghash_blocks(s, key, last, 1);
        wipe(last, sizeof last);
    }
}

void sealane_polyval_padded(ghash_sum *s, const ghash_key *key, const uint8_t *in, size_t bytes)
{
    for (uint8_t block[16]; bytes > 0;) {
        const size_t n = bytes < 16 ? bytes : 16;
        memset(block, 0, 16);
        for (size_t i = 0; i < n; i++)
            block[15 - i] = in[i];
        sealane_ghash_blocks(s, key, block, 1);
        wipe(block, sizeof block);
        in += n, bytes -= n;
    }
}

void sealane_ghash_lengths(ghash_sum *s, const ghash_key *key, uint64_t ad_bytes, uint64_t text_bytes)
{
    uint8_t block[16];
    store64_be(block, 8 * ad_bytes);
    store64_be(block + 8, 8 * text_bytes);
    sealane_ghash_blocks(s, key, block, 1);
}
