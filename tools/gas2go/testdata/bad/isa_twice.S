/* Changes the extensions on the way.
 * Refused: has 2 lines "isa .extension
 */
#include "../asm.S"

isa .avx2
isa .avx512f

function sealane_isa_twice_avx2
    xor eax, eax
endfunction
