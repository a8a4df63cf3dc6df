/* Reads thread-local storage, where Go keeps its own.
 * Refused: fs: segment registers
 */
#include "../asm.S"

isa .avx2, .bmi2

function sealane_segment_fs_avx2
    mov rax, fs:[0]
endfunction
