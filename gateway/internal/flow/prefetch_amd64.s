#include "textflag.h"

// func Prefetch(lines []unsafe.Pointer)
TEXT ·Prefetch(SB), NOSPLIT, $0-24
	MOVQ lines_base+0(FP), SI
	MOVQ lines_len+8(FP), CX
	TESTQ CX, CX
	JZ   done

next:
	MOVQ (SI), AX
	PREFETCHT0 (AX)
	ADDQ $8, SI
	DECQ CX
	JNZ  next

done:
	RET

// func PrefetchBytes(b []byte)
TEXT ·PrefetchBytes(SB), NOSPLIT, $0-24
	MOVQ b_base+0(FP), SI
	MOVQ b_len+8(FP), CX
	ADDQ SI, CX

more:
	CMPQ SI, CX
	JAE  end
	PREFETCHT1 (SI)
	ADDQ $64, SI
	JMP  more

end:
	RET
