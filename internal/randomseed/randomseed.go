// Package randomseed says where random tests begin.
package randomseed

import (
	"fmt"
	"os"
	"strconv"
	"time"
)

// Of returns the number in the environment variable SEALANE_SEED, so that a run can be made again; a new one for each run
// where that is not set. What is no number ends the program, with status 2: a run that was to be made again would be
// another. Tests print what they began with.
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
