/* Is encoded differently by GNU as -O2 and clang.
 * Refused: assemblers differ: GNU as: 31 c0 xor eax,eax; clang: 48 31 c0 xor rax,rax
 * Needs: clang
 */
#include "../asm.S"

isa .avx2, .bmi2

function sealane_assemblers_differ_avx2
    xor rax, rax
endfunction
