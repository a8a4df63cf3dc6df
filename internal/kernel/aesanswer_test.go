package kernel

import (
	"crypto/aes"
	"crypto/cipher"
	"encoding/binary"
	"testing"

	"github.com/sealane/sealane/internal/rfc8439"
)

// TestAESAnswer computes the constant of the known-answer test with the standard library.
func TestAESAnswer(t *testing.T) {
	var text [16 * 96]byte
	var initial [9][16]byte
	var state [16]byte
	pattern(text[:], 0)
	raw := make([]byte, 64)
	for i := range raw {
		raw[i] = byte(0x80 + i)
	}
	for i, link := range append(aesLinks[:], 96) {
		n := int(link)
		var blocks [2]cipher.Block
		for j := range blocks {
			size := 16 + 8*(i%3)
			if i == len(aesLinks) {
				size = 16
			}
			blocks[j], _ = aes.NewCipher(raw[32*j:][:size])
		}
		b := blocks[0]
		cbc := func(count, n int) {
			for l := range count {
				part := text[16*n*l:][:16*n]
				cipher.NewCBCEncrypter(blocks[l%2], initial[l][:]).CryptBlocks(part, part)
				copy(initial[l][:], part[16*(n-1):])
			}
		}
		if i == len(aesLinks) {
			cbc(1, n)
			break
		}
		each := func(f func(b []byte)) {
			for j := range n {
				f(text[16*j:][:16])
			}
		}
		xts := func(f func(dst, src []byte)) {
			each(func(b []byte) {
				xor(b, b, state[:])
				f(b, b)
				xor(b, b, state[:])
				carry := byte(0)
				for j, x := range state { // byte by byte, as in the standard
					state[j] = x<<1 | carry
					carry = x >> 7
				}
				state[0] ^= 0x87 * carry
			})
		}
		binary.BigEndian.PutUint32(state[12:], -uint32(i))
		each(func(p []byte) {
			var stream [16]byte
			b.Encrypt(stream[:], state[:])
			xor(p, p, stream[:])
			binary.BigEndian.PutUint32(state[12:], binary.BigEndian.Uint32(state[12:])+1)
		})
		xts(b.Encrypt)
		each(func(p []byte) { b.Decrypt(p, p) })
		last := [16]byte(text[16*(n-1):])
		cipher.NewCBCDecrypter(b, state[:]).CryptBlocks(text[:16*n], text[:16*n])
		state = last
		count := min(1+i%9, n)
		cbc(count, n/count)
		xts(b.Decrypt)
		for j := range n {
			blocks[j%2].Encrypt(text[16*j:], text[16*j:])
		}
		each(func(p []byte) { b.Encrypt(p, p) })
	}
	if initial[0] != aesAnswer {
		t.Errorf("the answer is %#v, the constant %x", initial[0], aesAnswer)
	}
}

func xor(out, a, b []byte) {
	for i := range out {
		out[i] = a[i] ^ b[i]
	}
}

// TestMasksAnswer does the same for ChaCha20 masks, with a test's implementation of the block function.
func TestMasksAnswer(t *testing.T) {
	var keys [3*36 + 32]byte
	var samples [36][16]byte
	for i := range keys {
		keys[i] = byte(0x80 + i)
	}
	for l := range samples {
		pattern(samples[l][:], l)
	}
	mask := func(sample *[16]byte, key []byte) {
		block := rfc8439.Block(key, sample[4:], binary.LittleEndian.Uint32(sample[:]))
		copy(sample[:8], block[:])
	}
	for n := 1; n <= len(samples); n++ {
		for l := range n {
			mask(&samples[l], keys[3*l:][:32])
		}
	}
	for l := 2; l < len(samples); l += 2 {
		mask(&samples[0], append(samples[l][:16:16], samples[l+1][:]...))
	}
	if samples[0] != chaCha20MasksAnswer {
		t.Errorf("the answer is %#v, the constant %x", samples[0], chaCha20MasksAnswer)
	}
}
