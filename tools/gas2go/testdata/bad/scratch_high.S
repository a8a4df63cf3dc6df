/* Writes behind scratch, on Go's stack.
 * Refused: outside the kernel's scratch memory
 */
#include "../asm.S"

isa .avx2, .bmi2

function sealane_scratch_high_avx2
    vmovdqu [rsi + 4072], ymm0
    vzeroupper
endfunction
