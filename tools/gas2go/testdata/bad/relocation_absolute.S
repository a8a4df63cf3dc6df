/* Holds its own address.
 * Refused: relocation against
 */
#include "../asm.S"

isa .avx2, .bmi2

function sealane_relocation_absolute_avx2
    mov rax, offset sealane_relocation_absolute_avx2
endfunction
