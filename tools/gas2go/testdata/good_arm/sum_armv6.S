/* Adds up bytes: a loop, an early way out, and more machine code than a load of Go's literals reaches.
 *
 *     void sealane_sum_armv6(const args *, void *scratch, const void *consts);
 *
 * out[0..4) = consts[0] + the sum of in[0..bytes).
 */
#include "../asm.S"

isa armv6

function sealane_sum_armv6
    ldr r3, [r0, #SEALANE_ARG_BYTES]
    ldr r4, [r0, #SEALANE_ARG_IN]
    ldr r5, [r0, #SEALANE_ARG_OUT]
    ldr r6, [r2]
    cmp r3, #0
    beq 9f
1:  ldrb r7, [r4], #1
    .rept 700
    add r6, r6, r7
    sub r6, r6, r7
    .endr
    add r6, r6, r7
    subs r3, r3, #1
    bne 1b
9:  str r6, [r5]
    mvn r11, #0
endfunction

constants sealane_sum_armv6_constants
    .long 1000
endconstants
