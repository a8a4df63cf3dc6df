/* States more scratch than there is.
 * Refused: more scratch memory than there is
 */
#include "../asm.S"

isa .avx2, .bmi2

scratch_end SEALANE_SCRATCH_BYTES + 64
function sealane_scratch_too_much_avx2
    vzeroupper
endfunction
