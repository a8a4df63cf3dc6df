/* Detects features itself; costs thousands of cycles in a virtual machine.
 * Refused: cpuid: traps
 */
#include "../asm.S"

isa .avx2, .bmi2

function sealane_cpuid_avx2
    cpuid
endfunction
