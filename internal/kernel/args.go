// Package kernel holds the packet kernels: the ones translated from asm/, their portable twin, and the table that says
// which CPU runs which.
//
// A kernel takes one pointer to an argument block and does a whole packet, or one part of a long one. Nothing here
// checks arguments: package aead does.
package kernel

import "unsafe"

// PacketArgs is a packet, or a part of one. The layout of all arguments is that of asm/args.h.
type PacketArgs struct {
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
	// POLYVAL (RFC 8452) of AD, In and, with FlagLast, the lengths, to Tag or State.Y. With FlagSetup and FlagNonce:
	// its hash key is at Nonce. Where HasSIV.
	FlagPolyval = asmFlagPolyval
)

// BatchArgs is many packets.
type BatchArgs struct {
	_     [8]byte
	Lanes *Lane
	_     [8 - unsafe.Sizeof(uintptr(0))]byte
	Count uint64
	_     [56]byte
	Flags uint64 // FlagOpen or 0
}

// Lane is one packet of a batch: the first slots of PacketArgs, with the same meaning.
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

// Batch returns the arguments of a batch.
func Batch(lanes []Lane, direction uint64) (a BatchArgs) {
	a.Lanes, a.Count, a.Flags = unsafe.SliceData(lanes), uint64(len(lanes)), direction
	return a
}

func (a *BatchArgs) lanes() []Lane { return unsafe.Slice(a.Lanes, a.Count) }

// ModeArgs is AES in the modes that do not authenticate: a text, or a key that is set up.
type ModeArgs struct {
	Out       unsafe.Pointer // output text; equal to In, or disjoint from it
	_         [8 - unsafe.Sizeof(uintptr(0))]byte
	In        unsafe.Pointer // input text
	_         [8 - unsafe.Sizeof(uintptr(0))]byte
	Bytes     uint64 // of text, whole blocks; with AESSetup 0
	_         [16]byte
	Key       unsafe.Pointer // an AESKey
	_         [24 - unsafe.Sizeof(uintptr(0))]byte
	State     *[16]byte
	_         [16 - unsafe.Sizeof(uintptr(0))]byte
	Operation uint64 // AESSetup to AESXTSDecrypt
}

// ModeLanesArgs is the same of lanes, and header masks.
type ModeLanesArgs struct {
	_         [8]byte
	Lanes     *ModeLane
	_         [8 - unsafe.Sizeof(uintptr(0))]byte
	Count     uint64
	_         [48]byte
	BytesEach uint64 // AESCBCEncrypt: bytes of text in each lane
	Operation uint64 // AESCBCEncrypt or AESMasks
}

// ModeLane is a text or a sample, with its own key.
type ModeLane struct {
	Out   unsafe.Pointer
	_     [8 - unsafe.Sizeof(uintptr(0))]byte
	In    unsafe.Pointer
	_     [32 - unsafe.Sizeof(uintptr(0))]byte
	Key   unsafe.Pointer
	_     [8 - unsafe.Sizeof(uintptr(0))]byte
	Chain *[16]byte // AESCBCEncrypt: what the first block is chained to; left: the last block
	_     [16 - unsafe.Sizeof(uintptr(0))]byte
}

// ModeLanes returns the arguments of lanes.
func ModeLanes(lanes []ModeLane, operation uint64) (a ModeLanesArgs) {
	a.Lanes, a.Count, a.Operation = unsafe.SliceData(lanes), uint64(len(lanes)), operation
	return a
}

// Mode is a as kernels take it.
func (a *ModeLanesArgs) Mode() *ModeArgs { return (*ModeArgs)(unsafe.Pointer(a)) }

func (a *ModeArgs) lanes() []ModeLane {
	l := (*ModeLanesArgs)(unsafe.Pointer(a))
	return unsafe.Slice(l.Lanes, l.Count)
}

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

// State is s as PacketArgs takes it.
func (s *GCMState) State() *State { return (*State)(unsafe.Pointer(s)) }

func (a *PacketArgs) gcmState() *GCMState { return (*GCMState)(unsafe.Pointer(a.State)) }
