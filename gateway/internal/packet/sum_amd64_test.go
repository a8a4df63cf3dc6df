package packet

import "testing"

// TestSumWithoutAVX2 has sums as CPUs without AVX2 make them.
func TestSumWithoutAVX2(t *testing.T) {
	defer func(was bool) { wide = was }(wide)
	wide = false
	TestSumBytes(t)
}
