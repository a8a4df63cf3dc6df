/* Uses the stack without naming it.
 * Refused: pop QWORD PTR [rdi]: uses the stack
 */
#include "../asm.S"

isa .avx2, .bmi2

function sealane_pop_memory_avx2
    pop qword ptr [rdi]
endfunction
