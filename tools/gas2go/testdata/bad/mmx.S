/* Uses MMX, and so the x87 stack.
 * Refused: mm3: x87 and MMX state
 */
#include "../asm.S"

isa .sse2, .mmx

function sealane_mmx_avx2
    movd mm3, eax
endfunction
