// Package gcm is AES-GCM for the standard library. sealane build --std makes crypto/internal/fips140/aes/gcm call it in
// place of its own assembly. That package still checks lengths and overlaps. This package imports only the core,
// because nearly everything in the standard library depends on its caller.
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

// A Key is an AES-GCM key. It contains no pointers and may be copied. Its zero value must not be used.
type Key struct {
	key   kernel.GCMKey
	level kernel.Level
}

// Init sets a key of 16, 24 or 32 bytes for the level of this process. It returns false and leaves k unchanged if that
// level has no kernel, since the standard library's own code is then faster.
func (k *Key) Init(key []byte) bool {
	level, ok := kernel.AESGCMLevels.Choose()
	if !ok || kernel.Level(level) == kernel.Portable {
		return false
	}
	k.level = kernel.Level(level)
	kernel.AESGCMSetup(k.level, &k.key, key)
	return true
}

// Ready reports whether k was set.
func (k *Key) Ready() bool { return k.level != 0 }

// Pointer returns the key pointer for Args.
func (k *Key) Pointer() unsafe.Pointer { return unsafe.Pointer(&k.key) }

// Level returns the name of the level that k uses.
func (k *Key) Level() string { return kernel.AESGCMLevels.Name(uint8(k.level)) }

// Args describes a packet. The standard library's functions fill it in themselves. This avoids one call with many
// arguments, so that the first packet of a new goroutine fits on its initial stack.
type Args = kernel.PacketArgs

// Flags of a packet in Args.
const (
	Sealing = kernel.FlagFirst | kernel.FlagLast | kernel.FlagNonce
	Opening = Sealing | kernel.FlagOpen
)

// Run seals or opens a packet with a nonce of nonceBytes, which must not be 0, and writes its computed 16-byte tag. All
// fields of args are set, with the key from k.Pointer. Input and output are equal or disjoint. Opened text must not be
// released unless the computed tag matches the received one.
func (k *Key) Run(args *Args, nonceBytes int) {
	if args.Bytes|args.ADBytes > packet.SlowPartBytes || nonceBytes != nonceSize {
		k.runSeldom(args, nonceBytes)
	} else {
		kernel.AESGCM(k.level, args)
	}
}

// Same compares the received tag, of 12 to 16 bytes, with the start of the computed tag, in a time that depends on
// lengths only.
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

// runSeldom handles packets whose nonce does not have 12 bytes, long packets, and long associated data.
//
//go:noinline
func (k *Key) runSeldom(args *kernel.PacketArgs, nonceBytes int) {
	if args.Bytes <= packet.GCMPart(k.level) && args.ADBytes <= packet.PartBytes && nonceBytes == nonceSize {
		kernel.AESGCM(k.level, args)
	} else {
		packet.AESGCM(k.level, args, nonceBytes)
	}
}
