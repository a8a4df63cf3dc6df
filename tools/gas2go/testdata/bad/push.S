/* Saves a register on the stack.
 * Refused: push rbx: uses the stack
 */
#include "../asm.S"

isa .avx2, .bmi2

function sealane_push_avx2
    push rbx
    pop rbx
endfunction
