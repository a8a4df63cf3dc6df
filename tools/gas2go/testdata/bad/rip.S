/* Reads its own text.
 * Refused: rip: reads text
 */
#include "../asm.S"

isa .avx2, .bmi2

function sealane_rip_avx2
    mov rax, [rip + 1f]
    jmp 2f
1:
    .skip 8, 0x90
2:
endfunction
