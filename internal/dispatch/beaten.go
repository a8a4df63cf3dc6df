package dispatch

import "time"

// What package rival compares two ciphers by.

// Samples are the work that is timed: a short and a long packet.
type Samples [2]func()

// Times are the shortest times of samples.
type Times [2]time.Duration

const turns, rivalLimit = 4, 15 * time.Microsecond

// Beaten says whether theirs are clearly faster than ours in two measurements, and what both took. It does not compare where
// somebody has named a level.
func Beaten(ours, theirs Samples) (beaten, compared bool, took [2]Times) {
	if e := environment(); e.cpu != "" || e.asm == "0" || e.max != "" || privileged() {
		return false, false, took
	}
	product := func(t Times) float64 { return float64(t[0]) * float64(t[1]) }
	for range 2 {
		for turn, began := 0, time.Now(); turn < 2 || turn < turns && time.Since(began) <= 2*rivalLimit; turn++ {
			for i, samples := range [2]Samples{ours, theirs} {
				for j, sample := range samples {
					start := time.Now()
					sample()
					if t := time.Since(start); turn == 0 || t < took[i][j] {
						took[i][j] = t
					}
				}
			}
		}
		theirs, ours := product(took[1]), product(took[0])
		if beaten = theirs > 0 && theirs < ours-ours/16; !beaten {
			break
		}
	}
	return beaten, true, took
}
