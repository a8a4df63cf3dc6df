/* Jumps through memory.
 * Refused: jmp QWORD PTR [rdx+rax*8]: indirect jump
 */
#include "../asm.S"

isa .avx2, .bmi2

function sealane_jump_table_avx2
    jmp [rdx + 8*rax]
endfunction
