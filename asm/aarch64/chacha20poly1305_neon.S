/* ChaCha20-Poly1305 with NEON: seals or opens one packet, or one part of a long one, in one call.
 *
 *     void sealane_chacha20poly1305_neon(const args *a, void *scratch, const void *consts);
 *
 * CPU        ARMv8-A with Advanced SIMD; no crypto extensions
 * args       all SEALANE_ARG_* (asm/args.h); writes OUT[BYTES] and, by flags, TAG[16] or STATE[64]
 * scratch    352 bytes after the saved registers, wiped before the return; stack 0
 * consts     sealane_chacha20poly1305_neon_constants
 * registers  all but sp, x18, x28, x29, x30; x1 holds scratch throughout
 * branches   and addresses depend on BYTES, AD_BYTES, FLAGS only
 *
 * ChaCha20 (RFC 8439, 2.3): a state of 4x4 words (constants; key; key; counter, nonce), 10 double rounds of
 *     a += b, d = (d ^ a) <<< 16;  c += d, b = (b ^ c) <<< 12;  a += b, d = (d ^ a) <<< 8;  c += d, b = (b ^ c) <<< 7
 * on the 4 columns, then on the 4 diagonals; the keystream block is the result plus the initial state. Here a vector
 * holds one word of 4 blocks, so 16 vectors, a "set", are 4 blocks. The first of all is block 0, the Poly1305 key
 * (2.6). For packets of up to 320 bytes two more blocks are made beside a set, with a vector for each row of 4 words.
 * Packets of up to 64 bytes need only these two. In a turn, a set's last double round, its output and the next set's
 * first double round are interleaved.
 *
 * Poly1305 (2.5): h = (h + m) r mod 2^130 - 5 for each block m of 16 bytes and a one above it. With h = h0 + 2^64 h1 +
 * 2^128 h2, r = r0 + 2^64 r1, 4 | r1 (clamped), and 2^130 = 5, that is 2^128 r1 = s1 := r1 + r1/4:
 *     h r = (h0 r0 + h1 s1) + 2^64 (h0 r1 + h1 r0 + h2 s1) + 2^128 (h2 r0), then h += 5 (h >> 130) without these bits.
 * Three or four of these accompany two double rounds, and four accompany a turn. They process the input (open) or the
 * output of the previous run (seal). The single instructions of all are spread evenly, because in-order cores issue
 * neighbors together. Integer registers are right for Poly1305 even where products are slow. A message takes 34
 * cycles of Cortex-A72's multiplier. A 64-bit product keeps it for 2 more cycles and a high one for 3 (Software
 * Optimization Guide, Arm UAN 0016A, divide and multiply: 6 of 1 + 2 and 4 of 1 + 3). Its vectors take longer than
 * that to encrypt as many bytes.
 */
#include "../asm.S"

#if defined(__aarch64__)

isa neon

#define KERNEL sealane_chacha20poly1305_neon
#define CONSTANTS sealane_chacha20poly1305_neon_constants
#include "chacha20poly1305_neon.h"

#endif
