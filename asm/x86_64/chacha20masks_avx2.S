/* Header masks by ChaCha20 (RFC 9001, 5.4.4) for x86-64 with AVX2, of 8 packets side by side.
 *
 * void sealane_chacha20masks_avx2(const args *a, void *scratch, const void *consts)
 *
 * Needs        AVX2
 * Reads        args; lanes; of each its key[32] and in[16]
 * Writes       out[8] of each lane; scratch, wiped again
 * Registers    all but rsp, rbp; stack 0
 * Branches and addresses depend on pointers and the number of lanes only.
 *
 * The algorithm is in chacha20masks.h.
 */
#include "../asm.S"

    isa .avx, .avx2

#define LANES 8

#include "chacha20masks.h"
#define ROTATE_BYTES_FIXED
#include "../chacha20.h"

    scratch_end (SPILLED + 128)

    constants sealane_chacha20masks_avx2_constants
    mask_constants
    endconstants

.macro m_insert j, q, at:vararg
    vinserti128 ymm\j, ymm\j, \at, \q
.endm

#define tmp ymm10
#define tmp2 ymm11

.macro rotate x, n, spare
    vpsrld \spare, \x, 32 - \n
    vpslld \x, \x, \n
    vpor \x, \x, \spare
.endm

/* Two quarter rounds (RFC 8439, 2.1). Registers 8 and 9 hold two of the words 8 to 11 at a time. The others are in
 * scratch memory. */
.macro quarters a0, a1, b0, b1, d0, d1
    .irp half, 0, 1
    vpaddd ymm\a0, ymm\a0, ymm\b0
    vpaddd ymm\a1, ymm\a1, ymm\b1
    vpxor ymm\d0, ymm\d0, ymm\a0
    vpxor ymm\d1, ymm\d1, ymm\a1
    .if \half == 0
    vpshufb ymm\d0, ymm\d0, tmp
    vpshufb ymm\d1, ymm\d1, tmp
    .else
    vbroadcasti128 tmp, [consts + ROTATE8]
    vpshufb ymm\d0, ymm\d0, tmp
    vpshufb ymm\d1, ymm\d1, tmp
    .endif
    vpaddd ymm8, ymm8, ymm\d0
    vpaddd ymm9, ymm9, ymm\d1
    vpxor ymm\b0, ymm\b0, ymm8
    vpxor ymm\b1, ymm\b1, ymm9
    rotate ymm\b0, (ROTATE_2 + (ROTATE_4 - ROTATE_2)*\half), tmp
    rotate ymm\b1, (ROTATE_2 + (ROTATE_4 - ROTATE_2)*\half), tmp2
    .endr
    vbroadcasti128 tmp, [consts + ROTATE16]
.endm

.macro exchange from, to
    vmovdqu [scratch + SPILLED + \from], ymm8
    vmovdqu [scratch + SPILLED + \from + 32], ymm9
    vmovdqu ymm8, [scratch + SPILLED + \to]
    vmovdqu ymm9, [scratch + SPILLED + \to + 32]
.endm

    function sealane_chacha20masks_avx2
    take_lanes
    load_lanes SEALANE_MODE_LANE_KEY, 0
    transpose ymm0, ymm1, ymm2, ymm3, tmp, tmp2, ymm4, ymm5, ymm6, ymm7
    load_lanes SEALANE_MODE_LANE_KEY, 16
    transpose ymm0, ymm1, ymm2, ymm3, tmp, tmp2, ymm8, ymm9, ymm12, ymm13
    vmovdqu [scratch + SPILLED + 64], ymm12
    vmovdqu [scratch + SPILLED + 96], ymm13
    load_lanes SEALANE_MODE_LANE_IN, 0
    transpose ymm0, ymm1, ymm2, ymm3, tmp, tmp2, ymm12, ymm13, ymm14, ymm15
    .irp i, 0, 1, 2, 3
    vpbroadcastd ymm\i, dword ptr [consts + SIGMA + 4*\i]
    .endr
    vbroadcasti128 tmp, [consts + ROTATE16]
    mov count, 10
.Lrounds:
    quarters 0, 1, 4, 5, 12, 13
    exchange 0, 64
    quarters 2, 3, 6, 7, 14, 15
    quarters 0, 1, 5, 6, 15, 12
    exchange 64, 0
    quarters 2, 3, 7, 4, 13, 14
    dec count
    jnz .Lrounds
    vpbroadcastd tmp, dword ptr [consts + SIGMA]
    vpbroadcastd tmp2, dword ptr [consts + SIGMA + 4]
    vpaddd ymm0, ymm0, tmp
    vpaddd ymm1, ymm1, tmp2
    vpunpckldq ymm2, ymm0, ymm1
    vpunpckhdq ymm3, ymm0, ymm1
    vmovdqa xmm4, xmm2
    vmovdqa xmm5, xmm3
    outputs 0
    vextracti128 xmm4, ymm2, 1
    vextracti128 xmm5, ymm3, 1
    outputs 1
    next_lanes
    vpxor xmm0, xmm0, xmm0
    .irp i, 0, 32, 64, 96, 128, 160
    vmovdqu [scratch + LANE + \i], ymm0
    .endr
    vzeroupper
    endfunction
