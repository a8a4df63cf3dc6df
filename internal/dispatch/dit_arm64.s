//go:build gc && !purego

#include "textflag.h"

// func pfr0() uint64
TEXT ·pfr0(SB), NOSPLIT, $0-8
	WORD $0xd5380400 // mrs x0, id_aa64pfr0_el1
	MOVD R0, ret+0(FP)
	RET

// func midr() uint64
TEXT ·midr(SB), NOSPLIT, $0-8
	WORD $0xd5380000 // mrs x0, midr_el1
	MOVD R0, ret+0(FP)
	RET

// func ReadDIT() uint64
TEXT ·ReadDIT(SB), NOSPLIT, $0-8
	WORD $0xd53b42a0 // mrs x0, dit
	MOVD R0, ret+0(FP)
	RET

// func WriteDIT(v uint64)
TEXT ·WriteDIT(SB), NOSPLIT, $0-8
	MOVD v+0(FP), R0
	WORD $0xd51b42a0 // msr dit, x0
	RET
