package aes_test

import (
	"crypto/cipher"
	"encoding/hex"
	"fmt"

	"github.com/sealane/sealane/aes"
)

// Package crypto/cipher builds modes on such a key, as on one of crypto/aes. The text is from NIST SP 800-38A, F.5.1.
func ExampleNewCipher() {
	key, _ := hex.DecodeString("2b7e151628aed2a6abf7158809cf4f3c")
	iv, _ := hex.DecodeString("f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff") // never use it twice with one key
	text, _ := hex.DecodeString("6bc1bee22e409f96e93d7e117393172a")
	block, err := aes.NewCipher(key)
	if err != nil {
		panic(err)
	}
	cipher.NewCTR(block, iv).XORKeyStream(text, text)
	fmt.Printf("%x\n", text)
	// Output:
	// 874d6191b620e3261bef6864990db6ce
}

// An XTS key consists of two keys, and the sector number takes the place of a nonce.
func ExampleNewXTS() {
	key, _ := hex.DecodeString("000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f")
	x, err := aes.NewXTS(key)
	if err != nil {
		panic(err)
	}
	sector := make([]byte, 512)
	x.Encrypt(sector, sector, 7)
	x.Decrypt(sector, sector, 7)
	fmt.Println(sector[0], sector[511])
	// Output:
	// 0 0
}
