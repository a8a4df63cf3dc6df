package aes

import (
	"bytes"
	"crypto/cipher"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/sealane/sealane/batch"
	"github.com/sealane/sealane/internal/kernel"
)

// some returns how many of n cases to run: all, or every fourth in short mode.
func some(n int) int {
	if testing.Short() {
		return n / 4
	}
	return n
}

// refCMAC implements SP 800-38B block by block.
func refCMAC(b cipher.Block, text []byte) []byte {
	var subkey, chain [BlockSize]byte
	times := func() {
		carry := byte(0)
		for i := 15; i >= 0; i-- {
			subkey[i], carry = subkey[i]<<1|carry, subkey[i]>>7
		}
		subkey[15] ^= carry * 0x87
	}
	b.Encrypt(subkey[:], subkey[:])
	times()
	padded := bytes.Clone(text)
	if len(text) == 0 || len(text)%BlockSize != 0 {
		times()
		padded = append(padded, 0x80)
		padded = append(padded, make([]byte, (BlockSize-len(padded)%BlockSize)%BlockSize)...)
	}
	for i := range subkey {
		padded[len(padded)-BlockSize+i] ^= subkey[i]
	}
	for ; len(padded) > 0; padded = padded[BlockSize:] {
		for i := range chain {
			chain[i] ^= padded[i]
		}
		b.Encrypt(chain[:], chain[:])
	}
	return chain[:]
}

// refCCM implements SP 800-38C: it writes the whole authenticated input down, and then chains it.
func refCCM(b cipher.Block, nonce, text, ad []byte, tagSize int) []byte {
	length := 15 - len(nonce)
	blocks := append([]byte{byte((tagSize-2)/2<<3 | (length - 1))}, nonce...)
	blocks = append(blocks, binary.BigEndian.AppendUint64(nil, uint64(len(text)))[8-length:]...)
	pad := func() {
		for len(blocks)%BlockSize != 0 {
			blocks = append(blocks, 0)
		}
	}
	if len(ad) > 0 {
		blocks[0] |= 0x40
		if len(ad) < 0xff00 {
			blocks = binary.BigEndian.AppendUint16(blocks, uint16(len(ad)))
		} else {
			blocks = binary.BigEndian.AppendUint32(append(blocks, 0xff, 0xfe), uint32(len(ad)))
		}
		blocks = append(blocks, ad...)
		pad()
	}
	blocks = append(blocks, text...)
	pad()
	chain := make([]byte, BlockSize)
	for ; len(blocks) > 0; blocks = blocks[BlockSize:] {
		for i := range chain {
			chain[i] ^= blocks[i]
		}
		b.Encrypt(chain, chain)
	}
	counter := make([]byte, BlockSize)
	counter[0] = byte(length - 1)
	copy(counter[1:], nonce)
	stream := cipher.NewCTR(b, counter)
	stream.XORKeyStream(chain, chain)
	out := make([]byte, len(text))
	stream.XORKeyStream(out, text)
	return append(out, chain[:tagSize]...)
}

func TestCMACAllLengths(t *testing.T) {
	forEachLevel(t, func(t *testing.T, level kernel.Level) {
		r := newRand(t)
		for n := range some(700) {
			key, text := random(r, 16+8*(n%3)), random(r, n)
			h := ours(t, level, key).NewCMAC()
			want := refCMAC(theirs(t, key), text)
			h.Write([]byte("a text before"))
			h.Reset()
			for rest := text; len(rest) > 0; {
				piece := min(r.IntN(40), len(rest))
				if got, err := h.Write(rest[:piece]); got != piece || err != nil {
					t.Fatalf("Write of %d: %d, %v", piece, got, err)
				}
				rest = rest[piece:]
			}
			for range 2 {
				if got := h.Sum([]byte{7}); !bytes.Equal(got, append([]byte{7}, want...)) {
					t.Fatalf("%d bytes: %x, want %x", n, got, want)
				}
			}
		}
	})
}

func TestCCMAllLengths(t *testing.T) {
	type packet struct {
		key, nonce, text, ad, want []byte
		tagSize                    int
	}
	var packets []packet
	r := newRand(t)
	for n := range some(400) {
		p := packet{random(r, 16+8*(n%3)), random(r, 7+r.IntN(7)), random(r, n), random(r, r.IntN(40)), nil, 4 + 2*r.IntN(7)}
		switch n % 100 {
		case 7:
			p.ad = random(r, 0xff00-2+n/100)
		case 9:
			p.text = random(r, 3000+r.IntN(3000))
		}
		p.want = refCCM(theirs(t, p.key), p.nonce, p.text, p.ad, p.tagSize)
		packets = append(packets, p)
	}
	forEachLevel(t, func(t *testing.T, level kernel.Level) {
		for _, p := range packets {
			nonce, text, ad, want := p.nonce, p.text, p.ad, p.want
			a, err := ours(t, level, p.key).NewCCM(len(nonce), p.tagSize)
			if err != nil {
				t.Fatal(err)
			}
			got := a.Seal([]byte("prefix"), nonce, text, ad)
			if !bytes.Equal(got[6:], want) || string(got[:6]) != "prefix" {
				t.Fatalf("%d bytes of text, %d of additional data: %x, want %x", len(text), len(ad), got, want)
			}
			place := append(make([]byte, 0, len(want)), text...)
			if got := a.Seal(place[:0], nonce, place, ad); !bytes.Equal(got, want) || len(got) > 0 && &got[0] != &place[:1][0] {
				t.Fatalf("%d bytes in place: %x, want %x", len(text), got, want)
			}
			opened, err := a.Open(place[:0], nonce, place[:len(want)], ad)
			if err != nil || !bytes.Equal(opened, text) {
				t.Fatalf("%d bytes: opened to %x, %v", len(text), opened, err)
			}
			for _, part := range [][]byte{want, nonce, ad} {
				if len(part) == 0 {
					continue
				}
				bit := r.IntN(8 * len(part))
				part[bit/8] ^= 1 << (bit % 8)
				room := bytes.Repeat([]byte{0xa5}, len(text)+1)
				if _, err := a.Open(room[:0], nonce, want, ad); err != errCCMOpen {
					t.Fatalf("a forgery: %v", err)
				}
				if !bytes.Equal(room[:len(text)], make([]byte, len(text))) || room[len(text)] != 0xa5 {
					t.Fatal("a forgery's text is not zeroed")
				}
				part[bit/8] ^= 1 << (bit % 8)
			}
		}
	})
}

func TestWycheproofCMACAndCCM(t *testing.T) {
	type file struct {
		TestGroups []struct {
			IVSize, TagSize int
			Tests           []struct {
				TcID                       int
				Key, IV, AAD, Msg, Ct, Tag string
				Result                     string
			}
		}
	}
	read := func(name string) (f file) {
		data, err := os.ReadFile(filepath.Join("..", "test", "vectors", "wycheproof", name))
		if err == nil {
			err = json.Unmarshal(data, &f)
		}
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	macs, packets := read("aes_cmac_test.json"), read("aes_ccm_test.json")
	forEachLevel(t, func(t *testing.T, level kernel.Level) {
		count := 0
		for _, g := range macs.TestGroups {
			for _, v := range g.Tests {
				count++
				c, err := newAt(level, unhex(t, v.Key))
				if err != nil {
					if v.Result == "valid" {
						t.Errorf("CMAC %d: %v", v.TcID, err)
					}
					continue
				}
				h := c.NewCMAC()
				h.Write(unhex(t, v.Msg))
				if bytes.Equal(h.Sum(nil), unhex(t, v.Tag)) != (v.Result == "valid") {
					t.Errorf("CMAC %d is %s", v.TcID, v.Result)
				}
			}
		}
		for _, g := range packets.TestGroups {
			for _, v := range g.Tests {
				count++
				valid := v.Result == "valid"
				a, err := ours(t, level, unhex(t, v.Key)).NewCCM(g.IVSize/8, g.TagSize/8)
				if err != nil {
					if valid {
						t.Errorf("CCM %d: %v", v.TcID, err)
					}
					continue
				}
				nonce, ad, msg := unhex(t, v.IV), unhex(t, v.AAD), unhex(t, v.Msg)
				sealed := unhex(t, v.Ct+v.Tag)
				got, err := a.Open(nil, nonce, sealed, ad)
				if (err == nil) != valid || valid && !bytes.Equal(got, msg) {
					t.Errorf("CCM %d is %s: %x, %v", v.TcID, v.Result, got, err)
				}
				if valid && !bytes.Equal(a.Seal(nil, nonce, msg, ad), sealed) {
					t.Errorf("CCM %d is sealed otherwise", v.TcID)
				}
			}
		}
		if count != 311+552 {
			t.Errorf("%d vectors", count)
		}
	})
}

func TestCCMMisuse(t *testing.T) {
	c, err := New(make([]byte, 16))
	if err != nil {
		t.Fatal(err)
	}
	for n := range 20 {
		for tag := range 20 {
			_, err := c.NewCCM(n, tag)
			want := errCCMNonceSize
			switch {
			case n >= 7 && n <= 13 && tag >= 4 && tag <= 16 && tag%2 == 0:
				want = nil
			case n >= 7 && n <= 13:
				want = errCCMTagSize
			}
			if err != want {
				t.Errorf("nonces of %d, tags of %d: %v", n, tag, err)
			}
		}
	}
	a, err := c.NewCCM(13, 8)
	if err != nil || a.NonceSize() != 13 || a.Overhead() != 8 {
		t.Fatal(a, err)
	}
	memory, nonce := bytes.Repeat([]byte{7}, 1<<16+200), make([]byte, 13)
	const (
		badNonce = "crypto/cipher: incorrect nonce length given to CCM"
		input    = "crypto/cipher: invalid buffer overlap of output and input"
		data     = "crypto/cipher: invalid buffer overlap of output and additional data"
	)
	mustPanic(t, badNonce, func() { a.Seal(nil, nonce[:12], memory[:9], nil) })
	mustPanic(t, badNonce, func() { _, _ = a.Open(nil, nil, memory[:9], nil) })
	mustPanic(t, "crypto/cipher: message too large for CCM", func() { a.Seal(nil, nonce, memory[:1<<16], nil) })
	mustPanic(t, input, func() { a.Seal(memory[:0], nonce, memory[1:40], nil) })
	mustPanic(t, input, func() { _, _ = a.Open(memory[1:1], nonce, memory[:40], nil) })
	mustPanic(t, data, func() { a.Seal(memory[:0], nonce, memory[100:140], memory[47:60]) })
	mustPanic(t, data, func() { _, _ = a.Open(memory[:0], nonce, memory[100:140], memory[31:60]) })
	for _, n := range []int{0, 7, 1<<16 + 8} {
		if _, err := a.Open(nil, nonce, memory[:n], nil); err != errCCMOpen {
			t.Errorf("%d bytes: %v", n, err)
		}
	}
	if !bytes.Equal(memory, bytes.Repeat([]byte{7}, len(memory))) {
		t.Error("a call that is refused has written")
	}
}

// TestSumCMAC computes MACs of texts of many lengths and keys side by side.
func TestSumCMAC(t *testing.T) {
	forEachLevel(t, func(t *testing.T, level kernel.Level) {
		r := newRand(t)
		for n := range some(80) {
			texts, want := make([]CMACText, n%40), make([][]byte, n%40)
			size := 16
			for i := range texts {
				if r.IntN(4) == 0 {
					size = 16 + 8*r.IntN(3)
				}
				key := random(r, size)
				texts[i] = CMACText{Cipher: ours(t, level, key), Text: random(r, r.IntN(1<<r.IntN(12)))}
				if n > 40 {
					texts[i].Text = random(r, n-40)
				}
				want[i] = refCMAC(theirs(t, key), texts[i].Text)
			}
			SumCMAC(texts)
			for i := range texts {
				if !bytes.Equal(texts[i].MAC[:], want[i]) {
					t.Fatalf("text %d of %d, of %d bytes: %x, want %x", i, len(texts), len(texts[i].Text), texts[i].MAC, want[i])
				}
			}
		}
	})
}

// TestCCMBatchPanic opens a forgery together with a packet that panics. None of the forgery's plaintext may be left.
func TestCCMBatchPanic(t *testing.T) {
	forEachLevel(t, func(t *testing.T, level kernel.Level) {
		a, err := ours(t, level, make([]byte, 16)).NewCCM(12, 16)
		if err != nil {
			t.Fatal(err)
		}
		nonce, secret := make([]byte, 12), bytes.Repeat([]byte("secret"), 50)
		for _, inPlace := range []bool{false, true} {
			forged, out := a.Seal(nil, nonce, secret, nil), make([]byte, len(secret))
			forged[len(secret)] ^= 1
			if inPlace {
				out = forged[:len(secret)]
			}
			ops := []batch.Op{{AEAD: a, Dst: out[:0], Nonce: nonce, Src: forged}, {AEAD: a, Nonce: nonce[1:], Src: forged}}
			mustPanic(t, "crypto/cipher: incorrect nonce length given to CCM", func() { batch.OpenBatch(ops) })
			if !bytes.Equal(out, make([]byte, len(out))) {
				t.Errorf("in place %v: the output has %q", inPlace, out[:6])
			}
		}
	})
}

// TestCCMBatch processes packets of many lengths and keys side by side, with some of another cipher, some too short,
// and some forged.
func TestCCMBatch(t *testing.T) {
	other, err := cipher.NewGCM(theirs(t, make([]byte, 16)))
	if err != nil {
		t.Fatal(err)
	}
	forEachLevel(t, func(t *testing.T, level kernel.Level) {
		r := newRand(t)
		for n := range some(120) {
			ops, texts := make([]batch.Op, n), make([][]byte, n)
			size := 16
			for i := range ops {
				if r.IntN(4) == 0 {
					size = 16 + 8*r.IntN(3)
				}
				op := &ops[i]
				op.AEAD, _ = ours(t, level, random(r, size)).NewCCM(7+r.IntN(7), 4+2*r.IntN(7))
				if n > 60 && r.IntN(9) == 0 {
					op.AEAD = other
				}
				texts[i] = random(r, r.IntN(1<<r.IntN(11)))
				if n < 60 {
					texts[i] = random(r, n)
				}
				op.Nonce, op.AD, op.Src = random(r, op.AEAD.NonceSize()), random(r, r.IntN(40)), texts[i]
				if op.Dst = []byte("before"); r.IntN(2) == 0 {
					op.Src = append(make([]byte, 0, len(texts[i])+op.AEAD.Overhead()), texts[i]...)
					op.Dst = op.Src[:0]
				}
			}
			batch.SealBatch(ops)
			good, want := 0, make([]error, n)
			for i := range ops {
				op := &ops[i]
				prefix := len(op.Dst)
				if sealed := op.AEAD.Seal(nil, op.Nonce, texts[i], op.AD); !bytes.Equal(op.Out[prefix:], sealed) || op.Err != nil {
					t.Fatalf("packet %d of %d, %d bytes: %x, %v, want %x", i, n, len(texts[i]), op.Out, op.Err, sealed)
				}
				op.Src = op.Out[prefix:]
				if op.Dst = []byte("before"); r.IntN(2) == 0 {
					op.Dst = op.Src[:0]
				}
				switch r.IntN(6) {
				case 0:
					op.Src[r.IntN(len(op.Src))] ^= 0x10
				case 1:
					op.Nonce[0] ^= 1
				case 2:
					op.Src = op.Src[:r.IntN(4)]
				default:
					good++
					continue
				}
				_, want[i] = op.AEAD.Open(nil, op.Nonce, op.Src, op.AD)
			}
			if opened := batch.OpenBatch(ops); opened != good {
				t.Fatalf("%d of %d opened, want %d", opened, n, good)
			}
			for i := range ops {
				op := &ops[i]
				if op.Err != want[i] || want[i] != nil && op.Out != nil || want[i] == nil && !bytes.Equal(op.Out[len(op.Dst):], texts[i]) {
					t.Fatalf("packet %d of %d: %x, %v, want %x, %v", i, n, op.Out, op.Err, texts[i], want[i])
				}
				if text := op.Src[:max(len(op.Src)-op.AEAD.Overhead(), 0)]; want[i] != nil && len(op.Dst) == 0 && !bytes.Equal(text, make([]byte, len(text))) {
					t.Fatalf("packet %d of %d: a forgery leaves %x", i, n, text)
				}
			}
		}
	})
}

func TestCCMNoAllocations(t *testing.T) {
	if raceEnabled {
		t.Skip("NOT RUN: with the race detector less stays on the stack")
	}
	forEachLevel(t, func(t *testing.T, level kernel.Level) {
		c := ours(t, level, make([]byte, 16))
		a, _ := c.NewCCM(12, 16)
		h, b, other, nonce := c.NewCMAC(), make([]byte, 1000, 1100), make([]byte, 9, 40), make([]byte, 12)
		if n := testing.AllocsPerRun(20, func() {
			sealed := a.Seal(b[:0], nonce, b, nonce)
			if _, err := a.Open(sealed[:0], nonce, sealed, nonce); err != nil {
				t.Error(err)
			}
			h.Reset()
			h.Write(b)
			h.Sum(b[:0])
			texts := [3]CMACText{{Cipher: c, Text: b}, {Cipher: c, Text: b[:9]}, {Cipher: c}}
			SumCMAC(texts[:])
			ops := [2]batch.Op{{AEAD: a, Dst: b[:0], Nonce: nonce, Src: b}, {AEAD: a, Dst: other[:0], Nonce: nonce, Src: other}}
			batch.SealBatch(ops[:])
			ops[0].Src, ops[1].Src = ops[0].Out, ops[1].Out
			if batch.OpenBatch(ops[:]) != 2 {
				t.Error("not opened")
			}
		}); n != 0 {
			t.Errorf("%v allocations", n)
		}
	})
}

func ExampleCipher_NewCCM() {
	c, err := New([]byte("a key of 16 byte"))
	if err != nil {
		panic(err)
	}
	a, err := c.NewCCM(12, 8) // CCM_8 of TLS
	if err != nil {
		panic(err)
	}
	nonce := make([]byte, 12) // use it only once
	sealed := a.Seal(nil, nonce, []byte("a packet"), []byte("its header"))
	text, err := a.Open(nil, nonce, sealed, []byte("its header"))
	fmt.Printf("%s %v\n", text, err)
	// Output: a packet <nil>
}
