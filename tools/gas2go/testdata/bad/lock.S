/* Locks the bus.
 * Refused: not among the instructions
 */
#include "../asm.S"

isa .avx2, .bmi2

function sealane_lock_avx2
    lock add [rdi], rax
endfunction
