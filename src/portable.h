/* Constant-time C for every CPU: the portable level, and its parts that the front end uses. */
#ifndef SEALANE_SRC_PORTABLE_H
#define SEALANE_SRC_PORTABLE_H

#include "kernel.h"

/* The kernel of the portable level. It ignores scratch and consts. */
sealane_kernel sealane_chacha20poly1305_portable;

/* C cannot control what a compiler spills to the stack. This overwrites a kibibyte of the stack below the caller's
 * frame, where functions of this file and of ghash.h had their frames. */
void sealane_burn_stack(void);

/* Overwrites less, and is faster: enough for sealane_hchacha20. */
void sealane_burn_little(void);

/* One 64-byte block of ChaCha20 keystream (RFC 8439, section 2.3). */
void sealane_chacha20_block(uint8_t out[64], const uint8_t key[32], const uint8_t nonce[12], uint32_t counter);

/* HChaCha20 (draft-irtf-cfrg-xchacha-03, section 2.2): the subkey for a key and the first 16 bytes of a nonce. */
void sealane_hchacha20(uint8_t out[32], const uint8_t key[32], const uint8_t nonce[16]);

/* Poly1305 (RFC 8439, section 2.5) over whole 16-byte blocks. RFC 8439's AEAD needs no others, because it pads with
 * zeroes. */
void sealane_poly1305_key(sealane_state *s, const uint8_t block[32]);
void sealane_poly1305_blocks(sealane_state *s, const uint8_t *in, size_t blocks);
void sealane_poly1305_padded(sealane_state *s, const uint8_t *in, size_t bytes);
/* The last block of plain Poly1305 if it has less than 16 bytes: a one and then zeroes follow. */
void sealane_poly1305_last(sealane_state *s, const uint8_t *in, size_t bytes);
void sealane_poly1305_finish(sealane_state *s, uint8_t tag[16], uint64_t ad_bytes, uint64_t text_bytes);
void sealane_poly1305_tag(const sealane_state *s, uint8_t tag[16]); /* without absorbing lengths */

#endif
