//go:build arm || mips || mips64 || mips64le || mipsle || riscv64

package aes

import (
	"crypto/subtle"
	"encoding/binary"
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
	chunk [sivChunk]byte
}

// derivationBlocks encrypts a number and the nonce in each block.
func derivationBlocks(c *Cipher, blocks, nonce []byte) {
	for i := 0; i < len(blocks); i += BlockSize {
		blocks[i] = byte(i / BlockSize)
		copy(blocks[i+4:], nonce)
	}
	c.run(kernel.AESECBEncrypt, blocks, blocks, nil)
}

// blocksOf returns the whole blocks of b. Go checks no bounds in loops over them.
func blocksOf(b []byte) [][BlockSize]byte {
	return unsafe.Slice((*[BlockSize]byte)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/BlockSize)
}

// reverse reverses the bytes of the whole blocks of in.
func reverse(out, in []byte) {
	from := blocksOf(in)
	to := blocksOf(out)[:len(from)]
	for i := range from {
		first, last := binary.LittleEndian.Uint64(from[i][:8]), binary.LittleEndian.Uint64(from[i][8:])
		binary.BigEndian.PutUint64(to[i][:8], last)
		binary.BigEndian.PutUint64(to[i][8:], first)
	}
}

func (p *sivPacket) setHashKey(int) {
	var h [BlockSize]byte
	reverse(h[:], p.hashKey[:])
	high, low := binary.BigEndian.Uint64(h[:8]), binary.BigEndian.Uint64(h[8:])
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
	subtle.XORBytes(p.chunk[:BlockSize], p.chunk[:BlockSize], p.state.Y[:])
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
		n := min(len(in), sivChunk-p.held)
		whole := n &^ (BlockSize - 1)
		reverse(p.chunk[p.held:], in[:whole])
		p.held += whole
		if whole < n {
			var last [BlockSize]byte
			copy(last[:], in[whole:n])
			reverse(p.chunk[p.held:], last[:])
			p.held += BlockSize
			clear(last[:])
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
	reverse(sum[:], p.state.Y[:])
}

// count adds the keystream of block and those after it.
func (p *sivPacket) count(out, in []byte, block *[BlockSize]byte) {
	low, high := binary.LittleEndian.Uint64(block[:8]), binary.LittleEndian.Uint64(block[8:])
	for len(in) > 0 {
		n := min(len(in), sivChunk)
		stream := p.chunk[:(n+BlockSize-1)&^(BlockSize-1)]
		blocks := blocksOf(stream)
		for i := range blocks {
			binary.LittleEndian.PutUint64(blocks[i][:8], low)
			binary.LittleEndian.PutUint64(blocks[i][8:], high)
			low = low&^0xffffffff | uint64(uint32(low)+1)
		}
		p.message.run(kernel.AESECBEncrypt, stream, stream, nil)
		subtle.XORBytes(out, in[:n], stream)
		out, in = out[n:], in[n:]
	}
}
