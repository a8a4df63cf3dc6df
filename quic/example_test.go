package quic_test

import (
	"fmt"

	"github.com/sealane/sealane/quic"
)

// A client protects two packets in place, and the server opens them. Initial keys follow from a public connection ID.
func Example() {
	dcid := []byte{0x83, 0x94, 0xc8, 0xf0, 0x3e, 0x51, 0x57, 0x08}
	client, _, err := quic.InitialKeys(quic.Version1, dcid)
	if err != nil {
		panic(err)
	}
	packets := make([]quic.Packet, 2)
	for i := range packets {
		// For brevity the header is short. Its first byte encodes a packet number of 2 bytes; payload and tag follow.
		b := append([]byte{0x41}, dcid...)
		b = append(b, 0, 0)
		b = append(b, fmt.Sprintf("payload number %d", i)...)
		packets[i] = quic.Packet{Keys: client, Bytes: append(b, make([]byte, quic.TagSize)...), PNOffset: 1 + len(dcid), Number: uint64(i)}
	}
	quic.Protect(packets)

	packets[1].Bytes[20] ^= 1 // forged in transit
	for i := range packets {
		packets[i].Number = 1 // expected packet number
	}
	fmt.Println(quic.Unprotect(packets), "opened")
	fmt.Printf("%d: %s\n", packets[0].Number, packets[0].Payload)
	fmt.Println(packets[1].Err)
	// Output:
	// 1 opened
	// 0: payload number 0
	// quic: packet authentication failed
}
