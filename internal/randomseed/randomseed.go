// Package randomseed provides the seeds of random tests.
package randomseed

import (
	"fmt"
	"os"
	"strconv"
	"time"
)

// Of returns the number in the environment variable SEALANE_SEED, to repeat a run, or a new number if that is not set.
// An invalid value ends the program with status 2, because the run would not be repeated. Tests print their seed.
func Of() uint64 {
	given := os.Getenv("SEALANE_SEED")
	if given == "" {
		return uint64(time.Now().UnixNano())
	}
	n, err := strconv.ParseUint(given, 0, 64)
	if err != nil {
		fmt.Fprintf(os.Stderr, "SEALANE_SEED: %q is not a number from 0 to 2^64-1\n", given)
		os.Exit(2)
	}
	return n
}
