/* Writes past the end of scratch that it states.
 * Refused: bytes 384 to 416 of scratch memory; a kernel's part is 256 to 400
 */
#include "../asm.S"

isa .avx2, .bmi2

scratch_end 400
function sealane_scratch_stated_avx2
    vmovdqu [rsi + 384], ymm0
    vzeroupper
endfunction
