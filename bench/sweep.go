package main

import (
	"crypto/cipher"
	"fmt"
	"math"
	"slices"
	"time"
)

const (
	sweepBatch   = 5 * time.Microsecond
	suspectBatch = 20 * time.Microsecond
)

// A sweep compares two implementations at every size from 0 to maxBytes, to find sizes at which the first is slower.
type sweep struct {
	ours, peer cipher.AEAD
	b          *goBench // for its text and nonce
	packet     []byte
	seal, open [maxBytes + 1]pair
	Passes     int
}

// A pair holds the minimum times of both, in ns.
type pair struct{ ours, peer float64 }

func (p pair) ratio() float64 { return p.peer / p.ours }

func newSweep(b *goBench, ours, peer goCandidate) (*sweep, error) {
	s := &sweep{b: b, packet: make([]byte, 0, maxBytes+16)}
	var err error
	if s.ours, err = ours.New(b.keys[0]); err != nil {
		return nil, err
	}
	if s.peer, err = peer.New(b.keys[0]); err != nil {
		return nil, err
	}
	for i := range s.seal {
		s.seal[i], s.open[i] = pair{1e12, 1e12}, pair{1e12, 1e12}
	}
	return s, nil
}

// at measures one size again.
func (s *sweep) at(size int, batch time.Duration) error {
	text, nonce, out := s.b.text[:size], s.b.nonce, s.b.out
	s.b.setNonce(size)
	sealed := s.peer.Seal(s.packet, nonce, text, nil)
	smaller := func(best *float64, f func()) {
		n := min(max(int(float64(batch) / *best), 1), maxBatch)
		f()
		start := time.Now()
		for range n {
			f()
		}
		*best = min(*best, float64(time.Since(start))/float64(n))
	}
	var failed error
	open := func(a cipher.AEAD) func() {
		return func() {
			if _, err := a.Open(out, nonce, sealed, nil); err != nil {
				failed = fmt.Errorf("sweep: open %d bytes: %w", size, err)
			}
		}
	}
	smaller(&s.seal[size].ours, func() { s.ours.Seal(out, nonce, text, nil) })
	smaller(&s.seal[size].peer, func() { s.peer.Seal(out, nonce, text, nil) })
	smaller(&s.open[size].ours, open(s.ours))
	smaller(&s.open[size].peer, open(s.peer))
	return failed
}

// run measures all sizes at least once, and repeats this for d.
func (s *sweep) run(d time.Duration) error {
	for start := time.Now(); s.Passes == 0 || time.Since(start) < d; s.Passes++ {
		for size := range s.seal {
			if err := s.at(size, sweepBatch); err != nil {
				return err
			}
		}
	}
	return nil
}

// slower returns the sizes at which the first implementation is slower.
func (s *sweep) slower() []int {
	var found []int
	for size := range s.seal {
		if s.seal[size].ratio() < 1 || s.open[size].ratio() < 1 {
			found = append(found, size)
		}
	}
	return found
}

// settle measures the sizes that seem slower again, longer and more often, for at most d.
func (s *sweep) settle(d time.Duration) error {
	for start := time.Now(); time.Since(start) < d; {
		suspects := s.slower()
		if len(suspects) == 0 {
			return nil
		}
		for _, size := range suspects {
			if err := s.at(size, suspectBatch); err != nil {
				return err
			}
		}
	}
	return nil
}

// A sweepSummary is the report for one direction.
type sweepSummary struct {
	Op            string    `json:"op"`
	Least         float64   `json:"least"` // ratio
	LeastAt       int       `json:"least_at"`
	Median        float64   `json:"median"`
	Slower        int       `json:"slower"` // number of sizes
	FirstSlower   []int     `json:"first_slower,omitempty"`
	LeastOfEach64 []float64 `json:"least_of_each_64"` // the smallest ratio among sizes 0..63, 64..127, ...
}

func summary(op string, pairs []pair) sweepSummary {
	sum := sweepSummary{Op: op, Least: 1e12}
	var ratios []float64
	for size, p := range pairs {
		r := p.ratio()
		ratios = append(ratios, r)
		if r < sum.Least {
			sum.Least, sum.LeastAt = r, size
		}
		if r < 1 {
			sum.Slower++
			if len(sum.FirstSlower) < 10 {
				sum.FirstSlower = append(sum.FirstSlower, size)
			}
		}
	}
	for group := range slices.Chunk(ratios, 64) {
		sum.LeastOfEach64 = append(sum.LeastOfEach64, math.Round(slices.Min(group)*1000)/1000)
	}
	slices.Sort(ratios)
	sum.Median = ratios[len(ratios)/2]
	return sum
}
