/* ChaCha20-Poly1305 (RFC 8439) for x86-64 with SSSE3: seals or opens one packet, or one part of a long one.
 *
 *     void sealane_chacha20poly1305_ssse3(const args *a, void *scratch, const void *consts);
 *
 * CPU        SSE2, SSSE3
 * args       reads all of SEALANE_ARG_* (asm/args.h); writes OUT[BYTES] and, by FLAGS, TAG[16] or STATE[64];
 *            key and nonce are read before anything is written
 * scratch    writes less than 1 KiB behind the saved registers, and wipes it; stack 0
 * consts     sealane_chacha20poly1305_ssse3_constants
 * registers  all but rsp, rbp; rsi holds scratch, displaced by FRAME until the end
 * branches   and addresses depend on BYTES, AD_BYTES, FLAGS only
 *
 * ChaCha20 (2.3): 4 x 4 words, rows a (constants), b, c (key), d (counter, nonce); 10 double rounds, on the 4 columns, then
 * on the 4 diagonals, of    a += b, d = (d ^ a) <<< 16;  c += d, b = (b ^ c) <<< 12;
 *                           a += b, d = (d ^ a) <<< 8;   c += d, b = (b ^ c) <<< 7;
 * the keystream is the result plus the initial state. Block 0 gives the Poly1305 key (2.6), blocks 1, 2, .. the text's.
 *
 * Poly1305 (2.5): h = (h + m) r mod 2^130 - 5 for each 16-byte block m with a one above it. With h = h0 + 2^64 h1 + 2^128 h2,
 * r = r0 + 2^64 r1, and 4 | r1 (r is clamped), 2^130 = 5 makes 2^128 r1 = s1 := r1 + r1/4, so
 *     h r = p + 2^64 q,   p = h0 r0 + h1 s1 + 2^64 h2 s1,   q = h0 r1 + h1 r0 + 2^64 h2 r0,
 * and what lies at 2^130 and above returns below, times 5. While h2 < 10 nothing overflows; each step leaves h2 < 6.
 *
 * Text is made in runs of 5 blocks. Four are a "set" of 16 vectors, each one word of 4 blocks; a set waits for its own
 * results half of the time, so the integer units make the fifth block meanwhile, and absorb 20 blocks into Poly1305: of
 * the input (open), or of what the previous run wrote (seal). In the first run they make block 0 instead of absorbing.
 * Up to 64 bytes take no vectors: integer units need 1 cycle per operation where vectors need 2 on some CPUs.
 */
#include "../asm.S"

#if defined(__x86_64__)

isa .sse2 .ssse3

/* Scratch, relative to the displaced rsi: what the loops use lies within 127 bytes. */
#define FRAME (SEALANE_SCRATCH_SAVE_BYTES + 128)
#define ROTATE16 -128     /* byte shuffles */
#define ROTATE8 -112
#define BLOCK -96         /* the block in integer registers, while they are needed elsewhere; its row c always */
#define SET_C -32         /* row c of the set */
#define POLY_R 32         /* r0, r1, s1 */
#define POLY_H 56         /* h0, h1, h2 */
#define MESSAGE 80        /* authenticate from here */
#define LIMIT 88          /* up to here */
#define LEFT 96           /* double rounds left */
#define PHASE 100         /* what the integer registers do: PHASE_* */
#define FLAGS 104
#define COUNTER 108       /* of the first block of text in this call */
#define ARGS 112
#define NEXT 120          /* what follows authentication: NEXT_* */
#define BLOCK_COUNTER 124 /* of the block in integer registers */
#define OUT 128
#define IN 136
#define REMAINING 144     /* bytes of text to encrypt */
#define CONSTANTS 152
#define POLY_S 160
#define TAIL 176          /* last bytes of associated data or text as authenticated, padded with zeroes to 16 */
#define LENGTHS 192       /* bytes of both */
#define STATE 208         /* initial state but for the counter */
#define INITIAL 320       /* initial state of the set, each word 4 times */
#define STREAM 704        /* keystream of an incomplete set, by its middle */
#define END 832

#define PHASE_KEY 0       /* block 0 */
#define PHASE_TEXT 1      /* a block of text */

#define NEXT_AD_TAIL 0    /* the associated data's incomplete block */
#define NEXT_TEXT 1       /* the rest of the first run */
#define NEXT_ENCRYPT 2    /* this run's text */
#define NEXT_LENGTHS 3    /* the text's incomplete block, and the lengths */
#define NEXT_TAG 4

#define CONST_ROTATE16 0
#define CONST_ROTATE8 16
#define CONST_SIGMA 32
#define CONST_COUNT 48    /* 0, 1, 2, 3 */
#define CONST_FIVE 64     /* 5, 5, 5, 5 */
#define CONST_MASK 80     /* 16 bytes of ones, 16 of zeroes */

/* Vectors, in the loops: rows a, b, d of a set, two of row c, two temporaries. */
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

/* Poly1305: accumulator, message, r, sums. */
#define h0 rbx
#define h1 rdi
#define h2 r8
#define h0d ebx
#define h1d edi
#define h2d r8d
#define message r9
#define r0 r10
#define r1 r11
#define s1 r12
#define p0 r13
#define p1 r14
#define q0 r15
#define q1 rcx

/* Outside the loops: the block made in integer registers, input; pointers and the text left. */
#define block_a xmm0
#define block_b xmm1
#define block_c xmm2
#define block_d xmm3
#define text_a xmm4
#define text_b xmm5
#define text_c xmm6
#define text_d xmm7
#define key r13
#define nonce r14
#define input r13
#define output r14
#define bytes r15
#define bytes_d r15d

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

/* Two quarter rounds (RFC 8439, 2.1); between their steps, integer work items 4 \k .. 4 \k + 3. */
.macro vector_quarters ax, bx, cx, dx, ay, by, cy, dy, work, k
    paddd \ax, \bx
    paddd \ay, \by
    pxor \dx, \ax
    pxor \dy, \ay
    pshufb \dx, [rsi + ROTATE16]
    pshufb \dy, [rsi + ROTATE16]
    \work 4*\k
    paddd \cx, \dx
    paddd \cy, \dy
    pxor \bx, \cx
    pxor \by, \cy
    vector_rotate \bx, \by, 12
    \work 4*\k+1
    paddd \ax, \bx
    paddd \ay, \by
    pxor \dx, \ax
    pxor \dy, \ay
    pshufb \dx, [rsi + ROTATE8]
    pshufb \dy, [rsi + ROTATE8]
    \work 4*\k+2
    paddd \cx, \dx
    paddd \cy, \dy
    pxor \bx, \cx
    pxor \by, \cy
    vector_rotate \bx, \by, 7
    \work 4*\k+3
.endm

/* A double round of the set, with 16 items of integer work; c2, c3 are in memory before and after, c0, c1 in registers. */
.macro vector_double_round work
    vector_quarters va0, vb0, vc0, vd0, va1, vb1, vc1, vd1, \work, 0
    movdqa [rsi + SET_C], vc0
    movdqa [rsi + SET_C + 16], vc1
    movdqa vc0, [rsi + SET_C + 32]
    movdqa vc1, [rsi + SET_C + 48]
    vector_quarters va2, vb2, vc0, vd2, va3, vb3, vc1, vd3, \work, 1
    vector_quarters va0, vb1, vc0, vd3, va1, vb2, vc1, vd0, \work, 2
    movdqa [rsi + SET_C + 32], vc0
    movdqa [rsi + SET_C + 48], vc1
    movdqa vc0, [rsi + SET_C]
    movdqa vc1, [rsi + SET_C + 16]
    vector_quarters va2, vb3, vc0, vd1, va3, vb0, vc1, vd2, \work, 3
.endm

/* ---- ChaCha20 in integer registers ---- */

.macro scalar_quarter a, b, c, d
    add \a, \b
    xor \d, \a
    rol \d, 16
    mov sc, [rsi + BLOCK + 32 + 4*\c]
    add sc, \d
    xor \b, sc
    rol \b, 12
    add \a, \b
    xor \d, \a
    rol \d, 8
    add sc, \d
    mov [rsi + BLOCK + 32 + 4*\c], sc
    xor \b, sc
    rol \b, 7
.endm

/* The quarter rounds 0..7 of a double round. */
.macro scalar_step k
    .if (\k) == 0
    scalar_quarter sa0, sb0, 0, sd0
    .elseif (\k) == 1
    scalar_quarter sa1, sb1, 1, sd1
    .elseif (\k) == 2
    scalar_quarter sa2, sb2, 2, sd2
    .elseif (\k) == 3
    scalar_quarter sa3, sb3, 3, sd3
    .elseif (\k) == 4
    scalar_quarter sa0, sb1, 2, sd3
    .elseif (\k) == 5
    scalar_quarter sa1, sb2, 3, sd0
    .elseif (\k) == 6
    scalar_quarter sa2, sb3, 0, sd1
    .else
    scalar_quarter sa3, sb0, 1, sd2
    .endif
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

/* BLOCK = the initial state with counter eax; uses vt0, vt1. */
.macro scalar_initial
    mov [rsi + BLOCK_COUNTER], eax
    movdqa vt0, [rsi + STATE]
    movdqa vt1, [rsi + STATE + 16]
    movdqa [rsi + BLOCK], vt0
    movdqa [rsi + BLOCK + 16], vt1
    movdqa vt0, [rsi + STATE + 32]
    movd vt1, eax
    movdqa [rsi + BLOCK + 32], vt0
    paddd vt1, [rsi + STATE + 48]
    movdqa [rsi + BLOCK + 48], vt1
.endm

/* ---- Poly1305 ---- */

/* h = (h + \lo + 2^64 \hi + 2^128) r, in steps 0..3; uses rax, rdx, p, q. */
.macro poly_step k, lo, hi
    .if (\k) == 0
    add h0, \lo
    adc h1, \hi
    adc h2, 1
    mov rax, r1
    mul h0                  /* h0 r1 */
    mov q0, rax
    mov q1, rdx
    mov rax, r0
    imul rax, h2            /* h2 r0 */
    add q1, rax
    .elseif (\k) == 1
    mov rax, r0
    mul h1                  /* h1 r0 */
    add q0, rax
    adc q1, rdx
    mov rax, r0
    mul h0                  /* h0 r0 */
    mov p0, rax
    mov p1, rdx
    .elseif (\k) == 2
    mov rax, s1
    mul h1                  /* h1 s1 */
    add p0, rax
    adc p1, rdx
    imul h2, s1             /* h2 s1 */
    add p1, h2              /* p < 2^128 */
    .else
    mov h2, q1
    and h2d, 3
    mov rax, q1
    and rax, -4
    shr q1, 2
    add rax, q1             /* 5 (q >> 66): what is above 2^130 but for the next carry, which stays in h2 */
    add p1, q0
    adc h2, 0
    mov h0, p0
    mov h1, p1
    add h0, rax
    adc h1, 0
    adc h2, 0
    .endif
.endm

.macro poly_block lo, hi
    poly_step 0, \lo, \hi
    poly_step 1
    poly_step 2
    poly_step 3
.endm

.macro poly_load
    mov h0, [rsi + POLY_H]
    mov h1, [rsi + POLY_H + 8]
    mov h2, [rsi + POLY_H + 16]
    mov r0, [rsi + POLY_R]
    mov r1, [rsi + POLY_R + 8]
    mov s1, [rsi + POLY_R + 16]
    mov message, [rsi + MESSAGE]
.endm

.macro poly_store_h
    mov [rsi + POLY_H], h0
    mov [rsi + POLY_H + 8], h1
    mov [rsi + POLY_H + 16], h2
.endm

.macro poly_store
    poly_store_h
    mov [rsi + POLY_R], r0
    mov [rsi + POLY_R + 8], r1
    mov [rsi + POLY_R + 16], s1
    mov [rsi + MESSAGE], message
.endm

/* rdx:rax = bytes 0 .. bytes - 1 of input, bytes = 1..15, reading no others; uses rcx. */
.macro load_partial name
    xor edx, edx
    cmp bytes_d, 8
    jae .Lload8_\name
    cmp bytes_d, 4
    jae .Lload4_\name
    mov ecx, bytes_d           /* 1..3: first, middle, last byte */
    shr ecx, 1
    movzx eax, byte ptr [input + rcx]
    shl ecx, 3
    shl eax, cl
    movzx ecx, byte ptr [input]
    or eax, ecx
    movzx edx, byte ptr [input + bytes - 1]
    lea ecx, [bytes*8 - 8]
    shl edx, cl
    or eax, edx
    xor edx, edx
    jmp .Lloaded_\name
.Lload4_\name:
    lea ecx, [bytes*8 - 32]
    mov edx, [input + bytes - 4]
    shl rdx, cl
    mov eax, [input]
    or rax, rdx
    xor edx, edx
    jmp .Lloaded_\name
.Lload8_\name:
    imul ecx, bytes_d, -8
    add ecx, 120            /* 8 (15 - bytes) */
    mov rdx, [input + bytes - 8]
    shr rdx, cl
    shr rdx, 8
    mov rax, [input]
.Lloaded_\name:
.endm

/* ---- integer work between the vectors' steps, items 0..15 ---- */

/* Two double rounds of the block, which stays in its registers. */
.macro work_scalar k
    scalar_step ((\k)&7)
.endm

/* One double round of the block, then two message blocks, if there are two; else the result is not kept. */
.macro work_both k
    .if (\k) == 0
    scalar_load BLOCK
    .elseif (\k) == 8
    scalar_store BLOCK
    poly_load
    lea rax, [message + 32]
    cmp rax, [rsi + LIMIT]
    cmova message, rsi
    .endif
    .if (\k) < 8
    scalar_step (\k)
    .else
    poly_step ((\k)&3), [message+4*((\k)&4)], [message+4*((\k)&4)+8]
    .endif
    .if (\k) == 15
    mov rax, [rsi + MESSAGE]
    add rax, 32
    cmp rax, [rsi + LIMIT]
    .endif
.endm

/* ---- output ---- */

/* 4 words of each of the set's blocks, as 16 bytes at 16 \g of each, xor input to output;
 * input, output and rcx point to the middles of both texts and INITIAL. */
.macro encrypt_quarter g, w0, w1, w2, w3, t0, t1, t2, t3
    paddd \w0, [rcx + 64*\g - 128]
    paddd \w1, [rcx + 64*\g + 16 - 128]
    paddd \w2, [rcx + 64*\g + 32 - 128]
    paddd \w3, [rcx + 64*\g + 48 - 128]
    movdqa \t0, \w0
    movdqa \t1, \w2
    punpckldq \w0, \w1
    punpckhdq \t0, \w1
    punpckldq \w2, \w3
    punpckhdq \t1, \w3
    movdqa \w1, \w0
    movdqa \w3, \t0
    punpcklqdq \w0, \w2         /* block 0 */
    punpckhqdq \w1, \w2         /* block 1 */
    punpcklqdq \t0, \t1         /* block 2 */
    punpckhqdq \w3, \t1         /* block 3 */
    movdqu \w2, [input + 16*\g - 128]
    movdqu \t1, [input + 16*\g + 64 - 128]
    movdqu \t2, [input + 16*\g + 128 - 128]
    movdqu \t3, [input + 16*\g + 192 - 128]
    pxor \w0, \w2
    pxor \w1, \t1
    pxor \t0, \t2
    pxor \w3, \t3
    movdqu [output + 16*\g - 128], \w0
    movdqu [output + 16*\g + 64 - 128], \w1
    movdqu [output + 16*\g + 128 - 128], \t0
    movdqu [output + 16*\g + 192 - 128], \w3
.endm

/* LIMIT and bytes = REMAINING. Seal: what was written before the next run; open: that run's input. */
.macro set_limit
    mov bytes, [rsi + REMAINING]
    mov eax, 320
    cmp rax, bytes
    cmova rax, bytes
    and rax, -16
    add rax, [rsi + IN]
    test byte ptr [rsi + FLAGS], SEALANE_FLAG_OPEN
    cmovz rax, [rsi + OUT]
    mov [rsi + LIMIT], rax
.endm

.macro broadcast row, source
    .irp i, 0, 1, 2, 3
    pshufd text_d, \source, 0x55*\i
    movdqa [rcx + 64*\row + 16*\i - 128], text_d
    .endr
.endm

/* ---- the kernel ---- */

scratch_end 1216
function sealane_chacha20poly1305_ssse3
    add rsi, FRAME
    mov eax, [rdi + SEALANE_ARG_FLAGS]
    mov bytes, [rdi + SEALANE_ARG_BYTES]
    mov rcx, [rdi + SEALANE_ARG_IN]
    mov r8, [rdi + SEALANE_ARG_OUT]
    mov key, [rdi + SEALANE_ARG_KEY]
    mov nonce, [rdi + SEALANE_ARG_NONCE]
    mov [rsi + ARGS], rdi
    mov [rsi + CONSTANTS], rdx
    mov [rsi + FLAGS], eax
    mov [rsi + IN], rcx
    mov [rsi + OUT], r8
    mov [rsi + REMAINING], bytes
    movdqa block_a, [rdx + CONST_SIGMA]
    movdqu block_b, [key]
    movdqu block_c, [key + 16]
    movd text_a, dword ptr [nonce + 8]
    movq block_d, qword ptr [nonce]
    punpcklqdq block_d, text_a
    pshufd block_d, block_d, 0x93             /* ?, nonce */
    movdqa [rsi + STATE], block_a
    movdqa [rsi + STATE + 16], block_b
    movdqa [rsi + STATE + 32], block_c
    movdqa [rsi + STATE + 48], block_d
    movdqa [rsi + BLOCK], block_a          /* block 0 */
    movdqa [rsi + BLOCK + 16], block_b
    movdqa [rsi + BLOCK + 32], block_c
    movdqa [rsi + BLOCK + 48], block_d
    test al, SEALANE_FLAG_FIRST
    jz .Lresume
    mov dword ptr [rsi + COUNTER], 1
    cmp r15, 64
    ja .Llong

/* A packet of at most 64 bytes: blocks 0 and 1 in integer registers, one after the other. */
    mov dword ptr [rsi + PHASE], PHASE_KEY
    jmp .Lscalar_block

/* A block, with counter eax, in integer registers alone. */
.Lscalar_block_eax:
    scalar_initial
.Lscalar_block:
    scalar_load BLOCK
    mov dword ptr [rsi + LEFT], 10
.Lscalar_loop:
    .irp i, 0, 1, 2, 3, 4, 5, 6, 7
    scalar_step \i
    .endr
    dec dword ptr [rsi + LEFT]
    jnz .Lscalar_loop
    cmp dword ptr [rsi + PHASE], PHASE_KEY
    je .Lkey
    scalar_store BLOCK
    jmp .Lrun_end

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
    mov message, [rsi + IN]
    test byte ptr [rsi + FLAGS], SEALANE_FLAG_OPEN
    cmovz message, [rsi + OUT]
    poly_store
    mov dword ptr [rsi + PHASE], PHASE_TEXT
    test r15, r15
    jz .Lencrypted
    jmp .Linitial
.Llong:
    mov dword ptr [rsi + PHASE], PHASE_KEY

/* The initial state of the set. */
.Linitial:
    movdqa text_a, [rdx + CONST_ROTATE16]
    movdqa text_b, [rdx + CONST_ROTATE8]
    movdqa [rsi + ROTATE16], text_a
    movdqa [rsi + ROTATE8], text_b
    lea rcx, [rsi + INITIAL + 128]
    broadcast 0, block_a
    broadcast 1, block_b
    broadcast 2, block_c
    broadcast 3, block_d
    movd block_d, dword ptr [rsi + COUNTER]
    pshufd block_d, block_d, 0
    paddd block_d, [rdx + CONST_COUNT]
    movdqa [rcx + 64], block_d

    jmp .Lrun
.Lrun_block:
    mov eax, [rsi + INITIAL + 192]
    jmp .Lscalar_block_eax

/* One run: a set of 4 blocks in vectors, and a fifth in integer registers. */
.Lrun:
    set_limit
    cmp r15, 64
    jbe .Lrun_block
    lea rcx, [rsi + INITIAL + 128]
    movdqa vc0, [rcx + 32]
    movdqa vc1, [rcx + 48]
    movdqa [rsi + SET_C + 32], vc0
    movdqa [rsi + SET_C + 48], vc1
    movdqa vc0, [rcx]
    movdqa vc1, [rcx + 16]
    movdqa va0, [rcx - 128]
    movdqa va1, [rcx - 112]
    movdqa va2, [rcx - 96]
    movdqa va3, [rcx - 80]
    movdqa vb0, [rcx - 64]
    movdqa vb1, [rcx - 48]
    movdqa vb2, [rcx - 32]
    movdqa vb3, [rcx - 16]
    movdqa vd0, [rcx + 64]
    movdqa vd1, [rcx + 80]
    movdqa vd2, [rcx + 96]
    movdqa vd3, [rcx + 112]
    cmp dword ptr [rsi + PHASE], PHASE_KEY
    je .Lrun_key
    mov eax, [rsi + INITIAL + 192]
    add eax, 4
    scalar_initial
    mov dword ptr [rsi + LEFT], 10

.Lboth:
    vector_double_round work_both
    ja .Lboth_next
    mov [rsi + MESSAGE], rax
    poly_store_h
.Lboth_next:
    dec dword ptr [rsi + LEFT]
    jnz .Lboth
    jmp .Lrun_end

.Ltext_fifth:
    scalar_initial
.Lrun_key:
    scalar_load BLOCK
    mov dword ptr [rsi + LEFT], 5
.Lscalar:
    vector_double_round work_scalar
    dec dword ptr [rsi + LEFT]
    jnz .Lscalar
    cmp dword ptr [rsi + PHASE], PHASE_KEY
    je .Lkey
    scalar_store BLOCK
    jmp .Lrun_end

/* Block 0 is done: r = its words 0..3, clamped, s = words 4..7 (RFC 8439, 2.6); then the associated data. */
.Lkey:
    add sa0, [rsi + STATE]
    add sa1, [rsi + STATE + 4]
    add sa2, [rsi + STATE + 8]
    add sa3, [rsi + STATE + 12]
    add sb0, [rsi + STATE + 16]
    add sb1, [rsi + STATE + 20]
    add sb2, [rsi + STATE + 24]
    add sb3, [rsi + STATE + 28]
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
    xor h0d, h0d
    xor h1d, h1d
    xor h2d, h2d
    mov r14, [rsi + ARGS]
    mov message, [r14 + SEALANE_ARG_AD]
    mov r15, [r14 + SEALANE_ARG_AD_BYTES]
    test r15, r15
    jz .Ltext
    mov dword ptr [rsi + NEXT], NEXT_AD_TAIL
    and r15, -16
    add r15, message
    mov [rsi + LIMIT], r15
    jmp .Lauthenticate
.Lad_tail:
    mov r14, [rsi + ARGS]
    mov r15d, [r14 + SEALANE_ARG_AD_BYTES]
    and r15d, 15
    jz .Ltext
    mov r13, message
    load_partial ad
    mov [rsi + TAIL], rax
    mov [rsi + TAIL + 8], rdx
    lea message, [rsi + TAIL]
    lea rax, [rsi + TAIL + 16]
    mov [rsi + LIMIT], rax
    mov dword ptr [rsi + NEXT], NEXT_TEXT
    jmp .Lauthenticate

/* Associated data is done: the text's first message block, and the block that the integer registers make next. */
.Ltext:
    set_limit
    mov message, [rsi + IN]
    test byte ptr [rsi + FLAGS], SEALANE_FLAG_OPEN
    cmovz message, [rsi + OUT]
    poly_store
    mov dword ptr [rsi + PHASE], PHASE_TEXT
    mov eax, 5
    cmp r15, 64
    ja .Ltext_long
    test r15, r15
    jz .Lencrypted
    mov eax, 1
    jmp .Lscalar_block_eax
.Ltext_long:
    cmp r15, 256
    ja .Ltext_fifth
    test byte ptr [rsi + FLAGS], SEALANE_FLAG_OPEN
    jz .Ltext_fifth
    mov [rsi + LEFT], eax
    jmp .Lboth                          /* the fifth block is not needed: authenticate instead */

/* The run's keystream is there. Open: authenticate its input before it may be overwritten. */
.Lrun_end:
    poly_load
    mov dword ptr [rsi + NEXT], NEXT_ENCRYPT
    test byte ptr [rsi + FLAGS], SEALANE_FLAG_OPEN
    jz .Lencrypt

/* Authenticate all from message to LIMIT, then do what NEXT says. */
.Lauthenticate:
    cmp message, [rsi + LIMIT]
    jae .Lauthenticated
    poly_block [message], [message+8]
    add message, 16
    jmp .Lauthenticate
.Lauthenticated:
    mov eax, [rsi + NEXT]
    cmp eax, NEXT_LENGTHS
    ja .Ltag
    je .Llengths
    cmp eax, NEXT_TEXT
    jb .Lad_tail
    je .Ltext

.Lencrypt:
    poly_store
    mov input, [rsi + IN]
    mov output, [rsi + OUT]
    mov bytes, [rsi + REMAINING]
    cmp bytes, 64
    jbe .Lencrypt_block
    sub input, -128
    sub output, -128
    lea rcx, [rsi + INITIAL + 128]
    cmp bytes, 256
    jae .Lencrypt_set
    pxor vt0, vt0                       /* an incomplete set: its keystream first */
    lea input, [rsi + STREAM]
    mov output, input
    .irp i, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
    movdqa [input + 16*\i - 128], vt0
    .endr
.Lencrypt_set:
    movdqa [rsi + SET_C], vc0
    movdqa [rsi + SET_C + 16], vc1
    encrypt_quarter 0, va0, va1, va2, va3, vc0, vc1, vt0, vt1
    encrypt_quarter 1, vb0, vb1, vb2, vb3, vc0, vc1, vt0, vt1
    encrypt_quarter 3, vd0, vd1, vd2, vd3, vc0, vc1, vt0, vt1
    movdqa va0, [rsi + SET_C]
    movdqa va1, [rsi + SET_C + 16]
    movdqa va2, [rsi + SET_C + 32]
    movdqa va3, [rsi + SET_C + 48]
    encrypt_quarter 2, va0, va1, va2, va3, vc0, vc1, vt0, vt1
    cmp bytes, 256
    jb .Lencrypt_partial
    sub input, -128
    sub output, -128
    sub bytes, 256
    mov rdx, [rsi + CONSTANTS]
    movdqa block_a, [rcx + 64]
    paddd block_a, [rdx + CONST_FIVE]
    movdqa [rcx + 64], block_a

/* Up to 64 bytes with the block made in integer registers. */
.Lencrypt_block:
    movdqa block_a, [rsi + BLOCK]
    movdqa block_b, [rsi + BLOCK + 16]
    movdqa block_c, [rsi + BLOCK + 32]
    movdqa block_d, [rsi + BLOCK + 48]
    movd text_a, dword ptr [rsi + BLOCK_COUNTER]
    paddd block_a, [rsi + STATE]
    paddd block_b, [rsi + STATE + 16]
    paddd block_c, [rsi + STATE + 32]
    paddd block_d, [rsi + STATE + 48]
    paddd block_d, text_a
    cmp bytes, 64
    jb .Lencrypt_short_block
    movdqu text_a, [input]
    movdqu text_b, [input + 16]
    movdqu text_c, [input + 32]
    movdqu text_d, [input + 48]
    pxor block_a, text_a
    pxor block_b, text_b
    pxor block_c, text_c
    pxor block_d, text_d
    movdqu [output], block_a
    movdqu [output + 16], block_b
    movdqu [output + 32], block_c
    movdqu [output + 48], block_d
    add input, 64
    add output, 64
    mov [rsi + IN], input
    mov [rsi + OUT], output
    sub bytes, 64
    mov [rsi + REMAINING], bytes
    jz .Lencrypted
    jmp .Lrun
.Lencrypt_short_block:
    movdqa [rsi + BLOCK], block_a
    movdqa [rsi + BLOCK + 16], block_b
    movdqa [rsi + BLOCK + 32], block_c
    movdqa [rsi + BLOCK + 48], block_d
    lea rdx, [rsi + BLOCK]
    jmp .Lencrypt_stream
.Lencrypt_partial:
    lea rdx, [rsi + STREAM - 128]
    mov input, [rsi + IN]
    mov output, [rsi + OUT]

/* The last bytes < 256 bytes, with keystream at rdx. */
.Lencrypt_stream:
    sub bytes, 16
    jb .Lencrypt_tail
.Lencrypt_16:
    movdqu block_a, [input]
    movdqa block_b, [rdx]
    pxor block_a, block_b
    movdqu [output], block_a
    add input, 16
    add output, 16
    add rdx, 16
    sub bytes, 16
    jae .Lencrypt_16
.Lencrypt_tail:
    mov [rsi + OUT], output
    add bytes, 16
    jz .Lencrypted
    movdqa block_b, [rdx]
    load_partial text
    movq block_a, rax
    movq block_c, rdx
    punpcklqdq block_a, block_c
    pxor block_b, block_a
    mov rcx, [rsi + CONSTANTS]
    sub rcx, bytes
    movdqu block_c, [rcx + CONST_MASK + 16]
    pand block_b, block_c
    movdqa [rsi + TAIL], block_a
    test byte ptr [rsi + FLAGS], SEALANE_FLAG_OPEN
    jnz .Lencrypt_tail_store
    movdqa [rsi + TAIL], block_b
.Lencrypt_tail_store:
    movq rax, block_b
    punpckhqdq block_b, block_b
    movq rdx, block_b
    cmp bytes_d, 8
    jae .Lstore8
    cmp bytes_d, 4
    jae .Lstore4
    mov [output], al                       /* 1..3: first, middle, last byte */
    mov edx, bytes_d
    shr edx, 1
    lea ecx, [rdx*8]
    mov r13d, eax
    shr r13d, cl
    mov [output + rdx], r13b
    lea ecx, [bytes*8 - 8]
    shr eax, cl
    mov [output + bytes - 1], al
    jmp .Lencrypted
.Lstore4:
    mov [output], eax
    lea ecx, [bytes*8 - 32]
    shr rax, cl
    mov [output + bytes - 4], eax
    jmp .Lencrypted
.Lstore8:
    mov [output], rax
    lea ecx, [bytes*8 - 64]
    shrd rax, rdx, cl
    mov [output + bytes - 8], rax

/* All text is encrypted: authenticate what is left of it, then its incomplete block, then the lengths. */
.Lencrypted:
    test byte ptr [rsi + FLAGS], SEALANE_FLAG_OPEN
    jnz .Llengths
    mov rax, [rsi + OUT]
    mov [rsi + LIMIT], rax
    mov dword ptr [rsi + NEXT], NEXT_LENGTHS
    jmp .Lauthenticate
.Llengths:
    mov r15, [rsi + ARGS]
    mov rax, [r15 + SEALANE_ARG_BYTES]
    test byte ptr [rsi + FLAGS], SEALANE_FLAG_LAST
    jz .Lsave
    mov rcx, [r15 + SEALANE_ARG_AD_BYTES]
    mov rdx, [r15 + SEALANE_ARG_TOTAL]
    mov [rsi + LENGTHS], rcx
    mov [rsi + LENGTHS + 8], rdx
    lea message, [rsi + LENGTHS]
    lea rcx, [message + 16]
    mov [rsi + LIMIT], rcx
    lea rcx, [rsi + TAIL]
    test al, 15
    cmovnz message, rcx
    mov dword ptr [rsi + NEXT], NEXT_TAG
    jmp .Lauthenticate

.Ltag:
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
    mov edx, [rsi + COUNTER]
    add rax, rdx                            // may be 2^32: behind the last block that there can be
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
    pxor block_a, block_a
    mov r15, [rsi + ARGS]
    mov edx, [r15 + SEALANE_ARG_FLAGS]
    lea rax, [rsi - 128]
    lea rcx, [rsi + END]
    test dl, SEALANE_FLAG_FIRST
    jz .Lwipe_16
    cmp qword ptr [r15 + SEALANE_ARG_BYTES], 64
    ja .Lwipe_16
    lea rcx, [rsi + INITIAL]
.Lwipe_16:
    movdqa [rax], block_a
    movdqa [rax + 16], block_a
    movdqa [rax + 32], block_a
    movdqa [rax + 48], block_a
    add rax, 64
    cmp rax, rcx
    jb .Lwipe_16
    sub rsi, FRAME
endfunction

constants sealane_chacha20poly1305_ssse3_constants
    .byte 2, 3, 0, 1, 6, 7, 4, 5, 10, 11, 8, 9, 14, 15, 12, 13
    .byte 3, 0, 1, 2, 7, 4, 5, 6, 11, 8, 9, 10, 15, 12, 13, 14
    .long 0x61707865, 0x3320646e, 0x79622d32, 0x6b206574
    .long 0, 1, 2, 3
    .long 5, 5, 5, 5
    .quad -1, -1, 0, 0
endconstants

#endif
