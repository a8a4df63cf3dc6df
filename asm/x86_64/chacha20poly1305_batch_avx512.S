/* ChaCha20-Poly1305 (RFC 8439) for x86-64 with AVX-512 IFMA: seals or opens many packets, each with its own key.
 *
 * void sealane_chacha20poly1305_batch_avx512(const args *a, void *scratch, const void *consts)
 *
 * Needs        AVX512F, VL, BW, IFMA; BMI2
 * Reads        args; of every lane ad[ad_bytes], key[32], nonce[12], in[bytes]
 * Writes       of every lane out[bytes], tag[16]; scratch (SEALANE_BATCH_SCRATCH_BYTES), wiped again
 * Registers    all but rsp, rbp; stack 0
 * Branches and addresses depend on flags, pointers and lengths only.
 *
 * Packets are taken in waves of at most 32, fewer if they are long. A wave's blocks, block 0 of all packets (their Poly1305
 * keys), then block 1 of all that have it, and so on, fill 32 slots a pass: two sets of sixteen registers, a register being
 * one word of sixteen slots' states (16 slots, one set, if no more are left). So slots stay full whatever the lengths.
 * The words of a wave's keys and nonces are laid beside each other once, [word][packet]; a pass picks from there.
 *
 * Poly1305 (2.5), p = 2^130 - 5, of eight packets at a time: a register is one limb of all eight. x = x0 + 2^44 x1 + 2^88 x2;
 * 2^132 = 20 mod p, so
 *   (x*y)0 = x0 y0 + 20 x1 y2 + 20 x2 y1     (x*y)1 = x0 y1 + x1 y0 + 20 x2 y2     (x*y)2 = x0 y2 + x1 y1 + x2 y0
 * Four blocks a step, h := (h + m) r^4 + m' r^3 + m'' r^2 + m''' r. Steps are counted from the end of a packet (associated
 * data, text, lengths): all end together, and what lies before the beginning of a packet adds nothing.
 */
#include "../asm.S"

    isa .avx, .avx2, .bmi, .bmi2, .avx512f, .avx512vl, .avx512bw, .avx512ifma

/* Constants. */
#define SIGMA 0       /* "expand 32-byte k" */
#define NONCE_LANES 16 /* eight masks, 16 bits each: 64-bit word 2l, 32-bit word 4l + 2 of 128-bit lane l */
#define EVEN 64       /* 32-bit words 0, 2, .. 30 of two registers */
#define ODD 128       /* 1, 3, .. 31 */
#define LOW_PAIRS 192 /* words 0 to 7 of two registers, in pairs */
#define HIGH_PAIRS 256 /* words 8 to 15 */
#define ONES 320      /* 64 bytes 0xff */
#define MASK44 384    /* 2^44 - 1 */
#define MASK42 392    /* 2^42 - 1 */
#define PAD 400       /* 2^128 in limb 2: the bit that RFC 8439, 2.5.1 adds to every block */
#define SHIFT8 408    /* 2^8: from 52 to 44 bits */
#define FOLD132 416   /* 20 = 2^132 mod p */
#define FOLD140 424   /* 5120 = 2^140 mod p */
#define FOLD130 432   /* 5 = 2^130 mod p */
#define CLAMP 440     /* RFC 8439, 2.5: the bits of r that are not zero */

    constants sealane_chacha20poly1305_batch_avx512_constants
    .ascii "expand 32-byte k"
    .short 0x01, 0x04, 0x10, 0x40, 0x0004, 0x0040, 0x0400, 0x4000
    .quad 0, 0, 0, 0
    .long 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30
    .long 1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31
    .long 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23
    .long 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31
    .quad -1, -1, -1, -1, -1, -1, -1, -1
    .quad 0xfffffffffff, 0x3ffffffffff, 0x10000000000, 256, 20, 5120, 5
    .quad 0x0ffffffc0fffffff, 0x0ffffffc0ffffffc
    endconstants

/* Scratch. */
#define FIRST_LANE 256 /* of the wave */
#define NEXT_LANE 264 /* behind it */
#define LEFT 272      /* packets behind it */
#define PACKETS 280   /* in the wave */
#define TODO 284      /* blocks that no slot has been given to */
#define FROM 288      /* the next packet in ACTIVE */
#define TO 292        /* the end of what is known of ACTIVE for the next sweep */
#define ACTIVES 296   /* packets in ACTIVE in this sweep */
#define BLOCK 300     /* the block that is handed out in this sweep */
#define SLOTS 304     /* slots of this pass */
#define NEXT_SLOTS 308 /* of the next */
#define KEYS 312      /* slots of this pass that hold Poly1305 keys, the first ones */
#define TABLE 316     /* which half of SLOT is this pass's: 0 or SLOT_HALF */
#define VECTOR 320    /* eight packets that Poly1305 is at: their place in RECORD */
#define ACTIVE 384    /* packets that have blocks left, 32 of 32 bits */
#define BLOCKS 512    /* by packet: blocks of keystream, 32 of 32 bits */
#define RECORD 640    /* by packet: its lane; the last one's again up to the next multiple of 16 */
#define SLOT 896      /* two passes' slots: packet, block; 32 bits each */
#define SLOT_HALF 256
/* of eight packets that Poly1305 is at: */
#define MAC_END 1408  /* where the block of lengths would be if it followed the text, plus 16 */
#define TEXT16 1472   /* bytes from the text's beginning to there */
#define AD_END 1536   /* the same if the associated data were followed by text and lengths */
#define ALL16 1600    /* bytes from the associated data's beginning to there */
#define AD_BYTES 1664
#define TEXT_BYTES 1728 /* directly behind AD_BYTES */
#define TAIL 1792     /* in the last step: which bytes are text */
#define TAGS 1856     /* eight */
#define WORDS 1984    /* [word 4 .. 11, 13 .. 15][packet]: keys and nonces */
#define WORDS_ROW 128
#define ONCE 3392     /* two sets' words 4 to 15 as a pass begins */
#define ONCE_SET 768
#define POWERS 3392   /* when the pass has ended: r, r^2, r^3, r^4 of eight packets, each as y0, y1, y2, 20 y1, 20 y2 */
#define POWER 320
#define STREAM 4928   /* 32 blocks of keystream */
#define STREAM_SET 1024
#define KEY 6976      /* by vector of eight packets: r low, high, s low, high */
#define KEY_BYTES 256
#define END 8000

#define WAVE 32       /* packets, at most */
#define WAVE_BLOCKS 320 /* eight packets more only while the wave has fewer: both its input and its output should stay in L1 */

/* Registers. */
#define args rdi
#define scratch rsi
#define consts rdx

/* Vector registers of Poly1305. */
#define lo0 zmm16
#define lo1 zmm17
#define lo2 zmm18
#define hi0 zmm19
#define hi1 zmm20
#define hi2 zmm21
#define h0 zmm22
#define h1 zmm23
#define h2 zmm24
#define x0 zmm25
#define x1 zmm26
#define x2 zmm27
#define vt zmm28
#define mask44 zmm29
#define pad0 zmm12
#define pad1 zmm13
#define pad2 zmm14
#define pad3 zmm15

/* ---- ChaCha20 -------------------------------------------------------------------------------------------------- */

/* A quarter round is 12 steps: a += b; d ^= a; d <<<= 16;  c += d; b ^= c; b <<<= 12;  and again with 8 and 7. */
.macro quarter step, a, b, c, d
    .if \step == 0 || \step == 6
    vpaddd zmm\a, zmm\a, zmm\b
    .elseif \step == 1 || \step == 7
    vpxord zmm\d, zmm\d, zmm\a
    .elseif \step == 2
    vprold zmm\d, zmm\d, 16
    .elseif \step == 8
    vprold zmm\d, zmm\d, 8
    .elseif \step == 3 || \step == 9
    vpaddd zmm\c, zmm\c, zmm\d
    .elseif \step == 4 || \step == 10
    vpxord zmm\b, zmm\b, zmm\c
    .elseif \step == 5
    vprold zmm\b, zmm\b, 12
    .else
    vprold zmm\b, zmm\b, 7
    .endif
.endm

/* Half a round of a set: two quarter rounds of the columns or the diagonals. */
.macro columns half, pair, step
    .if \half == 0
        .if \pair == 0
    quarter \step, 0, 4, 8, 12
    quarter \step, 1, 5, 9, 13
        .elseif \pair == 1
    quarter \step, 2, 6, 10, 14
    quarter \step, 3, 7, 11, 15
        .elseif \pair == 2
    quarter \step, 16, 20, 24, 28
    quarter \step, 17, 21, 25, 29
        .else
    quarter \step, 18, 22, 26, 30
    quarter \step, 19, 23, 27, 31
        .endif
    .else
        .if \pair == 0
    quarter \step, 0, 5, 10, 15
    quarter \step, 1, 6, 11, 12
        .elseif \pair == 1
    quarter \step, 2, 7, 8, 13
    quarter \step, 3, 4, 9, 14
        .elseif \pair == 2
    quarter \step, 16, 21, 26, 31
    quarter \step, 17, 22, 27, 28
        .else
    quarter \step, 18, 23, 24, 29
    quarter \step, 19, 20, 25, 30
        .endif
    .endif
.endm

.macro sixteen_round half
    .irp step, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11
    columns \half, 0, \step
    columns \half, 1, \step
    .endr
.endm

.macro thirtytwo_round half
    .irp step, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11
    columns \half, 0, \step
    columns \half, 1, \step
    .endr
    .irp step, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11
    columns \half, 2, \step
    columns \half, 3, \step
    .endr
.endm

/* Hands out blocks to the next pass's slots, which are at rbx. */
.macro hand_out
    mov ecx, [scratch + TODO]
    mov eax, 32
    cmp ecx, eax
    cmova ecx, eax
    mov [scratch + NEXT_SLOTS], ecx
    sub [scratch + TODO], ecx
    test ecx, ecx
    jz .Lnothing\@
    mov r8d, [scratch + FROM]
    mov r9d, [scratch + TO]
    mov r10d, [scratch + ACTIVES]
    mov r11d, [scratch + BLOCK]
.Lslot\@:
    mov eax, [scratch + ACTIVE + 4*r8]
    mov [scratch + ACTIVE + 4*r9], eax
    mov [rbx], eax
    mov [rbx + 4], r11d
    add rbx, 8
    lea r12d, [r11 + 1]
    cmp r12d, [scratch + BLOCKS + 4*rax]
    adc r9d, 0                                                                  /* it stays, if it has more blocks */
    inc r8d
    cmp r8d, r10d
    jne .Lsame_block\@
    mov r10d, r9d
    xor r8d, r8d
    xor r9d, r9d
    mov r11d, r12d
.Lsame_block\@:
    dec ecx
    jnz .Lslot\@
    mov [scratch + FROM], r8d
    mov [scratch + TO], r9d
    mov [scratch + ACTIVES], r10d
    mov [scratch + BLOCK], r11d
.Lnothing\@:
.endm

/* Words of the initial states of 16 slots, which are at rbx, in registers r0 .. r15; kept in ONCE, too. */
.macro set_begin set, index, r0, r1, r2, r3, r4, r5, r6, r7, r8, r9, r10, r11, r12, r13, r14, r15
    vmovdqa64 zmm\r1, [rbx + 128*\set]
    vmovdqa64 zmm\r2, [rbx + 128*\set + 64]
    vmovdqu64 zmm\index, [consts + EVEN]
    vmovdqu64 zmm\r12, [consts + ODD]
    vpermi2d zmm\index, zmm\r1, zmm\r2
    vpermi2d zmm\r12, zmm\r1, zmm\r2
    vmovdqa64 [scratch + ONCE + ONCE_SET*\set + 64*8], zmm\r12
    word_begin \set, \index, \r4, 0, 0
    word_begin \set, \index, \r5, 1, 1
    word_begin \set, \index, \r6, 2, 2
    word_begin \set, \index, \r7, 3, 3
    word_begin \set, \index, \r8, 4, 4
    word_begin \set, \index, \r9, 5, 5
    word_begin \set, \index, \r10, 6, 6
    word_begin \set, \index, \r11, 7, 7
    word_begin \set, \index, \r13, 8, 9
    word_begin \set, \index, \r14, 9, 10
    word_begin \set, \index, \r15, 10, 11
    vpbroadcastd zmm\r0, [consts + SIGMA]
    vpbroadcastd zmm\r1, [consts + SIGMA + 4]
    vpbroadcastd zmm\r2, [consts + SIGMA + 8]
    vpbroadcastd zmm\r3, [consts + SIGMA + 12]
.endm

.macro word_begin set, index, r, row, once
    vmovdqa64 zmm\r, [scratch + WORDS + WORDS_ROW*\row]
    vpermt2d zmm\r, zmm\index, [scratch + WORDS + WORDS_ROW*\row + 64]
    vmovdqa64 [scratch + ONCE + ONCE_SET*\set + 64*\once], zmm\r
.endm

/* Their last addition. */
.macro set_end set, r0, r1, r2, r3, others:vararg
    vpaddd zmm\r0, zmm\r0, dword ptr [consts + SIGMA]{1to16}
    vpaddd zmm\r1, zmm\r1, dword ptr [consts + SIGMA + 4]{1to16}
    vpaddd zmm\r2, zmm\r2, dword ptr [consts + SIGMA + 8]{1to16}
    vpaddd zmm\r3, zmm\r3, dword ptr [consts + SIGMA + 12]{1to16}
    .irp r, \others
    vpaddd zmm\r, zmm\r, [scratch + ONCE + ONCE_SET*\set + 64*(\r - \r0 - 4)]
    .endr
.endm

/* Words a and b of eight key slots, in pairs: part of r or s. */
.macro pair_words pairs, a, b, offset
    vmovdqa64 zmm28, zmm\pairs
    vpermi2d zmm28, zmm\a, zmm\b
    .if \a < 4
    vpandq zmm28, zmm28, qword ptr [consts + CLAMP + 4*\a]{1to8}
    .endif
    vmovdqa64 [r10 + \offset + 32*\a], zmm28
.endm

.macro set_keys pairs, offset
    pair_words \pairs, 0, 1, \offset
    pair_words \pairs, 2, 3, \offset
    pair_words \pairs, 4, 5, \offset
    pair_words \pairs, 6, 7, \offset
.endm

/* Four registers of four words in each 128-bit lane, transposed; by way of t0 .. t3, to o0 .. o3. */
.macro transpose_words a0, a1, a2, a3, t0, t1, t2, t3, o0, o1, o2, o3
    vpunpckldq zmm\t0, zmm\a0, zmm\a1
    vpunpckhdq zmm\t1, zmm\a0, zmm\a1
    vpunpckldq zmm\t2, zmm\a2, zmm\a3
    vpunpckhdq zmm\t3, zmm\a2, zmm\a3
    vpunpcklqdq zmm\o0, zmm\t0, zmm\t2
    vpunpckhqdq zmm\o1, zmm\t0, zmm\t2
    vpunpcklqdq zmm\o2, zmm\t1, zmm\t3
    vpunpckhqdq zmm\o3, zmm\t1, zmm\t3
.endm

/* Four registers of four 128-bit lanes, transposed by way of t0, t1, and stored 256 bytes apart. */
.macro transpose_lanes a0, a1, a2, a3, t0, t1, offset
    vshufi32x4 zmm\t0, zmm\a0, zmm\a1, 0x44
    vshufi32x4 zmm\a0, zmm\a0, zmm\a1, 0xee
    vshufi32x4 zmm\t1, zmm\a2, zmm\a3, 0x44
    vshufi32x4 zmm\a2, zmm\a2, zmm\a3, 0xee
    vshufi32x4 zmm\a1, zmm\t0, zmm\t1, 0x88
    vshufi32x4 zmm\t0, zmm\t0, zmm\t1, 0xdd
    vshufi32x4 zmm\a3, zmm\a0, zmm\a2, 0x88
    vshufi32x4 zmm\a0, zmm\a0, zmm\a2, 0xdd
    vmovdqa64 [rbx + \offset], zmm\a1
    vmovdqa64 [rbx + \offset + 256], zmm\t0
    vmovdqa64 [rbx + \offset + 512], zmm\a3
    vmovdqa64 [rbx + \offset + 768], zmm\a0
.endm

/* 128-bit lanes of two registers, alternately words w and w + 4 of packets' keys. */
.macro key_words w, a, b
    vshufi32x4 zmm4, zmm\a, zmm\b, 0x88
    vshufi32x4 zmm5, zmm\a, zmm\b, 0xdd
    vmovdqa64 [r9 + WORDS_ROW*\w], zmm4
    vmovdqa64 [r9 + WORDS_ROW*(\w + 4)], zmm5
.endm

/* ---- Poly1305 -------------------------------------------------------------------------------------------------- */

/* acc += low or high 52 bits of v times part `y` of power `power`. */
.macro times_part acc, high, v, power, y
    .if \high
    vpmadd52huq \acc, \v, [scratch + POWERS + POWER*(\power - 1) + 64*\y]
    .else
    vpmadd52luq \acc, \v, [scratch + POWERS + POWER*(\power - 1) + 64*\y]
    .endif
.endm

.macro times_limb limb, v, power
    .irp high, 0, 1
        .if \high
    times_limb_half \limb, \high, \v, \power, hi0, hi1, hi2
        .else
    times_limb_half \limb, \high, \v, \power, lo0, lo1, lo2
        .endif
    .endr
.endm

.macro times_limb_half limb, high, v, power, a0, a1, a2
    .if \limb == 0
    times_part \a0, \high, \v, \power, 0                                         /* x0 y0 */
    times_part \a1, \high, \v, \power, 1                                         /* x0 y1 */
    times_part \a2, \high, \v, \power, 2                                         /* x0 y2 */
    .elseif \limb == 1
    times_part \a0, \high, \v, \power, 4                                         /* 20 x1 y2 */
    times_part \a1, \high, \v, \power, 0                                         /* x1 y0 */
    times_part \a2, \high, \v, \power, 1                                         /* x1 y1 */
    .else
    times_part \a0, \high, \v, \power, 3                                         /* 20 x2 y1 */
    times_part \a1, \high, \v, \power, 4                                         /* 20 x2 y2 */
    times_part \a2, \high, \v, \power, 0                                         /* x2 y0 */
    .endif
.endm

/* lo, hi += v0, v1, v2 times r^power. */
.macro times v0, v1, v2, power
    times_limb 0, \v0, \power
    times_limb 1, \v1, \power
    times_limb 2, \v2, \power
.endm

/* lo, hi -> three limbs lo of 44 bits (lo2: a little more). Of four products, one of them of limbs of 45 bits, no step
 * overflows: 256 hi0, 256 hi1 and 5120 hi2 stay below 2^52, as vpmadd52luq needs, since 20 y1 and 20 y2 are below 2^48.4.
 */
.macro carry
    vpmadd52luq lo2, hi1, qword ptr [consts + SHIFT8]{1to8}                     /* 2^52 2^44 = 2^88 2^8 */
    vpmadd52luq lo0, hi2, qword ptr [consts + FOLD140]{1to8}                    /* 2^52 2^88 = 2^140 */
    vpmadd52luq lo1, hi0, qword ptr [consts + SHIFT8]{1to8}                     /* 2^52 = 2^44 2^8 */
    vpsrlq vt, lo2, 44
    vpandq lo2, lo2, mask44
    vpmadd52luq lo0, vt, qword ptr [consts + FOLD132]{1to8}                     /* 2^88 2^44 = 2^132 */
    vpsrlq vt, lo0, 44
    vpandq lo0, lo0, mask44
    vpaddq lo1, lo1, vt
    vpsrlq vt, lo1, 44
    vpandq lo1, lo1, mask44
    vpaddq lo2, lo2, vt
.endm

.macro clear v
    vpxord xmm\v, xmm\v, xmm\v
.endm

.macro clear_sums
    .irp v, 16, 17, 18, 19, 20, 21
    clear \v
    .endr
.endm

/* 64-bit words x0 (low) and vt (high) of eight blocks -> limbs. */
.macro limbs
    vpsrlq x1, x0, 44
    vpsrlq x2, vt, 24
    vpsllq vt, vt, 20
    vpandq x0, x0, mask44
    vpternlogq x1, vt, mask44, 0xa8                                             /* (x1 | vt) & mask44 */
.endm

/* The blocks in two registers' lanes -> limbs, times r^power. */
.macro times_blocks even, odd, pad, power
    vpunpcklqdq x0, zmm\even, zmm\odd
    vpunpckhqdq vt, zmm\even, zmm\odd
    limbs
    vporq x2, x2, \pad
    times x0, x1, x2, \power
.endm

/* Keeps a power, which is in v0, v1, v2. */
.macro keep_power v0, v1, v2, power
    clear 30
    clear 31
    vpmadd52luq zmm30, \v1, qword ptr [consts + FOLD132]{1to8}
    vpmadd52luq zmm31, \v2, qword ptr [consts + FOLD132]{1to8}
    vmovdqa64 [scratch + POWERS + POWER*(\power - 1)], \v0
    vmovdqa64 [scratch + POWERS + POWER*(\power - 1) + 64], \v1
    vmovdqa64 [scratch + POWERS + POWER*(\power - 1) + 128], \v2
    vmovdqa64 [scratch + POWERS + POWER*(\power - 1) + 192], zmm30
    vmovdqa64 [scratch + POWERS + POWER*(\power - 1) + 256], zmm31
.endm

/* ---- The kernel ------------------------------------------------------------------------------------------------ */

    function sealane_chacha20poly1305_batch_avx512
    mov r12, [args + SEALANE_BATCH_LANES]
    mov r13, [args + SEALANE_BATCH_COUNT]
    test r13, r13
    jz .Lend

    /* A wave: its packets' blocks. */
.Lwave:
    mov [scratch + FIRST_LANE], r12
    xor r8d, r8d
    xor r9d, r9d
.Lpacket:
    mov rax, [r12 + SEALANE_LANE_BYTES]
    add rax, 127
    shr rax, 6
    mov [scratch + BLOCKS + 4*r8], eax
    mov [scratch + ACTIVE + 4*r8], r8d
    mov [scratch + RECORD + 8*r8], r12
    add r9, rax
    add r12, SEALANE_LANE_STRIDE
    inc r8d
    dec r13
    jz .Lpackets
    test r8d, 7
    jnz .Lpacket
    cmp r8d, WAVE
    je .Lpackets
    cmp r9, WAVE_BLOCKS
    jb .Lpacket
.Lpackets:
    mov [scratch + NEXT_LANE], r12
    mov [scratch + LEFT], r13
    mov [scratch + PACKETS], r8d
    mov [scratch + KEYS], r8d
    mov [scratch + ACTIVES], r8d
    mov [scratch + TODO], r9d
    sub r12, SEALANE_LANE_STRIDE
.Lno_packet:
    test r8d, 15
    jz .Lrecords
    mov [scratch + RECORD + 8*r8], r12
    inc r8d
    jmp .Lno_packet
.Lrecords:
    xor eax, eax
    mov [scratch + FROM], eax
    mov [scratch + TO], eax
    mov [scratch + BLOCK], eax
    mov [scratch + TABLE], eax
    lea rbx, [scratch + SLOT]
    hand_out

    /* Keys and nonces, 16 packets at a time: [packet][word] -> [word][packet]. */
    .irp m, 1, 2, 3, 4, 5, 6, 7
    kmovw k\m, [consts + NONCE_LANES + 2*\m]
    .endr
    mov ecx, [scratch + PACKETS]
    lea r8, [scratch + RECORD]
    lea r9, [scratch + WORDS]
.Lwords:
    .irp r, 0, 1, 2, 3, 8, 9, 10, 11
    mov rax, [r8 + 8*\r]
    mov rbx, [r8 + 8*\r + 32]
    mov rax, [rax + SEALANE_LANE_KEY]
    mov rbx, [rbx + SEALANE_LANE_KEY]
    vmovdqu ymm\r, [rax]
    vinserti64x4 zmm\r, zmm\r, [rbx], 1                                         /* packets r, r + 4 */
    .endr
    transpose_words 0, 1, 2, 3, 4, 5, 6, 7, 0, 1, 2, 3
    transpose_words 8, 9, 10, 11, 4, 5, 6, 7, 8, 9, 10, 11
    key_words 0, 0, 8
    key_words 1, 1, 9
    key_words 2, 2, 10
    key_words 3, 3, 11
    .irp r, 0, 1, 2, 3
    mov rax, [r8 + 8*\r]
    mov rbx, [r8 + 8*\r + 32]
    mov r10, [r8 + 8*\r + 64]
    mov r11, [r8 + 8*\r + 96]
    mov rax, [rax + SEALANE_LANE_NONCE]
    mov rbx, [rbx + SEALANE_LANE_NONCE]
    mov r10, [r10 + SEALANE_LANE_NONCE]
    mov r11, [r11 + SEALANE_LANE_NONCE]
    vmovq xmm\r, [rax]
    vpbroadcastq zmm\r{k1}, [rbx]
    vpbroadcastq zmm\r{k2}, [r10]
    vpbroadcastq zmm\r{k3}, [r11]
    vpbroadcastd zmm\r{k4}, [rax + 8]
    vpbroadcastd zmm\r{k5}, [rbx + 8]
    vpbroadcastd zmm\r{k6}, [r10 + 8]
    vpbroadcastd zmm\r{k7}, [r11 + 8]                                           /* packets r, r + 4, r + 8, r + 12 */
    .endr
    transpose_words 0, 1, 2, 3, 4, 5, 6, 7, 0, 1, 2, 3
    vmovdqa64 [r9 + WORDS_ROW*8], zmm0
    vmovdqa64 [r9 + WORDS_ROW*9], zmm1
    vmovdqa64 [r9 + WORDS_ROW*10], zmm2
    add r8, 128
    add r9, 64
    sub ecx, 16
    ja .Lwords

    /* A pass. */
.Lpass:
    mov ebx, [scratch + TABLE]
    mov eax, [scratch + NEXT_SLOTS]
    mov [scratch + SLOTS], eax
    lea rbx, [scratch + rbx + SLOT]
    mov ecx, 10
    cmp eax, 16
    ja .Lthirtytwo_begin
    set_begin 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
.Lsixteen:
    sixteen_round 0
    sixteen_round 1
    dec ecx
    jnz .Lsixteen
    jmp .Lrounds_done
.Lthirtytwo_begin:
    set_begin 1, 0, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31
    set_begin 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
.Lthirtytwo:
    thirtytwo_round 0
    thirtytwo_round 1
    dec ecx
    jnz .Lthirtytwo
    set_end 1, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31
    .irp r, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31
    vmovdqa64 [scratch + STREAM + STREAM_SET + 64*(\r - 16)], zmm\r
    .endr
.Lrounds_done:
    set_end 0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
    mov ebx, [scratch + TABLE]
    xor ebx, SLOT_HALF
    mov [scratch + TABLE], ebx
    lea rbx, [scratch + rbx + SLOT]
    hand_out

    /* [word][slot] -> keys and keystream, 16 slots at a time. */
    mov r8d, [scratch + KEYS]
    mov r9d, [scratch + SLOTS]
    lea rbx, [scratch + STREAM]
    lea r10, [scratch + KEY]
.Lset:
    test r8d, r8d
    jle .Lset_stream
    vmovdqu64 zmm30, [consts + LOW_PAIRS]
    vmovdqu64 zmm31, [consts + HIGH_PAIRS]
    set_keys 30, 0
    set_keys 31, KEY_BYTES
    cmp r8d, 16
    jae .Lset_done
.Lset_stream:
    transpose_words 0, 1, 2, 3, 16, 17, 18, 19, 0, 1, 2, 3
    transpose_words 4, 5, 6, 7, 20, 21, 22, 23, 4, 5, 6, 7
    transpose_words 8, 9, 10, 11, 24, 25, 26, 27, 8, 9, 10, 11
    transpose_words 12, 13, 14, 15, 28, 29, 30, 31, 12, 13, 14, 15
    transpose_lanes 0, 4, 8, 12, 16, 17, 0
    transpose_lanes 1, 5, 9, 13, 18, 19, 64
    transpose_lanes 2, 6, 10, 14, 20, 21, 128
    transpose_lanes 3, 7, 11, 15, 22, 23, 192
.Lset_done:
    add rbx, STREAM_SET
    add r10, 2*KEY_BYTES
    sub r8d, 16
    sub r9d, 16
    jbe .Lsets_done
    .irp r, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
    vmovdqa64 zmm\r, [rbx + 64*\r]
    .endr
    jmp .Lset
.Lsets_done:
    test dword ptr [args + SEALANE_ARG_FLAGS], SEALANE_FLAG_OPEN
    jz .Lcrypt
    cmp dword ptr [scratch + KEYS], 0
    jne .Lauthenticate

    /* Text of this pass: from where its keys end. */
.Lcrypt:
    mov ecx, [scratch + KEYS]
    mov r8d, [scratch + SLOTS]
    mov dword ptr [scratch + KEYS], 0
    mov r9, [scratch + FIRST_LANE]
    sub r8d, ecx
    jz .Lcrypted
    mov ebx, [scratch + TABLE]
    xor ebx, SLOT_HALF
    lea rbx, [scratch + rbx + SLOT]
    lea rbx, [rbx + 8*rcx]
    shl ecx, 6
    lea r10, [scratch + rcx + STREAM]
.Lblock:
    mov eax, [rbx]
    mov ecx, [rbx + 4]
    shl rax, 6
    shl rcx, 6
    add rax, r9
    vmovdqa64 zmm0, [r10]
    mov r11, [rax + SEALANE_LANE_IN]
    mov r12, [rax + SEALANE_LANE_OUT]
    mov r13, [rax + SEALANE_LANE_BYTES]
    add rbx, 8
    add r10, 64
    sub r13, rcx                                                                /* bytes behind this block */
    jb .Lpartial
    vpxorq zmm0, zmm0, [r11 + rcx - 64]
    vmovdqu64 [r12 + rcx - 64], zmm0
    dec r8d
    jnz .Lblock
    jmp .Lcrypted
.Lpartial:
    add r13d, 64
    mov rax, -1
    bzhi rax, rax, r13
    kmovq k1, rax
    vmovdqu8 zmm1{k1}{z}, [r11 + rcx - 64]
    vpxorq zmm0, zmm0, zmm1
    vmovdqu8 [r12 + rcx - 64]{k1}, zmm0
    dec r8d
    jnz .Lblock
.Lcrypted:
    cmp dword ptr [scratch + NEXT_SLOTS], 0
    jne .Lpass
    test dword ptr [args + SEALANE_ARG_FLAGS], SEALANE_FLAG_OPEN
    jnz .Lwave_done

    /* Poly1305 of the wave's packets, eight at a time. First what goes with the lengths. */
.Lauthenticate:
    mov dword ptr [scratch + VECTOR], 0
    vpbroadcastq mask44, [consts + MASK44]
.Lvector:
    mov r15d, [args + SEALANE_ARG_FLAGS]
    and r15d, SEALANE_FLAG_OPEN
    add r15d, r15d                                                              /* SEALANE_LANE_IN or SEALANE_LANE_OUT */
    mov ebx, [scratch + VECTOR]
    lea r8, [scratch + RECORD + 8*rbx]
    xor r9d, r9d                                                                /* associated data of any packet */
    xor r14d, r14d                                                              /* the largest ALL16 */
    mov r13, -1                                                                 /* the smallest TEXT16 */
    xor ecx, ecx
.Llengths:
    mov rax, [r8 + 8*rcx]
    mov rbx, [rax + SEALANE_LANE_BYTES]
    mov r11, [rax + r15]
    lea r10, [rbx + 31]
    and r10, -16
    test rbx, rbx
    cmovz r11, rax                                                              /* an address that may be looked at */
    add r11, r10
    mov [scratch + TEXT_BYTES + 8*rcx], rbx
    mov [scratch + MAC_END + 8*rcx], r11
    mov [scratch + TEXT16 + 8*rcx], r10
    sub rbx, r10
    add rbx, 64
    mov r12, -1
    bzhi r12, r12, rbx
    mov [scratch + TAIL + 8*rcx], r12
    cmp r10, r13
    cmovb r13, r10
    mov rbx, [rax + SEALANE_LANE_AD_BYTES]
    mov r11, [rax + SEALANE_LANE_AD]
    lea r12, [rbx + 15]
    and r12, -16
    add r10, r12
    or r9, rbx
    test rbx, rbx
    cmovz r11, rax
    add r11, r10
    mov [scratch + AD_BYTES + 8*rcx], rbx
    mov [scratch + AD_END + 8*rcx], r11
    mov [scratch + ALL16 + 8*rcx], r10
    cmp r10, r14
    cmova r14, r10
    inc ecx
    cmp ecx, 8
    jne .Llengths
    mov r8, r14                                                                 /* the largest ALL16 */
    add r14, 63
    and r14, -64                                                                /* bytes to go, whole steps */
    and r13, -64                                                                /* to go when whole steps of all are text */
    mov eax, 64
    cmp r13, rax
    cmovb r13, rax

    /* Powers of r. */
    mov ebx, [scratch + VECTOR]
    shl ebx, 5
    vmovdqa64 x0, [scratch + rbx + KEY]
    vmovdqa64 vt, [scratch + rbx + KEY + 64]
    limbs
    keep_power x0, x1, x2, 1
    clear_sums
    times x0, x1, x2, 1
    carry
    keep_power lo0, lo1, lo2, 2
    vmovdqa64 x0, lo0
    vmovdqa64 x1, lo1
    vmovdqa64 x2, lo2
    clear_sums
    times x0, x1, x2, 1
    carry
    keep_power lo0, lo1, lo2, 3
    clear_sums
    times x0, x1, x2, 2
    carry
    keep_power lo0, lo1, lo2, 4

    .irp v, 22, 23, 24
    clear \v
    .endr
    mov r10d, 64
    xor r11d, r11d
    mov r12, -1
.Lstep:
    cmp r14, r13
    ja .Ledge
    cmp r14, r10
    je .Ledge
    .irp j, 0, 1, 2, 3, 4, 5, 6, 7
    mov rax, [scratch + MAC_END + 8*\j]
    sub rax, r14
    vmovdqu64 zmm\j, [rax]
    .endr
    .irp j, 12, 13, 14, 15
    vpbroadcastq zmm\j, [consts + PAD]
    .endr
    jmp .Lloaded

    /* A step where a packet begins or ends. */
.Ledge:
    lea r15, [scratch + TAIL]
    cmp r14, r10
    je .Ledge_text
    lea r15, [consts + ONES]
.Ledge_text:
    .irp j, 0, 1, 2, 3, 4, 5, 6, 7
    mov rcx, r14
    mov rax, [scratch + MAC_END + 8*\j]
    sub rcx, [scratch + TEXT16 + 8*\j]                                          /* bytes before the text begins */
    cmovb rcx, r11
    cmp rcx, r10
    cmova rcx, r10
    bzhi rcx, r12, rcx
    andn rcx, rcx, [r15 + 8*\j]
    kmovq k1, rcx
    sub rax, r14
    vmovdqu8 zmm\j{k1}{z}, [rax]
    .endr
    test r9, r9
    jz .Ledge_pad
    .irp j, 0, 1, 2, 3, 4, 5, 6, 7
    mov rcx, r14
    mov rax, [scratch + AD_END + 8*\j]
    mov rbx, [scratch + AD_BYTES + 8*\j]
    sub rcx, [scratch + ALL16 + 8*\j]                                           /* bytes before the associated data begins */
    add rbx, rcx                                                                /* and before it ends */
    cmovs rbx, r11
    test rcx, rcx
    cmovs rcx, r11
    cmp rcx, r10
    cmova rcx, r10
    cmp rbx, r10
    cmova rbx, r10
    bzhi rcx, r12, rcx
    bzhi rbx, r12, rbx
    andn rcx, rcx, rbx
    kmovq k1, rcx
    sub rax, r14
    vmovdqu8 zmm\j{k1}, [rax]
    .endr
.Ledge_pad:
    vmovdqa64 x0, [scratch + ALL16]
    vpbroadcastq x1, [consts + PAD]
    lea rax, [r14 - 48]
    vpbroadcastq vt, rax
    vpcmpnltuq k1, x0, vt
    vmovdqa64 pad3{k1}{z}, x1
    .irp j, 14, 13, 12
    add rax, 16
    vpbroadcastq vt, rax
    vpcmpnltuq k1, x0, vt
    vmovdqa64 zmm\j{k1}{z}, x1
    .endr

    /* Rows: even and odd packets' blocks 2 and 3, then 0 and 1. */
.Lloaded:
    vshufi32x4 zmm8, zmm0, zmm2, 0x44
    vshufi32x4 zmm2, zmm0, zmm2, 0xee
    vshufi32x4 zmm9, zmm4, zmm6, 0x44
    vshufi32x4 zmm6, zmm4, zmm6, 0xee
    vshufi32x4 zmm10, zmm1, zmm3, 0x44
    vshufi32x4 zmm3, zmm1, zmm3, 0xee
    vshufi32x4 zmm11, zmm5, zmm7, 0x44
    vshufi32x4 zmm7, zmm5, zmm7, 0xee
    vshufi32x4 zmm0, zmm2, zmm6, 0xdd
    vshufi32x4 zmm1, zmm3, zmm7, 0xdd
    vshufi32x4 zmm2, zmm2, zmm6, 0x88
    vshufi32x4 zmm3, zmm3, zmm7, 0x88
    clear_sums
    vpunpcklqdq x0, zmm0, zmm1
    vpunpckhqdq vt, zmm0, zmm1
    cmp r14, r10
    jne .Lthird
    vmovdqa64 x0, [scratch + AD_BYTES]                                          /* RFC 8439, 2.8: the lengths */
    vmovdqa64 vt, [scratch + TEXT_BYTES]
.Lthird:
    limbs
    vporq x2, x2, pad3
    times x0, x1, x2, 1
    lea rax, [r14 - 48]                                                         /* no packet has begun before? */
    cmp r8, rax
    jbe .Lstep_done
    times_blocks 2, 3, pad2, 2
    add rax, 16
    cmp r8, rax
    jbe .Lstep_done
    vshufi32x4 zmm4, zmm8, zmm9, 0xdd
    vshufi32x4 zmm5, zmm10, zmm11, 0xdd
    times_blocks 4, 5, pad1, 3
    add rax, 16
    cmp r8, rax
    jbe .Lstep_done
    vshufi32x4 zmm6, zmm8, zmm9, 0x88
    vshufi32x4 zmm7, zmm10, zmm11, 0x88
    vpunpcklqdq x0, zmm6, zmm7
    vpunpckhqdq vt, zmm6, zmm7
    limbs
    vporq x2, x2, pad0
    vpaddq x0, x0, h0
    vpaddq x1, x1, h1
    vpaddq x2, x2, h2
    times x0, x1, x2, 4
.Lstep_done:
    carry
    vmovdqa64 h0, lo0
    vmovdqa64 h1, lo1
    vmovdqa64 h2, lo2
    sub r14, 64
    jnz .Lstep

    /* h mod p, plus s. */
    vpsrlq vt, h2, 42                                                           /* 2^130 = 5 */
    vpandq h2, h2, qword ptr [consts + MASK42]{1to8}
    vpmadd52luq h0, vt, qword ptr [consts + FOLD130]{1to8}
    vpsrlq vt, h0, 44
    vpandq h0, h0, mask44
    vpaddq h1, h1, vt
    vpsrlq vt, h1, 44
    vpandq h1, h1, mask44
    vpaddq h2, h2, vt
    vpaddq x0, h0, qword ptr [consts + FOLD130]{1to8}                           /* h - p = h + 5 - 2^130, if not negative */
    vpsrlq vt, x0, 44
    vpandq x0, x0, mask44
    vpaddq x1, h1, vt
    vpsrlq vt, x1, 44
    vpandq x1, x1, mask44
    vpaddq x2, h2, vt
    vpcmpnleuq k1, x2, qword ptr [consts + MASK42]{1to8}
    vmovdqa64 h0{k1}, x0
    vmovdqa64 h1{k1}, x1
    vmovdqa64 h2{k1}, x2
    vpsllq x0, h1, 44
    vporq x0, x0, h0                                                            /* bits 0 to 63 */
    vpsrlq x1, h1, 20
    vpsllq h2, h2, 24
    vporq x1, x1, h2                                                            /* 64 to 127 */
    mov ebx, [scratch + VECTOR]
    shl ebx, 5
    vmovdqa64 vt, [scratch + rbx + KEY + 128]
    vpaddq x0, x0, vt
    vpcmpltuq k1, x0, vt
    vpaddq x1, x1, [scratch + rbx + KEY + 192]
    vpsubq x1{k1}, x1, qword ptr [consts + ONES]{1to8}
    vpunpcklqdq zmm0, x0, x1
    vpunpckhqdq zmm1, x0, x1
    vmovdqa64 [scratch + TAGS], zmm0                                            /* of packets 0, 2, 4, 6 */
    vmovdqa64 [scratch + TAGS + 64], zmm1                                       /* of 1, 3, 5, 7 */
    mov ebx, [scratch + VECTOR]
    mov ecx, [scratch + PACKETS]
    lea r8, [scratch + RECORD + 8*rbx]
    add ebx, 8
    mov [scratch + VECTOR], ebx
    sub ecx, ebx
    add ecx, 8
    mov eax, 8
    cmp ecx, eax
    cmova ecx, eax
    lea rbx, [scratch + TAGS]
    mov r9d, 64
.Ltag:
    mov rax, [r8]
    vmovdqa xmm0, [rbx]
    mov rax, [rax + SEALANE_LANE_TAG]
    vmovdqu [rax], xmm0
    add r8, 8
    add rbx, r9
    neg r9
    add r9, 16
    dec ecx
    jnz .Ltag
    mov ebx, [scratch + VECTOR]
    cmp ebx, [scratch + PACKETS]
    jb .Lvector
    test dword ptr [args + SEALANE_ARG_FLAGS], SEALANE_FLAG_OPEN
    jnz .Lcrypt

.Lwave_done:
    mov r12, [scratch + NEXT_LANE]
    mov r13, [scratch + LEFT]
    test r13, r13
    jnz .Lwave

    clear 0
    mov ecx, END - 256
.Lwipe:
    vmovdqa64 [scratch + rcx + 256 - 64], zmm0
    sub ecx, 64
    ja .Lwipe
    vzeroupper
.Lend:
    endfunction
