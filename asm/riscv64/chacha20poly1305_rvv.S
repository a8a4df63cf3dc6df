/* ChaCha20-Poly1305 in vectors: seals or opens one packet, or one part of a long one, in one call.
 *
 *     void sealane_chacha20poly1305_rvv(const args *a, void *scratch, const void *consts);
 *
 * CPU        RV64 with multiplication (M) and vectors (V 1.0) of 128 bits or more; a rotation is two shifts and an or
 * the rest   chacha20poly1305_vector.h
 */
#include "../asm.S"

#if defined(__riscv) && __riscv_xlen == 64

isa m, v

#define KERNEL sealane_chacha20poly1305_rvv
#define CLAMP 16

#include "chacha20poly1305_vector.h"

constants sealane_chacha20poly1305_rvv_constants
    .long 0x61707865, 0x3320646e, 0x79622d32, 0x6b206574
    .quad 0x0ffffffc0fffffff, 0x0ffffffc0ffffffc
endconstants

#endif
