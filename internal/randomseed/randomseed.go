// Package randomseed says where random tests begin.
package randomseed

import (
	"os"
	"strconv"
	"time"
)

// Of returns the number in the environment variable SEALANE_SEED, so that a run can be made again; a new one for each run
// where that is not set or not a number. Tests print what they began with.
func Of() uint64 {
	if n, err := strconv.ParseUint(os.Getenv("SEALANE_SEED"), 0, 64); err == nil {
		return n
	}
	return uint64(time.Now().UnixNano())
}
