/* AES encryption (FIPS 197) of one block with NEON, without AES instructions. Bit-slicing takes as long for
 * one block as for eight.
 *
 * vtbl and vtbx look bytes up in 32 of the S-box's 256 at a time: for an index outside these, vtbl gives 0, and vtbx
 * leaves the byte. All eight parts are read for each byte, so no address and no time depends on data. They come in
 * the order 0, 1, 3, 2, 6, 7, 5, 4. There one exclusive or with 32, 64 or 128 turns the index for one part into that
 * for the next.
 *
 * ShiftRows and SubBytes change places. With n the byte of the next row, o that of the opposite one, MixColumns is
 * u = 2 y + o and v = u + y, and then u + n of v. ShiftRows of the next round is in the permutations of both. Round
 * keys have the layout of aes_neon.h, which a permutation reverses. They contain SubBytes's 0x63, which the table
 * lacks.
 */

/* Constants, from CONST_LOOKUP on. */
#define LOOKUP_SHIFT 256  /* after the S-box: ShiftRows, and the next row of its input */
#define LOOKUP_KEYS 288   /* ShiftRows of the keys of rounds 0 .. 3 modulo 4 */
#define LOOKUP_LAST 352   /* the last key of 10 and 14, and of 12 rounds */

.macro lookup_constants
    .byte 0x00, 0x1f, 0x14, 0x18, 0x91, 0x08, 0x0c, 0xa6, 0x53, 0x62, 0x04, 0x48, 0x9d, 0xb4, 0xc8, 0x15
    .byte 0xa9, 0xe1, 0xaa, 0x1e, 0x99, 0x3a, 0x24, 0x93, 0xce, 0xb7, 0xc1, 0xcc, 0xff, 0xc7, 0x11, 0xa3
    .byte 0xd4, 0x9e, 0xf0, 0x45, 0x55, 0x5c, 0x94, 0xaf, 0x57, 0xc6, 0x86, 0x92, 0x12, 0xbb, 0x52, 0x76
    .byte 0x67, 0xa4, 0x40, 0xa0, 0x7b, 0xf5, 0x66, 0xf9, 0x64, 0x71, 0xe3, 0x81, 0x88, 0x44, 0xd1, 0x16
    .byte 0xb3, 0x8c, 0xc9, 0x98, 0x20, 0x2e, 0x50, 0xe6, 0x26, 0x9a, 0x61, 0x1c, 0x33, 0x5f, 0xfc, 0xcb
    .byte 0x32, 0xc0, 0x23, 0xec, 0xf1, 0xfe, 0x5b, 0x96, 0xdf, 0xd5, 0xb9, 0x42, 0x73, 0x9c, 0x90, 0xb1
    .byte 0x6a, 0xe0, 0x4f, 0x79, 0x78, 0x0d, 0x39, 0xc3, 0x31, 0x58, 0xb5, 0xd0, 0x4a, 0x80, 0x4c, 0xe7
    .byte 0x30, 0xb2, 0x63, 0x8e, 0x43, 0x9f, 0xd2, 0x38, 0x09, 0xa8, 0xdd, 0x5a, 0x29, 0x2f, 0x3b, 0xac
    .byte 0xd9, 0x1b, 0x46, 0x4d, 0x7f, 0xc5, 0xd7, 0xa5, 0x8b, 0xbe, 0x17, 0x7c, 0x28, 0xde, 0xe8, 0xe9
    .byte 0x13, 0x5d, 0xd6, 0x05, 0x2b, 0x60, 0x95, 0x6d, 0x02, 0x56, 0x34, 0xda, 0xe5, 0xa2, 0x7e, 0xfd
    .byte 0x82, 0x9b, 0xfb, 0x72, 0x0a, 0xba, 0xed, 0xf7, 0xf8, 0x7d, 0xe4, 0x8a, 0xad, 0x36, 0x4b, 0xbc
    .byte 0xef, 0xc2, 0xea, 0x6e, 0xdc, 0x85, 0x21, 0x0b, 0x22, 0xfa, 0x4e, 0x6c, 0xd3, 0x37, 0xd8, 0x75
    .byte 0x83, 0x51, 0x59, 0x69, 0x2a, 0x65, 0x47, 0x3f, 0xa1, 0xb0, 0xcf, 0x01, 0xf2, 0xf6, 0x87, 0x1a
    .byte 0x84, 0xab, 0x54, 0x0e, 0xee, 0xb6, 0x2d, 0xca, 0x0f, 0x35, 0x97, 0x89, 0x06, 0x19, 0xcd, 0x6b
    .byte 0xae, 0x6f, 0x70, 0x8f, 0x3c, 0xf4, 0x27, 0x74, 0xa7, 0xc4, 0x1d, 0x5e, 0x07, 0x3e, 0x7a, 0x10
    .byte 0x03, 0xe2, 0x2c, 0xbf, 0x41, 0x49, 0xf3, 0xeb, 0x25, 0x8d, 0xdb, 0x77, 0xbd, 0x3d, 0x68, 0xb8
    .byte 0, 5, 10, 15, 4, 9, 14, 3, 8, 13, 2, 7, 12, 1, 6, 11
    .byte 1, 6, 11, 12, 5, 10, 15, 0, 9, 14, 3, 4, 13, 2, 7, 8
    .byte 0, 5, 10, 15, 1, 6, 11, 12, 2, 7, 8, 13, 3, 4, 9, 14
    .byte 0, 6, 8, 14, 1, 7, 9, 15, 2, 4, 10, 12, 3, 5, 11, 13
    .byte 0, 7, 10, 13, 1, 4, 11, 14, 2, 5, 8, 15, 3, 6, 9, 12
    .byte 0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15
    .byte 0, 6, 8, 14, 1, 7, 9, 15, 2, 4, 10, 12, 3, 5, 11, 13
    .byte 0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15
.endm

.macro look_up instruction, d0, d1, d2, d3, low, high
    \instruction d2, {\d0, \d1, \d2, \d3}, \low
    \instruction d3, {\d0, \d1, \d2, \d3}, \high
.endm

/* q1 := SubBytes of q0, from the table at r11. */
.macro sub_bytes_of_one
    mov r3, r11
    vld1.8 {q2, q3}, [r3]!
    vld1.8 {q4, q5}, [r3]!
    veor q6, q0, q7                     /* 1 */
    look_up vtbl.8, d4, d5, d6, d7, d0, d1
    vld1.8 {q2, q3}, [r3]!
    veor q0, q6, q14                    /* 3 */
    look_up vtbx.8, d8, d9, d10, d11, d12, d13
    vld1.8 {q4, q5}, [r3]!
    veor q6, q0, q7                     /* 2 */
    look_up vtbx.8, d4, d5, d6, d7, d0, d1
    vld1.8 {q2, q3}, [r3]!
    veor q0, q6, q15                    /* 6 */
    look_up vtbx.8, d8, d9, d10, d11, d12, d13
    vld1.8 {q4, q5}, [r3]!
    veor q6, q0, q7                     /* 7 */
    look_up vtbx.8, d4, d5, d6, d7, d0, d1
    vld1.8 {q2, q3}, [r3]!
    veor q0, q6, q14                    /* 5 */
    look_up vtbx.8, d8, d9, d10, d11, d12, d13
    vld1.8 {q4, q5}, [r3]
    veor q6, q0, q7                     /* 4 */
    look_up vtbx.8, d4, d5, d6, d7, d0, d1
    look_up vtbx.8, d8, d9, d10, d11, d12, d13
.endm

/* q6 := the next round key, permuted by the indices at r3. */
.macro next_key
    vld1.8 {q11}, [r9]!
    vld1.8 {q2}, [r3]
    vtbl.8 d12, {d22, d23}, d4
    vtbl.8 d13, {d22, d23}, d5
.endm

/* Encrypts q0. r9: the key. Changes r3, r5, r9, r11, r12. */
.macro encrypt_one
    ldr r12, [r9, #SEALANE_AES_KEY_ROUNDS]
    add r11, r2, #CONST_LOOKUP
    add r9, r9, #SEALANE_AES_KEY_SCHEDULE
    add r3, r11, #LOOKUP_SHIFT
    vld1.8 {q8, q9}, [r3]
    vmov.i8 q7, #32
    vmov.i8 q14, #64
    vmov.i8 q15, #128
    vmov.i8 q10, #0x1b
    add r3, r11, #LOOKUP_KEYS
    next_key
    vtbl.8 d2, {d0, d1}, d16
    vtbl.8 d3, {d0, d1}, d17
    mov r5, #0
    tst r12, #2
    addeq r5, r5, #16                   /* LOOKUP_LAST */
    str r5, [r1, #LAST_KEY]
    mov r5, #16
    sub r12, r12, #1
    veor q0, q1, q6
.Lone_round:
    sub_bytes_of_one
    add r3, r11, #LOOKUP_KEYS
    add r3, r3, r5
    add r5, r5, #16
    and r5, r5, #48
    vshr.s8 q12, q1, #7
    vrev32.16 q13, q1
    vshl.i8 q0, q1, #1
    next_key
    vand q12, q12, q10
    veor q1, q1, q13                    /* y + o */
    veor q0, q0, q12                    /* 2 y */
    veor q13, q13, q0                   /* 2 y + o */
    veor q1, q1, q0                     /* 3 y + o */
    vtbl.8 d0, {d26, d27}, d16
    vtbl.8 d1, {d26, d27}, d17
    vtbl.8 d24, {d2, d3}, d18
    vtbl.8 d25, {d2, d3}, d19
    veor q0, q0, q6
    subs r12, r12, #1
    veor q0, q0, q12
    bne .Lone_round
    sub_bytes_of_one
    ldr r3, [r1, #LAST_KEY]
    add r3, r3, r11
    add r3, r3, #LOOKUP_LAST
    next_key
    veor q0, q1, q6
.endm
