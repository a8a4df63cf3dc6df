/* ChaCha20 (RFC 8439, 2.1): a quarter round's rotations to the left, in their order, for the kernels of all
 * instruction sets. Rotations by whole bytes are often byte shuffles, whose masks are constants for 16 and 8. A
 * file with byte shuffles defines ROTATE_BYTES_FIXED before it includes this one.
 */
#define ROTATE_1 16
#define ROTATE_2 12
#define ROTATE_3 8
#define ROTATE_4 7

#if defined(ROTATE_BYTES_FIXED) && (ROTATE_1 != 16 || ROTATE_3 != 8)
#error "byte shuffles rotate by 16 and by 8"
#endif
