/* AES in the modes that do not authenticate: the code that the kernels for 32-bit ARM share. */

/* Bits of the operations that decrypt blocks. */
#define DECRYPTING (1 << SEALANE_AES_ECB_DECRYPT | 1 << SEALANE_AES_CBC_DECRYPT | 1 << SEALANE_AES_XTS_DECRYPT)

/* Goes to .Llanes for CBC encryption (flags: equal) and masks, and to .Lone_text for the counter mode whose number
 * follows theirs. */
.macro one_text_or_lanes operation
    cmp \operation, #SEALANE_AES_CTR_LITTLE
    beq .Lone_text
    cmp \operation, #SEALANE_AES_CBC_ENCRYPT
    bhs .Llanes
.endm

/* Stores the tweak in a .. d at \to, and makes that of the next block: times x in GF(2^128), little-endian (IEEE
 * 1619, 5.2). Changes t. poly: a register that has 0x87, if there is one. */
.macro store_tweak to, a, b, c, d, t, poly
    stmia \to!, {\a, \b, \c, \d}
    adds \a, \a, \a
    adcs \b, \b, \b
    adcs \c, \c, \c
    adcs \d, \d, \d
    sbc \t, \t, \t                         /* -1 without carry */
.ifb \poly
    mvn \t, \t
    and \t, \t, #0x87
.else
    bic \t, \poly, \t
.endif
    eor \a, \a, \t
.endm
