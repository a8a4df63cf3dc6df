// Package gcm is AES-GCM for the standard library: what sealane build --std has crypto/internal/fips140/aes/gcm call, in
// place of its own assembly. That package has checked lengths and overlaps, and goes on doing so; this one imports nothing
// but the core, as what it is called from is below nearly everything else.
package gcm

import (
	"unsafe"

	"github.com/sealane/sealane/internal/kernel"
)

const (
	nonceSize = 12
	tagSize   = 16

	// partBytes is the most that is done in one call of a kernel, some microseconds' worth, so that the scheduler and the
	// garbage collector need not wait for long; less at levels that are slow.
	partBytes     = 64 << 10
	slowPartBytes = 4 << 10
)

// A Key is an AES-GCM key. It holds no pointers and may be copied. Its zero value must not be used.
type Key struct {
	key   kernel.GCMKey
	level kernel.Level
}

// Init sets the key of 16, 24 or 32 bytes, for the level that this process has chosen. It panics if no level, not even
// portable code, gives the known answers.
func (k *Key) Init(key []byte) {
	level, ok := kernel.AESGCMLevels.Choose()
	if !ok {
		panic("crypto/cipher: sealane: no implementation of AES-GCM passes its known-answer test")
	}
	k.level = kernel.Level(level)
	kernel.AESGCMSetup(k.level, &k.key, key)
}

// Level returns the name of the level that k runs at.
func (k *Key) Level() string { return kernel.AESGCMLevels.Name(uint8(k.level)) }

// Seal writes the ciphertext of the plaintext to out, and behind it tagBytes bytes of tag, from 12 to 16. out has room for
// both, and is the plaintext's memory or disjoint from it. The nonce may have any length but 0.
func (k *Key) Seal(out, nonce, plaintext, data []byte, tagBytes int) {
	var args kernel.Args
	args.Out = unsafe.Pointer(unsafe.SliceData(out))
	args.In = unsafe.Pointer(unsafe.SliceData(plaintext))
	args.Bytes = uint64(len(plaintext))
	args.AD = unsafe.Pointer(unsafe.SliceData(data))
	args.ADBytes = uint64(len(data))
	args.Key = unsafe.Pointer(&k.key)
	args.Nonce = unsafe.Pointer(unsafe.SliceData(nonce))
	args.Total = uint64(len(plaintext))
	args.Flags = kernel.FlagFirst | kernel.FlagLast | kernel.FlagNonce
	if tagBytes == tagSize {
		args.Tag = unsafe.Pointer((*[tagSize]byte)(out[len(plaintext):]))
		k.run(&args, len(nonce))
		return
	}
	var tag [tagSize]byte
	args.Tag = unsafe.Pointer(&tag)
	k.run(&args, len(nonce))
	copy(out[len(plaintext):len(plaintext)+tagBytes], tag[:])
}

// Open writes the plaintext of the ciphertext to out, and says whether the tag, of 12 to 16 bytes, belongs to it. If not,
// out holds what must not be seen: the caller clears it.
func (k *Key) Open(out, nonce, ciphertext, tag, data []byte) bool {
	var args kernel.Args
	var want [2]uint64
	args.Out = unsafe.Pointer(unsafe.SliceData(out))
	args.In = unsafe.Pointer(unsafe.SliceData(ciphertext))
	args.Bytes = uint64(len(ciphertext))
	args.AD = unsafe.Pointer(unsafe.SliceData(data))
	args.ADBytes = uint64(len(data))
	args.Key = unsafe.Pointer(&k.key)
	args.Nonce = unsafe.Pointer(unsafe.SliceData(nonce))
	args.Tag = unsafe.Pointer(&want)
	args.Total = uint64(len(ciphertext))
	args.Flags = kernel.FlagFirst | kernel.FlagLast | kernel.FlagOpen | kernel.FlagNonce
	k.run(&args, len(nonce))
	same := equal((*[tagSize]byte)(unsafe.Pointer(&want)), tag)
	want = [2]uint64{}
	return same
}

// equal says, in a time that depends on lengths only, whether the tag, cut to the size of the one that came, is that one.
func equal(want *[tagSize]byte, came []byte) bool {
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

func (k *Key) run(args *kernel.Args, nonceBytes int) {
	if args.Bytes > slowPartBytes || nonceBytes != nonceSize {
		k.runSeldom(args, nonceBytes)
	} else {
		kernel.AESGCM(k.level, args)
	}
}

// part returns how much is done in one call.
func (k *Key) part() uint64 {
	switch k.level {
	case kernel.AVX512, kernel.AVX2, kernel.AESNIAVX, kernel.AESNI, kernel.CE:
		return partBytes
	}
	return slowPartBytes
}

// runSeldom does a packet whose nonce is not of 12 bytes, or which may have to be done in parts.
//
//go:noinline
func (k *Key) runSeldom(args *kernel.Args, nonceBytes int) {
	if args.Bytes <= k.part() && nonceBytes == nonceSize {
		kernel.AESGCM(k.level, args)
		return
	}
	packet := *args
	var j0 [16]byte
	if nonceBytes != nonceSize {
		kernel.AESGCMNonce(k.level, &k.key, &j0, unsafe.Slice((*byte)(args.Nonce), nonceBytes))
		packet.Nonce = unsafe.Pointer(&j0)
		packet.Flags &^= kernel.FlagNonce
	}
	if packet.Bytes > k.part() {
		k.inParts(&packet)
	} else {
		kernel.AESGCM(k.level, &packet)
	}
	j0 = [16]byte{}
}

func (k *Key) inParts(packet *kernel.Args) {
	var state kernel.GCMState
	part, size := *packet, k.part()
	part.State = state.State()
	later := packet.Flags & (kernel.FlagOpen | kernel.FlagNonce)
	part.Flags = packet.Flags &^ kernel.FlagLast
	part.Bytes = size
	left := packet.Total
	for ; left > size; left -= size {
		kernel.AESGCM(k.level, &part)
		part.Out, part.In = unsafe.Add(part.Out, size), unsafe.Add(part.In, size)
		part.Flags = later
	}
	part.Bytes = left
	part.Flags |= kernel.FlagLast
	kernel.AESGCM(k.level, &part)
	state = kernel.GCMState{}
}
