/* Traps.
 * Refused: int3: traps
 */
#include "../asm.S"

isa .avx2, .bmi2

function sealane_int3_avx2
    int3
endfunction
