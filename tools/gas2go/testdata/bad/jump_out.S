/* Jumps out of the function.
 * Refused: jmp 0x1002: jumps out of the function
 */
#include "../asm.S"

isa .avx2, .bmi2

function sealane_jump_out_avx2
    jmp . + 0x1002
endfunction
