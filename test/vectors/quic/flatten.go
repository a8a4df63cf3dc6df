//go:build ignore

// Flatten turns appendix_a.json into lines that a C program reads without a parser:
//
//	packet aes|chacha key iv hp number header payload payloadSize packet
//	retry version dcid packet
package main

import (
	"encoding/json"
	"fmt"
	"log"
	"os"
)

type sample struct {
	Key, IV, HP, Header, Payload, Packet string
	Number                               uint64
	PayloadSize                          int
}

func main() {
	data, err := os.ReadFile(os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	var all []struct {
		Version                uint32
		DCID, Retry            string
		Client, Server, ChaCha sample
	}
	if err := json.Unmarshal(data, &all); err != nil {
		log.Fatal(err)
	}
	for _, a := range all {
		for i, s := range []sample{a.Client, a.Server, a.ChaCha} {
			fmt.Println("packet", []string{"aes", "aes", "chacha"}[i], s.Key, s.IV, s.HP, s.Number, s.Header, s.Payload, s.PayloadSize, s.Packet)
		}
		fmt.Println("retry", a.Version, a.DCID, a.Retry)
	}
}
