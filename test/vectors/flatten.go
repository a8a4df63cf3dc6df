//go:build ignore

// Flatten turns Wycheproof's AEAD files into lines that a C program reads without a JSON parser:
//
//	algorithm number key nonce ad text ciphertext tag valid|invalid
//
// in hexadecimal, "-" for empty.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"log"
	"os"
)

type file struct {
	Algorithm  string
	TestGroups []struct {
		Tests []struct {
			TcID                       int
			Key, IV, AAD, Msg, Ct, Tag string
			Result                     string
		}
	}
}

func main() {
	log.SetFlags(0)
	out := bufio.NewWriter(os.Stdout)
	for _, path := range os.Args[1:] {
		data, err := os.ReadFile(path)
		if err != nil {
			log.Fatal(err)
		}
		var f file
		if err := json.Unmarshal(data, &f); err != nil {
			log.Fatalf("%s: %v", path, err)
		}
		for _, group := range f.TestGroups {
			for _, t := range group.Tests {
				fmt.Fprint(out, f.Algorithm, " ", t.TcID)
				for _, hex := range []string{t.Key, t.IV, t.AAD, t.Msg, t.Ct, t.Tag} {
					if hex == "" {
						hex = "-"
					}
					fmt.Fprint(out, " ", hex)
				}
				fmt.Fprintln(out, "", t.Result)
			}
		}
	}
	if err := out.Flush(); err != nil {
		log.Fatal(err)
	}
}
