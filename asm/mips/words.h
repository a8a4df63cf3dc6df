/* Words in memory, for the kernels of 32-bit MIPS. */

/* The lower and the upper word of a slot of 8 bytes; what lwl and lwr take of a word at any address. */
#if defined(__MIPSEB__)
#define HIGH 0
#define LOW 4
#define LWL 0
#define LWR 3
#else
#define LOW 0
#define HIGH 4
#define LWR 0
#define LWL 3
#endif

#define consts $6
#define scratch $5
#define args $4

/* A pointer: in C the value of a slot, in Go its first word. */
#if defined(SEALANE_GO)
#define POINTER 0
#else
#define POINTER LOW
#endif

/* A word as it lies at any address. */
.macro load_any x, at, from
    lwl \x, \at + LWL(\from)
    lwr \x, \at + LWR(\from)
.endm

.macro store_any x, at, to
    swl \x, \at + LWL(\to)
    swr \x, \at + LWR(\to)
.endm

.macro swap_bytes x
    wsbh \x, \x
    rotr \x, \x, 16
.endm

/* Between a word and the four bytes of it in memory, least significant first. */
.macro little x
#if defined(__MIPSEB__)
    swap_bytes \x
#endif
.endm

/* Most significant first. */
.macro big x
#if !defined(__MIPSEB__)
    swap_bytes \x
#endif
.endm
