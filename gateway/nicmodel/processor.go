package main

import "math"

// A memory is one kind of memory of a processor, as one thread sees it.
type memory struct {
	name      string
	bytes     int     // that a thread has of it
	latency   float64 // ns
	issue     int     // instructions that an access takes
	hides     bool    // while one thread waits for it another runs
	reachable bool    // by all threads: it can hold data shared by a flow's packets
	extra     float64 // ns that an access to a register takes on top of its instruction
	serves    float64 // ns that an access keeps it from others, 0 if it has no others
}

// A processor has engines that run some threads each, one at a time, and switch when one waits.
type processor struct {
	name     string
	engines  int
	threads  int
	cycle    float64 // ns
	lost     int     // cycles that a switch of threads and a jump lose
	island   int     // engines that share the memories that serve others
	reserved int     // bytes of registers that a thread has no objects in: temporaries
	memories []memory
}

// A placement assigns a memory to each object.
type placement [objects]int

// A cost is the time of a thread for a packet, in ns: the engine is busy, or the thread waits and another runs.
type cost struct{ busy, wait float64 }

// rate is the packets per second of all engines. An engine takes at least its busy time for a packet, and its threads
// at least their waits.
func (p *processor) rate(c cost) float64 {
	return float64(p.engines) / math.Max(c.busy, (c.busy+c.wait)/float64(p.threads)) * 1e9
}

// contended is rate with the waits for memories that others use. Each access is served in turn; arrivals are random
// and take the same time (M/D/1: the wait is S u / 2 (1 - u) for a service of S and a load of u). No memory serves
// more than its maximum.
func (p *processor) contended(work *profile, where placement) float64 {
	c := p.evaluate(work, where)
	low, high := 0.0, p.rate(c)
	for range 60 {
		rate := (low + high) / 2
		wait, possible := c.wait, true
		for m := range p.memories {
			serves := p.memories[m].serves
			if serves == 0 {
				continue
			}
			n := 0
			for o, accesses := range work.accesses {
				if where[o] == m {
					n += accesses
				}
			}
			load := rate / float64(p.engines) * float64(p.island) * float64(n) * serves / 1e9
			if load >= 1 {
				possible = false
				break
			}
			wait += float64(n) * serves * load / (2 * (1 - load))
		}
		if possible && p.rate(cost{c.busy, wait}) >= rate {
			low = rate
		} else {
			high = rate
		}
	}
	return low
}

// access is the cost of one access to a word. A register's latency is that of the instruction that uses it.
func (p *processor) access(m int) cost {
	memory := &p.memories[m]
	c := cost{busy: float64(memory.issue) * p.cycle}
	switch {
	case m == 0:
		c.busy += memory.extra
	case memory.hides:
		c.busy += float64(p.lost) * p.cycle
		c.wait = memory.latency
	default:
		c.busy += memory.latency
	}
	return c
}

// evaluate is the cost of a packet with a profile, its objects placed somewhere.
func (p *processor) evaluate(work *profile, where placement) cost {
	c := cost{busy: float64(work.instructions+work.jumps*p.lost) * p.cycle}
	for o, n := range work.accesses {
		a := p.access(where[o])
		c.busy += float64(n) * a.busy
		c.wait += float64(n) * a.wait
	}
	return c
}

// sizesFor are the sizes of a thread's objects for a message of messageBytes, which has its frame around it.
func sizesFor(messageBytes int) [objects]int {
	s := objectBytes
	s[packet] = messageBytes + frameOverhead
	return s
}

// fits reports whether a placement fits into the memories, and each object is where it may be. The network decides
// where a packet lies, and every thread must reach the key and associated data.
func (p *processor) fits(where placement, messageBytes int) bool {
	var used [8]int
	for o, n := range sizesFor(messageBytes) {
		if !p.allowed(object(o), where[o]) {
			return false
		}
		used[where[o]] += n
	}
	for m := range p.memories {
		if used[m] > p.memories[m].bytes {
			return false
		}
	}
	return true
}

func (p *processor) allowed(o object, m int) bool {
	switch o {
	case packet:
		return m == len(p.memories)-1
	case key, associated:
		return p.memories[m].reachable
	}
	return true
}

// best tries all placements that fit, and returns the fastest with how many there were.
func (p *processor) best(work *profile, messageBytes int) (best placement, tried int) {
	size := sizesFor(messageBytes)
	var each [8]cost
	var left [8]int
	for m := range p.memories {
		each[m] = p.access(m)
		left[m] = p.memories[m].bytes
	}
	left[0] -= p.reserved
	fastest := math.Inf(1)
	var where placement
	var try func(o object, c cost)
	try = func(o object, c cost) {
		if o == objects {
			tried++
			if t := math.Max(c.busy, (c.busy+c.wait)/float64(p.threads)); t < fastest {
				fastest, best = t, where
			}
			return
		}
		n := float64(work.accesses[o])
		for m := range p.memories {
			if left[m] < size[o] || !p.allowed(o, m) {
				continue
			}
			left[m] -= size[o]
			where[o] = m
			try(o+1, cost{c.busy + n*each[m].busy, c.wait + n*each[m].wait})
			left[m] += size[o]
		}
	}
	try(0, cost{busy: float64(work.instructions+work.jumps*p.lost) * p.cycle})
	return best, tried
}
