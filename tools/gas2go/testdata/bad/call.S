/* Calls, even if within itself.
 * Refused: call 0x5: a kernel is a leaf
 */
#include "../asm.S"

isa .avx2, .bmi2

function sealane_call_avx2
    call 1f
1:
endfunction
