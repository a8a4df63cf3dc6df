//go:build !mips && !mips64 && !mips64le && !mipsle && !riscv64

package aes

import (
	"encoding/binary"
	"unsafe"

	"github.com/sealane/sealane/internal/kernel"
)

// sivWork is additional working space of a packet.
type sivWork struct {
	last [BlockSize]byte
}

// derivationBlocks fills each block with its number and the nonce, and encrypts it.
func derivationBlocks(c *Cipher, blocks, nonce []byte) {
	var first [BlockSize]byte
	binary.LittleEndian.PutUint32(first[4:], binary.LittleEndian.Uint32(nonce))
	binary.LittleEndian.PutUint64(first[8:], binary.LittleEndian.Uint64(nonce[4:]))
	c.few(kernel.AESCTRLittle, blocks, blocks, &first)
}

func (p *sivPacket) setHashKey(longest int) {
	kernel.PolyvalKey(p.gcm, &p.key, &p.hashKey, longest)
}

// polyval absorbs associated data, text and their lengths, in parts that do not delay the scheduler.
func (p *sivPacket) polyval(sum *[BlockSize]byte, text, ad []byte) {
	var a kernel.PacketArgs
	var state kernel.GCMState
	a.Key, a.Tag, a.State = unsafe.Pointer(&p.key), unsafe.Pointer(sum), state.State()
	a.AD, a.ADBytes = unsafe.Pointer(unsafe.SliceData(ad)), uint64(len(ad))
	a.Total = uint64(len(text))
	a.Flags = kernel.FlagPolyval | kernel.FlagFirst
	for part := partOf(p.aes); len(text) > part; text = text[part:] {
		a.In, a.Bytes = unsafe.Pointer(unsafe.SliceData(text)), uint64(part)
		kernel.AESGCM(p.gcm, &a)
		a.Flags = kernel.FlagPolyval
	}
	a.In, a.Bytes = unsafe.Pointer(unsafe.SliceData(text)), uint64(len(text))
	a.Flags |= kernel.FlagLast
	kernel.AESGCM(p.gcm, &a)
	state.Y = [16]byte{}
}

// count XORs key stream into the text, starting with the counter block.
func (p *sivPacket) count(out, in []byte, block *[BlockSize]byte) {
	for part := partOf(p.aes); len(in) > part; out, in = out[part:], in[part:] {
		p.blocks(kernel.AESCTRLittle, out[:part], in[:part], block)
	}
	whole := len(in) &^ (BlockSize - 1)
	p.blocks(kernel.AESCTRLittle, out[:whole], in[:whole], block)
	if whole < len(in) {
		copy(p.last[:], in[whole:])
		p.blocks(kernel.AESCTRLittle, p.last[:], p.last[:], block)
		copy(out[whole:], p.last[:])
	}
}
