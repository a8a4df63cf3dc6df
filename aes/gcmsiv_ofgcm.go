//go:build arm || mips || mips64 || mips64le || mipsle || riscv64

package aes

import (
	"crypto/subtle"
	"encoding/binary"
	"math/bits"
	"unsafe"

	"github.com/sealane/sealane/internal/kernel"
)

const sivChunk = 2048 // bytes that are reversed, or counted, at a time

// sivWork is what else a packet needs. POLYVAL is GHASH of blocks whose bytes are reversed, with a hash key that is
// reversed and multiplied by x, its result reversed again (RFC 8452, appendix A). A kernel of AES-GCM takes such blocks
// as associated data, which it does not decrypt.
type sivWork struct {
	state kernel.GCMState
	held  int // bytes of chunk that wait
	chunk [sivChunk / BlockSize]wordBlock
}

// derivationBlocks encrypts a number and the nonce in each block.
func derivationBlocks(c *Cipher, blocks, nonce []byte) {
	for i := 0; i < len(blocks); i += BlockSize {
		blocks[i] = byte(i / BlockSize)
		copy(blocks[i+4:], nonce)
	}
	c.run(kernel.AESECBEncrypt, blocks, blocks, nil)
}

// A wordBlock is a block as words: loads and stores of bytes take several times as long.
type wordBlock [BlockSize / 4]uint32

// reverse reverses the bytes of a block, whatever the order of bytes in words is.
func (b *wordBlock) reverse() {
	b[0], b[1], b[2], b[3] = bits.ReverseBytes32(b[3]), bits.ReverseBytes32(b[2]), bits.ReverseBytes32(b[1]), bits.ReverseBytes32(b[0])
}

func (b *wordBlock) bytes() *[BlockSize]byte { return (*[BlockSize]byte)(unsafe.Pointer(b)) }

// bytes are those of the chunk.
func (w *sivWork) bytes() *[sivChunk]byte { return (*[sivChunk]byte)(unsafe.Pointer(&w.chunk)) }

func (p *sivPacket) setHashKey(int) {
	var h [BlockSize]byte
	low, high := binary.LittleEndian.Uint64(p.hashKey[:8]), binary.LittleEndian.Uint64(p.hashKey[8:])
	binary.BigEndian.PutUint64(h[:8], high>>1^0xe1<<56&-(low&1))
	binary.BigEndian.PutUint64(h[8:], low>>1|high<<63)
	p.hash.Rounds = 10
	kernel.AESGCMHashKey(p.level, &p.hash, &h)
	clear(h[:])
}

// flush absorbs the blocks of chunk. Each call of a kernel begins with the sum zero, hence the last one goes into the first block.
func (p *sivPacket) flush() {
	var none [sivNonceSize]byte
	var a kernel.PacketArgs
	first := p.chunk[0].bytes()
	subtle.XORBytes(first[:], first[:], p.state.Y[:])
	a.AD, a.ADBytes = unsafe.Pointer(&p.chunk), uint64(p.held)
	a.Key, a.Nonce, a.State = unsafe.Pointer(&p.hash), unsafe.Pointer(&none), p.state.State()
	a.Flags = kernel.FlagFirst | kernel.FlagNonce
	kernel.AESGCM(p.level, &a)
	p.held = 0
}

// absorb absorbs data, filled up with zeroes to whole blocks.
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

// wipe wipes all of it: some kernels make keys to decrypt unasked.
func (p *sivPacket) wipe() { *p = sivPacket{} }

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

// count adds the keystream of block and those after it.
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
		p.message.run(kernel.AESECBEncrypt, stream, stream, nil)
		subtle.XORBytes(out, in[:n], stream)
		out, in = out[n:], in[n:]
	}
}
