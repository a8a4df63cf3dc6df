// Package batch seals and opens many packets in one call.
//
// A single small packet leaves a CPU's vector units mostly idle, because each step of the cipher waits for the
// previous one. The packets of a batch run side by side in the vector lanes, several times as fast. They may
// share one key or have one each. Large packets are processed individually. So is every packet of a level that has no
// batch kernel (for example, all levels of AES-GCM). A batch may also contain any other [cipher.AEAD], whose packets
// are processed individually. AES-CCM of package aes runs eight packets of any length side by side; give them their
// own batches.
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
// Some dozens of packets per call work best, in any order. Memory is allocated only where a Dst lacks capacity, and
// rarely for working space. The running time depends on the lengths, on the number of packets, and on which tags were
// right.
package batch

import (
	"crypto/cipher"
	"unsafe"

	"github.com/sealane/sealane/internal/aead"
)

// An Op is one packet: the arguments of a cipher.AEAD's Seal or Open, and the results.
//
// Each Op follows the rules of its AEAD: Dst may be Src[:0] to work in place, but may not otherwise overlap Src or AD.
// The bytes that one Op appends to its Dst must not overlap any buffer of another Op. This is not checked: Ops that
// violate it may fail or hold wrong bytes.
type Op struct {
	AEAD cipher.AEAD

	Dst   []byte // the output is appended to it
	Nonce []byte
	Src   []byte // plaintext to seal, or ciphertext with its tag to open
	AD    []byte // additional data

	Out []byte // result: Dst with the output, or nil if Err is not nil
	Err error  // result: the error of the AEAD's Open
}

// SealBatch seals the Src of each Op to its Out.
//
// It panics where Seal of the AEAD would, for example on a nonce of the wrong length. Other packets may or may not have
// been sealed by then.
func SealBatch(ops []Op) {
	aead.SealBatch(internal(ops))
}

// OpenBatch opens the Src of each Op to its Out, and returns how many are authentic. An Op that is not authentic has an
// Err, no Out, and zeroes in place of the plaintext. It does not affect the others.
//
// It panics where Open of the AEAD would, for example on a nonce of the wrong length. Other packets may or may not have
// been opened by then; do not use the contents of their Dst.
func OpenBatch(ops []Op) (opened int) {
	return aead.OpenBatch(internal(ops))
}

// This compiles only if both types have the same fields.
var _ = aead.Op(Op{})

func internal(ops []Op) []aead.Op {
	return unsafe.Slice((*aead.Op)(unsafe.Pointer(unsafe.SliceData(ops))), len(ops))
}
