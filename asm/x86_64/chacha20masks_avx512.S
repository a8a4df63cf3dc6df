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

/* a += b, d = (d ^ a) <<< left, in four quarter rounds (RFC 8439, 2.1). */
.macro quarter_step left, a0, a1, a2, a3, b0, b1, b2, b3, d0, d1, d2, d3
    vpaddd zmm\a0, zmm\a0, zmm\b0
    vpaddd zmm\a1, zmm\a1, zmm\b1
    vpaddd zmm\a2, zmm\a2, zmm\b2
    vpaddd zmm\a3, zmm\a3, zmm\b3
    vpxord zmm\d0, zmm\d0, zmm\a0
    vpxord zmm\d1, zmm\d1, zmm\a1
    vpxord zmm\d2, zmm\d2, zmm\a2
    vpxord zmm\d3, zmm\d3, zmm\a3
    .irp d, \d0, \d1, \d2, \d3
    vprold zmm\d, zmm\d, \left
    .endr
.endm

/* Four quarter rounds. a is words 0 to 3; in a diagonal round b, c, d begin elsewhere in their rows. */
.macro quarters b0, b1, b2, b3, c0, c1, c2, c3, d0, d1, d2, d3
    quarter_step ROTATE_1, 0, 1, 2, 3, \b0, \b1, \b2, \b3, \d0, \d1, \d2, \d3
    quarter_step ROTATE_2, \c0, \c1, \c2, \c3, \d0, \d1, \d2, \d3, \b0, \b1, \b2, \b3
    quarter_step ROTATE_3, 0, 1, 2, 3, \b0, \b1, \b2, \b3, \d0, \d1, \d2, \d3
    quarter_step ROTATE_4, \c0, \c1, \c2, \c3, \d0, \d1, \d2, \d3, \b0, \b1, \b2, \b3
.endm

    function sealane_chacha20masks_avx512
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
    vpxord zmm0, zmm0, zmm0
    vmovdqu64 [scratch + LANE], zmm0
    vmovdqu64 [scratch + LANE + 64], zmm0
    vzeroupper
    endfunction
