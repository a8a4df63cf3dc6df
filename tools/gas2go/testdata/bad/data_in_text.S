/* Keeps bytes in text that happen to decode.
 * Refused: data in text, or dead code: nothing leads here
 */
#include "../asm.S"

isa .avx2, .bmi2

function sealane_data_in_text_avx2
    jmp 1f
    .byte 0x48, 0x01, 0xc0, 0x48, 0x01, 0xc8
1:
    xor eax, eax
endfunction
