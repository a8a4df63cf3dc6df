/* Jumps into the middle of an instruction.
 * Refused: jumps into the middle of an instruction
 */
#include "../asm.S"

isa .avx2, .bmi2

function sealane_jump_middle_avx2
    test eax, eax
    je 1f + 2
1:
    mov rax, 1
    mov ecx, eax
endfunction
