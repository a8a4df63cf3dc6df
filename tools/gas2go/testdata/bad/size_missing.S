/* Was not closed.
 * Refused: has offset 0 and size 0
 */
#include "../asm.S"

isa .avx2, .bmi2

function sealane_size_missing_avx2
    ret
