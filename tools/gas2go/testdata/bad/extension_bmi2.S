/* Uses an extension that its isa line does not name.
 * Refused: GNU as refuses
 */
#include "../asm.S"

isa .ssse3

function sealane_extension_bmi2_avx2
    rorx eax, ecx, 7
endfunction
