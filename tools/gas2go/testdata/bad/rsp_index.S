/* Takes the stack's address.
 * Refused: lea rax,[rsp+rcx*8]: rsp: belongs
 */
#include "../asm.S"

isa .avx2, .bmi2

function sealane_rsp_index_avx2
    lea rax, [rsp + 8*rcx]
endfunction
