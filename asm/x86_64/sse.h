/* The names and three operands of AVX, implemented with SSE instructions, so that one text is a kernel with either.
 * A vector has 128 bits, whichever name it has. An operand in memory is last, and aligned. Only commutative
 * instructions have their result last.
 */

#define ymm0 xmm0
#define ymm1 xmm1
#define ymm2 xmm2
#define ymm3 xmm3
#define ymm4 xmm4
#define ymm5 xmm5
#define ymm6 xmm6
#define ymm7 xmm7
#define ymm8 xmm8
#define ymm9 xmm9
#define ymm10 xmm10
#define ymm11 xmm11
#define ymm12 xmm12
#define ymm13 xmm13
#define ymm14 xmm14
#define ymm15 xmm15


#define vmovdqa movdqa
#define vmovdqu movdqu
#define vmovd movd
#define vmovq movq
#define vpshufd pshufd
#define vbroadcasti128 movdqu

.macro sse_operation op, to, a, b:vararg
  .ifnc \to, \a
    movdqa \to, \a
  .endif
    \op \to, \b
.endm

.macro sse_commutative op, to, a, b
  .ifc \to, \b
    \op \to, \a
  .else
    sse_operation \op, \to, \a, \b
  .endif
.endm

.irp op, paddd, paddq, pxor, por, pand
.macro v\op to, a, b
    sse_commutative \op, \to, \a, \b
.endm
.endr

.irp op, pslld, psrld, psllq, psrlq, psrad, pslldq, psrldq, pshufb, punpckldq, punpckhdq, punpcklqdq, \
    punpckhqdq, aesenc, aesenclast, aesdec, aesdeclast, movhps, pinsrd, insertps, pclmulqdq
.macro v\op to, a, b:vararg
    sse_operation \op, \to, \a, \b
.endm
.endr
