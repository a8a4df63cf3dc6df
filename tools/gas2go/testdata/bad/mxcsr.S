/* Changes the floating-point control register.
 * Refused: not among the instructions
 */
#include "../asm.S"

isa .avx2, .bmi2

function sealane_mxcsr_avx2
    ldmxcsr [rdi]
endfunction
