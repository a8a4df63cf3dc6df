/* Returns with a prefix.
 * Refused: repz ret
 */
#include "../asm.S"

isa .avx2, .bmi2

function sealane_ret_prefixed_avx2
    test eax, eax
    jne 1f
    .byte 0xf3
    ret
1:
endfunction
