// Package gcm is AES-GCM for the standard library: what sealane build --std has crypto/internal/fips140/aes/gcm call, in
// place of its own assembly. That package has checked lengths and overlaps, and goes on doing so; this one imports nothing
// but the core, as what it is called from is below nearly everything else.
package gcm

import (
	"unsafe"

	"github.com/sealane/sealane/internal/kernel"
	"github.com/sealane/sealane/internal/packet"
)

const (
	nonceSize = 12
	tagSize   = 16
)

// A Key is an AES-GCM key. It holds no pointers and may be copied. Its zero value is not ready to be used.
type Key struct {
	key   kernel.GCMKey
	level kernel.Level
}

// Init sets the key of 16, 24 or 32 bytes, for the level that this process has chosen, and says whether there is one with a
// kernel. If not, k stays as it is: the standard library's own code is then faster than portable code of ours.
func (k *Key) Init(key []byte) bool {
	level, ok := kernel.AESGCMLevels.Choose()
	if !ok || kernel.Level(level) == kernel.Portable {
		return false
	}
	k.level = kernel.Level(level)
	kernel.AESGCMSetup(k.level, &k.key, key)
	return true
}

// Ready says whether k was set.
func (k *Key) Ready() bool { return k.level != 0 }

// Pointer returns k as Args takes it.
func (k *Key) Pointer() unsafe.Pointer { return unsafe.Pointer(&k.key) }

// Level returns the name of the level that k runs at.
func (k *Key) Level() string { return kernel.AESGCMLevels.Name(uint8(k.level)) }

// Args is a packet. The standard library's functions fill it in themselves: one call less, with its many arguments, is what
// keeps the first packet of a new goroutine on the stack that it starts with.
type Args = kernel.PacketArgs

// Flags of a packet in Args.
const (
	Sealing = kernel.FlagFirst | kernel.FlagLast | kernel.FlagNonce
	Opening = Sealing | kernel.FlagOpen
)

// Run seals or opens a packet whose nonce has nonceBytes, any number but 0, and writes the tag of 16 bytes that belongs to it.
// All of args is set, the key to k's Pointer; its text comes from the output's memory or from memory disjoint from it. What was opened
// must not be seen if the tag is not the one that came.
func (k *Key) Run(args *Args, nonceBytes int) {
	if args.Bytes > packet.SlowPartBytes || nonceBytes != nonceSize {
		k.runSeldom(args, nonceBytes)
	} else {
		kernel.AESGCM(k.level, args)
	}
}

// Same says, in a time that depends on lengths only, whether the tag that came, of 12 to 16 bytes, is the one that belongs to
// the packet, cut to its size.
func Same(want *[tagSize]byte, came []byte) bool {
	if len(came) == tagSize {
		return (load(want[:8])^load(came))|(load(want[8:])^load(came[8:])) == 0
	}
	var differ byte
	for i, b := range want[:len(came)] {
		differ |= b ^ came[i]
	}
	return differ == 0
}

func load(b []byte) uint64 {
	_ = b[7]
	return uint64(b[0]) | uint64(b[1])<<8 | uint64(b[2])<<16 | uint64(b[3])<<24 |
		uint64(b[4])<<32 | uint64(b[5])<<40 | uint64(b[6])<<48 | uint64(b[7])<<56
}

// runSeldom does a packet whose nonce is not of 12 bytes, or which may have to be done in parts.
//
//go:noinline
func (k *Key) runSeldom(args *kernel.PacketArgs, nonceBytes int) {
	if args.Bytes <= packet.GCMPart(k.level) && nonceBytes == nonceSize {
		kernel.AESGCM(k.level, args)
	} else {
		packet.AESGCM(k.level, args, nonceBytes)
	}
}
