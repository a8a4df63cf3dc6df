/* GHASH (NIST SP 800-38D, section 6.4) in constant-time C. */
#ifndef SEALANE_SRC_GHASH_H
#define SEALANE_SRC_GHASH_H

#include <stddef.h>
#include <stdint.h>

#if defined(__SIZEOF_INT128__) && !defined(SEALANE_TEST_NO_INT128)
#define GHASH_WORDS 24
#else
#define GHASH_WORDS 18
#endif

/* A prepared hash key. Secret. All words are set. */
typedef struct ghash_key {
    uint64_t words[GHASH_WORDS];
} ghash_key;

/* y[1] holds the first 8 bytes of a block, big-endian, y[0] the last. */
typedef struct ghash_sum {
    uint64_t y[2];
} ghash_sum;

void sealane_ghash_key(ghash_key *key, const uint8_t h[16]);

/* The same for POLYVAL (RFC 8452, section 3), which is GHASH of byte-reversed blocks (appendix A). */
void sealane_polyval_key(ghash_key *key, const uint8_t h[16]);

/* y = (y + block) H for each block. */
void sealane_ghash_blocks(ghash_sum *s, const ghash_key *key, const uint8_t *in, size_t blocks);

/* The same for any length; the last block is padded with zeroes. */
void sealane_ghash_padded(ghash_sum *s, const ghash_key *key, const uint8_t *in, size_t bytes);

/* The same for POLYVAL. */
void sealane_polyval_padded(ghash_sum *s, const ghash_key *key, const uint8_t *in, size_t bytes);

/* Absorbs a block of two lengths in bytes. */
void sealane_ghash_lengths(ghash_sum *s, const ghash_key *key, uint64_t ad_bytes, uint64_t text_bytes);

#endif
