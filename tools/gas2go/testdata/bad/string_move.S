/* Moves with implicit registers and segments.
 * Refused: es: segment registers
 */
#include "../asm.S"

isa .avx2, .bmi2

function sealane_string_move_avx2
    rep movsb
endfunction
