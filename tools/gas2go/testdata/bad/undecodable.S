/* Holds a byte that is no instruction.
 * Refused: does not decode
 */
#include "../asm.S"

isa .avx2, .bmi2

function sealane_undecodable_avx2
    xor eax, eax
    .byte 0x06
    xor eax, eax
endfunction
