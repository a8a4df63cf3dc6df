/* Writes past scratch through a moved pointer.
 * Refused: bytes 4096 to 4104 of scratch memory
 */
#include "../asm.S"

isa .avx2, .bmi2

function sealane_scratch_moved_avx2
    test eax, eax
    je 1f
    add rsi, 1024
    mov [rsi + 3072], rax
    sub rsi, 1024
1:
endfunction
