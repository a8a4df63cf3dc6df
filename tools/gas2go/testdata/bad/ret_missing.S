/* Runs on into whatever follows.
 * Refused: ends without ret
 */
#include "../asm.S"

isa .avx2, .bmi2

function sealane_ret_missing_avx2
    xor eax, eax
    .size sealane_ret_missing_avx2, . - sealane_ret_missing_avx2
