/* Does not give the scratch pointer back.
 * Refused: rsi points 64 bytes past scratch
 */
#include "../asm.S"

isa .avx2, .bmi2

function sealane_scratch_lost_avx2
    lea rsi, [rsi + 128]
    add rsi, -64
endfunction
