/* Ends within an instruction.
 * Refused: truncated_avx2
 */
#include "../asm.S"

isa .avx2, .bmi2

function sealane_truncated_avx2
    ret
    .byte 0x48, 0x8b
    .size sealane_truncated_avx2, . - sealane_truncated_avx2
