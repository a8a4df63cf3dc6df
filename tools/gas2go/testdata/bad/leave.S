/* Changes rsp and rbp without naming them.
 * Refused: leave: uses the stack
 */
#include "../asm.S"

isa .avx2, .bmi2

function sealane_leave_avx2
    leave
endfunction
