/* Uses an extension that its isa line does not name.
 * Refused: GNU as refuses
 */
#include "../asm.S"

isa .avx2, .bmi2

function sealane_extension_off_avx2
    vpaddd zmm0, zmm0, zmm1
    vzeroupper
endfunction
