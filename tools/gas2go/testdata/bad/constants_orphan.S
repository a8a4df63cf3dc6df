/* Has constants that no function gets.
 * Refused: constants of no function
 */
#include "../asm.S"

isa .avx2, .bmi2

function sealane_constants_orphan_avx2
    xor eax, eax
endfunction

constants sealane_other_constants
    .quad 1
endconstants
