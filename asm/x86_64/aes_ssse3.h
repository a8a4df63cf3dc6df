/* AES (FIPS 197) by vector permutations, for CPUs that have SSSE3 and no AES instructions.
 *
 * Source     M. Hamburg, Accelerating AES with Vector Permute Instructions (CHES 2009). The tables are
 *            computed by test/levels/permute_test.go.
 *
 * pshufb looks 16 nibbles up in 16 bytes; an index whose bit 7 is set gives 0. All of a table is in a register, so no
 * address and no time depends on data.
 *
 * SubBytes   Let F be GF(16), and w in GF(256) with w^2 + a w + a = 0, a in F. A byte x = k + i w is held as two
 *            nibbles, i above k. With j = i + k, and n = k^2 + a i k + a i^2, which is the norm of x:
 *                io = 1 / (1/i + a/k) + j = n / (k + a i)          jo = 1 / (1/j + a/k) + i = n / (k + a i + a k)
 *            The inverse of x is (k + a i + i w) / n, a linear function of 1/io and 1/jo. So any linear function of it
 *            is the sum of two lookups, of io and of jo. 1/0 is 0x80, of which a lookup gives 0, as 1/infinity is.
 * MixColumns SubBytes and ShiftRows change places. With y the byte, o(y) that of the opposite row and n(y) that of
 *            the next one, MixColumns is u + n(v), u = 2 y + o(y), v = 3 y + o(y). Backwards u = 14 y + 13 o(y) and
 *            v = 11 y + 9 o(y). ShiftRows of the next round is in the permutations of both; the round key is in u.
 * Constants  SubBytes adds 0x63 to a byte: MixColumns leaves that as it is, and it is in the round keys. Backwards it
 *            is added before its linear map L is undone: a state is held as L^-1 of it, in the basis of F and w.
 */

/* Constants, from PERMUTE on. */
#define PERMUTE_NIBBLE (PERMUTE + 0)   /* 15 */
#define PERMUTE_INVERSE (PERMUTE + 16) /* 1/x, */
#define PERMUTE_A_BY (PERMUTE + 32)    /* and a/x, of nibbles */
#define PERMUTE_IN (PERMUTE + 48)      /* to k and i, of the low and of the high nibble */
#define PERMUTE_1 (PERMUTE + 80)       /* SubBytes, of io and of jo, */
#define PERMUTE_2 (PERMUTE + 112)      /* 2 times that, */
#define PERMUTE_OUT (PERMUTE + 144)    /* and as a byte again */
#define PERMUTE_OPPOSITE (PERMUTE + 176)
#define PERMUTE_SHIFT (PERMUTE + 192)  /* ShiftRows, then the next row of the result */
#define PERMUTE_63 (PERMUTE + 224)
#define PERMUTE_BACK (PERMUTE + 240)   /* to k and i of the linear map of SubBytes undone */
#define PERMUTE_14 (PERMUTE + 272)     /* 14, 13, 11, 9 times the inverse, like that, */
#define PERMUTE_13 (PERMUTE + 304)
#define PERMUTE_11 (PERMUTE + 336)
#define PERMUTE_9 (PERMUTE + 368)
#define PERMUTE_BACK_OUT (PERMUTE + 400) /* and as a byte */
#define PERMUTE_UNSHIFT (PERMUTE + 432) /* InvShiftRows, then the next row of the result */

.macro permute_constants
    .byte 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15
    .byte 0x80, 0x01, 0x08, 0x0d, 0x0f, 0x06, 0x05, 0x0e, 0x02, 0x0c, 0x0b, 0x0a, 0x09, 0x03, 0x07, 0x04
    .byte 0x80, 0x02, 0x01, 0x0c, 0x08, 0x0b, 0x0d, 0x0a, 0x04, 0x0e, 0x07, 0x05, 0x03, 0x06, 0x09, 0x0f
    .byte 0x00, 0x01, 0x37, 0x36, 0xd0, 0xd1, 0xe7, 0xe6, 0xd2, 0xd3, 0xe5, 0xe4, 0x02, 0x03, 0x35, 0x34
    .byte 0x00, 0xbb, 0x7b, 0xc0, 0xbf, 0x04, 0xc4, 0x7f, 0xc8, 0x73, 0xb3, 0x08, 0x77, 0xcc, 0x0c, 0xb7
    .byte 0x00, 0x52, 0x21, 0x11, 0xec, 0x9f, 0x30, 0xbe, 0xfd, 0x43, 0x8e, 0xdc, 0x73, 0xaf, 0xcd, 0x62
    .byte 0x00, 0xc9, 0x98, 0xa0, 0xb4, 0xe5, 0x38, 0x7d, 0x14, 0x69, 0x45, 0x8c, 0x51, 0xdd, 0x2c, 0xf1
    .byte 0x00, 0x38, 0x1c, 0x21, 0xc7, 0xe3, 0x3d, 0xff, 0xe6, 0x19, 0xc2, 0xfa, 0x24, 0xde, 0xdb, 0x05
    .byte 0x00, 0x68, 0x0e, 0xa8, 0x0d, 0x6b, 0xa6, 0x65, 0xa5, 0xc0, 0xc3, 0xab, 0x66, 0xcd, 0x03, 0xce
    .byte 0x00, 0xfa, 0x6a, 0x35, 0xbb, 0x2b, 0x5f, 0x41, 0x8e, 0xcf, 0x1e, 0xe4, 0x90, 0x74, 0xd1, 0xa5
    .byte 0x00, 0x81, 0x76, 0x99, 0xfd, 0x0a, 0xef, 0x7c, 0x64, 0x18, 0x93, 0x12, 0xf7, 0xe5, 0x8b, 0x6e
    .byte 2, 3, 0, 1, 6, 7, 4, 5, 10, 11, 8, 9, 14, 15, 12, 13
    .byte 0, 5, 10, 15, 4, 9, 14, 3, 8, 13, 2, 7, 12, 1, 6, 11
    .byte 1, 6, 11, 12, 5, 10, 15, 0, 9, 14, 3, 4, 13, 2, 7, 8
    .quad 0x6363636363636363, 0x6363636363636363
.endm

.macro permute_inverse_constants
    .byte 0x00, 0x5a, 0xa3, 0xf9, 0xa8, 0xf2, 0x0b, 0x51, 0x33, 0x69, 0x90, 0xca, 0x9b, 0xc1, 0x38, 0x62
    .byte 0x00, 0x63, 0x6c, 0x0f, 0x44, 0x27, 0x28, 0x4b, 0xaa, 0xc9, 0xc6, 0xa5, 0xee, 0x8d, 0x82, 0xe1
    .byte 0x00, 0xeb, 0xcd, 0x91, 0x3b, 0x1d, 0x5c, 0xd0, 0xaa, 0x7a, 0x8c, 0x67, 0x26, 0x41, 0xf6, 0xb7
    .byte 0x00, 0xf7, 0xe1, 0xef, 0xcb, 0xdd, 0x0e, 0x3c, 0x24, 0x18, 0x32, 0xc5, 0x16, 0xd3, 0x2a, 0xf9
    .byte 0x00, 0x2c, 0xf0, 0x52, 0x4e, 0x92, 0xa2, 0x62, 0x1c, 0x7e, 0xc0, 0xec, 0xdc, 0x30, 0xbe, 0x8e
    .byte 0x00, 0x08, 0x07, 0x4a, 0xaf, 0xa0, 0x4d, 0xa7, 0xe5, 0x42, 0xea, 0xe2, 0x0f, 0xed, 0xa8, 0x45
    .byte 0x00, 0xf6, 0x8c, 0x3b, 0x1d, 0x67, 0xb7, 0xeb, 0x26, 0xcd, 0x5c, 0xaa, 0x7a, 0xd0, 0x91, 0x41
    .byte 0x00, 0x2a, 0x32, 0xcb, 0xdd, 0xc5, 0xf9, 0xf7, 0x16, 0xe1, 0x0e, 0x24, 0x18, 0x3c, 0xef, 0xd3
    .byte 0x00, 0x63, 0x13, 0x6a, 0x84, 0xf4, 0x79, 0xe7, 0xee, 0x09, 0x9e, 0xfd, 0x70, 0x8d, 0x97, 0x1a
    .byte 0x00, 0x9f, 0x99, 0xce, 0x5b, 0x5d, 0x57, 0xc4, 0x95, 0x51, 0x93, 0x0c, 0x06, 0x0a, 0xc2, 0xc8
    .byte 0x00, 0x9c, 0x1d, 0x8e, 0x44, 0xc5, 0x93, 0xd8, 0xca, 0x12, 0x4b, 0xd7, 0x81, 0x56, 0x59, 0x0f
    .byte 0x00, 0x6f, 0xc2, 0x99, 0x6b, 0xc6, 0x5b, 0x04, 0xf2, 0xf6, 0x5f, 0x30, 0xad, 0x9d, 0xa9, 0x34
    .byte 0, 13, 10, 7, 4, 1, 14, 11, 8, 5, 2, 15, 12, 9, 6, 3
    .byte 1, 14, 11, 4, 5, 2, 15, 8, 9, 6, 3, 12, 13, 10, 7, 0
.endm

/* Integer registers of both kernels. */
#define args rdi
#define scratch rsi
#define consts rdx
#define round rax     /* from the key to the round key */
#define chunk rcx     /* bytes of text that are done together, 32 at most */
#define counter ebx   /* of the next block */
#define src r8
#define dst r9
#define text_left r10

/* Vector registers: 0 to 4 of one block, 5 to 9 of another, the first of each its state, and */
#define nibble xmm10
#define inverse xmm11
#define a_by xmm12
#define opposite xmm13
#define to_shifted xmm14
#define to_next xmm15

/* \op of both blocks. Kernels name key_0 and key_1, which point to the keys, and round, the offset of the
 * round key from them. */
.macro each op, arguments:vararg
    \op xmm0, xmm1, xmm2, xmm3, xmm4, key_0, \arguments
    \op xmm5, xmm6, xmm7, xmm8, xmm9, key_1, \arguments
.endm

/* to := the first table's entries for x, plus the second's for y; t may be y. */
.macro look_up to, t, x, y, table
    movdqa \to, [consts + \table + 16]
    pshufb \to, \y
    movdqa \t, [consts + \table]
    pshufb \t, \x
    pxor \to, \t
.endm

/* x := k, i := i of the byte x. */
.macro nibbles x, i
    movdqa \i, \x
    psrld \i, 4
    pand \x, nibble
    pand \i, nibble
.endm

/* x := a linear function of the byte x, by such tables. */
.macro map_bytes x, i, io, jo, t, k, table
    nibbles \x, \i
    movdqa \t, \x
    look_up \x, \io, \t, \i, \table
.endm

.macro add_key x, i, io, jo, t, k, none
    movdqu \t, [\k + round]
    pxor \x, \t
.endm

.macro shift_rows x, i, io, jo, t, k, none
    pshufb \x, to_shifted
.endm

/* io and jo of x. */
.macro invert x, i, io, jo, t, k, none
    nibbles \x, \i
    movdqa \io, a_by
    pshufb \io, \x                              /* a/k */
    pxor \x, \i                                 /* j */
    movdqa \jo, inverse
    movdqa \t, inverse
    pshufb \jo, \i                              /* 1/i */
    pshufb \t, \x                               /* 1/j */
    pxor \jo, \io
    pxor \t, \io
    movdqa \io, inverse
    pshufb \io, \jo
    movdqa \jo, inverse
    pshufb \jo, \t
    pxor \io, \x
    pxor \jo, \i
.endm

/* x := MixColumns, AddRoundKey and ShiftRows of SubBytes, from io and jo. */
.macro mix x, i, io, jo, t, k, none
    look_up \x, \t, \io, \jo, PERMUTE_1         /* y */
    look_up \i, \t, \io, \jo, PERMUTE_2         /* 2 y */
    movdqa \t, \x
    movdqu \io, [\k + round]
    pshufb \t, opposite
    pxor \i, \t                                 /* u */
    pxor \x, \i                                 /* v */
    pxor \i, \io
    pshufb \x, to_next
    pshufb \i, to_shifted
    pxor \x, \i
.endm

/* x := InvMixColumns, AddRoundKey and InvShiftRows of InvSubBytes, from io and jo. */
.macro unmix x, i, io, jo, t, k, none
    look_up \x, \t, \io, \jo, PERMUTE_13
    look_up \i, \t, \io, \jo, PERMUTE_14
    pshufb \x, opposite
    movdqu \t, [\k + round]
    pxor \i, \x                                 /* u */
    pxor \i, \t
    pshufb \i, to_shifted
    look_up \x, \t, \io, \jo, PERMUTE_9
    pshufb \x, opposite
    look_up \t, \jo, \io, \jo, PERMUTE_11
    pxor \x, \t                                 /* v */
    pshufb \x, to_next
    pxor \x, \i
.endm

/* x := the result of the last round, from io and jo. */
.macro look_out x, i, io, jo, t, k, table
    look_up \x, \t, \io, \jo, \table
    add_key \x, \i, \io, \jo, \t, \k
.endm

.macro load_permute shift
    movdqa nibble, [consts + PERMUTE_NIBBLE]
    movdqa inverse, [consts + PERMUTE_INVERSE]
    movdqa a_by, [consts + PERMUTE_A_BY]
    movdqa opposite, [consts + PERMUTE_OPPOSITE]
    movdqa to_shifted, [consts + \shift]
    movdqa to_next, [consts + \shift + 16]
.endm

/* Both blocks, xmm0 and xmm5, through all rounds, forwards or backwards. first: where round keys begin, from key_0 and
 * key_1; last: where the last is. */
.macro all_rounds in, out, do, shift, first, last:vararg
    mov eax, \first
    load_permute \shift
    each map_bytes, \in
    each add_key
    each shift_rows
.Lround_\do:
    add eax, 16
    each invert
    cmp eax, \last
    je .Llast_\do
    each \do
    jmp .Lround_\do
.Llast_\do:
    each look_out, \out
.endm

/* xmm0 and xmm5 := the counter blocks of `counter` and the next; xmm0 is such a block whose counter is 0. */
.macro counter_blocks
    mov eax, counter
    bswap eax
    movd xmm1, eax
    lea eax, [rbx + 1]
    bswap eax
    movd xmm2, eax
    pslldq xmm1, 12
    pslldq xmm2, 12
    movdqa xmm5, xmm0
    pxor xmm0, xmm1
    pxor xmm5, xmm2
.endm

/* ---- Keys ------------------------------------------------------------------------------------------------------ */

/* The key schedule (5.2), word by word, of the key at key_0 + SEALANE_AES_KEY_SCHEDULE; rounds is r14. Then r10 points
 * to it, and r11 to the last round key. Changes rax, rbx, rcx, r8, r9, r12, r13. */
.macro expand_words
    load_permute PERMUTE_SHIFT
    lea r10, [key_0 + SEALANE_AES_KEY_SCHEDULE]
    lea r8d, [r14 - 6]                          /* words of the key */
    lea r9, [r10 + 4*r8]                        /* the next word */
    mov r11, r14
    shl r11, 4
    lea r11, [r10 + r11]
    mov ecx, 1                                  /* round constant */
    xor r12d, r12d                              /* the word's number modulo those of the key */
    mov eax, [r9 - 4]
    lea rbx, [4*r8]
.Lword:
    test r12d, r12d
    jz .Lword_substitute
    cmp r12d, 4
    jne .Lword_add
    cmp r8d, 8
    jne .Lword_add
.Lword_substitute:
    movd xmm0, eax
    map_bytes xmm0, xmm1, xmm2, xmm3, xmm4, key_0, PERMUTE_IN
    invert xmm0, xmm1, xmm2, xmm3, xmm4, key_0
    look_up xmm0, xmm4, xmm2, xmm3, PERMUTE_OUT
    movd eax, xmm0
    xor eax, 0x63636363
    test r12d, r12d
    jnz .Lword_add
    ror eax, 8                                  /* RotWord */
    xor eax, ecx
    add ecx, ecx                                /* times x */
    cmp ecx, 0x100
    jb .Lword_add
    mov ecx, 0x1b
.Lword_add:
    mov r13, r9
    sub r13, rbx
    xor eax, [r13]
    mov [r9], eax
    add r9, 4
    inc r12d
    cmp r12d, r8d
    jb .Lword_next
    xor r12d, r12d
.Lword_next:
    lea r13, [r11 + 16]
    cmp r9, r13
    jb .Lword
.endm

/* The round keys from r10 to r11 in the basis of states, and with SubBytes's 0x63. Leaves r10 at r11. */
.macro keys_to_basis
    movdqu xmm0, [r10]
.Lkey_to_basis:
    map_bytes xmm0, xmm1, xmm2, xmm3, xmm4, key_0, PERMUTE_IN
    movdqu [r10], xmm0
    add r10, 16
    movdqu xmm0, [r10]
    pxor xmm0, [consts + PERMUTE_63]
    cmp r10, r11
    jb .Lkey_to_basis
    movdqu [r10], xmm0
.endm
