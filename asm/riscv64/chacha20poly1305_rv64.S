/* ChaCha20-Poly1305 in integer registers: seals or opens one packet, or one part of a long one, in one call.
 *
 *     void sealane_chacha20poly1305_rv64(const args *a, void *scratch, const void *consts);
 *
 * CPU        RV64 with multiplication (M); a rotation is two shifts and an or
 * the rest   chacha20poly1305_text.h
 */
#include "../asm.S"

#if defined(__riscv) && __riscv_xlen == 64

isa m

#define KERNEL sealane_chacha20poly1305_rv64

#include "chacha20poly1305_text.h"

constants sealane_chacha20poly1305_rv64_constants
    .long 0x61707865, 0x3320646e, 0x79622d32, 0x6b206574
endconstants

#endif
