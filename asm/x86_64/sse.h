/* The names and three operands of AVX, made of SSE instructions: one text is a kernel with either. A vector has 128
 * bits, whichever name it has. An operand in memory is last, and aligned. Only commutative instructions have their
 * result last.
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

.macro vpaddd to, a, b
    sse_commutative paddd, \to, \a, \b
.endm

.macro vpaddq to, a, b
    sse_commutative paddq, \to, \a, \b
.endm

.macro vpxor to, a, b
    sse_commutative pxor, \to, \a, \b
.endm

.macro vpor to, a, b
    sse_commutative por, \to, \a, \b
.endm

.macro vpand to, a, b
    sse_commutative pand, \to, \a, \b
.endm

.macro vpslld to, a, b:vararg
    sse_operation pslld, \to, \a, \b
.endm

.macro vpsrld to, a, b:vararg
    sse_operation psrld, \to, \a, \b
.endm

.macro vpsllq to, a, b:vararg
    sse_operation psllq, \to, \a, \b
.endm

.macro vpsrlq to, a, b:vararg
    sse_operation psrlq, \to, \a, \b
.endm

.macro vpsrad to, a, b:vararg
    sse_operation psrad, \to, \a, \b
.endm

.macro vpslldq to, a, b:vararg
    sse_operation pslldq, \to, \a, \b
.endm

.macro vpshufb to, a, b:vararg
    sse_operation pshufb, \to, \a, \b
.endm

.macro vpunpckldq to, a, b:vararg
    sse_operation punpckldq, \to, \a, \b
.endm

.macro vpunpckhdq to, a, b:vararg
    sse_operation punpckhdq, \to, \a, \b
.endm

.macro vpunpcklqdq to, a, b:vararg
    sse_operation punpcklqdq, \to, \a, \b
.endm

.macro vpunpckhqdq to, a, b:vararg
    sse_operation punpckhqdq, \to, \a, \b
.endm

.macro vaesenc to, a, b:vararg
    sse_operation aesenc, \to, \a, \b
.endm

.macro vaesenclast to, a, b:vararg
    sse_operation aesenclast, \to, \a, \b
.endm

.macro vmovhps to, a, b:vararg
    sse_operation movhps, \to, \a, \b
.endm

.macro vpinsrd to, a, b:vararg
    sse_operation pinsrd, \to, \a, \b
.endm

.macro vinsertps to, a, b:vararg
    sse_operation insertps, \to, \a, \b
.endm

.macro vpclmulqdq to, a, b:vararg
    sse_operation pclmulqdq, \to, \a, \b
.endm
