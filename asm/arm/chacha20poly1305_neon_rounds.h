/* Registers and instruction schedules of the NEON ChaCha20-Poly1305 kernels.
 *
 * Their order was found by a search, to keep Cortex-A53 and Cortex-A7 (tools/armcost) busy: four quarter rounds, a little
 * apart, need but one vector beside the 16 words, and two words lie in memory for half of a double round each. A rotation
 * moves its word to the free vector, hence the changing registers; after a double round all are back. Vector numbers are
 * therefore bare, with the word beside them.
 */

/* Poly1305: accumulator, factors and sums. The order suits ldrd. */
#define h0 r2
#define h1 r3
#define h2 r4
#define h4 r5
#define h3 r6
#define z r7
#define x r8
#define y r9
#define w r11
#define p0 r0
#define p1 r12

#include "chacha20poly1305_text.h"

/* Where the words lie that set_begin loads. */
#define START_A0 (START + 0)
#define START_B0 (START + 4)
#define START_C0 (START + 8)
#define START_A1 (START + 12)
#define START_A2 (START + 16)
#define START_A3 (START + 20)
#define START_B1 (START + 24)
#define START_B2 (START + 28)
#define START_B3 (START + 32)
#define START_C1 (START + 36)
#define START_C2 (START + 40)
#define START_D1 (START + 44)
#define START_D2 (START + 48)
#define START_D3 (START + 52)
#define START_C3 (START + 56)

/* The first column round: lanes differ in the first column only, the others come from START. r7: START, r8: counter, r9: 0 .. 3. */
.macro set_begin
    vld1.32 {d20, d21}, [r9]
    vld1.32 {d22[], d23[]}, [r8]            /* d0: the counter, and 0 .. 3 */
    vld1.32 {d0[], d1[]}, [r7]!             /* a0, b0 added */
    vadd.i32 q11, q11, q10
    vld1.32 {d8[], d9[]}, [r7]!
    veor q11, q11, q0
    vld1.32 {d30[], d31[]}, [r7]!
    vrev32.16 q11, q11
    vld1.32 {d2[], d3[]}, [r7]!             /* a1 */
    vadd.i32 q15, q15, q11
    vld1.32 {d4[], d5[]}, [r7]!             /* a2 */
    veor q10, q4, q15
    vld1.32 {d6[], d7[]}, [r7]!             /* a3 */
    vshl.i32 q4, q10, #12
    vld1.32 {d10[], d11[]}, [r7]!           /* b1 */
    vsri.32 q4, q10, #20
    vld1.32 {d12[], d13[]}, [r7]!           /* b2 */
    vadd.i32 q0, q0, q4
    vld1.32 {d14[], d15[]}, [r7]!           /* b3 */
    veor q10, q11, q0
    vld1.32 {d16[], d17[]}, [r7]!           /* c1 */
    vshl.i32 q11, q10, #8
    vld1.32 {d18[], d19[]}, [r7]!           /* c2 */
    vsri.32 q11, q10, #24
    vld1.32 {d24[], d25[]}, [r7]!           /* d1 */
    vadd.i32 q15, q15, q11
    vld1.32 {d26[], d27[]}, [r7]!           /* d2 */
    veor q10, q4, q15
    vstmia r1, {d30, d31}                   /* c0 */
    vshl.i32 q4, q10, #7
    vld1.32 {d28[], d29[]}, [r7]!           /* d3 */
    vsri.32 q4, q10, #25
    vld1.32 {d20[], d21[]}, [r7]!           /* c3 */
.endm

/* A diagonal round and a column round of the set. */
.macro set_rounds
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
    vsri.32 q7, q14, #20                    /* b2 */
    vldmia r1, {d28, d29}                   /* c0 from memory */
    vrev32.16 q12, q12                      /* d1 <<< 16 */
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
    vshl.i32 q11, q12, #8                   /* d1 <<< 8 */
    veor q7, q7, q10                        /* b2 ^= c3 */
    vadd.i32 q0, q0, q5                     /* a0 += b0 */
    vsri.32 q11, q12, #24                   /* d1 */
    vshl.i32 q12, q15, #7                   /* b1 <<< 7 */
    veor q9, q9, q0                         /* d0 ^= a0 */
    vadd.i32 q14, q14, q11                  /* c0 += d1 */
    vsri.32 q12, q15, #25                   /* b1 */
    vrev32.16 q15, q9                       /* d0 <<< 16 */
    veor q6, q6, q14                        /* b3 ^= c0 */
    vadd.i32 q9, q1, q12                    /* a1 += b1 */
    vadd.i32 q1, q14, q15                   /* c0 += d0 */
    vshl.i32 q14, q6, #7                    /* b3 <<< 7 */
    veor q11, q11, q9                       /* d1 ^= a1 */
    veor q5, q5, q1                         /* b0 ^= c0 */
    vsri.32 q14, q6, #25                    /* b3 */
    vrev32.16 q6, q11                       /* d1 <<< 16 */
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
    veor q14, q14, q10                      /* b3 ^= c3 */
    vadd.i32 q2, q2, q4                     /* a2 += b2 */
    vsri.32 q12, q15, #24                   /* d0 */
    vshl.i32 q15, q7, #12                   /* b1 <<< 12 */
    veor q13, q13, q2                       /* d2 ^= a2 */
    vadd.i32 q1, q1, q12                    /* c0 += d0 */
    vsri.32 q15, q7, #20                    /* b1 */
    vshl.i32 q7, q14, #12                   /* b3 <<< 12 */
    veor q11, q11, q1                       /* b0 ^= c0 */
    vstmia r1, {d2, d3}                     /* c0 to memory */
    vrev32.16 q13, q13                      /* d2 <<< 16 */
    vadd.i32 q1, q9, q15                    /* a1 += b1 */
    vldr d18, [r1, #16]                     /* c2 from memory */
    vldr d19, [r1, #24]
    vsri.32 q7, q14, #20                    /* b3 */
    vshl.i32 q14, q11, #7                   /* b0 <<< 7 */
    veor q6, q6, q1                         /* d1 ^= a1 */
    vadd.i32 q9, q9, q13                    /* c2 += d2 */
    vsri.32 q14, q11, #25                   /* b0 */
    vshl.i32 q11, q6, #8                    /* d1 <<< 8 */
    veor q4, q4, q9                         /* b2 ^= c2 */
    vadd.i32 q3, q3, q7                     /* a3 += b3 */
    vsri.32 q11, q6, #24                    /* d1 */
    vshl.i32 q6, q4, #12                    /* b2 <<< 12 */
    veor q5, q5, q3                         /* d3 ^= a3 */
    vadd.i32 q8, q8, q11                    /* c1 += d1 */
    vsri.32 q6, q4, #20                     /* b2 */
    vshl.i32 q4, q5, #8                     /* d3 <<< 8 */
    veor q15, q15, q8                       /* b1 ^= c1 */
    vadd.i32 q2, q2, q6                     /* a2 += b2 */
    vsri.32 q4, q5, #24                     /* d3 */
    vshl.i32 q5, q15, #7                    /* b1 <<< 7 */
    veor q13, q13, q2                       /* d2 ^= a2 */
    vadd.i32 q10, q10, q4                   /* c3 += d3 */
    vsri.32 q5, q15, #25                    /* b1 */
    vswp q14, q4                            /* b0, d3 home */
    vswp q12, q11                           /* d0, d1 home */
    subs r0, r0, #1
    bne .Lset_rounds
.endm

/* The same along with h = h r + m, twice. */
.macro set_rounds_poly
    umull p0, p1, h0, z
    vshl.i32 q15, q13, #8                   /* d2 <<< 8 */
    vadd.i32 q3, q3, q4                     /* a3 += b0 */
    umlal p0, p1, h3, x
    vadd.i32 q0, q0, q5                     /* a0 += b1 */
    umlal p0, p1, h2, y
    vsri.32 q15, q13, #24                   /* d2 */
    umlal p0, p1, h1, w
    veor q13, q7, q10                       /* b3 ^= c3 */
    mul x, h4, x
    veor q7, q14, q0                        /* d3 ^= a0 */
    vadd.i32 q14, q9, q15                   /* c2 += d2 */
    str p0, [r1, #POLY_LOW]
    vshl.i32 q9, q13, #7                    /* b3 <<< 7 */
    mul p0, h4, y
    vrev32.16 q7, q7                        /* d3 <<< 16 */
    umlal x, p0, h3, y
    ldr y, [r1, #POLY_R1]
    veor q6, q6, q14                        /* b2 ^= c2 */
    umlal x, p0, h2, w
    vsri.32 q9, q13, #25                    /* b3 */
    vadd.i32 q13, q14, q7                   /* c2 += d3 */
    umlal x, p0, h1, z
    vshl.i32 q14, q6, #7                    /* b2 <<< 7 */
    umlal x, p0, h0, y
    veor q15, q15, q3                       /* d2 ^= a3 */
    veor q5, q5, q13                        /* b1 ^= c2 */
    vadd.i32 q2, q2, q9                     /* a2 += b3 */
    adds p1, p1, x
    umull x, y, h1, y
    vsri.32 q14, q6, #25                    /* b2 */
    umlal x, y, h3, w
    vrev32.16 q6, q15                       /* d2 <<< 16 */
    mul w, h4, w
    vshl.i32 q15, q5, #12                   /* b1 <<< 12 */
    umlal x, y, h2, z
    vadd.i32 q1, q1, q14                    /* a1 += b2 */
    mul h4, h4, z
    vadd.i32 q8, q8, q6                     /* c1 += d2 */
    vsri.32 q15, q5, #20                    /* b1 */
    umlal w, h4, h3, z
    ldrd h3, z, [r1, #POLY_R1]
    veor q11, q11, q1                       /* d0 ^= a1 */
    veor q4, q4, q8                         /* b0 ^= c1 */
    vadd.i32 q0, q0, q15                    /* a0 += b1 */
    umlal w, h4, h1, z
    vrev32.16 q5, q11                       /* d0 <<< 16 */
    vshl.i32 q11, q4, #12                   /* b0 <<< 12 */
    umlal x, y, h0, z
    ldr z, [r1, #MESSAGE]
    umlal w, h4, h2, h3
    ldr h2, [r1, #POLY_R3]
    veor q7, q7, q0                         /* d3 ^= a0 */
    vadd.i32 q10, q10, q5                   /* c3 += d0 */
    adcs p0, p0, x
    veor q12, q12, q2                       /* d1 ^= a2 */
    ldr x, [r1, #POLY_LOW]
    ldr h3, [z, #12]
    vsri.32 q11, q4, #20                    /* b0 */
    vshl.i32 q4, q7, #8                     /* d3 <<< 8 */
    umlal w, h4, h0, h2
    ldr h0, [z, #0]
    veor q14, q14, q10                      /* b2 ^= c3 */
    vadd.i32 q3, q3, q11                    /* a3 += b0 */
    ldr h1, [z, #4]
    vsri.32 q4, q7, #24                     /* d3 */
    adcs y, y, w
    vshl.i32 q7, q14, #12                   /* b2 <<< 12 */
    ldr h2, [z, #8]
    adc h4, h4, #0
    adds x, x, h0
    adcs p1, p1, h1
    vrev32.16 q12, q12                      /* d1 <<< 16 */
    vsri.32 q7, q14, #20                    /* b2 */
    vldmia r1, {d28, d29}                   /* c0 from memory */
    vadd.i32 q13, q13, q4                   /* c2 += d3 */
    adcs p0, p0, h2
    adcs y, y, h3
    ldr z, [r1, #POLY_R0]
    adc h4, h4, #0
    veor q6, q6, q3                         /* d2 ^= a3 */
    vadd.i32 q14, q14, q12                  /* c0 += d1 */
    bic w, h4, #3
    veor q15, q15, q13                      /* b1 ^= c2 */
    vstr d26, [r1, #16]                     /* c2 to memory */
    vstr d27, [r1, #24]
    vshl.i32 q13, q6, #8                    /* d2 <<< 8 */
    add w, w, w, lsr #2
    veor q9, q9, q14                        /* b3 ^= c0 */
    vadd.i32 q1, q1, q7                     /* a1 += b2 */
    vsri.32 q13, q6, #24                    /* d2 */
    and h4, h4, #3
    adds h0, x, w
    vshl.i32 q6, q9, #12                    /* b3 <<< 12 */
    veor q5, q5, q1                         /* d0 ^= a1 */
    ldr w, [r1, #POLY_S3]
    adcs h1, p1, #0
    vadd.i32 q8, q8, q13                    /* c1 += d2 */
    vsri.32 q6, q9, #20                     /* b3 */
    adcs h2, p0, #0
    umull p0, p1, h0, z
    vshl.i32 q9, q5, #8                     /* d0 <<< 8 */
    veor q11, q11, q8                       /* b0 ^= c1 */
    adcs h3, y, #0
    ldrd x, y, [r1, #POLY_S1]
    vadd.i32 q2, q2, q6                     /* a2 += b3 */
    vsri.32 q9, q5, #24                     /* d0 */
    vshl.i32 q5, q11, #7                    /* b0 <<< 7 */
    adc h4, h4, #1
    umlal p0, p1, h3, x
    veor q12, q12, q2                       /* d1 ^= a2 */
    umlal p0, p1, h2, y
    vadd.i32 q10, q10, q9                   /* c3 += d0 */
    umlal p0, p1, h1, w
    vsri.32 q5, q11, #25                    /* b0 */
    vshl.i32 q11, q12, #8                   /* d1 <<< 8 */
    mul x, h4, x
    veor q7, q7, q10                        /* b2 ^= c3 */
    vadd.i32 q0, q0, q5                     /* a0 += b0 */
    str p0, [r1, #POLY_LOW]
    vsri.32 q11, q12, #24                   /* d1 */
    mul p0, h4, y
    vshl.i32 q12, q15, #7                   /* b1 <<< 7 */
    umlal x, p0, h3, y
    ldr y, [r1, #POLY_R1]
    veor q9, q9, q0                         /* d0 ^= a0 */
    umlal x, p0, h2, w
    vadd.i32 q14, q14, q11                  /* c0 += d1 */
    umlal x, p0, h1, z
    vsri.32 q12, q15, #25                   /* b1 */
    vrev32.16 q15, q9                       /* d0 <<< 16 */
    umlal x, p0, h0, y
    veor q6, q6, q14                        /* b3 ^= c0 */
    vadd.i32 q9, q1, q12                    /* a1 += b1 */
    vadd.i32 q1, q14, q15                   /* c0 += d0 */
    adds p1, p1, x
    umull x, y, h1, y
    vshl.i32 q14, q6, #7                    /* b3 <<< 7 */
    umlal x, y, h3, w
    veor q11, q11, q9                       /* d1 ^= a1 */
    veor q5, q5, q1                         /* b0 ^= c0 */
    vsri.32 q14, q6, #25                    /* b3 */
    vrev32.16 q6, q11                       /* d1 <<< 16 */
    mul w, h4, w
    vshl.i32 q11, q5, #12                   /* b0 <<< 12 */
    umlal x, y, h2, z
    vadd.i32 q3, q3, q14                    /* a3 += b3 */
    mul h4, h4, z
    vadd.i32 q8, q8, q6                     /* c1 += d1 */
    umlal w, h4, h3, z
    ldrd h3, z, [r1, #POLY_R1]
    vsri.32 q11, q5, #20                    /* b0 */
    veor q5, q4, q3                         /* d3 ^= a3 */
    vshl.i32 q4, q7, #7                     /* b2 <<< 7 */
    umlal x, y, h0, z
    vadd.i32 q0, q0, q11                    /* a0 += b0 */
    umlal w, h4, h1, z
    vrev32.16 q5, q5                        /* d3 <<< 16 */
    vsri.32 q4, q7, #25                     /* b2 */
    umlal w, h4, h2, h3
    veor q15, q15, q0                       /* d0 ^= a0 */
    vadd.i32 q10, q10, q5                   /* c3 += d3 */
    ldr h2, [r1, #POLY_R3]
    veor q7, q12, q8                        /* b1 ^= c1 */
    ldr z, [r1, #MESSAGE]
    vshl.i32 q12, q15, #8                   /* d0 <<< 8 */
    adcs p0, p0, x
    vadd.i32 q2, q2, q4                     /* a2 += b2 */
    umlal w, h4, h0, h2
    ldr x, [r1, #POLY_LOW]
    veor q14, q14, q10                      /* b3 ^= c3 */
    ldr h0, [z, #16]
    vsri.32 q12, q15, #24                   /* d0 */
    vshl.i32 q15, q7, #12                   /* b1 <<< 12 */
    adcs y, y, w
    veor q13, q13, q2                       /* d2 ^= a2 */
    adc h4, h4, #0
    ldr h3, [z, #28]
    vadd.i32 q1, q1, q12                    /* c0 += d0 */
    ldr h1, [z, #20]
    vsri.32 q15, q7, #20                    /* b1 */
    vshl.i32 q7, q14, #12                   /* b3 <<< 12 */
    ldr h2, [z, #24]
    add z, z, #32
    vrev32.16 q13, q13                      /* d2 <<< 16 */
    veor q11, q11, q1                       /* b0 ^= c0 */
    vstmia r1, {d2, d3}                     /* c0 to memory */
    vadd.i32 q1, q9, q15                    /* a1 += b1 */
    vldr d19, [r1, #24]
    adds x, x, h0
    vsri.32 q7, q14, #20                    /* b3 */
    vldr d18, [r1, #16]                     /* c2 from memory */
    vshl.i32 q14, q11, #7                   /* b0 <<< 7 */
    adcs p1, p1, h1
    veor q6, q6, q1                         /* d1 ^= a1 */
    adcs p0, p0, h2
    vadd.i32 q3, q3, q7                     /* a3 += b3 */
    vsri.32 q14, q11, #25                   /* b0 */
    adcs y, y, h3
    vadd.i32 q9, q9, q13                    /* c2 += d2 */
    adc h4, h4, #0
    str z, [r1, #MESSAGE]
    vshl.i32 q11, q6, #8                    /* d1 <<< 8 */
    veor q5, q5, q3                         /* d3 ^= a3 */
    bic w, h4, #3
    ldr z, [r1, #POLY_R0]
    veor q4, q4, q9                         /* b2 ^= c2 */
    vsri.32 q11, q6, #24                    /* d1 */
    add w, w, w, lsr #2
    and h4, h4, #3
    vshl.i32 q6, q4, #12                    /* b2 <<< 12 */
    adds h0, x, w
    vadd.i32 q8, q8, q11                    /* c1 += d1 */
    vswp q12, q11                           /* d0, d1 home */
    adcs h1, p1, #0
    ldr w, [r1, #POLY_S3]
    vsri.32 q6, q4, #20                     /* b2 */
    vshl.i32 q4, q5, #8                     /* d3 <<< 8 */
    adcs h2, p0, #0
    ldr p0, [r1, #LEFT]
    veor q15, q15, q8                       /* b1 ^= c1 */
    vadd.i32 q2, q2, q6                     /* a2 += b2 */
    adcs h3, y, #0
    ldrd x, y, [r1, #POLY_S1]
    vsri.32 q4, q5, #24                     /* d3 */
    vshl.i32 q5, q15, #7                    /* b1 <<< 7 */
    adc h4, h4, #1
    subs p0, p0, #1
    veor q13, q13, q2                       /* d2 ^= a2 */
    vadd.i32 q10, q10, q4                   /* c3 += d3 */
    vswp q14, q4                            /* b0, d3 home */
    str p0, [r1, #LEFT]
    vsri.32 q5, q15, #25                    /* b1 */
    bne .Lset_poly
.endm

/* The same along with the block that makes the Poly1305 key. */
.macro set_rounds_key
    vshl.i32 q15, q13, #8                   /* d2 <<< 8 */
    vadd.i32 q3, q3, q4                     /* a3 += b0 */
    vadd.i32 q0, q0, q5                     /* a0 += b1 */
    add a1, a1, b1, ror #25
    vsri.32 q15, q13, #24                   /* d2 */
    eor dy, a1, dy, ror #24
    veor q13, q7, q10                       /* b3 ^= c3 */
    veor q7, q14, q0                        /* d3 ^= a0 */
    add cx, cx, dy, ror #16
    vadd.i32 q14, q9, q15                   /* c2 += d2 */
    add a2, a2, b2, ror #25
    vshl.i32 q9, q13, #7                    /* b3 <<< 7 */
    eor b1, cx, b1, ror #25
    vrev32.16 q7, q7                        /* d3 <<< 16 */
    veor q6, q6, q14                        /* b2 ^= c2 */
    add a3, a3, b3, ror #25
    veor q15, q15, q3                       /* d2 ^= a3 */
    add a1, a1, b1, ror #20
    eor dz, a2, dz, ror #24
    vsri.32 q9, q13, #25                    /* b3 */
    vadd.i32 q13, q14, q7                   /* c2 += d3 */
    eor dy, a1, dy, ror #16
    vshl.i32 q14, q6, #7                    /* b2 <<< 7 */
    vadd.i32 q2, q2, q9                     /* a2 += b3 */
    add cx, cx, dy, ror #24
    veor q5, q5, q13                        /* b1 ^= c2 */
    eor b1, cx, b1, ror #20
    vsri.32 q14, q6, #25                    /* b2 */
    str cx, [r1, #BLOCK + 4*9]
    vrev32.16 q6, q15                       /* d2 <<< 16 */
    vshl.i32 q15, q5, #12                   /* b1 <<< 12 */
    ldr cx, [r1, #BLOCK + 4*10]
    vadd.i32 q1, q1, q14                    /* a1 += b2 */
    str dy, [r1, #BLOCK + 4*13]
    ldr dy, [r1, #BLOCK + 4*12]
    vadd.i32 q8, q8, q6                     /* c1 += d2 */
    add cx, cx, dz, ror #16
    vsri.32 q15, q5, #20                    /* b1 */
    veor q11, q11, q1                       /* d0 ^= a1 */
    eor b2, cx, b2, ror #25
    veor q4, q4, q8                         /* b0 ^= c1 */
    vadd.i32 q0, q0, q15                    /* a0 += b1 */
    add a2, a2, b2, ror #20
    vrev32.16 q5, q11                       /* d0 <<< 16 */
    vshl.i32 q11, q4, #12                   /* b0 <<< 12 */
    add a0, a0, b0, ror #25
    eor dz, a2, dz, ror #16
    veor q7, q7, q0                         /* d3 ^= a0 */
    eor dy, a0, dy, ror #24
    vadd.i32 q10, q10, q5                   /* c3 += d0 */
    add cx, cx, dz, ror #24
    vsri.32 q11, q4, #20                    /* b0 */
    vshl.i32 q4, q7, #8                     /* d3 <<< 8 */
    veor q14, q14, q10                      /* b2 ^= c3 */
    str cx, [r1, #BLOCK + 4*10]
    veor q12, q12, q2                       /* d1 ^= a2 */
    eor b2, cx, b2, ror #20
    ldr cx, [r1, #BLOCK + 4*8]
    vsri.32 q4, q7, #24                     /* d3 */
    vshl.i32 q7, q14, #12                   /* b2 <<< 12 */
    str dz, [r1, #BLOCK + 4*14]
    ldr dz, [r1, #BLOCK + 4*15]
    vadd.i32 q3, q3, q11                    /* a3 += b0 */
    add cx, cx, dy, ror #16
    vadd.i32 q13, q13, q4                   /* c2 += d3 */
    vsri.32 q7, q14, #20                    /* b2 */
    vldmia r1, {d28, d29}                   /* c0 from memory */
    eor b0, cx, b0, ror #25
    vrev32.16 q12, q12                      /* d1 <<< 16 */
    veor q6, q6, q3                         /* d2 ^= a3 */
    vstr d26, [r1, #16]                     /* c2 to memory */
    vadd.i32 q1, q1, q7                     /* a1 += b2 */
    add a0, a0, b0, ror #20
    vadd.i32 q14, q14, q12                  /* c0 += d1 */
    add a1, a1, b2, ror #25
    eor dy, a0, dy, ror #16
    veor q15, q15, q13                      /* b1 ^= c2 */
    vstr d27, [r1, #24]
    vshl.i32 q13, q6, #8                    /* d2 <<< 8 */
    add cx, cx, dy, ror #24
    veor q9, q9, q14                        /* b3 ^= c0 */
    eor dz, a3, dz, ror #24
    veor q5, q5, q1                         /* d0 ^= a1 */
    str cx, [r1, #BLOCK + 4*8]
    vsri.32 q13, q6, #24                    /* d2 */
    vshl.i32 q6, q9, #12                    /* b3 <<< 12 */
    eor b0, cx, b0, ror #20
    ldr cx, [r1, #BLOCK + 4*11]
    vadd.i32 q8, q8, q13                    /* c1 += d2 */
    vsri.32 q6, q9, #20                     /* b3 */
    vshl.i32 q9, q5, #8                     /* d0 <<< 8 */
    add cx, cx, dz, ror #16
    veor q11, q11, q8                       /* b0 ^= c1 */
    eor b3, cx, b3, ror #25
    vadd.i32 q2, q2, q6                     /* a2 += b3 */
    vsri.32 q9, q5, #24                     /* d0 */
    add a3, a3, b3, ror #20
    vshl.i32 q5, q11, #7                    /* b0 <<< 7 */
    veor q12, q12, q2                       /* d1 ^= a2 */
    vadd.i32 q10, q10, q9                   /* c3 += d0 */
    eor dz, a3, dz, ror #16
    vsri.32 q5, q11, #25                    /* b0 */
    eor dy, a1, dy, ror #24
    vshl.i32 q11, q12, #8                   /* d1 <<< 8 */
    add cx, cx, dz, ror #24
    veor q7, q7, q10                        /* b2 ^= c3 */
    vadd.i32 q0, q0, q5                     /* a0 += b0 */
    eor b3, cx, b3, ror #20
    add cx, cx, dy, ror #16
    vsri.32 q11, q12, #24                   /* d1 */
    add a0, a0, b1, ror #25
    vshl.i32 q12, q15, #7                   /* b1 <<< 7 */
    eor b2, cx, b2, ror #25
    veor q9, q9, q0                         /* d0 ^= a0 */
    vadd.i32 q14, q14, q11                  /* c0 += d1 */
    eor dz, a0, dz, ror #24
    add a1, a1, b2, ror #20
    vsri.32 q12, q15, #25                   /* b1 */
    vrev32.16 q15, q9                       /* d0 <<< 16 */
    veor q6, q6, q14                        /* b3 ^= c0 */
    eor dy, a1, dy, ror #16
    vadd.i32 q9, q1, q12                    /* a1 += b1 */
    vadd.i32 q1, q14, q15                   /* c0 += d0 */
    add cx, cx, dy, ror #24
    add a3, a3, b0, ror #25
    vshl.i32 q14, q6, #7                    /* b3 <<< 7 */
    veor q11, q11, q9                       /* d1 ^= a1 */
    eor b2, cx, b2, ror #20
    veor q5, q5, q1                         /* b0 ^= c0 */
    str cx, [r1, #BLOCK + 4*11]
    ldr cx, [r1, #BLOCK + 4*10]
    vsri.32 q14, q6, #25                    /* b3 */
    str dy, [r1, #BLOCK + 4*12]
    vrev32.16 q6, q11                       /* d1 <<< 16 */
    vshl.i32 q11, q5, #12                   /* b0 <<< 12 */
    ldr dy, [r1, #BLOCK + 4*13]
    vadd.i32 q3, q3, q14                    /* a3 += b3 */
    add cx, cx, dz, ror #16
    vadd.i32 q8, q8, q6                     /* c1 += d1 */
    eor b1, cx, b1, ror #25
    vsri.32 q11, q5, #20                    /* b0 */
    veor q5, q4, q3                         /* d3 ^= a3 */
    vshl.i32 q4, q7, #7                     /* b2 <<< 7 */
    add a0, a0, b1, ror #20
    vadd.i32 q0, q0, q11                    /* a0 += b0 */
    add a2, a2, b3, ror #25
    eor dz, a0, dz, ror #16
    vrev32.16 q5, q5                        /* d3 <<< 16 */
    vsri.32 q4, q7, #25                     /* b2 */
    add cx, cx, dz, ror #24
    veor q15, q15, q0                       /* d0 ^= a0 */
    vadd.i32 q10, q10, q5                   /* c3 += d3 */
    eor b1, cx, b1, ror #20
    veor q7, q12, q8                        /* b1 ^= c1 */
    vshl.i32 q12, q15, #8                   /* d0 <<< 8 */
    str cx, [r1, #BLOCK + 4*10]
    veor q14, q14, q10                      /* b3 ^= c3 */
    ldr cx, [r1, #BLOCK + 4*8]
    eor dy, a2, dy, ror #24
    vadd.i32 q2, q2, q4                     /* a2 += b2 */
    str dz, [r1, #BLOCK + 4*15]
    vsri.32 q12, q15, #24                   /* d0 */
    add cx, cx, dy, ror #16
    vshl.i32 q15, q7, #12                   /* b1 <<< 12 */
    veor q13, q13, q2                       /* d2 ^= a2 */
    vadd.i32 q1, q1, q12                    /* c0 += d0 */
    eor b3, cx, b3, ror #25
    ldr dz, [r1, #BLOCK + 4*14]
    vsri.32 q15, q7, #20                    /* b1 */
    vshl.i32 q7, q14, #12                   /* b3 <<< 12 */
    add a2, a2, b3, ror #20
    vstmia r1, {d2, d3}                     /* c0 to memory */
    veor q11, q11, q1                       /* b0 ^= c0 */
    vadd.i32 q1, q9, q15                    /* a1 += b1 */
    vldr d18, [r1, #16]                     /* c2 from memory */
    eor dy, a2, dy, ror #16
    vrev32.16 q13, q13                      /* d2 <<< 16 */
    vsri.32 q7, q14, #20                    /* b3 */
    vldr d19, [r1, #24]
    veor q6, q6, q1                         /* d1 ^= a1 */
    add cx, cx, dy, ror #24
    vshl.i32 q14, q11, #7                   /* b0 <<< 7 */
    eor b3, cx, b3, ror #20
    vadd.i32 q3, q3, q7                     /* a3 += b3 */
    vadd.i32 q9, q9, q13                    /* c2 += d2 */
    str cx, [r1, #BLOCK + 4*8]
    ldr cx, [r1, #BLOCK + 4*9]
    vsri.32 q14, q11, #25                   /* b0 */
    vshl.i32 q11, q6, #8                    /* d1 <<< 8 */
    eor dz, a3, dz, ror #24
    veor q4, q4, q9                         /* b2 ^= c2 */
    add cx, cx, dz, ror #16
    veor q5, q5, q3                         /* d3 ^= a3 */
    vsri.32 q11, q6, #24                    /* d1 */
    vshl.i32 q6, q4, #12                    /* b2 <<< 12 */
    eor b0, cx, b0, ror #25
    vadd.i32 q8, q8, q11                    /* c1 += d1 */
    add a3, a3, b0, ror #20
    vsri.32 q6, q4, #20                     /* b2 */
    vshl.i32 q4, q5, #8                     /* d3 <<< 8 */
    eor dz, a3, dz, ror #16
    veor q15, q15, q8                       /* b1 ^= c1 */
    vadd.i32 q2, q2, q6                     /* a2 += b2 */
    add cx, cx, dz, ror #24
    vsri.32 q4, q5, #24                     /* d3 */
    str cx, [r1, #BLOCK + 4*9]
    vshl.i32 q5, q15, #7                    /* b1 <<< 7 */
    eor b0, cx, b0, ror #20
    ldr cx, [r1, #KEY_LEFT]
    vadd.i32 q10, q10, q4                   /* c3 += d3 */
    vswp q12, q11                           /* d0, d1 home */
    veor q13, q13, q2                       /* d2 ^= a2 */
    subs cx, cx, #1
    vswp q14, q4                            /* b0, d3 home */
    str cx, [r1, #KEY_LEFT]
    vsri.32 q5, q15, #25                    /* b1 */
    ldr cx, [r1, #BLOCK + 4*9]
    bne .Lset_key
.endm

/* The last diagonal round. */
.macro set_end
    vadd.i32 q0, q0, q5                     /* a0 += b1 */
    vshl.i32 q15, q13, #8                   /* d2 <<< 8 */
    veor q7, q7, q10                        /* b3 ^= c3 */
    vadd.i32 q3, q3, q4                     /* a3 += b0 */
    vsri.32 q15, q13, #24                   /* d2 */
    vshl.i32 q13, q7, #7                    /* b3 <<< 7 */
    veor q14, q14, q0                       /* d3 ^= a0 */
    vadd.i32 q9, q9, q15                    /* c2 += d2 */
    veor q15, q15, q3                       /* d2 ^= a3 */
    vrev32.16 q14, q14                      /* d3 <<< 16 */
    veor q6, q6, q9                         /* b2 ^= c2 */
    vsri.32 q13, q7, #25                    /* b3 */
    vadd.i32 q9, q9, q14                    /* c2 += d3 */
    vshl.i32 q7, q6, #7                     /* b2 <<< 7 */
    vrev32.16 q15, q15                      /* d2 <<< 16 */
    veor q5, q5, q9                         /* b1 ^= c2 */
    vsri.32 q7, q6, #25                     /* b2 */
    vadd.i32 q2, q2, q13                    /* a2 += b3 */
    vshl.i32 q6, q5, #12                    /* b1 <<< 12 */
    vadd.i32 q1, q1, q7                     /* a1 += b2 */
    vadd.i32 q8, q8, q15                    /* c1 += d2 */
    vsri.32 q6, q5, #20                     /* b1 */
    veor q11, q11, q1                       /* d0 ^= a1 */
    veor q4, q4, q8                         /* b0 ^= c1 */
    vadd.i32 q0, q0, q6                     /* a0 += b1 */
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
    vsri.32 q6, q15, #25                    /* b3 */
    vshl.i32 q15, q14, #7                   /* b2 <<< 7 */
    vsri.32 q15, q14, #25                   /* b2 */
.endm

/* The same along with the key's last double round. */
.macro set_end_key
    add a1, a1, b1, ror #25
    vshl.i32 q15, q13, #8                   /* d2 <<< 8 */
    veor q7, q7, q10                        /* b3 ^= c3 */
    add a0, a0, b0, ror #25
    eor dy, a1, dy, ror #24
    vsri.32 q15, q13, #24                   /* d2 */
    add cx, cx, dy, ror #16
    vadd.i32 q0, q0, q5                     /* a0 += b1 */
    add a2, a2, b2, ror #25
    vshl.i32 q13, q7, #7                    /* b3 <<< 7 */
    eor b1, cx, b1, ror #25
    vadd.i32 q3, q3, q4                     /* a3 += b0 */
    add a3, a3, b3, ror #25
    veor q14, q14, q0                       /* d3 ^= a0 */
    vadd.i32 q9, q9, q15                    /* c2 += d2 */
    add a1, a1, b1, ror #20
    eor dz, a2, dz, ror #24
    vsri.32 q13, q7, #25                    /* b3 */
    vrev32.16 q14, q14                      /* d3 <<< 16 */
    eor dy, a1, dy, ror #16
    veor q6, q6, q9                         /* b2 ^= c2 */
    add cx, cx, dy, ror #24
    vadd.i32 q9, q9, q14                    /* c2 += d3 */
    str cx, [r1, #BLOCK + 4*9]
    eor b1, cx, b1, ror #20
    ldr cx, [r1, #BLOCK + 4*10]
    veor q15, q15, q3                       /* d2 ^= a3 */
    vshl.i32 q7, q6, #7                     /* b2 <<< 7 */
    veor q5, q5, q9                         /* b1 ^= c2 */
    add cx, cx, dz, ror #16
    str dy, [r1, #BLOCK + 4*13]
    ldr dy, [r1, #BLOCK + 4*12]
    eor b2, cx, b2, ror #25
    vrev32.16 q15, q15                      /* d2 <<< 16 */
    vsri.32 q7, q6, #25                     /* b2 */
    add a2, a2, b2, ror #20
    vshl.i32 q6, q5, #12                    /* b1 <<< 12 */
    eor dz, a2, dz, ror #16
    vadd.i32 q1, q1, q7                     /* a1 += b2 */
    add cx, cx, dz, ror #24
    eor dy, a0, dy, ror #24
    str dz, [r1, #BLOCK + 4*14]
    eor b2, cx, b2, ror #20
    str cx, [r1, #BLOCK + 4*10]
    ldr cx, [r1, #BLOCK + 4*8]
    ldr dz, [r1, #BLOCK + 4*15]
    vadd.i32 q8, q8, q15                    /* c1 += d2 */
    add cx, cx, dy, ror #16
    veor q11, q11, q1                       /* d0 ^= a1 */
    veor q4, q4, q8                         /* b0 ^= c1 */
    eor b0, cx, b0, ror #25
    vsri.32 q6, q5, #20                     /* b1 */
    vshl.i32 q5, q4, #12                    /* b0 <<< 12 */
    add a0, a0, b0, ror #20
    vadd.i32 q0, q0, q6                     /* a0 += b1 */
    eor dy, a0, dy, ror #16
    vrev32.16 q11, q11                      /* d0 <<< 16 */
    add cx, cx, dy, ror #24
    vadd.i32 q2, q2, q13                    /* a2 += b3 */
    vsri.32 q5, q4, #20                     /* b0 */
    veor q14, q14, q0                       /* d3 ^= a0 */
    str cx, [r1, #BLOCK + 4*8]
    eor b0, cx, b0, ror #20
    ldr cx, [r1, #BLOCK + 4*11]
    eor dz, a3, dz, ror #24
    vadd.i32 q10, q10, q11                  /* c3 += d0 */
    add a1, a1, b2, ror #25
    vshl.i32 q4, q14, #8                    /* d3 <<< 8 */
    add cx, cx, dz, ror #16
    veor q12, q12, q2                       /* d1 ^= a2 */
    veor q7, q7, q10                        /* b2 ^= c3 */
    eor b3, cx, b3, ror #25
    vadd.i32 q3, q3, q5                     /* a3 += b0 */
    vsri.32 q4, q14, #24                    /* d3 */
    add a3, a3, b3, ror #20
    vshl.i32 q14, q7, #12                   /* b2 <<< 12 */
    eor dy, a1, dy, ror #24
    vadd.i32 q9, q9, q4                     /* c2 += d3 */
    eor dz, a3, dz, ror #16
    vsri.32 q14, q7, #20                    /* b2 */
    vldmia r1, {d14, d15}                   /* c0 from memory */
    add a0, a0, b1, ror #25
    add cx, cx, dz, ror #24
    vrev32.16 q12, q12                      /* d1 <<< 16 */
    eor b3, cx, b3, ror #20
    add cx, cx, dy, ror #16
    veor q6, q6, q9                         /* b1 ^= c2 */
    eor dz, a0, dz, ror #24
    veor q15, q15, q3                       /* d2 ^= a3 */
    eor b2, cx, b2, ror #25
    vadd.i32 q7, q7, q12                    /* c0 += d1 */
    add a1, a1, b2, ror #20
    vstr d19, [r1, #24]
    eor dy, a1, dy, ror #16
    vadd.i32 q1, q1, q14                    /* a1 += b2 */
    add cx, cx, dy, ror #24
    str dy, [r1, #BLOCK + 4*12]
    veor q13, q13, q7                       /* b3 ^= c0 */
    str cx, [r1, #BLOCK + 4*11]
    eor b2, cx, b2, ror #20
    veor q11, q11, q1                       /* d0 ^= a1 */
    ldr cx, [r1, #BLOCK + 4*10]
    vstr d18, [r1, #16]                     /* c2 to memory */
    vshl.i32 q9, q15, #8                    /* d2 <<< 8 */
    add cx, cx, dz, ror #16
    ldr dy, [r1, #BLOCK + 4*13]
    vsri.32 q9, q15, #24                    /* d2 */
    vshl.i32 q15, q13, #12                  /* b3 <<< 12 */
    eor b1, cx, b1, ror #25
    add a3, a3, b0, ror #25
    add a0, a0, b1, ror #20
    vsri.32 q15, q13, #20                   /* b3 */
    vshl.i32 q13, q11, #8                   /* d0 <<< 8 */
    eor dz, a0, dz, ror #16
    add a2, a2, b3, ror #25
    add cx, cx, dz, ror #24
    vadd.i32 q8, q8, q9                     /* c1 += d2 */
    eor dy, a2, dy, ror #24
    str cx, [r1, #BLOCK + 4*10]
    eor b1, cx, b1, ror #20
    ldr cx, [r1, #BLOCK + 4*8]
    veor q5, q5, q8                         /* b0 ^= c1 */
    vadd.i32 q2, q2, q15                    /* a2 += b3 */
    vsri.32 q13, q11, #24                   /* d0 */
    vshl.i32 q11, q5, #7                    /* b0 <<< 7 */
    add cx, cx, dy, ror #16
    veor q12, q12, q2                       /* d1 ^= a2 */
    eor b3, cx, b3, ror #25
    str dz, [r1, #BLOCK + 4*15]
    add a2, a2, b3, ror #20
    vsri.32 q11, q5, #25                    /* b0 */
    vshl.i32 q5, q12, #8                    /* d1 <<< 8 */
    vadd.i32 q10, q10, q13                  /* c3 += d0 */
    eor dy, a2, dy, ror #16
    vsri.32 q5, q12, #24                    /* d1 */
    add cx, cx, dy, ror #24
    ldr dz, [r1, #BLOCK + 4*14]
    eor b3, cx, b3, ror #20
    str cx, [r1, #BLOCK + 4*8]
    vadd.i32 q7, q7, q5                     /* c0 += d1 */
    ldr cx, [r1, #BLOCK + 4*9]
    eor dz, a3, dz, ror #24
    vshl.i32 q12, q6, #7                    /* b1 <<< 7 */
    veor q15, q15, q7                       /* b3 ^= c0 */
    add cx, cx, dz, ror #16
    vsri.32 q12, q6, #25                    /* b1 */
    eor b0, cx, b0, ror #25
    vshl.i32 q6, q15, #7                    /* b3 <<< 7 */
    add a3, a3, b0, ror #20
    veor q14, q14, q10                      /* b2 ^= c3 */
    eor dz, a3, dz, ror #16
    vsri.32 q6, q15, #25                    /* b3 */
    vshl.i32 q15, q14, #7                   /* b2 <<< 7 */
    add cx, cx, dz, ror #24
    eor b0, cx, b0, ror #20
    vsri.32 q15, q14, #25                   /* b2 */
.endm

/* The text r7 points to, encrypted, to r9; r8: initial state, r0: 0 .. 3, r11: 16 - 192, r12: 64. */
.macro set_xor
    vtrn.32 q0, q1
    vtrn.32 q2, q3
    vld1.32 {d28, d29}, [r8:128]!           /* initial a */
    vtrn.32 q9, q4
    vstmia r1, {d16, d17}                   /* c1 to memory */
    vswp d1, d4
    vswp d3, d6
    vtrn.32 q15, q6
    vld1.8 {d16, d17}, [r7], r12
    vadd.i32 q0, q0, q14
    vadd.i32 q3, q3, q14
    vadd.i32 q2, q2, q14
    vadd.i32 q1, q1, q14
    vld1.8 {d28, d29}, [r7], r12
    veor q8, q8, q0
    vtrn.32 q11, q12
    veor q14, q14, q1
    vst1.8 {d16, d17}, [r9], r12
    vld1.8 {d16, d17}, [r7], r12
    vld1.8 {d0, d1}, [r7], r11
    vswp d25, d12
    vswp d23, d30
    vst1.8 {d28, d29}, [r9], r12
    vld1.32 {d28, d29}, [r8:128]!           /* initial b */
    vld1.8 {d2, d3}, [r7], r12
    veor q8, q8, q2
    veor q0, q0, q3
    vld1.32 {d6, d7}, [r0]                  /* 0 .. 3 */
    vadd.i32 q12, q12, q14
    vst1.8 {d16, d17}, [r9], r12
    vst1.8 {d0, d1}, [r9], r11
    vadd.i32 q11, q11, q14
    add r8, r8, #16
    add r11, r11, #16
    vadd.i32 q13, q13, q3
    vld1.8 {d16, d17}, [r7], r12
    vadd.i32 q15, q15, q14
    vld1.8 {d4, d5}, [r7], r12
    vld1.8 {d0, d1}, [r7], r11
    veor q1, q1, q11
    vtrn.32 q13, q5
    veor q8, q8, q12
    vldmia r1, {d24, d25}                   /* c1 from memory */
    vst1.8 {d2, d3}, [r9], r12
    veor q2, q2, q15
    vadd.i32 q6, q6, q14
    vld1.8 {d28, d29}, [r7], r12
    vld1.32 {d6, d7}, [r8:128]              /* initial d */
    vswp d27, d18
    vst1.8 {d16, d17}, [r9], r12
    vswp d11, d8
    vtrn.32 q7, q12
    vst1.8 {d4, d5}, [r9], r12
    veor q0, q0, q6
    vldr d5, [r1, #24]
    vadd.i32 q13, q13, q3
    vldr d4, [r1, #16]                      /* c2 from memory */
    vadd.i32 q5, q5, q3
    vld1.8 {d2, d3}, [r7], r12
    vst1.8 {d0, d1}, [r9], r11
    vadd.i32 q4, q4, q3
    vadd.i32 q9, q9, q3
    sub r11, r11, #48
    sub r8, r8, #16
    vtrn.32 q2, q10
    veor q14, q14, q13
    vld1.8 {d22, d23}, [r7], r12
    vld1.8 {d16, d17}, [r7], r11
    veor q1, q1, q5
    vld1.32 {d30, d31}, [r8:128]            /* initial c */
    vswp d25, d20
    vld1.8 {d0, d1}, [r7], r12
    vswp d15, d4
    veor q11, q11, q9
    vst1.8 {d28, d29}, [r9], r12
    veor q8, q8, q4
    vld1.8 {d12, d13}, [r7], r12
    vld1.8 {d6, d7}, [r7], r12
    vadd.i32 q7, q7, q15
    vadd.i32 q12, q12, q15
    vst1.8 {d2, d3}, [r9], r12
    vadd.i32 q2, q2, q15
    vst1.8 {d22, d23}, [r9], r12
    vst1.8 {d16, d17}, [r9], r11
    add r11, r11, #240
    vld1.8 {d28, d29}, [r7], r11
    veor q0, q0, q7
    vadd.i32 q10, q10, q15
    veor q6, q6, q12
    veor q3, q3, q2
    veor q14, q14, q10
    vst1.8 {d0, d1}, [r9], r12
    vst1.8 {d12, d13}, [r9], r12
    vst1.8 {d6, d7}, [r9], r12
    vst1.8 {d28, d29}, [r9], r11
.endm

/* The keystream, to r9; r8: initial state, r0: 0 .. 3, r11: 16 - 192, r12: 64. */
.macro set_store
    vtrn.32 q0, q1
    vld1.32 {d28, d29}, [r8:128]!           /* initial a */
    vstmia r1, {d16, d17}                   /* c1 to memory */
    vtrn.32 q2, q3
    vtrn.32 q15, q6
    vtrn.32 q11, q12
    vswp d1, d4
    vswp d3, d6
    vtrn.32 q9, q4
    vld1.32 {d16, d17}, [r8:128]!           /* initial b */
    add r8, r8, #16
    vadd.i32 q0, q0, q14
    vadd.i32 q2, q2, q14
    vswp d23, d30
    vadd.i32 q1, q1, q14
    vst1.32 {d0, d1}, [r9:128], r12
    vadd.i32 q3, q3, q14
    vld1.32 {d28, d29}, [r0]                /* 0 .. 3 */
    vldmia r1, {d0, d1}                     /* c1 from memory */
    vadd.i32 q11, q11, q8
    vswp d25, d12
    vst1.32 {d2, d3}, [r9:128], r12
    vldr d2, [r1, #16]                      /* c2 from memory */
    vadd.i32 q15, q15, q8
    vst1.32 {d4, d5}, [r9:128], r12
    vadd.i32 q13, q13, q14
    vldr d3, [r1, #24]
    vadd.i32 q12, q12, q8
    vtrn.32 q7, q0
    vld1.32 {d28, d29}, [r8:128]            /* initial d */
    vtrn.32 q13, q5
    vst1.32 {d6, d7}, [r9:128], r11
    vadd.i32 q6, q6, q8
    vtrn.32 q1, q10
    sub r8, r8, #16
    add r11, r11, #16
    vswp d27, d18
    vswp d11, d8
    vld1.32 {d4, d5}, [r8:128]              /* initial c */
    vswp d15, d2
    vst1.32 {d22, d23}, [r9:128], r12
    vswp d1, d20
    vst1.32 {d24, d25}, [r9:128], r12
    vadd.i32 q13, q13, q14
    vst1.32 {d30, d31}, [r9:128], r12
    vadd.i32 q5, q5, q14
    vst1.32 {d12, d13}, [r9:128], r11
    vadd.i32 q9, q9, q14
    sub r11, r11, #48
    vst1.32 {d26, d27}, [r9:128], r12
    vadd.i32 q4, q4, q14
    vadd.i32 q7, q7, q2
    vst1.32 {d10, d11}, [r9:128], r12
    vadd.i32 q0, q0, q2
    vst1.32 {d18, d19}, [r9:128], r12
    vst1.32 {d8, d9}, [r9:128], r11
    vadd.i32 q1, q1, q2
    vst1.32 {d14, d15}, [r9:128], r12
    vadd.i32 q10, q10, q2
    vst1.32 {d0, d1}, [r9:128], r12
    vst1.32 {d2, d3}, [r9:128], r12
    vst1.32 {d20, d21}, [r9:128], r11
.endm

/* A column round and a diagonal round of two blocks. */
.macro pair_rounds
    subs r0, r0, #1
    vadd.i32 q0, q0, q1
    vadd.i32 q4, q4, q5
    veor q3, q3, q0
    veor q7, q7, q4
    vrev32.16 q3, q3
    vrev32.16 q7, q7
    vadd.i32 q2, q2, q3
    vadd.i32 q6, q6, q7
    veor q8, q1, q2
    veor q9, q5, q6
    vshl.i32 q1, q8, #12
    vshl.i32 q5, q9, #12
    vsri.32 q1, q8, #20
    vsri.32 q5, q9, #20
    vadd.i32 q0, q0, q1
    vadd.i32 q4, q4, q5
    veor q8, q3, q0
    veor q9, q7, q4
    vshl.i32 q3, q8, #8
    vshl.i32 q7, q9, #8
    vsri.32 q3, q8, #24
    vsri.32 q7, q9, #24
    vadd.i32 q2, q2, q3
    vext.32 q3, q3, q3, #3
    veor q8, q1, q2
    vadd.i32 q6, q6, q7
    vext.32 q7, q7, q7, #3
    vshl.i32 q1, q8, #7
    veor q9, q5, q6
    vext.32 q2, q2, q2, #2
    vsri.32 q1, q8, #25
    vshl.i32 q5, q9, #7
    vext.32 q1, q1, q1, #1
    vsri.32 q5, q9, #25
    vadd.i32 q0, q0, q1
    vext.32 q5, q5, q5, #1
    veor q3, q3, q0
    vadd.i32 q4, q4, q5
    vrev32.16 q3, q3
    veor q7, q7, q4
    vext.32 q6, q6, q6, #2
    vadd.i32 q2, q2, q3
    vrev32.16 q7, q7
    veor q8, q1, q2
    vadd.i32 q6, q6, q7
    vshl.i32 q1, q8, #12
    veor q9, q5, q6
    vsri.32 q1, q8, #20
    vshl.i32 q5, q9, #12
    vadd.i32 q0, q0, q1
    vsri.32 q5, q9, #20
    veor q8, q3, q0
    vadd.i32 q4, q4, q5
    vshl.i32 q3, q8, #8
    veor q9, q7, q4
    vsri.32 q3, q8, #24
    vshl.i32 q7, q9, #8
    vadd.i32 q2, q2, q3
    vsri.32 q7, q9, #24
    vext.32 q3, q3, q3, #1
    veor q8, q1, q2
    vadd.i32 q6, q6, q7
    vext.32 q7, q7, q7, #1
    veor q9, q5, q6
    vshl.i32 q1, q8, #7
    vext.32 q2, q2, q2, #2
    vshl.i32 q5, q9, #7
    vsri.32 q1, q8, #25
    vsri.32 q5, q9, #25
    vext.32 q1, q1, q1, #3
    vext.32 q6, q6, q6, #2
    vext.32 q5, q5, q5, #3
    bne .Lpair_rounds
.endm

/* The same along with h = h r + m, twice. */
.macro pair_rounds_poly
    umull p0, p1, h0, z
    vadd.i32 q4, q4, q5
    umlal p0, p1, h3, x
    vadd.i32 q0, q0, q1
    umlal p0, p1, h2, y
    veor q7, q7, q4
    umlal p0, p1, h1, w
    veor q3, q3, q0
    mul x, h4, x
    vrev32.16 q7, q7
    str p0, [r1, #POLY_LOW]
    mul p0, h4, y
    vrev32.16 q3, q3
    umlal x, p0, h3, y
    ldr y, [r1, #POLY_R1]
    umlal x, p0, h2, w
    vadd.i32 q6, q6, q7
    umlal x, p0, h1, z
    vadd.i32 q2, q2, q3
    umlal x, p0, h0, y
    veor q9, q5, q6
    veor q8, q1, q2
    adds p1, p1, x
    umull x, y, h1, y
    umlal x, y, h3, w
    vshl.i32 q5, q9, #12
    umlal x, y, h2, z
    vshl.i32 q1, q8, #12
    mul w, h4, w
    vsri.32 q5, q9, #20
    mul h4, h4, z
    umlal w, h4, h3, z
    ldrd h3, z, [r1, #POLY_R1]
    vsri.32 q1, q8, #20
    vadd.i32 q4, q4, q5
    umlal x, y, h0, z
    vadd.i32 q0, q0, q1
    umlal w, h4, h1, z
    veor q9, q7, q4
    ldr z, [r1, #MESSAGE]
    umlal w, h4, h2, h3
    ldr h2, [r1, #POLY_R3]
    adcs p0, p0, x
    veor q8, q3, q0
    vshl.i32 q7, q9, #8
    ldr h3, [z, #12]
    umlal w, h4, h0, h2
    ldr h0, [z, #0]
    ldr x, [r1, #POLY_LOW]
    vshl.i32 q3, q8, #8
    ldr h2, [z, #8]
    ldr h1, [z, #4]
    vsri.32 q7, q9, #24
    vsri.32 q3, q8, #24
    adcs y, y, w
    adc h4, h4, #0
    adds x, x, h0
    vadd.i32 q6, q6, q7
    adcs p1, p1, h1
    adcs p0, p0, h2
    vadd.i32 q2, q2, q3
    vext.32 q7, q7, q7, #3
    adcs y, y, h3
    adc h4, h4, #0
    veor q9, q5, q6
    veor q8, q1, q2
    bic w, h4, #3
    ldr z, [r1, #POLY_R0]
    add w, w, w, lsr #2
    and h4, h4, #3
    vshl.i32 q5, q9, #7
    vshl.i32 q1, q8, #7
    adds h0, x, w
    ldr w, [r1, #POLY_S3]
    adcs h1, p1, #0
    vsri.32 q5, q9, #25
    adcs h2, p0, #0
    umull p0, p1, h0, z
    vsri.32 q1, q8, #25
    adcs h3, y, #0
    ldrd x, y, [r1, #POLY_S1]
    vext.32 q5, q5, q5, #1
    vext.32 q1, q1, q1, #1
    umlal p0, p1, h3, x
    vext.32 q3, q3, q3, #3
    vadd.i32 q4, q4, q5
    umlal p0, p1, h2, y
    vadd.i32 q0, q0, q1
    umlal p0, p1, h1, w
    adc h4, h4, #1
    vext.32 q6, q6, q6, #2
    mul x, h4, x
    veor q7, q7, q4
    str p0, [r1, #POLY_LOW]
    veor q3, q3, q0
    mul p0, h4, y
    vext.32 q2, q2, q2, #2
    umlal x, p0, h3, y
    ldr y, [r1, #POLY_R1]
    umlal x, p0, h2, w
    vrev32.16 q3, q3
    umlal x, p0, h1, z
    vrev32.16 q7, q7
    umlal x, p0, h0, y
    vadd.i32 q2, q2, q3
    vadd.i32 q6, q6, q7
    adds p1, p1, x
    umull x, y, h1, y
    veor q8, q1, q2
    umlal x, y, h3, w
    mul w, h4, w
    veor q9, q5, q6
    mul h4, h4, z
    vshl.i32 q1, q8, #12
    umlal x, y, h2, z
    vshl.i32 q5, q9, #12
    umlal w, h4, h3, z
    ldrd h3, z, [r1, #POLY_R1]
    vsri.32 q1, q8, #20
    vsri.32 q5, q9, #20
    umlal x, y, h0, z
    vadd.i32 q0, q0, q1
    umlal w, h4, h1, z
    vadd.i32 q4, q4, q5
    ldr z, [r1, #MESSAGE]
    umlal w, h4, h2, h3
    ldr h2, [r1, #POLY_R3]
    veor q8, q3, q0
    adcs p0, p0, x
    veor q9, q7, q4
    ldr x, [r1, #POLY_LOW]
    umlal w, h4, h0, h2
    ldr h2, [z, #24]
    vshl.i32 q3, q8, #8
    ldr h0, [z, #16]
    ldr h3, [z, #28]
    vshl.i32 q7, q9, #8
    ldr h1, [z, #20]
    adcs y, y, w
    vsri.32 q3, q8, #24
    adc h4, h4, #0
    adds x, x, h0
    vsri.32 q7, q9, #24
    add z, z, #32
    adcs p1, p1, h1
    vadd.i32 q2, q2, q3
    adcs p0, p0, h2
    adcs y, y, h3
    vadd.i32 q6, q6, q7
    vext.32 q3, q3, q3, #1
    adc h4, h4, #0
    str z, [r1, #MESSAGE]
    veor q9, q5, q6
    ldr z, [r1, #POLY_R0]
    bic w, h4, #3
    veor q8, q1, q2
    vext.32 q2, q2, q2, #2
    add w, w, w, lsr #2
    and h4, h4, #3
    vshl.i32 q5, q9, #7
    vshl.i32 q1, q8, #7
    adds h0, x, w
    adcs h1, p1, #0
    ldr w, [r1, #POLY_S3]
    vext.32 q7, q7, q7, #1
    adcs h2, p0, #0
    ldr p0, [r1, #LEFT]
    vsri.32 q5, q9, #25
    vsri.32 q1, q8, #25
    adcs h3, y, #0
    ldrd x, y, [r1, #POLY_S1]
    adc h4, h4, #1
    subs p0, p0, #1
    vext.32 q5, q5, q5, #3
    str p0, [r1, #LEFT]
    vext.32 q1, q1, q1, #3
    vext.32 q6, q6, q6, #2
    bne .Lpair_poly
.endm

/* h = h r; x, y: s1, s2; w: s3; z: r0. The four sums are independent of each other: the products with h4 begin the second and
 * fourth, which lie a word higher than the first and third and are added to them in the end. */
.macro poly_multiply
    umull p0, p1, h0, z
    umlal p0, p1, h3, x
    umlal p0, p1, h2, y
    umlal p0, p1, h1, w
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
    umlal x, y, h2, z
    mul h4, h4, z
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
    adds h0, x, w
    adcs h1, p1, #0
    adcs h2, p0, #0
    and h4, h4, #3
    adcs h3, y, #0
    adc h4, h4, #0
.endm

/* r0 .. r3 from r2 .. r5, s0 .. s3 from r6 .. r9 (RFC 8439, 2.6); and h = 0. */
.macro poly_key
    add r12, r1, #POLY_S
    stmia r12, {r6, r7, r8, r9}
    bic r2, r2, #0xf0000000
    bic r3, r3, #0xf0000003
    bic r4, r4, #0xf0000003
    bic r5, r5, #0xf0000003
    add r12, r1, #POLY_R1
    stmia r12, {r3, r4, r5}
    add r3, r3, r3, lsr #2
    add r4, r4, r4, lsr #2
    add r5, r5, r5, lsr #2
    stmdb r1, {r3, r4, r5, r6}
    str r2, [r1, #POLY_R0]
    mov h0, #0
    mov h1, #0
    mov h2, #0
    mov h3, #0
    mov h4, #0
.endm

/* tag = (h mod 2^130 - 5) + s mod 2^128, in h0 .. h3 */
.macro poly_tag
    poly_reduce
    adds h0, h0, r7
    adcs h1, h1, r8
    adcs h2, h2, r9
    adc h3, h3, r11
.endm
