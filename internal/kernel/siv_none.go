//go:build arm || arm64 || mips || mipsle || riscv64

package kernel

// HasSIV says whether the kernels have POLYVAL and AESCTRLittle, for AES-GCM-SIV.
const HasSIV = false
