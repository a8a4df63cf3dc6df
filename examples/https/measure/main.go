// Command measure times the standard library's AES-GCM as programs use it: crypto/cipher's NewGCM.
// It shows the difference between go build and sealane build --std. It prints nanoseconds per packet, allocations,
// and the cost of the first packet in a new goroutine, whose stack is small.
//
// It prints JSON, one object per line.
package main

import (
	"crypto/aes"
	"crypto/cipher"
	"encoding/json"
	"flag"
	"os"
	"slices"
	"testing"
	"time"
)

// A result is the cost of one packet of a size.
type result struct {
	Op          string  `json:"op"`
	Size        int     `json:"size"`
	NS          float64 `json:"ns"`       // minimum of many short times
	First       float64 `json:"first_ns"` // in a new goroutine: the median
	Allocations float64 `json:"allocations"`
}

func main() {
	keyBytes := flag.Int("key", 16, "bytes of the key")
	repeats := flag.Int("repeats", 2000, "times that each is measured")
	flag.Parse()
	block, err := aes.NewCipher(make([]byte, *keyBytes))
	if err != nil {
		panic(err)
	}
	aead, err := cipher.NewGCM(block)
	if err != nil {
		panic(err)
	}
	print := json.NewEncoder(os.Stdout)
	for _, size := range []int{64, 256, 1420, 4096, 16384} {
		text, out := make([]byte, size), make([]byte, 0, size+16)
		var nonce [12]byte
		sealed := aead.Seal(nil, nonce[:], text, nil)
		for op, f := range map[string]func(){
			"seal": func() { aead.Seal(out, nonce[:], text, nil) },
			"open": func() {
				if _, err := aead.Open(out, nonce[:], sealed, nil); err != nil {
					panic(err)
				}
			},
		} {
			packets := 1 + 20000/(100+size/4)
			least := time.Duration(1 << 62)
			for range *repeats {
				start := time.Now()
				for range packets {
					f()
				}
				least = min(least, time.Since(start))
			}
			var first []time.Duration
			for range 1000 {
				done := make(chan time.Duration)
				go func() {
					start := time.Now()
					f()
					done <- time.Since(start)
				}()
				first = append(first, <-done)
			}
			slices.Sort(first)
			print.Encode(result{op, size, float64(least.Nanoseconds()) / float64(packets), float64(first[len(first)/2].Nanoseconds()), testing.AllocsPerRun(1000, f)})
		}
	}
}
