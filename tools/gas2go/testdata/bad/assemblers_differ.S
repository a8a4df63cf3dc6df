/* Is encoded differently by GNU as and clang.
 * Refused: assemblers differ: GNU as: 48 87 d9 xchg rcx,rbx; clang: 48 87 cb xchg rbx,rcx
 * Needs: clang
 */
#include "../asm.S"

isa .avx2, .bmi2

function sealane_assemblers_differ_avx2
    xchg rcx, rbx
endfunction
