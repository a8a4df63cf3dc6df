package main

import "math"

// A memory is one kind of memory of a processor, as one thread sees it.
type memory struct {
	name      string
	bytes     int     // that a thread has of it
	latency   float64 // ns
	issue     int     // instructions that an access takes
	hides     bool    // while one thread waits for it another runs
	reachable bool    // by all threads: what a flow's packets share can lie there
}

// A processor has engines that run some threads each, one at a time, and switch when one waits.
type processor struct {
	name     string
	engines  int
	threads  int
	cycle    float64 // ns
	lost     int     // cycles that a switch of threads and a jump lose
	memories []memory
}

// A placement says in which memory each object lies.
type placement [objects]int

// A cost is what a packet takes of a thread, in ns: the engine is busy, or the thread waits and another runs.
type cost struct{ busy, wait float64 }

// rate is how many packets a second all engines do: an engine is never done sooner than it is busy, and its threads never
// sooner than each has had its waits.
func (p *processor) rate(c cost) float64 {
	return float64(p.engines) / math.Max(c.busy, (c.busy+c.wait)/float64(p.threads)) * 1e9
}

// access is the cost of one access to a word. A register's latency is that of the instruction that uses it.
func (p *processor) access(m int) cost {
	memory := &p.memories[m]
	c := cost{busy: float64(memory.issue) * p.cycle}
	switch {
	case m == 0:
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

// sizesFor are the sizes of a thread's objects for a message of so many bytes, which has its frame around it.
func sizesFor(messageBytes int) [objects]int {
	s := objectBytes
	s[packet] = messageBytes + frameOverhead
	return s
}

// fits says whether a placement is within the memories, and where each object may be: a packet lies where the network puts
// it, and the key and associated data where every thread finds them.
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
