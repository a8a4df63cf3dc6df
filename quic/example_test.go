package quic_test

import (
	"fmt"

	"github.com/sealane/sealane/quic"
)

// A client's Initial packets, in place, as the server opens them. Their keys follow from a connection ID that everybody sees.
func Example() {
	dcid := []byte{0x83, 0x94, 0xc8, 0xf0, 0x3e, 0x51, 0x57, 0x08}
	client, _, err := quic.InitialKeys(quic.Version1, dcid)
	if err != nil {
		panic(err)
	}
	packets := make([]quic.Packet, 2)
	for i := range packets {
		// A short header here: its first byte says that the packet number has 2 bytes. Behind it come payload and tag.
		b := append([]byte{0x41}, dcid...)
		b = append(b, 0, 0)
		b = append(b, fmt.Sprintf("payload number %d", i)...)
		packets[i] = quic.Packet{Keys: client, Bytes: append(b, make([]byte, quic.TagSize)...), PNOffset: 1 + len(dcid), Number: uint64(i)}
	}
	quic.Protect(packets)

	packets[1].Bytes[20] ^= 1 // somebody forges one of them
	for i := range packets {
		packets[i].Number = 1 // the one that is expected
	}
	fmt.Println(quic.Unprotect(packets), "opened")
	fmt.Printf("%d: %s\n", packets[0].Number, packets[0].Payload)
	fmt.Println(packets[1].Err)
	// Output:
	// 1 opened
	// 0: payload number 0
	// quic: packet authentication failed
}
