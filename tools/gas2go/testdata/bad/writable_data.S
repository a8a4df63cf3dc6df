/* Has writable data.
 * Refused: section .data.thing: only function and constants
 */
#include "../asm.S"

isa .avx2, .bmi2

function sealane_writable_data_avx2
    xor eax, eax
endfunction

.section .data.thing, "aw", @progbits
    .quad 1
