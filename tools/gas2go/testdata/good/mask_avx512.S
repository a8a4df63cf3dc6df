/* Xors with a constant: constants, all of the scratch memory, zmm and mask registers.
 *
 *     void sealane_mask_avx512(const args *, void *scratch, const void *consts);
 *
 * out[i] = in[i] ^ consts[i] for i < bytes <= 64, by way of scratch. Clobbers what Go keeps in registers: r14 and xmm15.
 */
#include "../asm.S"

isa .avx512f, .avx512bw, .avx512vl, .bmi2

function sealane_mask_avx512
    mov rcx, [rdi + SEALANE_ARG_BYTES]
    mov r8, [rdi + SEALANE_ARG_IN]
    mov r9, [rdi + SEALANE_ARG_OUT]
    test ecx, ecx
    je 9f
    mov r14, -1
    bzhi r14, r14, rcx
    kmovq k1, r14
    vmovdqu8 zmm15{k1}{z}, [r8]
    vpxorq zmm15, zmm15, [rdx]
    vmovdqa64 [rsi + SEALANE_SCRATCH_SAVE_BYTES], zmm15
    vmovdqa64 [rsi + SEALANE_SCRATCH_BYTES - 64], zmm15
    vmovdqa64 zmm14, [rsi + SEALANE_SCRATCH_SAVE_BYTES]
    vmovdqu8 [r9]{k1}, zmm14
    vpxor xmm14, xmm14, xmm14
    vmovdqa64 [rsi + SEALANE_SCRATCH_SAVE_BYTES], zmm14
    vmovdqa64 [rsi + SEALANE_SCRATCH_BYTES - 64], zmm14
    vzeroupper
9:
endfunction

constants sealane_mask_avx512_constants
    .irp digit, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, a, b, c, d, e, f
    .long 0x\digit\()1234567
    .endr
endconstants
