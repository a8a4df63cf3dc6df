/* Names a part of rbp.
 * Refused: mov bpl,al: bpl: belongs
 */
#include "../asm.S"

isa .avx2, .bmi2

function sealane_bpl_part_avx2
    mov bpl, al
endfunction
