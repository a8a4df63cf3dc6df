/* Enters the kernel of the operating system.
 * Refused: syscall: traps, talks to the system
 */
#include "../asm.S"

isa .avx2, .bmi2

function sealane_syscall_avx2
    syscall
endfunction
