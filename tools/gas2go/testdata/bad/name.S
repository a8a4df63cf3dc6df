/* Has a name of somebody else.
 * Refused: the name must start with sealane_
 */
#include "../asm.S"

isa .avx2, .bmi2

function thing_avx2
    xor eax, eax
endfunction
