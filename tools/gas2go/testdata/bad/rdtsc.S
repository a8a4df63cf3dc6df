/* Reads a clock.
 * Refused: rdtsc: traps
 */
#include "../asm.S"

isa .avx2, .bmi2

function sealane_rdtsc_avx2
    rdtsc
endfunction
