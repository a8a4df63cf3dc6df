/* Names a segment register.
 * Refused: ds: segment registers
 */
#include "../asm.S"

isa .avx2, .bmi2

function sealane_segment_move_avx2
    mov eax, ds
endfunction
