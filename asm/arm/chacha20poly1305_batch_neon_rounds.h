/* Instruction schedules of the NEON ChaCha20-Poly1305 kernel for many packets; chacha20poly1305_neon_rounds.h says more.
 *
 * What a set of blocks leaves to do in integer registers goes along with double rounds, one of the tasks below with each.
 * Their order was found by a search too: on Cortex-A53 a vector instruction and an integer one issue together, on Cortex-A7,
 * where a vector instruction issues alone and takes two cycles, integer ones that may pair stand side by side.
 */

/* The first column round of the set; r7: rows d, r2 .. r5: keys, r9: row a. */
.macro slots_begin
    vld1.8 {d8, d9}, [r2]!                  /* b of slot 0 */
    vld1.8 {d10, d11}, [r3]!                /* b of slot 1 */
    vld1.8 {d12, d13}, [r4]!                /* b of slot 2 */
    vld1.8 {d14, d15}, [r5]!                /* b of slot 3 */
    vld1.32 {d22, d23}, [r7:128]!           /* d of slot 0 */
    vld1.32 {d24, d25}, [r7:128]!           /* d of slot 1 */
    vtrn.32 q4, q5
    vld1.32 {d26, d27}, [r7:128]!           /* d of slot 2 */
    vtrn.32 q6, q7
    vld1.32 {d28, d29}, [r7:128]!           /* d of slot 3 */
    vld1.8 {d30, d31}, [r2]                 /* c of slot 0 */
    vld1.32 {d0[], d1[]}, [r9]!             /* a0 */
    vtrn.32 q11, q12
    vld1.8 {d16, d17}, [r3]                 /* c of slot 1 */
    vswp d9, d12
    vtrn.32 q13, q14
    vld1.8 {d18, d19}, [r4]                 /* c of slot 2 */
    vld1.8 {d20, d21}, [r5]                 /* c of slot 3 */
    vadd.i32 q0, q0, q4
    vswp d23, d26
    vld1.32 {d2[], d3[]}, [r9]!             /* a1 */
    vtrn.32 q15, q8
    vtrn.32 q9, q10
    veor q11, q11, q0
    vswp d25, d28
    vswp d31, d18
    vrev32.16 q11, q11
    vld1.32 {d4[], d5[]}, [r9]!             /* a2 */
    vadd.i32 q15, q15, q11
    vswp d11, d14
    vswp d17, d20
    veor q3, q4, q15
    vadd.i32 q2, q2, q6
    vshl.i32 q4, q3, #12
    veor q13, q13, q2
    vsri.32 q4, q3, #20
    vrev32.16 q13, q13
    vadd.i32 q0, q0, q4
    vadd.i32 q9, q9, q13
    veor q3, q11, q0
    vadd.i32 q1, q1, q5
    vshl.i32 q11, q3, #8
    veor q12, q12, q1
    vsri.32 q11, q3, #24
    vrev32.16 q12, q12
    vadd.i32 q15, q15, q11
    vadd.i32 q8, q8, q12
    veor q3, q4, q15
    vstmia r1, {d30, d31}                   /* c0 to memory */
    veor q15, q5, q8
    vshl.i32 q4, q3, #7
    vshl.i32 q5, q15, #12
    vsri.32 q4, q3, #25
    vsri.32 q5, q15, #20
    veor q3, q6, q9
    vadd.i32 q1, q1, q5
    vshl.i32 q6, q3, #12
    veor q15, q12, q1
    vsri.32 q6, q3, #20
    vshl.i32 q12, q15, #8
    vld1.32 {d6[], d7[]}, [r9]!             /* a3 */
    vsri.32 q12, q15, #24
    vadd.i32 q3, q3, q7
    vadd.i32 q8, q8, q12
    veor q14, q14, q3
    veor q15, q5, q8
    vrev32.16 q14, q14
    vshl.i32 q5, q15, #7
    vadd.i32 q10, q10, q14
    vsri.32 q5, q15, #25
    veor q15, q7, q10
    vshl.i32 q7, q15, #12
    vsri.32 q7, q15, #20
    vadd.i32 q3, q3, q7
    vadd.i32 q2, q2, q6
    veor q15, q14, q3
    vshl.i32 q14, q15, #8
    vsri.32 q14, q15, #24
    veor q13, q13, q2
    vadd.i32 q10, q10, q14
.endm

/* A diagonal round and a column round of the set, along with keys and rows d for the next one: the last packet's again when
 * there are no more. h is read from H. After it p0: REMAINING, x: SLOT, y: the slots' end. */
.macro set_round_fill
    vshl.i32 q15, q13, #8                   /* d2 <<< 8 */
    ldr r0, [r1, #ROWS]
    vadd.i32 q3, q3, q4                     /* a3 += b0 */
    ldr r7, [r1, #FILL_LANE]
    vadd.i32 q0, q0, q5                     /* a0 += b1 */
    ldr r8, [r1, #FILL_LAST]
    rsb r0, r0, #ROWS_0 + ROWS_1
    vsri.32 q15, q13, #24                   /* d2 */
    veor q13, q7, q10                       /* b3 ^= c3 */
    veor q7, q14, q0                        /* d3 ^= a0 */
    vadd.i32 q14, q9, q15                   /* c2 += d2 */
    vshl.i32 q9, q13, #7                    /* b3 <<< 7 */
    vrev32.16 q7, q7                        /* d3 <<< 16 */
    veor q6, q6, q14                        /* b2 ^= c2 */
    vsri.32 q9, q13, #25                    /* b3 */
    vadd.i32 q13, q14, q7                   /* c2 += d3 */
    vshl.i32 q14, q6, #7                    /* b2 <<< 7 */
    veor q15, q15, q3                       /* d2 ^= a3 */
    veor q5, q5, q13                        /* b1 ^= c2 */
    vsri.32 q14, q6, #25                    /* b2 */
    vrev32.16 q6, q15                       /* d2 <<< 16 */
    vshl.i32 q15, q5, #12                   /* b1 <<< 12 */
    vadd.i32 q1, q1, q14                    /* a1 += b2 */
    vadd.i32 q8, q8, q6                     /* c1 += d2 */
    vsri.32 q15, q5, #20                    /* b1 */
    veor q11, q11, q1                       /* d0 ^= a1 */
    veor q4, q4, q8                         /* b0 ^= c1 */
    vadd.i32 q0, q0, q15                    /* a0 += b1 */
    vrev32.16 q5, q11                       /* d0 <<< 16 */
    vshl.i32 q11, q4, #12                   /* b0 <<< 12 */
    veor q7, q7, q0                         /* d3 ^= a0 */
    vadd.i32 q10, q10, q5                   /* c3 += d0 */
    vsri.32 q11, q4, #20                    /* b0 */
    vshl.i32 q4, q7, #8                     /* d3 <<< 8 */
    veor q14, q14, q10                      /* b2 ^= c3 */
    vadd.i32 q2, q2, q9                     /* a2 += b3 */
    vsri.32 q4, q7, #24                     /* d3 */
    vshl.i32 q7, q14, #12                   /* b2 <<< 12 */
    veor q12, q12, q2                       /* d1 ^= a2 */
    vadd.i32 q3, q3, q11                    /* a3 += b0 */
    vsri.32 q7, q14, #20                    /* b2 */
    vldmia r1, {d28, d29}                   /* c0 from memory */
    vrev32.16 q12, q12                      /* d1 <<< 16 */
    vadd.i32 q13, q13, q4                   /* c2 += d3 */
    add r0, r1, r0
    veor q6, q6, q3                         /* d2 ^= a3 */
    ldr r2, [r1, #FILL_BLOCK]
    vadd.i32 q14, q14, q12                  /* c0 += d1 */
    ldr r11, [r7, #SEALANE_LANE_NONCE]
    veor q15, q15, q13                      /* b1 ^= c2 */
    vstr d26, [r1, #16]                     /* c2 to memory */
    vstr d27, [r1, #24]
    vshl.i32 q13, q6, #8                    /* d2 <<< 8 */
    ldr r3, [r11]
    veor q9, q9, q14                        /* b3 ^= c0 */
    ldr r9, [r7, #SEALANE_LANE_BYTES]
    vadd.i32 q1, q1, q7                     /* a1 += b2 */
    ldr r4, [r11, #4]
    vsri.32 q13, q6, #24                    /* d2 */
    ldr r5, [r11, #8]
    vshl.i32 q6, q9, #12                    /* b3 <<< 12 */
    veor q5, q5, q1                         /* d0 ^= a1 */
    cmp r9, r2, lsl #6
    vadd.i32 q8, q8, q13                    /* c1 += d2 */
    vsri.32 q6, q9, #20                     /* b3 */
    stmia r0!, {r2, r3, r4, r5}
    add r2, r2, #1
    vshl.i32 q9, q5, #8                     /* d0 <<< 8 */
    veor q11, q11, q8                       /* b0 ^= c1 */
    ldr r12, [r7, #SEALANE_LANE_KEY]
    movls r2, #0
    vadd.i32 q2, q2, q6                     /* a2 += b3 */
    vsri.32 q9, q5, #24                     /* d0 */
    addls r7, r7, #SEALANE_LANE_STRIDE
    str r12, [r0, #KEYS - 16]
    vshl.i32 q5, q11, #7                    /* b0 <<< 7 */
    veor q12, q12, q2                       /* d1 ^= a2 */
    cmp r7, r8
    vadd.i32 q10, q10, q9                   /* c3 += d0 */
    movhi r7, r8
    vsri.32 q5, q11, #25                    /* b0 */
    ldr r6, [r7, #SEALANE_LANE_NONCE]
    vshl.i32 q11, q12, #8                   /* d1 <<< 8 */
    veor q7, q7, q10                        /* b2 ^= c3 */
    vadd.i32 q0, q0, q5                     /* a0 += b0 */
    ldr r3, [r6]
    vsri.32 q11, q12, #24                   /* d1 */
    ldr r9, [r7, #SEALANE_LANE_BYTES]
    vshl.i32 q12, q15, #7                   /* b1 <<< 7 */
    ldr r4, [r6, #4]
    veor q9, q9, q0                         /* d0 ^= a0 */
    ldr r5, [r6, #8]
    vadd.i32 q14, q14, q11                  /* c0 += d1 */
    cmp r9, r2, lsl #6
    vsri.32 q12, q15, #25                   /* b1 */
    vrev32.16 q15, q9                       /* d0 <<< 16 */
    stmia r0!, {r2, r3, r4, r5}
    add r2, r2, #1
    veor q6, q6, q14                        /* b3 ^= c0 */
    vadd.i32 q9, q1, q12                    /* a1 += b1 */
    ldr r12, [r7, #SEALANE_LANE_KEY]
    movls r2, #0
    vadd.i32 q1, q14, q15                   /* c0 += d0 */
    vshl.i32 q14, q6, #7                    /* b3 <<< 7 */
    addls r7, r7, #SEALANE_LANE_STRIDE
    str r12, [r0, #KEYS - 28]
    veor q11, q11, q9                       /* d1 ^= a1 */
    veor q5, q5, q1                         /* b0 ^= c0 */
    vsri.32 q14, q6, #25                    /* b3 */
    cmp r7, r8
    vrev32.16 q6, q11                       /* d1 <<< 16 */
    movhi r7, r8
    vshl.i32 q11, q5, #12                   /* b0 <<< 12 */
    ldr r11, [r7, #SEALANE_LANE_NONCE]
    vadd.i32 q3, q3, q14                    /* a3 += b3 */
    vadd.i32 q8, q8, q6                     /* c1 += d1 */
    vsri.32 q11, q5, #20                    /* b0 */
    ldr r3, [r11]
    veor q5, q4, q3                         /* d3 ^= a3 */
    ldr r9, [r7, #SEALANE_LANE_BYTES]
    vshl.i32 q4, q7, #7                     /* b2 <<< 7 */
    ldr r4, [r11, #4]
    vadd.i32 q0, q0, q11                    /* a0 += b0 */
    ldr r5, [r11, #8]
    vrev32.16 q5, q5                        /* d3 <<< 16 */
    cmp r9, r2, lsl #6
    vsri.32 q4, q7, #25                     /* b2 */
    veor q15, q15, q0                       /* d0 ^= a0 */
    stmia r0!, {r2, r3, r4, r5}
    add r2, r2, #1
    vadd.i32 q10, q10, q5                   /* c3 += d3 */
    veor q7, q12, q8                        /* b1 ^= c1 */
    ldr r12, [r7, #SEALANE_LANE_KEY]
    movls r2, #0
    vshl.i32 q12, q15, #8                   /* d0 <<< 8 */
    veor q14, q14, q10                      /* b3 ^= c3 */
    addls r7, r7, #SEALANE_LANE_STRIDE
    str r12, [r0, #KEYS - 40]
    vadd.i32 q2, q2, q4                     /* a2 += b2 */
    vsri.32 q12, q15, #24                   /* d0 */
    cmp r7, r8
    vshl.i32 q15, q7, #12                   /* b1 <<< 12 */
    movhi r7, r8
    veor q13, q13, q2                       /* d2 ^= a2 */
    ldr r9, [r7, #SEALANE_LANE_BYTES]
    vadd.i32 q1, q1, q12                    /* c0 += d0 */
    ldr r6, [r7, #SEALANE_LANE_NONCE]
    vsri.32 q15, q7, #20                    /* b1 */
    ldr r12, [r7, #SEALANE_LANE_KEY]
    vshl.i32 q7, q14, #12                   /* b3 <<< 12 */
    cmp r9, r2, lsl #6
    veor q11, q11, q1                       /* b0 ^= c0 */
    vstmia r1, {d2, d3}                     /* c0 to memory */
    vrev32.16 q13, q13                      /* d2 <<< 16 */
    ldr r3, [r6]
    vadd.i32 q1, q9, q15                    /* a1 += b1 */
    vldr d18, [r1, #16]                     /* c2 from memory */
    vldr d19, [r1, #24]
    vsri.32 q7, q14, #20                    /* b3 */
    ldr r4, [r6, #4]
    addls r7, r7, #SEALANE_LANE_STRIDE
    vshl.i32 q14, q11, #7                   /* b0 <<< 7 */
    ldr r5, [r6, #8]
    veor q6, q6, q1                         /* d1 ^= a1 */
    vadd.i32 q9, q9, q13                    /* c2 += d2 */
    vsri.32 q14, q11, #25                   /* b0 */
    stmia r0!, {r2, r3, r4, r5}
    add r2, r2, #1
    vshl.i32 q11, q6, #8                    /* d1 <<< 8 */
    veor q4, q4, q9                         /* b2 ^= c2 */
    str r12, [r0, #KEYS - 52]
    movls r2, #0
    vadd.i32 q3, q3, q7                     /* a3 += b3 */
    vsri.32 q11, q6, #24                    /* d1 */
    cmp r7, r8
    add r12, r1, #H
    vshl.i32 q6, q4, #12                    /* b2 <<< 12 */
    veor q5, q5, q3                         /* d3 ^= a3 */
    str r2, [r1, #FILL_BLOCK]
    add y, r1, #BLOCK + 256
    vadd.i32 q8, q8, q11                    /* c1 += d1 */
    vsri.32 q6, q4, #20                     /* b2 */
    ldmia r12, {r2, r3, r4, r5, r6}
    mov p1, #8
    vshl.i32 q4, q5, #8                     /* d3 <<< 8 */
    veor q15, q15, q8                       /* b1 ^= c1 */
    vadd.i32 q2, q2, q6                     /* a2 += b2 */
    movhi r7, r8
    vsri.32 q4, q5, #24                     /* d3 */
    str r7, [r1, #FILL_LANE]
    vshl.i32 q5, q15, #7                    /* b1 <<< 7 */
    veor q13, q13, q2                       /* d2 ^= a2 */
    ldr r0, [r1, #REMAINING]
    vadd.i32 q10, q10, q4                   /* c3 += d3 */
    ldr x, [r1, #SLOT]
    vsri.32 q5, q15, #25                    /* b1 */
    str p1, [r1, #ROUNDS]
    vswp q14, q4                            /* b0, d3 home */
    vswp q12, q11                           /* d0, d1 home */
.endm

/* The same along with r and s from block 0 in its slot (RFC 8439, 2.6), h = 0, and the text in the slots behind it.
 * After it p0: its bytes, padded to blocks of Poly1305, z: MORE, w: bytes of associated data, Z: no rounds are left. */
.macro set_round_key
    vshl.i32 q15, q13, #8                   /* d2 <<< 8 */
    ldr r12, [r1, #SLOT]
    vadd.i32 q3, q3, q4                     /* a3 += b0 */
    ldr r11, [r1, #LANE]
    vadd.i32 q0, q0, q5                     /* a0 += b1 */
    ldmia r12!, {r2, r3, r4, r5, r6, r7, r8, r9}
    vsri.32 q15, q13, #24                   /* d2 */
    veor q13, q7, q10                       /* b3 ^= c3 */
    veor q7, q14, q0                        /* d3 ^= a0 */
    vadd.i32 q14, q9, q15                   /* c2 += d2 */
    bic r3, r3, #0xf0000003
    add r0, r1, #POLY_S
    vshl.i32 q9, q13, #7                    /* b3 <<< 7 */
    vrev32.16 q7, q7                        /* d3 <<< 16 */
    stmia r0, {r6, r7, r8, r9}
    bic r6, r2, #0xf0000000
    veor q6, q6, q14                        /* b2 ^= c2 */
    vsri.32 q9, q13, #25                    /* b3 */
    bic r4, r4, #0xf0000003
    bic r5, r5, #0xf0000003
    vadd.i32 q13, q14, q7                   /* c2 += d3 */
    vshl.i32 q14, q6, #7                    /* b2 <<< 7 */
    add r0, r1, #POLY_R1
    ldr r7, [r11, #SEALANE_LANE_BYTES]
    veor q15, q15, q3                       /* d2 ^= a3 */
    veor q5, q5, q13                        /* b1 ^= c2 */
    vsri.32 q14, q6, #25                    /* b2 */
    vrev32.16 q6, q15                       /* d2 <<< 16 */
    vshl.i32 q15, q5, #12                   /* b1 <<< 12 */
    vadd.i32 q1, q1, q14                    /* a1 += b2 */
    vadd.i32 q8, q8, q6                     /* c1 += d2 */
    vsri.32 q15, q5, #20                    /* b1 */
    veor q11, q11, q1                       /* d0 ^= a1 */
    veor q4, q4, q8                         /* b0 ^= c1 */
    vadd.i32 q0, q0, q15                    /* a0 += b1 */
    vrev32.16 q5, q11                       /* d0 <<< 16 */
    vshl.i32 q11, q4, #12                   /* b0 <<< 12 */
    veor q7, q7, q0                         /* d3 ^= a0 */
    vadd.i32 q10, q10, q5                   /* c3 += d0 */
    vsri.32 q11, q4, #20                    /* b0 */
    vshl.i32 q4, q7, #8                     /* d3 <<< 8 */
    veor q14, q14, q10                      /* b2 ^= c3 */
    vadd.i32 q2, q2, q9                     /* a2 += b3 */
    vsri.32 q4, q7, #24                     /* d3 */
    vshl.i32 q7, q14, #12                   /* b2 <<< 12 */
    veor q12, q12, q2                       /* d1 ^= a2 */
    vadd.i32 q3, q3, q11                    /* a3 += b0 */
    vsri.32 q7, q14, #20                    /* b2 */
    vldmia r1, {d28, d29}                   /* c0 from memory */
    vrev32.16 q12, q12                      /* d1 <<< 16 */
    stmia r0, {r3, r4, r5}
    add r8, r12, #32
    vadd.i32 q13, q13, q4                   /* c2 += d3 */
    veor q6, q6, q3                         /* d2 ^= a3 */
    vadd.i32 q14, q14, q12                  /* c0 += d1 */
    veor q15, q15, q13                      /* b1 ^= c2 */
    vstr d26, [r1, #16]                     /* c2 to memory */
    vstr d27, [r1, #24]
    vshl.i32 q13, q6, #8                    /* d2 <<< 8 */
    veor q9, q9, q14                        /* b3 ^= c0 */
    vadd.i32 q1, q1, q7                     /* a1 += b2 */
    vsri.32 q13, q6, #24                    /* d2 */
    vshl.i32 q6, q9, #12                    /* b3 <<< 12 */
    veor q5, q5, q1                         /* d0 ^= a1 */
    vadd.i32 q8, q8, q13                    /* c1 += d2 */
    vsri.32 q6, q9, #20                     /* b3 */
    vshl.i32 q9, q5, #8                     /* d0 <<< 8 */
    veor q11, q11, q8                       /* b0 ^= c1 */
    vadd.i32 q2, q2, q6                     /* a2 += b3 */
    vsri.32 q9, q5, #24                     /* d0 */
    vshl.i32 q5, q11, #7                    /* b0 <<< 7 */
    veor q12, q12, q2                       /* d1 ^= a2 */
    vadd.i32 q10, q10, q9                   /* c3 += d0 */
    vsri.32 q5, q11, #25                    /* b0 */
    add r3, r3, r3, lsr #2
    add r9, r1, #BLOCK + 256
    vshl.i32 q11, q12, #8                   /* d1 <<< 8 */
    veor q7, q7, q10                        /* b2 ^= c3 */
    vadd.i32 q0, q0, q5                     /* a0 += b0 */
    vsri.32 q11, q12, #24                   /* d1 */
    vshl.i32 q12, q15, #7                   /* b1 <<< 7 */
    sub r9, r9, r8
    veor q9, q9, q0                         /* d0 ^= a0 */
    vadd.i32 q14, q14, q11                  /* c0 += d1 */
    cmp r7, r9
    vsri.32 q12, q15, #25                   /* b1 */
    vrev32.16 q15, q9                       /* d0 <<< 16 */
    veor q6, q6, q14                        /* b3 ^= c0 */
    movlo r9, r7
    vadd.i32 q9, q1, q12                    /* a1 += b1 */
    vadd.i32 q1, q14, q15                   /* c0 += d0 */
    sub r7, r7, r9
    add r0, r9, #15
    vshl.i32 q14, q6, #7                    /* b3 <<< 7 */
    veor q11, q11, q9                       /* d1 ^= a1 */
    add r4, r4, r4, lsr #2
    bic r0, r0, #15
    veor q5, q5, q1                         /* b0 ^= c0 */
    vsri.32 q14, q6, #25                    /* b3 */
    add r9, r8, r0
    vrev32.16 q6, q11                       /* d1 <<< 16 */
    strd r8, r9, [r1, #MESSAGE]
    add r12, r9, #63
    vshl.i32 q11, q5, #12                   /* b0 <<< 12 */
    vadd.i32 q3, q3, q14                    /* a3 += b3 */
    vadd.i32 q8, q8, q6                     /* c1 += d1 */
    vsri.32 q11, q5, #20                    /* b0 */
    veor q5, q4, q3                         /* d3 ^= a3 */
    vshl.i32 q4, q7, #7                     /* b2 <<< 7 */
    vadd.i32 q0, q0, q11                    /* a0 += b0 */
    vrev32.16 q5, q5                        /* d3 <<< 16 */
    vsri.32 q4, q7, #25                     /* b2 */
    veor q15, q15, q0                       /* d0 ^= a0 */
    vadd.i32 q10, q10, q5                   /* c3 += d3 */
    veor q7, q12, q8                        /* b1 ^= c1 */
    vshl.i32 q12, q15, #8                   /* d0 <<< 8 */
    add r5, r5, r5, lsr #2
    veor q14, q14, q10                      /* b3 ^= c3 */
    vadd.i32 q2, q2, q4                     /* a2 += b2 */
    stmdb r1, {r3, r4, r5, r6}
    vsri.32 q12, q15, #24                   /* d0 */
    vshl.i32 q15, q7, #12                   /* b1 <<< 12 */
    ldr r11, [r11, #SEALANE_LANE_AD_BYTES]
    veor q13, q13, q2                       /* d2 ^= a2 */
    vadd.i32 q1, q1, q12                    /* c0 += d0 */
    vsri.32 q15, q7, #20                    /* b1 */
    bic r12, r12, #63
    vshl.i32 q7, q14, #12                   /* b3 <<< 12 */
    veor q11, q11, q1                       /* b0 ^= c0 */
    vstmia r1, {d2, d3}                     /* c0 to memory */
    str r12, [r1, #SLOT]
    vrev32.16 q13, q13                      /* d2 <<< 16 */
    vadd.i32 q1, q9, q15                    /* a1 += b1 */
    vldr d18, [r1, #16]                     /* c2 from memory */
    mov h0, #0
    vldr d19, [r1, #24]
    vsri.32 q7, q14, #20                    /* b3 */
    str r7, [r1, #MORE]
    vshl.i32 q14, q11, #7                   /* b0 <<< 7 */
    veor q6, q6, q1                         /* d1 ^= a1 */
    str r7, [r1, #REMAINING]
    vadd.i32 q9, q9, q13                    /* c2 += d2 */
    vsri.32 q14, q11, #25                   /* b0 */
    mov h1, #0
    vshl.i32 q11, q6, #8                    /* d1 <<< 8 */
    veor q4, q4, q9                         /* b2 ^= c2 */
    vadd.i32 q3, q3, q7                     /* a3 += b3 */
    mov h2, #0
    ldr p1, [r1, #ROUNDS]
    vsri.32 q11, q6, #24                    /* d1 */
    vshl.i32 q6, q4, #12                    /* b2 <<< 12 */
    veor q5, q5, q3                         /* d3 ^= a3 */
    vadd.i32 q8, q8, q11                    /* c1 += d1 */
    subs p1, p1, #1
    mov h3, #0
    vsri.32 q6, q4, #20                     /* b2 */
    vshl.i32 q4, q5, #8                     /* d3 <<< 8 */
    mov h4, #0
    str p1, [r1, #ROUNDS]
    veor q15, q15, q8                       /* b1 ^= c1 */
    vadd.i32 q2, q2, q6                     /* a2 += b2 */
    vsri.32 q4, q5, #24                     /* d3 */
    vshl.i32 q5, q15, #7                    /* b1 <<< 7 */
    veor q13, q13, q2                       /* d2 ^= a2 */
    vadd.i32 q10, q10, q4                   /* c3 += d3 */
    vsri.32 q5, q15, #25                    /* b1 */
    vswp q14, q4                            /* b0, d3 home */
    vswp q12, q11                           /* d0, d1 home */
.endm

/* The same along with two blocks of Poly1305. After it p0: bytes left to LIMIT, z: MORE, Z: no rounds are left. */
.macro set_round_blocks
    vshl.i32 q15, q13, #8                   /* d2 <<< 8 */
    ldr z, [r1, #MESSAGE]
    vadd.i32 q3, q3, q4                     /* a3 += b0 */
    ldmia z, {x, y, w, p1}
    vadd.i32 q0, q0, q5                     /* a0 += b1 */
    vsri.32 q15, q13, #24                   /* d2 */
    veor q13, q7, q10                       /* b3 ^= c3 */
    ldr z, [r1, #POLY_R0]
    veor q7, q14, q0                        /* d3 ^= a0 */
    adds h0, h0, x
    vadd.i32 q14, q9, q15                   /* c2 += d2 */
    adcs h1, h1, y
    vshl.i32 q9, q13, #7                    /* b3 <<< 7 */
    adcs h2, h2, w
    vrev32.16 q7, q7                        /* d3 <<< 16 */
    adcs h3, h3, p1
    veor q6, q6, q14                        /* b2 ^= c2 */
    ldrd x, y, [r1, #POLY_S1]
    vsri.32 q9, q13, #25                    /* b3 */
    ldr w, [r1, #POLY_S3]
    vadd.i32 q13, q14, q7                   /* c2 += d3 */
    umull p0, p1, h0, z
    vshl.i32 q14, q6, #7                    /* b2 <<< 7 */
    umlal p0, p1, h3, x
    veor q15, q15, q3                       /* d2 ^= a3 */
    umlal p0, p1, h2, y
    veor q5, q5, q13                        /* b1 ^= c2 */
    umlal p0, p1, h1, w
    adc h4, h4, #1
    vsri.32 q14, q6, #25                    /* b2 */
    mul x, h4, x
    vrev32.16 q6, q15                       /* d2 <<< 16 */
    str p0, [r1, #POLY_LOW]
    vshl.i32 q15, q5, #12                   /* b1 <<< 12 */
    vadd.i32 q1, q1, q14                    /* a1 += b2 */
    mul p0, h4, y
    vadd.i32 q8, q8, q6                     /* c1 += d2 */
    umlal x, p0, h3, y
    vsri.32 q15, q5, #20                    /* b1 */
    ldr y, [r1, #POLY_R1]
    veor q11, q11, q1                       /* d0 ^= a1 */
    umlal x, p0, h2, w
    veor q4, q4, q8                         /* b0 ^= c1 */
    umlal x, p0, h1, z
    vadd.i32 q0, q0, q15                    /* a0 += b1 */
    umlal x, p0, h0, y
    vrev32.16 q5, q11                       /* d0 <<< 16 */
    adds p1, p1, x
    vshl.i32 q11, q4, #12                   /* b0 <<< 12 */
    veor q7, q7, q0                         /* d3 ^= a0 */
    vadd.i32 q10, q10, q5                   /* c3 += d0 */
    vsri.32 q11, q4, #20                    /* b0 */
    vshl.i32 q4, q7, #8                     /* d3 <<< 8 */
    umull x, y, h1, y
    veor q14, q14, q10                      /* b2 ^= c3 */
    umlal x, y, h3, w
    vadd.i32 q2, q2, q9                     /* a2 += b3 */
    mul w, h4, w
    vsri.32 q4, q7, #24                     /* d3 */
    umlal x, y, h2, z
    vshl.i32 q7, q14, #12                   /* b2 <<< 12 */
    mul h4, h4, z
    veor q12, q12, q2                       /* d1 ^= a2 */
    umlal w, h4, h3, z
    vadd.i32 q3, q3, q11                    /* a3 += b0 */
    ldrd h3, z, [r1, #POLY_R1]
    vsri.32 q7, q14, #20                    /* b2 */
    vldmia r1, {d28, d29}                   /* c0 from memory */
    vrev32.16 q12, q12                      /* d1 <<< 16 */
    umlal w, h4, h1, z
    vadd.i32 q13, q13, q4                   /* c2 += d3 */
    veor q6, q6, q3                         /* d2 ^= a3 */
    umlal w, h4, h2, h3
    vadd.i32 q14, q14, q12                  /* c0 += d1 */
    ldr h2, [r1, #POLY_R3]
    veor q15, q15, q13                      /* b1 ^= c2 */
    vstr d26, [r1, #16]                     /* c2 to memory */
    vstr d27, [r1, #24]
    vshl.i32 q13, q6, #8                    /* d2 <<< 8 */
    veor q9, q9, q14                        /* b3 ^= c0 */
    umlal x, y, h0, z
    vadd.i32 q1, q1, q7                     /* a1 += b2 */
    umlal w, h4, h0, h2
    vsri.32 q13, q6, #24                    /* d2 */
    vshl.i32 q6, q9, #12                    /* b3 <<< 12 */
    adcs p0, p0, x
    veor q5, q5, q1                         /* d0 ^= a1 */
    adcs y, y, w
    vadd.i32 q8, q8, q13                    /* c1 += d2 */
    ldr x, [r1, #POLY_LOW]
    adc h4, h4, #0
    vsri.32 q6, q9, #20                     /* b3 */
    vshl.i32 q9, q5, #8                     /* d0 <<< 8 */
    bic w, h4, #3
    ldr z, [r1, #MESSAGE]
    veor q11, q11, q8                       /* b0 ^= c1 */
    vadd.i32 q2, q2, q6                     /* a2 += b3 */
    add w, w, w, lsr #2
    and h4, h4, #3
    vsri.32 q9, q5, #24                     /* d0 */
    vshl.i32 q5, q11, #7                    /* b0 <<< 7 */
    adds h0, x, w
    add z, z, #16
    veor q12, q12, q2                       /* d1 ^= a2 */
    vadd.i32 q10, q10, q9                   /* c3 += d0 */
    adcs h1, p1, #0
    vsri.32 q5, q11, #25                    /* b0 */
    adcs h2, p0, #0
    vshl.i32 q11, q12, #8                   /* d1 <<< 8 */
    adcs h3, y, #0
    ldmia z!, {x, y, w, p1}
    veor q7, q7, q10                        /* b2 ^= c3 */
    vadd.i32 q0, q0, q5                     /* a0 += b0 */
    adc h4, h4, #0
    str z, [r1, #MESSAGE]
    vsri.32 q11, q12, #24                   /* d1 */
    vshl.i32 q12, q15, #7                   /* b1 <<< 7 */
    adds h0, h0, x
    veor q9, q9, q0                         /* d0 ^= a0 */
    adcs h1, h1, y
    vadd.i32 q14, q14, q11                  /* c0 += d1 */
    adcs h2, h2, w
    vsri.32 q12, q15, #25                   /* b1 */
    adcs h3, h3, p1
    vrev32.16 q15, q9                       /* d0 <<< 16 */
    ldr z, [r1, #POLY_R0]
    adc h4, h4, #1
    veor q6, q6, q14                        /* b3 ^= c0 */
    vadd.i32 q9, q1, q12                    /* a1 += b1 */
    vadd.i32 q1, q14, q15                   /* c0 += d0 */
    umull p0, p1, h0, z
    vshl.i32 q14, q6, #7                    /* b3 <<< 7 */
    ldrd x, y, [r1, #POLY_S1]
    veor q11, q11, q9                       /* d1 ^= a1 */
    ldr w, [r1, #POLY_S3]
    veor q5, q5, q1                         /* b0 ^= c0 */
    umlal p0, p1, h3, x
    vsri.32 q14, q6, #25                    /* b3 */
    vrev32.16 q6, q11                       /* d1 <<< 16 */
    umlal p0, p1, h2, y
    vshl.i32 q11, q5, #12                   /* b0 <<< 12 */
    umlal p0, p1, h1, w
    vadd.i32 q3, q3, q14                    /* a3 += b3 */
    mul x, h4, x
    vadd.i32 q8, q8, q6                     /* c1 += d1 */
    str p0, [r1, #POLY_LOW]
    vsri.32 q11, q5, #20                    /* b0 */
    veor q5, q4, q3                         /* d3 ^= a3 */
    vshl.i32 q4, q7, #7                     /* b2 <<< 7 */
    mul p0, h4, y
    vadd.i32 q0, q0, q11                    /* a0 += b0 */
    umlal x, p0, h3, y
    vrev32.16 q5, q5                        /* d3 <<< 16 */
    vsri.32 q4, q7, #25                     /* b2 */
    ldr y, [r1, #POLY_R1]
    veor q15, q15, q0                       /* d0 ^= a0 */
    umlal x, p0, h2, w
    vadd.i32 q10, q10, q5                   /* c3 += d3 */
    umlal x, p0, h1, z
    veor q7, q12, q8                        /* b1 ^= c1 */
    umlal x, p0, h0, y
    vshl.i32 q12, q15, #8                   /* d0 <<< 8 */
    veor q14, q14, q10                      /* b3 ^= c3 */
    adds p1, p1, x
    vadd.i32 q2, q2, q4                     /* a2 += b2 */
    umull x, y, h1, y
    vsri.32 q12, q15, #24                   /* d0 */
    umlal x, y, h3, w
    vshl.i32 q15, q7, #12                   /* b1 <<< 12 */
    mul w, h4, w
    veor q13, q13, q2                       /* d2 ^= a2 */
    vadd.i32 q1, q1, q12                    /* c0 += d0 */
    umlal x, y, h2, z
    vsri.32 q15, q7, #20                    /* b1 */
    mul h4, h4, z
    vshl.i32 q7, q14, #12                   /* b3 <<< 12 */
    umlal w, h4, h3, z
    veor q11, q11, q1                       /* b0 ^= c0 */
    ldrd h3, z, [r1, #POLY_R1]
    vstmia r1, {d2, d3}                     /* c0 to memory */
    vrev32.16 q13, q13                      /* d2 <<< 16 */
    vadd.i32 q1, q9, q15                    /* a1 += b1 */
    vldr d18, [r1, #16]                     /* c2 from memory */
    umlal w, h4, h1, z
    vldr d19, [r1, #24]
    umlal w, h4, h2, h3
    ldr h2, [r1, #POLY_R3]
    umlal x, y, h0, z
    vsri.32 q7, q14, #20                    /* b3 */
    vshl.i32 q14, q11, #7                   /* b0 <<< 7 */
    umlal w, h4, h0, h2
    veor q6, q6, q1                         /* d1 ^= a1 */
    adcs p0, p0, x
    vadd.i32 q9, q9, q13                    /* c2 += d2 */
    ldr x, [r1, #POLY_LOW]
    vsri.32 q14, q11, #25                   /* b0 */
    adcs y, y, w
    vshl.i32 q11, q6, #8                    /* d1 <<< 8 */
    adc h4, h4, #0
    veor q4, q4, q9                         /* b2 ^= c2 */
    bic w, h4, #3
    vadd.i32 q3, q3, q7                     /* a3 += b3 */
    add w, w, w, lsr #2
    vsri.32 q11, q6, #24                    /* d1 */
    vshl.i32 q6, q4, #12                    /* b2 <<< 12 */
    and h4, h4, #3
    adds h0, x, w
    veor q5, q5, q3                         /* d3 ^= a3 */
    vadd.i32 q8, q8, q11                    /* c1 += d1 */
    adcs h1, p1, #0
    ldr z, [r1, #MORE]
    vsri.32 q6, q4, #20                     /* b2 */
    vshl.i32 q4, q5, #8                     /* d3 <<< 8 */
    adcs h2, p0, #0
    ldr p1, [r1, #ROUNDS]
    veor q15, q15, q8                       /* b1 ^= c1 */
    vadd.i32 q2, q2, q6                     /* a2 += b2 */
    adcs h3, y, #0
    ldrd x, y, [r1, #MESSAGE]
    vsri.32 q4, q5, #24                     /* d3 */
    vshl.i32 q5, q15, #7                    /* b1 <<< 7 */
    adc h4, h4, #0
    subs p1, p1, #1
    veor q13, q13, q2                       /* d2 ^= a2 */
    vadd.i32 q10, q10, q4                   /* c3 += d3 */
    sub p0, y, x
    vsri.32 q5, q15, #25                    /* b1 */
    str p1, [r1, #ROUNDS]
    vswp q14, q4                            /* b0, d3 home */
    vswp q12, q11                           /* d0, d1 home */
.endm

/* The same along with one block. */
.macro set_round_block
    vshl.i32 q15, q13, #8                   /* d2 <<< 8 */
    vadd.i32 q3, q3, q4                     /* a3 += b0 */
    vadd.i32 q0, q0, q5                     /* a0 += b1 */
    vsri.32 q15, q13, #24                   /* d2 */
    veor q13, q7, q10                       /* b3 ^= c3 */
    veor q7, q14, q0                        /* d3 ^= a0 */
    vadd.i32 q14, q9, q15                   /* c2 += d2 */
    vshl.i32 q9, q13, #7                    /* b3 <<< 7 */
    vrev32.16 q7, q7                        /* d3 <<< 16 */
    veor q6, q6, q14                        /* b2 ^= c2 */
    vsri.32 q9, q13, #25                    /* b3 */
    vadd.i32 q13, q14, q7                   /* c2 += d3 */
    vshl.i32 q14, q6, #7                    /* b2 <<< 7 */
    veor q15, q15, q3                       /* d2 ^= a3 */
    veor q5, q5, q13                        /* b1 ^= c2 */
    vsri.32 q14, q6, #25                    /* b2 */
    vrev32.16 q6, q15                       /* d2 <<< 16 */
    vshl.i32 q15, q5, #12                   /* b1 <<< 12 */
    vadd.i32 q1, q1, q14                    /* a1 += b2 */
    vadd.i32 q8, q8, q6                     /* c1 += d2 */
    vsri.32 q15, q5, #20                    /* b1 */
    veor q11, q11, q1                       /* d0 ^= a1 */
    veor q4, q4, q8                         /* b0 ^= c1 */
    vadd.i32 q0, q0, q15                    /* a0 += b1 */
    vrev32.16 q5, q11                       /* d0 <<< 16 */
    vshl.i32 q11, q4, #12                   /* b0 <<< 12 */
    veor q7, q7, q0                         /* d3 ^= a0 */
    vadd.i32 q10, q10, q5                   /* c3 += d0 */
    vsri.32 q11, q4, #20                    /* b0 */
    vshl.i32 q4, q7, #8                     /* d3 <<< 8 */
    veor q14, q14, q10                      /* b2 ^= c3 */
    vadd.i32 q2, q2, q9                     /* a2 += b3 */
    vsri.32 q4, q7, #24                     /* d3 */
    vshl.i32 q7, q14, #12                   /* b2 <<< 12 */
    veor q12, q12, q2                       /* d1 ^= a2 */
    vadd.i32 q3, q3, q11                    /* a3 += b0 */
    ldr z, [r1, #MESSAGE]
    vsri.32 q7, q14, #20                    /* b2 */
    vldmia r1, {d28, d29}                   /* c0 from memory */
    vrev32.16 q12, q12                      /* d1 <<< 16 */
    ldmia z!, {x, y, w, p1}
    vadd.i32 q13, q13, q4                   /* c2 += d3 */
    veor q6, q6, q3                         /* d2 ^= a3 */
    vadd.i32 q14, q14, q12                  /* c0 += d1 */
    str z, [r1, #MESSAGE]
    veor q15, q15, q13                      /* b1 ^= c2 */
    vstr d26, [r1, #16]                     /* c2 to memory */
    vstr d27, [r1, #24]
    vshl.i32 q13, q6, #8                    /* d2 <<< 8 */
    veor q9, q9, q14                        /* b3 ^= c0 */
    adds h0, h0, x
    vadd.i32 q1, q1, q7                     /* a1 += b2 */
    adcs h1, h1, y
    vsri.32 q13, q6, #24                    /* d2 */
    adcs h2, h2, w
    vshl.i32 q6, q9, #12                    /* b3 <<< 12 */
    adcs h3, h3, p1
    veor q5, q5, q1                         /* d0 ^= a1 */
    ldrd x, y, [r1, #POLY_S1]
    vadd.i32 q8, q8, q13                    /* c1 += d2 */
    ldr z, [r1, #POLY_R0]
    adc h4, h4, #1
    vsri.32 q6, q9, #20                     /* b3 */
    vshl.i32 q9, q5, #8                     /* d0 <<< 8 */
    veor q11, q11, q8                       /* b0 ^= c1 */
    vadd.i32 q2, q2, q6                     /* a2 += b3 */
    vsri.32 q9, q5, #24                     /* d0 */
    vshl.i32 q5, q11, #7                    /* b0 <<< 7 */
    veor q12, q12, q2                       /* d1 ^= a2 */
    vadd.i32 q10, q10, q9                   /* c3 += d0 */
    vsri.32 q5, q11, #25                    /* b0 */
    umull p0, p1, h0, z
    vshl.i32 q11, q12, #8                   /* d1 <<< 8 */
    ldr w, [r1, #POLY_S3]
    veor q7, q7, q10                        /* b2 ^= c3 */
    vadd.i32 q0, q0, q5                     /* a0 += b0 */
    umlal p0, p1, h3, x
    vsri.32 q11, q12, #24                   /* d1 */
    vshl.i32 q12, q15, #7                   /* b1 <<< 7 */
    umlal p0, p1, h2, y
    veor q9, q9, q0                         /* d0 ^= a0 */
    umlal p0, p1, h1, w
    vadd.i32 q14, q14, q11                  /* c0 += d1 */
    vsri.32 q12, q15, #25                   /* b1 */
    mul x, h4, x
    vrev32.16 q15, q9                       /* d0 <<< 16 */
    str p0, [r1, #POLY_LOW]
    veor q6, q6, q14                        /* b3 ^= c0 */
    vadd.i32 q9, q1, q12                    /* a1 += b1 */
    mul p0, h4, y
    vadd.i32 q1, q14, q15                   /* c0 += d0 */
    umlal x, p0, h3, y
    vshl.i32 q14, q6, #7                    /* b3 <<< 7 */
    veor q11, q11, q9                       /* d1 ^= a1 */
    ldr y, [r1, #POLY_R1]
    veor q5, q5, q1                         /* b0 ^= c0 */
    umlal x, p0, h2, w
    vsri.32 q14, q6, #25                    /* b3 */
    vrev32.16 q6, q11                       /* d1 <<< 16 */
    umlal x, p0, h1, z
    vshl.i32 q11, q5, #12                   /* b0 <<< 12 */
    umlal x, p0, h0, y
    vadd.i32 q3, q3, q14                    /* a3 += b3 */
    vadd.i32 q8, q8, q6                     /* c1 += d1 */
    vsri.32 q11, q5, #20                    /* b0 */
    adds p1, p1, x
    veor q5, q4, q3                         /* d3 ^= a3 */
    umull x, y, h1, y
    vshl.i32 q4, q7, #7                     /* b2 <<< 7 */
    umlal x, y, h3, w
    vadd.i32 q0, q0, q11                    /* a0 += b0 */
    mul w, h4, w
    vrev32.16 q5, q5                        /* d3 <<< 16 */
    vsri.32 q4, q7, #25                     /* b2 */
    umlal x, y, h2, z
    veor q15, q15, q0                       /* d0 ^= a0 */
    mul h4, h4, z
    vadd.i32 q10, q10, q5                   /* c3 += d3 */
    veor q7, q12, q8                        /* b1 ^= c1 */
    umlal w, h4, h3, z
    vshl.i32 q12, q15, #8                   /* d0 <<< 8 */
    ldrd h3, z, [r1, #POLY_R1]
    veor q14, q14, q10                      /* b3 ^= c3 */
    vadd.i32 q2, q2, q4                     /* a2 += b2 */
    vsri.32 q12, q15, #24                   /* d0 */
    umlal w, h4, h1, z
    vshl.i32 q15, q7, #12                   /* b1 <<< 12 */
    umlal w, h4, h2, h3
    veor q13, q13, q2                       /* d2 ^= a2 */
    ldr h2, [r1, #POLY_R3]
    vadd.i32 q1, q1, q12                    /* c0 += d0 */
    umlal x, y, h0, z
    vsri.32 q15, q7, #20                    /* b1 */
    vshl.i32 q7, q14, #12                   /* b3 <<< 12 */
    umlal w, h4, h0, h2
    veor q11, q11, q1                       /* b0 ^= c0 */
    vstmia r1, {d2, d3}                     /* c0 to memory */
    vrev32.16 q13, q13                      /* d2 <<< 16 */
    adcs p0, p0, x
    vadd.i32 q1, q9, q15                    /* a1 += b1 */
    vldr d18, [r1, #16]                     /* c2 from memory */
    adcs y, y, w
    vldr d19, [r1, #24]
    vsri.32 q7, q14, #20                    /* b3 */
    ldr x, [r1, #POLY_LOW]
    adc h4, h4, #0
    vshl.i32 q14, q11, #7                   /* b0 <<< 7 */
    veor q6, q6, q1                         /* d1 ^= a1 */
    bic w, h4, #3
    vadd.i32 q9, q9, q13                    /* c2 += d2 */
    add w, w, w, lsr #2
    vsri.32 q14, q11, #25                   /* b0 */
    and h4, h4, #3
    adds h0, x, w
    vshl.i32 q11, q6, #8                    /* d1 <<< 8 */
    veor q4, q4, q9                         /* b2 ^= c2 */
    adcs h1, p1, #0
    ldr z, [r1, #MORE]
    vadd.i32 q3, q3, q7                     /* a3 += b3 */
    vsri.32 q11, q6, #24                    /* d1 */
    adcs h2, p0, #0
    ldr p1, [r1, #ROUNDS]
    vshl.i32 q6, q4, #12                    /* b2 <<< 12 */
    veor q5, q5, q3                         /* d3 ^= a3 */
    adcs h3, y, #0
    ldrd x, y, [r1, #MESSAGE]
    vadd.i32 q8, q8, q11                    /* c1 += d1 */
    vsri.32 q6, q4, #20                     /* b2 */
    adc h4, h4, #0
    subs p1, p1, #1
    vshl.i32 q4, q5, #8                     /* d3 <<< 8 */
    veor q15, q15, q8                       /* b1 ^= c1 */
    vadd.i32 q2, q2, q6                     /* a2 += b2 */
    vsri.32 q4, q5, #24                     /* d3 */
    vshl.i32 q5, q15, #7                    /* b1 <<< 7 */
    veor q13, q13, q2                       /* d2 ^= a2 */
    vadd.i32 q10, q10, q4                   /* c3 += d3 */
    sub p0, y, x
    vsri.32 q5, q15, #25                    /* b1 */
    str p1, [r1, #ROUNDS]
    vswp q14, q4                            /* b0, d3 home */
    vswp q12, q11                           /* d0, d1 home */
.endm

/* The same along with the lengths and the tag. After it x: SLOT, y: the slots' end, Z: no rounds are left. */
.macro set_round_finish
    vshl.i32 q15, q13, #8                   /* d2 <<< 8 */
    vadd.i32 q3, q3, q4                     /* a3 += b0 */
    vadd.i32 q0, q0, q5                     /* a0 += b1 */
    vsri.32 q15, q13, #24                   /* d2 */
    veor q13, q7, q10                       /* b3 ^= c3 */
    veor q7, q14, q0                        /* d3 ^= a0 */
    vadd.i32 q14, q9, q15                   /* c2 += d2 */
    vshl.i32 q9, q13, #7                    /* b3 <<< 7 */
    vrev32.16 q7, q7                        /* d3 <<< 16 */
    veor q6, q6, q14                        /* b2 ^= c2 */
    vsri.32 q9, q13, #25                    /* b3 */
    vadd.i32 q13, q14, q7                   /* c2 += d3 */
    vshl.i32 q14, q6, #7                    /* b2 <<< 7 */
    veor q15, q15, q3                       /* d2 ^= a3 */
    veor q5, q5, q13                        /* b1 ^= c2 */
    ldr z, [r1, #LANE]
    vsri.32 q14, q6, #25                    /* b2 */
    vrev32.16 q6, q15                       /* d2 <<< 16 */
    ldr x, [z, #SEALANE_LANE_AD_BYTES]
    vshl.i32 q15, q5, #12                   /* b1 <<< 12 */
    vadd.i32 q1, q1, q14                    /* a1 += b2 */
    ldr w, [z, #SEALANE_LANE_BYTES]
    vadd.i32 q8, q8, q6                     /* c1 += d2 */
    ldr z, [r1, #POLY_R0]
    vsri.32 q15, q5, #20                    /* b1 */
    adds h0, h0, x
    veor q11, q11, q1                       /* d0 ^= a1 */
    adcs h1, h1, #0
    ldrd x, y, [r1, #POLY_S1]
    veor q4, q4, q8                         /* b0 ^= c1 */
    vadd.i32 q0, q0, q15                    /* a0 += b1 */
    adcs h2, h2, w
    vrev32.16 q5, q11                       /* d0 <<< 16 */
    adcs h3, h3, #0
    ldr w, [r1, #POLY_S3]
    vshl.i32 q11, q4, #12                   /* b0 <<< 12 */
    veor q7, q7, q0                         /* d3 ^= a0 */
    umull p0, p1, h0, z
    vadd.i32 q10, q10, q5                   /* c3 += d0 */
    umlal p0, p1, h3, x
    vsri.32 q11, q4, #20                    /* b0 */
    umlal p0, p1, h2, y
    vshl.i32 q4, q7, #8                     /* d3 <<< 8 */
    umlal p0, p1, h1, w
    adc h4, h4, #1
    veor q14, q14, q10                      /* b2 ^= c3 */
    mul x, h4, x
    vadd.i32 q2, q2, q9                     /* a2 += b3 */
    str p0, [r1, #POLY_LOW]
    vsri.32 q4, q7, #24                     /* d3 */
    vshl.i32 q7, q14, #12                   /* b2 <<< 12 */
    veor q12, q12, q2                       /* d1 ^= a2 */
    mul p0, h4, y
    vadd.i32 q3, q3, q11                    /* a3 += b0 */
    umlal x, p0, h3, y
    vsri.32 q7, q14, #20                    /* b2 */
    vldmia r1, {d28, d29}                   /* c0 from memory */
    vrev32.16 q12, q12                      /* d1 <<< 16 */
    ldr y, [r1, #POLY_R1]
    vadd.i32 q13, q13, q4                   /* c2 += d3 */
    umlal x, p0, h2, w
    veor q6, q6, q3                         /* d2 ^= a3 */
    umlal x, p0, h1, z
    vadd.i32 q14, q14, q12                  /* c0 += d1 */
    umlal x, p0, h0, y
    veor q15, q15, q13                      /* b1 ^= c2 */
    vstr d26, [r1, #16]                     /* c2 to memory */
    vstr d27, [r1, #24]
    vshl.i32 q13, q6, #8                    /* d2 <<< 8 */
    veor q9, q9, q14                        /* b3 ^= c0 */
    adds p1, p1, x
    vadd.i32 q1, q1, q7                     /* a1 += b2 */
    vsri.32 q13, q6, #24                    /* d2 */
    umull x, y, h1, y
    vshl.i32 q6, q9, #12                    /* b3 <<< 12 */
    umlal x, y, h3, w
    veor q5, q5, q1                         /* d0 ^= a1 */
    mul w, h4, w
    vadd.i32 q8, q8, q13                    /* c1 += d2 */
    vsri.32 q6, q9, #20                     /* b3 */
    umlal x, y, h2, z
    vshl.i32 q9, q5, #8                     /* d0 <<< 8 */
    mul h4, h4, z
    veor q11, q11, q8                       /* b0 ^= c1 */
    umlal w, h4, h3, z
    vadd.i32 q2, q2, q6                     /* a2 += b3 */
    vsri.32 q9, q5, #24                     /* d0 */
    ldrd h3, z, [r1, #POLY_R1]
    vshl.i32 q5, q11, #7                    /* b0 <<< 7 */
    veor q12, q12, q2                       /* d1 ^= a2 */
    umlal w, h4, h1, z
    vadd.i32 q10, q10, q9                   /* c3 += d0 */
    umlal w, h4, h2, h3
    vsri.32 q5, q11, #25                    /* b0 */
    vshl.i32 q11, q12, #8                   /* d1 <<< 8 */
    ldr h2, [r1, #POLY_R3]
    veor q7, q7, q10                        /* b2 ^= c3 */
    umlal x, y, h0, z
    vadd.i32 q0, q0, q5                     /* a0 += b0 */
    umlal w, h4, h0, h2
    vsri.32 q11, q12, #24                   /* d1 */
    vshl.i32 q12, q15, #7                   /* b1 <<< 7 */
    adcs p0, p0, x
    veor q9, q9, q0                         /* d0 ^= a0 */
    adcs y, y, w
    vadd.i32 q14, q14, q11                  /* c0 += d1 */
    vsri.32 q12, q15, #25                   /* b1 */
    adc h4, h4, #0
    ldr x, [r1, #POLY_LOW]
    vrev32.16 q15, q9                       /* d0 <<< 16 */
    veor q6, q6, q14                        /* b3 ^= c0 */
    bic w, h4, #3
    vadd.i32 q9, q1, q12                    /* a1 += b1 */
    add w, w, w, lsr #2
    vadd.i32 q1, q14, q15                   /* c0 += d0 */
    and h4, h4, #3
    adds h0, x, w
    vshl.i32 q14, q6, #7                    /* b3 <<< 7 */
    veor q11, q11, q9                       /* d1 ^= a1 */
    adcs h1, p1, #0
    veor q5, q5, q1                         /* b0 ^= c0 */
    adcs h2, p0, #0
    ldr z, [r1, #LANE]
    vsri.32 q14, q6, #25                    /* b3 */
    vrev32.16 q6, q11                       /* d1 <<< 16 */
    adcs h3, y, #0
    vshl.i32 q11, q5, #12                   /* b0 <<< 12 */
    adc h4, h4, #0
    adds x, h0, #5
    vadd.i32 q3, q3, q14                    /* a3 += b3 */
    vadd.i32 q8, q8, q6                     /* c1 += d1 */
    adcs x, h1, #0
    ldr p0, [z, #SEALANE_LANE_TAG]
    vsri.32 q11, q5, #20                    /* b0 */
    veor q5, q4, q3                         /* d3 ^= a3 */
    adcs x, h2, #0
    add z, z, #SEALANE_LANE_STRIDE
    vshl.i32 q4, q7, #7                     /* b2 <<< 7 */
    vadd.i32 q0, q0, q11                    /* a0 += b0 */
    adcs x, h3, #0
    str z, [r1, #LANE]
    vrev32.16 q5, q5                        /* d3 <<< 16 */
    vsri.32 q4, q7, #25                     /* b2 */
    adc x, h4, #0
    veor q15, q15, q0                       /* d0 ^= a0 */
    mov x, x, lsr #2
    vadd.i32 q10, q10, q5                   /* c3 += d3 */
    add w, x, x, lsl #2
    veor q7, q12, q8                        /* b1 ^= c1 */
    add p1, r1, #POLY_S
    adds h0, h0, w
    vshl.i32 q12, q15, #8                   /* d0 <<< 8 */
    veor q14, q14, q10                      /* b3 ^= c3 */
    ldmia p1, {z, x, y, w}
    adcs h1, h1, #0
    vadd.i32 q2, q2, q4                     /* a2 += b2 */
    vsri.32 q12, q15, #24                   /* d0 */
    adcs h2, h2, #0
    vshl.i32 q15, q7, #12                   /* b1 <<< 12 */
    adc h3, h3, #0
    adds h0, h0, z
    veor q13, q13, q2                       /* d2 ^= a2 */
    vadd.i32 q1, q1, q12                    /* c0 += d0 */
    vsri.32 q15, q7, #20                    /* b1 */
    vshl.i32 q7, q14, #12                   /* b3 <<< 12 */
    veor q11, q11, q1                       /* b0 ^= c0 */
    vstmia r1, {d2, d3}                     /* c0 to memory */
    vrev32.16 q13, q13                      /* d2 <<< 16 */
    ldr z, [r1, #LANES]
    vadd.i32 q1, q9, q15                    /* a1 += b1 */
    vldr d18, [r1, #16]                     /* c2 from memory */
    vldr d19, [r1, #24]
    vsri.32 q7, q14, #20                    /* b3 */
    vshl.i32 q14, q11, #7                   /* b0 <<< 7 */
    adcs h1, h1, x
    sub z, z, #1
    veor q6, q6, q1                         /* d1 ^= a1 */
    adcs h2, h2, y
    add y, r1, #BLOCK + 256
    vadd.i32 q9, q9, q13                    /* c2 += d2 */
    vsri.32 q14, q11, #25                   /* b0 */
    vshl.i32 q11, q6, #8                    /* d1 <<< 8 */
    veor q4, q4, q9                         /* b2 ^= c2 */
    vadd.i32 q3, q3, q7                     /* a3 += b3 */
    vsri.32 q11, q6, #24                    /* d1 */
    str h0, [p0]
    vshl.i32 q6, q4, #12                    /* b2 <<< 12 */
    adc h3, h3, w
    veor q5, q5, q3                         /* d3 ^= a3 */
    ldr p1, [r1, #ROUNDS]
    vadd.i32 q8, q8, q11                    /* c1 += d1 */
    vsri.32 q6, q4, #20                     /* b2 */
    vshl.i32 q4, q5, #8                     /* d3 <<< 8 */
    subs p1, p1, #1
    str h1, [p0, #4]
    veor q15, q15, q8                       /* b1 ^= c1 */
    vadd.i32 q2, q2, q6                     /* a2 += b2 */
    str h2, [p0, #8]
    vsri.32 q4, q5, #24                     /* d3 */
    str h3, [p0, #12]
    vshl.i32 q5, q15, #7                    /* b1 <<< 7 */
    str z, [r1, #LANES]
    veor q13, q13, q2                       /* d2 ^= a2 */
    vadd.i32 q10, q10, q4                   /* c3 += d3 */
    ldr x, [r1, #SLOT]
    vsri.32 q5, q15, #25                    /* b1 */
    str p1, [r1, #ROUNDS]
    vswp q14, q4                            /* b0, d3 home */
    vswp q12, q11                           /* d0, d1 home */
.endm

/* The last diagonal round, along with what comes next. After it Z: slots 0 and 2 are keys and 1 and 3 whole blocks of text;
 * r7: rows d, r2 .. r5: keys, r8: row a, r0: BLOCK, r11: the packet of slot 0, r12: text behind slot 3, r9: CRYPT_LANES. */
.macro set_end_next
    vadd.i32 q0, q0, q5                     /* a0 += b1 */
    add r0, r1, #H
    ldr r11, [r1, #CRYPT_LANE]
    vshl.i32 q15, q13, #8                   /* d2 <<< 8 */
    veor q7, q7, q10                        /* b3 ^= c3 */
    ldr r8, [r1, #FILL_LAST]
    vadd.i32 q3, q3, q4                     /* a3 += b0 */
    stmia r0, {h0, h1, h2, h4, h3}
    vsri.32 q15, q13, #24                   /* d2 */
    cmp r11, r8
    vshl.i32 q13, q7, #7                    /* b3 <<< 7 */
    veor q14, q14, q0                       /* d3 ^= a0 */
    movhi r11, r8
    vadd.i32 q9, q9, q15                    /* c2 += d2 */
    ldr r9, [r11, #SEALANE_LANE_BYTES]
    add r0, r11, #SEALANE_LANE_STRIDE
    veor q15, q15, q3                       /* d2 ^= a3 */
    vrev32.16 q14, q14                      /* d3 <<< 16 */
    ldr r7, [r1, #ROWS]
    eor r9, r9, #64
    veor q6, q6, q9                         /* b2 ^= c2 */
    vsri.32 q13, q7, #25                    /* b3 */
    vadd.i32 q9, q9, q14                    /* c2 += d3 */
    add r7, r1, r7
    vshl.i32 q7, q6, #7                     /* b2 <<< 7 */
    add r2, r7, #KEYS
    cmp r0, r8
    vrev32.16 q15, q15                      /* d2 <<< 16 */
    veor q5, q5, q9                         /* b1 ^= c2 */
    movhi r0, r8
    vsri.32 q7, q6, #25                     /* b2 */
    ldr r12, [r0, #SEALANE_LANE_BYTES]
    add r0, r1, #BLOCK
    vadd.i32 q2, q2, q13                    /* a2 += b3 */
    vshl.i32 q6, q5, #12                    /* b1 <<< 12 */
    ldr r6, [r1, #CRYPT_LEFT]
    subs r12, r12, #64
    vadd.i32 q1, q1, q7                     /* a1 += b2 */
    vadd.i32 q8, q8, q15                    /* c1 += d2 */
    vsri.32 q6, q5, #20                     /* b1 */
    orr r6, r6, r9
    veor q11, q11, q1                       /* d0 ^= a1 */
    ldr r9, [r1, #CRYPT_LANES]
    orrlo r6, r6, #1
    veor q4, q4, q8                         /* b0 ^= c1 */
    vadd.i32 q0, q0, q6                     /* a0 += b1 */
    ldr r8, [r1, #CONSTANTS]
    cmp r9, #2
    vrev32.16 q11, q11                      /* d0 <<< 16 */
    vshl.i32 q5, q4, #12                    /* b0 <<< 12 */
    veor q14, q14, q0                       /* d3 ^= a0 */
    vadd.i32 q10, q10, q11                  /* c3 += d0 */
    vsri.32 q5, q4, #20                     /* b0 */
    vshl.i32 q4, q14, #8                    /* d3 <<< 8 */
    veor q7, q7, q10                        /* b2 ^= c3 */
    veor q12, q12, q2                       /* d1 ^= a2 */
    vsri.32 q4, q14, #24                    /* d3 */
    vshl.i32 q14, q7, #12                   /* b2 <<< 12 */
    vadd.i32 q3, q3, q5                     /* a3 += b0 */
    vadd.i32 q9, q9, q4                     /* c2 += d3 */
    vsri.32 q14, q7, #20                    /* b2 */
    vldmia r1, {d14, d15}                   /* c0 from memory */
    vrev32.16 q12, q12                      /* d1 <<< 16 */
    veor q15, q15, q3                       /* d2 ^= a3 */
    vadd.i32 q7, q7, q12                    /* c0 += d1 */
    veor q6, q6, q9                         /* b1 ^= c2 */
    vstr d19, [r1, #24]
    vstr d18, [r1, #16]                     /* c2 to memory */
    vshl.i32 q9, q15, #8                    /* d2 <<< 8 */
    veor q13, q13, q7                       /* b3 ^= c0 */
    vadd.i32 q1, q1, q14                    /* a1 += b2 */
    vsri.32 q9, q15, #24                    /* d2 */
    vshl.i32 q15, q13, #12                  /* b3 <<< 12 */
    veor q11, q11, q1                       /* d0 ^= a1 */
    vadd.i32 q8, q8, q9                     /* c1 += d2 */
    vsri.32 q15, q13, #20                   /* b3 */
    vshl.i32 q13, q11, #8                   /* d0 <<< 8 */
    veor q5, q5, q8                         /* b0 ^= c1 */
    vadd.i32 q2, q2, q15                    /* a2 += b3 */
    vsri.32 q13, q11, #24                   /* d0 */
    vshl.i32 q11, q5, #7                    /* b0 <<< 7 */
    veor q12, q12, q2                       /* d1 ^= a2 */
    vsri.32 q11, q5, #25                    /* b0 */
    vshl.i32 q5, q12, #8                    /* d1 <<< 8 */
    vadd.i32 q10, q10, q13                  /* c3 += d0 */
    vsri.32 q5, q12, #24                    /* d1 */
    vshl.i32 q12, q6, #7                    /* b1 <<< 7 */
    vadd.i32 q7, q7, q5                     /* c0 += d1 */
    veor q14, q14, q10                      /* b2 ^= c3 */
    veor q15, q15, q7                       /* b3 ^= c0 */
    vsri.32 q12, q6, #25                    /* b1 */
    vshl.i32 q6, q15, #7                    /* b3 <<< 7 */
    str r0, [r1, #SLOT]
    orrlo r6, r6, #1
    ldmia r2, {r2, r3, r4, r5}
    cmp r6, #0
    vsri.32 q6, q15, #25                    /* b3 */
    vshl.i32 q15, q14, #7                   /* b2 <<< 7 */
    vsri.32 q15, q14, #25                   /* b2 */
.endm

/* Then the keystream of the keys and the text: of slot 1 from q7, q8, q13, q14 to q1, q12, q0, q5, of slot 3 from q9, q11, q2,
 * q15 to q3, q6, q10, q4. After it Z: seal, r0, r8: slots 1 and 3, r3, r4: text and packets that are left. */
.macro slots_crypt
    vtrn.32 q2, q3
    vld1.32 {d28, d29}, [r8]                /* initial a */
    vtrn.32 q0, q1
    ldr r6, [r11, #SEALANE_LANE_IN]
    sub r9, r9, #2
    add r8, r1, #BLOCK + 128
    str r9, [r1, #CRYPT_LANES]
    vswp d1, d4
    ldr r9, [r11, #SEALANE_LANE_OUT]
    add r7, r7, #16
    vtrn.32 q11, q12
    vtrn.32 q15, q6
    vstmia r1, {d16, d17}                   /* c1 to memory */
    vld1.8 {d16, d17}, [r2]                 /* initial b */
    vadd.i32 q0, q0, q14
    vadd.i32 q2, q2, q14
    str r12, [r1, #CRYPT_LEFT]
    vswp d23, d30
    vswp d25, d12
    vst1.32 {d0, d1}, [r0:128]!             /* slot 0, a */
    ldr r12, [r11, #SEALANE_LANE_STRIDE + SEALANE_LANE_OUT]
    add r11, r11, #2*SEALANE_LANE_STRIDE
    vswp d3, d6
    vst1.32 {d4, d5}, [r8:128]!             /* slot 2, a */
    vld1.8 {d0, d1}, [r4]                   /* initial b */
    add r4, r7, #32
    str r11, [r1, #CRYPT_LANE]
    vtrn.32 q9, q4
    vtrn.32 q13, q5
    vld1.8 {d4, d5}, [r5]!                  /* initial b */
    vadd.i32 q1, q1, q14
    vld1.32 {d18, d19}, [r7:128]            /* initial d */
    vadd.i32 q3, q3, q14
    vld1.8 {d28, d29}, [r3]!                /* initial b */
    vadd.i32 q15, q15, q0
    vldmia r1, {d0, d1}                     /* c1 from memory */
    vadd.i32 q6, q6, q2
    vldr d4, [r1, #16]                      /* c2 from memory */
    vldr d5, [r1, #24]
    vswp d11, d8
    ldr r2, [r1, #FLAGS]
    vadd.i32 q11, q11, q8
    vst1.32 {d30, d31}, [r8:128]!           /* slot 2, b */
    vtrn.32 q7, q0
    ldr r11, [r11, #SEALANE_LANE_IN - SEALANE_LANE_STRIDE]
    add r8, r8, #32
    vtrn.32 q2, q10
    vst1.32 {d22, d23}, [r0:128]!           /* slot 0, b */
    vld1.8 {d22, d23}, [r3]                 /* initial c */
    vadd.i32 q5, q5, q9
    vadd.i32 q12, q12, q14
    vld1.8 {d30, d31}, [r5]                 /* initial c */
    vswp d1, d20
    vld1.32 {d4, d5}, [r4:128]              /* initial d */
    vld1.8 {d18, d19}, [r11]!
    vadd.i32 q0, q0, q11
    vld1.8 {d14, d15, d16, d17}, [r6]!      /* text */
    vadd.i32 q4, q4, q2
    vadd.i32 q10, q10, q15
    vld1.8 {d22, d23}, [r11]!
    veor q3, q3, q9
    vld1.8 {d26, d27, d28, d29}, [r6]
    veor q1, q1, q7
    veor q12, q12, q8
    ldr r3, [r1, #CRYPT_LEFT]
    tst r2, #SEALANE_FLAG_OPEN
    vld1.8 {d4, d5}, [r11]!
    veor q0, q0, q13
    vst1.8 {d2, d3}, [r9]!
    vst1.8 {d24, d25}, [r9]!
    veor q6, q6, q11
    ldr r4, [r1, #CRYPT_LANES]
    add r0, r0, #32
    vld1.8 {d30, d31}, [r11]!
    veor q10, q10, q2
    veor q5, q5, q14
    vst1.8 {d6, d7}, [r12]!
    vst1.8 {d12, d13}, [r12]!
    vst1.8 {d20, d21}, [r12]!
    veor q4, q4, q15
    str r11, [r1, #CRYPT_IN]
    vst1.8 {d0, d1}, [r9]!
    vst1.8 {d10, d11}, [r9]
    vst1.8 {d8, d9}, [r12]!
    str r12, [r1, #CRYPT_OUT]
.endm

/* The set's keystream, to r9; r7: rows d, r2 .. r5: keys, r8: row a, r11: 16 - 192, r12: 64. */
.macro slots_store
    vtrn.32 q2, q3
    vtrn.32 q0, q1
    vld1.32 {d28, d29}, [r8]                /* initial a */
    vtrn.32 q9, q4
    vtrn.32 q11, q12
    vswp d1, d4
    vswp d3, d6
    vstmia r1, {d16, d17}                   /* c1 to memory */
    vld1.8 {d16, d17}, [r2]!                /* initial b */
    vtrn.32 q13, q5
    vadd.i32 q0, q0, q14
    vadd.i32 q1, q1, q14
    vtrn.32 q15, q6
    vst1.32 {d0, d1}, [r9:128], r12
    vadd.i32 q2, q2, q14
    vadd.i32 q3, q3, q14
    vld1.8 {d28, d29}, [r3]!                /* initial b */
    vld1.8 {d0, d1}, [r4]!                  /* initial b */
    vswp d23, d30
    vst1.32 {d2, d3}, [r9:128], r12
    vld1.8 {d2, d3}, [r5]!                  /* initial b */
    vswp d27, d18
    vswp d25, d12
    vst1.32 {d4, d5}, [r9:128], r12
    vst1.32 {d6, d7}, [r9:128], r11
    vadd.i32 q11, q11, q8
    vadd.i32 q15, q15, q0
    vldmia r1, {d0, d1}                     /* c1 from memory */
    vadd.i32 q6, q6, q1
    vldr d2, [r1, #16]                      /* c2 from memory */
    vldr d3, [r1, #24]
    vld1.32 {d4, d5}, [r7:128]!             /* initial d */
    vadd.i32 q12, q12, q14
    vswp d11, d8
    vld1.32 {d6, d7}, [r7:128]!             /* initial d */
    vtrn.32 q7, q0
    vld1.32 {d16, d17}, [r7:128]!           /* initial d */
    vld1.32 {d28, d29}, [r7:128]!           /* initial d */
    vtrn.32 q1, q10
    vadd.i32 q13, q13, q2
    vst1.32 {d22, d23}, [r9:128], r12
    vld1.8 {d22, d23}, [r2]                 /* initial c */
    vadd.i32 q5, q5, q3
    add r11, r11, #16
    vst1.32 {d24, d25}, [r9:128], r12
    vst1.32 {d30, d31}, [r9:128], r12
    vswp d15, d2
    vld1.8 {d24, d25}, [r3]                 /* initial c */
    vswp d1, d20
    vld1.8 {d30, d31}, [r4]                 /* initial c */
    vadd.i32 q9, q9, q8
    vadd.i32 q7, q7, q11
    vst1.32 {d12, d13}, [r9:128], r11
    vld1.8 {d12, d13}, [r5]                 /* initial c */
    sub r11, r11, #48
    vst1.32 {d26, d27}, [r9:128], r12
    vadd.i32 q4, q4, q14
    vst1.32 {d10, d11}, [r9:128], r12
    vadd.i32 q0, q0, q12
    vst1.32 {d18, d19}, [r9:128], r12
    vadd.i32 q1, q1, q15
    vadd.i32 q10, q10, q6
    vst1.32 {d8, d9}, [r9:128], r11
    vst1.32 {d14, d15}, [r9:128], r12
    vst1.32 {d0, d1}, [r9:128], r12
    vst1.32 {d2, d3}, [r9:128], r12
    vst1.32 {d20, d21}, [r9:128], r11
.endm

/* What set_round_fill, set_round_key, set_round_block and set_round_finish do, by itself. */
.macro fill
    ldr r7, [r1, #FILL_LANE]
    ldr r0, [r1, #ROWS]
    ldr r8, [r1, #FILL_LAST]
    ldr r11, [r7, #SEALANE_LANE_NONCE]
    rsb r0, r0, #ROWS_0 + ROWS_1
    ldr r2, [r1, #FILL_BLOCK]
    add r0, r1, r0
    ldr r9, [r7, #SEALANE_LANE_BYTES]
    ldr r3, [r11]
    ldr r4, [r11, #4]
    ldr r5, [r11, #8]
    cmp r9, r2, lsl #6
    ldr r12, [r7, #SEALANE_LANE_KEY]
    addls r7, r7, #SEALANE_LANE_STRIDE
    stmia r0!, {r2, r3, r4, r5}
    add r2, r2, #1
    movls r2, #0
    cmp r7, r8
    movhi r7, r8
    ldr r6, [r7, #SEALANE_LANE_NONCE]
    ldr r9, [r7, #SEALANE_LANE_BYTES]
    str r12, [r0, #KEYS - 16]
    ldr r3, [r6]
    ldr r4, [r6, #4]
    ldr r5, [r6, #8]
    cmp r9, r2, lsl #6
    ldr r12, [r7, #SEALANE_LANE_KEY]
    addls r7, r7, #SEALANE_LANE_STRIDE
    stmia r0!, {r2, r3, r4, r5}
    add r2, r2, #1
    movls r2, #0
    cmp r7, r8
    movhi r7, r8
    ldr r11, [r7, #SEALANE_LANE_NONCE]
    ldr r9, [r7, #SEALANE_LANE_BYTES]
    str r12, [r0, #KEYS - 28]
    ldr r3, [r11]
    ldr r4, [r11, #4]
    ldr r5, [r11, #8]
    cmp r9, r2, lsl #6
    ldr r12, [r7, #SEALANE_LANE_KEY]
    addls r7, r7, #SEALANE_LANE_STRIDE
    stmia r0!, {r2, r3, r4, r5}
    add r2, r2, #1
    movls r2, #0
    cmp r7, r8
    movhi r7, r8
    ldr r6, [r7, #SEALANE_LANE_NONCE]
    ldr r9, [r7, #SEALANE_LANE_BYTES]
    str r12, [r0, #KEYS - 40]
    ldr r3, [r6]
    ldr r4, [r6, #4]
    ldr r5, [r6, #8]
    cmp r9, r2, lsl #6
    ldr r12, [r7, #SEALANE_LANE_KEY]
    addls r7, r7, #SEALANE_LANE_STRIDE
    stmia r0!, {r2, r3, r4, r5}
    add r2, r2, #1
    movls r2, #0
    cmp r7, r8
    movhi r7, r8
    str r12, [r0, #KEYS - 52]
    str r7, [r1, #FILL_LANE]
    str r2, [r1, #FILL_BLOCK]
.endm

.macro poly_begin
    ldr r12, [r1, #SLOT]
    add r0, r1, #POLY_S
    ldr r11, [r1, #LANE]
    ldmia r12!, {r2, r3, r4, r5, r6, r7, r8, r9}
    bic r3, r3, #0xf0000003
    bic r4, r4, #0xf0000003
    bic r5, r5, #0xf0000003
    stmia r0, {r6, r7, r8, r9}
    bic r6, r2, #0xf0000000
    add r0, r1, #POLY_R1
    add r8, r12, #32
    add r9, r1, #BLOCK + 256
    sub r9, r9, r8
    ldr r7, [r11, #SEALANE_LANE_BYTES]
    stmia r0, {r3, r4, r5}
    add r3, r3, r3, lsr #2
    add r4, r4, r4, lsr #2
    add r5, r5, r5, lsr #2
    cmp r7, r9
    movlo r9, r7
    ldr r11, [r11, #SEALANE_LANE_AD_BYTES]
    add r0, r9, #15
    stmdb r1, {r3, r4, r5, r6}
    bic r0, r0, #15
    sub r7, r7, r9
    mov h0, #0
    add r9, r8, r0
    mov h1, #0
    add r12, r9, #63
    mov h2, #0
    strd r8, r9, [r1, #MESSAGE]
    bic r12, r12, #63
    str r7, [r1, #MORE]
    mov h3, #0
    str r12, [r1, #SLOT]
    mov h4, #0
    str r7, [r1, #REMAINING]
.endm

.macro poly_block
    ldr z, [r1, #MESSAGE]
    ldmia z!, {x, y, w, p1}
    adds h0, h0, x
    str z, [r1, #MESSAGE]
    adcs h1, h1, y
    ldr z, [r1, #POLY_R0]
    adcs h2, h2, w
    ldrd x, y, [r1, #POLY_S1]
    adcs h3, h3, p1
    umull p0, p1, h0, z
    ldr w, [r1, #POLY_S3]
    umlal p0, p1, h3, x
    umlal p0, p1, h2, y
    umlal p0, p1, h1, w
    adc h4, h4, #1
    mul x, h4, x
    str p0, [r1, #POLY_LOW]
    mul p0, h4, y
    umlal x, p0, h3, y
    ldr y, [r1, #POLY_R1]
    umlal x, p0, h2, w
    umlal x, p0, h1, z
    umlal x, p0, h0, y
    adds p1, p1, x
    umull x, y, h1, y
    umlal x, y, h3, w
    mul w, h4, w
    mul h4, h4, z
    umlal x, y, h2, z
    umlal w, h4, h3, z
    ldrd h3, z, [r1, #POLY_R1]
    umlal w, h4, h1, z
    umlal w, h4, h2, h3
    ldr h2, [r1, #POLY_R3]
    umlal x, y, h0, z
    umlal w, h4, h0, h2
    adcs p0, p0, x
    ldr x, [r1, #POLY_LOW]
    adcs y, y, w
    adc h4, h4, #0
    bic w, h4, #3
    and h4, h4, #3
    add w, w, w, lsr #2
    ldr z, [r1, #MORE]
    adds h0, x, w
    adcs h1, p1, #0
    adcs h2, p0, #0
    adcs h3, y, #0
    ldrd x, y, [r1, #MESSAGE]
    adc h4, h4, #0
    sub p0, y, x
.endm

/* After it z: LANES. */
.macro poly_finish
    ldr z, [r1, #LANE]
    ldr x, [z, #SEALANE_LANE_AD_BYTES]
    ldr w, [z, #SEALANE_LANE_BYTES]
    ldr z, [r1, #POLY_R0]
    adds h0, h0, x
    ldrd x, y, [r1, #POLY_S1]
    adcs h1, h1, #0
    adcs h2, h2, w
    ldr w, [r1, #POLY_S3]
    adcs h3, h3, #0
    umull p0, p1, h0, z
    umlal p0, p1, h3, x
    umlal p0, p1, h2, y
    umlal p0, p1, h1, w
    adc h4, h4, #1
    mul x, h4, x
    str p0, [r1, #POLY_LOW]
    mul p0, h4, y
    umlal x, p0, h3, y
    ldr y, [r1, #POLY_R1]
    umlal x, p0, h2, w
    umlal x, p0, h1, z
    umlal x, p0, h0, y
    adds p1, p1, x
    umull x, y, h1, y
    umlal x, y, h3, w
    mul w, h4, w
    mul h4, h4, z
    umlal x, y, h2, z
    umlal w, h4, h3, z
    ldrd h3, z, [r1, #POLY_R1]
    umlal w, h4, h1, z
    umlal w, h4, h2, h3
    ldr h2, [r1, #POLY_R3]
    umlal x, y, h0, z
    umlal w, h4, h0, h2
    adcs p0, p0, x
    ldr x, [r1, #POLY_LOW]
    adcs y, y, w
    adc h4, h4, #0
    bic w, h4, #3
    add w, w, w, lsr #2
    and h4, h4, #3
    adds h0, x, w
    adcs h1, p1, #0
    adcs h2, p0, #0
    ldr z, [r1, #LANE]
    adcs h3, y, #0
    adc h4, h4, #0
    adds x, h0, #5
    adcs x, h1, #0
    ldr p0, [z, #SEALANE_LANE_TAG]
    adcs x, h2, #0
    add z, z, #SEALANE_LANE_STRIDE
    adcs x, h3, #0
    str z, [r1, #LANE]
    adc x, h4, #0
    mov x, x, lsr #2
    add w, x, x, lsl #2
    add p1, r1, #POLY_S
    adds h0, h0, w
    ldmia p1, {z, x, y, w}
    adcs h1, h1, #0
    adcs h2, h2, #0
    adc h3, h3, #0
    adds h0, h0, z
    ldr z, [r1, #LANES]
    adcs h1, h1, x
    str h0, [p0]
    adcs h2, h2, y
    add y, r1, #BLOCK + 256
    str h1, [p0, #4]
    sub z, z, #1
    str h2, [p0, #8]
    adc h3, h3, w
    str z, [r1, #LANES]
    str h3, [p0, #12]
    ldr x, [r1, #SLOT]
.endm
