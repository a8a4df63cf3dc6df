//go:build gc && !purego

package kernel

import "github.com/sealane/sealane/internal/dispatch"

// chaCha20Poly1305Rows lists the kernels. What they need is what their isa lines say: TestNeeds compares.
func chaCha20Poly1305Rows() []dispatch.Row {
	return []dispatch.Row{
		{
			Level:   uint8(AVX512),
			Name:    "avx512",
			Summary: "up to 32 blocks at a time in 512-bit vectors, Poly1305 with 52-bit multiply-add",
			Needs:   []string{"avx", "avx2", "bmi", "bmi2", "avx512f", "avx512vl", "avx512bw", "avx512ifma"},
			Test:    chaCha20Poly1305TestOf(AVX512),
			Samples: chaCha20Poly1305SamplesOf(AVX512),
		},
		{
			Level:   uint8(AVX512Mix),
			Name:    "avx512mix",
			Summary: "avx512vl for packets of at most 320 bytes and opening 513 to 576, avx512 for others",
			Needs:   []string{"sse2", "ssse3", "sse4.1", "avx", "avx2", "bmi", "bmi2", "avx512f", "avx512vl", "avx512bw", "avx512ifma"},
			Test:    chaCha20Poly1305TestOf(AVX512Mix),
			Samples: chaCha20Poly1305SamplesOf(AVX512Mix),
		},
		{
			Level:   uint8(AVX512VL),
			Name:    "avx512vl",
			Summary: "2 to 8 blocks at a time in 256-bit vectors with a rotation, Poly1305 in integer registers meanwhile",
			Needs:   []string{"sse2", "ssse3", "sse4.1", "avx", "avx2", "bmi2", "avx512f", "avx512vl"},
			Test:    chaCha20Poly1305TestOf(AVX512VL),
			Samples: chaCha20Poly1305SamplesOf(AVX512VL),
		},
		{
			Level:   uint8(AVX2),
			Name:    "avx2",
			Summary: "2 to 8 blocks at a time in 256-bit vectors, Poly1305 in integer registers meanwhile",
			Needs:   []string{"sse2", "ssse3", "sse4.1", "avx", "avx2", "bmi2"},
			Test:    chaCha20Poly1305TestOf(AVX2),
			Samples: chaCha20Poly1305SamplesOf(AVX2),
		},
		{
			Level:   uint8(SSSE3),
			Name:    "ssse3",
			Summary: "1 to 4 blocks at a time in 128-bit vectors, Poly1305 in integer registers meanwhile",
			Needs:   []string{"sse2", "ssse3"},
			Test:    chaCha20Poly1305TestOf(SSSE3),
		},
	}
}

// ChaCha20Poly1305 runs a level's kernel. The CPU must have what it needs.
func ChaCha20Poly1305(level Level, a *Args) {
	switch level {
	case AVX512:
		ChaCha20Poly1305AVX512(a)
	case AVX512Mix:
		ChaCha20Poly1305AVX512Mix(a)
	case AVX512VL:
		ChaCha20Poly1305AVX512VL(a)
	case AVX2:
		ChaCha20Poly1305AVX2(a)
	case SSSE3:
		ChaCha20Poly1305SSSE3(a)
	default:
		ChaCha20Poly1305Portable(a)
	}
	raceArgs(a)
}

// ChaCha20Poly1305AVX512Mix is of two kernels: whole packets leave no state, so one does the short ones, and the other
// all else.
func ChaCha20Poly1305AVX512Mix(a *Args) {
	const whole = FlagFirst | FlagLast
	opened := a.Flags&FlagOpen != 0 && a.Bytes > 512 && a.Bytes <= 576
	if a.Flags&whole == whole && (a.Bytes <= 320 || opened) {
		ChaCha20Poly1305AVX512VL(a)
	} else {
		ChaCha20Poly1305AVX512(a)
	}
}

// chaCha20Poly1305BatchRows lists the batch kernels.
func chaCha20Poly1305BatchRows() []dispatch.Row {
	return []dispatch.Row{
		{
			Level:   uint8(AVX512),
			Name:    "avx512",
			Summary: "32 blocks and 8 authenticators of any packets at a time in 512-bit vectors",
			Needs:   []string{"avx", "avx2", "bmi", "bmi2", "avx512f", "avx512vl", "avx512bw", "avx512ifma"},
			Test:    chaCha20Poly1305BatchTestOf(AVX512),
		},
		{
			Level:   uint8(AVX512Mix), // the kernel of avx512
			Name:    "avx512mix",
			Summary: "32 blocks and 8 authenticators of any packets at a time in 512-bit vectors",
			Needs:   []string{"avx", "avx2", "bmi", "bmi2", "avx512f", "avx512vl", "avx512bw", "avx512ifma"},
			Test:    chaCha20Poly1305BatchTestOf(AVX512Mix),
		},
		{
			Level:   uint8(AVX512VL), // the kernel of avx2
			Name:    "avx512vl",
			Summary: "8 blocks of any packets at a time in 256-bit vectors, Poly1305 in integer registers meanwhile",
			Needs:   []string{"sse2", "ssse3", "sse4.1", "avx", "avx2", "bmi2"},
			Test:    chaCha20Poly1305BatchTestOf(AVX512VL),
		},
		{
			Level:   uint8(AVX2),
			Name:    "avx2",
			Summary: "8 blocks of any packets at a time in 256-bit vectors, Poly1305 in integer registers meanwhile",
			Needs:   []string{"sse2", "ssse3", "sse4.1", "avx", "avx2", "bmi2"},
			Test:    chaCha20Poly1305BatchTestOf(AVX2),
		},
	}
}

// For where nothing is measured, the same as in src/level.c.
var chaCha20Poly1305BatchPlans = batchPlans{
	AVX512:    batchPlanFrom(4, 0, 32),
	AVX512Mix: batchPlanFrom(4, 0, 32),
	AVX512VL:  batchPlanFrom(4, 0, 8),
	AVX2:      batchPlanFrom(4, 0, 12),
	Portable:  portableBatchPlan,
}

// ChaCha20Poly1305Batch runs a level's batch kernel. The CPU must have what it needs.
func ChaCha20Poly1305Batch(level Level, a *Args, scratch *BatchScratch) {
	switch level {
	case AVX512, AVX512Mix:
		ChaCha20Poly1305BatchAVX512(a, scratch)
	case AVX512VL, AVX2:
		ChaCha20Poly1305BatchAVX2(a, scratch)
	default:
		ChaCha20Poly1305BatchPortable(a)
	}
	raceBatch(a)
}

// aesGCMRows lists the kernels.
func aesGCMRows() []dispatch.Row {
	return []dispatch.Row{
		{
			Level:   uint8(AVX512),
			Name:    "avx512",
			Summary: "4 blocks to a 512-bit vector, AES and carry-less products of all at once",
			Needs:   []string{"avx", "avx2", "bmi2", "aes", "pclmul", "avx512f", "avx512vl", "avx512bw", "vaes", "vpclmulqdq"},
			Test:    aesGCMTestOf(AVX512),
		},
		{
			Level:   uint8(AVX2),
			Name:    "avx2",
			Summary: "2 blocks to a 256-bit vector, AES and carry-less products of both at once",
			Needs:   []string{"avx", "avx2", "aes", "pclmul", "vaes", "vpclmulqdq"},
			Test:    aesGCMTestOf(AVX2),
		},
		{
			Level:   uint8(AESNIAVX),
			Name:    "aesniavx",
			Summary: "one block to a 128-bit vector, instructions of three operands",
			Needs:   []string{"avx", "aes", "pclmul"},
			Test:    aesGCMTestOf(AESNIAVX),
		},
		{
			Level:   uint8(AESNI),
			Name:    "aesni",
			Summary: "one block to a 128-bit vector",
			Needs:   []string{"sse2", "ssse3", "sse4.1", "aes", "pclmul"},
			Test:    aesGCMTestOf(AESNI),
		},
	}
}

// AESGCM runs a level's kernel. The CPU must have what it needs.
func AESGCM(level Level, a *Args) {
	switch level {
	case AVX512:
		AESGCMAVX512(a)
	case AVX2:
		AESGCMAVX2(a)
	case AESNIAVX:
		AESGCMAESNIAVX(a)
	case AESNI:
		AESGCMAESNI(a)
	default:
		AESGCMPortable(a)
	}
	raceGCMArgs(a)
}

// aesGCMBatchRows lists the batch kernels.
func aesGCMBatchRows() []dispatch.Row {
	return []dispatch.Row{
		{
			Level:   uint8(AVX512),
			Name:    "avx512",
			Summary: "4 packets at a time, 4 blocks of one to a 512-bit vector; longer ones in a stream",
			Needs:   []string{"avx", "avx2", "bmi2", "aes", "pclmul", "avx512f", "avx512vl", "avx512bw", "vaes", "vpclmulqdq"},
			Test:    aesGCMBatchTestOf(AVX512),
		},
	}
}

// The kernel takes four packets at a time, or a stream of any number; what is around it costs more than in C, where one group pays.
var aesGCMBatchPlans = batchPlans{
	AVX512:   batchPlanFrom(7, 4, 32),
	Portable: portableBatchPlan,
}

// AESGCMBatch runs a level's batch kernel. The CPU must have what it needs.
func AESGCMBatch(level Level, a *Args, scratch *BatchScratch) {
	switch level {
	case AVX512:
		AESGCMBatchAVX512(a, scratch)
	default:
		AESGCMBatchPortable(a)
	}
	raceGCMBatch(a)
}

func aesLevelRows() []dispatch.Row {
	return []dispatch.Row{
		{
			Level:   uint8(AVX512),
			Name:    "avx512",
			Summary: "4 blocks to a 512-bit vector",
			Needs:   []string{"avx", "avx2", "aes", "pclmul", "avx512f", "avx512vl", "avx512bw", "vaes", "vpclmulqdq"},
			Test:    aesTestOf(AVX512),
		},
		{
			Level:   uint8(AVX2),
			Name:    "avx2",
			Summary: "2 blocks to a 256-bit vector",
			Needs:   []string{"avx", "avx2", "aes", "pclmul", "vaes", "vpclmulqdq"},
			Test:    aesTestOf(AVX2),
		},
		{
			Level:   uint8(AESNI),
			Name:    "aesni",
			Summary: "one block to a 128-bit vector",
			Needs:   []string{"sse2", "ssse3", "sse4.1", "aes", "pclmul"},
			Test:    aesTestOf(AESNI),
		},
	}
}

// AES runs a level's kernel of the modes that do not authenticate. The CPU must have what it needs.
func AES(level Level, a *Args) {
	switch level {
	case AVX512:
		AESAVX512(a)
	case AVX2:
		AESAVX2(a)
	case AESNI:
		AESAESNI(a)
	default:
		AESPortable(a)
	}
	raceAESArgs(a)
}

func chaCha20MasksRows() []dispatch.Row {
	return []dispatch.Row{
		{
			Level:   uint8(AVX512),
			Name:    "avx512",
			Summary: "16 blocks of as many keys at a time in 512-bit vectors",
			Needs:   []string{"avx", "avx2", "avx512f"},
			Test:    chaCha20MasksTestOf(AVX512),
		},
		{
			Level:   uint8(AVX2),
			Name:    "avx2",
			Summary: "8 blocks of as many keys at a time in 256-bit vectors",
			Needs:   []string{"avx", "avx2"},
			Test:    chaCha20MasksTestOf(AVX2),
		},
	}
}

// ChaCha20Masks runs a level's kernel of header masks. The CPU must have what it needs.
func ChaCha20Masks(level Level, a *Args) {
	switch level {
	case AVX512:
		ChaCha20MasksAVX512(a)
	case AVX2:
		ChaCha20MasksAVX2(a)
	default:
		ChaCha20MasksPortable(a)
	}
	raceMasks(a)
}
