/* ChaCha20-Poly1305 with SSSE3: seals or opens one packet, or one part of a long one, in one call.
 *
 *     void sealane_chacha20poly1305_ssse3(const args *a, void *scratch, const void *consts);
 *
 * CPU        x86-64 with SSE2, SSSE3
 * args       all SEALANE_ARG_* (asm/args.h); writes OUT[BYTES] and, by flags, TAG[16] or STATE[64]
 * scratch    1.5 KiB behind the saved registers, wiped before the return; stack 0
 * consts     sealane_chacha20poly1305_ssse3_constants
 * registers  all but rsp, rbp; rsi holds scratch, displaced by FRAME until the end
 * branches   and addresses depend on BYTES, AD_BYTES, FLAGS only
 *
 * ChaCha20 (RFC 8439, 2.3): a state of 4x4 words (constants; key; key; counter, nonce), 10 double rounds of
 *     a += b, d = (d ^ a) <<< 16;  c += d, b = (b ^ c) <<< 12;  a += b, d = (d ^ a) <<< 8;  c += d, b = (b ^ c) <<< 7
 * on the 4 columns, then on the 4 diagonals; the keystream block is the result plus the initial state.
 * Here a vector holds one word of 4 blocks, so that 16 vectors, a "set", are 4 blocks; two sets take turns, since one alone
 * waits for its own results half of the time. Block 0, the Poly1305 key (2.6), is made in integer registers meanwhile.
 *
 * Poly1305 (2.5): h = (h + m) r mod 2^130 - 5 for each block m of 16 bytes and a one above it. With h = h0 + 2^64 h1 +
 * 2^128 h2, r = r0 + 2^64 r1, 4 | r1 (clamped), and 2^130 = 5, that is 2^128 r1 = s1 := r1 + r1/4:
 *     h r = (h0 r0 + h1 s1) + 2^64 (h0 r1 + h1 r0 + h2 s1) + 2^128 (h2 r0),   then h += 5 (h >> 130) without these bits.
 * It takes its turns between the sets too: over the input (open) or over what was written one run before (seal).
 */
#include "../asm.S"

#if defined(__x86_64__)

isa .sse2 .ssse3

/* Scratch, relative to the displaced rsi: what the loops use lies within 127 bytes. */
#define FRAME (SEALANE_SCRATCH_SAVE_BYTES + 128)
#define ROTATE16 -128     /* byte shuffles */
#define ROTATE8 -112
#define SCALAR_C -96      /* row c of the block in integer registers */
#define POLY_S -80
#define POLY_R -64        /* r0, r1, s1 */
#define POLY_H -40        /* h0, h1, h2 */
#define LIMIT -16         /* authenticate up to this address */
#define LEFT -8           /* turns left in this run */
#define SCALAR -4         /* double rounds left of the block in integer registers */
#define CURRENT 0         /* the set whose turn it is */
#define SETS_SUM 8        /* sum of both sets' addresses */
#define SINGLE 16         /* 1 if the run has one set, 0 if two */
#define PHASE 20          /* what the integer turns do */
#define EXTRA 24          /* 1 if the last block is made in integer registers */
#define FLAGS 28
#define OUT 32
#define IN 40
#define REMAINING 48      /* bytes of text to encrypt */
#define CHUNK 56          /* 1 from the start of a run until it encrypts */
#define ARGS 64
#define CONSTANTS 72
#define COUNTER 80        /* of the first block of text in this call */
#define EXTRA_COUNTER 84
#define AD_LEFT 88        /* bytes of associated data; then the message pointer while Poly1305 waits */
#define MESSAGE AD_LEFT
#define TAIL 96           /* last bytes of text as authenticated, padded with zeroes to 16 */
#define EXTRA_STREAM 112  /* keystream of the block made in integer registers */
#define SHORT_A 176       /* the two blocks of a short packet */
#define SHORT_B -128      /* its row c is SCALAR_C */
#define SHORT_END 240
#define INITIAL 240       /* initial state, each word 4 times */
#define SET_A (496 + 128) /* two sets, by their middles */
#define SET_B (752 + 128)
#define STREAM 1008       /* keystream of an incomplete set */
#define END 1264

#define PHASE_KEY 0       /* block 0 */
#define PHASE_EXTRA 1     /* the last block */
#define PHASE_POLY 2

#define CONST_ROTATE16 0
#define CONST_ROTATE8 16
#define CONST_SIGMA 32
#define CONST_COUNT 48    /* 0, 1, 2, 3 */
#define CONST_FOUR 64     /* 4, 4, 4, 4 */
#define CONST_MASK 80     /* 16 bytes of ones, 16 of zeroes */

/* Vectors: rows a, b, d of a set, two of row c, two temporaries. */
#define va0 xmm0
#define va1 xmm1
#define va2 xmm2
#define va3 xmm3
#define vb0 xmm4
#define vb1 xmm5
#define vb2 xmm6
#define vb3 xmm7
#define vd0 xmm8
#define vd1 xmm9
#define vd2 xmm10
#define vd3 xmm11
#define vc0 xmm12
#define vc1 xmm13
#define vt0 xmm14
#define vt1 xmm15

/* Integer block: rows a, b, d, one word of row c (the others in memory). */
#define sa0 eax
#define sa1 ebx
#define sa2 ecx
#define sa3 edx
#define sb0 edi
#define sb1 r8d
#define sb2 r9d
#define sb3 r10d
#define sd0 r11d
#define sd1 r12d
#define sd2 r13d
#define sd3 r14d
#define sc r15d
#define set r15           /* address of the middle of a set; free in the integer turns */

/* Poly1305: accumulator, message, r, sums. */
#define h0 rbx
#define h1 rdi
#define h2 r8
#define message r9
#define r0 r10
#define r1 r11
#define s1 r12
#define p0 r13
#define p1 r14
#define q0 r15
#define q1 rcx

/* ---- ChaCha20 in vectors ---- */

.macro vector_rotate x, y, left
    movdqa vt0, \x
    movdqa vt1, \y
    pslld \x, \left
    pslld \y, \left
    psrld vt0, 32 - \left
    psrld vt1, 32 - \left
    por \x, vt0
    por \y, vt1
.endm

/* Two quarter rounds (RFC 8439, 2.1). */
.macro vector_quarters ax, bx, cx, dx, ay, by, cy, dy
    paddd \ax, \bx
    paddd \ay, \by
    pxor \dx, \ax
    pxor \dy, \ay
    pshufb \dx, [rsi + ROTATE16]
    pshufb \dy, [rsi + ROTATE16]
    paddd \cx, \dx
    paddd \cy, \dy
    pxor \bx, \cx
    pxor \by, \cy
    vector_rotate \bx, \by, 12
    paddd \ax, \bx
    paddd \ay, \by
    pxor \dx, \ax
    pxor \dy, \ay
    pshufb \dx, [rsi + ROTATE8]
    pshufb \dy, [rsi + ROTATE8]
    paddd \cx, \dx
    paddd \cy, \dy
    pxor \bx, \cx
    pxor \by, \cy
    vector_rotate \bx, \by, 7
.endm

.macro vector_double_round
    movdqa va0, [set - 128]
    movdqa va1, [set - 112]
    movdqa va2, [set - 96]
    movdqa va3, [set - 80]
    movdqa vb0, [set - 64]
    movdqa vb1, [set - 48]
    movdqa vb2, [set - 32]
    movdqa vb3, [set - 16]
    movdqa vc0, [set]
    movdqa vc1, [set + 16]
    movdqa vd0, [set + 64]
    movdqa vd1, [set + 80]
    movdqa vd2, [set + 96]
    movdqa vd3, [set + 112]
    vector_quarters va0, vb0, vc0, vd0, va1, vb1, vc1, vd1
    movdqa [set], vc0
    movdqa [set + 16], vc1
    movdqa vc0, [set + 32]
    movdqa vc1, [set + 48]
    vector_quarters va2, vb2, vc0, vd2, va3, vb3, vc1, vd3
    vector_quarters va0, vb1, vc0, vd3, va1, vb2, vc1, vd0
    movdqa [set + 32], vc0
    movdqa [set + 48], vc1
    movdqa vc0, [set]
    movdqa vc1, [set + 16]
    vector_quarters va2, vb3, vc0, vd1, va3, vb0, vc1, vd2
    movdqa [set - 128], va0
    movdqa [set - 112], va1
    movdqa [set - 96], va2
    movdqa [set - 80], va3
    movdqa [set - 64], vb0
    movdqa [set - 48], vb1
    movdqa [set - 32], vb2
    movdqa [set - 16], vb3
    movdqa [set], vc0
    movdqa [set + 16], vc1
    movdqa [set + 64], vd0
    movdqa [set + 80], vd1
    movdqa [set + 96], vd2
    movdqa [set + 112], vd3
.endm

/* ---- ChaCha20 in integer registers ---- */

.macro scalar_quarter a, b, c, d, base
    add \a, \b
    xor \d, \a
    rol \d, 16
    mov sc, [rsi + \base + 4*\c]
    add sc, \d
    xor \b, sc
    rol \b, 12
    add \a, \b
    xor \d, \a
    rol \d, 8
    add sc, \d
    mov [rsi + \base + 4*\c], sc
    xor \b, sc
    rol \b, 7
.endm

.macro scalar_double_round base
    scalar_quarter sa0, sb0, 0, sd0, \base
    scalar_quarter sa1, sb1, 1, sd1, \base
    scalar_quarter sa2, sb2, 2, sd2, \base
    scalar_quarter sa3, sb3, 3, sd3, \base
    scalar_quarter sa0, sb1, 2, sd3, \base
    scalar_quarter sa1, sb2, 3, sd0, \base
    scalar_quarter sa2, sb3, 0, sd1, \base
    scalar_quarter sa3, sb0, 1, sd2, \base
.endm

/* Rows a, b, d from and to a block in memory. */
.macro scalar_load block
    mov sa0, [rsi + \block]
    mov sa1, [rsi + \block + 4]
    mov sa2, [rsi + \block + 8]
    mov sa3, [rsi + \block + 12]
    mov sb0, [rsi + \block + 16]
    mov sb1, [rsi + \block + 20]
    mov sb2, [rsi + \block + 24]
    mov sb3, [rsi + \block + 28]
    mov sd0, [rsi + \block + 48]
    mov sd1, [rsi + \block + 52]
    mov sd2, [rsi + \block + 56]
    mov sd3, [rsi + \block + 60]
.endm

.macro scalar_store block
    mov [rsi + \block], sa0
    mov [rsi + \block + 4], sa1
    mov [rsi + \block + 8], sa2
    mov [rsi + \block + 12], sa3
    mov [rsi + \block + 16], sb0
    mov [rsi + \block + 20], sb1
    mov [rsi + \block + 24], sb2
    mov [rsi + \block + 28], sb3
    mov [rsi + \block + 48], sd0
    mov [rsi + \block + 52], sd1
    mov [rsi + \block + 56], sd2
    mov [rsi + \block + 60], sd3
.endm

/* A block's initial state, row c at \c and \copy, all but the counter. */
.macro scalar_initial c, copy
    mov r14, [rsi + ARGS]
    mov r13, [r14 + SEALANE_ARG_NONCE]
    mov r14, [r14 + SEALANE_ARG_KEY]
    .irp i, 0, 4, 8, 12
    mov sc, [r14 + 16 + \i]
    mov [rsi + \c + \i], sc
    .ifnc \c, \copy
    mov [rsi + \copy + \i], sc
    .endif
    .endr
    mov sb0, [r14]
    mov sb1, [r14 + 4]
    mov sb2, [r14 + 8]
    mov sb3, [r14 + 12]
    mov sd1, [r13]
    mov sd3, [r13 + 8]
    mov sd2, [r13 + 4]
    mov sa0, 0x61707865
    mov sa1, 0x3320646e
    mov sa2, 0x79622d32
    mov sa3, 0x6b206574
.endm

/* ---- Poly1305 ---- */

.macro poly_multiply
    mov rax, r0
    mul h0                  /* h0 r0 */
    mov p0, rax
    mov p1, rdx
    mov rax, s1
    mul h1                  /* h1 s1 */
    add p0, rax
    adc p1, rdx
    mov rax, r1
    mul h0                  /* h0 r1 */
    mov q0, rax
    mov q1, rdx
    mov rax, r0
    mul h1                  /* h1 r0 */
    add q0, rax
    adc q1, rdx
    mov rax, s1
    imul rax, h2            /* h2 s1 */
    imul h2, r0             /* h2 r0 */
    add q0, rax
    adc q1, h2
    add q0, p1
    adc q1, 0
    mov h0, p0              /* h = p0 + 2^64 q0 + 2^128 q1 */
    mov h1, q0
    mov h2, q1
    and h2, 3
    mov rax, q1
    and rax, -4
    shr q1, 2
    add rax, q1             /* 5 (h >> 130) */
    add h0, rax
    adc h1, 0
    adc h2, 0
.endm

.macro poly_block lo, hi
    add h0, \lo
    adc h1, \hi
    adc h2, 1
    poly_multiply
.endm

/* rdx:rax = the r15 (1..15) bytes at r13, not reading beyond them; uses rcx. */
.macro load_partial name
    xor edx, edx
    cmp r15d, 8
    jae .Lload8_\name
    cmp r15d, 4
    jae .Lload4_\name
    mov ecx, r15d           /* 1..3: first, middle, last byte */
    shr ecx, 1
    movzx eax, byte ptr [r13 + rcx]
    shl ecx, 3
    shl eax, cl
    movzx ecx, byte ptr [r13]
    or eax, ecx
    movzx edx, byte ptr [r13 + r15 - 1]
    lea ecx, [r15*8 - 8]
    shl edx, cl
    or eax, edx
    xor edx, edx
    jmp .Lloaded_\name
.Lload4_\name:
    lea ecx, [r15*8 - 32]
    mov edx, [r13 + r15 - 4]
    shl rdx, cl
    mov eax, [r13]
    or rax, rdx
    xor edx, edx
    jmp .Lloaded_\name
.Lload8_\name:
    imul ecx, r15d, -8
    add ecx, 120            /* 8 (15 - bytes) */
    mov rdx, [r13 + r15 - 8]
    shr rdx, cl
    shr rdx, 8
    mov rax, [r13]
.Lloaded_\name:
.endm

/* ---- output ---- */

/* Words 4 \g .. 4 \g + 3 of the set at r15, as 16 bytes of each of its 4 blocks, xor input at r13 to output at r14. */
.macro encrypt_quarter g
    movdqa xmm0, [r15 - 128 + 64*\g]
    movdqa xmm1, [r15 - 128 + 64*\g + 16]
    movdqa xmm2, [r15 - 128 + 64*\g + 32]
    movdqa xmm3, [r15 - 128 + 64*\g + 48]
    paddd xmm0, [rsi + INITIAL + 64*\g]
    paddd xmm1, [rsi + INITIAL + 64*\g + 16]
    paddd xmm2, [rsi + INITIAL + 64*\g + 32]
    paddd xmm3, [rsi + INITIAL + 64*\g + 48]
    movdqa xmm4, xmm0
    movdqa xmm5, xmm2
    punpckldq xmm0, xmm1
    punpckhdq xmm4, xmm1
    punpckldq xmm2, xmm3
    punpckhdq xmm5, xmm3
    movdqa xmm1, xmm0
    movdqa xmm6, xmm4
    punpcklqdq xmm0, xmm2       /* block 0 */
    punpckhqdq xmm1, xmm2       /* block 1 */
    punpcklqdq xmm4, xmm5       /* block 2 */
    punpckhqdq xmm6, xmm5       /* block 3 */
    movdqu xmm2, [r13 + 16*\g]
    movdqu xmm3, [r13 + 16*\g + 64]
    movdqu xmm5, [r13 + 16*\g + 128]
    movdqu xmm7, [r13 + 16*\g + 192]
    pxor xmm0, xmm2
    pxor xmm1, xmm3
    pxor xmm4, xmm5
    pxor xmm6, xmm7
    movdqu [r14 + 16*\g], xmm0
    movdqu [r14 + 16*\g + 64], xmm1
    movdqu [r14 + 16*\g + 128], xmm4
    movdqu [r14 + 16*\g + 192], xmm6
.endm

.macro broadcast source, slot
    .irp i, 0, 1, 2, 3
    pshufd xmm7, \source, 0x55*\i
    movdqa [rsi + INITIAL + 64*\slot + 16*\i], xmm7
    .endr
.endm

/* ---- the kernel ---- */

function sealane_chacha20poly1305_ssse3
    add rsi, FRAME
    mov eax, [rdi + SEALANE_ARG_FLAGS]
    mov r15, [rdi + SEALANE_ARG_BYTES]
    mov rcx, [rdi + SEALANE_ARG_IN]
    mov r8, [rdi + SEALANE_ARG_OUT]
    mov [rsi + ARGS], rdi
    mov [rsi + CONSTANTS], rdx
    mov [rsi + FLAGS], eax
    mov [rsi + IN], rcx
    mov [rsi + OUT], r8
    mov [rsi + REMAINING], r15
    xor r8d, r8d
    mov [rsi + CHUNK], r8
    mov [rsi + EXTRA], r8d
    mov dword ptr [rsi + PHASE], PHASE_KEY
    mov dword ptr [rsi + SCALAR], 10
    mov dword ptr [rsi + COUNTER], 1
    test al, SEALANE_FLAG_FIRST
    jz .Lresume
    cmp r15, 64
    ja .Llong

/* A packet of at most 64 bytes: blocks 0 and 1 in integer registers, taking turns. */
    scalar_initial SHORT_A + 32, SHORT_B + 32
    mov sd0, 1
    mov [rsi + EXTRA_COUNTER], sd0
    scalar_store SHORT_B
    xor sd0, sd0
    scalar_store SHORT_A
    mov sc, 1
    mov [rsi + CHUNK], sc
    inc sc
    mov [rsi + EXTRA], sc
    mov r15, [rsi + REMAINING]
    and r15, -16
    add r15, [rsi + IN]
    mov [rsi + LIMIT], r15
.Lshort:
    scalar_load SHORT_A
    scalar_double_round SHORT_A + 32
    scalar_store SHORT_A
    scalar_load SHORT_B
    scalar_double_round SHORT_B + 32
    scalar_store SHORT_B
    dec dword ptr [rsi + SCALAR]
    jnz .Lshort
    jmp .Lextra_done
.Lshort_key:
    scalar_load SHORT_A
    jmp .Lkey_done

.Lresume:
    mov rax, [rdi + SEALANE_ARG_STATE]
    mov ecx, [rax + SEALANE_STATE_COUNTER]
    mov [rsi + COUNTER], ecx
    mov h0, [rax + SEALANE_STATE_S]
    mov h1, [rax + SEALANE_STATE_S + 8]
    mov [rsi + POLY_S], h0
    mov [rsi + POLY_S + 8], h1
    mov r0, [rax + SEALANE_STATE_R]
    mov r1, [rax + SEALANE_STATE_R + 8]
    mov s1, r1
    shr s1, 2
    add s1, r1
    mov h0, [rax + SEALANE_STATE_H]
    mov h1, [rax + SEALANE_STATE_H + 8]
    mov h2, [rax + SEALANE_STATE_H + 16]
    mov dword ptr [rsi + PHASE], PHASE_POLY
    mov message, [rsi + IN]
    test dword ptr [rsi + FLAGS], SEALANE_FLAG_OPEN
    cmovz message, [rsi + OUT]
    test r15, r15
    jz .Lencrypted
    jmp .Linitial

/* 5 blocks, or 8 k + 1: the last in integer registers, when block 0 is done. */
.Llong:
    lea rax, [r15 + 63]
    shr rax, 6
    mov [rsi + EXTRA_COUNTER], eax
    cmp eax, 5
    je .Lextra
    and eax, 7
    cmp eax, 1
    jne .Lblock0
.Lextra:
    mov dword ptr [rsi + EXTRA], 1
.Lblock0:

/* The initial state for the vectors. */
.Linitial:
    mov r15, [rsi + ARGS]
    mov rdx, [rsi + CONSTANTS]
    mov r13, [r15 + SEALANE_ARG_KEY]
    mov r14, [r15 + SEALANE_ARG_NONCE]
    movdqa xmm0, [rdx + CONST_ROTATE16]
    movdqa xmm1, [rdx + CONST_ROTATE8]
    movdqa [rsi + ROTATE16], xmm0
    movdqa [rsi + ROTATE8], xmm1
    movdqa xmm0, [rdx + CONST_SIGMA]
    movdqu xmm1, [r13]
    movdqu xmm2, [r13 + 16]
    broadcast xmm0, 0
    broadcast xmm1, 1
    broadcast xmm2, 2
    movd xmm3, dword ptr [rsi + COUNTER]
    movd xmm4, dword ptr [r14]
    movd xmm5, dword ptr [r14 + 4]
    movd xmm6, dword ptr [r14 + 8]
    pshufd xmm3, xmm3, 0
    pshufd xmm4, xmm4, 0
    pshufd xmm5, xmm5, 0
    pshufd xmm6, xmm6, 0
    paddd xmm3, [rdx + CONST_COUNT]
    movdqa [rsi + INITIAL + 192], xmm3
    movdqa [rsi + INITIAL + 208], xmm4
    movdqa [rsi + INITIAL + 224], xmm5
    movdqa [rsi + INITIAL + 240], xmm6

/* One run: a set of 4 blocks, or two. */
.Lrun:
    mov r15, [rsi + REMAINING]
    mov dword ptr [rsi + CHUNK], 1
    mov rax, [rsi + OUT]                /* seal: authenticate what was written before this run */
    test dword ptr [rsi + FLAGS], SEALANE_FLAG_OPEN
    jz .Lrun_limit
    mov eax, 512                        /* open: this run's input */
    cmp rax, r15
    cmova rax, r15
    and rax, -16
    add rax, [rsi + IN]
.Lrun_limit:
    mov [rsi + LIMIT], rax
    cmp dword ptr [rsi + EXTRA], 0
    je .Lrun_sets
    cmp r15, 64
    jbe .Lrun_end                       /* the last block's keystream is there */
    sub r15, 64
.Lrun_sets:
    mov rdx, [rsi + CONSTANTS]
    lea rax, [rsi + SET_A]
    mov [rsi + CURRENT], rax
    mov dword ptr [rsi + LEFT], 20
    lea rcx, [rsi + SET_A + SET_B]
    lea rcx, [rax + rax]
    mov r13d, 1
    cmp r15, 256
    jbe .Lrun_single
    .irp i, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 14, 15
    movdqa xmm0, [rsi + INITIAL + 16*\i]
    movdqa [rsi + SET_A - 128 + 16*\i], xmm0
    movdqa [rsi + SET_B - 128 + 16*\i], xmm0
    .endr
    movdqa xmm0, [rsi + INITIAL + 192]
    movdqa [rsi + SET_A + 64], xmm0
    paddd xmm0, [rdx + CONST_FOUR]
    movdqa [rsi + SET_B + 64], xmm0
    add rcx, SET_B - SET_A
    dec r13d
    jmp .Lrun_start
.Lrun_single:
    .irp i, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
    movdqa xmm0, [rsi + INITIAL + 16*\i]
    movdqa [rsi + SET_A - 128 + 16*\i], xmm0
    .endr
.Lrun_start:
    mov [rsi + SETS_SUM], rcx
    mov [rsi + SINGLE], r13d
    cmp dword ptr [rsi + PHASE], PHASE_POLY
    je .Lvector
    scalar_initial SCALAR_C, SCALAR_C
    xor sd0, sd0

/* The run's loop: a double round of one set, then a turn of integer work. */
.Lvector:
    mov set, [rsi + CURRENT]
    vector_double_round
    mov sc, [rsi + SETS_SUM]
    sub sc, [rsi + CURRENT]
    mov [rsi + CURRENT], sc
.Lturn:
    cmp dword ptr [rsi + PHASE], PHASE_POLY
    je .Lturn_poly
    scalar_double_round SCALAR_C
    dec dword ptr [rsi + SCALAR]
    jnz .Lturn_end
    cmp dword ptr [rsi + PHASE], PHASE_KEY
    je .Lkey_done
    jmp .Lextra_done
.Lturn_poly:
    lea rax, [message + 32]
    cmp rax, [rsi + LIMIT]
    ja .Lturn_end
    poly_block [message], [message + 8]
    poly_block [message + 16], [message + 24]
    add message, 32
.Lturn_end:
    dec dword ptr [rsi + LEFT]
    jz .Lrun_end
    mov sc, [rsi + LEFT]
    test sc, [rsi + SINGLE]
    jnz .Lturn
    jmp .Lvector

/* Block 0 is done: r = its words 0..3, clamped, s = words 4..7 (RFC 8439, 2.6); then the associated data. */
.Lkey_done:
    mov r14, [rsi + ARGS]
    mov r13, [r14 + SEALANE_ARG_KEY]
    add sa0, 0x61707865
    add sa1, 0x3320646e
    add sa2, 0x79622d32
    add sa3, 0x6b206574
    add sb0, [r13]
    add sb1, [r13 + 4]
    add sb2, [r13 + 8]
    add sb3, [r13 + 12]
    shl r8, 32
    or rdi, r8
    shl r10, 32
    or r9, r10
    mov [rsi + POLY_S], rdi
    mov [rsi + POLY_S + 8], r9
    shl rbx, 32
    or rax, rbx
    shl rdx, 32
    or rcx, rdx
    mov r0, 0x0ffffffc0fffffff
    lea r1, [r0 - 3]
    and r0, rax
    and r1, rcx
    mov s1, r1
    shr s1, 2
    add s1, r1
    xor h0, h0
    xor h1, h1
    xor h2, h2
    mov message, [r14 + SEALANE_ARG_AD]
    mov r13, [r14 + SEALANE_ARG_AD_BYTES]
    mov [rsi + AD_LEFT], r13
.Lad:
    sub qword ptr [rsi + AD_LEFT], 16
    jb .Lad_tail
    poly_block [message], [message + 8]
    add message, 16
    jmp .Lad
.Lad_tail:
    mov r15, [rsi + AD_LEFT]
    add r15, 16
    jz .Lad_done
    mov r13, message
    load_partial ad
    poly_block rax, rdx
.Lad_done:
    mov message, [rsi + IN]
    test dword ptr [rsi + FLAGS], SEALANE_FLAG_OPEN
    jnz .Lad_next
    mov message, [rsi + OUT]
.Lad_next:
    mov ecx, [rsi + EXTRA]
    cmp ecx, 1
    jb .Lpoly_next                      /* no extra block */
    ja .Lrun_end                        /* short packet: all is there */
    mov [rsi + POLY_H], h0
    mov [rsi + POLY_H + 8], h1
    mov [rsi + POLY_H + 16], h2
    mov [rsi + POLY_R], r0
    mov [rsi + POLY_R + 8], r1
    mov [rsi + POLY_R + 16], s1
    mov [rsi + MESSAGE], message
    mov dword ptr [rsi + PHASE], PHASE_EXTRA
    mov dword ptr [rsi + SCALAR], 10
    scalar_initial SCALAR_C, SCALAR_C
    mov sd0, [rsi + EXTRA_COUNTER]
    jmp .Lturn_end

/* Keystream of the extra block. */
.Lextra_done:
    mov r15, [rsi + ARGS]
    mov r15, [r15 + SEALANE_ARG_KEY]
    add sa0, 0x61707865
    add sa1, 0x3320646e
    add sa2, 0x79622d32
    add sa3, 0x6b206574
    mov [rsi + EXTRA_STREAM], sa0
    mov [rsi + EXTRA_STREAM + 4], sa1
    mov [rsi + EXTRA_STREAM + 8], sa2
    mov [rsi + EXTRA_STREAM + 12], sa3
    add sb0, [r15]
    add sb1, [r15 + 4]
    add sb2, [r15 + 8]
    add sb3, [r15 + 12]
    mov [rsi + EXTRA_STREAM + 16], sb0
    mov [rsi + EXTRA_STREAM + 20], sb1
    mov [rsi + EXTRA_STREAM + 24], sb2
    mov [rsi + EXTRA_STREAM + 28], sb3
    .irp i, 0, 4, 8, 12
    mov eax, [rsi + SCALAR_C + \i]
    add eax, [r15 + 16 + \i]
    mov [rsi + EXTRA_STREAM + 32 + \i], eax
    .endr
    mov r15, [rsi + ARGS]
    mov r15, [r15 + SEALANE_ARG_NONCE]
    add sd0, [rsi + EXTRA_COUNTER]
    add sd1, [r15]
    add sd2, [r15 + 4]
    add sd3, [r15 + 8]
    mov [rsi + EXTRA_STREAM + 48], sd0
    mov [rsi + EXTRA_STREAM + 52], sd1
    mov [rsi + EXTRA_STREAM + 56], sd2
    mov [rsi + EXTRA_STREAM + 60], sd3
    cmp dword ptr [rsi + EXTRA], 2
    je .Lshort_key
    mov h0, [rsi + POLY_H]
    mov h1, [rsi + POLY_H + 8]
    mov h2, [rsi + POLY_H + 16]
    mov r0, [rsi + POLY_R]
    mov r1, [rsi + POLY_R + 8]
    mov s1, [rsi + POLY_R + 16]
    mov message, [rsi + MESSAGE]
.Lpoly_next:
    mov dword ptr [rsi + PHASE], PHASE_POLY
    jmp .Lturn_end

/* The run's keystream is there. Open: authenticate its input before it may be overwritten. */
.Lrun_end:
    test dword ptr [rsi + FLAGS], SEALANE_FLAG_OPEN
    jz .Lencrypt
.Lauthenticate:
    cmp message, [rsi + LIMIT]
    jae .Lauthenticated
    poly_block [message], [message + 8]
    add message, 16
    jmp .Lauthenticate
.Lauthenticated:
    cmp dword ptr [rsi + CHUNK], 0
    je .Lfinish

.Lencrypt:
    mov dword ptr [rsi + CHUNK], 0
    mov r13, [rsi + IN]
    mov r14, [rsi + OUT]
    mov rax, [rsi + REMAINING]
    lea rdx, [rsi + EXTRA_STREAM]
    cmp dword ptr [rsi + EXTRA], 0
    je .Lencrypt_sets
    cmp rax, 64
    jbe .Lencrypt_stream
.Lencrypt_sets:
    lea r15, [rsi + SET_A]
.Lencrypt_set:
    cmp rax, 256
    jae .Lencrypt_full
    pxor xmm0, xmm0                     /* an incomplete set: its keystream first */
    .irp i, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
    movdqa [rsi + STREAM + 16*\i], xmm0
    .endr
    lea rdx, [rsi + STREAM]
    mov r13, rdx
    mov r14, rdx
.Lencrypt_full:
    encrypt_quarter 0
    encrypt_quarter 1
    encrypt_quarter 2
    encrypt_quarter 3
    mov rcx, [rsi + CONSTANTS]
    movdqa xmm0, [rsi + INITIAL + 192]
    paddd xmm0, [rcx + CONST_FOUR]
    movdqa [rsi + INITIAL + 192], xmm0
    cmp rax, 256
    jb .Lencrypt_partial
    add r13, 256
    add r14, 256
    mov [rsi + IN], r13
    mov [rsi + OUT], r14
    sub rax, 256
    mov [rsi + REMAINING], rax
    jz .Lencrypted
    cmp dword ptr [rsi + SINGLE], 0
    jne .Lrun
    lea rcx, [rsi + SET_B]
    cmp r15, rcx
    je .Lrun
    mov r15, rcx
    jmp .Lencrypt_set
.Lencrypt_partial:
    mov r13, [rsi + IN]
    mov r14, [rsi + OUT]

/* The last rax < 256 bytes, with keystream at rdx. */
.Lencrypt_stream:
    sub rax, 16
    jb .Lencrypt_tail
.Lencrypt_16:
    movdqu xmm0, [r13]
    movdqa xmm1, [rdx]
    pxor xmm0, xmm1
    movdqu [r14], xmm0
    add r13, 16
    add r14, 16
    add rdx, 16
    sub rax, 16
    jae .Lencrypt_16
.Lencrypt_tail:
    mov [rsi + OUT], r14
    lea r15, [rax + 16]
    test r15, r15
    jz .Lencrypted
    movdqa xmm1, [rdx]
    load_partial text
    movd xmm0, rax
    movd xmm2, rdx
    punpcklqdq xmm0, xmm2
    pxor xmm1, xmm0
    mov rcx, [rsi + CONSTANTS]
    sub rcx, r15
    movdqu xmm2, [rcx + CONST_MASK + 16]
    pand xmm1, xmm2
    movdqa [rsi + TAIL], xmm0
    test dword ptr [rsi + FLAGS], SEALANE_FLAG_OPEN
    jnz .Lencrypt_tail_store
    movdqa [rsi + TAIL], xmm1
.Lencrypt_tail_store:
    movd rax, xmm1
    punpckhqdq xmm1, xmm1
    movd rdx, xmm1
    cmp r15d, 8
    jae .Lstore8
    cmp r15d, 4
    jae .Lstore4
    mov [r14], al                       /* 1..3: first, middle, last byte */
    mov edx, r15d
    shr edx, 1
    lea ecx, [rdx*8]
    mov r13d, eax
    shr r13d, cl
    mov [r14 + rdx], r13b
    lea ecx, [r15*8 - 8]
    shr eax, cl
    mov [r14 + r15 - 1], al
    jmp .Lencrypted
.Lstore4:
    mov [r14], eax
    lea ecx, [r15*8 - 32]
    shr rax, cl
    mov [r14 + r15 - 4], eax
    jmp .Lencrypted
.Lstore8:
    mov [r14], rax
    lea ecx, [r15*8 - 64]
    shrd rax, rdx, cl
    mov [r14 + r15 - 8], rax

/* All text is encrypted: authenticate what is left of it. */
.Lencrypted:
    test dword ptr [rsi + FLAGS], SEALANE_FLAG_OPEN
    jnz .Lfinish
    mov rax, [rsi + OUT]
    mov [rsi + LIMIT], rax
    jmp .Lauthenticate

.Lfinish:
    mov r15, [rsi + ARGS]
    mov rax, [r15 + SEALANE_ARG_BYTES]
    test dword ptr [rsi + FLAGS], SEALANE_FLAG_LAST
    jz .Lsave
    test al, 15
    jz .Llengths
    poly_block [rsi + TAIL], [rsi + TAIL + 8]
    mov r15, [rsi + ARGS]
.Llengths:
    poly_block [r15 + SEALANE_ARG_AD_BYTES], [r15 + SEALANE_ARG_TOTAL]

/* tag = (h mod 2^130 - 5) + s mod 2^128; h < 2p, and h >= p if h + 5 reaches 2^130. */
    mov r15, [rsi + ARGS]
    mov r15, [r15 + SEALANE_ARG_TAG]
    mov rax, h0
    mov rdx, h1
    add rax, 5
    adc rdx, 0
    adc h2, 0
    shr h2, 2
    cmovnz h0, rax
    cmovnz h1, rdx
    add h0, [rsi + POLY_S]
    adc h1, [rsi + POLY_S + 8]
    mov [r15], h0
    mov [r15 + 8], h1
    jmp .Lwipe

.Lsave:
    mov r15, [r15 + SEALANE_ARG_STATE]
    shr rax, 6
    add eax, [rsi + COUNTER]
    mov [r15 + SEALANE_STATE_COUNTER], rax
    mov [r15 + SEALANE_STATE_H], h0
    mov [r15 + SEALANE_STATE_H + 8], h1
    mov [r15 + SEALANE_STATE_H + 16], h2
    mov [r15 + SEALANE_STATE_R], r0
    mov [r15 + SEALANE_STATE_R + 8], r1
    mov rax, [rsi + POLY_S]
    mov rdx, [rsi + POLY_S + 8]
    mov [r15 + SEALANE_STATE_S], rax
    mov [r15 + SEALANE_STATE_S + 8], rdx

.Lwipe:
    pxor xmm0, xmm0
    lea rax, [rsi + SHORT_END]
    lea rcx, [rsi + END]
    cmp dword ptr [rsi + EXTRA], 2
    cmove rcx, rax
    lea rax, [rsi - 128]
.Lwipe_16:
    movdqa [rax], xmm0
    add rax, 16
    cmp rax, rcx
    jne .Lwipe_16
    sub rsi, FRAME
endfunction

constants sealane_chacha20poly1305_ssse3_constants
    .byte 2, 3, 0, 1, 6, 7, 4, 5, 10, 11, 8, 9, 14, 15, 12, 13
    .byte 3, 0, 1, 2, 7, 4, 5, 6, 11, 8, 9, 10, 15, 12, 13, 14
    .long 0x61707865, 0x3320646e, 0x79622d32, 0x6b206574
    .long 0, 1, 2, 3
    .long 4, 4, 4, 4
    .quad -1, -1, 0, 0
endconstants

#endif
