// Package kernel runs the good kernels.
package kernel

import "unsafe"

// PacketArgs has the layout of asm/args.h.
type PacketArgs struct {
	Out   unsafe.Pointer
	_     [8 - unsafe.Sizeof(uintptr(0))]byte
	In    unsafe.Pointer
	_     [8 - unsafe.Sizeof(uintptr(0))]byte
	Bytes uint64
	_     [asmArgsBytes - 24]byte
}

var _ = [1]byte{}[unsafe.Sizeof(PacketArgs{})-asmArgsBytes]

// BatchScratch stands in for the scratch memory of batch kernels. The good kernels have no batch kernel.
type BatchScratch byte
