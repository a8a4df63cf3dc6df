/* Calls another function.
 * Refused: relocation against memcpy
 */
#include "../asm.S"

isa .avx2, .bmi2

function sealane_call_symbol_avx2
    call memcpy
endfunction
