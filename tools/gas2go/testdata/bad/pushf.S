/* Uses the stack without any operand.
 * Refused: pushf: uses the stack
 */
#include "../asm.S"

isa .avx2, .bmi2

function sealane_pushf_avx2
    pushfq
    pop rax
endfunction
