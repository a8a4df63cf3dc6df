/* ChaCha20-Poly1305 (RFC 8439) for x86-64 with AVX2: seals or opens many packets, each with its own key.
 *
 * void sealane_chacha20poly1305_batch_avx2(const args *a, void *scratch, const void *consts)
 *
 * Needs        AVX2, BMI2
 * Reads        args; of every lane ad[ad_bytes], key[32], nonce[12], in[bytes]
 * Writes       of every lane out[bytes], tag[16]; scratch (SEALANE_BATCH_SCRATCH_BYTES), wiped again
 * Registers    all but rsp, rbp; stack 0
 * Branches and addresses depend on flags, pointers and lengths only.
 *
 * Packets are processed in waves of at most eight. A wave's blocks are block 0 of all packets (their Poly1305
 * keys), then block 1 of all that have it, and so on. They fill 8 places per pass; a register is one word of eight
 * places' states. The words of a wave's keys and nonces are copied beside each other once, [word][packet]; a pass
 * selects from there.
 *
 * While vectors make the keystream of a pass, integer registers finish the places of the previous pass, one in each
 * double round. They take r and s from it, or add text to Poly1305, h = (h + m) r mod 2^130 - 5 (2.5), until the tag.
 * With h = h0 + 2^64 h1 + 2^128 h2, r = r0 + 2^64 r1, 4 | r1 (clamped), and 2^130 = 5, that is 2^128 r1 = s1 := r1 +
 * r1/4:
 *   h r = (h0 r0 + h1 s1) + 2^64 (h0 r1 + h1 r0 + h2 s1) + 2^128 (h2 r0),   then h += 5 (h >> 130) without these bits.
 */
#include "../asm.S"

    isa .sse2, .ssse3, .sse4.1, .avx, .avx2, .bmi2

/* Constants. */
#define SIGMA 0       /* "expand 32-byte k" */
#define CLAMP 16      /* RFC 8439, 2.5: the bits of r that are not zero */
#define ROTATE16 32
#define ROTATE8 64
#define IOTA 96       /* 0 .. 7 */
#define ONES 128      /* 64 bytes 0xff, followed by as many zero bytes */

    constants sealane_chacha20poly1305_batch_avx2_constants
    .ascii "expand 32-byte k"
    .quad 0x0ffffffc0fffffff, 0x0ffffffc0ffffffc
    .byte 2, 3, 0, 1, 6, 7, 4, 5, 10, 11, 8, 9, 14, 15, 12, 13
    .byte 2, 3, 0, 1, 6, 7, 4, 5, 10, 11, 8, 9, 14, 15, 12, 13
    .byte 3, 0, 1, 2, 7, 4, 5, 6, 11, 8, 9, 10, 15, 12, 13, 14
    .byte 3, 0, 1, 2, 7, 4, 5, 6, 11, 8, 9, 10, 15, 12, 13, 14
    .long 0, 1, 2, 3, 4, 5, 6, 7
    .quad -1, -1, -1, -1, -1, -1, -1, -1
    .quad 0, 0, 0, 0, 0, 0, 0, 0
    endconstants

/* Scratch. */
#define NEXT_LANE 256 /* after the wave */
#define LEFT 264      /* packets after the wave */
#define SAVED_ARGS 272
#define SAVED_CONSTS 280
#define LAST_LANE 288 /* the last of the wave */
#define TABLE 296     /* of this pass */
#define DONE 304      /* the table of the previous pass, whose places are to be finished, */
#define DONE_AT 312   /* from this one on */
#define DONE_END 316
#define TODO 320      /* blocks of the wave without a place */
#define FROM 324      /* the next packet in ACTIVE */
#define TO 328        /* the end of the known part of ACTIVE for the next sweep */
#define ACTIVES 332   /* packets in ACTIVE in this sweep */
#define BLOCK 336     /* the block that is handed out in this sweep */
#define PLACES 340     /* of this pass */
#define NEXT_PLACES 344 /* of the next */
#define VACANT 348    /* those of them without a block */
#define HAND_OUT 352  /* pointer to the next vacant place */
#define COUNT 360     /* pairs of double rounds, or of places, to go */
#define ROUNDS 364    /* 1 if there are rounds */
#define STATES 368    /* offset of this wave's */
#define STEP 372      /* 1 between the halves of a pair of places */
#define ACTIVE 384    /* packets that have blocks left, 8 of 32 bits */
#define BLOCKS 416    /* by packet: blocks of keystream, 8 of 32 bits */
#define TABLES 448    /* two: by place packets, blocks; then the wave's first lane and its states */
#define TABLE_BLOCKS 64
#define TABLE_LANES 128
#define TABLE_STATES 136
#define TABLE_BYTES 160
#define MODE 768      /* 32 bytes: all ones to seal, 0 to open */
#define MASKS (800 - 4*8) /* + 4 left: the bytes of words <<< 8, then 16 */
#define COPY 864      /* 64 bytes of a partial block, then with its keystream */
#define WORDS 992     /* [word 4 .. 11, 13 .. 15][packet]: keys and nonces */
#define ONCE 1344     /* words 4 to 15 as a pass begins */
#define C_ROW(i) (1728 + 32*(i))
#define D_ROW(i) (1856 + 32*(i))
#define KEYSTREAM 1984   /* 8 blocks of keystream, then the bytes to authenticate */
#define PAIR_R 2496   /* two places' r, while they are finished together; */
#define PAIR_STATE 2560
#define PAIR_LANE 2576
#define PAIR_AFTER 2592 /* bytes of text after their blocks */
#define STATE 2624    /* two waves' eight packets, 64 bytes each: */
#define STATE_R 0     /* r0, r1, s1 */
#define STATE_H 24    /* h0, h1, h2 */
#define STATE_S 48
#define END 3648

/* Registers. */
#define args rdi
#define scratch rsi
#define consts rdx

/* While places are finished: */
#define h0 r8
#define h1 r9
#define h2 r10
#define mac r11
#define lane r12
#define state r13
#define after r14     /* bytes of text after this block */
#define keystream r15

#include "chacha20_columns.h"

/* Eight words each of eight blocks, ymm0 to ymm7, transposed by way of ymm8 to ymm15: the blocks are 0, 1, .. 7. */
.macro transpose
    vpunpckldq ymm8, ymm0, ymm1
    vpunpckhdq ymm9, ymm0, ymm1
    vpunpckldq ymm10, ymm2, ymm3
    vpunpckhdq ymm11, ymm2, ymm3
    vpunpckldq ymm12, ymm4, ymm5
    vpunpckhdq ymm13, ymm4, ymm5
    vpunpckldq ymm14, ymm6, ymm7
    vpunpckhdq ymm15, ymm6, ymm7
    vpunpcklqdq ymm0, ymm8, ymm10
    vpunpckhqdq ymm1, ymm8, ymm10
    vpunpcklqdq ymm2, ymm9, ymm11
    vpunpckhqdq ymm3, ymm9, ymm11
    vpunpcklqdq ymm4, ymm12, ymm14
    vpunpckhqdq ymm5, ymm12, ymm14
    vpunpcklqdq ymm6, ymm13, ymm15
    vpunpckhqdq ymm7, ymm13, ymm15
    vperm2i128 ymm8, ymm0, ymm4, 0x31
    vperm2i128 ymm9, ymm1, ymm5, 0x31
    vperm2i128 ymm10, ymm2, ymm6, 0x31
    vperm2i128 ymm11, ymm3, ymm7, 0x31
    vinserti128 ymm0, ymm0, xmm4, 1
    vinserti128 ymm1, ymm1, xmm5, 1
    vinserti128 ymm2, ymm2, xmm6, 1
    vinserti128 ymm3, ymm3, xmm7, 1
.endm

.macro transposed to, stride
    vmovdqa [scratch + \to], ymm0
    vmovdqa [scratch + \to + \stride], ymm1
    vmovdqa [scratch + \to + 2*\stride], ymm2
    vmovdqa [scratch + \to + 3*\stride], ymm3
    vmovdqa [scratch + \to + 4*\stride], ymm8
    vmovdqa [scratch + \to + 5*\stride], ymm9
    vmovdqa [scratch + \to + 6*\stride], ymm10
    vmovdqa [scratch + \to + 7*\stride], ymm11
.endm

/* The last addition. Then [word][place] becomes [place][word]. */
.macro pass_end
    vmovdqa [scratch + C_ROW(0)], C0
    vmovdqa [scratch + C_ROW(1)], C1
    vmovdqa [scratch + C_ROW(2)], C2
    vmovdqa [scratch + D_ROW(0)], D0
    vmovdqa [scratch + D_ROW(1)], D1
    vmovdqa [scratch + D_ROW(2)], D2
    vmovdqa [scratch + D_ROW(3)], D3
    .irp word, 0, 1, 2, 3
    vpbroadcastd T0, [consts + SIGMA + 4*\word]
    vpaddd ymm\word, ymm\word, T0
    .endr
    vpaddd B0, B0, [scratch + ONCE]
    vpaddd B1, B1, [scratch + ONCE + 32]
    vpaddd B2, B2, [scratch + ONCE + 64]
    vpaddd B3, B3, [scratch + ONCE + 96]
    transpose
    transposed KEYSTREAM, 64
    .irp word, 0, 1, 2, 3, 4, 5, 6, 7
    vmovdqa ymm\word, [scratch + C_ROW(\word)]
    vpaddd ymm\word, ymm\word, [scratch + ONCE + 128 + 32*\word]
    .endr
    transpose
    transposed KEYSTREAM + 32, 64
.endm

/* Rows b, c and d begin with words of keys and nonces, selected by the packets in T0. */
.macro word_begin word, index, to
    vpermd \to, T0, [scratch + WORDS + 32*\index]
    vmovdqa [scratch + ONCE + 32*(\word - 4)], \to
.endm

.macro double_round
    columns_part1
    columns_part2
    columns_part3
    columns_part4
.endm

.macro pass_begin
    vmovdqa T0, [r14]
    word_begin 11, 7, C0
    vmovdqa [scratch + C_ROW(3)], C0
    vmovdqa D0, [r14 + TABLE_BLOCKS]
    vmovdqa [scratch + ONCE + 32*8], D0
    word_begin 4, 0, B0
    word_begin 5, 1, B1
    word_begin 6, 2, B2
    word_begin 7, 3, B3
    word_begin 8, 4, C0
    word_begin 9, 5, C1
    word_begin 10, 6, C2
    word_begin 13, 8, D1
    word_begin 14, 9, D2
    word_begin 15, 10, D3
    .irp word, 0, 1, 2, 3
    vpbroadcastd ymm\word, [consts + SIGMA + 4*\word]
    .endr
.endm

/* ---- Poly1305 -------------------------------------------------------------------------------------------------- */

/* h *= r, whose r0, r1, s1 are at r. */
.macro multiply h0, h1, h2, r
    mov rdx, \h0
    mulx rdi, rcx, [\r + 8]                                                     /* y = h0 r1 */
    mulx rbx, \h0, [\r]                                                         /* x = h0 r0 */
    mov rdx, \h1
    mulx \h1, rax, [\r + 16]                                                    /* x += h1 s1 */
    add \h0, rax
    adc rbx, \h1
    mulx rax, \h1, [\r]                                                         /* y += h1 r0 */
    mov rdx, \h2
    imul rdx, [\r + 16]                                                         /* y += h2 s1, h2 < 12: fits with x1 */
    imul \h2, [\r]                                                              /* z = h2 r0 */
    add \h1, rcx
    adc rax, rdi
    add rbx, rdx
    add \h1, rbx                                                                /* h = x + y 2^64 + z 2^128 */
    adc rax, \h2
    mov \h2, rax
    and \h2\()d, 3
    shr rax, 2
    lea rax, [rax + 4*rax]                                                      /* 2^130 = 5 */
    add \h0, rax
    adc \h1, 0
    adc \h2, 0
.endm

.macro block h0, h1, h2, r, from
    add \h0, [\from]
    adc \h1, [\from + 8]
    adc \h2, 1
    multiply \h0, \h1, \h2, \r
.endm

/* The lengths; h mod p, plus s at s. */
.macro tag h0, h1, h2, r, lane, s
    add \h0, [\lane + SEALANE_LANE_AD_BYTES]
    adc \h1, [\lane + SEALANE_LANE_BYTES]
    adc \h2, 1
    multiply \h0, \h1, \h2, \r
    mov rax, \h0                                                                /* h - p, if that is not negative */
    mov rbx, \h1
    add rax, 5
    adc rbx, 0
    adc \h2, 0
    shr \h2, 2
    cmovnz \h0, rax
    cmovnz \h1, rbx
    mov rax, [\lane + SEALANE_LANE_TAG]
    add \h0, [\s]
    adc \h1, [\s + 8]
    mov [rax], \h0
    mov [rax + 8], \h1
.endm

/* 64 bytes of text: rdi + rcx - 64 -> rdx + rcx - 64. The bytes to authenticate replace their keystream. */
.macro crypt keystream
    .irp i, 0, 32
    vmovdqu T0, [rdi + rcx - 64 + \i]
    vpxor T0, T0, [\keystream + \i]
    vmovdqu [rdx + rcx - 64 + \i], T0
    vmovdqa T0, [scratch + MODE]
    vpandn T0, T0, [\keystream + \i]
    vpxor T0, T0, [rdx + rcx - 64 + \i]
    vmovdqa [\keystream + \i], T0
    .endr
.endm

/* Copies n bytes, rdi -> rbx, if al has the bit n. */
.macro copy_if n, move, register
    test al, \n
    jz 174f
    \move \register, [rdi]
    \move [rbx], \register
    add rdi, \n
    add rbx, \n
174:
.endm

/* Copies eax < 64 bytes, rdi -> rbx. */
.macro copy
    copy_if 32, vmovdqu, T0
    copy_if 16, vmovdqu, xmm15
    copy_few
.endm

/* Copies eax & 15 bytes. */
.macro copy_few
    copy_if 8, mov, rdx
    copy_if 4, mov, edx
    test al, 2
    jz 173f
    movzx edx, word ptr [rdi]
    mov [rbx], dx
    add rdi, 2
    add rbx, 2
173:
    test al, 1
    jz 171f
    movzx edx, byte ptr [rdi]
    mov [rbx], dl
171:
.endm

/* Gives a block to the next place of the next pass. */
.macro hand_out
    mov edx, [scratch + FROM]
    mov edi, [scratch + TO]
    mov ecx, [scratch + BLOCK]
    mov rbx, [scratch + HAND_OUT]
    mov eax, [scratch + ACTIVE + 4*rdx]
    mov [scratch + ACTIVE + 4*rdi], eax
    mov [rbx], eax
    mov [rbx + TABLE_BLOCKS], ecx
    add rbx, 4
    mov [scratch + HAND_OUT], rbx
    inc ecx
    cmp ecx, [scratch + BLOCKS + 4*rax]
    adc edi, 0                                                                  /* stays active if it has more blocks */
    inc edx
    cmp edx, [scratch + ACTIVES]
    jne 178f
    mov [scratch + ACTIVES], edi
    xor edx, edx
    xor edi, edi
    mov [scratch + BLOCK], ecx
178:
    mov [scratch + FROM], edx
    mov [scratch + TO], edi
    dec dword ptr [scratch + VACANT]
.endm

.macro hand_out_one
    cmp dword ptr [scratch + VACANT], 0
    je 177f
    hand_out
177:
.endm

/* ---- The kernel ------------------------------------------------------------------------------------------------ */

#include "chacha20poly1305_batch_text.h"

/* The accumulator of packet i of a pair is kept for the next pass. If no text is left, it becomes the tag. */
.macro keep_or_tag i, h0, h1, h2
    mov r14, [scratch + PAIR_STATE + 8*\i]
    cmp qword ptr [scratch + PAIR_AFTER + 8*\i], 0
    je .Lpair_tag\@
    mov [r14 + STATE_H], \h0
    mov [r14 + STATE_H + 8], \h1
    mov [r14 + STATE_H + 16], \h2
    jmp .Lpair_kept\@
.Lpair_tag\@:
    mov r15, [scratch + PAIR_LANE + 8*\i]
    tag \h0, \h1, \h2, scratch + PAIR_R + 32*\i, r15, r14 + STATE_S
.Lpair_kept\@:
.endm

    function sealane_chacha20poly1305_batch_avx2
    batch_begin
    vmovdqu ymm0, [consts + ROTATE16]
    vmovdqu ymm1, [consts + ROTATE8]
    vmovdqa [scratch + MASKS + 4*16], ymm0
    vmovdqa [scratch + MASKS + 4*8], ymm1
    mov eax, [args + SEALANE_BATCH_FLAGS]
    shr eax, 2
    and eax, 1
    sub eax, 1
    vmovd xmm0, eax
    vpbroadcastd ymm0, xmm0
    vmovdqa [scratch + MODE], ymm0
    xor eax, eax
    mov [scratch + DONE_AT], rax                                                /* and DONE_END */
    mov [scratch + STATES], eax
    lea rax, [scratch + TABLES]
    mov [scratch + TABLE], rax

    /* A wave: its packets' blocks. Block 0 of packet i goes to place i. */
.Lwave:
    mov r14, r12
    wave_begin
.Lpacket:
    mov rax, [r12 + SEALANE_LANE_BYTES]
    count_blocks
    add r12, SEALANE_LANE_STRIDE
    inc r8d
    dec r13
    jz .Lpackets
    cmp r8d, 8
    jne .Lpacket
.Lpackets:
    mov [scratch + NEXT_LANE], r12
    mov [scratch + LEFT], r13
    mov [scratch + TODO], r9d
    mov [scratch + PLACES], r8d
    mov dword ptr [scratch + FROM], 0
    mov dword ptr [scratch + TO], 0
    mov [scratch + ACTIVES], r10d
    mov [scratch + BLOCK], r11d
    sub r12, SEALANE_LANE_STRIDE                                                /* the last lane */
    mov rcx, [scratch + TABLE]
    mov eax, [scratch + STATES]
    xor dword ptr [scratch + STATES], 512
    lea rax, [scratch + rax + STATE]
    mov [rcx + TABLE_LANES], r14
    mov [rcx + TABLE_STATES], rax
    vmovdqu ymm0, [consts + IOTA]
    vpxor xmm1, xmm1, xmm1
    vmovdqa [rcx], ymm0
    vmovdqa [rcx + 32], ymm1
    vmovdqa [rcx + TABLE_BLOCKS], ymm1
    vmovdqa [rcx + TABLE_BLOCKS + 32], ymm1
    lea rax, [rcx + 4*r8]
    mov [scratch + HAND_OUT], rax
    mov eax, 8
    sub eax, r8d
    cmp eax, r9d
    cmova eax, r9d
    sub [scratch + TODO], eax
    add [scratch + PLACES], eax
    mov [scratch + VACANT], eax
    test eax, eax
    jz .Lfirst_places
.Lfirst_place:
    hand_out
    jnz .Lfirst_place
    mov consts, [scratch + SAVED_CONSTS]
.Lfirst_places:

    /* Keys and nonces: [packet][word] -> [word][packet]. The last packet also fills the columns after it. */
    .irp i, 0, 1, 2, 3, 4, 5, 6, 7
    lea rax, [r14 + SEALANE_LANE_STRIDE*\i]
    cmp rax, r12
    cmova rax, r12
    mov rax, [rax + SEALANE_LANE_KEY]
    vmovdqu ymm\i, [rax]
    .endr
    transpose
    transposed WORDS, 32
    .irp i, 0, 1, 2, 3
    lea rax, [r14 + SEALANE_LANE_STRIDE*\i]
    lea rbx, [r14 + SEALANE_LANE_STRIDE*(\i + 4)]
    cmp rax, r12
    cmova rax, r12
    cmp rbx, r12
    cmova rbx, r12
    mov rax, [rax + SEALANE_LANE_NONCE]
    mov rbx, [rbx + SEALANE_LANE_NONCE]
    vmovq xmm\i, [rax]
    vmovq xmm4, [rbx]
    vpinsrd xmm\i, xmm\i, [rax + 8], 2
    vpinsrd xmm4, xmm4, [rbx + 8], 2
    vinserti128 ymm\i, ymm\i, xmm4, 1
    .endr
    vpunpckldq ymm4, ymm0, ymm1
    vpunpckhdq ymm5, ymm0, ymm1
    vpunpckldq ymm6, ymm2, ymm3
    vpunpckhdq ymm7, ymm2, ymm3
    vpunpcklqdq ymm0, ymm4, ymm6
    vpunpckhqdq ymm1, ymm4, ymm6
    vpunpcklqdq ymm2, ymm5, ymm7
    vmovdqa [scratch + WORDS + 32*8], ymm0
    vmovdqa [scratch + WORDS + 32*9], ymm1
    vmovdqa [scratch + WORDS + 32*10], ymm2

    /* A pass. Beside its rounds, integer code finishes the places of the previous pass, and assigns places for the
     * next one. */
.Lpass:
    mov r14, [scratch + TABLE]
    mov eax, [scratch + TODO]
    mov ecx, 8
    cmp eax, ecx
    cmova eax, ecx
    sub [scratch + TODO], eax
    mov [scratch + NEXT_PLACES], eax
    mov [scratch + VACANT], eax
    lea rax, [scratch + 2*TABLES + TABLE_BYTES]
    add rax, scratch
    sub rax, r14
    mov [scratch + HAND_OUT], rax                                               /* the other table */
    pass_begin
    mov dword ptr [scratch + COUNT], 5
    mov dword ptr [scratch + ROUNDS], 1
.Lround:
    double_round

    /* Places of the previous pass: two with whole blocks of different packets take two double rounds, otherwise one
     * place takes one. */
.Lfirst:
    mov dword ptr [scratch + STEP], 0
    mov eax, [scratch + DONE_AT]
    lea ecx, [rax + 2]
    cmp ecx, [scratch + DONE_END]
    ja .Lplace
    mov rbx, [scratch + DONE]
    mov r12d, [rbx + 4*rax]
    mov r13d, [rbx + 4*rax + 4]
    cmp r12d, r13d
    je .Lplace
    mov r14d, [rbx + 4*rax + TABLE_BLOCKS]
    mov r15d, [rbx + 4*rax + TABLE_BLOCKS + 4]
    test r14d, r14d
    jz .Lplace
    shl r12, 6
    shl r13, 6
    shl r14, 6
    shl r15, 6
    mov r8, [rbx + TABLE_STATES]
    mov r9, [rbx + TABLE_LANES]
    lea r10, [r8 + r12]
    lea r11, [r8 + r13]
    add r12, r9
    add r13, r9
    mov r8, [r12 + SEALANE_LANE_BYTES]
    mov r9, [r13 + SEALANE_LANE_BYTES]
    sub r8, r14
    jb .Lplace
    sub r9, r15
    jb .Lplace
    mov [scratch + DONE_AT], ecx
    mov dword ptr [scratch + STEP], 1
    vmovdqa T0, [r10]
    vmovdqa [scratch + PAIR_R], T0
    vmovdqa T0, [r11]
    vmovdqa [scratch + PAIR_R + 32], T0
    mov [scratch + PAIR_STATE], r10
    mov [scratch + PAIR_STATE + 8], r11
    mov [scratch + PAIR_LANE], r12
    mov [scratch + PAIR_LANE + 8], r13
    mov [scratch + PAIR_AFTER], r8
    mov [scratch + PAIR_AFTER + 8], r9
    shl eax, 6
    lea rax, [scratch + rax + KEYSTREAM]
    mov rcx, r14
    mov rdi, [r12 + SEALANE_LANE_IN]
    mov rdx, [r12 + SEALANE_LANE_OUT]
    crypt rax
    mov rcx, r15
    mov rdi, [r13 + SEALANE_LANE_IN]
    mov rdx, [r13 + SEALANE_LANE_OUT]
    crypt rax + 64
    mov r15, rax
    mov r8, [r10 + STATE_H]
    mov r9, [r10 + STATE_H + 8]
    mov r10, [r10 + STATE_H + 16]
    mov r12, [r11 + STATE_H + 8]
    mov r13, [r11 + STATE_H + 16]
    mov r11, [r11 + STATE_H]
    block r8, r9, r10, scratch + PAIR_R, r15
    block r11, r12, r13, scratch + PAIR_R + 32, r15 + 64
    block r8, r9, r10, scratch + PAIR_R, r15 + 16
    block r11, r12, r13, scratch + PAIR_R + 32, r15 + 80
.Lfirst_done:
    hand_out_one
    cmp dword ptr [scratch + ROUNDS], 0
    je .Lsecond
    double_round
.Lsecond:
    sub dword ptr [scratch + STEP], 1
    jnz .Lplace
    block r8, r9, r10, scratch + PAIR_R, r15 + 32
    block r11, r12, r13, scratch + PAIR_R + 32, r15 + 96
    block r8, r9, r10, scratch + PAIR_R, r15 + 48
    block r11, r12, r13, scratch + PAIR_R + 32, r15 + 112
    keep_or_tag 0, r8, r9, r10
    keep_or_tag 1, r11, r12, r13
.Lsecond_done:
    hand_out_one
    sub dword ptr [scratch + COUNT], 1
    jz .Lrounds_done
    cmp dword ptr [scratch + ROUNDS], 0
    jne .Lround
    jmp .Lfirst

    /* One place. */
.Lplace:
    mov eax, [scratch + DONE_AT]
    cmp eax, [scratch + DONE_END]
    jae .Lplace_done
    mov rbx, [scratch + DONE]
    lea ecx, [rax + 1]
    mov [scratch + DONE_AT], ecx
    mov r12d, [rbx + 4*rax]
    mov ecx, [rbx + 4*rax + TABLE_BLOCKS]
    shl r12, 6
    shl eax, 6
    mov state, r12
    add lane, [rbx + TABLE_LANES]
    add state, [rbx + TABLE_STATES]
    lea keystream, [scratch + rax + KEYSTREAM]
    test ecx, ecx
    jz .Lkey
    shl rcx, 6
    mov after, [lane + SEALANE_LANE_BYTES]
    mov rdi, [lane + SEALANE_LANE_IN]
    mov rdx, [lane + SEALANE_LANE_OUT]
    mov h0, [state + STATE_H]
    mov h1, [state + STATE_H + 8]
    mov h2, [state + STATE_H + 16]
    mov mac, keystream
    sub after, rcx
    jb .Lpartial
    crypt keystream
    .irp i, 0, 16, 32, 48
    block h0, h1, h2, state, keystream + \i
    .endr
    test after, after
    jz .Ltag
.Lkeep:
    mov [state + STATE_H], h0
    mov [state + STATE_H + 8], h1
    mov [state + STATE_H + 16], h2
.Lplace_done:
    add dword ptr [scratch + STEP], 1                                           /* 1, or 0 after -1 */
    jnz .Lplace_first
    jmp .Lsecond_done
.Lplace_first:
    mov dword ptr [scratch + STEP], 0
    jmp .Lfirst_done

    /* Block 0: r and s. Then the associated data, padded to blocks: RFC 8439, 2.8. */
.Lkey:
    mov rdx, [scratch + SAVED_CONSTS]
    mov rax, [keystream]
    mov rbx, [keystream + 8]
    and rax, [rdx + CLAMP]
    and rbx, [rdx + CLAMP + 8]
    mov [state + STATE_R], rax
    mov [state + STATE_R + 8], rbx
    mov rcx, rbx
    shr rcx, 2
    add rcx, rbx
    mov [state + STATE_R + 16], rcx
    mov rax, [keystream + 16]
    mov rbx, [keystream + 24]
    mov [state + STATE_S], rax
    mov [state + STATE_S + 8], rbx
    xor r8d, r8d
    xor r9d, r9d
    xor r10d, r10d
    mov mac, [lane + SEALANE_LANE_AD]
    mov after, [lane + SEALANE_LANE_AD_BYTES]
.Lad:
    sub after, 16
    jb .Lad_tail
    block h0, h1, h2, state, mac
    add mac, 16
    jmp .Lad
.Lad_tail:
    add after, 16
    jz .Lad_done
    mov eax, r14d
    mov rdi, mac
    lea mac, [scratch + COPY]
    mov rbx, mac
    vpxor xmm15, xmm15, xmm15
    vmovdqa [mac], xmm15
    copy_few
    block h0, h1, h2, state, mac
.Lad_done:
    cmp qword ptr [lane + SEALANE_LANE_BYTES], 0
    jne .Lkeep
    jmp .Ltag

    /* The last bytes of text. */
.Lpartial:
    vpxor xmm15, xmm15, xmm15
    vmovdqa [scratch + COPY], T0
    vmovdqa [scratch + COPY + 32], T0
    lea eax, [after + 64]
    lea rdi, [rdi + rcx - 64]
    lea rbx, [scratch + COPY]
    copy
    mov rdx, [scratch + SAVED_CONSTS]
    mov rcx, rax
    neg rcx
    .irp i, 0, 32
    vmovdqa T0, [scratch + COPY + \i]
    vpxor T0, T0, [keystream + \i]
    vmovdqa [scratch + COPY + 64 + \i], T0
    vmovdqa T0, [keystream + \i]
    vpand T0, T0, [scratch + MODE]
    vpand T0, T0, [rdx + rcx + ONES + 64 + \i]
    vpxor T0, T0, [scratch + COPY + \i]
    vmovdqa [keystream + \i], T0
    .endr
    mov rbx, [lane + SEALANE_LANE_OUT]
    mov rcx, [lane + SEALANE_LANE_BYTES]
    sub rcx, rax
    add rbx, rcx
    lea rdi, [scratch + COPY + 64]
    copy
    mov r14d, eax
.Lpartial_block:
    block h0, h1, h2, state, mac
    add mac, 16
    sub r14d, 16
    ja .Lpartial_block

.Ltag:
    tag h0, h1, h2, state, lane, state + STATE_S
    jmp .Lplace_done

    /* The pass is over. After the last addition, [word][place] becomes [place][word]. */
.Lrounds_done:
    mov args, [scratch + SAVED_ARGS]
    mov consts, [scratch + SAVED_CONSTS]
    cmp dword ptr [scratch + ROUNDS], 0
    je .Lfinished
    pass_end
    mov rax, [scratch + TABLE]
    mov ecx, [scratch + PLACES]
    mov [scratch + DONE], rax
    mov dword ptr [scratch + DONE_AT], 0
    mov [scratch + DONE_END], ecx
    lea rbx, [scratch + 2*TABLES + TABLE_BYTES]
    add rbx, scratch
    sub rbx, rax
    mov [scratch + TABLE], rbx
    mov r8, [rax + TABLE_LANES]
    mov r9, [rax + TABLE_STATES]
    mov ecx, [scratch + NEXT_PLACES]
    mov [scratch + PLACES], ecx
    test ecx, ecx
    jz .Lwave_done
    mov [rbx + TABLE_LANES], r8
    mov [rbx + TABLE_STATES], r9
    jmp .Lpass
.Lwave_done:
    mov r12, [scratch + NEXT_LANE]
    mov r13, [scratch + LEFT]
    test r13, r13
    jnz .Lwave

    /* Finishes the places of the last pass. */
    mov ecx, [scratch + DONE_END]
    inc ecx
    shr ecx, 1
    mov [scratch + COUNT], ecx
    mov dword ptr [scratch + ROUNDS], 0
    jmp .Lfirst

.Lfinished:
    vpxor xmm0, xmm0, xmm0
    mov ecx, END - 256
.Lwipe:
    vmovdqa [scratch + rcx + 256 - 32], ymm0
    vmovdqa [scratch + rcx + 256 - 64], ymm0
    sub ecx, 64
    ja .Lwipe
    vzeroupper
.Lend:
    endfunction
