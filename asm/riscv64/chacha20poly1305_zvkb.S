/* ChaCha20-Poly1305 in vectors: seals or opens one packet, or one part of a long one, in one call.
 *
 *     void sealane_chacha20poly1305_zvkb(const args *a, void *scratch, const void *consts);
 *
 * CPU        RV64 with multiplication (M), vectors (V 1.0) of 128 bits or more, and Zvkb, whose vror rotates
 * the rest   chacha20poly1305_vector.h
 */
#include "../asm.S"

#if defined(__riscv) && __riscv_xlen == 64

isa m, v, zvkb

#define KERNEL sealane_chacha20poly1305_zvkb
#define WITH_ZVKB
#define CLAMP 16

#include "chacha20poly1305_vector.h"

constants sealane_chacha20poly1305_zvkb_constants
    .long 0x61707865, 0x3320646e, 0x79622d32, 0x6b206574
    .quad 0x0ffffffc0fffffff, 0x0ffffffc0ffffffc
endconstants

#endif
