/* The names and three operands of AVX, made of SSE instructions: one text is a kernel with either. A vector is 128 bits,
 * whichever name it has. An operand in memory is last, and aligned; what is not commutative does not end with its result.
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

.macro sse_operation op, to, a, b
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

.macro vpxor to, a, b
    sse_commutative pxor, \to, \a, \b
.endm

.macro vpor to, a, b
    sse_commutative por, \to, \a, \b
.endm

.macro vpslld to, a, count
    sse_operation pslld, \to, \a, \count
.endm

.macro vpsrld to, a, count
    sse_operation psrld, \to, \a, \count
.endm

.macro vpshufb to, a, b
    sse_operation pshufb, \to, \a, \b
.endm

.macro vpunpckldq to, a, b
    sse_operation punpckldq, \to, \a, \b
.endm

.macro vpunpckhdq to, a, b
    sse_operation punpckhdq, \to, \a, \b
.endm

.macro vpunpcklqdq to, a, b
    sse_operation punpcklqdq, \to, \a, \b
.endm

.macro vpunpckhqdq to, a, b
    sse_operation punpckhqdq, \to, \a, \b
.endm

.macro vpshufd to, from, order
    pshufd \to, \from, \order
.endm

.macro vmovdqa to, from
    movdqa \to, \from
.endm

.macro vmovdqu to, from
    movdqu \to, \from
.endm

.macro vbroadcasti128 to, from
    movdqu \to, \from
.endm
