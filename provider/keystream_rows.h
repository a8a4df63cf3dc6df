/* ChaCha20's key stream (RFC 8439, section 2.3) in the compiler's vectors; included once for each width.
 *
 *     BLOCKS     how many blocks' rows a vector holds: 2 or 4
 *     NAME(x)    x with a suffix
 *
 * A kernel's work for Poly1305 before the first block takes longer than a few blocks, so short key stream is made
 * here. One vector holds row r of the state of BLOCKS blocks, 16 bytes for each. The column rounds are elementwise.
 * So are the diagonal rounds after rotating rows 0, 3 and 2 by 3, 2 and 1 words within every block. Row 1, which is
 * on the critical path, is not rotated. Up to four such sets are interleaved to hide latency. */

/* Words a to d of a block, with `next` added to the words of each further block; and the block numbers. */
#if BLOCKS == 2
#define EVERY(next, a, b, c, d) a, b, c, d, a + next, b + next, c + next, d + next
#define NUMBERS 0, 0, 0, 0, 1
#else
#define EVERY(next, a, b, c, d)                                                                                 \
    a, b, c, d, a + next, b + next, c + next, d + next, a + 2 * next, b + 2 * next, c + 2 * next, d + 2 * next, \
        a + 3 * next, b + 3 * next, c + 3 * next, d + 3 * next
#define NUMBERS 0, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 3
#endif

#define TARGET __attribute__((target("avx512f,avx512vl,avx512bw")))

typedef uint32_t NAME(rows) __attribute__((vector_size(16 * BLOCKS)));
#define ROWS NAME(rows)
#define IN_EVERY(r) __builtin_shufflevector(r, r, EVERY(0, 0, 1, 2, 3))

/* For each set. The number of sets is a constant wherever this is used. */
#define EACH(...)       \
    {                   \
        enum { g = 0 }; \
        __VA_ARGS__;    \
    }                   \
    if (sets > 1) {     \
        enum { g = 1 }; \
        __VA_ARGS__;    \
    }                   \
    if (sets > 2) {     \
        enum { g = 2 }; \
        __VA_ARGS__;    \
    }                   \
    if (sets > 3) {     \
        enum { g = 3 }; \
        __VA_ARGS__;    \
    }
#define TURN(v, a, b, c, d) v = __builtin_shufflevector(v, v, EVERY(4, a, b, c, d))
#define ROTATE(v, n) v = (v) << (n) | (v) >> (32 - (n))
#define QUARTER_ROUNDS()                               \
    EACH(a[g] += b[g]; d[g] ^= a[g]; ROTATE(d[g], 16)) \
    EACH(c[g] += d[g]; b[g] ^= c[g]; ROTATE(b[g], 12)) \
    EACH(a[g] += b[g]; d[g] ^= a[g]; ROTATE(d[g], 8))  \
    EACH(c[g] += d[g]; b[g] ^= c[g]; ROTATE(b[g], 7))
#define DOUBLE_ROUND()                                                           \
    QUARTER_ROUNDS()                                                             \
    EACH(TURN(a[g], 3, 0, 1, 2); TURN(d[g], 2, 3, 0, 1); TURN(c[g], 1, 2, 3, 0)) \
    QUARTER_ROUNDS()                                                             \
    EACH(TURN(a[g], 1, 2, 3, 0); TURN(d[g], 2, 3, 0, 1); TURN(c[g], 3, 0, 1, 2))

/* Converts rows to blocks. */
#define XOR_AT(at, keystream)              \
    do {                                   \
        const ROWS k = (keystream);        \
        ROWS x;                            \
        memcpy(&x, from + (at), sizeof x); \
        x ^= k;                            \
        memcpy(to + (at), &x, sizeof x);   \
    } while (0)
#if BLOCKS == 2
#define LOW(a, b) __builtin_shufflevector(a, b, 0, 1, 2, 3, 8, 9, 10, 11)
#define HIGH(a, b) __builtin_shufflevector(a, b, 4, 5, 6, 7, 12, 13, 14, 15)
#define XOR_BLOCKS(a, b, c, d) \
    XOR_AT(0, LOW(a, b));      \
    XOR_AT(32, LOW(c, d));     \
    XOR_AT(64, HIGH(a, b));    \
    XOR_AT(96, HIGH(c, d))
#else
#define LOW(a, b) __builtin_shufflevector(a, b, 0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23)
#define HIGH(a, b) __builtin_shufflevector(a, b, 8, 9, 10, 11, 12, 13, 14, 15, 24, 25, 26, 27, 28, 29, 30, 31)
#define EVEN(a, b) __builtin_shufflevector(a, b, 0, 1, 2, 3, 8, 9, 10, 11, 16, 17, 18, 19, 24, 25, 26, 27)
#define ODD(a, b) __builtin_shufflevector(a, b, 4, 5, 6, 7, 12, 13, 14, 15, 20, 21, 22, 23, 28, 29, 30, 31)
#define XOR_BLOCKS(a, b, c, d)                 \
    XOR_AT(0, EVEN(LOW(a, b), LOW(c, d)));     \
    XOR_AT(64, ODD(LOW(a, b), LOW(c, d)));     \
    XOR_AT(128, EVEN(HIGH(a, b), HIGH(c, d))); \
    XOR_AT(192, ODD(HIGH(a, b), HIGH(c, d)))
#endif

TARGET static inline __attribute__((always_inline)) void NAME(blocks)(const int sets, const uint8_t key[32],
                                                                      const uint8_t nonce[12], uint32_t counter,
                                                                      uint8_t *out, const uint8_t *in)
{
    const row words = {0x61707865, 0x3320646e, 0x79622d32, 0x6b206574}; /* "expand 32-byte k" */
    const row last = {counter, load32(nonce), load32(nonce + 4), load32(nonce + 8)};
    const ROWS numbers = {NUMBERS}, step = {EVERY(0, BLOCKS, 0, 0, 0)};
    row halves[2];
    memcpy(halves, key, sizeof halves);
    const ROWS a0 = IN_EVERY(words), b0 = IN_EVERY(halves[0]), c0 = IN_EVERY(halves[1]);
    ROWS a[4], b[4], c[4], d[4], d0[4];
    EACH(d0[g] = g == 0 ? IN_EVERY(last) + numbers : d0[g - (g > 0)] + step)
    EACH(a[g] = a0; b[g] = b0; c[g] = c0; d[g] = d0[g])
    for (int i = 0; i < 10; i++) {
        DOUBLE_ROUND()
    }
    EACH(a[g] += a0; b[g] += b0; c[g] += c0; d[g] += d0[g])
    EACH(const uint8_t *from = in + 64 * BLOCKS * g; uint8_t *to = out + 64 * BLOCKS * g;
         XOR_BLOCKS(a[g], b[g], c[g], d[g]))
}

/* Whole blocks. The last ones, which do not fill a vector, go through a buffer. */
TARGET static void NAME(keystream_short)(const uint8_t key[32], const uint8_t nonce[12], uint32_t counter, uint8_t *out,
                                         const uint8_t *in, size_t bytes)
{
    const size_t set = 64 * BLOCKS;
    for (; bytes >= 4 * set; counter += 4 * BLOCKS) {
        NAME(blocks)(4, key, nonce, counter, out, in);
        bytes -= 4 * set, in += 4 * set, out += 4 * set;
    }
    if (bytes >= 2 * set) {
        NAME(blocks)(2, key, nonce, counter, out, in);
        bytes -= 2 * set, in += 2 * set, out += 2 * set, counter += 2 * BLOCKS;
    }
    while (bytes != 0) {
        const size_t n = bytes < set ? bytes : set;
        uint8_t buffer[64 * BLOCKS];
        memcpy(buffer, in, n);
        NAME(blocks)(1, key, nonce, counter, buffer, buffer);
        memcpy(out, buffer, n);
        wipe(buffer, sizeof buffer);
        bytes -= n, in += n, out += n, counter += BLOCKS;
    }
}

#undef EVERY
#undef NUMBERS
#undef TARGET
#undef ROWS
#undef IN_EVERY
#undef EACH
#undef TURN
#undef ROTATE
#undef QUARTER_ROUNDS
#undef DOUBLE_ROUND
#undef XOR_AT
#undef LOW
#undef HIGH
#undef EVEN
#undef ODD
#undef XOR_BLOCKS
#undef NAME
#undef BLOCKS
