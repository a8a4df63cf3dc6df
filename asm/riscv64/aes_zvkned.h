/* AES (FIPS 197) with Zvkned: the code that its kernels share. An element group is a block, four elements of 32 bits.
 * Vector registers have numbers: v(n) is the name of number n.
 *
 * The files that include this name the_key, longer and longest: the number of rounds less 10, and less 12.
 */
#define v(n) v_(n)
#define v_(n) v##n

/* Round keys: the first in v1, the last ten in v6 to v15; before those come v4 and v5 of AES-192, v2 to v5 of AES-256.
 */
#define FIRST_KEY 1
#define LAST_KEY 15

/* Loads the round keys into registers, one element group in each. Changes t0 and t1. */
.macro load_round_keys
    addi t0, the_key, SEALANE_GCM_KEY_SCHEDULE
    addi t1, longer, 10
    slli t1, t1, 4
    vle32.v v(FIRST_KEY), (t0)
    add t0, t0, t1
    vle32.v v(LAST_KEY), (t0)
    .irp n, 14, 13, 12, 11, 10, 9, 8, 7, 6
    addi t0, t0, -16
    vle32.v v\n, (t0)
    .endr
    beqz longer, 1f
    .irp n, 5, 4
    addi t0, t0, -16
    vle32.v v\n, (t0)
    .endr
    beqz longest, 1f
    .irp n, 3, 2
    addi t0, t0, -16
    vle32.v v\n, (t0)
    .endr
1:
.endm

/* Blocks \x := AES of them. */
.macro encrypt x
    vaesz_vs_zvkned \x, FIRST_KEY
    beqz longer, 2f
    beqz longest, 1f
    vaesem_vs_zvkned \x, 2
    vaesem_vs_zvkned \x, 3
1:  vaesem_vs_zvkned \x, 4
    vaesem_vs_zvkned \x, 5
2:  .irp n, 6, 7, 8, 9, 10, 11, 12, 13, 14
    vaesem_vs_zvkned \x, \n
    .endr
    vaesef_vs_zvkned \x, LAST_KEY
.endm

.macro decrypt x
    vaesz_vs_zvkned \x, LAST_KEY
    .irp n, 14, 13, 12, 11, 10, 9, 8, 7, 6
    vaesdm_vs_zvkned \x, \n
    .endr
    beqz longer, 2f
    vaesdm_vs_zvkned \x, 5
    vaesdm_vs_zvkned \x, 4
    beqz longest, 2f
    vaesdm_vs_zvkned \x, 3
    vaesdm_vs_zvkned \x, 2
2:  vaesdf_vs_zvkned \x, FIRST_KEY
.endm

/* Makes \n words of counter blocks in \to. The first one is \more after the block in \x. The words have reversed bytes,
 * so that integers can be added to the last word of a block. v0 becomes the mask of these. Changes \free and t0. */
.macro begin_counters to, n, x, more, free
    vsetvli t0, zero, e8, m1, ta, ma
    li t0, 0x88
    vmv.v.x v0, t0
    vsetvli zero, \n, e32, m4, ta, mu
    vmv.v.i v\to, 0
    vid.v v\free
    vaesz_vs_zvkned \to, \x
    vsrl.vi v\free, v\free, 2
    vrev8_v_zvkb \to, \to
    vadd.vx v\free, v\free, \more
    vadd.vv v\to, v\to, v\free, v0.t
.endm

/* The key schedule (5.2), after the raw key. Changes v2 and v3, t0, t1, a5 to a7 and s0 to s2. AES-192 has no
 * instruction. The instruction of AES-128 computes SubWord and RotWord of the last word, with the round constant, in
 * element 0 if the key's other words are zero. */
.macro expand_key
    addi t0, the_key, SEALANE_GCM_KEY_SCHEDULE
    beqz longer, 3f
    beqz longest, 2f
    vle32.v v2, (t0)
    addi t0, t0, 16
    vle32.v v3, (t0)
    .irp n, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14
    addi t0, t0, 16
    .if \n & 1
    vaeskf2_vi_zvkned 3, 2, \n
    vse32.v v3, (t0)
    .else
    vaeskf2_vi_zvkned 2, 3, \n
    vse32.v v2, (t0)
    .endif
    .endr
    j 4f
2:  lw a5, 0(t0)
    lw a6, 4(t0)
    lw a7, 8(t0)
    lw s0, 12(t0)
    lw s1, 16(t0)
    lw s2, 20(t0)
    vmv.v.i v2, 0
    .irp n, 1, 2, 3, 4, 5, 6, 7, 8
    vslide1down.vx v3, v2, s2
    addi t0, t0, 24
    vaeskf1_vi_zvkned 3, 3, \n
    vmv.x.s t1, v3
    xor a5, a5, t1
    xor a6, a6, a5
    xor a7, a7, a6
    xor s0, s0, a7
    xor s1, s1, s0
    xor s2, s2, s1
    sw a5, 0(t0)
    sw a6, 4(t0)
    sw a7, 8(t0)
    sw s0, 12(t0)
    sw s1, 16(t0)
    sw s2, 20(t0)
    .endr
    j 4f
3:  vle32.v v2, (t0)
    .irp n, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10
    addi t0, t0, 16
    vaeskf1_vi_zvkned 2, 2, \n
    vse32.v v2, (t0)
    .endr
4:
.endm
