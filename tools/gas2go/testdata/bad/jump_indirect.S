/* Jumps through a register.
 * Refused: jmp rax: indirect jump
 */
#include "../asm.S"

isa .avx2, .bmi2

function sealane_jump_indirect_avx2
    lea rax, [rdi + 8]
    jmp rax
endfunction
