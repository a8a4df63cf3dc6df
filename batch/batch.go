// Package batch seals and opens many packets in one call.
//
// A small packet alone keeps a CPU's vector units idle most of the time: each step of the cipher waits for the one
// before. Packets of a batch run side by side in the lanes of the vectors, several times as fast, whether they have one
// key or a key each. Large packets and levels without a kernel for batches (all of AES-GCM) are done one by
// one; so is whatever is not of this module, which makes any cipher.AEAD welcome in a batch. AES-CCM of package aes runs
// eight packets side by side, of any length; give them in batches of their own.
//
//	ops := make([]batch.Op, len(packets)) // kept from call to call
//	for i, p := range packets {
//		ops[i] = batch.Op{AEAD: p.peer.aead, Dst: p.buffer[:0], Nonce: p.nonce, Src: p.buffer}
//	}
//	batch.OpenBatch(ops)
//	for i := range ops {
//		if ops[i].Err == nil {
//			deliver(ops[i].Out)
//		}
//	}
//
// Command github.com/sealane/sealane/batch/example is a complete program.
//
// Some dozens of packets at once are best; their order does not matter. Nothing is allocated but what a Dst lacks in
// capacity, and seldom some memory to work in. Running time depends on lengths, on the number of packets, and on which
// tags were right.
package batch

import (
	"crypto/cipher"
	"unsafe"

	"github.com/sealane/sealane/internal/aead"
)

// An Op is one packet: the arguments of a cipher.AEAD's Seal or Open, and the results.
//
// Within an Op its AEAD's rules hold: Dst may be Src[:0] to work in place, and may not overlap it otherwise, nor AD.
// What one Op writes, the bytes appended to Dst, must not overlap anything of another: that is not checked, and Ops of
// which it is not true may fail or hold the wrong bytes.
type Op struct {
	AEAD cipher.AEAD

	Dst   []byte // the output is appended to it
	Nonce []byte
	Src   []byte // plaintext to be sealed, or ciphertext with its tag to be opened
	AD    []byte // additional data

	Out []byte // result: Dst with the output, nil if Err is not
	Err error  // result: of Open, as the AEAD's own
}

// SealBatch seals each Op's Src to its Out.
//
// It panics where the AEAD's own Seal would, such as on a nonce of the wrong length. Other packets may then have been
// sealed or not.
func SealBatch(ops []Op) {
	aead.SealBatch(internal(ops))
}

// OpenBatch opens each Op's Src to its Out, and returns how many are authentic. Those that are not have an Err, no Out,
// and zeroes where the plaintext would have been; the others do not suffer from them.
//
// It panics where the AEAD's own Open would, such as on a nonce of the wrong length. Other packets may then have been
// opened or not, and the content of their Dst must not be used.
func OpenBatch(ops []Op) (opened int) {
	return aead.OpenBatch(internal(ops))
}

// The two types have the same fields: else this does not compile.
var _ = aead.Op(Op{})

func internal(ops []Op) []aead.Op {
	return unsafe.Slice((*aead.Op)(unsafe.Pointer(unsafe.SliceData(ops))), len(ops))
}
