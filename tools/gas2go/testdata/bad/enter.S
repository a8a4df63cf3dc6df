/* Changes rsp and rbp without naming them.
 * Refused: enter 0x10,0x0: uses the stack
 */
#include "../asm.S"

isa .avx2, .bmi2

function sealane_enter_avx2
    enter 16, 0
endfunction
