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
 * Packets are processed in waves of at most 32, fewer if they are long. A wave's blocks are block 0 of all packets
 * (their Poly1305 keys), then block 1 of all that have it, and so on. They fill 32 places per pass: two sets of
 * sixteen registers, where a register is one word of sixteen places' states. If 16 blocks or fewer are left, a pass
 * has 16 places, one set. So places stay full for any lengths. The words of a wave's keys and nonces are copied
 * beside each other once, [word][packet]; a pass selects from there.
 *
 * Poly1305 (2.5), p = 2^130 - 5, of eight packets at a time: a register is one limb of all eight. x = x0 + 2^44 x1 +
 * 2^88 x2; 2^132 = 20 mod p, so
 *   (x*y)0 = x0 y0 + 20 x1 y2 + 20 x2 y1     (x*y)1 = x0 y1 + x1 y0 + 20 x2 y2     (x*y)2 = x0 y2 + x1 y1 + x2 y0
 * h := (h + m) r^2 + m' r. Steps of two times two blocks are counted from the end of a packet's text. All end
 * together, and data before the beginning of a packet adds nothing. The block of lengths follows separately.
 */
#include "../asm.S"

    isa .avx, .avx2, .bmi, .bmi2, .avx512f, .avx512vl, .avx512bw, .avx512ifma

/* Constants. */
#define SIGMA 0       /* "expand 32-byte k" */
#define NONCE_WORDS 16 /* eight masks, 16 bits each: 64-bit word 2l, 32-bit word 4l + 2 of quarter l of a vector */
#define MASK44 32     /* 2^44 - 1 */
#define MASK42 40     /* 2^42 - 1 */
#define PAD 48        /* 2^128 in limb 2: the bit that RFC 8439, 2.5.1 adds to every block */
#define SHIFT8 56     /* 2^8: from 52 to 44 bits */
#define FOLD132 64    /* 20 = 2^132 mod p */
#define FOLD140 72    /* 5120 = 2^140 mod p */
#define FOLD130 80    /* 5 = 2^130 mod p */
#define CLAMP 88      /* RFC 8439, 2.5: the bits of r that are not zero */
#define MINUS16 104
#define SIXTEENS 112  /* 0, 16, 32, 48 */
#define FIFTEEN 144
#define ONE 152
#define EIGHT 160
#define IOTA 192      /* 0 .. 7 */
#define EVEN 256      /* 32-bit words 0, 2, .. 30 of two registers */
#define ODD 320       /* 1, 3, .. 31 */
#define LOW_PAIRS 384 /* words 0 to 7 of two registers, in pairs */
#define HIGH_PAIRS 448 /* words 8 to 15 */
#define IOTA32 512     /* 0 .. 15, 32 bits */

    constants sealane_chacha20poly1305_batch_avx512_constants
    .ascii "expand 32-byte k"
    .short 0x01, 0x04, 0x10, 0x40, 0x0004, 0x0040, 0x0400, 0x4000
    .quad 0xfffffffffff, 0x3ffffffffff, 0x10000000000, 256, 20, 5120, 5
    .quad 0x0ffffffc0fffffff, 0x0ffffffc0ffffffc
    .quad -16, 0, 16, 32, 48, 15, 1, 8, 0, 0, 0
    .quad 0, 1, 2, 3, 4, 5, 6, 7
    .long 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30
    .long 1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31
    .long 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23
    .long 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31
    .long 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
    endconstants

/* Scratch. */
#define FIRST_LANE 256 /* of the wave */
#define NEXT_LANE 264 /* after the wave */
#define LEFT 272      /* packets after the wave */
#define PACKETS 280   /* in the wave */
#define TODO 284      /* blocks without a place */
#define FROM 288      /* the next packet in ACTIVE */
#define TO 292        /* the end of the known part of ACTIVE for the next sweep */
#define ACTIVES 296   /* packets in ACTIVE in this sweep */
#define BLOCK 300     /* the block that is handed out in this sweep */
#define PLACES 304     /* places of this pass */
#define NEXT_PLACES 308 /* of the next */
#define KEYS 312      /* places of this pass that hold Poly1305 keys, the first ones */
#define TABLE 316     /* which half of PLACE is this pass's: 0 or PLACE_HALF */
#define ONES 328      /* 64 bits */
#define CRYPT_END 336 /* the end, in PLACE, of the places whose text waits for keystream */
#define SAVED_ARGS 344
#define SAVED_CONSTS 352
#define TEXT 360   /* by set: the first of 16 lanes, and the set's offset in their text, less 64; or 0, 0 */
#define ONCE_AT 392   /* by set: its column of WORDS or ONCE */
#define USED 408      /* bytes of VECTORS, or ONCE, that have been used */
#define ACTIVE 448    /* packets that have blocks left, 32 of 32 bits */
#define BLOCKS 576    /* by packet: blocks of keystream, 32 of 32 bits */
#define FULL 704      /* by packet: whole blocks of text, 32 of 32 bits */
#define RECORD 832    /* by packet: its lane; the last one's again up to the next multiple of 16 */
#define PLACE 1088     /* two passes' places: packet, block; 32 bits each */
#define PLACE_HALF 256
#define TAIL 1600     /* which bytes of a step are text, or associated data; by packet */
#define SPARE 1600    /* a register; the place of TAIL */
#define WORDS 1664    /* [word 4 .. 11, 13 .. 15][packet]: keys and nonces */
#define WORD_STRIDE 128
#define KEYSTREAM 3072   /* 32 blocks of keystream */
#define KEYSTREAM_SET 1024
#define KEY 5120      /* by vector of eight packets: r low, high, s low, high */
#define KEY_BYTES 256
#define ONCE 6144     /* [word 4 .. 11, 13 .. 15, 12][place]: as a pass begins, where that is not a column of WORDS */
#define COUNTER_WORD 11
#define ONCE_BYTES 1536
#define PADS 6144     /* when the pass has ended: by packet, 2^128 for each block of a step */
#define PADS_WHOLE 256 /* and that of a step of whole blocks */
#define VECTORS 6656  /* when the pass has ended: by vector of eight packets, */
#define VECTOR_BYTES 1280
#define END 11776
#if END > SEALANE_BATCH_SCRATCH_BYTES
#error "more scratch than there is"
#endif

/* in VECTORS: */
#define MAC_END 0     /* where the text ends, counted in whole blocks */
#define TEXT16 64     /* bytes from the text's beginning to there */
#define AD_END 128    /* the same if the associated data were followed by text */
#define ALL16 192     /* bytes from the associated data's beginning to there */
#define AD_BYTES 256
#define TEXT_BYTES 320
#define H 384         /* three limbs */
#define POWERS 576    /* r: y0, y1, y2, 20 y1, 20 y2 */
#define POWERS2 896   /* r^2 */
#define V_LONGEST 1216 /* the largest of ALL16 */
#define V_WHOLE 1224  /* to go when whole steps of all are text */
#define V_ENDS 1232   /* 64 if the last step is not, as a text ends within a block; 0 */
#define V_ADS 1240    /* some have associated data */

#define WAVE 32       /* packets, at most */
#define RUN_FROM 256  /* bytes left from which on a vector is processed separately */
/* Eight more packets are added only while the wave has fewer blocks, since its input and output should both stay in
 * L1. */
#define WAVE_BLOCKS 320

/* Registers. */
#define args rdi
#define scratch rsi
#define consts rdx

/* As blocks are handed out: */
#define from_index r8
#define to_index r9
#define actives r10d
#define block r11d
#define vacant r13d
/* In Poly1305, counted in bytes of 16-byte blocks, from the end of the text backwards: */
#define togo r14      /* to the beginning of this step */
#define back r15      /* -togo */

/* Vector registers of Poly1305; zmm0 to zmm10 hold packets' blocks. */
#define x0 zmm0
#define x1 zmm1
#define x2 zmm11
#define vt zmm5
#define lo0 zmm16
#define lo1 zmm17
#define lo2 zmm18
#define hi0 zmm19
#define hi1 zmm20
#define hi2 zmm21
#define h0 zmm22
#define h1 zmm23
#define h2 zmm24
#define mask44 zmm31
#define SUMS lo0, lo1, lo2, hi0, hi1, hi2
/* Powers of r: y0, y1, y2, 20 y1, 20 y2. */
#define R zmm12, zmm13, zmm14, zmm15, zmm25
#define R2 zmm26, zmm27, zmm28, zmm29, zmm30

/* ---- ChaCha20 -------------------------------------------------------------------------------------------------- */

#include "chacha20_zmm.h"

.macro sixteen_round half
    .irp step, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11
    columns \half, 0, \step
    columns \half, 1, \step
    .endr
.endm

/* Gives a block to a place of the next pass, at rbx. */
.macro hand_out
    mov eax, [scratch + ACTIVE + 4*from_index]
    mov [scratch + ACTIVE + 4*to_index], eax
    mov [rbx], eax
    mov [rbx + 4], block
    add rbx, 8
    lea r12d, [r11 + 1]
    cmp r12d, [scratch + BLOCKS + 4*rax]
    adc r9d, 0                                                                  /* stays active if it has more blocks */
    inc r8d
    cmp r8d, actives
    jne 176f
    mov actives, r9d
    xor r8d, r8d
    xor r9d, r9d
    mov block, r12d
176:
.endm

/* The same for at most four places. */
.macro hand_out_four
    test vacant, vacant
    jz 174f
    .irp i, 1, 2, 3
    hand_out
    dec vacant
    jz 174f
    .endr
    hand_out
    dec vacant
174:
.endm

/* XORs the text of the place at r14 with the keystream at r15. */
.macro crypt
    mov eax, [r14]
    mov r12d, [r14 + 4]
    shl rax, 6
    shl r12, 6
    add rax, [scratch + FIRST_LANE]
    add r14, 8
    mov rdi, [rax + SEALANE_LANE_IN]
    mov rdx, [rax + SEALANE_LANE_OUT]
    mov rax, [rax + SEALANE_LANE_BYTES]
    sub rax, r12                                                                /* bytes after this block */
    jb 175f
    vmovdqu64 zmm16, [rdi + r12 - 64]
    vpxorq zmm16, zmm16, [r15]
    vmovdqu64 [rdx + r12 - 64], zmm16
    add r15, 64
    jmp 171f
175:
    add eax, 64
    bzhi rax, [scratch + ONES], rax
    kmovq k1, rax
    vmovdqu8 zmm16{k1}{z}, [rdi + r12 - 64]
    vpxorq zmm16, zmm16, [r15]
    vmovdqu8 [rdx + r12 - 64]{k1}, zmm16
    add r15, 64
171:
.endm

/* The same for at most four places, one at a time. zmm16 is saved and restored. */
.macro crypt_four
    cmp r14, [scratch + CRYPT_END]
    jae 172f
    vmovdqa64 [scratch + SPARE], zmm16
    .irp i, 1, 2, 3
    crypt
    cmp r14, [scratch + CRYPT_END]
    je 173f
    .endr
    crypt
173:
    vmovdqa64 zmm16, [scratch + SPARE]
172:
.endm

.macro crypt_begin
    lea r14, [rbx + 8*r15]
    shl r15d, 6
    lea r15, [scratch + r15 + KEYSTREAM]
.endm

.macro crypt_end
    mov args, [scratch + SAVED_ARGS]
    mov consts, [scratch + SAVED_CONSTS]
.endm

/* Loads what hand_out and crypt need beside the rounds of a pass. */
.macro pass_begin
    mov eax, 32
    next_places
    mov [scratch + NEXT_PLACES], ecx
    mov vacant, ecx
    mov r8d, [scratch + FROM]
    mov r9d, [scratch + TO]
    mov actives, [scratch + ACTIVES]
    mov block, [scratch + BLOCK]
    mov ecx, 10
    crypt_begin
.endm

/* ecx := the places of the next pass, at most eax. */
.macro next_places
    mov ecx, [scratch + TODO]
    cmp ecx, eax
    cmova ecx, eax
    sub [scratch + TODO], ecx
.endm

#define SET0 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
#define SET1 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31

/* r0 .. r15 := the words of the initial states of 16 places, which are at r14. If the places have 16 successive
 * packets, as is usual, the words are a column of WORDS. Otherwise they are selected from WORDS and stored in ONCE.
 */
.macro set_begin set, index, r0, r1, r2, r3, r4, r5, r6, r7, r8, r9, r10, r11, r12, r13, r14, r15
    vmovdqa64 zmm\r1, [r14 + 128*\set]
    vmovdqa64 zmm\r2, [r14 + 128*\set + 64]
    mov eax, [r14 + 128*\set]
    mov r12d, [r14 + 128*\set + 4]
    vmovdqu64 zmm\index, [consts + EVEN]
    vmovdqu64 zmm\r12, [consts + ODD]
    vpermi2d zmm\index, zmm\r1, zmm\r2
    vpermi2d zmm\r12, zmm\r1, zmm\r2
    vmovdqa64 [scratch + ONCE + WORD_STRIDE*COUNTER_WORD + 64*\set], zmm\r12
    vpbroadcastd zmm\r3, eax
    vpaddd zmm\r3, zmm\r3, [consts + IOTA32]
    vpcmpeqd k1, zmm\r3, zmm\index
    xor r8d, r8d                                                                /* no lanes */
    lea r9, [scratch + ONCE + 64*\set]
    cmp dword ptr [scratch + PLACES], 16*\set + 16                        /* after the places, the table has nothing */
    jb 181f
    kortestw k1, k1
    jnc 181f
    test eax, 15
    jnz 181f
    lea r9, [scratch + WORDS + 4*rax]
    .irp r, \r4, \r5, \r6, \r7, \r8, \r9, \r10, \r11
    vmovdqa64 zmm\r, [r9 + WORD_STRIDE*(\r - \r4)]
    .endr
    .irp r, \r13, \r14, \r15
    vmovdqa64 zmm\r, [r9 + WORD_STRIDE*(\r - \r4 - 1)]
    .endr
    /* In the last pass, whole blocks of text are processed at once, unless the packets must be authenticated first.
     * Otherwise they wait for the rounds of the next pass. */
    vpbroadcastd zmm\r3, r12d
    vpcmpleud k1, zmm\r3, [scratch + FULL + 4*rax]
    kortestw k1, k1
    jnc 182f
    test r12d, r12d
    jz 182f
    cmp dword ptr [scratch + TODO], 0
    jne 182f
    cmp dword ptr [scratch + KEYS], 0
    je 183f
    test dword ptr [args + SEALANE_BATCH_FLAGS], SEALANE_FLAG_OPEN
    jnz 182f
183:
    shl rax, 6
    add rax, [scratch + FIRST_LANE]
    mov r8, rax
    shl r12, 6
    jmp 182f
181:
    word_begin \set, \index, \r4, 0
    word_begin \set, \index, \r5, 1
    word_begin \set, \index, \r6, 2
    word_begin \set, \index, \r7, 3
    word_begin \set, \index, \r8, 4
    word_begin \set, \index, \r9, 5
    word_begin \set, \index, \r10, 6
    word_begin \set, \index, \r11, 7
    word_begin \set, \index, \r13, 8
    word_begin \set, \index, \r14, 9
    word_begin \set, \index, \r15, 10
182:
    mov [scratch + ONCE_AT + 8*\set], r9
    mov [scratch + TEXT + 16*\set], r8
    mov [scratch + TEXT + 16*\set + 8], r12
    vpbroadcastd zmm\r0, [consts + SIGMA]
    vpbroadcastd zmm\r1, [consts + SIGMA + 4]
    vpbroadcastd zmm\r2, [consts + SIGMA + 8]
    vpbroadcastd zmm\r3, [consts + SIGMA + 12]
.endm

.macro word_begin set, index, r, word
    vmovdqa64 zmm\r, [scratch + WORDS + WORD_STRIDE*\word]
    vpermt2d zmm\r, zmm\index, [scratch + WORDS + WORD_STRIDE*\word + 64]
    vmovdqa64 [scratch + ONCE + WORD_STRIDE*\word + 64*\set], zmm\r
.endm

/* The last addition to the 16 states. */
.macro set_end set, r0, r1, r2, r3, r4, r5, r6, r7, r8, r9, r10, r11, r12, r13, r14, r15
    mov rax, [scratch + ONCE_AT + 8*\set]
    vpaddd zmm\r0, zmm\r0, dword ptr [consts + SIGMA]{1to16}
    vpaddd zmm\r1, zmm\r1, dword ptr [consts + SIGMA + 4]{1to16}
    vpaddd zmm\r2, zmm\r2, dword ptr [consts + SIGMA + 8]{1to16}
    vpaddd zmm\r3, zmm\r3, dword ptr [consts + SIGMA + 12]{1to16}
    .irp r, \r4, \r5, \r6, \r7, \r8, \r9, \r10, \r11
    vpaddd zmm\r, zmm\r, [rax + WORD_STRIDE*(\r - \r4)]
    .endr
    vpaddd zmm\r12, zmm\r12, [scratch + ONCE + WORD_STRIDE*COUNTER_WORD + 64*\set]
    .irp r, \r13, \r14, \r15
    vpaddd zmm\r, zmm\r, [rax + WORD_STRIDE*(\r - \r4 - 1)]
    .endr
.endm

/* Words a and b of eight key places, in pairs: part of r or s. */
.macro pair_words pairs, t, offset, word, a, b
    vmovdqa64 zmm\t, zmm\pairs
    vpermi2d zmm\t, zmm\a, zmm\b
    .if \word < 4
    vpandq zmm\t, zmm\t, qword ptr [consts + CLAMP + 4*\word]{1to8}
    .endif
    vmovdqa64 [scratch + KEY + \offset + 32*\word], zmm\t
.endm

/* r and s of 16 places, by way of t0, t1. */
.macro set_keys set, t0, t1, r0, r1, r2, r3, r4, r5, r6, r7
    vmovdqu64 zmm\t0, [consts + LOW_PAIRS]
    pair_words \t0, \t1, 2*KEY_BYTES*\set, 0, \r0, \r1
    pair_words \t0, \t1, 2*KEY_BYTES*\set, 2, \r2, \r3
    pair_words \t0, \t1, 2*KEY_BYTES*\set, 4, \r4, \r5
    pair_words \t0, \t1, 2*KEY_BYTES*\set, 6, \r6, \r7
    vmovdqu64 zmm\t0, [consts + HIGH_PAIRS]
    pair_words \t0, \t1, 2*KEY_BYTES*\set + KEY_BYTES, 0, \r0, \r1
    pair_words \t0, \t1, 2*KEY_BYTES*\set + KEY_BYTES, 2, \r2, \r3
    pair_words \t0, \t1, 2*KEY_BYTES*\set + KEY_BYTES, 4, \r4, \r5
    pair_words \t0, \t1, 2*KEY_BYTES*\set + KEY_BYTES, 6, \r6, \r7
.endm

/* Four registers of four quarters, transposed: to a1, t0, a3, a0, by way of t1. */
.macro transpose_quarters a0, a1, a2, a3, t0, t1
    vshufi32x4 zmm\t0, zmm\a0, zmm\a1, 0x44
    vshufi32x4 zmm\a0, zmm\a0, zmm\a1, 0xee
    vshufi32x4 zmm\t1, zmm\a2, zmm\a3, 0x44
    vshufi32x4 zmm\a2, zmm\a2, zmm\a3, 0xee
    vshufi32x4 zmm\a1, zmm\t0, zmm\t1, 0x88
    vshufi32x4 zmm\t0, zmm\t0, zmm\t1, 0xdd
    vshufi32x4 zmm\a3, zmm\a0, zmm\a2, 0x88
    vshufi32x4 zmm\a0, zmm\a0, zmm\a2, 0xdd
.endm

.macro store_place set, place, r
    vmovdqa64 [scratch + KEYSTREAM + KEYSTREAM_SET*\set + 64*\place], zmm\r
.endm

.macro crypt_place set, place, r
    mov rax, [r8 + SEALANE_LANE_STRIDE*\place + SEALANE_LANE_IN]
    vpxorq zmm\r, zmm\r, [rax + r12 - 64]
    mov rax, [r8 + SEALANE_LANE_STRIDE*\place + SEALANE_LANE_OUT]
    vmovdqu64 [rax + r12 - 64], zmm\r
.endm

.macro places do, set, t0, r0, r1, r2, r3, r4, r5, r6, r7, r8, r9, r10, r11, r12, r13, r14, r15
    \do \set, 0, \r4
    \do \set, 4, \t0
    \do \set, 8, \r12
    \do \set, 12, \r0
    \do \set, 1, \r5
    \do \set, 5, \r8
    \do \set, 9, \r13
    \do \set, 13, \r1
    \do \set, 2, \r6
    \do \set, 6, \r9
    \do \set, 10, \r14
    \do \set, 14, \r2
    \do \set, 3, \r7
    \do \set, 7, \r10
    \do \set, 11, \r15
    \do \set, 15, \r3
.endm

/* [word][place] -> keys, and text or keystream. */
.macro set_out set, t0, t1, t2, t3, r0, r1, r2, r3, r4, r5, r6, r7, r8, r9, r10, r11, r12, r13, r14, r15
    mov r9d, [scratch + KEYS]
    mov r8, [scratch + TEXT + 16*\set]
    mov r12, [scratch + TEXT + 16*\set + 8]
    sub r9d, 16*\set
    jle 191f
    set_keys \set, \t0, \t1, \r0, \r1, \r2, \r3, \r4, \r5, \r6, \r7
    cmp r9d, 16
    jae 193f
191:
    transpose_words \r0, \r1, \r2, \r3, \t0, \t1, \t2, \t3
    transpose_words \r4, \r5, \r6, \r7, \t0, \t1, \t2, \t3
    transpose_words \r8, \r9, \r10, \r11, \t0, \t1, \t2, \t3
    transpose_words \r12, \r13, \r14, \r15, \t0, \t1, \t2, \t3
    transpose_quarters \r0, \r4, \r8, \r12, \t0, \t1
    transpose_quarters \r1, \r5, \r9, \r13, \r8, \t1
    transpose_quarters \r2, \r6, \r10, \r14, \r9, \t1
    transpose_quarters \r3, \r7, \r11, \r15, \r10, \t1
    test r8, r8
    jnz 192f
    places store_place, \set, \t0, \r0, \r1, \r2, \r3, \r4, \r5, \r6, \r7, \r8, \r9, \r10, \r11, \r12, \r13, \r14, \r15
    jmp 193f
192:
    places crypt_place, \set, \t0, \r0, \r1, \r2, \r3, \r4, \r5, \r6, \r7, \r8, \r9, \r10, \r11, \r12, \r13, \r14, \r15
193:
.endm

/* Quarters of two registers, alternately words w and w + 4 of packets' keys. */
.macro key_words w, a, b
    vshufi32x4 zmm4, zmm\a, zmm\b, 0x88
    vshufi32x4 zmm5, zmm\a, zmm\b, 0xdd
    vmovdqa64 [r9 + WORD_STRIDE*\w], zmm4
    vmovdqa64 [r9 + WORD_STRIDE*(\w + 4)], zmm5
.endm

/* ---- Poly1305 -------------------------------------------------------------------------------------------------- */

/* lo, hi += x0, x1, x2 times a power, in 18 steps. Limb 0 comes last: it is last to be ready. */
.macro product i, x0, x1, x2, l0, l1, l2, g0, g1, g2, y0, y1, y2, y1_20, y2_20
    .if \i == 0
    vpmadd52luq \l0, \x1, \y2_20
    .elseif \i == 1
    vpmadd52luq \l1, \x1, \y0
    .elseif \i == 2
    vpmadd52luq \l2, \x1, \y1
    .elseif \i == 3
    vpmadd52huq \g0, \x1, \y2_20
    .elseif \i == 4
    vpmadd52huq \g1, \x1, \y0
    .elseif \i == 5
    vpmadd52huq \g2, \x1, \y1
    .elseif \i == 6
    vpmadd52luq \l0, \x2, \y1_20
    .elseif \i == 7
    vpmadd52luq \l1, \x2, \y2_20
    .elseif \i == 8
    vpmadd52luq \l2, \x2, \y0
    .elseif \i == 9
    vpmadd52huq \g0, \x2, \y1_20
    .elseif \i == 10
    vpmadd52huq \g1, \x2, \y2_20
    .elseif \i == 11
    vpmadd52huq \g2, \x2, \y0
    .elseif \i == 12
    vpmadd52luq \l0, \x0, \y0
    .elseif \i == 13
    vpmadd52luq \l1, \x0, \y1
    .elseif \i == 14
    vpmadd52luq \l2, \x0, \y2
    .elseif \i == 15
    vpmadd52huq \g0, \x0, \y0
    .elseif \i == 16
    vpmadd52huq \g1, \x0, \y1
    .else
    vpmadd52huq \g2, \x0, \y2
    .endif
.endm

.macro times power:vararg
    .irp i, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17
    product \i, x0, x1, x2, SUMS, \power
    .endr
.endm

/* lo, hi -> three limbs of slightly more than 44 bits, in 12 steps. With two products, one of them of limbs of 45
 * bits, no step overflows. 256 hi0, 256 hi1 and 5120 hi2 stay below 2^52, as vpmadd52luq requires, since 20 y1 and 20
 * y2 are below 2^48.4.
 */
.macro carry_step i, to0, to1, to2, l0, l1, l2, g0, g1, g2
    .if \i == 0
    vpmadd52luq \l2, \g1, qword ptr [consts + SHIFT8]{1to8}                      /* 2^52 2^44 = 2^88 2^8 */
    .elseif \i == 1
    vpmadd52luq \l1, \g0, qword ptr [consts + SHIFT8]{1to8}                      /* 2^52 = 2^44 2^8 */
    .elseif \i == 2
    vpmadd52luq \l0, \g2, qword ptr [consts + FOLD140]{1to8}                     /* 2^52 2^88 = 2^140 */
    .elseif \i == 3
    vpsrlq \g2, \l2, 44
    .elseif \i == 4
    vpsrlq \g1, \l1, 44
    .elseif \i == 5
    vpsrlq \g0, \l0, 44
    .elseif \i == 6
    vpandq \to0, \l0, mask44
    .elseif \i == 7
    vpandq \to1, \l1, mask44
    .elseif \i == 8
    vpandq \to2, \l2, mask44
    .elseif \i == 9
    vpmadd52luq \to0, \g2, qword ptr [consts + FOLD132]{1to8}                    /* 2^88 2^44 = 2^132 */
    .elseif \i == 10
    vpaddq \to1, \to1, \g0
    .elseif \i == 11
    vpaddq \to2, \to2, \g1
    .endif
.endm

.macro carry to0, to1, to2
    .irp i, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11
    carry_step \i, \to0, \to1, \to2, SUMS
    .endr
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

/* Four quarters each of a, b (even packets) and c, d (odd ones), one block of each packet -> limbs, without the
 * bit. */
.macro blocks a, b, c, d, select
    vshufi32x4 x0, zmm\a, zmm\b, \select
    vshufi32x4 x1, zmm\c, zmm\d, \select
    vpunpckhqdq vt, x0, x1
    vpunpcklqdq x0, x0, x1
    limbs
.endm

/* h := (h + m) r^2 + m' r, with two whole blocks m, m' of each packet. */
.macro add_two blocks:vararg
    clear_sums
    blocks \blocks, 0xdd
    vporq x2, x2, qword ptr [consts + PAD]{1to8}
    times R
    blocks \blocks, 0x88
    vporq x2, x2, qword ptr [consts + PAD]{1to8}
    add_h
    times R2
    carry h0, h1, h2
.endm

/* 64 bytes each of packets zmm0 to zmm7 -> blocks 0 and 1, then 2 and 3, of the even packets and of the odd ones. */
#define BLOCKS_01 8, 9, 10, 4
#define BLOCKS_23 2, 6, 3, 7
.macro pair_blocks
    vshufi32x4 zmm8, zmm0, zmm2, 0x44
    vshufi32x4 zmm2, zmm0, zmm2, 0xee
    vshufi32x4 zmm9, zmm4, zmm6, 0x44
    vshufi32x4 zmm6, zmm4, zmm6, 0xee
    vshufi32x4 zmm10, zmm1, zmm3, 0x44
    vshufi32x4 zmm3, zmm1, zmm3, 0xee
    vshufi32x4 zmm4, zmm5, zmm7, 0x44
    vshufi32x4 zmm7, zmm5, zmm7, 0xee
.endm

/* The same in ten steps, to be done beside a product. */
.macro build i, x0, x1, x2, t, a, b, c, d, select
    .if \i == 0
    vshufi32x4 \x0, zmm\a, zmm\b, \select
    .elseif \i == 1
    vshufi32x4 \x1, zmm\c, zmm\d, \select
    .elseif \i == 2
    vpunpckhqdq \t, \x0, \x1
    .elseif \i == 3
    vpunpcklqdq \x0, \x0, \x1
    .elseif \i == 4
    vpsrlq \x2, \t, 24
    .elseif \i == 5
    vpsllq \t, \t, 20
    .elseif \i == 6
    vpsrlq \x1, \x0, 44
    .elseif \i == 7
    vpandq \x0, \x0, mask44
    .elseif \i == 8
    vporq \x2, \x2, qword ptr [consts + PAD]{1to8}
    .elseif \i == 9
    vpternlogq \x1, \t, mask44, 0xa8                                            /* (x1 | t) & mask44 */
    .endif
.endm

/* x += y, limb i. */
.macro add_limb i, x0, x1, x2, y0, y1, y2
    .if \i == 0
    vpaddq \x1, \x1, \y1
    .elseif \i == 1
    vpaddq \x2, \x2, \y2
    .elseif \i == 2
    vpaddq \x0, \x0, \y0
    .endif
.endm

/* Stores 2^128 for block j of a step, in the lanes whose data begins at that block or before. */
.macro pad_block j
    vpcmpleq k1, zmm9, qword ptr [consts + SIXTEENS + 8*\j]{1to8}
    vpbroadcastq zmm10{k1}{z}, [consts + PAD]
    vmovdqa64 [scratch + PADS + 64*\j], zmm10
.endm

.macro times_twenty to, v
    vpxord \to, \to, \to
    vpmadd52luq \to, \v, qword ptr [consts + FOLD132]{1to8}
.endm

.macro load_power at, y0, y1, y2, y1_20, y2_20
    vmovdqa64 \y0, [rbx + \at]
    vmovdqa64 \y1, [rbx + \at + 64]
    vmovdqa64 \y2, [rbx + \at + 128]
    vmovdqa64 \y1_20, [rbx + \at + 192]
    vmovdqa64 \y2_20, [rbx + \at + 256]
.endm

.macro keep_power at, y0, y1, y2, y1_20, y2_20
    vmovdqa64 [rbx + \at], \y0
    vmovdqa64 [rbx + \at + 64], \y1
    vmovdqa64 [rbx + \at + 128], \y2
    vmovdqa64 [rbx + \at + 192], \y1_20
    vmovdqa64 [rbx + \at + 256], \y2_20
.endm

.macro load_h
    vmovdqa64 h0, [rbx + H]
    vmovdqa64 h1, [rbx + H + 64]
    vmovdqa64 h2, [rbx + H + 128]
.endm

.macro keep_h
    vmovdqa64 [rbx + H], h0
    vmovdqa64 [rbx + H + 64], h1
    vmovdqa64 [rbx + H + 128], h2
.endm

.macro add_h
    vpaddq x1, x1, h1
    vpaddq x2, x2, h2
    vpaddq x0, x0, h0
.endm

.macro tag packet, register, quarter
    mov rax, [r8 + 8*\packet]
    mov rax, [rax + SEALANE_LANE_TAG]
    vextracti32x4 [rax], zmm\register, \quarter
.endm

/* A step of whole blocks of text: h := ((h + b0) r^2 + b1 r + b2) r^2 + b3 r. Products alternate with
 * instructions for other ports, because the schedulers are too small to reorder them.
 */
#define B0 zmm22, zmm23, zmm24
#define B2 zmm8, zmm9, zmm10
#define SUMS_B zmm26, zmm27, zmm28, zmm29, zmm30, zmm2
#define MIDDLE zmm3, zmm6, zmm7
#define R2_MEMORY [rbx+POWERS2], [rbx+POWERS2+64], [rbx+POWERS2+128], [rbx+POWERS2+192], [rbx+POWERS2+256]
#define STEPS18 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17
.macro whole_step
    .irp j, 0, 1, 2, 3, 4, 5, 6, 7
    mov rax, [rbx + MAC_END + 8*\j]
    vmovdqu64 zmm\j, [rax + back]
    .endr
    load_power POWERS, R
    pair_blocks
    clear_sums
    .irp i, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9
    build \i, x0, x1, x2, vt, BLOCKS_01, 0xdd
    .endr
    .irp i, STEPS18
    product \i, x0, x1, x2, SUMS, R
    build \i, B0, vt, BLOCKS_01, 0x88
    add_limb \i-10, B0, [rbx+H], [rbx+H+64], [rbx+H+128]
    .endr
    .irp i, STEPS18
    product \i, B0, SUMS, R2_MEMORY
    build \i, x0, x1, x2, vt, BLOCKS_23, 0xdd
    build \i-8, B2, zmm4, BLOCKS_23, 0x88
    .endr
    .irp v, 26, 27, 28, 29, 30, 2
    clear \v
    .endr
    .irp i, STEPS18
    product \i, x0, x1, x2, SUMS_B, R
    carry_step \i, MIDDLE, SUMS
    add_limb \i-12, B2, MIDDLE
    .endr
    .irp i, STEPS18
    product \i, B2, SUMS_B, R2_MEMORY
    .endr
    .irp i, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11
    carry_step \i, h0, h1, h2, SUMS_B
    .endr
    keep_h
.endm

/* Tags of even and odd packets of a vector. The last one comes last: lanes without a packet point to the last packet's
 * tag. */
.macro vector_tags even, odd
    tag 7, \odd, 3
    tag 6, \even, 3
    tag 5, \odd, 2
    tag 4, \even, 2
    tag 3, \odd, 1
    tag 2, \even, 1
    tag 1, \odd, 0
    tag 0, \even, 0
.endm

#define STEPS30 STEPS18, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29
/* h mod p, plus s, of vector v, in steps. h < 2^132.1; after p is subtracted for each 2^130 in limb 2, it is below 2
 * p. It is then reduced if h + 5 reaches 2^130.
 */
.macro reduce i, v, k, h0, h1, h2, t, x0, x1
    .if \i == 0
    vmovdqa64 zmm\h2, [scratch + VECTORS + VECTOR_BYTES*\v + H + 128]
    .elseif \i == 1
    vmovdqa64 zmm\h0, [scratch + VECTORS + VECTOR_BYTES*\v + H]
    .elseif \i == 2
    vmovdqa64 zmm\h1, [scratch + VECTORS + VECTOR_BYTES*\v + H + 64]
    .elseif \i == 3
    vpsrlq zmm\t, zmm\h2, 42
    .elseif \i == 4
    vpandq zmm\h2, zmm\h2, qword ptr [consts + MASK42]{1to8}
    .elseif \i == 5
    vpmadd52luq zmm\h0, zmm\t, qword ptr [consts + FOLD130]{1to8}
    .elseif \i == 6
    vpaddq zmm\t, zmm\h0, qword ptr [consts + FOLD130]{1to8}
    .elseif \i == 7
    vpsrlq zmm\t, zmm\t, 44
    .elseif \i == 8
    vpaddq zmm\t, zmm\t, zmm\h1
    .elseif \i == 9
    vpsrlq zmm\t, zmm\t, 44
    .elseif \i == 10
    vpaddq zmm\t, zmm\t, zmm\h2
    .elseif \i == 11
    vpsrlq zmm\t, zmm\t, 42                                                     /* 1 if h >= p */
    .elseif \i == 12
    vpmadd52luq zmm\h0, zmm\t, qword ptr [consts + FOLD130]{1to8}
    .elseif \i == 13
    vpsrlq zmm\t, zmm\h0, 44
    .elseif \i == 14
    vpandq zmm\h0, zmm\h0, mask44
    .elseif \i == 15
    vpaddq zmm\h1, zmm\h1, zmm\t
    .elseif \i == 16
    vpsrlq zmm\t, zmm\h1, 44
    .elseif \i == 17
    vpsllq zmm\x0, zmm\h1, 44
    .elseif \i == 18
    vpandq zmm\h1, zmm\h1, mask44
    .elseif \i == 19
    vpaddq zmm\h2, zmm\h2, zmm\t
    .elseif \i == 20
    vporq zmm\x0, zmm\x0, zmm\h0                                                /* bits 0 to 63 */
    .elseif \i == 21
    vpsrlq zmm\x1, zmm\h1, 20
    .elseif \i == 22
    vpsllq zmm\h2, zmm\h2, 24
    .elseif \i == 23
    vporq zmm\x1, zmm\x1, zmm\h2                                                /* 64 to 127 */
    .elseif \i == 24
    vpaddq zmm\x0, zmm\x0, [scratch + KEY + KEY_BYTES*\v + 128]
    .elseif \i == 25
    vpaddq zmm\x1, zmm\x1, [scratch + KEY + KEY_BYTES*\v + 192]
    .elseif \i == 26
    vpcmpltuq \k, zmm\x0, [scratch + KEY + KEY_BYTES*\v + 128]
    .elseif \i == 27
    vpaddq zmm\x1{\k}, zmm\x1, zmm30                                            /* 1: whole, since a carry is secret */
    .elseif \i == 28
    vpunpcklqdq zmm\t, zmm\x0, zmm\x1                                           /* tags of packets 0, 2, 4, 6 */
    .else
    vpunpckhqdq zmm\h0, zmm\x0, zmm\x1
    .endif
.endm

/* ---- The kernel ------------------------------------------------------------------------------------------------ */

#include "chacha20poly1305_batch_text.h"

    function sealane_chacha20poly1305_batch_avx512
    batch_begin
    mov qword ptr [scratch + ONES], -1
    mov qword ptr [scratch + USED], ONCE + ONCE_BYTES - VECTORS

    /* A wave: its packets' blocks. Block 0 of packet i goes to place i. */
.Lwave:
    mov [scratch + FIRST_LANE], r12
    wave_begin
.Lpacket:
    mov rax, [r12 + SEALANE_LANE_BYTES]
    mov rbx, rax
    shr rbx, 6
    mov [scratch + FULL + 4*r8], ebx
    count_blocks
    mov [scratch + RECORD + 8*r8], r12
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
    mov [scratch + TODO], r9d
    vmovdqu64 zmm0, [consts + IOTA]
    .irp i, 0, 1, 2, 3
    vmovdqa64 [scratch + PLACE + 64*\i], zmm0
    vpaddq zmm0, zmm0, qword ptr [consts + EIGHT]{1to8}
    .endr
    lea rbx, [scratch + PLACE + 8*r8]
    mov eax, WAVE
    sub eax, r8d
    mov r13d, r8d
    sub r12, SEALANE_LANE_STRIDE
.Lno_packet:
    test r8d, 15
    jz .Lrecords
    mov [scratch + RECORD + 8*r8], r12
    inc r8d
    jmp .Lno_packet
.Lrecords:
    next_places
    add r13d, ecx
    mov [scratch + PLACES], r13d
    xor r8d, r8d
    xor r9d, r9d
    test ecx, ecx
    jz .Lfirst_places
.Lfirst_place:
    hand_out
    dec ecx
    jnz .Lfirst_place
.Lfirst_places:
    mov [scratch + FROM], r8d
    mov [scratch + TO], r9d
    mov [scratch + ACTIVES], actives
    mov [scratch + BLOCK], block
    mov dword ptr [scratch + TABLE], 0
    lea rax, [scratch + PLACE + PLACE_HALF]
    mov [scratch + CRYPT_END], rax                                              /* no packet */
    mov r15d, WAVE

    /* Keys and nonces, 16 packets at a time: [packet][word] -> [word][packet]. */
    .irp m, 1, 2, 3, 4, 5, 6, 7
    kmovw k\m, [consts + NONCE_WORDS + 2*\m]
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
    transpose_words 0, 1, 2, 3, 4, 5, 6, 7
    transpose_words 8, 9, 10, 11, 4, 5, 6, 7
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
    transpose_words 0, 1, 2, 3, 4, 5, 6, 7
    vmovdqa64 [r9 + WORD_STRIDE*8], zmm0
    vmovdqa64 [r9 + WORD_STRIDE*9], zmm1
    vmovdqa64 [r9 + WORD_STRIDE*10], zmm2
    add r8, 128
    add r9, 64
    sub ecx, 16
    ja .Lwords

    /* A pass. Beside its rounds, the text of places from r15 on, which waits, is XORed with its keystream, and blocks
     * are assigned to the vacant places of the next pass.
     */
.Lpass:
    mov ebx, [scratch + TABLE]
    mov r14d, ebx
    xor ebx, PLACE_HALF
    mov [scratch + TABLE], ebx
    lea rbx, [scratch + rbx + PLACE]
    lea r14, [scratch + r14 + PLACE]
    cmp dword ptr [scratch + PLACES], 16
    ja .Lthirtytwo_begin
    set_begin 0, 0, SET0
    mov qword ptr [scratch + TEXT + 16], 0
    pass_begin
.Lsixteen:
    sixteen_round 0
    crypt_four
    sixteen_round 1
    dec ecx
    jnz .Lsixteen
    crypt_end
    jmp .Lrounds_done
.Lthirtytwo_begin:
    set_begin 1, 0, SET1
    set_begin 0, 0, SET0
    pass_begin
.Lthirtytwo:
    thirtytwo_round 0
    crypt_four
    hand_out_four
    thirtytwo_round 1
    dec ecx
    jnz .Lthirtytwo
    crypt_end
    mov [scratch + FROM], r8d
    mov [scratch + TO], r9d
    mov [scratch + ACTIVES], actives
    mov [scratch + BLOCK], block
    set_end 1, SET1
    .irp r, 12, 13, 14, 15
    vmovdqa64 [scratch + KEYSTREAM + 64*\r], zmm\r
    .endr
    set_out 1, 12, 13, 14, 15, SET1
    .irp r, 12, 13, 14, 15
    vmovdqa64 zmm\r, [scratch + KEYSTREAM + 64*\r]
    .endr
.Lrounds_done:
    set_end 0, SET0
    set_out 0, 16, 17, 18, 19, SET0
    test dword ptr [args + SEALANE_BATCH_FLAGS], SEALANE_FLAG_OPEN
    jz .Lcrypt
    cmp dword ptr [scratch + KEYS], 0
    jne .Lauthenticate

    /* Text of this pass that waits starts where its keys end. */
.Lcrypt:
    mov r15d, [scratch + KEYS]
    mov eax, [scratch + PLACES]
    mov ecx, 16
    cmp qword ptr [scratch + TEXT], 0
    cmovne r15d, ecx
    cmp qword ptr [scratch + TEXT + 16], 0
    cmovne eax, ecx
    mov dword ptr [scratch + KEYS], 0
    mov ebx, [scratch + TABLE]
    xor ebx, PLACE_HALF
    lea rbx, [scratch + rbx + PLACE]
    lea rax, [rbx + 8*rax]
    mov [scratch + CRYPT_END], rax
    mov eax, [scratch + NEXT_PLACES]
    mov [scratch + PLACES], eax
    test eax, eax
    jnz .Lpass
    crypt_begin
    cmp r14, [scratch + CRYPT_END]
    jae .Lcrypted
.Lcrypt_place:
    crypt
    cmp r14, [scratch + CRYPT_END]
    jb .Lcrypt_place
.Lcrypted:
    crypt_end
    test dword ptr [args + SEALANE_BATCH_FLAGS], SEALANE_FLAG_OPEN
    jnz .Lwave_done

    /* Poly1305 of the wave's packets, eight at a time in a vector. Every stage is done for all vectors before the
     * next one begins: one vector's wait is filled by the others. The lengths come first, from the lanes' columns.
     */
.Lauthenticate:
    vpbroadcastq mask44, [consts + MASK44]
    vpbroadcastq zmm8, [consts + PAD]
    .irp j, 0, 1, 2, 3
    vmovdqa64 [scratch + PADS + PADS_WHOLE + 64*\j], zmm8
    .endr
    mov ecx, [scratch + PACKETS]
    lea rbx, [scratch + VECTORS]
    lea r8, [scratch + RECORD]
    lea r12, [scratch + KEY]
    xor r14d, r14d
.Ldescribe:
    .irp j, 0, 1, 2, 3, 4, 5, 6, 7
    mov rax, [r8 + 8*\j]
    vmovdqu64 zmm\j, [rax]
    .endr
    mov eax, [args + SEALANE_BATCH_FLAGS]
    shr eax, 2
    and eax, 1
    neg eax
    kmovw k1, eax                                                               /* all, to open */
    vpunpckhqdq zmm8, zmm0, zmm1                                                /* in, associated data */
    vpunpckhqdq zmm9, zmm2, zmm3
    vpunpckhqdq zmm10, zmm4, zmm5
    vpunpckhqdq zmm11, zmm6, zmm7
    vpunpcklqdq zmm0, zmm0, zmm1                                              /* out, bytes, bytes of associated data */
    vpunpcklqdq zmm1, zmm2, zmm3
    vpunpcklqdq zmm2, zmm4, zmm5
    vpunpcklqdq zmm3, zmm6, zmm7
    vshufi32x4 zmm4, zmm0, zmm1, 0x44
    vshufi32x4 zmm5, zmm2, zmm3, 0x44
    vshufi32x4 zmm8, zmm8, zmm9, 0x44
    vshufi32x4 zmm9, zmm10, zmm11, 0x44
    vshufi32x4 zmm0, zmm0, zmm1, 0xee
    vshufi32x4 zmm1, zmm2, zmm3, 0xee
    vshufi32x4 zmm2, zmm4, zmm5, 0xdd                                           /* bytes */
    vshufi32x4 zmm3, zmm8, zmm9, 0xdd                                           /* associated data */
    vshufi32x4 zmm4, zmm4, zmm5, 0x88                                           /* out */
    vshufi64x2 zmm4{k1}, zmm8, zmm9, 0x88                                       /* in */
    vshufi32x4 zmm0, zmm0, zmm1, 0x88                                           /* bytes of associated data */
    vptestnmq k1, zmm2, zmm2
    vptestnmq k2, zmm0, zmm0
    vmovdqa64 zmm4{k1}, [r8]                                                    /* an address that may be looked at */
    vmovdqa64 zmm3{k2}, [r8]
    knotw k2, k2
    kmovw r9d, k2
    and r9d, 0xff                                                               /* some have associated data */
    mov [rbx + V_ADS], r9
    vpbroadcastq zmm8, [consts + FIFTEEN]
    vpbroadcastq zmm9, [consts + MINUS16]
    vptestmq k1, zmm2, zmm8                                                     /* some end within a block */
    kmovw r9d, k1
    neg r9d
    sbb r9d, r9d
    and r9d, 64                                                                 /* the last step is not whole */
    mov [rbx + V_ENDS], r9
    vpaddq zmm5, zmm2, zmm8
    vpaddq zmm6, zmm0, zmm8
    vpandq zmm5, zmm5, zmm9                                                     /* bytes of text, whole blocks */
    vpandq zmm6, zmm6, zmm9
    vpaddq zmm6, zmm6, zmm5                                                     /* of all */
    vpaddq zmm4, zmm4, zmm5
    vpaddq zmm3, zmm3, zmm6
    vmovdqa64 [rbx + TEXT_BYTES], zmm2
    vmovdqa64 [rbx + AD_BYTES], zmm0
    vmovdqa64 [rbx + TEXT16], zmm5
    vmovdqa64 [rbx + ALL16], zmm6
    vmovdqa64 [rbx + MAC_END], zmm4
    vmovdqa64 [rbx + AD_END], zmm3
    clear 7
    vmovdqa64 [rbx + H], zmm7
    vmovdqa64 [rbx + H + 64], zmm7
    vmovdqa64 [rbx + H + 128], zmm7
    vpsubq zmm7, zmm7, zmm5
    vpunpcklqdq zmm8, zmm6, zmm7                                             /* the largest of all, the least of text */
    vpunpckhqdq zmm9, zmm6, zmm7
    vpmaxsq zmm8, zmm8, zmm9
    vextracti64x4 ymm9, zmm8, 1
    vpmaxsq ymm8, ymm8, ymm9
    vextracti32x4 xmm9, ymm8, 1
    vpmaxsq xmm8, xmm8, xmm9
    vmovq rax, xmm8
    vpextrq r13, xmm8, 1
    neg r13
    and r13, -64                                                            /* to go when whole steps of all are text */
    mov [rbx + V_WHOLE], r13
    mov [rbx + V_LONGEST], rax
    add rax, 63
    and rax, -64
    cmp rax, togo
    cmova togo, rax

    /* r and r^2. */
    vmovdqa64 x0, [r12]
    vmovdqa64 vt, [r12 + 64]
    limbs
    times_twenty zmm15, x1
    times_twenty zmm25, x2
    keep_power POWERS, x0, x1, x2, zmm15, zmm25
    vmovdqa64 zmm12, x0
    vmovdqa64 zmm13, x1
    vmovdqa64 zmm14, x2
    clear_sums
    times R
    carry zmm26, zmm27, zmm28
    times_twenty zmm29, zmm27
    times_twenty zmm30, zmm28
    keep_power POWERS2, R2
    add rbx, VECTOR_BYTES
    add r8, 64
    add r12, KEY_BYTES
    sub ecx, 8
    ja .Ldescribe

    sub rbx, scratch
    sub rbx, VECTORS
    cmp rbx, [scratch + USED]
    jbe .Lused
    mov [scratch + USED], rbx
.Lused:

    /* Associated data and text, 64 bytes a step. */
    test togo, togo
    jz .Llengths
.Lstep:
    mov back, togo
    neg back
    mov r12d, [scratch + PACKETS]
    lea rbx, [scratch + VECTORS]
.Lvector:
    mov r11, [rbx + V_LONGEST]
    lea rax, [r11 + 63]
    and rax, -64
    cmp rax, togo
    jb .Lvector_done                                                            /* no packet has begun */
    add r11, 48
    lea rcx, [scratch + PADS + PADS_WHOLE]
    cmp togo, [rbx + V_WHOLE]
    ja .Ledge
    cmp togo, [rbx + V_ENDS]
    jbe .Ledge
    cmp togo, RUN_FROM
    jae .Lrun
    whole_step
    jmp .Lvector_done

    /* All whole steps of a vector that has many: h and the powers stay in registers. */
.Lrun:
    load_h
    load_power POWERS, R
    load_power POWERS2, R2
    mov r9, [rbx + V_ENDS]
    mov [rbx + V_LONGEST], r9                                                   /* bytes left afterwards */
    neg r9
.Lrun_step:
    .irp j, 0, 1, 2, 3, 4, 5, 6, 7
    mov rax, [rbx + MAC_END + 8*\j]
    vmovdqu64 zmm\j, [rax + back]
    .endr
    pair_blocks
    add_two BLOCKS_01
    add_two BLOCKS_23
    add back, 64
    cmp back, r9
    jne .Lrun_step
    keep_h
    mov back, togo
    neg back
    jmp .Lvector_done

    /* A step where a packet begins or ends. */
.Ledge:
    lea rcx, [scratch + PADS]
    clear 8
    vpternlogq zmm11, zmm11, zmm11, 0xff
    vpbroadcastq zmm9, togo
    vpsubq zmm10, zmm9, [rbx + TEXT16]                                          /* bytes before the text begins */
    vpsubq zmm9, zmm9, [rbx + ALL16]                                         /* and before the associated data begins */
    vpmaxsq zmm10, zmm10, zmm8
    vpsllvq zmm10, zmm11, zmm10
    cmp togo, 64
    jne .Ledge_text
    vmovdqa64 zmm7, [rbx + TEXT16]
    vpsubq zmm7, zmm7, [rbx + TEXT_BYTES]                                       /* bytes after the text */
    vpsrlvq zmm7, zmm11, zmm7
    vpandq zmm10, zmm10, zmm7
.Ledge_text:
    vmovdqa64 [scratch + TAIL], zmm10
    .irp j, 0, 1, 2, 3, 4, 5, 6, 7
    mov rax, [rbx + MAC_END + 8*\j]
    kmovq k1, [scratch + TAIL + 8*\j]
    vmovdqu8 zmm\j{k1}{z}, [rax + back]
    .endr
    cmp qword ptr [rbx + V_ADS], 0
    je .Ledge_pad
    vpmaxsq zmm10, zmm9, zmm8
    vpaddq zmm16, zmm9, [rbx + AD_BYTES]
    vpmaxsq zmm16, zmm16, zmm8
    vpsllvq zmm10, zmm11, zmm10
    vpsllvq zmm16, zmm11, zmm16
    vpandnq zmm10, zmm16, zmm10
    vmovdqa64 [scratch + TAIL], zmm10
    .irp j, 0, 1, 2, 3, 4, 5, 6, 7
    mov rax, [rbx + AD_END + 8*\j]
    kmovq k1, [scratch + TAIL + 8*\j]
    vmovdqu8 zmm\j{k1}, [rax + back]
    .endr
.Ledge_pad:
    pad_block 0
    pad_block 1
    pad_block 2
    pad_block 3

.Lloaded:
    load_h
    load_power POWERS, R
    load_power POWERS2, R2
    lea rax, [togo + 16]
    pair_blocks
    cmp r11, rax                                                                /* no packet has begun before? */
    jbe .Lhalf_step
    clear_sums
    blocks BLOCKS_01, 0xdd
    vporq x2, x2, [rcx + 64]
    times R
    add rax, 16
    cmp r11, rax
    jbe .Lone_block
    blocks BLOCKS_01, 0x88
    vporq x2, x2, [rcx]
    add_h
    times R2
.Lone_block:
    carry h0, h1, h2
.Lhalf_step:
    clear_sums
    blocks BLOCKS_23, 0xdd
    vporq x2, x2, [rcx + 192]
    times R
    cmp r11, togo
    jbe .Lstep_done
    blocks BLOCKS_23, 0x88
    vporq x2, x2, [rcx + 128]
    add_h
    times R2
.Lstep_done:
    carry h0, h1, h2
    keep_h
.Lvector_done:
    add rbx, VECTOR_BYTES
    sub r12d, 8
    ja .Lvector
    sub togo, 64
    jnz .Lstep

    /* The block of lengths (RFC 8439, 2.8). */
.Llengths:
    mov ecx, [scratch + PACKETS]
    lea rbx, [scratch + VECTORS]
.Llength:
    vmovdqa64 x0, [rbx + AD_BYTES]
    vmovdqa64 vt, [rbx + TEXT_BYTES]
    load_power POWERS, R
    limbs
    vporq x2, x2, [scratch + PADS + PADS_WHOLE]
    vpaddq x1, x1, [rbx + H + 64]
    vpaddq x2, x2, [rbx + H + 128]
    vpaddq x0, x0, [rbx + H]
    clear_sums
    times R
    carry h0, h1, h2
    keep_h
    add rbx, VECTOR_BYTES
    sub ecx, 8
    ja .Llength

    /* h mod p, plus s, for all vectors at once, in long chains. The values of missing vectors do not matter. */
    vpbroadcastq zmm30, [consts + ONE]
    mov ecx, [scratch + PACKETS]
    lea r8, [scratch + RECORD]
    cmp ecx, 8
    ja .Lreduce
    .irp i, STEPS30
    reduce \i, 0, k1, 0, 4, 8, 12, 16, 20
    .endr
    jmp .Lreduced
.Lreduce:
    .irp i, STEPS30
    reduce \i, 0, k1, 0, 4, 8, 12, 16, 20
    reduce \i, 1, k2, 1, 5, 9, 13, 17, 21
    reduce \i, 2, k3, 2, 6, 10, 14, 18, 22
    reduce \i, 3, k4, 3, 7, 11, 15, 19, 23
    .endr
.Lreduced:
    vector_tags 12, 0
    add r8, 64
    sub ecx, 8
    jbe .Ltags_done
    vector_tags 13, 1
    add r8, 64
    sub ecx, 8
    jbe .Ltags_done
    vector_tags 14, 2
    add r8, 64
    sub ecx, 8
    jbe .Ltags_done
    vector_tags 15, 3
.Ltags_done:
    test dword ptr [args + SEALANE_BATCH_FLAGS], SEALANE_FLAG_OPEN
    jnz .Lcrypt

.Lwave_done:
    mov r12, [scratch + NEXT_LANE]
    mov r13, [scratch + LEFT]
    test r13, r13
    jnz .Lwave

    clear 0
    mov ecx, VECTORS - 256
    add rcx, [scratch + USED]
.Lwipe:
    vmovdqa64 [scratch + rcx + 256 - 64], zmm0
    sub ecx, 64
    ja .Lwipe
    vzeroupper
.Lend:
    endfunction
