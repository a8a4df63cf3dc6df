/* Returns in the middle.
 * Refused: ret: ret before the end
 */
#include "../asm.S"

isa .avx2, .bmi2

function sealane_ret_early_avx2
    test eax, eax
    jne 1f
    ret
1:
    xor eax, eax
endfunction
