package kernel

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"encoding/binary"
	"encoding/hex"
	"slices"
	"testing"

	"github.com/sealane/sealane/internal/rfc8439"
)

// TestAnswer computes the constant of the known-answer test with another implementation.
func TestAnswer(t *testing.T) {
	var key [32]byte
	for i := range key {
		key[i] = byte(0x80 + i)
	}
	peer, err := rfc8439.New(key[:])
	if err != nil {
		t.Fatal(err)
	}
	nonce := []byte{7, 0, 0, 0, 0x40, 0x41, 0x42, 0x43, 0x44, 0x45, 0x46, 0x47}
	prev := make([]byte, 16)
	seal := func(n, adBytes int) {
		text := make([]byte, n+32)
		for j := range text {
			text[j] = byte(7*j + n)
		}
		ad := append(prev, text[:adBytes]...)
		prev = peer.Seal(nil, nonce, text[:n], ad)[n:]
	}
	for _, n := range answerSizes {
		seal(n, n%33)
	}
	seal(3200, 0)
	if [16]byte(prev) != chaCha20Poly1305Answer {
		t.Errorf("the answer is %x, the constant %x", prev, chaCha20Poly1305Answer)
	}
}

// TestAESGCMAnswer computes the constant for AES-GCM with the standard library. Its nonces become J0 through H. For a
// counter that wraps around at once, the nonce is computed backwards.
func TestAESGCMAnswer(t *testing.T) {
	var key [32]byte
	for i := range key {
		key[i] = byte(0x80 + i)
	}
	prev, text := make([]byte, 16), make([]byte, 3200)
	for i, n := range append(answerSizes[:], 3200) {
		pattern(text, n)
		ad := append([]byte(nil), prev...)
		if i < len(answerSizes) {
			ad = append(ad, text[:n%33]...)
		}
		block, err := aes.NewCipher(key[:16+8*(i%3)])
		if err != nil {
			t.Fatal(err)
		}
		j0 := [16]byte{7, 0, 0, 0, 0x40, 0x41, 0x42, 0x43, 0x44, 0x45, 0x46, 0x47, 0, 0, 0, 1}
		nonce := j0[:12]
		if i%2 != 0 {
			binary.BigEndian.PutUint32(j0[12:], -uint32(i))
			nonce = nonceOf(block, j0)
		}
		peer, err := cipher.NewGCMWithNonceSize(block, len(nonce))
		if err != nil {
			t.Fatal(err)
		}
		prev = peer.Seal(nil, nonce, text[:n], ad)[n:]
	}
	if [16]byte(prev) != aesGCMAnswer {
		t.Errorf("the answer is %x, the constant %x", prev, aesGCMAnswer)
	}
}

// TestPolyvalAnswer computes the constant for POLYVAL with RFC 8452, appendix A: as GHASH of reversed blocks, with the
// reversed hash key times x.
func TestPolyvalAnswer(t *testing.T) {
	reversed := func(b []byte) []byte {
		b = bytes.Clone(b)
		slices.Reverse(b)
		return b
	}
	sum, text := make([]byte, 16), make([]byte, 2100)
	for i := range sum {
		sum[i] = byte(0x80 + i)
	}
	for _, n := range polyvalSizes {
		pattern(text, n)
		zeroes := make([]byte, 15)
		data := append(bytes.Clone(text[:n%33]), zeroes[:-(n%33)&15]...)
		data = append(append(data, text[:n]...), zeroes[:-n&15]...)
		data = binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(data, uint64(8*(n%33))), uint64(8*n))
		h, y := gcmProduct(gcmElementOf(reversed(sum)), gcmElement{1 << 62, 0}), gcmElement{}
		for ; len(data) > 0; data = data[16:] {
			block := gcmElementOf(reversed(data[:16]))
			y = gcmProduct(gcmElement{y[0] ^ block[0], y[1] ^ block[1]}, h)
		}
		sum = reversed(binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(nil, y[0]), y[1]))
	}
	if [16]byte(sum) != polyvalAnswer {
		t.Errorf("the answer is %x, the constant %x", sum, polyvalAnswer)
	}
}

// nonceOf returns the 16-byte nonce that leads to j0 = (nonce H + lengths) H.
func nonceOf(block cipher.Block, j0 [16]byte) []byte {
	var h [16]byte
	block.Encrypt(h[:], h[:])
	inverse := gcmInverse(gcmElementOf(h[:]))
	y := gcmProduct(gcmElementOf(j0[:]), inverse)
	y[1] ^= 128
	y = gcmProduct(y, inverse)
	nonce := binary.BigEndian.AppendUint64(nil, y[0])
	return binary.BigEndian.AppendUint64(nonce, y[1])
}

// gcmElement is a 16-byte block as GHASH interprets it: the coefficient of x^i is bit i from the left.
type gcmElement [2]uint64

func gcmElementOf(b []byte) gcmElement {
	return gcmElement{binary.BigEndian.Uint64(b), binary.BigEndian.Uint64(b[8:])}
}

// gcmProduct is NIST SP 800-38D, algorithm 1.
func gcmProduct(x, v gcmElement) (z gcmElement) {
	for i := range 128 {
		if x[i/64]>>(63-i%64)&1 != 0 {
			z[0], z[1] = z[0]^v[0], z[1]^v[1]
		}
		low := v[1] & 1
		v[0], v[1] = v[0]>>1^low*(0xe1<<56), v[1]>>1|v[0]<<63
	}
	return z
}

// gcmInverse is x^(2^128 - 2).
func gcmInverse(x gcmElement) gcmElement {
	z := gcmElement{1 << 63, 0}
	for range 127 {
		x = gcmProduct(x, x)
		z = gcmProduct(z, x)
	}
	return z
}

// TestBatchAnswer does the same for the known-answer test of batches.
func TestBatchAnswer(t *testing.T) {
	seal := func(n int, text, ad []byte) []byte {
		peer, err := rfc8439.New(batchKeys()[32*n:][:32])
		if err != nil {
			t.Fatal(err)
		}
		return peer.Seal(nil, bytes.Repeat([]byte{byte(n)}, 12), text, ad)[len(text):]
	}
	var tags []byte
	for n := range 33 {
		text := make([]byte, n*n)
		for j := range text {
			text[j] = byte(7*j + n)
		}
		tags = append(tags, seal(n, text, batchKeys()[:n])...)
	}
	if answer := seal(0, nil, tags); [16]byte(answer) != chaCha20Poly1305BatchAnswer {
		t.Errorf("the answer is %x, the constant %x", answer, chaCha20Poly1305BatchAnswer)
	}
}

// batchKeys returns the concatenated keys of its 33 packets.
func batchKeys() (keys []byte) {
	for n := range 33 {
		for j := range 32 {
			keys = append(keys, byte(0x80+j+n))
		}
	}
	return keys
}

// TestHChaCha20 checks the example of draft-irtf-cfrg-xchacha-03, section 2.2.1.
func TestHChaCha20(t *testing.T) {
	var key, subkey [32]byte
	for i := range key {
		key[i] = byte(i)
	}
	nonce := [16]byte{0, 0, 0, 9, 0, 0, 0, 0x4a, 0, 0, 0, 0, 0x31, 0x41, 0x59, 0x27}
	HChaCha20(&subkey, &key, &nonce)
	if got, want := hex.EncodeToString(subkey[:]), "82413b4227b27bfed30e42508a877d73a0f9e4d58a74a853c12ec41326d3ecdc"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
