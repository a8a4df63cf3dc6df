/* GHASH as the AES-GCM kernels compute it, and why. The kernels describe only their own differences.
 *
 * GHASH (NIST SP 800-38D, 6.4) is Horner's rule in GF(2^128): Y := (Y + c) H for every block c. Kernels that take
 * n blocks at a time compute Y := (Y + c) H^n + c' H^(n-1) + .. + c'' H, with one reduction for all.
 *
 * Order      GCM numbers the bits of a block from its first byte's highest, so a block with its bytes reversed is
 *            a polynomial with the coefficients in falling order. Carry-less multiplication of two of these
 *            gives their product divided by x, because 255 coefficients have 256 places.
 * Product    with halves a = a0 + 2^64 a1 and b: low + 2^64 mid + 2^128 high, low = a0 b0, high = a1 b1, and by
 *            Karatsuba's method mid = (a0 + a1)(b0 + b1) + low + high: three multiplications in place of four.
 *            With 32-bit words the same step is repeated: nine in place of sixteen.
 * Reduction  Since coefficients fall, the lower half must be removed. The polynomial x^128 + x^7 + x^2 + x + 1 is
 *            1 + 2^64 P + 2^128 in this order, P = 2^57 + 2^62 + 2^63. Adding w times it, that is P w 2^64 + w 2^128,
 *            removes the lowest 64 bits w. A second step removes the next. With words of 32 bits there are four steps.
 * Powers     That divides by x^128, and the order of bits loses a factor of x as well. Powers of H are stored
 *            multiplied by x, once, when the key is set up, which corrects both.
 */
