/* Changes all flags, from the stack.
 * Refused: popf: uses the stack
 */
#include "../asm.S"

isa .avx2, .bmi2

function sealane_popf_avx2
    popfq
endfunction
