/* SubBytes (FIPS 197, 5.1.1), bit-sliced, of one row of the state, in place: planes 7 .. 0, u0 .. u7 in the formulas,
 * become s0 .. s7. The constant 0x63 is left to the round keys. All of x0 to x22.
 *
 * The circuit has 113 gates: Calik's version of Boyar and Peralta's, whose names these are (SLP_AES_113.txt at
 * cs.yale.edu/homes/peralta/CircuitStuff; c is their tc). The order keeps all in registers: only y17 is computed, and
 * u7 loaded, a second time.
 */
.macro sub_bytes row
    loadw x0, STATE + ROW*\row + 6*WORD(scratch) /* u1 */
    loadw x1, STATE + ROW*\row + 5*WORD(scratch) /* u2 */
    loadw x2, STATE + ROW*\row + 0*WORD(scratch) /* u7 */
    loadw x3, STATE + ROW*\row + 3*WORD(scratch) /* u4 */
    loadw x4, STATE + ROW*\row + 4*WORD(scratch) /* u3 */
    loadw x5, STATE + ROW*\row + 1*WORD(scratch) /* u6 */
    xor x1, x0, x1                      /* t0 = u1 ^ u2 */
    loadw x6, STATE + ROW*\row + 2*WORD(scratch) /* u5 */
    loadw x7, STATE + ROW*\row + 7*WORD(scratch) /* u0 */
    xor x8, x1, x2                      /* y1 = t0 ^ u7 */
    xor x9, x7, x5                      /* y13 = u0 ^ u6 */
    xor x10, x7, x6                     /* y8 = u0 ^ u5 */
    xor x11, x4, x6                     /* y14 = u3 ^ u5 */
    xor x12, x9, x11                    /* y12 = y13 ^ y14 */
    xor x3, x3, x12                     /* t1 = u4 ^ y12 */
    xor x6, x3, x6                      /* y15 = t1 ^ u5 */
    xor x5, x8, x5                      /* y5 = y1 ^ u6 */
    xor x3, x3, x0                      /* y20 = t1 ^ u1 */
    xor x0, x5, x10                     /* y3 = y5 ^ y8 */
    xor x13, x7, x4                     /* y9 = u0 ^ u3 */
    xor x14, x3, x13                    /* y11 = y20 ^ y9 */
    and x15, x12, x6                    /* t2 = y12 & y15 */
    xor x4, x8, x4                      /* y4 = y1 ^ u3 */
    and x16, x4, x2                     /* t5 = y4 & u7 */
    xor x17, x6, x1                     /* y10 = y15 ^ t0 */
    xor x18, x2, x14                    /* y7 = u7 ^ y11 */
    xor x19, x17, x14                   /* y17 = y10 ^ y11 */
    and x20, x13, x14                   /* t12 = y9 & y11 */
    xor x2, x6, x2                      /* y6 = y15 ^ u7 */
    and x21, x0, x2                     /* t3 = y3 & y6 */
    xor x16, x16, x15                   /* t6 = t5 ^ t2 */
    and x19, x11, x19                   /* t13 = y14 & y17 */
    xor x21, x21, x15                   /* t4 = t3 ^ t2 */
    xor x1, x1, x14                     /* y16 = t0 ^ y11 */
    xor x19, x19, x20                   /* t14 = t13 ^ t12 */
    xor x21, x21, x19                   /* t17 = t4 ^ t14 */
    xor x21, x21, x3                    /* t21 = t17 ^ y20 */
    and x3, x10, x17                    /* t15 = y8 & y10 */
    xor x3, x3, x20                     /* t16 = t15 ^ t12 */
    and x15, x5, x8                     /* t8 = y5 & y1 */
    and x20, x9, x1                     /* t7 = y13 & y16 */
    xor x15, x15, x20                   /* t9 = t8 ^ t7 */
    xor x15, x15, x19                   /* t19 = t9 ^ t14 */
    xor x19, x7, x1                     /* y18 = u0 ^ y16 */
    xor x22, x9, x1                     /* y21 = y13 ^ y16 */
    xor x15, x15, x22                   /* t23 = t19 ^ y21 */
    xor x7, x8, x7                      /* y2 = y1 ^ u0 */
    and x22, x7, x18                    /* t10 = y2 & y7 */
    xor x22, x22, x20                   /* t11 = t10 ^ t7 */
    xor x16, x16, x3                    /* t18 = t6 ^ t16 */
    xor x22, x22, x3                    /* t20 = t11 ^ t16 */
    xor x22, x22, x19                   /* t24 = t20 ^ y18 */
    xor x3, x17, x10                    /* y19 = y10 ^ y8 */
    and x19, x21, x15                   /* t26 = t21 & t23 */
    xor x16, x16, x3                    /* t22 = t18 ^ y19 */
    xor x21, x21, x16                   /* t25 = t21 ^ t22 */
    xor x3, x15, x22                    /* t30 = t23 ^ t24 */
    xor x20, x22, x19                   /* t27 = t24 ^ t26 */
    xor x19, x16, x19                   /* t31 = t22 ^ t26 */
    and x19, x19, x3                    /* t32 = t31 & t30 */
    xor x19, x19, x22                   /* t33 = t32 ^ t24 */
    xor x3, x20, x19                    /* t35 = t27 ^ t33 */
    and x22, x22, x3                    /* t36 = t24 & t35 */
    xor x15, x15, x19                   /* t34 = t23 ^ t33 */
    xor x3, x20, x22                    /* t38 = t27 ^ t36 */
    and x20, x21, x20                   /* t28 = t25 & t27 */
    xor x22, x22, x15                   /* t37 = t36 ^ t34 */
    xor x20, x20, x16                   /* t29 = t28 ^ t22 */
    and x2, x22, x2                     /* z1 = t37 & y6 */
    and x0, x22, x0                     /* z10 = t37 & y3 */
    and x3, x20, x3                     /* t39 = t29 & t38 */
    xor x21, x21, x3                    /* t40 = t25 ^ t39 */
    xor x3, x19, x22                    /* t44 = t33 ^ t37 */
    and x5, x21, x5                     /* z13 = t40 & y5 */
    and x6, x3, x6                      /* z0 = t44 & y15 */
    xor x22, x21, x22                   /* t41 = t40 ^ t37 */
    and x3, x3, x12                     /* z9 = t44 & y12 */
    and x7, x20, x7                     /* z14 = t29 & y2 */
    loadw x12, STATE + ROW*\row + 0*WORD(scratch) /* u7 */
    xor x15, x20, x21                   /* t43 = t29 ^ t40 */
    and x12, x19, x12                   /* z2 = t33 & u7 */
    and x21, x21, x8                    /* z4 = t40 & y1 */
    and x18, x20, x18                   /* z5 = t29 & y7 */
    xor x20, x20, x19                   /* t42 = t29 ^ t33 */
    and x9, x15, x9                     /* z12 = t43 & y13 */
    and x19, x19, x4                    /* z11 = t33 & y4 */
    and x15, x15, x1                    /* z3 = t43 & y16 */
    xor x18, x15, x18                   /* c12 = z3 ^ z5 */
    xor x15, x15, x21                   /* c6 = z3 ^ z4 */
    xor x2, x2, x6                      /* c5 = z1 ^ z0 */
    xor x6, x6, x12                     /* c4 = z0 ^ z2 */
    and x1, x20, x14                    /* z6 = t42 & y11 */
    xor x14, x17, x14                   /* y17 = y10 ^ y11 */
    and x13, x20, x13                   /* z15 = t42 & y9 */
    xor x20, x20, x22                   /* t45 = t42 ^ t41 */
    and x10, x22, x10                   /* z17 = t41 & y8 */
    and x22, x22, x17                   /* z8 = t41 & y10 */
    xor x2, x15, x2                     /* c11 = c6 ^ c5 */
    and x14, x20, x14                   /* z7 = t45 & y17 */
    and x20, x20, x11                   /* z16 = t45 & y14 */
    xor x14, x14, x15                   /* c8 = z7 ^ c6 */
    xor x18, x6, x18                    /* c14 = c4 ^ c12 */
    xor x20, x13, x20                   /* c1 = z15 ^ z16 */
    xor x6, x9, x6                      /* c7 = z12 ^ c4 */
    xor x22, x22, x6                    /* c9 = z8 ^ c7 */
    xor x0, x0, x20                     /* c2 = z10 ^ c1 */
    xor x5, x5, x20                     /* c13 = z13 ^ c1 */
    xor x1, x1, x14                     /* c16 = z6 ^ c8 */
    xor x14, x14, x22                   /* c10 = c8 ^ c9 */
    xor x19, x0, x19                    /* c21 = c2 ^ z11 */
    xor x3, x3, x0                      /* c3 = z9 ^ c2 */
    xor x7, x7, x14                     /* c17 = z14 ^ c10 */
    xor x5, x5, x18                     /* c18 = c13 ^ c14 */
    xor x9, x9, x5                      /* s7 = z12 ^ c18 */
    storew x9, STATE + ROW*\row + 0*WORD(scratch)
    xor x2, x3, x2                      /* s3 = c3 ^ c11 */
    storew x2, STATE + ROW*\row + 4*WORD(scratch)
    xor x14, x14, x5                    /* s6 = c10 ^ c18 */
    storew x14, STATE + ROW*\row + 1*WORD(scratch)
    xor x18, x18, x2                    /* s4 = c14 ^ s3 */
    storew x18, STATE + ROW*\row + 3*WORD(scratch)
    xor x2, x2, x1                      /* s1 = s3 ^ c16 */
    storew x2, STATE + ROW*\row + 6*WORD(scratch)
    xor x3, x3, x1                      /* s0 = c3 ^ c16 */
    storew x3, STATE + ROW*\row + 7*WORD(scratch)
    xor x13, x13, x1                    /* c20 = z15 ^ c16 */
    xor x19, x19, x7                    /* s5 = c21 ^ c17 */
    storew x19, STATE + ROW*\row + 2*WORD(scratch)
    xor x7, x7, x13                     /* c26 = c17 ^ c20 */
    xor x7, x7, x10                     /* s2 = c26 ^ z17 */
    storew x7, STATE + ROW*\row + 5*WORD(scratch)
.endm
