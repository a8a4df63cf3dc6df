/* SubBytes (FIPS 197, 5.1.1), bit-sliced, for the NEON kernels: planes 7 .. 0, u0 .. u7 in the formulas, come in q7 ..
 * q0 and leave, s0 .. s7, in q10, q4, q1, q8, q9, q6, q15, q3. The constant 0x63 is left to the round keys. Nine
 * vectors at r1 + SPILL.
 *
 * The circuit is that of Boyar and Peralta, "A small depth-16 circuit for the AES S-box" (2011), whose names these are.
 * Four sums of products in it are selections, for which NEON has an instruction: t29 = t27 ? t21 : t22, t33 = t31 ? t23
 * : t24, t37 = t23 + (t24 ? t27 : t33), t40 = t21 + (t22 ? t31 : t29). The order keeps as much as possible in
 * registers.
 */
.macro sub_bytes
    veor q13, q5, q6                     /* t0 = u2 ^ u1 */
    veor q12, q1, q3                     /* u4+u6 = u6 ^ u4 */
    veor q11, q2, q7                     /* y8 = u5 ^ u0 */
    veor q8, q2, q4                      /* y14 = u5 ^ u3 */
    veor q12, q12, q4                    /* u3+u4+u6 = u4+u6 ^ u3 */
    veor q2, q0, q1                      /* u6+u7 = u7 ^ u6 */
    veor q1, q0, q13                     /* y1 = u7 ^ t0 */
    vstr d16, [r1, #SPILL + 32]          /* y14 */
    vstr d17, [r1, #SPILL + 40]
    veor q12, q12, q7                    /* y15 = u3+u4+u6 ^ u0 */
    veor q2, q2, q13                     /* y5 = u6+u7 ^ t0 */
    veor q9, q5, q7                      /* u0+u2 = u2 ^ u0 */
    veor q5, q1, q4                      /* y4 = y1 ^ u3 */
    vstr d2, [r1, #SPILL + 96]           /* y1 */
    vstr d3, [r1, #SPILL + 104]
    veor q6, q2, q11                     /* y3 = y5 ^ y8 */
    veor q7, q0, q12                     /* y6 = u7 ^ y15 */
    veor q9, q9, q8                      /* y17 = u0+u2 ^ y14 */
    vstr d12, [r1, #SPILL + 80]          /* y3 */
    vstr d13, [r1, #SPILL + 88]
    veor q14, q12, q13                   /* y10 = y15 ^ t0 */
    vand q13, q6, q7                     /* t3 = y3 & y6 */
    vand q3, q2, q1                      /* t8 = y5 & y1 */
    vand q4, q5, q0                      /* t5 = y4 & u7 */
    vstr d14, [r1, #SPILL + 128]         /* y6 */
    vstr d15, [r1, #SPILL + 136]
    veor q7, q5, q6                      /* y12 = y4 ^ y3 */
    veor q6, q9, q12                     /* y16 = y17 ^ y15 */
    vand q10, q8, q9                     /* t13 = y14 & y17 */
    vand q15, q11, q14                   /* t15 = y8 & y10 */
    vstr d24, [r1, #SPILL + 48]          /* y15 */
    vstr d25, [r1, #SPILL + 56]
    veor q1, q7, q8                      /* y13 = y12 ^ y14 */
    vstr d10, [r1, #SPILL + 112]         /* y4 */
    vstr d11, [r1, #SPILL + 120]
    vand q5, q7, q12                     /* t2 = y12 & y15 */
    veor q12, q8, q11                    /* y9 = y14 ^ y8 */
    veor q8, q9, q14                     /* y11 = y17 ^ y10 */
    veor q4, q4, q5                      /* t6 = t5 ^ t2 */
    veor q13, q13, q5                    /* t4 = t3 ^ t2 */
    vstr d18, [r1, #SPILL + 16]          /* y17 */
    vstr d19, [r1, #SPILL + 24]
    vand q9, q12, q8                     /* t12 = y9 & y11 */
    vstr d0, [r1, #SPILL + 0]            /* u7 */
    vstr d1, [r1, #SPILL + 8]
    vstr d14, [r1, #SPILL + 64]          /* y12 */
    vstr d15, [r1, #SPILL + 72]
    vand q7, q1, q6                      /* t7 = y13 & y16 */
    veor q5, q1, q2                      /* y2 = y13 ^ y5 */
    veor q15, q15, q9                    /* t16 = t15 ^ t12 */
    veor q10, q10, q9                    /* t14 = t13 ^ t12 */
    veor q9, q0, q8                      /* y7 = u7 ^ y11 */
    veor q3, q3, q7                      /* t9 = t8 ^ t7 */
    veor q13, q13, q10                   /* t17 = t4 ^ t14 */
    vand q0, q5, q9                      /* t10 = y2 & y7 */
    veor q3, q3, q10                     /* t19 = t9 ^ t14 */
    veor q10, q8, q12                    /* y20 = y11 ^ y9 */
    veor q0, q0, q7                      /* t11 = t10 ^ t7 */
    veor q7, q1, q6                      /* y21 = y13 ^ y16 */
    veor q0, q0, q15                     /* t20 = t11 ^ t16 */
    veor q3, q3, q7                      /* t23 = t19 ^ y21 */
    veor q7, q5, q9                      /* y18 = y2 ^ y7 */
    veor q13, q13, q10                   /* t21 = t17 ^ y20 */
    veor q10, q11, q14                   /* y19 = y8 ^ y10 */
    veor q0, q0, q7                      /* t24 = t20 ^ y18 */
    vand q7, q13, q3                     /* t26 = t21 & t23 */
    veor q4, q4, q15                     /* t18 = t6 ^ t16 */
    veor q15, q0, q7                     /* t27 = t24 ^ t26 */
    veor q4, q4, q10                     /* t22 = t18 ^ y19 */
    vmov q10, q15                        /* t27 */
    vbsl q10, q13, q4                    /* t29 = t27 ? t21 : t22 */
    veor q7, q4, q7                      /* t31 = t22 ^ t26 */
    vand q5, q10, q5                     /* z14 = t29 & y2 */
    vbsl q4, q7, q10                     /* t40a = t22 ? t31 : t29 */
    vbsl q7, q3, q0                      /* t33 = t31 ? t23 : t24 */
    vand q9, q10, q9                     /* z5 = t29 & y7 */
    veor q4, q4, q13                     /* t40 = t40a ^ t21 */
    vbsl q0, q15, q7                     /* t37a = t24 ? t27 : t33 */
    veor q13, q10, q7                    /* t42 = t29 ^ t33 */
    veor q10, q10, q4                    /* t43 = t29 ^ t40 */
    veor q0, q0, q3                      /* t37 = t37a ^ t23 */
    vand q3, q4, q2                      /* z13 = t40 & y5 */
    vand q15, q10, q1                    /* z12 = t43 & y13 */
    veor q1, q4, q0                      /* t41 = t40 ^ t37 */
    vand q2, q13, q8                     /* z6 = t42 & y11 */
    vand q10, q10, q6                    /* z3 = t43 & y16 */
    veor q6, q13, q1                     /* t45 = t42 ^ t41 */
    vand q13, q13, q12                   /* z15 = t42 & y9 */
    vldr d24, [r1, #SPILL + 16]          /* y17 */
    vldr d25, [r1, #SPILL + 24]
    vand q8, q1, q14                     /* z8 = t41 & y10 */
    vldr d28, [r1, #SPILL + 32]          /* y14 */
    vldr d29, [r1, #SPILL + 40]
    veor q3, q9, q3                      /* t48 = z5 ^ z13 */
    vand q1, q1, q11                     /* z17 = t41 & y8 */
    vldr d22, [r1, #SPILL + 0]           /* u7 */
    vldr d23, [r1, #SPILL + 8]
    vand q12, q6, q12                    /* z7 = t45 & y17 */
    vand q6, q6, q14                     /* z16 = t45 & y14 */
    veor q14, q7, q0                     /* t44 = t33 ^ t37 */
    veor q2, q2, q12                     /* t54 = z6 ^ z7 */
    veor q12, q12, q8                    /* t52 = z7 ^ z8 */
    vldr d16, [r1, #SPILL + 48]          /* y15 */
    vldr d17, [r1, #SPILL + 56]
    vand q11, q7, q11                    /* z2 = t33 & u7 */
    veor q13, q13, q6                    /* t46 = z15 ^ z16 */
    veor q1, q6, q1                      /* t55 = z16 ^ z17 */
    vldr d12, [r1, #SPILL + 64]          /* y12 */
    vldr d13, [r1, #SPILL + 72]
    vand q8, q14, q8                     /* z0 = t44 & y15 */
    veor q9, q11, q9                     /* t51 = z2 ^ z5 */
    veor q11, q11, q15                   /* t50 = z2 ^ z12 */
    veor q8, q8, q10                     /* t53 = z0 ^ z3 */
    veor q10, q10, q2                    /* t59 = z3 ^ t54 */
    vldr d4, [r1, #SPILL + 96]           /* y1 */
    vldr d5, [r1, #SPILL + 104]
    vand q14, q14, q6                    /* z9 = t44 & y12 */
    vldr d12, [r1, #SPILL + 80]          /* y3 */
    vldr d13, [r1, #SPILL + 88]
    veor q15, q15, q3                    /* t56 = z12 ^ t48 */
    veor q11, q11, q8                    /* t57 = t50 ^ t53 */
    vand q4, q4, q2                      /* z4 = t40 & y1 */
    vand q6, q0, q6                      /* z10 = t37 & y3 */
    veor q5, q5, q11                     /* t61 = z14 ^ t57 */
    veor q2, q4, q13                     /* t58 = z4 ^ t46 */
    veor q4, q4, q10                     /* t64 = z4 ^ t59 */
    veor q14, q14, q6                    /* t49 = z9 ^ z10 */
    veor q13, q13, q11                   /* t60 = t46 ^ t57 */
    vldr d22, [r1, #SPILL + 128]         /* y6 */
    vldr d23, [r1, #SPILL + 136]
    veor q12, q12, q2                    /* t62 = t52 ^ t58 */
    veor q14, q14, q2                    /* t63 = t49 ^ t58 */
    vldr d4, [r1, #SPILL + 112]          /* y4 */
    vldr d5, [r1, #SPILL + 120]
    veor q3, q3, q13                     /* s7 = t48 ^ t60 */
    vand q0, q0, q11                     /* z1 = t37 & y6 */
    veor q5, q5, q12                     /* t65 = t61 ^ t62 */
    vand q7, q7, q2                      /* z11 = t33 & y4 */
    veor q0, q0, q14                     /* t66 = z1 ^ t63 */
    veor q10, q10, q14                   /* s0 = t59 ^ t63 */
    veor q6, q6, q7                      /* t47 = z10 ^ z11 */
    veor q8, q8, q0                      /* s3 = t53 ^ t66 */
    veor q9, q9, q0                      /* s4 = t51 ^ t66 */
    veor q7, q4, q5                      /* t67 = t64 ^ t65 */
    veor q6, q6, q5                      /* s5 = t47 ^ t65 */
    veor q15, q15, q12                   /* s6 = t56 ^ t62 */
    veor q1, q1, q7                      /* s2 = t55 ^ t67 */
    veor q4, q4, q8                      /* s1 = t64 ^ s3 */
.endm
