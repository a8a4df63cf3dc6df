/* Four words in integer registers, at any address of memory. */
.macro load_words from, a, b, c, d, offset=0
    ldr \a, [\from, #\offset]
    ldr \b, [\from, #\offset + 4]
    ldr \c, [\from, #\offset + 8]
    ldr \d, [\from, #\offset + 12]
.endm

.macro store_words to, a, b, c, d, offset=0
    str \a, [\to, #\offset]
    str \b, [\to, #\offset + 4]
    str \c, [\to, #\offset + 8]
    str \d, [\to, #\offset + 12]
.endm
