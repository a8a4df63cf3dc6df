// Package kernel holds the packet kernels: the ones translated from asm/, their portable twin, and the table that says
// which CPU runs which.
//
// A kernel takes one pointer to an argument block and does a whole packet, or one part of a long one. Nothing here
// checks arguments: package aead does.
package kernel

import "unsafe"

// Args is what a kernel is called with. Its layout is that of asm/args.h.
type Args struct {
	Out     unsafe.Pointer // output text; equal to In, or disjoint from it
	_       [8 - unsafe.Sizeof(uintptr(0))]byte
	In      unsafe.Pointer // input text
	_       [8 - unsafe.Sizeof(uintptr(0))]byte
	Bytes   uint64         // bytes of text in this call; a multiple of 64 unless FlagLast is set
	AD      unsafe.Pointer // associated data; read only with FlagFirst
	_       [8 - unsafe.Sizeof(uintptr(0))]byte
	ADBytes uint64         // its bytes; with FlagLast they also go into the length block
	Key     unsafe.Pointer // 32 bytes
	_       [8 - unsafe.Sizeof(uintptr(0))]byte
	Nonce   unsafe.Pointer // 12 bytes
	_       [8 - unsafe.Sizeof(uintptr(0))]byte
	Tag     unsafe.Pointer // 16 bytes, written with FlagLast: the tag that belongs to the packet
	_       [8 - unsafe.Sizeof(uintptr(0))]byte
	State   *State // read without FlagFirst, written without FlagLast
	_       [8 - unsafe.Sizeof(uintptr(0))]byte
	Total   uint64 // bytes of text in the whole packet; read with FlagLast
	Flags   uint64
}

// What a call does.
const (
	FlagFirst = 1 // derive the Poly1305 key from block 0, absorb the associated data, start at block 1
	FlagLast  = 2 // absorb the lengths and write the tag
	FlagOpen  = 4 // authenticate the input (ciphertext) instead of the output
)

// State is what lives on between the parts of one packet. It is secret: whoever owns one wipes it.
type State struct {
	H       [3]uint64 // Poly1305 accumulator, below 2^131, not fully reduced
	R       [2]uint64 // clamped r
	S       [2]uint64
	Counter uint64 // the next ChaCha20 block's counter
}

// The offsets of asm/args.h. TestOffsets compares them with that file.
const (
	offsetOut     = 0
	offsetIn      = 8
	offsetBytes   = 16
	offsetAD      = 24
	offsetADBytes = 32
	offsetKey     = 40
	offsetNonce   = 48
	offsetTag     = 56
	offsetState   = 64
	offsetTotal   = 72
	offsetFlags   = 80
	argsBytes     = 88

	offsetH       = 0
	offsetR       = 24
	offsetS       = 40
	offsetCounter = 56
	stateBytes    = 64
)

// A difference in layout is an index out of range, and does not compile.
var (
	_ = [1]byte{}[unsafe.Offsetof(Args{}.Out)-offsetOut]
	_ = [1]byte{}[unsafe.Offsetof(Args{}.In)-offsetIn]
	_ = [1]byte{}[unsafe.Offsetof(Args{}.Bytes)-offsetBytes]
	_ = [1]byte{}[unsafe.Offsetof(Args{}.AD)-offsetAD]
	_ = [1]byte{}[unsafe.Offsetof(Args{}.ADBytes)-offsetADBytes]
	_ = [1]byte{}[unsafe.Offsetof(Args{}.Key)-offsetKey]
	_ = [1]byte{}[unsafe.Offsetof(Args{}.Nonce)-offsetNonce]
	_ = [1]byte{}[unsafe.Offsetof(Args{}.Tag)-offsetTag]
	_ = [1]byte{}[unsafe.Offsetof(Args{}.State)-offsetState]
	_ = [1]byte{}[unsafe.Offsetof(Args{}.Total)-offsetTotal]
	_ = [1]byte{}[unsafe.Offsetof(Args{}.Flags)-offsetFlags]
	_ = [1]byte{}[unsafe.Sizeof(Args{})-argsBytes]

	_ = [1]byte{}[unsafe.Offsetof(State{}.H)-offsetH]
	_ = [1]byte{}[unsafe.Offsetof(State{}.R)-offsetR]
	_ = [1]byte{}[unsafe.Offsetof(State{}.S)-offsetS]
	_ = [1]byte{}[unsafe.Offsetof(State{}.Counter)-offsetCounter]
	_ = [1]byte{}[unsafe.Sizeof(State{})-stateBytes]
)
