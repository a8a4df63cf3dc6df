// Package measure holds the shared code of the programs here. It transfers a file in one process, compares its every
// byte, and prints the cost in the format that the demonstration of make run reads.
package measure

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"runtime/pprof"
	"syscall"
	"time"
)

// A Result is the cost of a transfer.
type Result struct {
	Bytes   int64   `json:"bytes"`
	Seconds float64 `json:"seconds"`
	CPU     float64 `json:"cpu_seconds"` // user and system time of the process: both ends
	Suite   string  `json:"suite"`
}

// Main runs a transfer of a file of that size, with that cipher suite. It calls begin when its connection is there.
func Main(suite string, transfer func(suite string, size int64, begin func()) error) {
	size := flag.Int64("size", 1<<30, "bytes to transfer")
	flag.StringVar(&suite, "suite", suite, "cipher suite")
	profile := flag.String("profile", "", "write a CPU profile of the transfer to this file")
	flag.Parse()
	var start time.Time
	var cpu time.Duration
	err := transfer(suite, *size, func() {
		if *profile != "" {
			f, err := os.Create(*profile)
			if err == nil {
				err = pprof.StartCPUProfile(f)
			}
			if err != nil {
				fail(err)
			}
		}
		start, cpu = time.Now(), cpuTime()
	})
	if err != nil {
		fail(err)
	}
	result := Result{Bytes: *size, Seconds: time.Since(start).Seconds(), CPU: (cpuTime() - cpu).Seconds(), Suite: suite}
	pprof.StopCPUProfile()
	json.NewEncoder(os.Stdout).Encode(result)
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, os.Args[0]+": "+err.Error())
	os.Exit(1)
}

func cpuTime() time.Duration {
	var use syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &use); err != nil {
		panic(err)
	}
	return time.Duration(use.Utime.Nano() + use.Stime.Nano())
}

// block is repeated to form a file. Each copy begins with its number, in 8 bytes.
var block = func() []byte {
	b := make([]byte, 1<<20)
	rand.NewChaCha8([32]byte{}).Read(b)
	return b
}()

// Write writes the file of that size.
func Write(w io.Writer, size int64) error {
	part := bytes.Clone(block)
	for n := uint64(0); size > 0; n++ {
		binary.LittleEndian.PutUint64(part, n)
		part = part[:min(int64(len(part)), size)]
		if _, err := w.Write(part); err != nil {
			return err
		}
		size -= int64(len(part))
	}
	return nil
}

// Check reads the file of that size, and compares every byte.
func Check(r io.Reader, size int64) error {
	want, part := bytes.Clone(block), make([]byte, len(block))
	for n, at := uint64(0), int64(0); at < size; n++ {
		binary.LittleEndian.PutUint64(want, n)
		part = part[:min(int64(len(part)), size-at)]
		if _, err := io.ReadFull(r, part); err != nil {
			return fmt.Errorf("after %d of %d bytes: %w", at, size, err)
		}
		if !bytes.Equal(part, want[:len(part)]) {
			return fmt.Errorf("of the bytes from %d on some arrived that were not sent", at)
		}
		at += int64(len(part))
	}
	return nil
}
