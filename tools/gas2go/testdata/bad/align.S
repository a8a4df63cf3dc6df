/* Aligns a loop with an assembler's own choice of nops.
 * Refused: (padding? use .skip)
 * Needs: clang
 */
#include "../asm.S"

isa .avx2, .bmi2

function sealane_align_avx2
    xor eax, eax
    .p2align 4
1:  dec ecx
    jne 1b
endfunction
