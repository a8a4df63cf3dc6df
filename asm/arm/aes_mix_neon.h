/* MixColumns (FIPS 197, 5.1.3), bit-sliced, and AddRoundKey for the NEON kernels: planes 7 .. 0 from where sub_bytes
 * leaves them, q10, q4, q1, q8, q9, q6, q15, q3, to q7 .. q0. The round key's planes, 7 first, come from r0.
 *
 * Primes mean the next row, where it lies after n rounds, and t is a plane and its next row: a plane becomes its next
 * row, and t'', and t of the plane below; below plane 0 is plane 7, which planes 1, 3 and 4 get, too (x^8 = x^4 + x^3 +
 * x + 1).
 */

/* After a multiple of 4 rounds. */
.macro mix_columns_even
    vext.8 q7, q10, q10, #4             /* 7' */
    vext.8 q5, q1, q1, #4               /* 5' */
    vld1.8 {q11, q12}, [r0]!            /* planes 7, 6 of the key */
    vext.8 q0, q4, q4, #4               /* 6' */
    veor q13, q10, q7                   /* t7 */
    veor q10, q1, q5                    /* t5 */
    veor q7, q7, q11
    veor q2, q4, q0                     /* t6 */
    veor q0, q0, q12
    veor d15, d15, d26
    vld1.8 {q11, q12}, [r0]!            /* planes 5, 4 */
    vext.8 q4, q8, q8, #4               /* 4' */
    veor d0, d0, d5                     /* + t6'' */
    veor d1, d1, d4
    veor q5, q5, q11
    veor d14, d14, d27                  /* + t7'' */
    vext.8 q1, q9, q9, #4               /* 3' */
    veor d10, d10, d21                  /* + t5'' */
    veor q7, q7, q2                     /* + t6 */
    veor q2, q8, q4                     /* t4 */
    veor d11, d11, d20
    veor q4, q4, q12
    vld1.8 {q11, q12}, [r0]!            /* planes 3, 2 */
    veor q8, q9, q1                     /* t3 */
    veor q5, q5, q2                     /* + t4 */
    veor d9, d9, d4
    veor q1, q1, q11
    veor d8, d8, d5                     /* + t4'' */
    vext.8 q2, q6, q6, #4               /* 2' */
    veor d3, d3, d16
    veor d2, d2, d17                    /* + t3'' */
    veor q9, q6, q2                     /* t2 */
    veor q2, q2, q12
    veor q4, q4, q8                     /* + t3 */
    veor q6, q0, q10                    /* + t5 */
    vext.8 q0, q3, q3, #4               /* 0' */
    vext.8 q8, q15, q15, #4             /* 1' */
    vld1.8 {q11, q12}, [r0]!            /* planes 1, 0 */
    veor q1, q1, q9                     /* + t2 */
    veor q4, q4, q13                    /* + t7 */
    veor q10, q15, q8                   /* t1 */
    veor q8, q8, q11
    veor d5, d5, d18
    veor d4, d4, d19                    /* + t2'' */
    veor q9, q3, q0                     /* t0 */
    veor q0, q0, q12
    veor d17, d17, d20
    veor d16, d16, d21                  /* + t1'' */
    veor d1, d1, d18
    veor q2, q2, q10                    /* + t1 */
    veor q8, q8, q13                    /* + t7 */
    veor d0, d0, d19                    /* + t0'' */
    veor q3, q1, q13                    /* + t7 */
    veor q1, q8, q9                     /* + t0 */
    veor q0, q0, q13                    /* + t7 */
.endm

/* After 2 rounds more than that. */
.macro mix_columns_two
    vld1.8 {q11, q12}, [r0]!            /* planes 7, 6 of the key */
    vext.8 q0, q4, q4, #4               /* 6' */
    vext.8 q7, q10, q10, #4             /* 7' */
    vext.8 q5, q1, q1, #4               /* 5' */
    vrev32.16 q0, q0
    vrev32.16 q7, q7
    vrev32.16 q5, q5
    veor q2, q4, q0                     /* t6 */
    vext.8 q4, q8, q8, #4               /* 4' */
    veor q13, q10, q7                   /* t7 */
    veor q7, q7, q11
    veor q0, q0, q12
    vld1.8 {q11, q12}, [r0]!            /* planes 5, 4 */
    vrev32.16 q4, q4
    veor q10, q1, q5                    /* t5 */
    veor d15, d15, d26
    veor q5, q5, q11
    veor d14, d14, d27                  /* + t7'' */
    vext.8 q1, q9, q9, #4               /* 3' */
    veor d10, d10, d21                  /* + t5'' */
    veor q7, q7, q2                     /* + t6 */
    vrev32.16 q1, q1
    veor d1, d1, d4
    veor d0, d0, d5                     /* + t6'' */
    veor q2, q8, q4                     /* t4 */
    veor d11, d11, d20
    veor q4, q4, q12
    vld1.8 {q11, q12}, [r0]!            /* planes 3, 2 */
    veor q8, q9, q1                     /* t3 */
    veor q5, q5, q2                     /* + t4 */
    veor d8, d8, d5                     /* + t4'' */
    veor d9, d9, d4
    vext.8 q2, q6, q6, #4               /* 2' */
    veor q1, q1, q11
    veor q4, q4, q8                     /* + t3 */
    vrev32.16 q2, q2
    veor d3, d3, d16
    veor d2, d2, d17                    /* + t3'' */
    veor q9, q6, q2                     /* t2 */
    veor q6, q0, q10                    /* + t5 */
    vext.8 q0, q3, q3, #4               /* 0' */
    vext.8 q8, q15, q15, #4             /* 1' */
    veor q2, q2, q12
    vld1.8 {q11, q12}, [r0]!            /* planes 1, 0 */
    veor q4, q4, q13                    /* + t7 */
    vrev32.16 q8, q8
    veor d5, d5, d18
    vrev32.16 q0, q0
    veor q10, q15, q8                   /* t1 */
    veor q8, q8, q11
    veor q1, q1, q9                     /* + t2 */
    veor d4, d4, d19                    /* + t2'' */
    veor q9, q3, q0                     /* t0 */
    veor q0, q0, q12
    veor d17, d17, d20
    veor d16, d16, d21                  /* + t1'' */
    veor d1, d1, d18
    veor q3, q1, q13                    /* + t7 */
    veor q8, q8, q13                    /* + t7 */
    veor d0, d0, d19                    /* + t0'' */
    veor q2, q2, q10                    /* + t1 */
    veor q1, q8, q9                     /* + t0 */
    veor q0, q0, q13                    /* + t7 */
.endm

/* After an odd number of rounds, by the index in q14 of the next row; the second one is also two columns off. */
.macro mix_columns_odd
    vtbl.8 d0, {d8, d9}, d28            /* 6' */
    vtbl.8 d1, {d8, d9}, d29
    vld1.8 {q11, q12}, [r0]!            /* planes 7, 6 of the key */
    vtbl.8 d14, {d20, d21}, d28         /* 7' */
    vtbl.8 d15, {d20, d21}, d29
    vtbl.8 d11, {d2, d3}, d29
    veor q2, q4, q0                     /* t6 */
    vtbl.8 d9, {d16, d17}, d29
    veor q0, q0, q12
    veor q13, q10, q7                   /* t7 */
    veor q7, q7, q11
    vrev32.16 q12, q2
    vrev32.16 q11, q13
    vtbl.8 d10, {d2, d3}, d28           /* 5' */
    vtbl.8 d8, {d16, d17}, d28          /* 4' */
    veor d14, d14, d23                  /* + t7'' */
    veor d15, d15, d22
    veor d0, d0, d25                    /* + t6'' */
    veor d1, d1, d24
    vld1.8 {q11, q12}, [r0]!            /* planes 5, 4 */
    veor q7, q7, q2                     /* + t6 */
    veor q10, q1, q5                    /* t5 */
    vtbl.8 d3, {d18, d19}, d29
    veor q5, q5, q11
    vrev32.16 q11, q10
    veor q2, q8, q4                     /* t4 */
    veor q4, q4, q12
    veor d10, d10, d23                  /* + t5'' */
    veor d11, d11, d22
    vtbl.8 d2, {d18, d19}, d28          /* 3' */
    vrev32.16 q12, q2
    veor q5, q5, q2                     /* + t4 */
    vtbl.8 d5, {d12, d13}, d29
    vtbl.8 d4, {d12, d13}, d28          /* 2' */
    veor d8, d8, d25                    /* + t4'' */
    veor d9, d9, d24
    veor q8, q9, q1                     /* t3 */
    vld1.8 {q11, q12}, [r0]!            /* planes 3, 2 */
    veor q9, q6, q2                     /* t2 */
    veor q6, q0, q10                    /* + t5 */
    veor q4, q4, q8                     /* + t3 */
    veor q2, q2, q12
    vrev32.16 q12, q9
    veor q1, q1, q11
    vrev32.16 q11, q8
    vtbl.8 d16, {d30, d31}, d28         /* 1' */
    vtbl.8 d17, {d30, d31}, d29
    veor d3, d3, d22
    vtbl.8 d1, {d6, d7}, d29
    veor d2, d2, d23                    /* + t3'' */
    veor d4, d4, d25                    /* + t2'' */
    vtbl.8 d0, {d6, d7}, d28            /* 0' */
    veor d5, d5, d24
    vld1.8 {q11, q12}, [r0]!            /* planes 1, 0 */
    veor q10, q15, q8                   /* t1 */
    veor q1, q1, q9                     /* + t2 */
    veor q9, q3, q0                     /* t0 */
    veor q8, q8, q11
    vrev32.16 q11, q10
    veor q0, q0, q12
    vrev32.16 q12, q9
    veor d17, d17, d22
    veor d16, d16, d23                  /* + t1'' */
    veor q4, q4, q13                    /* + t7 */
    veor d1, d1, d24
    veor q8, q8, q13                    /* + t7 */
    veor d0, d0, d25                    /* + t0'' */
    veor q3, q1, q13                    /* + t7 */
    veor q2, q2, q10                    /* + t1 */
    veor q0, q0, q13                    /* + t7 */
    veor q1, q8, q9                     /* + t0 */
.endm
