/* ChaCha20 (RFC 8439, 2.3) by rows. A vector has one row of two blocks' states, or after sse.h of one block's. Four
 * vectors are a group, and one to three groups are processed together. chacha20_columns.h, which must be included
 * before, has the rotations.
 */

#define GROUP0 ymm0, ymm3, ymm6, ymm9
#define GROUP1 ymm1, ymm4, ymm7, ymm10
#define GROUP2 ymm2, ymm5, ymm8, ymm11
#define U0 ymm12
#define U1 ymm13
#define ROWS16 ymm14        /* the bytes of words <<< 16, where there is no rotation, */
#define ROWS8 ymm15         /* and 8 */

.macro rows_half a, b, c, d, t
    vpaddd \a, \a, \b
    vpxor \d, \d, \a
    rotate_bytes ROTATE_1, \d, ROWS16
    vpaddd \c, \c, \d
    vpxor \b, \c, \b
    rotate_row ROTATE_2, \b, \t
.endm

.macro rows_other_half order_a, order_c, a, b, c, d, t
    vpaddd \a, \a, \b
    vpxor \d, \d, \a
    rotate_bytes ROTATE_3, \d, ROWS8
    vpaddd \c, \c, \d
    vpxor \b, \c, \b
    vpshufd \a, \a, \order_a
    rotate_row ROTATE_4, \b, \t
    vpshufd \d, \d, 0x4e
    vpshufd \c, \c, \order_c
.endm

// A round of `groups` groups from `first` on. It is a column round if a and c rotate by 1 and 3 words before
// the next round, and a diagonal round if by 3 and 1. b, which is always last, stays.
.macro rows_round groups, order_a, order_c, first=0
  .if \first == 0
    rows_half GROUP0, U0
  .endif
  .if \first <= 1 && \first + \groups > 1
    rows_half GROUP1, U1
  .endif
  .if \first + \groups > 2
    rows_half GROUP2, U0
  .endif
  .if \first == 0
    rows_other_half \order_a, \order_c, GROUP0, U0
  .endif
  .if \first <= 1 && \first + \groups > 1
    rows_other_half \order_a, \order_c, GROUP1, U1
  .endif
  .if \first + \groups > 2
    rows_other_half \order_a, \order_c, GROUP2, U0
  .endif
.endm

.macro rows_column_round groups, first=0
    rows_round \groups, 0x93, 0x39, \first
.endm

.macro rows_diagonal_round groups, first=0
    rows_round \groups, 0x39, 0x93, \first
.endm

// adds the initial rows in U0, U1, ROWS16, ROWS8, and the counters of the group at rdx + counters
.macro rows_add a, b, c, d, counters
    vpaddd \a, \a, U0
    vpaddd \b, \b, U1
    vpaddd \c, \c, ROWS16
    vpaddd \d, \d, ROWS8
    vpaddd \d, \d, [rdx+\counters]
.endm

// the initial states of the next blocks; rdx points to the constants, rax to the key
.macro rows_begin groups
    vbroadcasti128 ymm9, [rsi+NONCE_ROW]
    vbroadcasti128 ymm0, [rdx+CONST_SIGMA]
    vbroadcasti128 ymm3, [rax]
    vbroadcasti128 ymm6, [rax+16]
  .if \groups > 2
    vmovdqa ymm2, ymm0
    vmovdqa ymm5, ymm3
    vmovdqa ymm8, ymm6
    vpaddd ymm11, ymm9, [rdx+CONST_ROWS4]
  .endif
  .if \groups > 1
    vmovdqa ymm1, ymm0
    vmovdqa ymm4, ymm3
    vmovdqa ymm7, ymm6
    vpaddd ymm10, ymm9, [rdx+CONST_ROWS2]
  .endif
    vpaddd ymm9, ymm9, [rdx+CONST_ROWS]
#if !defined(KERNEL_VPROLD)
    vmovdqa ROWS16, [rdx+CONST_ROTATE+4*16]
    vmovdqa ROWS8, [rdx+CONST_ROTATE+4*8]
#endif
.endm

// the initial states are added again
.macro rows_end groups
    vbroadcasti128 U0, [rdx+CONST_SIGMA]
    vbroadcasti128 U1, [rax]
    vbroadcasti128 ROWS16, [rax+16]
    vbroadcasti128 ROWS8, [rsi+NONCE_ROW]
    rows_add GROUP0, CONST_ROWS
  .if \groups > 1
    rows_add GROUP1, CONST_ROWS2
  .endif
  .if \groups > 2
    rows_add GROUP2, CONST_ROWS4
  .endif
.endm
