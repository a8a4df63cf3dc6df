// Seal seals or opens one message again and again between two markers, for tools/armcost to watch.
//
//	seal BYTES SEED [seal|open|batch|openbatch|aes] [chacha|gcm128|gcm192|gcm256] [PACKETS]
//
// A batch has 64 packets, or as many as it says. With aes it is Go's AES-GCM, which on 32-bit ARM reads tables at secret places: what the comparison of traces must find.
package main

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/sha256"
	"fmt"
	"os"
	"runtime"
	"strconv"

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
		fmt.Fprintln(os.Stderr, "usage: seal BYTES SEED [seal|open|batch|openbatch|aes] [chacha|gcm128|gcm192|gcm256] [PACKETS]")
		os.Exit(2)
	}
	size, err := strconv.Atoi(os.Args[1])
	if err != nil || size < 0 {
		fmt.Fprintln(os.Stderr, "seal: not a size:", os.Args[1])
		os.Exit(2)
	}
	way, packets, cipherName := "seal", 64, "chacha"
	if len(os.Args) > 3 {
		way = os.Args[3]
	}
	if len(os.Args) > 4 {
		cipherName = os.Args[4]
	}
	if way == "aes" {
		cipherName = "go"
	}
	if len(os.Args) > 5 {
		if packets, err = strconv.Atoi(os.Args[5]); err != nil || packets < 1 {
			fmt.Fprintln(os.Stderr, "seal: not a number of packets:", os.Args[5])
			os.Exit(2)
		}
	}
	runtime.LockOSThread()
	plain := make([]byte, size)
	sealed := make([]byte, 0, size+chacha20poly1305.Overhead)
	opened := make([]byte, 0, size)
	for round := range 6 {
		key := sha256.Sum256([]byte(os.Args[2] + strconv.Itoa(round)))
		nonce := key[:chacha20poly1305.NonceSize]
		for i := range plain {
			plain[i] = key[i%32] ^ byte(i)
		}
		aead, err := newAEAD(key[:], cipherName)
		if err != nil {
			panic(err)
		}
		runtime.Gosched()
		switch way {
		case "batch", "openbatch":
			sealed = batches(aead, nonce, plain, packets, way == "openbatch")
		case "open":
			sealed = aead.Seal(sealed[:0], nonce, plain, nil)
			markStart()
			opened, err = aead.Open(opened[:0], nonce, sealed, nil)
			markEnd()
			if err != nil {
				panic(err)
			}
		default:
			markStart()
			sealed = aead.Seal(sealed[:0], nonce, plain, nil)
			markEnd()
		}
	}
	fmt.Printf("%x\n", sha256.Sum256(append(sealed, opened...)))
}

// batches seals or opens a batch between the markers, and returns what its packets come to.
func batches(aead cipher.AEAD, nonce, plain []byte, packets int, open bool) []byte {
	ops := make([]batch.Op, packets)
	for i := range ops {
		out := make([]byte, 0, len(plain)+chacha20poly1305.Overhead)
		ops[i] = batch.Op{AEAD: aead, Dst: out, Nonce: nonce, Src: plain}
		if open {
			ops[i].Src = aead.Seal(nil, nonce, plain, nil)
		}
	}
	markStart()
	if open {
		batch.OpenBatch(ops)
	} else {
		batch.SealBatch(ops)
	}
	markEnd()
	sum := sha256.New()
	for i := range ops {
		if ops[i].Err != nil {
			panic(ops[i].Err)
		}
		sum.Write(ops[i].Src)
		sum.Write(ops[i].Out)
	}
	return sum.Sum(nil)
}

func newAEAD(key []byte, name string) (cipher.AEAD, error) {
	switch name {
	case "chacha":
		return chacha20poly1305.New(key)
	case "gcm128":
		return aesgcm.New(key[:16])
	case "gcm192":
		return aesgcm.New(key[:24])
	case "gcm256":
		return aesgcm.New(key)
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	return cipher.NewGCM(block)
}
