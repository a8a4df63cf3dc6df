// Package seed provides the seeds of random tests: -seed, the environment variable SEALANE_SEED, or the default of the
// test.
package seed

import (
	"flag"
	"os"
	"strconv"
	"testing"
	"time"
)

var again = flag.Uint64("seed", 0, "repeat a run with this seed")

// Of returns the seed of a test, by default a new one, and makes the test print it.
func Of(t testing.TB) uint64 {
	t.Helper()
	return Or(t, uint64(time.Now().UnixNano()))
}

// Or returns the seed of a test, by default n, and makes the test print it.
func Or(t testing.TB, n uint64) uint64 {
	t.Helper()
	from := "its own"
	if s := os.Getenv("SEALANE_SEED"); s != "" {
		var err error
		if n, err = strconv.ParseUint(s, 0, 64); err != nil {
			t.Fatalf("SEALANE_SEED: %v", err)
		}
		from = "of SEALANE_SEED"
	}
	if *again != 0 {
		n, from = *again, "of -seed"
	}
	t.Logf("seed %d, %s", n, from)
	return n
}
