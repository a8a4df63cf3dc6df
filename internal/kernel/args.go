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
	Key     unsafe.Pointer // 32 bytes; AES-GCM: a GCMKey
	_       [8 - unsafe.Sizeof(uintptr(0))]byte
	Nonce   unsafe.Pointer // 12 bytes; AES-GCM without FlagNonce: the 16 bytes of J0
	_       [8 - unsafe.Sizeof(uintptr(0))]byte
	Tag     unsafe.Pointer // 16 bytes, written with FlagLast: the tag that belongs to the packet
	_       [8 - unsafe.Sizeof(uintptr(0))]byte
	State   *State // read without FlagFirst, written without FlagLast; AES-GCM: a GCMState
	_       [8 - unsafe.Sizeof(uintptr(0))]byte
	Total   uint64 // bytes of text in the whole packet; read with FlagLast
	Flags   uint64
}

// What a call does.
const (
	FlagFirst = asmFlagFirst // derive the Poly1305 key from block 0, absorb the associated data, start at block 1
	FlagLast  = asmFlagLast  // absorb the lengths and write the tag
	FlagOpen  = asmFlagOpen  // authenticate the input (ciphertext) instead of the output
	FlagNonce = asmFlagNonce // AES-GCM: Nonce is 12 bytes, and J0 is those and a 32-bit 1; in later parts: it was
	// AES-GCM, alone: make a GCMKey from its rounds and the raw key in its schedule; or with FlagNonce its table
	// alone, of the hash key at Nonce.
	FlagSetup = asmFlagSetup
)

// Lane is one packet of a batch: the first slots of Args, with the same meaning.
type Lane struct {
	Out     unsafe.Pointer
	_       [8 - unsafe.Sizeof(uintptr(0))]byte
	In      unsafe.Pointer
	_       [8 - unsafe.Sizeof(uintptr(0))]byte
	Bytes   uint64
	AD      unsafe.Pointer
	_       [8 - unsafe.Sizeof(uintptr(0))]byte
	ADBytes uint64
	Key     unsafe.Pointer
	_       [8 - unsafe.Sizeof(uintptr(0))]byte
	Nonce   unsafe.Pointer
	_       [8 - unsafe.Sizeof(uintptr(0))]byte
	Tag     [8 / unsafe.Sizeof(uintptr(0))]unsafe.Pointer // the first; padding of no bytes at the end would have some
}

// Batch returns a for a batch kernel: it has In at the lanes, and their count in Bytes.
func Batch(lanes []Lane, direction uint64) (a Args) {
	a.In = unsafe.Pointer(unsafe.SliceData(lanes))
	a.Bytes = uint64(len(lanes))
	a.Flags = direction
	return a
}

func (a *Args) lanes() []Lane { return unsafe.Slice((*Lane)(a.In), a.Bytes) }

// State is what lives on between the parts of one packet. It is secret: whoever owns one wipes it.
type State struct {
	H       [3]uint64 // Poly1305 accumulator, below 2^131, not fully reduced
	R       [2]uint64 // clamped r
	S       [2]uint64
	Counter uint64 // the next ChaCha20 block's counter
}

// GCMKey is an AES-GCM key, made and read by the kernel of one level.
type GCMKey struct {
	Rounds   uint64 // 10, 12 or 14
	_        uint64
	Schedule [asmGcmKeyTable - asmGcmKeySchedule]byte // before FlagSetup the key of 16, 24 or 32 bytes
	Table    [asmGcmKeyBytes - asmGcmKeyTable]byte    // powers of the hash key
}

// GCMState is what lives on between the parts of one AES-GCM packet, the same at every level.
type GCMState struct {
	Y       [16]byte // GHASH so far
	Counter [16]byte // the next counter block
	Mask    [16]byte // the encrypted J0
	_       [2]uint64
}

// State is s as Args takes it.
func (s *GCMState) State() *State { return (*State)(unsafe.Pointer(s)) }

func (a *Args) gcmState() *GCMState { return (*GCMState)(unsafe.Pointer(a.State)) }

// A layout other than that of asm/args.h is an index out of range, and does not compile.
var (
	_ = [1]byte{}[unsafe.Offsetof(Args{}.Out)-asmArgOut]
	_ = [1]byte{}[unsafe.Offsetof(Args{}.In)-asmArgIn]
	_ = [1]byte{}[unsafe.Offsetof(Args{}.Bytes)-asmArgBytes]
	_ = [1]byte{}[unsafe.Offsetof(Args{}.AD)-asmArgAD]
	_ = [1]byte{}[unsafe.Offsetof(Args{}.ADBytes)-asmArgADBytes]
	_ = [1]byte{}[unsafe.Offsetof(Args{}.Key)-asmArgKey]
	_ = [1]byte{}[unsafe.Offsetof(Args{}.Nonce)-asmArgNonce]
	_ = [1]byte{}[unsafe.Offsetof(Args{}.Tag)-asmArgTag]
	_ = [1]byte{}[unsafe.Offsetof(Args{}.State)-asmArgState]
	_ = [1]byte{}[unsafe.Offsetof(Args{}.Total)-asmArgTotal]
	_ = [1]byte{}[unsafe.Offsetof(Args{}.Flags)-asmArgFlags]
	_ = [1]byte{}[unsafe.Sizeof(Args{})-asmArgsBytes]

	_ = [1]byte{}[unsafe.Offsetof(Args{}.In)-asmBatchLanes]
	_ = [1]byte{}[unsafe.Offsetof(Args{}.Bytes)-asmBatchCount]
	_ = [1]byte{}[unsafe.Offsetof(Lane{}.Out)-asmLaneOut]
	_ = [1]byte{}[unsafe.Offsetof(Lane{}.In)-asmLaneIn]
	_ = [1]byte{}[unsafe.Offsetof(Lane{}.Bytes)-asmLaneBytes]
	_ = [1]byte{}[unsafe.Offsetof(Lane{}.AD)-asmLaneAD]
	_ = [1]byte{}[unsafe.Offsetof(Lane{}.ADBytes)-asmLaneADBytes]
	_ = [1]byte{}[unsafe.Offsetof(Lane{}.Key)-asmLaneKey]
	_ = [1]byte{}[unsafe.Offsetof(Lane{}.Nonce)-asmLaneNonce]
	_ = [1]byte{}[unsafe.Offsetof(Lane{}.Tag)-asmLaneTag]
	_ = [1]byte{}[unsafe.Sizeof(Lane{})-asmLaneStride]

	_ = [1]byte{}[unsafe.Offsetof(State{}.H)-asmStateH]
	_ = [1]byte{}[unsafe.Offsetof(State{}.R)-asmStateR]
	_ = [1]byte{}[unsafe.Offsetof(State{}.S)-asmStateS]
	_ = [1]byte{}[unsafe.Offsetof(State{}.Counter)-asmStateCounter]
	_ = [1]byte{}[unsafe.Sizeof(State{})-asmStateBytes]

	_ = [1]byte{}[unsafe.Offsetof(GCMKey{}.Rounds)-asmGcmKeyRounds]
	_ = [1]byte{}[unsafe.Offsetof(GCMKey{}.Schedule)-asmGcmKeySchedule]
	_ = [1]byte{}[unsafe.Offsetof(GCMKey{}.Table)-asmGcmKeyTable]
	_ = [1]byte{}[unsafe.Sizeof(GCMKey{})-asmGcmKeyBytes]

	_ = [1]byte{}[unsafe.Offsetof(GCMState{}.Y)-asmGcmStateY]
	_ = [1]byte{}[unsafe.Offsetof(GCMState{}.Counter)-asmGcmStateCounter]
	_ = [1]byte{}[unsafe.Offsetof(GCMState{}.Mask)-asmGcmStateMask]
	_ = [1]byte{}[unsafe.Sizeof(GCMState{})-asmGcmStateBytes]
)
