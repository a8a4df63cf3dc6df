/* Uses the x87 stack.
 * Refused: st: x87 and MMX state
 */
#include "../asm.S"

isa .avx2, .bmi2

function sealane_x87_avx2
    fadd st, st(1)
endfunction
