/* SubBytes (FIPS 197, 5.1.1), bit-sliced, in integer registers: planes 7 .. 0, u0 .. u7 in the formulas, come from the
 * eight words at r1 + PLANES, plane 0 first, and go, s0 .. s7, to those at r1 + OUTPUT. The constant 0x63 is left to
 * the round keys. All registers but r1; 16 words at r1 + SPILL.
 *
 * The circuit is that of Boyar and Peralta, "A small depth-16 circuit for the AES S-box" (2011), whose names these are.
 * The order keeps as much as possible in registers.
 */
.macro sub_bytes
    ldr r4, [r1, #PLANES + 12]          /* u4 */
    ldr r2, [r1, #PLANES + 16]          /* u3 */
    ldr r5, [r1, #PLANES + 4]           /* u6 */
    ldr r7, [r1, #PLANES + 8]           /* u5 */
    ldr r0, [r1, #PLANES + 28]          /* u0 */
    ldr r12, [r1, #PLANES + 24]         /* u1 */
    eor r8, r2, r7                      /* y14 = u3 ^ u5 */
    eor r6, r0, r5                      /* y13 = u0 ^ u6 */
    eor r9, r6, r8                      /* y12 = y13 ^ y14 */
    eor r11, r4, r9                     /* t1 = u4 ^ y12 */
    eor r5, r7, r11                     /* y15 = u5 ^ t1 */
    ldr r7, [r1, #PLANES + 20]          /* u2 */
    eor r3, r0, r2                      /* y9 = u0 ^ u3 */
    eor r0, r11, r12                    /* y20 = t1 ^ u1 */
    eor r2, r0, r3                      /* y11 = y20 ^ y9 */
    eor r11, r12, r7                    /* t0 = u1 ^ u2 */
    str r8, [r1, #SPILL + 28]           /* y14 */
    eor r7, r5, r11                     /* y10 = y15 ^ t0 */
    eor r11, r7, r2                     /* y17 = y10 ^ y11 */
    str r6, [r1, #SPILL + 0]            /* y13 */
    and r4, r3, r2                      /* t12 = y9 & y11 */
    and r12, r8, r11                    /* t13 = y14 & y17 */
    eor r8, r5, r11                     /* y16 = y15 ^ y17 */
    and r6, r6, r8                      /* t7 = y13 & y16 */
    str r8, [r1, #SPILL + 4]            /* y16 */
    eor r11, r2, r8                     /* t0 = y11 ^ y16 */
    str r5, [r1, #SPILL + 36]           /* y15 */
    ldr r8, [r1, #PLANES + 0]           /* u7 */
    str r2, [r1, #SPILL + 12]           /* y11 */
    eor r12, r12, r4                    /* t14 = t13 ^ t12 */
    eor r2, r11, r8                     /* y1 = t0 ^ u7 */
    ldr r11, [r1, #PLANES + 16]         /* u3 */
    str r3, [r1, #SPILL + 8]            /* y9 */
    str r9, [r1, #SPILL + 40]           /* y12 */
    eor r3, r2, r11                     /* y4 = y1 ^ u3 */
    and r11, r3, r8                     /* t5 = y4 & u7 */
    eor r8, r3, r9                      /* y3 = y4 ^ y12 */
    and r9, r9, r5                      /* t2 = y12 & y15 */
    str r3, [r1, #SPILL + 48]           /* y4 */
    str r8, [r1, #SPILL + 24]           /* y3 */
    eor r3, r2, r7                      /* y6 = y1 ^ y10 */
    str r3, [r1, #SPILL + 32]           /* y6 */
    and r3, r8, r3                      /* t3 = y3 & y6 */
    eor r3, r3, r9                      /* t4 = t3 ^ t2 */
    eor r11, r11, r9                    /* t6 = t5 ^ t2 */
    ldr r9, [r1, #PLANES + 4]           /* u6 */
    eor r3, r3, r12                     /* t17 = t4 ^ t14 */
    eor r3, r3, r0                      /* t21 = t17 ^ y20 */
    eor r5, r2, r9                      /* y5 = y1 ^ u6 */
    eor r0, r5, r8                      /* y8 = y5 ^ y3 */
    and r8, r0, r7                      /* t15 = y8 & y10 */
    eor r8, r8, r4                      /* t16 = t15 ^ t12 */
    eor r11, r11, r8                    /* t18 = t6 ^ t16 */
    and r9, r5, r2                      /* t8 = y5 & y1 */
    eor r9, r9, r6                      /* t9 = t8 ^ t7 */
    eor r4, r0, r7                      /* y19 = y8 ^ y10 */
    eor r11, r11, r4                    /* t22 = t18 ^ y19 */
    eor r9, r9, r12                     /* t19 = t9 ^ t14 */
    ldr r12, [r1, #SPILL + 0]           /* y13 */
    ldr r4, [r1, #SPILL + 4]            /* y16 */
    str r2, [r1, #SPILL + 16]           /* y1 */
    str r0, [r1, #SPILL + 20]           /* y8 */
    eor r0, r12, r4                     /* y21 = y13 ^ y16 */
    eor r9, r9, r0                      /* t23 = t19 ^ y21 */
    eor r0, r5, r12                     /* y2 = y5 ^ y13 */
    eor r12, r2, r4                     /* y7 = y1 ^ y16 */
    and r4, r0, r12                     /* t10 = y2 & y7 */
    eor r4, r4, r6                      /* t11 = t10 ^ t7 */
    eor r4, r4, r8                      /* t20 = t11 ^ t16 */
    eor r6, r0, r12                     /* y18 = y2 ^ y7 */
    eor r4, r4, r6                      /* t24 = t20 ^ y18 */
    and r6, r3, r9                      /* t26 = t21 & t23 */
    eor r3, r3, r11                     /* t25 = t21 ^ t22 */
    eor r2, r11, r6                     /* t31 = t22 ^ t26 */
    eor r8, r9, r4                      /* t30 = t23 ^ t24 */
    and r2, r2, r8                      /* t32 = t31 & t30 */
    eor r2, r2, r4                      /* t33 = t32 ^ t24 */
    eor r6, r4, r6                      /* t27 = t24 ^ t26 */
    eor r8, r6, r2                      /* t35 = t27 ^ t33 */
    and r4, r4, r8                      /* t36 = t24 & t35 */
    eor r8, r6, r4                      /* t38 = t27 ^ t36 */
    and r6, r3, r6                      /* t28 = t25 & t27 */
    eor r6, r6, r11                     /* t29 = t28 ^ t22 */
    eor r9, r9, r2                      /* t34 = t23 ^ t33 */
    eor r4, r4, r9                      /* t37 = t36 ^ t34 */
    and r11, r6, r12                    /* z5 = t29 & y7 */
    and r8, r6, r8                      /* t39 = t29 & t38 */
    eor r3, r3, r8                      /* t40 = t25 ^ t39 */
    and r8, r6, r0                      /* z14 = t29 & y2 */
    and r0, r3, r5                      /* z13 = t40 & y5 */
    eor r9, r6, r2                      /* t42 = t29 ^ t33 */
    eor r6, r6, r3                      /* t43 = t29 ^ t40 */
    str r0, [r1, #SPILL + 60]           /* z13 */
    ldr r0, [r1, #SPILL + 8]            /* y9 */
    eor r5, r3, r4                      /* t41 = t40 ^ t37 */
    str r11, [r1, #SPILL + 56]          /* z5 */
    ldr r11, [r1, #SPILL + 12]          /* y11 */
    and r0, r9, r0                      /* z15 = t42 & y9 */
    str r8, [r1, #SPILL + 52]           /* z14 */
    eor r8, r7, r11                     /* y17 = y10 ^ y11 */
    and r7, r5, r7                      /* z8 = t41 & y10 */
    eor r12, r9, r5                     /* t45 = t42 ^ t41 */
    and r9, r9, r11                     /* z6 = t42 & y11 */
    ldr r11, [r1, #SPILL + 16]          /* y1 */
    and r8, r12, r8                     /* z7 = t45 & y17 */
    eor r7, r8, r7                      /* t52 = z7 ^ z8 */
    eor r9, r9, r8                      /* t54 = z6 ^ z7 */
    ldr r8, [r1, #SPILL + 28]           /* y14 */
    str r2, [r1, #SPILL + 44]           /* t33 */
    and r3, r3, r11                     /* z4 = t40 & y1 */
    ldr r11, [r1, #SPILL + 20]          /* y8 */
    and r12, r12, r8                    /* z16 = t45 & y14 */
    eor r0, r0, r12                     /* t46 = z15 ^ z16 */
    and r5, r5, r11                     /* z17 = t41 & y8 */
    eor r5, r12, r5                     /* t55 = z16 ^ z17 */
    ldr r12, [r1, #SPILL + 4]           /* y16 */
    eor r11, r2, r4                     /* t44 = t33 ^ t37 */
    ldr r2, [r1, #SPILL + 24]           /* y3 */
    and r8, r6, r12                     /* z3 = t43 & y16 */
    ldr r12, [r1, #SPILL + 32]          /* y6 */
    and r2, r4, r2                      /* z10 = t37 & y3 */
    and r4, r4, r12                     /* z1 = t37 & y6 */
    ldr r12, [r1, #SPILL + 0]           /* y13 */
    and r6, r6, r12                     /* z12 = t43 & y13 */
    ldr r12, [r1, #SPILL + 36]          /* y15 */
    eor r9, r8, r9                      /* t59 = z3 ^ t54 */
    and r12, r11, r12                   /* z0 = t44 & y15 */
    eor r12, r12, r8                    /* t53 = z0 ^ z3 */
    ldr r8, [r1, #SPILL + 40]           /* y12 */
    and r11, r11, r8                    /* z9 = t44 & y12 */
    eor r8, r3, r0                      /* t58 = z4 ^ t46 */
    eor r7, r7, r8                      /* t62 = t52 ^ t58 */
    eor r11, r11, r2                    /* t49 = z9 ^ z10 */
    eor r11, r11, r8                    /* t63 = t49 ^ t58 */
    eor r3, r3, r9                      /* t64 = z4 ^ t59 */
    eor r9, r9, r11                     /* s0 = t59 ^ t63 */
    eor r4, r4, r11                     /* t66 = z1 ^ t63 */
    ldr r11, [r1, #PLANES + 0]          /* u7 */
    str r9, [r1, #OUTPUT + 28]          /* s0 */
    ldr r9, [r1, #SPILL + 44]           /* t33 */
    eor r8, r12, r4                     /* s3 = t53 ^ t66 */
    str r8, [r1, #OUTPUT + 16]          /* s3 */
    eor r8, r3, r8                      /* s1 = t64 ^ s3 */
    and r11, r9, r11                    /* z2 = t33 & u7 */
    str r8, [r1, #OUTPUT + 24]          /* s1 */
    eor r8, r11, r6                     /* t50 = z2 ^ z12 */
    eor r8, r8, r12                     /* t57 = t50 ^ t53 */
    ldr r12, [r1, #SPILL + 48]          /* y4 */
    eor r0, r0, r8                      /* t60 = t46 ^ t57 */
    and r9, r9, r12                     /* z11 = t33 & y4 */
    ldr r12, [r1, #SPILL + 52]          /* z14 */
    eor r2, r2, r9                      /* t47 = z10 ^ z11 */
    ldr r9, [r1, #SPILL + 60]           /* z13 */
    eor r12, r12, r8                    /* t61 = z14 ^ t57 */
    eor r12, r12, r7                    /* t65 = t61 ^ t62 */
    ldr r8, [r1, #SPILL + 56]           /* z5 */
    eor r3, r3, r12                     /* t67 = t64 ^ t65 */
    eor r2, r2, r12                     /* s5 = t47 ^ t65 */
    eor r9, r8, r9                      /* t48 = z5 ^ z13 */
    str r2, [r1, #OUTPUT + 8]           /* s5 */
    eor r6, r6, r9                      /* t56 = z12 ^ t48 */
    eor r11, r11, r8                    /* t51 = z2 ^ z5 */
    eor r11, r11, r4                    /* s4 = t51 ^ t66 */
    eor r0, r9, r0                      /* s7 = t48 ^ t60 */
    str r11, [r1, #OUTPUT + 12]         /* s4 */
    eor r6, r6, r7                      /* s6 = t56 ^ t62 */
    str r6, [r1, #OUTPUT + 4]           /* s6 */
    eor r5, r5, r3                      /* s2 = t55 ^ t67 */
    str r5, [r1, #OUTPUT + 20]          /* s2 */
    str r0, [r1, #OUTPUT + 0]           /* s7 */
.endm
