/* Adds up bytes: the smallest kernel with a loop, an early way out and alignment padding.
 *
 *     void sealane_sum_ssse3(const args *, void *scratch, const void *consts);
 *
 * out[0..8) = sum of in[0..bytes).
 */
#include "../asm.S"

isa .ssse3

scratch_end SEALANE_SCRATCH_SAVE_BYTES
function sealane_sum_ssse3
    mov rcx, [rdi + SEALANE_ARG_BYTES]
    mov r8, [rdi + SEALANE_ARG_IN]
    mov r9, [rdi + SEALANE_ARG_OUT]
    xor eax, eax
    test rcx, rcx
    jz 9f
    .skip (-(. - sealane_sum_ssse3)) & 31, 0x90
1:  movzx r14d, byte ptr [r8]
    add rax, r14
    inc r8
    dec rcx
    jnz 1b
9:  mov [r9], rax
endfunction
