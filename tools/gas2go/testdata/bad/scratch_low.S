/* Overwrites registers that the C prologue saved.
 * Refused: outside the kernel's scratch memory, bytes 256 to 4096
 */
#include "../asm.S"

isa .avx2, .bmi2

function sealane_scratch_low_avx2
    mov [rsi + 248], rax
endfunction
