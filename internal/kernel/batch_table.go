//go:build gc && !purego && (arm || arm64)

package kernel

// newBatchPlan is a table by length, for cores on which nothing is measured: they are too slow.
func newBatchPlan(group int, from ...uint8) *BatchPlan {
	p := &BatchPlan{Group: group, Few: BatchFromMax, Below: uintptr(64 * len(from))}
	for class, n := range from {
		p.From[class] = n
		if n != 0 {
			p.Few = min(p.Few, int(n))
		}
	}
	return p
}
