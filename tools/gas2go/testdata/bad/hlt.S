/* Privileged.
 * Refused: hlt: traps
 */
#include "../asm.S"

isa .avx2, .bmi2

function sealane_hlt_avx2
    hlt
endfunction
