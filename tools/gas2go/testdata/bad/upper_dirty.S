/* Returns with dirty upper halves on one path.
 * Refused: vector upper halves may be dirty
 */
#include "../asm.S"

isa .avx2, .bmi2

function sealane_upper_dirty_avx2
    test eax, eax
    je 1f
    vmovdqu ymm0, [rdi]
1:
endfunction
