//go:build mips || mips64 || mips64le || mipsle || riscv64

package aes

import (
	"crypto/subtle"
	"encoding/binary"
	"math/bits"
	"unsafe"

	"github.com/sealane/sealane/internal/kernel"
)

const sivChunk = 2048 // bytes that are reversed or counted at a time

// sivWork is additional working space of a packet. POLYVAL equals GHASH of byte-reversed blocks, with a hash key that
// is reversed and multiplied by x. Its result is reversed again (RFC 8452, appendix A). An AES-GCM kernel takes such
// blocks as associated data, which it does not decrypt.
type sivWork struct {
	state kernel.GCMState
	held  int // pending bytes in chunk
	chunk [sivChunk / BlockSize]wordBlock
}

// derivationBlocks fills each block with its number and the nonce, and encrypts it.
func derivationBlocks(c *Cipher, blocks, nonce []byte) {
	for i := 0; i < len(blocks); i += BlockSize {
		blocks[i] = byte(i / BlockSize)
		copy(blocks[i+4:], nonce)
	}
	c.run(kernel.AESECBEncrypt, blocks, blocks, nil)
}

// A wordBlock is a block as 32-bit words, because byte loads and stores take several times as long.
type wordBlock [BlockSize / 4]uint32

// reverse reverses the bytes of a block on machines of either endianness.
func (b *wordBlock) reverse() {
	b[0], b[1], b[2], b[3] = bits.ReverseBytes32(b[3]), bits.ReverseBytes32(b[2]), bits.ReverseBytes32(b[1]), bits.ReverseBytes32(b[0])
}

func (b *wordBlock) bytes() *[BlockSize]byte { return (*[BlockSize]byte)(unsafe.Pointer(b)) }

// bytes returns the chunk as bytes.
func (w *sivWork) bytes() *[sivChunk]byte { return (*[sivChunk]byte)(unsafe.Pointer(&w.chunk)) }

func (p *sivPacket) setHashKey(int) {
	var h [BlockSize]byte
	low, high := binary.LittleEndian.Uint64(p.hashKey[:8]), binary.LittleEndian.Uint64(p.hashKey[8:])
	binary.BigEndian.PutUint64(h[:8], high>>1^0xe1<<56&-(low&1))
	binary.BigEndian.PutUint64(h[8:], low>>1|high<<63)
	kernel.AESGCMHashKey(p.gcm, &p.key, &h)
	clear(h[:])
}

// flush absorbs the blocks of chunk. Each kernel call starts with a zero sum, so flush XORs the previous sum into the
// first block.
func (p *sivPacket) flush() {
	var none [sivNonceSize]byte
	var a kernel.PacketArgs
	first := p.chunk[0].bytes()
	subtle.XORBytes(first[:], first[:], p.state.Y[:])
	a.AD, a.ADBytes = unsafe.Pointer(&p.chunk), uint64(p.held)
	a.Key, a.Nonce, a.State = unsafe.Pointer(&p.key), unsafe.Pointer(&none), p.state.State()
	a.Flags = kernel.FlagFirst | kernel.FlagNonce
	kernel.AESGCM(p.gcm, &a)
	p.held = 0
}

// absorb absorbs data, padded with zeroes to whole blocks.
func (p *sivPacket) absorb(in []byte) {
	for len(in) > 0 {
		if p.held == sivChunk {
			p.flush()
		}
		from := p.held
		n := copy(p.bytes()[from:], in)
		p.held += (n + BlockSize - 1) &^ (BlockSize - 1)
		clear(p.bytes()[from+n : p.held])
		for i := from / BlockSize; i < p.held/BlockSize; i++ {
			p.chunk[i].reverse()
		}
		in = in[n:]
	}
}

// polyval absorbs associated data, text and their lengths.
func (p *sivPacket) polyval(sum *[BlockSize]byte, text, ad []byte) {
	p.held = 0
	clear(p.state.Y[:])
	binary.LittleEndian.PutUint64(sum[:8], 8*uint64(len(ad)))
	binary.LittleEndian.PutUint64(sum[8:], 8*uint64(len(text)))
	p.absorb(ad)
	p.absorb(text)
	p.absorb(sum[:])
	p.flush()
	for i, x := range p.state.Y {
		sum[len(sum)-1-i] = x
	}
}

// count XORs key stream into the text, starting with the counter block.
func (p *sivPacket) count(out, in []byte, block *[BlockSize]byte) {
	var next wordBlock
	*next.bytes() = *block
	number := next.bytes()[:4]
	for len(in) > 0 {
		n := min(len(in), sivChunk)
		blocks := p.chunk[:(n+BlockSize-1)/BlockSize]
		for i := range blocks {
			b := &blocks[i]
			b[0], b[1], b[2], b[3] = next[0], next[1], next[2], next[3]
			binary.LittleEndian.PutUint32(number, binary.LittleEndian.Uint32(number)+1)
		}
		stream := p.bytes()[:len(blocks)*BlockSize]
		p.blocks(kernel.AESECBEncrypt, stream, stream, nil)
		subtle.XORBytes(out, in[:n], stream)
		out, in = out[n:], in[n:]
	}
}
