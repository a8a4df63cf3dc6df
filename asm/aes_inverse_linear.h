/* Decryption in the bit-sliced AES kernels of ARM runs the rounds of encryption backwards. SubBytes is inversion i in
 * GF(2^8) and then a linear map L. L^-1 before and after SubBytes exchanges the two: L^-1 (L i) L^-1 = i L^-1,
 * the inverse of L i. Bit k of L^-1 x is the sum of bits k + 2, k + 5 and k + 7 of x. InvMixColumns is MixColumns of
 * a + 4 (a + a''), where a'' is the opposite row. As polynomials modulo x^4 + 1, its 14, 11, 13, 9 are 2, 3, 1, 1 times
 * 5, 0, 4, 0.
 */

/* L^-1 in place, for kernels with vectors: \v\()0 .. \v\()7 are bits 0 .. 7. t0 .. t5 are used. */
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
