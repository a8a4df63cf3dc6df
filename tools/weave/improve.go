package main

// How far an instruction is moved at a time, and the most moves of a macro. No macro has needed more so far.
const (
	reach    = 12
	maxMoves = 400
)

// improve moves single instructions, taking the first move that helps, until none helps. A move helps if at least
// one core needs fewer cycles and none needs more. No step is random: the same steps and cores give the same order.
// The given numbers of first and last instructions stay.
func improve(steps []step, first, last int, cores []core, times int) (moves int) {
	if times < 2 {
		times = 2 // again, for the results that a following piece waits for
	}
	best := make([]int, len(cores))
	for k := range cores {
		best[k] = cores[k].cycles(steps, times)
	}
	now := make([]int, len(cores))
	for moves < maxMoves {
		moved := false
		for i := first; i < len(steps)-last; i++ {
			for _, direction := range []int{-1, 1} {
				for j := i + direction; j >= first && j < len(steps)-last && (j-i)*direction <= reach; j += direction {
					if steps[i].conflicts(&steps[j]) {
						break
					}
					move(steps, i, j)
					fewer := false
					more := false
					for k := range cores {
						now[k] = cores[k].cycles(steps, times)
						if now[k] > best[k] {
							more = true
							break
						}
						fewer = fewer || now[k] < best[k]
					}
					if fewer && !more {
						copy(best, now)
						moves++
						moved = true
						break
					}
					move(steps, j, i)
				}
			}
		}
		if !moved {
			break
		}
	}
	return moves
}

// move moves the instruction at i to j.
func move(steps []step, i, j int) {
	s := steps[i]
	if i < j {
		copy(steps[i:j], steps[i+1:j+1])
	} else {
		copy(steps[j+1:i+1], steps[j:i])
	}
	steps[j] = s
}
