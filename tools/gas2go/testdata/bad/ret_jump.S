/* Never returns.
 * Refused: ends without ret
 */
#include "../asm.S"

isa .avx2, .bmi2

function sealane_ret_jump_avx2
1:  dec eax
    jmp 1b
    .size sealane_ret_jump_avx2, . - sealane_ret_jump_avx2
