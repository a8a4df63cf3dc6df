/* Writes past scratch, on Go's stack.
 * Refused: bytes 4072 to 4104 of scratch memory
 */
#include "../asm.S"

isa .avx2, .bmi2

function sealane_scratch_high_avx2
    vmovdqu [rsi + 4072], ymm0
    vzeroupper
endfunction
