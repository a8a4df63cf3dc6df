/* Words in memory: WORD is the number of bytes in a register and in a pointer. */

/* The lower and the upper half of a slot of 8 bytes. */
#if defined(__MIPSEB__)
#define LOW 4
#define HIGH 0
#else
#define LOW 0
#define HIGH 4
#endif

#define args $4
#define scratch $5
#define consts $6

#if defined(__mips64)
#define WORD 8
#define loadw ld
#define storew sd
#define srlw dsrl
#define sllw dsll
#define addp daddu
#define subp dsubu
#define addip daddiu
#define POINTER 0
#define SIZE 0
#else
#define WORD 4
#define loadw lw
#define storew sw
#define srlw srl
#define sllw sll
#define addp addu
#define subp subu
#define addip addiu
#define SIZE LOW
#if defined(SEALANE_GO)
#define POINTER 0 /* the first word of its slot; in C a pointer is the value of a slot */
#else
#define POINTER LOW
#endif
#endif

.macro load_pointer x, slot, from
    loadw \x, \slot + POINTER(\from)
.endm

.macro load_size x, slot, from
    loadw \x, \slot + SIZE(\from)
.endm

/* \left and \right (lwl, lwr, ...) of \x, \bytes long, at any address. */
.macro any_address left, right, bytes, x, at, from
#if defined(__MIPSEB__)
    \left \x, \at(\from)
    \right \x, \at + \bytes - 1(\from)
#else
    \left \x, \at + \bytes - 1(\from)
    \right \x, \at(\from)
#endif
.endm

/* Four bytes as they lie at any address. */
.macro load_any x, at, from
    any_address lwl, lwr, 4, \x, \at, \from
.endm

.macro store_any x, at, to
    any_address swl, swr, 4, \x, \at, \to
.endm

.macro swap_bytes x
    wsbh \x, \x
    rotr \x, \x, 16
.endm

/* Converts between a number and its four bytes in memory, least significant first. */
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
