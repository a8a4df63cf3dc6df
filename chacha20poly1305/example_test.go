package chacha20poly1305_test

import (
	"bytes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"fmt"

	"github.com/sealane/sealane/chacha20poly1305"
)

// Seal and open a packet in its own buffer. The nonce is the packet number, which both sides count, so no nonce repeats
// and none is sent.
func ExampleNew() {
	key, _ := hex.DecodeString("000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f") // from a key exchange
	aead, err := chacha20poly1305.New(key)
	if err != nil {
		panic(err)
	}
	nonce := make([]byte, chacha20poly1305.NonceSize)
	binary.LittleEndian.PutUint64(nonce[4:], 1)

	buffer := make([]byte, 0, 2048)
	packet := append(buffer, "a packet"...)
	sealed := aead.Seal(packet[:0], nonce, packet, nil) // no allocation
	fmt.Println(len(sealed), "bytes")

	opened, err := aead.Open(sealed[:0], nonce, sealed, nil)
	fmt.Printf("%s, %v\n", opened, err)
	// Output:
	// 24 bytes
	// a packet, <nil>
}

// Nonces of 24 bytes can be random for any number of packets.
func ExampleNewX() {
	aead, err := chacha20poly1305.NewX(make([]byte, chacha20poly1305.KeySize))
	if err != nil {
		panic(err)
	}
	// The nonce precedes the ciphertext. The header is authenticated but not encrypted.
	header := []byte("header")
	nonce := make([]byte, chacha20poly1305.NonceSizeX, 100)
	rand.Read(nonce)
	message := aead.Seal(nonce, nonce, []byte("a message"), header)
	fmt.Println(len(message), "bytes")

	opened, err := aead.Open(nil, message[:aead.NonceSize()], message[aead.NonceSize():], header)
	fmt.Printf("%s, %v\n", opened, err)

	_, err = aead.Open(nil, message[:aead.NonceSize()], message[aead.NonceSize():], []byte("another"))
	fmt.Println(err)
	// Output:
	// 49 bytes
	// a message, <nil>
	// chacha20poly1305: message authentication failed
}

// During a key change, a receiver tries both keys. A failed Open zeroes its output, so the output must not be the
// packet's own buffer: the second attempt reads the packet again.
func Example_twoKeys() {
	var keys [2]cipher.AEAD
	for i := range keys {
		keys[i], _ = chacha20poly1305.New(bytes.Repeat([]byte{byte(i)}, chacha20poly1305.KeySize))
	}
	nonce := make([]byte, chacha20poly1305.NonceSize)
	packet := keys[1].Seal(nil, nonce, []byte("a packet"), nil)

	text := make([]byte, 0, 2048)
	for _, key := range keys {
		opened, err := key.Open(text, nonce, packet, nil)
		fmt.Printf("%q, %v\n", opened, err)
	}
	// Output:
	// "", chacha20poly1305: message authentication failed
	// "a packet", <nil>
}
