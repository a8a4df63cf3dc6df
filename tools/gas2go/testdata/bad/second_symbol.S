/* Has a second entry.
 * Refused: a second symbol in its section: other
 */
#include "../asm.S"

isa .avx2, .bmi2

function sealane_second_symbol_avx2
    xor eax, eax
    .type other, @function
other:
    xor ecx, ecx
endfunction
