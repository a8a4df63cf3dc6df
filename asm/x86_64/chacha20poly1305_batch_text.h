/* The code that the ChaCha20-Poly1305 kernels of many packets share: the beginning of a call and of a wave. The
 * includer defines the places in scratch memory SAVED_ARGS, SAVED_CONSTS, ACTIVE (packets that have blocks left) and
 * BLOCKS (how many each has). The last two have 32 bits per packet.
 */

/* r12: the first lane, r13: how many there are. */
.macro batch_begin
    mov r12, [args + SEALANE_BATCH_LANES]
    mov r13, [args + SEALANE_BATCH_COUNT]
    test r13, r13
    jz .Lend
    mov [scratch + SAVED_ARGS], args
    mov [scratch + SAVED_CONSTS], consts
.endm

/* For the packets added to the wave so far: r8 is their number, r9 their blocks of text, r10 the number of those with
 * text. r11 is 1. */
.macro wave_begin
    xor r8d, r8d
    xor r9d, r9d
    xor r10d, r10d
    mov r11d, 1
.endm

/* Counts the blocks of packet r8, which has rax bytes of text: the blocks of text, and block 0. */
.macro count_blocks
    add rax, 63
    shr rax, 6
    add r9, rax
    mov [scratch + ACTIVE + 4*r10], r8d
    cmp rax, r11
    sbb r10d, -1                                                                /* stays active if it has text */
    inc eax
    mov [scratch + BLOCKS + 4*r8], eax
.endm
