/* Header masks by ChaCha20 (RFC 9001, 5.4.4; RFC 8439, 2.3), for the vector widths of x86-64. LANES blocks of as
 * many keys are processed side by side, with a word of the state in each vector.
 *
 * Vector j has 16 bytes of lane 4 q + j in part q, which has 128 bits. Transposing 4 by 4 words in each part makes
 * words of all lanes. The words of a key and of a sample are the state's in their order. Only the first two words
 * of the block are needed. With less than LANES left, the first one replaces those that are missing.
 *
 * One or two lanes are processed individually in integer registers. A block is a chain of 240 steps, which vectors do
 * not shorten, and on Zen 5 each of their steps takes two cycles.
 *
 * Each includer has m_insert: 16 bytes of lane 4 q + j to part q of vector j, q not 0. */

/* Constants. */
#define SIGMA 0      /* "expand 32-byte k" */
#define ROTATE16 16  /* of dwords to the left, by 16 and by 8 bits */
#define ROTATE8 32

.macro mask_constants
    .long 0x61707865, 0x3320646e, 0x79622d32, 0x6b206574
    .byte 2, 3, 0, 1, 6, 7, 4, 5, 10, 11, 8, 9, 14, 15, 12, 13
    .byte 3, 0, 1, 2, 7, 4, 5, 6, 11, 8, 9, 10, 15, 12, 13, 14
.endm

/* Scratch. */
#define LANE 256                    /* pointers to the lanes */
#define SPILLED (LANE + 8*LANES)    /* words for which no register is left */

/* Integer registers. */
#define args rdi
#define scratch rsi
#define consts rdx
#define lanes r8
#define lanes_left r9
#define count r10d

/* Pointers to the lanes of one pass. */
.macro lane_pointers
    xor ecx, ecx
1:
    mov eax, ecx
    shl eax, 6
    cmp lanes_left, rcx
    mov r11d, 0
    cmovbe eax, r11d
    add rax, lanes
    mov [scratch + rcx*8 + LANE], rax
    inc ecx
    cmp ecx, LANES
    jb 1b
.endm

/* Loads vectors j of 0 to 3. Each has 16 bytes of the lanes j, 4 + j, .. at offset `at` from the pointer in `slot`. */
.macro load_lanes slot, at
    .irp j, 0, 1, 2, 3
    .irp q, 0, 1, 2, 3
    .if 4*\q < LANES
    mov rax, [scratch + LANE + 8*(4*\q + \j)]
    mov rax, [rax + \slot]
    .if \q == 0
    vmovdqu xmm\j, [rax + \at]
    .else
    m_insert \j, \q, [rax + \at]
    .endif
    .endif
    .endr
    .endr
.endm

/* Words o0 to o3 from the vectors r0 to r3. r0 to r3, t and u are overwritten. */
.macro transpose r0, r1, r2, r3, t, u, o0, o1, o2, o3
    vpunpckldq \t, \r0, \r1
    vpunpckldq \u, \r2, \r3
    vpunpckhdq \r0, \r0, \r1
    vpunpckhdq \r2, \r2, \r3
    vpunpcklqdq \o0, \t, \u
    vpunpckhqdq \o1, \t, \u
    vpunpcklqdq \o2, \r0, \r2
    vpunpckhqdq \o3, \r0, \r2
.endm

/* Part q, in xmm4 (lanes 4 q and 4 q + 1) and xmm5 (the next two), to its destination. */
.macro outputs q
    .irp j, 0, 1, 2, 3
    mov rax, [scratch + LANE + 8*(4*\q + \j)]
    mov rax, [rax + SEALANE_MODE_LANE_OUT]
    .if \j == 0
    vmovq qword ptr [rax], xmm4
    .elseif \j == 1
    vmovhps qword ptr [rax], xmm4
    .elseif \j == 2
    vmovq qword ptr [rax], xmm5
    .else
    vmovhps qword ptr [rax], xmm5
    .endif
    .endr
.endm

/* ---- One lane ---- */

#define SINGLE 2        /* the most lanes that are processed individually */
#define THIRD LANE      /* words 8 to 11, for which no registers are left */
#define ROUNDS_LEFT (LANE + 16)
#define AT_LANE (LANE + 24) /* called lanes and lanes_left elsewhere */
#define LANES_LEFT (LANE + 32)

/* RFC 8439, 2.1. c is in memory. Between its last step in a round and its first in the next, there is enough time for
 * that. */
.macro quarter a, b, c, d
    mov r15d, [scratch + THIRD + 4*\c]
    add \a, \b
    xor \d, \a
    rol \d, 16
    add r15d, \d
    xor \b, r15d
    rol \b, 12
    add \a, \b
    xor \d, \a
    rol \d, 8
    add r15d, \d
    mov [scratch + THIRD + 4*\c], r15d
    xor \b, r15d
    rol \b, 7
.endm

.macro single_lanes
    mov [scratch + LANES_LEFT], lanes_left
1:
    mov [scratch + AT_LANE], lanes
    mov rax, [lanes + SEALANE_MODE_LANE_IN]
    mov rbx, [lanes + SEALANE_MODE_LANE_KEY]
    mov r11d, [rax]
    mov r12d, [rax + 4]
    mov r13d, [rax + 8]
    mov r14d, [rax + 12]
    vmovdqu xmm0, [rbx + 16]
    vmovdqu [scratch + THIRD], xmm0
    mov edi, [rbx]
    mov r8d, [rbx + 4]
    mov r9d, [rbx + 8]
    mov r10d, [rbx + 12]
    mov eax, 0x61707865
    mov ebx, 0x3320646e
    mov ecx, 0x79622d32
    mov edx, 0x6b206574
    mov dword ptr [scratch + ROUNDS_LEFT], 10
2:
    quarter eax, edi, 0, r11d
    quarter ebx, r8d, 1, r12d
    quarter ecx, r9d, 2, r13d
    quarter edx, r10d, 3, r14d
    quarter eax, r8d, 2, r14d
    quarter ebx, r9d, 3, r11d
    quarter ecx, r10d, 0, r12d
    quarter edx, edi, 1, r13d
    dec dword ptr [scratch + ROUNDS_LEFT]
    jnz 2b
    add eax, 0x61707865
    add ebx, 0x3320646e
    mov lanes, [scratch + AT_LANE]
    mov rcx, [lanes + SEALANE_MODE_LANE_OUT]
    mov [rcx], eax
    mov [rcx + 4], ebx
    add lanes, SEALANE_LANE_STRIDE
    dec qword ptr [scratch + LANES_LEFT]
    jnz 1b
.endm

/* Takes the next lanes side by side, or the last few individually. */
.macro take_lanes
    mov lanes, [args + SEALANE_MODE_LANES]
    mov lanes_left, [args + SEALANE_MODE_COUNT]
.Llanes:
    cmp lanes_left, SINGLE
    jbe .Lsingle
    lane_pointers
.endm

.macro next_lanes
    add lanes, 64*LANES
    sub lanes_left, LANES
    ja .Llanes
    jmp .Lend
.Lsingle:
    single_lanes
.Lend:
.endm
