/* Reads the caller's frame.
 * Refused: mov rax,QWORD PTR [rsp+0x8]: rsp: belongs to the caller's stack
 */
#include "../asm.S"

isa .avx2, .bmi2

function sealane_rsp_read_avx2
    mov rax, [rsp + 8]
endfunction
