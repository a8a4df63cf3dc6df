#include "textflag.h"

// func Prefetch(lines []unsafe.Pointer)
TEXT ·Prefetch(SB), NOSPLIT, $0-24
	MOVD lines_base+0(FP), R0
	MOVD lines_len+8(FP), R1
	CBZ  R1, done

next:
	MOVD.P 8(R0), R2
	PRFM (R2), PLDL1KEEP
	SUBS $1, R1
	BNE  next

done:
	RET

// func PrefetchBytes(b []byte)
TEXT ·PrefetchBytes(SB), NOSPLIT, $0-24
	MOVD b_base+0(FP), R0
	MOVD b_len+8(FP), R1
	ADD  R0, R1

more:
	CMP  R1, R0
	BHS  end
	PRFM (R0), PLDL2KEEP
	ADD  $64, R0
	B    more

end:
	RET
