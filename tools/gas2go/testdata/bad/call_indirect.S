/* Calls through a pointer.
 * Refused: call rax: a kernel is a leaf
 */
#include "../asm.S"

isa .avx2, .bmi2

function sealane_call_indirect_avx2
    call rax
endfunction
