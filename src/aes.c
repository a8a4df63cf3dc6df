/* AES (FIPS 197), bit-sliced.
 *
 * A bit's place in its word is row R + column C + lane: C = AES_LANES bits to a column, R = 4 C to a row. So MixColumns
 * rotates rows by rotating the word. ShiftRows is never executed (Adomnicai and Peyrin, "Fixslicing AES-like ciphers",
 * TCHES 2021): after n rounds, column c of row r lies at column c + n r. MixColumns looks for it there, and the round
 * keys use the same layout. After four rounds all columns are back in place.
 */
#include "aes.h"

#include "bytes.h"

enum { C = AES_LANES, R = 4 * AES_LANES, BITS = 16 * AES_LANES };

#define ONES ((aes_word) ~(aes_word)0)
#define ROWS (ONES / (((aes_word)1 << R) - 1))                /* the first bit of every row */
#define COLUMNS(n) (ROWS * (((aes_word)1 << (C * (n))) - 1))  /* the first n columns of every row */
#define LANE0 (ONES / (((aes_word)1 << C) - 1))               /* the first lane of every column */
#define ODD_ROWS ((ONES / (((aes_word)1 << 2 * R) - 1)) << R) /* the first bit of rows 1 and 3 */

/* These loops over the planes must be unrolled; otherwise the compiler keeps the planes in memory. */
#if defined(__GNUC__)
#define UNROLLED _Pragma("GCC unroll 8")
#else
#define UNROLLED
#endif

static inline aes_word rotate_right(aes_word x, int n)
{
    return x >> n | x << (BITS - n);
}

/* SubBytes without its constant 0x63, which is in the round keys. The circuit and its names are from Boyar and
 * Peralta, "A small depth-16 circuit for the AES S-box" (2011). It has a linear layer, the inversion in GF(2^4)^2,
 * and a linear layer. u0 and s0 are the most significant bits. */
static inline void sub_bytes(aes_word q[8])
{
    const aes_word u0 = q[7], u1 = q[6], u2 = q[5], u3 = q[4], u4 = q[3], u5 = q[2], u6 = q[1], u7 = q[0];

    const aes_word y14 = u3 ^ u5, y13 = u0 ^ u6, y9 = u0 ^ u3, y8 = u0 ^ u5, t0 = u1 ^ u2, y1 = t0 ^ u7, y4 = y1 ^ u3,
                   y12 = y13 ^ y14, y2 = y1 ^ u0, y5 = y1 ^ u6, y3 = y5 ^ y8, t1 = u4 ^ y12, y15 = t1 ^ u5,
                   y20 = t1 ^ u1, y6 = y15 ^ u7, y10 = y15 ^ t0, y11 = y20 ^ y9, y7 = u7 ^ y11, y17 = y10 ^ y11,
                   y19 = y10 ^ y8, y16 = t0 ^ y11, y21 = y13 ^ y16, y18 = u0 ^ y16;

    const aes_word t2 = y12 & y15, t3 = y3 & y6, t4 = t3 ^ t2, t5 = y4 & u7, t6 = t5 ^ t2, t7 = y13 & y16, t8 = y5 & y1,
                   t9 = t8 ^ t7, t10 = y2 & y7, t11 = t10 ^ t7, t12 = y9 & y11, t13 = y14 & y17, t14 = t13 ^ t12,
                   t15 = y8 & y10, t16 = t15 ^ t12, t17 = t4 ^ t14, t18 = t6 ^ t16, t19 = t9 ^ t14, t20 = t11 ^ t16,
                   t21 = t17 ^ y20, t22 = t18 ^ y19, t23 = t19 ^ y21, t24 = t20 ^ y18;
    const aes_word t25 = t21 ^ t22, t26 = t21 & t23, t27 = t24 ^ t26, t28 = t25 & t27, t29 = t28 ^ t22, t30 = t23 ^ t24,
                   t31 = t22 ^ t26, t32 = t31 & t30, t33 = t32 ^ t24, t34 = t23 ^ t33, t35 = t27 ^ t33, t36 = t24 & t35,
                   t37 = t36 ^ t34, t38 = t27 ^ t36, t39 = t29 & t38, t40 = t25 ^ t39, t41 = t40 ^ t37, t42 = t29 ^ t33,
                   t43 = t29 ^ t40, t44 = t33 ^ t37, t45 = t42 ^ t41;
    const aes_word z0 = t44 & y15, z1 = t37 & y6, z2 = t33 & u7, z3 = t43 & y16, z4 = t40 & y1, z5 = t29 & y7,
                   z6 = t42 & y11, z7 = t45 & y17, z8 = t41 & y10, z9 = t44 & y12, z10 = t37 & y3, z11 = t33 & y4,
                   z12 = t43 & y13, z13 = t40 & y5, z14 = t29 & y2, z15 = t42 & y9, z16 = t45 & y14, z17 = t41 & y8;

    const aes_word t46 = z15 ^ z16, t47 = z10 ^ z11, t48 = z5 ^ z13, t49 = z9 ^ z10, t50 = z2 ^ z12, t51 = z2 ^ z5,
                   t52 = z7 ^ z8, t53 = z0 ^ z3, t54 = z6 ^ z7, t55 = z16 ^ z17, t56 = z12 ^ t48, t57 = t50 ^ t53,
                   t58 = z4 ^ t46, t59 = z3 ^ t54, t60 = t46 ^ t57, t61 = z14 ^ t57, t62 = t52 ^ t58, t63 = t49 ^ t58,
                   t64 = z4 ^ t59, t65 = t61 ^ t62, t66 = z1 ^ t63, t67 = t64 ^ t65;
    const aes_word s3 = t53 ^ t66;
    q[7] = t59 ^ t63;
    q[6] = t64 ^ s3;
    q[5] = t55 ^ t67;
    q[4] = s3;
    q[3] = t51 ^ t66;
    q[2] = t47 ^ t65;
    q[1] = t56 ^ t62;
    q[0] = t48 ^ t60;
}

/* Moves row r + 1 to row r, from its place after n rounds. */
static inline aes_word next_row(aes_word x, int n)
{
    if (n % 4 == 0)
        return rotate_right(x, R);
    return (rotate_right(x, R + n * C) & COLUMNS(4 - n)) | (rotate_right(x, n * C) & ~COLUMNS(4 - n));
}

/* Moves row r + 2 to row r. It is shifted by two columns if n is odd. */
static inline aes_word second_row(aes_word x, int n)
{
    if (n % 2 == 0)
        return rotate_right(x, 2 * R);
    return (rotate_right(x, 2 * R + 2 * C) & COLUMNS(2)) | (rotate_right(x, R + 2 * C) & ~COLUMNS(2));
}

/* MixColumns after n rounds, and AddRoundKey. With a' the next row and t = a + a', a column becomes 2 t + a' + t''. */
static inline void mix_columns(aes_word q[8], int n, const aes_word key[8])
{
    aes_word next[8], t[8];
    UNROLLED
    for (int i = 0; i < 8; i++) {
        next[i] = next_row(q[i], n);
        t[i] = q[i] ^ next[i];
    }
    UNROLLED
    for (int i = 0; i < 8; i++)
        q[i] = next[i] ^ second_row(t[i], n) ^ t[(i + 7) % 8] ^ key[i];
    /* x^8 = x^4 + x^3 + x + 1 */
    q[1] ^= t[7];
    q[3] ^= t[7];
    q[4] ^= t[7];
}

/* After 10 and 14 rounds, rows 1 and 3 are shifted by two columns. */
static inline void straighten(aes_word q[8], int rounds)
{
    if (rounds % 4 == 0)
        return;
    UNROLLED
    for (int i = 0; i < 8; i++) {
        const aes_word t = (q[i] ^ q[i] >> 2 * C) & (ODD_ROWS * (((aes_word)1 << 2 * C) - 1));
        q[i] ^= t ^ t << 2 * C;
    }
}

static void encrypt(aes_word q[8], const aes_keys *keys)
{
    const aes_word(*key)[8] = keys->words;
    UNROLLED
    for (int i = 0; i < 8; i++)
        q[i] ^= key[0][i];
    for (int n = 1;; n += 4) {
        sub_bytes(q);
        mix_columns(q, 1, key[n]);
        sub_bytes(q);
        if (n + 1 == keys->rounds)
            break;
        mix_columns(q, 2, key[n + 1]);
        sub_bytes(q);
        mix_columns(q, 3, key[n + 2]);
        sub_bytes(q);
        if (n + 3 == keys->rounds)
            break;
        mix_columns(q, 0, key[n + 3]);
    }
    UNROLLED
    for (int i = 0; i < 8; i++)
        q[i] ^= key[keys->rounds][i];
    straighten(q, keys->rounds);
}

/* ---- The inverse cipher (FIPS 197, section 5.3): the rounds above, in reverse ---- */

/* The inverse circuit. The S-box is inversion in GF(2^8) followed by a linear map. Applying the inverse map both before
 * and after the circuit gives the inverse S-box. */
static inline void inverse_linear(aes_word q[8])
{
    aes_word x[8];
    UNROLLED
    for (int i = 0; i < 8; i++)
        x[i] = q[(i + 2) % 8] ^ q[(i + 5) % 8] ^ q[(i + 7) % 8];
    UNROLLED
    for (int i = 0; i < 8; i++)
        q[i] = x[i];
}

static inline void inverse_sub_bytes(aes_word q[8])
{
    inverse_linear(q);
    sub_bytes(q);
    inverse_linear(q);
}

/* AddRoundKey and InvMixColumns after n rounds. InvMixColumns is MixColumns of a + 4 (a + a''), because 14, 11, 13, 9
 * are 2, 3, 1, 1 times 5, 0, 4, 0 (polynomials modulo x^4 + 1). */
static inline void inverse_mix_columns(aes_word q[8], int n, const aes_word key[8])
{
    static const aes_word none[8] = {0};
    aes_word t[8];
    UNROLLED
    for (int i = 0; i < 8; i++)
        q[i] ^= key[i];
    UNROLLED
    for (int i = 0; i < 8; i++)
        t[i] = q[i] ^ second_row(q[i], n);
    /* 4 t: x^8 is x^4 + x^3 + x + 1, and the rotation moves bits 6 and 7 to bits 0 and 1 */
    UNROLLED
    for (int i = 0; i < 8; i++)
        q[i] ^= t[(i + 6) % 8];
    q[1] ^= t[6], q[3] ^= t[6], q[4] ^= t[6];
    q[2] ^= t[7], q[4] ^= t[7], q[5] ^= t[7];
    mix_columns(q, n, none);
}

static void decrypt(aes_word q[8], const aes_keys *keys)
{
    const aes_word(*key)[8] = keys->words;
    int n = keys->rounds;
    straighten(q, n);
    UNROLLED
    for (int i = 0; i < 8; i++)
        q[i] ^= key[n][i];
    n--;
    inverse_sub_bytes(q);
    if (n % 4 == 3) { /* 12 rounds */
        inverse_mix_columns(q, 3, key[n]);
        inverse_sub_bytes(q);
        inverse_mix_columns(q, 2, key[n - 1]);
        inverse_sub_bytes(q);
        n -= 2;
    }
    for (;; n -= 4) {
        inverse_mix_columns(q, 1, key[n]);
        inverse_sub_bytes(q);
        if (n == 1)
            break;
        inverse_mix_columns(q, 0, key[n - 1]);
        inverse_sub_bytes(q);
        inverse_mix_columns(q, 3, key[n - 2]);
        inverse_sub_bytes(q);
        inverse_mix_columns(q, 2, key[n - 3]);
        inverse_sub_bytes(q);
    }
    UNROLLED
    for (int i = 0; i < 8; i++)
        q[i] ^= key[0][i];
}

/* ---- Blocks into bit planes and back ---- */

#define SWAP(a, b, n, mask)                                  \
    do {                                                     \
        const aes_word t = (a >> (n) ^ b) & (ONES / (mask)); \
        b ^= t, a ^= t << (n);                               \
    } while (0)

/* Swaps bit k of byte j of word i with bit i of byte j of word k. */
static inline void transpose(aes_word q[8])
{
    UNROLLED
    for (int i = 0; i < 8; i += 2)
        SWAP(q[i], q[i + 1], 1, 3);
    UNROLLED
    for (int i = 0; i < 8; i++)
        if (!(i & 2))
            SWAP(q[i], q[i + 2], 2, 5);
    UNROLLED
    for (int i = 0; i < 4; i++)
        SWAP(q[i], q[i + 4], 4, 17);
}

/* transpose determines the word and byte of each column. */
static inline void put_block(aes_word q[8], int lane, const uint32_t column[4])
{
#if UINTPTR_MAX > 0xffffffff && !defined(SEALANE_TEST_WORDS32)
    UNROLLED
    for (int i = 0; i < 2; i++) { /* columns i and i + 2 alternate, byte by byte */
        aes_word x = column[i] | (aes_word)column[i + 2] << 32, t;
        t = (x ^ x >> 16) & 0x00000000ffff0000, x ^= t ^ t << 16;
        t = (x ^ x >> 8) & 0x0000ff000000ff00, x ^= t ^ t << 8;
        q[4 * i + lane] = x;
    }
#else
    UNROLLED
    for (int i = 0; i < 4; i++)
        q[2 * i + lane] = column[i];
#endif
}

static inline void get_block(uint32_t column[4], const aes_word q[8], int lane)
{
#if UINTPTR_MAX > 0xffffffff && !defined(SEALANE_TEST_WORDS32)
    UNROLLED
    for (int i = 0; i < 2; i++) {
        aes_word x = q[4 * i + lane], t;
        t = (x ^ x >> 8) & 0x0000ff000000ff00, x ^= t ^ t << 8;
        t = (x ^ x >> 16) & 0x00000000ffff0000, x ^= t ^ t << 16;
        column[i] = (uint32_t)x, column[i + 2] = (uint32_t)(x >> 32);
    }
#else
    UNROLLED
    for (int i = 0; i < 4; i++)
        column[i] = q[2 * i + lane];
#endif
}

static inline void load_blocks(aes_word q[8], const uint8_t *in)
{
    UNROLLED
    for (int lane = 0; lane < AES_LANES; lane++) {
        uint32_t column[4];
        UNROLLED
        for (int i = 0; i < 4; i++)
            column[i] = load32(in + 16 * lane + 4 * i);
        put_block(q, lane, column);
    }
}

static inline void store_blocks(uint8_t *out, const aes_word q[8])
{
    UNROLLED
    for (int lane = 0; lane < AES_LANES; lane++) {
        uint32_t column[4];
        get_block(column, q, lane);
        UNROLLED
        for (int i = 0; i < 4; i++)
            store32(out + 16 * lane + 4 * i, column[i]);
    }
}

static inline void encrypt_out(aes_word q[8], const aes_keys *keys, uint8_t *out)
{
    transpose(q);
    encrypt(q, keys);
    transpose(q);
    store_blocks(out, q);
}

void sealane_aes_encrypt(const aes_keys *keys, uint8_t out[AES_BATCH], const uint8_t in[AES_BATCH])
{
    aes_word q[8];
    load_blocks(q, in);
    encrypt_out(q, keys, out);
    wipe(q, sizeof q);
}

void sealane_aes_decrypt(const aes_keys *keys, uint8_t out[AES_BATCH], const uint8_t in[AES_BATCH])
{
    aes_word q[8];
    load_blocks(q, in);
    transpose(q);
    decrypt(q, keys);
    transpose(q);
    store_blocks(out, q);
    wipe(q, sizeof q);
}

void sealane_aes_counters(const aes_keys *keys, uint8_t out[AES_BATCH], const uint8_t prefix[12], uint32_t counter)
{
    aes_word q[8];
    uint32_t column[4] = {load32(prefix), load32(prefix + 4), load32(prefix + 8), 0};
    UNROLLED
    for (int lane = 0; lane < AES_LANES; lane++) {
        column[3] = swap32(counter + (uint32_t)lane);
        put_block(q, lane, column);
    }
    encrypt_out(q, keys, out);
    wipe(q, sizeof q);
}

NOINLINE void sealane_aes_burn_stack(void)
{
    uint8_t room[4096];
    wipe(room, sizeof room);
}

/* ---- Key schedule (FIPS 197, section 5.2) ---- */

static uint32_t sub_word(uint32_t x)
{
    aes_word q[8];
    uint32_t y = 0x63636363;
    for (int i = 0; i < 8; i++)
        q[i] = x >> i & 0x01010101;
    sub_bytes(q);
    for (int i = 0; i < 8; i++)
        y ^= (uint32_t)(q[i] & 0x01010101) << i;
    wipe(q, sizeof q);
    return y;
}

static void expand_words(uint32_t w[60], const uint8_t *key, int rounds)
{
    const int length = rounds - 6;
    uint32_t constant = 1;
    for (int i = 0; i < length; i++)
        w[i] = load32(key + 4 * i);
    for (int i = length, place = 0; i < 4 * (rounds + 1); i++) { /* place is i modulo length */
        uint32_t t = w[i - 1];
        if (place == 0) {
            t = sub_word(t >> 8 | t << 24) ^ constant;
            constant = constant << 1 ^ (constant >> 7) * 0x11b;
        } else if (length > 6 && place == 4) {
            t = sub_word(t);
        }
        w[i] = w[i - length] ^ t;
        place = place + 1 == length ? 0 : place + 1;
    }
}

/* The bit planes of round key n. Its rows are moved to where the rows of the state lie after n rounds. */
static void round_key(aes_word q[8], const uint32_t w[4], int n)
{
    uint32_t column[4] = {0};
    for (int i = 0; i < 4; i++)
        for (int row = 0; row < 4; row++)
            column[(i + n * row) % 4] |= w[i] & (uint32_t)0xff << 8 * row;
    for (int lane = 0; lane < AES_LANES; lane++)
        put_block(q, lane, column);
    transpose(q);
    if (n > 0) /* the constant of SubBytes; MixColumns does not change it */
        for (int i = 0; i < 8; i++)
            q[i] ^= 0x63 >> i & 1 ? ONES : 0;
    wipe(column, sizeof column);
}

/* All lanes are equal, so one word has room for as many planes as there are lanes. */
void sealane_aes_expand(uint8_t schedule[AES_SCHEDULE_BYTES], const uint8_t *key, int rounds)
{
    uint32_t w[4 * (AES_ROUNDS_MAX + 1)] = {0}; /* initialized because gcc cannot see that every key has words */
    aes_word q[8];
    expand_words(w, key, rounds);
    for (int n = 0; n <= rounds; n++) {
        round_key(q, w + 4 * n, n);
        for (int i = 0; i < 8; i += AES_LANES) {
            aes_word packed = 0;
            for (int lane = 0; lane < AES_LANES; lane++)
                packed |= (q[i + lane] & LANE0) << lane;
            memcpy(schedule + 16 * n + (size_t)i / AES_LANES * sizeof packed, &packed, sizeof packed);
        }
    }
    wipe(w, sizeof w);
    wipe(q, sizeof q);
}

void sealane_aes_spread(aes_keys *keys, const uint8_t schedule[AES_SCHEDULE_BYTES], int rounds)
{
    keys->rounds = rounds;
    for (int n = 0; n <= rounds; n++)
        for (int i = 0; i < 8; i += AES_LANES) {
            aes_word packed;
            memcpy(&packed, schedule + 16 * n + (size_t)i / AES_LANES * sizeof packed, sizeof packed);
            for (int lane = 0; lane < AES_LANES; lane++) {
                const aes_word x = packed >> lane & LANE0;
                keys->words[n][i + lane] = (x << C) - x;
            }
        }
}

void sealane_aes_spread_lane(aes_keys *keys, int lane, const uint8_t schedule[AES_SCHEDULE_BYTES], int rounds)
{
    keys->rounds = rounds;
    for (int n = 0; n <= rounds; n++)
        for (int i = 0; i < 8; i += AES_LANES) {
            aes_word packed;
            memcpy(&packed, schedule + 16 * n + (size_t)i / AES_LANES * sizeof packed, sizeof packed);
            for (int plane = 0; plane < AES_LANES; plane++) {
                aes_word *word = &keys->words[n][i + plane];
                *word = (*word & ~(LANE0 << lane)) | (packed >> plane & LANE0) << lane;
            }
        }
}
