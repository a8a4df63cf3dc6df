/* AES in the modes that do not authenticate (NIST SP 800-38A, IEEE 1619), for the widths of x86-64's vectors.
 *
 * V is a vector register's name without the number, WIDTH the blocks in a vector: 1, 2 or 4. Eight vectors go
 * through the rounds at a time. The rest goes in steps of four, two and one, and of blocks that do not fill a
 * vector. A step takes its input, and goes through all rounds except the last (FIPS 197, 5.1; backwards 5.3.5). It
 * adds the mode's term for the output to the last round key, so that the last round adds both.
 *
 *   CTR   E(c), E(c + 1), ..      are added to the text; where the last word counts, in blocks whose bytes are reversed
 *   CBC   D(c) + the block before it; going through a step's vectors from the last to the first, so that no block is
 *         overwritten before it was added
 *   XTS   E(p + t) + t, t := t x for each block. All tweaks of eight vectors are in scratch memory; t x^(8 WIDTH) for
 *         the next eight is a shift by WIDTH bytes; the bytes shifted out, times x^7 + x^2 + x + 1, are added below
 *
 * Each includer has macros for its instructions. Loads and stores are x_load, x_store, x_load_partial,
 * x_store_partial (the bytes that are left), x_broadcast and x_broadcast_halves. The others are x_xor, x_enc,
 * x_enclast, x_dec, x_declast, and x_previous (the blocks before those of a vector).
 * x_broadcast_halves is for 16 bytes that two stores of 8 have just written. A load of all of them would wait until
 * both are in the cache.
 */

#define BYTES (16*WIDTH)

/* Constants. */
#define REVERSE 0    /* of 16 bytes */
#define POLY 16      /* x^7 + x^2 + x + 1 */
#define ROTATE 32    /* RotWord (FIPS 197, 5.2) of the first word, to all words */
#define RCON 48      /* round constants (FIPS 197, table 5), one byte each */
#define NEXT 64      /* WIDTH */
#define COUNT 80     /* 0 to 3: a block's place in its vector; and that in two qwords, and 64 less that */
#define LEFT 144
#define RIGHT 208
#define ROTATE_LAST 272 /* RotWord of the last word, to all words */
#define SAME 288     /* 16 bytes stay as they are */

.macro mode_constants
    .byte 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0
    .quad 0x87, 0
    .byte 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 0
    .byte 1, 2, 4, 8, 16, 32, 64, 128, 27, 54, 0, 0, 0, 0, 0, 0
    .long WIDTH, 0, 0, 0
    .long 0, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0
    .quad 0, 0, 1, 1, 2, 2, 3, 3
    .quad 64, 64, 63, 63, 62, 62, 61, 61
    .byte 13, 14, 15, 12, 13, 14, 15, 12, 13, 14, 15, 12, 13, 14, 15, 12
    .byte 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
.endm

/* Scratch. */
#define TWEAKS 256                  /* of eight vectors; of lanes: */
#define LANE 256                    /* eight pointers */
#define LANES_LEFT 320
#define LANE_BYTES 328
#define LANE_MODE 336
#define MODE_SCRATCH_END (TWEAKS + 8*BYTES)

/* Integer registers. */
#define args rdi
#define scratch rsi
#define consts rdx
#define round rcx    /* pointer to a round key */
#define backwards ebx
#define src r8
#define dst r9
#define text_left r10 /* bytes */
#define first_key r11
#define last_key r12
#define mode r13d
#define tweaks r14   /* pointer to those of the next vector */
#define state r15

/* Vector registers: 0 to 7 vectors, and */
#define vector0 VECTOR(0)
#define vector1 VECTOR(1)
#define rk VECTOR(8)
#define tmp VECTOR(9)
#define tmp2 VECTOR(10)
#define ctr VECTOR(11)   /* the next vector's counters, bytes reversed */
#define chain VECTOR(11) /* a vector whose last block is the one before the next vector */
#define reverse VECTOR(12)
#define poly VECTOR(12)
#define next VECTOR(13)
#define spare VECTOR(14)

/* All rounds of n vectors except the last. Afterwards rk is the last round key. The rounds of one vector are
 * unrolled, because a loop would take most of the time of such a short text. */
.macro rounds_but_last n, instruction
    .if \n == 1
    .irp i, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13
    .if \i == 10 || \i == 12
    lea round, [first_key + 16*\i]
    cmp round, last_key
    je 1f
    .endif
    x_broadcast rk, [first_key + 16*\i]
    \instruction V\()0, rk
    .endr
1:
    .else
    lea round, [first_key + 16]
1:
    x_broadcast rk, [round]
    .irp i, 0, 1, 2, 3, 4, 5, 6, 7
    .if \i < \n
    \instruction V\i, rk
    .endif
    .endr
    add round, 16
    cmp round, last_key
    jb 1b
    .endif
    x_broadcast rk, [last_key]
.endm

/* The last round of vector i, which adds u, and its output. */
.macro last_round i, instruction, partial
    \instruction V\i, tmp2
    .if \partial
    x_store_partial dst, V\i
    .else
    x_store [dst + BYTES*\i], V\i
    .endif
.endm

.macro input to, i, partial
    .if \partial
    x_load_partial \to, src
    .else
    x_load \to, [src + BYTES*\i]
    .endif
.endm

.macro outputs_alone n, instruction, partial
    .irp i, 0, 1, 2, 3, 4, 5, 6, 7
    .if \i < \n
    \instruction V\i, rk
    .if \partial
    x_store_partial dst, V\i
    .else
    x_store [dst + BYTES*\i], V\i
    .endif
    .endif
    .endr
.endm

.macro outputs_ctr n, partial
    .irp i, 0, 1, 2, 3, 4, 5, 6, 7
    .if \i < \n
    input tmp2, \i, \partial
    x_xor tmp2, tmp2, rk
    last_round \i, x_enclast, \partial
    .endif
    .endr
.endm

/* After eight vectors their tweaks become those of the next eight. */
.macro outputs_xts n, instruction, partial
    .irp i, 0, 1, 2, 3, 4, 5, 6, 7
    .if \i < \n
    x_load tmp, [tweaks + BYTES*\i]
    x_xor tmp2, tmp, rk
    last_round \i, \instruction, \partial
    .if \n == 8
    x_shift_up spare, tmp
    x_shift_down tmp, tmp
    x_multiply tmp, tmp, poly, 0x00
    x_xor tmp, tmp, spare
    x_store [tweaks + BYTES*\i], tmp
    .endif
    .endif
    .endr
.endm

.macro outputs_cbc n, partial
    .if !\partial
    x_load spare, [src + BYTES*(\n - 1)]
    .endif
    .irp i, 7, 6, 5, 4, 3, 2, 1
    .if \i < \n
    x_load tmp2, [src + BYTES*\i - 16]
    x_xor tmp2, tmp2, rk
    last_round \i, x_declast, \partial
    .endif
    .endr
    input tmp, 0, \partial
    x_previous tmp2, tmp, chain
    x_xor tmp2, tmp2, rk
    last_round 0, x_declast, \partial
    .if !\partial
    x_move chain, spare
    .endif
.endm

/* A step of n vectors or, if partial, of the blocks that do not fill a vector. */
.macro step n, partial=0
    x_broadcast rk, [first_key]
    cmp mode, SEALANE_AES_CTR
    je 2f
    cmp mode, SEALANE_AES_XTS_ENCRYPT
    jae 3f
    .irp i, 0, 1, 2, 3, 4, 5, 6, 7
    .if \i < \n
    input tmp, \i, \partial
    x_xor V\i, tmp, rk
    .endif
    .endr
    jmp 4f
2:
    .irp i, 0, 1, 2, 3, 4, 5, 6, 7
    .if \i < \n
    x_shuffle V\i, ctr, reverse
    x_add ctr, ctr, next
    x_xor V\i, V\i, rk
    .endif
    .endr
    jmp 4f
3:
    .irp i, 0, 1, 2, 3, 4, 5, 6, 7
    .if \i < \n
    input tmp, \i, \partial
    x_load tmp2, [tweaks + BYTES*\i]
    x_xor tmp, tmp, rk
    x_xor V\i, tmp, tmp2
    .endif
    .endr
4:
    test backwards, backwards
    jnz 5f
    rounds_but_last \n, x_enc
    cmp mode, SEALANE_AES_CTR
    je 2f
    ja 3f
    outputs_alone \n, x_enclast, \partial
    jmp 9f
2:
    outputs_ctr \n, \partial
    jmp 9f
3:
    outputs_xts \n, x_enclast, \partial
    jmp 9f
5:
    rounds_but_last \n, x_dec
    cmp mode, SEALANE_AES_CBC_DECRYPT
    je 6f
    ja 7f
    outputs_alone \n, x_declast, \partial
    jmp 9f
6:
    outputs_cbc \n, \partial
    jmp 9f
7:
    outputs_xts \n, x_declast, \partial
9:
    .if !\partial
    add src, BYTES*\n
    add dst, BYTES*\n
    .endif
.endm

/* A step of n vectors, if text_left has the bit BYTES*n. `label` is placed before the step. */
.macro step_if n, label
    test text_left, BYTES*\n
    jz 8f
    .ifnb \label
\label:
    .endif
    step \n
    .if \n < 8
    add tweaks, BYTES*\n
    .endif
8:
.endm

/* A vector times x^k, k not 0. */
.macro times_x to, from, k
    x_shift_left tmp, \from, \k
    x_shift_right tmp2, \from, (64 - (\k))
    x_multiply spare, tmp2, poly, 0x01
    x_xor tmp, tmp, spare
    x_bytes_up tmp2, tmp2
    x_xor \to, tmp, tmp2
.endm

/* The tweaks of eight vectors, starting from the first, or of four if there are less than three vectors of text. */
.macro first_tweaks
    x_broadcast poly, [consts + POLY]
    x_broadcast vector0, [state]
    x_spread vector0
    x_store [scratch + TWEAKS], vector0
    .irp i, 1, 2, 3, 4, 5, 6, 7
    .if \i == 4
    cmp text_left, 3*BYTES
    jb 1f
    .endif
    times_x vector1, vector0, (WIDTH*\i)
    x_store [scratch + TWEAKS + BYTES*\i], vector1
    .endr
1:
.endm

/* ---- Lanes: eight blocks with eight keys at a time, in registers 8 to 15 ---- */

#define lanes rdi
#define text rdx     /* bytes from the beginning */
#define rounds ebx   /* times 16 */
#define one_bytes r14 /* of a lane processed individually */

/* The rounds of one block, except the first and the last. Longer keys have two or four more. */
.macro rounds_of_one instruction, x, at, rounds
    .irp i, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13
    .if \i == 10 || \i == 12
    cmp \rounds, 16*\i
    je 1f
    .endif
    \instruction \x, [\at + 16*\i]
    .endr
1:
.endm

/* x := E(x) of a lane's block, the keys at r8 to r15. */
.macro lanes_encrypt
    mov ecx, 16
1:
    .irp n, 8, 9, 10, 11, 12, 13, 14, 15
    x_enc_from xmm\n, [r\n + round + SEALANE_AES_KEY_SCHEDULE]
    .endr
    add ecx, 16
    cmp ecx, rounds
    jb 1b
    .irp n, 8, 9, 10, 11, 12, 13, 14, 15
    x_enclast_from xmm\n, [r\n + round + SEALANE_AES_KEY_SCHEDULE]
    .endr
.endm

/* rax := a pointer of a lane. */
.macro of_lane n, what
    mov rax, [scratch + LANE + 8*(\n - 8)]
    mov rax, [rax + \what]
.endm

.macro lanes_wipe
    xor eax, eax
    .irp n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10
    mov [scratch + LANE + 8*\n], rax
    .endr
.endm

/* If less than eight lanes are left, the first lane replaces the missing ones. It is then processed several times,
 * with the same result, because all input is read before any output is written. */
.macro lanes_by_eight
    mov rax, [args + SEALANE_MODE_COUNT]
    mov one_bytes, [args + SEALANE_MODE_BYTES_EACH]
    mov lanes, [args + SEALANE_MODE_LANES]
    cmp mode, SEALANE_AES_MASKS
    jne 1f
    mov one_bytes, 16
1:
    cmp rax, 1
    je .Llanes_one
    mov [scratch + LANES_LEFT], rax
    mov [scratch + LANE_BYTES], one_bytes
    mov [scratch + LANE_MODE], r13
.Llanes:
    cmp qword ptr [scratch + LANES_LEFT], 1
    je .Llanes_last
    .irp n, 8, 9, 10, 11, 12, 13, 14, 15
    xor ecx, ecx
    mov eax, 64*(\n - 8)
    cmp qword ptr [scratch + LANES_LEFT], \n - 8
    cmova ecx, eax
    lea rax, [lanes + rcx]
    mov [scratch + LANE + 8*(\n - 8)], rax
    mov r\n, [rax + SEALANE_MODE_LANE_KEY]
    .endr
    mov rounds, [r8 + SEALANE_AES_KEY_ROUNDS]
    shl rounds, 4
    xor text, text
    .irp n, 8, 9, 10, 11, 12, 13, 14, 15
    x_zero xmm\n
    .endr
    cmp qword ptr [scratch + LANE_MODE], SEALANE_AES_MASKS
    je .Llanes_block
    .irp n, 8, 9, 10, 11, 12, 13, 14, 15
    of_lane \n, SEALANE_MODE_LANE_CHAIN
    x_load_block xmm\n, [rax]
    .endr
.Llanes_block:
    .irp n, 8, 9, 10, 11, 12, 13, 14, 15
    of_lane \n, SEALANE_MODE_LANE_IN
    x_load_block xmm0, [rax + text]
    x_load_block xmm1, [r\n + SEALANE_AES_KEY_SCHEDULE]
    x_xor_block xmm\n, xmm0
    x_xor_block xmm\n, xmm1
    .endr
    lanes_encrypt
    .irp n, 8, 9, 10, 11, 12, 13, 14, 15
    of_lane \n, SEALANE_MODE_LANE_OUT
    x_store_block [rax + text], xmm\n
    .endr
    add text, 16
    cmp text, [scratch + LANE_BYTES]
    jb .Llanes_block
    cmp qword ptr [scratch + LANE_MODE], SEALANE_AES_MASKS
    je .Llanes_next
    .irp n, 8, 9, 10, 11, 12, 13, 14, 15
    of_lane \n, SEALANE_MODE_LANE_CHAIN
    x_store_block [rax], xmm\n
    .endr
.Llanes_next:
    add lanes, 512
    sub qword ptr [scratch + LANES_LEFT], 8
    ja .Llanes
    lanes_wipe
    jmp .Ldone
.Llanes_last:
    mov one_bytes, [scratch + LANE_BYTES]
    mov r13, [scratch + LANE_MODE]
    lanes_wipe

    /* One lane by itself: each round waits for the previous round. */
.Llanes_one:
    mov r8, [lanes + SEALANE_MODE_LANE_KEY]
    mov r9, [lanes + SEALANE_MODE_LANE_IN]
    mov r10, [lanes + SEALANE_MODE_LANE_OUT]
    mov rounds, [r8 + SEALANE_AES_KEY_ROUNDS]
    add r8, SEALANE_AES_KEY_SCHEDULE
    shl rounds, 4
    xor text, text
    x_zero xmm8
    cmp mode, SEALANE_AES_MASKS
    je .Llanes_one_block
    mov r11, [lanes + SEALANE_MODE_LANE_CHAIN]
    x_load_block xmm8, [r11]
.Llanes_one_block:
    x_load_block xmm0, [r9 + text]
    x_load_block xmm1, [r8]
    x_xor_block xmm1, xmm0
    x_xor_block xmm8, xmm1
    rounds_of_one x_enc_from, xmm8, r8, rounds
    x_enclast_from xmm8, [r8 + rbx]
    x_store_block [r10 + text], xmm8
    add text, 16
    cmp text, one_bytes
    jb .Llanes_one_block
    cmp mode, SEALANE_AES_MASKS
    je .Ldone
    x_store_block [r11], xmm8
.endm

/* ---- Keys ---- */

#define words r8     /* in the key */
#define word r9      /* the next one, in bytes from the beginning of the schedule */
#define phase r10d
#define end r11

#include "aesgcm_text.h"

/* An instruction with two operands, whose result replaces the first. */
.macro in_place v, op, x, y:vararg
    .ifb \v
    \op \x, \y
    .else
    v\op \x, \x, \y
    .endif
.endm

/* Makes the next four words of a schedule and stores them at rcx + `at`. `last` has the latest four words, and x the
 * four words that are one key length before the new ones. SubWord of the latest word, rotated and with a round
 * constant or not, is added to the first word. Each word is added to all after it (FIPS 197, 5.2). If x is not
 * `last`, the sum of its words becomes the round key of SubWord. Then only that instruction and one shuffle are on
 * the critical path. */
.macro next_words v, x, last, rotate, at
    .if \rotate
    \v\()movdqa xmm2, \last
    in_place \v, pshufb, xmm2, xmm7
    .else
    \v\()pshufd xmm2, \last, 0xff
    .endif
    .irp bytes, 4, 8
    \v\()movdqa xmm4, \x
    in_place \v, pslldq, xmm4, \bytes
    in_place \v, pxor, \x, xmm4
    .endr
    .ifc \x, \last
    in_place \v, aesenclast, xmm2, xmm3
    in_place \v, pxor, \x, xmm2
    .else
    .if \rotate
    in_place \v, pxor, \x, xmm3
    .endif
    in_place \v, aesenclast, xmm2, \x
    \v\()movdqa \x, xmm2
    .endif
    .if \rotate
    next_constant \v
    .endif
    x_store_block [rcx + \at], \x
.endm

/* The round constant x^i, in every word of xmm3. Up to x^7 a shift makes it. */
.macro next_constant v
    .ifb \v
    pslld xmm3, 1
    .else
    vpslld xmm3, xmm3, 1
    .endif
.endm

/* Keys of 4 and 8 words are expanded four words at a time, and keys of 6 words one word at a time. */
.macro schedule_key v
    mov r13, consts
    lea r14, [r12 + SEALANE_AES_KEY_SCHEDULE]
    lea rcx, [r14 + 16]
    lea r10, [r14 + end]
    x_load_block xmm0, [r14]
    x_load_block xmm7, [consts + ROTATE_LAST]
    mov ebx, 1
    \v\()movd xmm3, ebx
    \v\()pshufd xmm3, xmm3, 0
    cmp words, 6
    je .Lby_words
    ja .Lwords_8
    lea rbx, [rcx + 8*16]
.Lwords_4:
    next_words \v, xmm0, xmm0, 1, 0
    next_words \v, xmm0, xmm0, 1, 16
    add rcx, 32
    cmp rcx, rbx
    jb .Lwords_4
    mov eax, 27                                                                 /* x^8 */
    \v\()movd xmm3, eax
    \v\()pshufd xmm3, xmm3, 0
    cmp rcx, r10
    jb .Lwords_4
    jmp .Lscheduled
.Lwords_8:
    x_load_block xmm5, [rcx]
.Lwords_8_next:
    next_words \v, xmm0, xmm5, 1, 16
    add rcx, 32
    cmp rcx, r10
    jae .Lscheduled
    next_words \v, xmm5, xmm0, 0, 0
    jmp .Lwords_8_next
.Lby_words:
    \v\()pxor xmm1, XMM1_TWICE
    lea word, [4*words]
    xor phase, phase
    mov rcx, r14
    mov eax, [r14 + word - 4]
    schedule_words words, word, phase, end, r13, r14, rcx, ebx, \v
.Lscheduled:
.endm

/* The round keys for decryption are those for encryption in reverse order. InvMixColumns is applied to all except the
 * first and the last. */
.macro mode_setup inverse, v
    mov r12, [args + SEALANE_MODE_KEY]
    mov ebx, [r12 + SEALANE_AES_KEY_ROUNDS]
    lea r8d, [rbx - 6]
    mov end, rbx
    inc end
    shl end, 4
    schedule_key \v
    cmp qword ptr [args + SEALANE_MODE_ENCRYPTS_ONLY], 0
    jne .Lsetup_done
    lea rax, [r14 + end - 16]
    lea rcx, [r12 + SEALANE_AES_KEY_INVERSE]
    x_load_block xmm0, [rax]
    jmp .Linverse_store
.Linverse:
    x_load_block xmm0, [rax]
    cmp rax, r14
    je .Linverse_store
    \inverse xmm0, xmm0
.Linverse_store:
    x_store_block [rcx], xmm0
    add rcx, 16
    sub rax, 16
    cmp rax, r14
    jae .Linverse
.Lsetup_done:
.endm

/* ---- One block by itself: no vector, no mask, and a store whose bytes can be read again at once ---- */

.macro all_rounds instruction, last
    x_load_block xmm1, [first_key]
    x_xor_block xmm8, xmm1
    rounds_of_one \instruction, xmm8, first_key, last_key
    \last xmm8, [first_key + last_key]
.endm

.macro one_block
    x_load_block xmm8, [src]
    cmp mode, SEALANE_AES_ECB_DECRYPT
    je .Lone_backwards
    all_rounds x_enc_from, x_enclast_from
    jmp .Lone_store
.Lone_backwards:
    add first_key, SEALANE_AES_KEY_INVERSE - SEALANE_AES_KEY_SCHEDULE
    all_rounds x_dec_from, x_declast_from
.Lone_store:
    x_store_block [dst], xmm8
.endm

/* ---- The kernel ---- */

.macro mode_kernel inverse, v
    mov r13, [args + SEALANE_MODE_OPERATION]
    cmp mode, SEALANE_AES_CBC_ENCRYPT
    jae .Llanes_begin
    test mode, mode
    jz .Lsetup
.Ltext:
    mov text_left, [args + SEALANE_MODE_BYTES]
    test text_left, text_left
    jz .Ldone
    mov src, [args + SEALANE_MODE_IN]
    mov dst, [args + SEALANE_MODE_OUT]
    mov rax, [args + SEALANE_MODE_KEY]
    mov state, [args + SEALANE_MODE_STATE]
    mov last_key, [rax + SEALANE_AES_KEY_ROUNDS]
    shl last_key, 4
    lea first_key, [rax + SEALANE_AES_KEY_SCHEDULE]
    xor backwards, backwards

    /* What each mode begins with. Where the state after the text is known already, it is written here. */
    cmp mode, SEALANE_AES_CTR
    je .Lbegin_ctr
    ja .Lbegin_chained
    cmp text_left, 16
    je .Lone
    cmp mode, SEALANE_AES_ECB_DECRYPT
    jne .Lbegun
    jmp .Lbegin_backwards
.Lbegin_ctr:
    x_broadcast reverse, [consts + REVERSE]
    cmp dword ptr [args + SEALANE_MODE_OPERATION], SEALANE_AES_CTR
    je 1f
    x_broadcast reverse, [consts + SAME]
1:
    x_broadcast next, [consts + NEXT]
    x_broadcast_halves ctr, xmm11, state                                        /* maybe just written */
    x_shuffle ctr, ctr, reverse
    mov rax, text_left
    shr rax, 4
    \v\()movd xmm0, eax
    x_add xmm0, xmm0, xmm11
    x_shuffle xmm0, xmm0, xmm12
    x_store_block [state], xmm0                                                 /* one store, for one load */
    x_load tmp, [consts + COUNT]
    x_add ctr, ctr, tmp
    jmp .Lbegun
.Lbegin_chained:
    cmp mode, SEALANE_AES_CBC_DECRYPT
    jne .Lbegin_xts
    x_broadcast chain, [state]
    x_load_block xmm0, [src + text_left - 16]
    x_store_block [state], xmm0
    jmp .Lbegin_backwards
.Lbegin_xts:
    lea tweaks, [scratch + TWEAKS]
    first_tweaks
    cmp mode, SEALANE_AES_XTS_DECRYPT
    jne .Lbegun
.Lbegin_backwards:
    mov backwards, 1
    add first_key, SEALANE_AES_KEY_INVERSE - SEALANE_AES_KEY_SCHEDULE
.Lbegun:
    add last_key, first_key

    cmp text_left, BYTES
    .if WIDTH > 1
    jb .Lpart
    .endif
    je .Lvector
    sub text_left, 8*BYTES
    jb .Lless
.Leight:
    step 8
    sub text_left, 8*BYTES
    jae .Leight
.Lless:
    add text_left, 8*BYTES
    jz .Lend
    step_if 4
    step_if 2
    step_if 1, .Lvector
    .if WIDTH > 1
    and text_left, BYTES - 1
    jz .Lend
.Lpart:
    x_partial_begin
    step 1, 1
    add tweaks, text_left
    .endif
.Lend:
    cmp mode, SEALANE_AES_XTS_ENCRYPT
    jb .Ldone
    x_load_block xmm0, [tweaks]
    x_store_block [state], xmm0
    x_zero_vector vector0
    .irp i, 0, 1, 2, 3, 4, 5, 6, 7
    x_store [scratch + TWEAKS + BYTES*\i], vector0
    .endr
    jmp .Ldone
.Lone:
    one_block
    jmp .Ldone
.Llanes_begin:
    cmp mode, SEALANE_AES_CTR_LITTLE
    mov eax, SEALANE_AES_CTR
    cmove mode, eax
    je .Ltext
    lanes_by_eight
    jmp .Ldone
.Lsetup:
    mode_setup \inverse, \v
.Ldone:
.endm
