// Seal seals or opens one message again and again between two markers, for tools/armcost to watch.
//
//	seal BYTES[,BYTES...] SEED [seal|open|both|aes|plant]
//	    [chacha|gcm128|gcm192|gcm256|gcm128n16|ccm128|siv128|cmac128|batchN|ccmbatchN|cmacbatchN|gmac128|modes|MODE128|MODE256]
//
// With several sizes, it processes each of them in turn.
//
// gcm128n16 has nonces of 16 bytes, which make the counters secret. With batchN it processes N messages in one call
// of package batch, ChaCha20-Poly1305 with a key each. ccmbatchN is AES-CCM, cmacbatchN is AES-CMAC in one call of
// SumCMAC. With aes it runs Go's AES-GCM, which on 32-bit ARM reads tables at secret addresses. The comparison of
// traces must find that.
//
// ccm128, siv128 and cmac128 are AES-CCM, AES-GCM-SIV and AES-CMAC.
//
// gmac128 is AES-GCM without text; the bytes are associated data. MODE is an operation of the unauthenticated AES
// kernels, called alone: setup, ecb, ctr, cbc, xts, or cbcNx and masksNx with N lanes. open decrypts. modes runs all
// of them in sequence. With plant, counters and branches of the 32-bit NEON kernel depend on the seed.
package main

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/sha256"
	"fmt"
	"hash"
	"os"
	"runtime"
	"strconv"
	"strings"

	sealaneaes "github.com/sealane/sealane/aes"
	"github.com/sealane/sealane/aesgcm"
	"github.com/sealane/sealane/batch"
	"github.com/sealane/sealane/chacha20poly1305"
)

//go:noinline
func markStart() {}

//go:noinline
func markEnd() {}

func main() {
	if len(os.Args) < 3 {
		fmt.Fprintln(os.Stderr, "usage: seal BYTES[,BYTES...] SEED [seal|open|both|aes|plant] [chacha|gcm128|gcm192|gcm256|gcm128n16|ccm128|siv128|cmac128|batchN|ccmbatchN|cmacbatchN|gmac128|modes|MODE128|MODE256]")
		os.Exit(2)
	}
	var sizes []int
	for _, word := range strings.Split(os.Args[1], ",") {
		size, err := strconv.Atoi(word)
		if err != nil || size < 0 {
			fmt.Fprintln(os.Stderr, "seal: not a size:", word)
			os.Exit(2)
		}
		sizes = append(sizes, size)
	}
	cipherName, ways := "chacha", []bool{false}
	if len(os.Args) > 3 && os.Args[3] == "open" {
		ways = []bool{true}
	} else if len(os.Args) > 3 && os.Args[3] == "both" {
		ways = []bool{false, true}
	}
	if len(os.Args) > 4 {
		cipherName = os.Args[4]
	}
	if len(os.Args) > 3 && os.Args[3] == "aes" {
		cipherName = "go"
	}
	runtime.LockOSThread()
	for _, open := range ways {
		each(cipherName, sizes, open)
	}
}

// each seals or opens messages of all sizes.
func each(cipherName string, sizes []int, open bool) {
	if name, n, isBatch := strings.Cut(cipherName, "batch"); isBatch {
		packets, err := strconv.Atoi(n)
		if err != nil || packets < 1 {
			fmt.Fprintln(os.Stderr, "seal: not a number of packets:", n)
			os.Exit(2)
		}
		for _, size := range sizes {
			switch name {
			case "cmac":
				macs(packets, size)
			case "ccm":
				many("ccm128", packets, size, open)
			default:
				many("chacha", packets, size, open)
			}
		}
		return
	}
	if all := modesNamed(cipherName, open); all != nil {
		for _, m := range all {
			for _, size := range sizes {
				m.run(size)
			}
		}
		return
	}
	for _, size := range sizes {
		one(cipherName, size, open)
	}
}

// one seals or opens one packet a round.
func one(cipherName string, size int, open bool) {
	plain, ad := make([]byte, size), []byte(nil)
	sealed := make([]byte, 0, size+chacha20poly1305.Overhead)
	opened := make([]byte, 0, size)
	for round := range 6 {
		key := sha256.Sum256([]byte(os.Args[2] + strconv.Itoa(round)))
		for i := range plain {
			plain[i] = key[i%32] ^ byte(i)
		}
		if cipherName == "gmac128" {
			ad, plain = append(ad, plain...), nil
		}
		aead, err := newAEAD(key[:], cipherName)
		if err != nil {
			panic(err)
		}
		nonce := key[:aead.NonceSize()]
		if open {
			sealed = aead.Seal(sealed[:0], nonce, plain, ad)
			runtime.Gosched()
			markStart()
			opened, err = aead.Open(opened[:0], nonce, sealed, ad)
			markEnd()
			if err != nil {
				panic(err)
			}
		} else {
			runtime.Gosched()
			markStart()
			sealed = aead.Seal(sealed[:0], nonce, plain, ad)
			markEnd()
		}
	}
	fmt.Printf("%x\n", sha256.Sum256(append(sealed, opened...)))
}

// many seals or opens a batch of packets a round.
func many(name string, packets, size int, open bool) {
	ops := make([]batch.Op, packets)
	text := make([][]byte, packets)
	for i := range text {
		text[i] = make([]byte, size, size+chacha20poly1305.Overhead)
	}
	hash := sha256.New()
	for round := range 6 {
		for i := range ops {
			key := sha256.Sum256(fmt.Appendf(nil, "%s %d %d", os.Args[2], round, i))
			aead, err := newAEAD(key[:], name)
			if err != nil {
				panic(err)
			}
			ops[i] = batch.Op{AEAD: aead, Dst: text[i][:0], Nonce: key[:aead.NonceSize()], Src: text[i][:size]}
		}
		if !open {
			runtime.Gosched()
			markStart()
		}
		batch.SealBatch(ops)
		if !open {
			markEnd()
			for i := range ops {
				hash.Write(ops[i].Out)
			}
			continue
		}
		for i := range ops {
			hash.Write(ops[i].Out)
			ops[i].Src = ops[i].Out
		}
		runtime.Gosched()
		markStart()
		opened := batch.OpenBatch(ops)
		markEnd()
		if opened != packets {
			panic("a message was not opened")
		}
	}
	fmt.Printf("%x\n", hash.Sum(nil))
}

// macs makes MACs side by side.
func macs(packets, size int) {
	texts := make([]sealaneaes.CMACText, packets)
	hash := sha256.New()
	for round := range 6 {
		for i := range texts {
			key := sha256.Sum256(fmt.Appendf(nil, "%s %d %d", os.Args[2], round, i))
			c, err := sealaneaes.New(key[:16])
			if err != nil {
				panic(err)
			}
			texts[i] = sealaneaes.CMACText{Cipher: c, Text: make([]byte, size)}
		}
		runtime.Gosched()
		markStart()
		sealaneaes.SumCMAC(texts)
		markEnd()
		for i := range texts {
			hash.Write(texts[i].MAC[:])
		}
	}
	fmt.Printf("%x\n", hash.Sum(nil))
}

func newAEAD(key []byte, name string) (cipher.AEAD, error) {
	switch name {
	case "chacha":
		return chacha20poly1305.New(key)
	case "gcm128", "gmac128":
		return aesgcm.New(key[:16])
	case "gcm192":
		return aesgcm.New(key[:24])
	case "gcm256":
		return aesgcm.New(key)
	case "gcm128n16":
		return aesgcm.NewWithNonceSize(key[:16], 16)
	case "ccm128", "cmac128":
		c, err := sealaneaes.New(key[:16])
		if err != nil {
			return nil, err
		}
		if name == "cmac128" {
			return mac{c.NewCMAC()}, nil
		}
		return c.NewCCM(12, 16)
	case "siv128":
		return sealaneaes.NewGCMSIV(key[:16])
	case "go":
		block, err := aes.NewCipher(key)
		if err != nil {
			return nil, err
		}
		return cipher.NewGCM(block)
	}
	return nil, fmt.Errorf("seal: not a cipher: %s", name)
}

// mac is a MAC in the form of an AEAD that does not encrypt.
type mac struct{ hash.Hash }

func (mac) NonceSize() int { return 0 }
func (mac) Overhead() int  { return 16 }

func (m mac) Seal(dst, _, text, _ []byte) []byte {
	m.Reset()
	_, _ = m.Write(text)
	return m.Sum(dst)
}

func (m mac) Open(dst, _, text, _ []byte) ([]byte, error) { return m.Seal(dst, nil, text, nil), nil }
