/* Names no extensions, so that all assemble.
 * Refused: has 0 lines "isa .extension
 */
#include "../asm.S"

function sealane_isa_missing_avx2
    xor eax, eax
endfunction
