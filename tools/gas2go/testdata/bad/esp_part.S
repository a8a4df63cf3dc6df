/* Names a part of rsp.
 * Refused: mov sp,ax: sp: belongs
 */
#include "../asm.S"

isa .avx2, .bmi2

function sealane_esp_part_avx2
    mov sp, ax
endfunction
