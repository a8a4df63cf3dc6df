package aesgcm_test

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"

	"github.com/sealane/sealane/aesgcm"
)

// The nonce is the packet number, which both sides count, so no nonce repeats and none is sent.
func ExampleNew() {
	key, _ := hex.DecodeString("000102030405060708090a0b0c0d0e0f") // from a key exchange
	aead, err := aesgcm.New(key)
	if err != nil {
		panic(err)
	}
	header := []byte("header")
	nonce := make([]byte, aesgcm.NonceSize)
	binary.BigEndian.PutUint64(nonce[4:], 1)

	sealed := aead.Seal(nil, nonce, []byte("a packet"), header)
	fmt.Println(len(sealed), "bytes")

	opened, err := aead.Open(nil, nonce, sealed, header)
	fmt.Printf("%s, %v\n", opened, err)

	sealed[0] ^= 1
	_, err = aead.Open(nil, nonce, sealed, header)
	fmt.Println(err)
	// Output:
	// 24 bytes
	// a packet, <nil>
	// cipher: message authentication failed
}

// The nonce is random and precedes the ciphertext.
func ExampleNewWithRandomNonce() {
	key, _ := hex.DecodeString("000102030405060708090a0b0c0d0e0f")
	aead, err := aesgcm.NewWithRandomNonce(key)
	if err != nil {
		panic(err)
	}
	sealed := aead.Seal(nil, nil, []byte("a record"), nil)
	again := aead.Seal(nil, nil, []byte("a record"), nil)
	fmt.Println(len(sealed), "bytes, the same twice:", string(sealed) == string(again))

	opened, err := aead.Open(sealed[:0], nil, sealed, nil) // in place
	fmt.Printf("%s, %v\n", opened, err)
	// Output:
	// 36 bytes, the same twice: false
	// a record, <nil>
}

// For existing systems with a 16-byte nonce or a 12-byte tag.
func ExampleNewWithNonceSize() {
	key := make([]byte, 32)
	aead, err := aesgcm.NewWithNonceSize(key, 16)
	fmt.Println(aead.NonceSize(), aead.Overhead(), err)
	aead, err = aesgcm.NewWithTagSize(key, 12)
	fmt.Println(aead.NonceSize(), aead.Overhead(), err)
	_, err = aesgcm.NewWithTagSize(key, 8)
	fmt.Println(err)
	// Output:
	// 16 16 <nil>
	// 12 12 <nil>
	// cipher: incorrect tag size given to GCM
}
