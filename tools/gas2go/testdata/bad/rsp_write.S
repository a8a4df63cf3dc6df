/* Makes a frame.
 * Refused: sub rsp,0x40: rsp: belongs
 */
#include "../asm.S"

isa .avx2, .bmi2

function sealane_rsp_write_avx2
    sub rsp, 64
    mov rax, 1
    add rsp, 64
endfunction
