/* Returns to another segment.
 * Refused: only a plain ret ends a kernel
 */
#include "../asm.S"

isa .avx2, .bmi2

function sealane_ret_far_avx2
    retfq
endfunction
