#include "textflag.h"

// func sumWide(p unsafe.Pointer, blocks int) uint64
//
// The 32-bit words of blocks of 64 bytes, added in lanes of 64 bits: the even ones and the odd ones of each half. As 2^32 is 1 modulo 2^16 - 1,
// this is their one's complement sum.
TEXT ·sumWide(SB), NOSPLIT, $0-24
	MOVQ     p+0(FP), SI
	MOVQ     blocks+8(FP), CX
	VPXOR    Y0, Y0, Y0
	VPXOR    Y1, Y1, Y1
	VPXOR    Y2, Y2, Y2
	VPXOR    Y3, Y3, Y3
	VPCMPEQD Y8, Y8, Y8
	VPSRLQ   $32, Y8, Y8

next:
	VMOVDQU (SI), Y4
	VMOVDQU 32(SI), Y5
	VPAND   Y8, Y4, Y6
	VPAND   Y8, Y5, Y7
	VPSRLQ  $32, Y4, Y4
	VPSRLQ  $32, Y5, Y5
	VPADDQ  Y6, Y0, Y0
	VPADDQ  Y7, Y1, Y1
	VPADDQ  Y4, Y2, Y2
	VPADDQ  Y5, Y3, Y3
	ADDQ    $64, SI
	DECQ    CX
	JNZ     next

	VPADDQ       Y1, Y0, Y0
	VPADDQ       Y3, Y2, Y2
	VPADDQ       Y2, Y0, Y0
	VEXTRACTI128 $1, Y0, X1
	VPADDQ       X1, X0, X0
	VPSRLDQ      $8, X0, X1
	VPADDQ       X1, X0, X0
	VMOVQ        X0, AX
	VZEROUPPER
	MOVQ         AX, ret+16(FP)
	RET
