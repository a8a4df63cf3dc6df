/* Registers and scratch of AES-GCM on MIPS. WORD is the number of bytes in a register. */

#define x0 $8
#define x1 $9
#define x2 $10
#define x3 $11
#define x4 $12
#define x5 $13
#define x6 $14
#define x7 $15
#define x8 $16
#define x9 $17
#define x10 $18
#define x11 $19
#define x12 $20
#define x13 $21
#define x14 $22
#define x15 $24
#define x16 $25
#define x17 $1
#define x18 $2
#define x19 $3
#define x20 $7
#define x21 $6
#define x22 $4

#define ROW 8*WORD
#define POWERS 4  /* of the hash key; a power of 2 */
#define COLUMN 4*FACTOR /* the same word of POWERS blocks */

/* Scratch. */
#define STATE 256               /* word 8 r + i */
#define KEYS STATE + 4*ROW      /* the same of each round key, 4 bytes of it */
#define WORDS KEYS              /* set-up: the key schedule */
#define TABLE KEYS + 15*128     /* COLUMNS columns */
#define FIFTHS TABLE + COLUMNS*COLUMN /* five masks, from that of bit 0 on */
#define Y FIFTHS + 5*WORD       /* GHASH so far, lowest 4 bytes first */
#define MASK Y + 16             /* encrypted J0 */
#define TAIL MASK + 16          /* a block for GHASH */
#define KEYSTREAM TAIL + 16        /* a block of keystream */
#define ARGS KEYSTREAM + 16
#define FLAGS ARGS + WORD
#define IN ARGS + 2*WORD
#define OUT ARGS + 3*WORD
#define LEFT ARGS + 4*WORD /* bytes of text left */
#define AD ARGS + 5*WORD
#define AD_LEFT ARGS + 6*WORD /* bytes of associated data left */
#define COUNTER ARGS + 7*WORD /* of the next pass's first block */
#define UNUSED ARGS + 8*WORD /* address of the next block of keystream, in row 0 */
#define ROUNDS ARGS + 9*WORD /* left */
#define NEXT_KEY ARGS + 10*WORD
#define PASS ARGS + 11*WORD /* text for the keystream */
#define PHASE ARGS + 12*WORD /* next input of GHASH */
#define NEXT_FACTORS ARGS + 13*WORD /* address of the next block's factors */
#define START ARGS + 14*WORD /* of the factors of the first block of these POWERS */
#define LIMIT ARGS + 15*WORD /* of the factors after the column's last */
#define POWER ARGS + 16*WORD /* set-up: address for the next power */
#define NEXT_WORD ARGS + 17*WORD /* set-up: of the schedule */
#define WORDS_LEFT ARGS + 18*WORD
#define PLACE ARGS + 19*WORD /* the word's number modulo those of the key */
#define KEY_WORDS ARGS + 20*WORD
#define CONSTANT ARGS + 21*WORD /* of the round */

#define LAST_FACTORS TABLE + COLUMN - FACTOR

#define PHASE_AD 0
#define PHASE_TEXT 1
#define PHASE_LENGTHS 2
#define PHASE_SETUP 3

#define PASS_KEYSTREAM 0
#define PASS_J0 1
#define PASS_SETUP 2

/* GHASH. */
#define factors x22 /* of a block */
#define d0 x0       /* every fifth bit of its word, from bit i on */
#define d1 x1
#define d2 x2
#define d3 x3
#define d4 x4
#define e0 x5       /* of the word of its power */
#define e1 x6
#define e2 x7
#define e3 x8
#define e4 x9

/* x15 .. x19 = every fifth bit of \x; x10 .. x14: masks. */
.macro every_fifth x
    and x15, \x, x10
    and x16, \x, x11
    and x17, \x, x12
    and x18, \x, x13
    and x19, \x, x14
.endm
