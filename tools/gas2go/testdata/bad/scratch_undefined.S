/* States the end of its scratch by a name that means nothing yet.
 * Refused: non-constant expression in ".if" statement
 */
#include "../asm.S"

isa .avx2, .bmi2

scratch_end NOTHING
function sealane_scratch_undefined_avx2
    vzeroupper
endfunction
