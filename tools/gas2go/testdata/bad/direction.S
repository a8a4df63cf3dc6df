/* Sets the direction flag, which the calling convention wants clear.
 * Refused: std: not among the instructions
 */
#include "../asm.S"

isa .avx2, .bmi2

function sealane_direction_avx2
    std
endfunction
