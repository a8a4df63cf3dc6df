/* Has an address among its constants.
 * Refused: relocation against
 */
#include "../asm.S"

isa .avx2, .bmi2

function sealane_constants_relocated_avx2
    xor eax, eax
endfunction

constants sealane_constants_relocated_avx2_constants
    .quad memcpy
endconstants
