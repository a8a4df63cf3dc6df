// Package kernel contains the packet kernels: those translated from asm/, their portable equivalents, and the table of
// levels.
//
// A kernel takes one pointer to an argument block, and processes a whole packet or one part of a long one. This package
// does not check arguments; package aead does.
package kernel

import "unsafe"

// Flags of a call.
const (
	FlagFirst = asmFlagFirst // derive the Poly1305 key from block 0, absorb the associated data, start at block 1
	FlagLast  = asmFlagLast  // absorb the lengths and write the tag
	FlagOpen  = asmFlagOpen  // authenticate the input (ciphertext) instead of the output
	FlagNonce = asmFlagNonce // AES-GCM: Nonce has 12 bytes, and J0 is those and a 32-bit 1; in later parts too
	// AES-GCM, used alone: makes a GCMKey from its rounds and the raw key in its schedule. With FlagNonce: makes only
	// its table, from the hash key at Nonce.
	FlagSetup = asmFlagSetup
	// POLYVAL (RFC 8452) of AD, In and, with FlagLast, the lengths, to Tag or State.Y. With FlagSetup and FlagNonce,
	// sets its hash key from Nonce. Requires HasSIV.
	FlagPolyval = asmFlagPolyval
)

// Batch returns the arguments of a batch.
func Batch(lanes []Lane, direction uint64) (a BatchArgs) {
	a.Lanes, a.Count, a.Flags = unsafe.SliceData(lanes), uint64(len(lanes)), direction
	return a
}

func (a *BatchArgs) lanes() []Lane { return unsafe.Slice(a.Lanes, a.Count) }

// ModeLanes returns the arguments of lanes.
func ModeLanes(lanes []ModeLane, operation uint64) (a ModeLanesArgs) {
	a.Lanes, a.Count, a.Operation = unsafe.SliceData(lanes), uint64(len(lanes)), operation
	return a
}

// Mode returns a as the argument type of kernels.
func (a *ModeLanesArgs) Mode() *ModeArgs { return (*ModeArgs)(unsafe.Pointer(a)) }

func (a *ModeArgs) lanes() []ModeLane {
	l := (*ModeLanesArgs)(unsafe.Pointer(a))
	return unsafe.Slice(l.Lanes, l.Count)
}

// State is the state between the parts of one packet. It is secret: its owner wipes it.
type State struct {
	H       [3]uint64 // Poly1305 accumulator, below 2^131, not fully reduced
	R       [2]uint64 // clamped r
	S       [2]uint64
	Counter uint64 // counter of the next ChaCha20 block
}

// GCMKey is an AES-GCM key in the layout of one level's kernel.
type GCMKey struct {
	Rounds   uint64 // 10, 12 or 14
	_        uint64
	Schedule [asmGcmKeyTable - asmGcmKeySchedule]byte // before FlagSetup the key of 16, 24 or 32 bytes
	Table    [asmGcmKeyBytes - asmGcmKeyTable]byte    // powers of the hash key
}

// GCMState is the state between the parts of one AES-GCM packet, the same at every level.
type GCMState struct {
	Y       [16]byte // GHASH so far
	Counter [16]byte // the next counter block
	Mask    [16]byte // the encrypted J0
	_       [2]uint64
}

// State returns s as the state type of PacketArgs.
func (s *GCMState) State() *State { return (*State)(unsafe.Pointer(s)) }

func (a *PacketArgs) gcmState() *GCMState { return (*GCMState)(unsafe.Pointer(a.State)) }
