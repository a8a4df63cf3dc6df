/* Jumps to another function.
 * Refused: relocation against other
 */
#include "../asm.S"

isa .avx2, .bmi2

function sealane_jump_symbol_avx2
    jmp other
endfunction
