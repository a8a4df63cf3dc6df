/* Divides.
 * Refused: div rcx: takes a time that depends on its data
 */
#include "../asm.S"

isa .avx2, .bmi2

function sealane_div_avx2
    div rcx
endfunction
