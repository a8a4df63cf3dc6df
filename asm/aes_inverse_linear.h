/* L^-1, with which InvSubBytes (FIPS 197, 5.3.2) begins, in place, for the kernels that bit-slice in vectors of arm64
 * and of 32-bit ARM: \v\()0 .. \v\()7 are bits 0 .. 7. t0 .. t5 are used. */
.macro inverse_linear_of add, move, v, t0, t1, t2, t3, t4, t5
    \add \t0, \v\()0, \v\()3
    \add \t1, \v\()2, \v\()5
    \add \t2, \v\()4, \v\()7
    \add \t3, \v\()6, \v\()1
    \add \t4, \t1, \v\()7    /* 0 = 2 + 5 + 7 */
    \add \t5, \t2, \v\()1    /* 2 = 4 + 7 + 1 */
    \add \v\()7, \t3, \v\()4 /* 7 = 1 + 4 + 6 */
    \add \v\()1, \t0, \v\()6 /* 1 = 3 + 6 + 0 */
    \add \v\()4, \t3, \v\()3 /* 4 = 6 + 1 + 3 */
    \add \v\()6, \t0, \v\()5 /* 6 = 0 + 3 + 5 */
    \add \v\()3, \t1, \v\()0 /* 3 = 5 + 0 + 2 */
    \add \v\()5, \t2, \v\()2 /* 5 = 7 + 2 + 4 */
    \move \v\()0, \t4
    \move \v\()2, \t5
.endm
