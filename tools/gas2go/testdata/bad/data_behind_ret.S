/* Keeps a table after its code.
 * Refused: sealane_data_behind_ret_avx2
 */
#include "../asm.S"

isa .avx2, .bmi2

function sealane_data_behind_ret_avx2
    ret
    .byte 0x01, 0x02, 0x03, 0x04, 0x05, 0x06
    .size sealane_data_behind_ret_avx2, . - sealane_data_behind_ret_avx2
