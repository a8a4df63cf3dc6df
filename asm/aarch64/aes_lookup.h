/* AES (FIPS 197) of one or two blocks, without the crypto extensions. Bit-slicing takes as long as for eight.
 *
 * The S-box lies in 16 vector registers. tbl and tbx look bytes up in 64 of its bytes at a time: for an index outside
 * these, tbl gives 0, and tbx leaves the byte. All four parts are read for each byte, so no address and no time
 * depends on data.
 *
 * ShiftRows and SubBytes change places. Let n be the byte of the next row, and o that of the opposite one.
 * MixColumns is u = 2 y + o and v = u + y, and then u + n of v (2 y + o + 2 n + n + n of o). ShiftRows of the next
 * round is in the permutations of both, and the round key is in u. InvMixColumns is MixColumns of y + 4 (y + o).
 *
 * A block has four vectors: its state and three temporaries. Kernels name the registers of
 * aes_registers.h, key_0 and key_1, which point to the round keys of the blocks, and round.
 */

/* Constants, from LOOKUP on. */
#define LOOKUP_SHIFT (LOOKUP + 0)        /* ShiftRows, and the next row of its input */
#define LOOKUP_UNSHIFT (LOOKUP + 32)     /* InvShiftRows, and the next row of its input */
#define LOOKUP_TIMES4 (LOOKUP + 64)      /* 4 x^6 times 0 .. 3 */
#define LOOKUP_SBOX (LOOKUP + 80)
#define LOOKUP_INVERSE (LOOKUP + 336)

.macro lookup_constants
    .byte 0, 5, 10, 15, 4, 9, 14, 3, 8, 13, 2, 7, 12, 1, 6, 11
    .byte 1, 6, 11, 12, 5, 10, 15, 0, 9, 14, 3, 4, 13, 2, 7, 8
    .byte 0, 13, 10, 7, 4, 1, 14, 11, 8, 5, 2, 15, 12, 9, 6, 3
    .byte 1, 14, 11, 4, 5, 2, 15, 8, 9, 6, 3, 12, 13, 10, 7, 0
    .byte 0, 0x1b, 0x36, 0x2d, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0
    /* S-box (5.1.1) */
    .byte 0x63, 0x7c, 0x77, 0x7b, 0xf2, 0x6b, 0x6f, 0xc5, 0x30, 0x01, 0x67, 0x2b, 0xfe, 0xd7, 0xab, 0x76
    .byte 0xca, 0x82, 0xc9, 0x7d, 0xfa, 0x59, 0x47, 0xf0, 0xad, 0xd4, 0xa2, 0xaf, 0x9c, 0xa4, 0x72, 0xc0
    .byte 0xb7, 0xfd, 0x93, 0x26, 0x36, 0x3f, 0xf7, 0xcc, 0x34, 0xa5, 0xe5, 0xf1, 0x71, 0xd8, 0x31, 0x15
    .byte 0x04, 0xc7, 0x23, 0xc3, 0x18, 0x96, 0x05, 0x9a, 0x07, 0x12, 0x80, 0xe2, 0xeb, 0x27, 0xb2, 0x75
    .byte 0x09, 0x83, 0x2c, 0x1a, 0x1b, 0x6e, 0x5a, 0xa0, 0x52, 0x3b, 0xd6, 0xb3, 0x29, 0xe3, 0x2f, 0x84
    .byte 0x53, 0xd1, 0x00, 0xed, 0x20, 0xfc, 0xb1, 0x5b, 0x6a, 0xcb, 0xbe, 0x39, 0x4a, 0x4c, 0x58, 0xcf
    .byte 0xd0, 0xef, 0xaa, 0xfb, 0x43, 0x4d, 0x33, 0x85, 0x45, 0xf9, 0x02, 0x7f, 0x50, 0x3c, 0x9f, 0xa8
    .byte 0x51, 0xa3, 0x40, 0x8f, 0x92, 0x9d, 0x38, 0xf5, 0xbc, 0xb6, 0xda, 0x21, 0x10, 0xff, 0xf3, 0xd2
    .byte 0xcd, 0x0c, 0x13, 0xec, 0x5f, 0x97, 0x44, 0x17, 0xc4, 0xa7, 0x7e, 0x3d, 0x64, 0x5d, 0x19, 0x73
    .byte 0x60, 0x81, 0x4f, 0xdc, 0x22, 0x2a, 0x90, 0x88, 0x46, 0xee, 0xb8, 0x14, 0xde, 0x5e, 0x0b, 0xdb
    .byte 0xe0, 0x32, 0x3a, 0x0a, 0x49, 0x06, 0x24, 0x5c, 0xc2, 0xd3, 0xac, 0x62, 0x91, 0x95, 0xe4, 0x79
    .byte 0xe7, 0xc8, 0x37, 0x6d, 0x8d, 0xd5, 0x4e, 0xa9, 0x6c, 0x56, 0xf4, 0xea, 0x65, 0x7a, 0xae, 0x08
    .byte 0xba, 0x78, 0x25, 0x2e, 0x1c, 0xa6, 0xb4, 0xc6, 0xe8, 0xdd, 0x74, 0x1f, 0x4b, 0xbd, 0x8b, 0x8a
    .byte 0x70, 0x3e, 0xb5, 0x66, 0x48, 0x03, 0xf6, 0x0e, 0x61, 0x35, 0x57, 0xb9, 0x86, 0xc1, 0x1d, 0x9e
    .byte 0xe1, 0xf8, 0x98, 0x11, 0x69, 0xd9, 0x8e, 0x94, 0x9b, 0x1e, 0x87, 0xe9, 0xce, 0x55, 0x28, 0xdf
    .byte 0x8c, 0xa1, 0x89, 0x0d, 0xbf, 0xe6, 0x42, 0x68, 0x41, 0x99, 0x2d, 0x0f, 0xb0, 0x54, 0xbb, 0x16
.endm

.macro lookup_inverse_constants
    /* its inverse (5.3.2) */
    .byte 0x52, 0x09, 0x6a, 0xd5, 0x30, 0x36, 0xa5, 0x38, 0xbf, 0x40, 0xa3, 0x9e, 0x81, 0xf3, 0xd7, 0xfb
    .byte 0x7c, 0xe3, 0x39, 0x82, 0x9b, 0x2f, 0xff, 0x87, 0x34, 0x8e, 0x43, 0x44, 0xc4, 0xde, 0xe9, 0xcb
    .byte 0x54, 0x7b, 0x94, 0x32, 0xa6, 0xc2, 0x23, 0x3d, 0xee, 0x4c, 0x95, 0x0b, 0x42, 0xfa, 0xc3, 0x4e
    .byte 0x08, 0x2e, 0xa1, 0x66, 0x28, 0xd9, 0x24, 0xb2, 0x76, 0x5b, 0xa2, 0x49, 0x6d, 0x8b, 0xd1, 0x25
    .byte 0x72, 0xf8, 0xf6, 0x64, 0x86, 0x68, 0x98, 0x16, 0xd4, 0xa4, 0x5c, 0xcc, 0x5d, 0x65, 0xb6, 0x92
    .byte 0x6c, 0x70, 0x48, 0x50, 0xfd, 0xed, 0xb9, 0xda, 0x5e, 0x15, 0x46, 0x57, 0xa7, 0x8d, 0x9d, 0x84
    .byte 0x90, 0xd8, 0xab, 0x00, 0x8c, 0xbc, 0xd3, 0x0a, 0xf7, 0xe4, 0x58, 0x05, 0xb8, 0xb3, 0x45, 0x06
    .byte 0xd0, 0x2c, 0x1e, 0x8f, 0xca, 0x3f, 0x0f, 0x02, 0xc1, 0xaf, 0xbd, 0x03, 0x01, 0x13, 0x8a, 0x6b
    .byte 0x3a, 0x91, 0x11, 0x41, 0x4f, 0x67, 0xdc, 0xea, 0x97, 0xf2, 0xcf, 0xce, 0xf0, 0xb4, 0xe6, 0x73
    .byte 0x96, 0xac, 0x74, 0x22, 0xe7, 0xad, 0x35, 0x85, 0xe2, 0xf9, 0x37, 0xe8, 0x1c, 0x75, 0xdf, 0x6e
    .byte 0x47, 0xf1, 0x1a, 0x71, 0x1d, 0x29, 0xc5, 0x89, 0x6f, 0xb7, 0x62, 0x0e, 0xaa, 0x18, 0xbe, 0x1b
    .byte 0xfc, 0x56, 0x3e, 0x4b, 0xc6, 0xd2, 0x79, 0x20, 0x9a, 0xdb, 0xc0, 0xfe, 0x78, 0xcd, 0x5a, 0xf4
    .byte 0x1f, 0xdd, 0xa8, 0x33, 0x88, 0x07, 0xc7, 0x31, 0xb1, 0x12, 0x10, 0x59, 0x27, 0x80, 0xec, 0x5f
    .byte 0x60, 0x51, 0x7f, 0xa9, 0x19, 0xb5, 0x4a, 0x0d, 0x2d, 0xe5, 0x7a, 0x9f, 0x93, 0xc9, 0x9c, 0xef
    .byte 0xa0, 0xe0, 0x3b, 0x4d, 0xae, 0x2a, 0xf5, 0xb0, 0xc8, 0xeb, 0xbb, 0x3c, 0x83, 0x53, 0x99, 0x61
    .byte 0x17, 0x2b, 0x04, 0x7e, 0xba, 0x77, 0xd6, 0x26, 0xe1, 0x69, 0x14, 0x63, 0x55, 0x21, 0x0c, 0x7d
.endm

/* Vector registers: 0 and 1 states, 2 .. 7 of the blocks, 16 .. 31 the table, and */
#define round_key_0 v8
#define round_key_1 v9
#define index_64 v10
#define index_128 v11
#define polynomial v12  /* x^8 = x^4 + x^3 + x + 1 */
#define to_shifted v13
#define to_next v14
#define times4 v15

/* The S-box, and the constants of a lookup. */
.macro load_table offset
    add t0, consts, #\offset
    movi index_64.16b, #64
    ldp q16, q17, [t0]
    ldp q18, q19, [t0, #32]
    movi index_128.16b, #128
    ldp q20, q21, [t0, #64]
    ldp q22, q23, [t0, #96]
    movi polynomial.16b, #0x1b
    ldp q24, q25, [t0, #128]
    ldp q26, q27, [t0, #160]
    ldp q28, q29, [t0, #192]
    ldp q30, q31, [t0, #224]
.endm

/* Applies \op to one block or to two. */
.macro each blocks, op
    \op v0, v2, v4, v6, round_key_0
    .if \blocks == 2
    \op v1, v3, v5, v7, round_key_1
    .endif
.endm

/* x := S(x). One block waits for its lookups: those of a block alone do not wait for each other. */
.macro sub_bytes blocks
    each \blocks, look_0
    each \blocks, look_index_2
    each \blocks, look_index_1
    each \blocks, look_index_3
    .if \blocks == 1
    each \blocks, look_1
    each \blocks, look_2
    each \blocks, look_3
    each \blocks, look_sum
    each \blocks, look_last_two
    .else
    each \blocks, look_1
    each \blocks, look_3_else
    each \blocks, look_2_else
    .endif
    each \blocks, look_last
.endm

.macro look_0 x, t, u, e, k
    tbl \t\().16b, {v16.16b, v17.16b, v18.16b, v19.16b}, \x\().16b
.endm

.macro look_index_1 x, t, u, e, k
    eor \u\().16b, \x\().16b, index_64.16b
.endm

.macro look_index_2 x, t, u, e, k
    eor \e\().16b, \x\().16b, index_128.16b
.endm

.macro look_index_3 x, t, u, e, k
    eor \x\().16b, \e\().16b, index_64.16b
.endm

.macro look_1 x, t, u, e, k
    tbl \u\().16b, {v20.16b, v21.16b, v22.16b, v23.16b}, \u\().16b
.endm

.macro look_2 x, t, u, e, k
    tbl \e\().16b, {v24.16b, v25.16b, v26.16b, v27.16b}, \e\().16b
.endm

.macro look_3 x, t, u, e, k
    tbl \x\().16b, {v28.16b, v29.16b, v30.16b, v31.16b}, \x\().16b
.endm

.macro look_sum x, t, u, e, k
    eor \t\().16b, \t\().16b, \u\().16b
.endm

.macro look_last_two x, t, u, e, k
    eor \u\().16b, \e\().16b, \x\().16b
.endm

.macro look_2_else x, t, u, e, k
    tbx \u\().16b, {v24.16b, v25.16b, v26.16b, v27.16b}, \e\().16b
.endm

.macro look_3_else x, t, u, e, k
    tbx \t\().16b, {v28.16b, v29.16b, v30.16b, v31.16b}, \x\().16b
.endm

.macro look_last x, t, u, e, k
    eor \x\().16b, \t\().16b, \u\().16b
.endm

/* x := MixColumns, AddRoundKey and ShiftRows of x; not keyed: MixColumns and InvShiftRows. */
.macro mix_and_shift blocks, keyed
    each \blocks, mix_sign
    each \blocks, mix_double
    each \blocks, mix_opposite
    each \blocks, mix_reduce
    .if \keyed
    each \blocks, mix_keyed
    each \blocks, mix_opposite_add
    each \blocks, mix_double_add
    each \blocks, mix_u
    each \blocks, mix_v
    .else
    each \blocks, mix_double_add
    each \blocks, mix_opposite_add
    each \blocks, mix_u_unkeyed
    each \blocks, mix_v
    .endif
    each \blocks, shift_v
    each \blocks, shift_u
    each \blocks, look_index_0
.endm

.macro mix_sign x, t, u, e, k
    cmlt \t\().16b, \x\().16b, #0
.endm

.macro mix_double x, t, u, e, k
    shl \u\().16b, \x\().16b, #1
.endm

.macro mix_opposite x, t, u, e, k
    rev32 \e\().8h, \x\().8h
.endm

.macro mix_reduce x, t, u, e, k
    and \t\().16b, \t\().16b, polynomial.16b
.endm

.macro mix_opposite_add x, t, u, e, k
    eor \x\().16b, \x\().16b, \e\().16b        /* y + o */
.endm

.macro mix_keyed x, t, u, e, k
    eor \k\().16b, \k\().16b, \e\().16b    /* k + o */
.endm

.macro mix_double_add x, t, u, e, k
    eor \u\().16b, \u\().16b, \t\().16b        /* 2 y */
.endm

.macro mix_v x, t, u, e, k
    eor \x\().16b, \x\().16b, \u\().16b        /* 3 y + o */
.endm

.macro mix_u x, t, u, e, k
    eor \t\().16b, \k\().16b, \u\().16b      /* 2 y + o + k */
.endm

.macro mix_u_unkeyed x, t, u, e, k
    eor \t\().16b, \e\().16b, \u\().16b        /* 2 y + o */
.endm

.macro shift_v x, t, u, e, k
    tbl \x\().16b, {\x\().16b}, to_next.16b
.endm

.macro shift_u x, t, u, e, k
    tbl \t\().16b, {\t\().16b}, to_shifted.16b
.endm

.macro look_index_0 x, t, u, e, k
    eor \x\().16b, \x\().16b, \t\().16b
.endm

.macro add_key x, t, u, e, k
    eor \x\().16b, \x\().16b, \k\().16b
.endm

.macro shift_state x, t, u, e, k
    tbl \x\().16b, {\x\().16b}, to_shifted.16b
.endm

.macro load_keys blocks, step
    ldr q8, [key_0], #\step
    .if \blocks == 2
    ldr q9, [key_1], #\step
    .endif
.endm

/* Encrypts the blocks in 0 and 1 from the table of the S-box. key_0 and key_1: first round keys. */
.macro encrypt_few blocks
    load_keys \blocks, 16
    ldp q13, q14, [consts, #LOOKUP_SHIFT]
    sub round, rounds, #1
    each \blocks, add_key
    each \blocks, shift_state
1:
    load_keys \blocks, 16
    sub_bytes \blocks
    mix_and_shift \blocks, 1
    subs round, round, #1
    b.ne 1b
    load_keys \blocks, 16
    sub_bytes \blocks
    each \blocks, add_key
.endm

/* Decrypts them, from the inverse's table. key_0 and key_1: last round keys. */
.macro decrypt_few blocks
    load_keys \blocks, -16
    ldp q13, q14, [consts, #LOOKUP_UNSHIFT]
    ldr q15, [consts, #LOOKUP_TIMES4]
    sub round, rounds, #1
    each \blocks, add_key
    each \blocks, shift_state
1:
    load_keys \blocks, -16
    sub_bytes \blocks
    each \blocks, add_key
    each \blocks, mix_opposite
    each \blocks, unmix_sum
    each \blocks, unmix_top
    each \blocks, unmix_look
    each \blocks, unmix_times4
    each \blocks, unmix_reduce
    each \blocks, look_index_0
    mix_and_shift \blocks, 0
    subs round, round, #1
    b.ne 1b
    load_keys \blocks, -16
    sub_bytes \blocks
    each \blocks, add_key
.endm

.macro unmix_sum x, t, u, e, k
    eor \e\().16b, \e\().16b, \x\().16b        /* y + o */
.endm

.macro unmix_top x, t, u, e, k
    ushr \t\().16b, \e\().16b, #6
.endm

.macro unmix_look x, t, u, e, k
    tbl \t\().16b, {times4.16b}, \t\().16b
.endm

.macro unmix_times4 x, t, u, e, k
    shl \e\().16b, \e\().16b, #2
.endm

.macro unmix_reduce x, t, u, e, k
    eor \t\().16b, \t\().16b, \e\().16b        /* 4 (y + o) */
.endm

/* The key schedule (5.2) word by word. */
#define word w3        /* the last one made */
#define words x4       /* of the key */
#define phase x5       /* the next word's number modulo words */
#define rcon w9
#define next x16       /* to be made */
#define end x17
#define old x19        /* the word one key length before */
.macro expand_key
    sub words, rounds, #6
    add old, key, #SEALANE_GCM_KEY_SCHEDULE
    add next, old, words, lsl #2
    add end, old, rounds, lsl #4
    add end, end, #16
    mov phase, #0
    mov rcon, #1
    mov t3d, #0x1b
    load_table LOOKUP_SBOX
    ldur word, [next, #-4]
.Lword:
    cbz phase, .Lword_substitute
    cmp words, #8
    ccmp phase, #4, #0, eq
    b.ne .Lword_add
.Lword_substitute:
    dup v0.4s, word
    sub_bytes 1
    umov word, v0.s[0]
    cbnz phase, .Lword_add
    eor word, rcon, word, ror #8            /* RotWord and the round constant */
    lsl rcon, rcon, #1
    cmp rcon, #256
    csel rcon, t3d, rcon, eq
.Lword_add:
    ldr t1d, [old], #4
    add phase, phase, #1
    cmp phase, words
    csel phase, xzr, phase, eq
    eor word, word, t1d
    str word, [next], #4
    cmp next, end
    b.lo .Lword
.endm
