/* Jumps to before the function.
 * Refused: jumps out of the function
 */
#include "../asm.S"

isa .avx2, .bmi2

function sealane_jump_before_avx2
    test eax, eax
    je . - 0x20
endfunction
