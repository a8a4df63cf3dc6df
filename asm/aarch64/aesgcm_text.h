/* The code that the AES-GCM kernels share. */

/* Copies 1 to 15 bytes, x's, by two overlapping loads and stores. */
.macro copy_partial x, from, to
    tbz \x, #3, 1f
    ldr t0, [\from]
    add t2, \from, \x
    ldur t1, [t2, #-8]
    add t2, \to, \x
    str t0, [\to]
    stur t1, [t2, #-8]
    b 4f
1:
    tbz \x, #2, 2f
    ldr t0d, [\from]
    add t2, \from, \x
    ldur t1d, [t2, #-4]
    add t2, \to, \x
    str t0d, [\to]
    stur t1d, [t2, #-4]
    b 4f
2:
    tbz \x, #1, 3f
    ldrh t0d, [\from]
    add t2, \from, \x
    ldurb t1d, [t2, #-1]
    add t2, \to, \x
    strh t0d, [\to]
    sturb t1d, [t2, #-1]
    b 4f
3:
    ldrb t0d, [\from]
    strb t0d, [\to]
4:
.endm

/* The next block of the data at `ad`, of which \left bytes are left, padded with zeroes, to q0; PART_IN is relative to
 * \base. The two go on; zero: #0 or xzr. */
.macro next_ad ad, left, base, zero
    subs \left, \left, #16
    b.lo 5f
    ldr q0, [\ad], #16
    b 6f
5:
    add \left, \left, #16
    add t3, \base, #PART_IN
    stp xzr, xzr, [t3]
    copy_partial \left, \ad, t3
    ldr q0, [\base, #PART_IN]
    mov \left, \zero
6:
.endm
