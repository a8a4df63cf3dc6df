/* Returns and pops.
 * Refused: ret 0x8: only a plain ret ends a kernel
 */
#include "../asm.S"

isa .avx2, .bmi2

function sealane_ret_pops_avx2
    ret 8
endfunction
