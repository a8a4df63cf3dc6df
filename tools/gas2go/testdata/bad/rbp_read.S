/* Uses the frame pointer as a number.
 * Refused: add rax,rbp: rbp: belongs
 */
#include "../asm.S"

isa .avx2, .bmi2

function sealane_rbp_read_avx2
    add rax, rbp
endfunction
