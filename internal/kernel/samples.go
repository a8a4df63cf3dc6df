//go:build gc && !purego && (amd64 || arm64)

package kernel

import (
	"unsafe"

	"github.com/sealane/sealane/internal/dispatch"
)

// chaCha20Poly1305SamplesOf returns what seals a short and a long packet on a level, for dispatch to compare.
func chaCha20Poly1305SamplesOf(level Level) dispatch.Samples {
	const short, long = 64, 1420
	sample := func(bytes int) func() {
		return func() {
			var key [32]byte
			var nonce [12]byte
			var tag [16]byte
			var text [long]byte
			ChaCha20Poly1305(level, &Args{
				Out: unsafe.Pointer(&text), In: unsafe.Pointer(&text), Bytes: uint64(bytes), Total: uint64(bytes),
				Key: unsafe.Pointer(&key), Nonce: unsafe.Pointer(&nonce), Tag: unsafe.Pointer(&tag), Flags: FlagFirst | FlagLast,
			})
		}
	}
	return dispatch.Samples{sample(short), sample(long)}
}
