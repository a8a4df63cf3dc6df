/* Overwrites registers that the C prologue saved.
 * Refused: bytes 248 to 256 of scratch memory; a kernel's part is 256 to 4096
 */
#include "../asm.S"

isa .avx2, .bmi2

function sealane_scratch_low_avx2
    mov [rsi + 248], rax
endfunction
