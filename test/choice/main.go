// Command choice makes a key of each cipher. It prints the levels and the batch plan of this process, and the
// nanoseconds of the first key. test/choices starts many such processes.
package main

import (
	"fmt"
	"os"
	"time"

	"github.com/sealane/sealane"
	"github.com/sealane/sealane/aesgcm"
	"github.com/sealane/sealane/chacha20poly1305"
	"github.com/sealane/sealane/internal/kernel"
)

func main() {
	begin := time.Now()
	chacha, err := chacha20poly1305.New(make([]byte, chacha20poly1305.KeySize))
	first := time.Since(begin)
	gcm, gcmErr := aesgcm.New(make([]byte, 16))
	if err != nil || gcmErr != nil {
		fmt.Println(err, gcmErr)
		os.Exit(1)
	}
	level, _ := kernel.ChaCha20Poly1305Levels.Choose()
	var from []uint8
	if plan := kernel.ChaCha20Poly1305BatchPlan(kernel.Level(level)); plan != nil {
		from = plan.From[:plan.Below/64]
	}
	fmt.Println(first.Nanoseconds(), sealane.Implementation(chacha), sealane.Implementation(gcm), "batches from", from)
}
