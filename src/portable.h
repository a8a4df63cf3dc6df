/* Constant-time C for every CPU: the portable level, and the pieces of it that the front end needs itself. */
#ifndef SEALANE_SRC_PORTABLE_H
#define SEALANE_SRC_PORTABLE_H

#include "kernel.h"

/* The kernel of the portable level; scratch and consts are not used. */
sealane_kernel sealane_chacha20poly1305_portable;

/* C cannot say what a compiler keeps in memory for want of registers. This overwrites a kibibyte of the stack below the
 * caller's frame, where the functions of this file and of ghash.h, that it has called, had theirs. */
void sealane_burn_stack(void);

/* Less, and faster: enough for sealane_hchacha20. */
void sealane_burn_little(void);

/* One 64-byte block of ChaCha20 keystream (RFC 8439, section 2.3). */
void sealane_chacha20_block(uint8_t out[64], const uint8_t key[32], const uint8_t nonce[12], uint32_t counter);

/* HChaCha20 (draft-irtf-cfrg-xchacha-03, section 2.2): the subkey for a key and the first 16 bytes of a nonce. */
void sealane_hchacha20(uint8_t out[32], const uint8_t key[32], const uint8_t nonce[16]);

/* Poly1305 (RFC 8439, section 2.5) over whole 16-byte blocks, which is all that RFC 8439's AEAD needs: it pads with
 * zeroes. */
void sealane_poly1305_key(sealane_state *s, const uint8_t block[32]);
void sealane_poly1305_blocks(sealane_state *s, const uint8_t *in, size_t blocks);
void sealane_poly1305_padded(sealane_state *s, const uint8_t *in, size_t bytes);
/* The last block of Poly1305 by itself, if it has less than 16 bytes: behind them come a one and zeroes. */
void sealane_poly1305_last(sealane_state *s, const uint8_t *in, size_t bytes);
void sealane_poly1305_finish(sealane_state *s, uint8_t tag[16], uint64_t ad_bytes, uint64_t text_bytes);
void sealane_poly1305_tag(const sealane_state *s, uint8_t tag[16]); /* without absorbing lengths */

#endif
