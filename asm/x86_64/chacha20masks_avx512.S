/* Header masks by ChaCha20 (RFC 9001, 5.4.4) for x86-64 with AVX-512, of 16 packets side by side.
 *
 * void sealane_chacha20masks_avx512(const args *a, void *scratch, const void *consts)
 *
 * Needs        AVX512F
 * Reads        args; lanes; of each its key[32] and in[16]
 * Writes       out[8] of each lane; scratch, wiped again
 * Registers    all but rsp, rbp; stack 0
 * Branches and addresses depend on pointers and the number of lanes only.
 *
 * The algorithm is in chacha20masks.h.
 */
#include "../asm.S"

    isa .avx, .avx2, .avx512f

#define LANES 16

#include "chacha20masks.h"
#include "../chacha20.h"

    scratch_end SPILLED

    constants sealane_chacha20masks_avx512_constants
    mask_constants
    endconstants

.macro m_insert j, q, at:vararg
    vinserti32x4 zmm\j, zmm\j, \at, \q
.endm

/* Four quarter rounds (RFC 8439, 2.1), in the words w, x, y, z + 0 to 3. In a diagonal round x, y, z begin
 * elsewhere. */
.macro quarters b0, b1, b2, b3, c0, c1, c2, c3, d0, d1, d2, d3
    .irp half, 0, 1
    vpaddd zmm0, zmm0, zmm\b0
    vpaddd zmm1, zmm1, zmm\b1
    vpaddd zmm2, zmm2, zmm\b2
    vpaddd zmm3, zmm3, zmm\b3
    vpxord zmm\d0, zmm\d0, zmm0
    vpxord zmm\d1, zmm\d1, zmm1
    vpxord zmm\d2, zmm\d2, zmm2
    vpxord zmm\d3, zmm\d3, zmm3
    .irp d, \d0, \d1, \d2, \d3
    vprold zmm\d, zmm\d, ROTATE_1 + (ROTATE_3 - ROTATE_1)*\half
    .endr
    vpaddd zmm\c0, zmm\c0, zmm\d0
    vpaddd zmm\c1, zmm\c1, zmm\d1
    vpaddd zmm\c2, zmm\c2, zmm\d2
    vpaddd zmm\c3, zmm\c3, zmm\d3
    vpxord zmm\b0, zmm\b0, zmm\c0
    vpxord zmm\b1, zmm\b1, zmm\c1
    vpxord zmm\b2, zmm\b2, zmm\c2
    vpxord zmm\b3, zmm\b3, zmm\c3
    .irp b, \b0, \b1, \b2, \b3
    vprold zmm\b, zmm\b, ROTATE_2 + (ROTATE_4 - ROTATE_2)*\half
    .endr
    .endr
.endm

    function sealane_chacha20masks_avx512
    mov lanes, [args + SEALANE_MODE_LANES]
    mov lanes_left, [args + SEALANE_MODE_COUNT]
.Llanes:
    take_lanes
    load_lanes SEALANE_MODE_LANE_KEY, 0
    transpose zmm0, zmm1, zmm2, zmm3, zmm16, zmm17, zmm4, zmm5, zmm6, zmm7
    load_lanes SEALANE_MODE_LANE_KEY, 16
    transpose zmm0, zmm1, zmm2, zmm3, zmm16, zmm17, zmm8, zmm9, zmm10, zmm11
    load_lanes SEALANE_MODE_LANE_IN, 0
    transpose zmm0, zmm1, zmm2, zmm3, zmm16, zmm17, zmm12, zmm13, zmm14, zmm15
    .irp i, 0, 1, 2, 3
    vpbroadcastd zmm\i, dword ptr [consts + SIGMA + 4*\i]
    .endr
    mov count, 10
.Lrounds:
    quarters 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
    quarters 5, 6, 7, 4, 10, 11, 8, 9, 15, 12, 13, 14
    dec count
    jnz .Lrounds
    vpaddd zmm0, zmm0, dword ptr [consts + SIGMA]{1to16}
    vpaddd zmm1, zmm1, dword ptr [consts + SIGMA + 4]{1to16}
    vpunpckldq zmm2, zmm0, zmm1
    vpunpckhdq zmm3, zmm0, zmm1
    .irp q, 0, 1, 2, 3
    vextracti32x4 xmm4, zmm2, \q
    vextracti32x4 xmm5, zmm3, \q
    outputs \q
    .endr
    next_lanes
    jmp .Lend
.Lsingle:
    single_lanes
.Lend:
    vpxord zmm0, zmm0, zmm0
    vmovdqu64 [scratch + LANE], zmm0
    vmovdqu64 [scratch + LANE + 64], zmm0
    vzeroupper
    endfunction
