/* Keeps an object in text.
 * Refused: data in text: table
 */
#include "../asm.S"

isa .avx2, .bmi2

function sealane_data_symbol_avx2
    jmp 1f
    .type table, @object
table:
    .byte 0x90
1:
endfunction
