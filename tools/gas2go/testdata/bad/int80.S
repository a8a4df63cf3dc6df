/* Enters the kernel of the operating system, the old way.
 * Refused: int 0x80: traps
 */
#include "../asm.S"

isa .avx2, .bmi2

function sealane_int80_avx2
    int 0x80
endfunction
