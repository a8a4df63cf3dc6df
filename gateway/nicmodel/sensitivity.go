package main

import "math"

// A choice is a constant of the reconstruction, and between which values it may lie.
type choice struct {
	name            string
	low, at, high   float64
	set             func(p *processor, v float64)
	lowest, highest [3]float64 // of the results, relative to those at at: 64 bytes, 1024 bytes, ChaCha10
}

// choices are all choices made in the model. Their ranges are those that one could defend without knowing the
// results: half and twice for unknown values, a neighboring whole number for counts.
func choices() []choice {
	setWork := func(to *int) func(*processor, float64) { return func(_ *processor, v float64) { *to = int(v) } }
	return []choice{
		{name: "local memory, ns", low: 1.25, at: 3.75, high: 5, set: func(p *processor, v float64) { p.memories[1].latency = v }},
		{name: "a register on top of its instruction, ns", low: 0, at: 0, high: 0.25, set: func(p *processor, v float64) { p.memories[0].extra = v }},
		{name: "CLS, ns", low: 12.5, at: 25, high: 50, set: func(p *processor, v float64) { p.memories[2].latency = v }},
		{name: "CTM, ns", low: 31.25, at: 62.5, high: 125, set: func(p *processor, v float64) { p.memories[3].latency = v }},
		{name: "instructions of an access to CLS or CTM", low: 1, at: 3, high: 4, set: func(p *processor, v float64) {
			p.memories[2].issue, p.memories[3].issue = int(v), int(v)
		}},
		{name: "cycles that CLS and CTM take to serve an access", low: 0, at: 1, high: 4, set: func(p *processor, v float64) {
			p.memories[2].serves, p.memories[3].serves = v*p.cycle, v*p.cycle
		}},
		{name: "cycles lost by a switch or jump", low: 1, at: 2, high: 4, set: func(p *processor, v float64) { p.lost = int(v) }},
		{name: "instructions of a product of two words", low: 5, at: 7, high: 9, set: func(_ *processor, v float64) {
			work.product, work.productLow = int(v), int(v)-1
		}},
		{name: "instructions of a long sum or shift", low: 1, at: 2, high: 3, set: setWork(&work.long)},
		{name: "instructions of arrival and departure", low: 34, at: 68, high: 136, set: setWork(&work.network)},
		{name: "cycles of a call that turns a word around", low: 0, at: 0, high: 6, set: setWork(&work.call)},
		{name: "threads", low: 4, at: 8, high: 8, set: func(p *processor, v float64) { p.threads = int(v) }},
	}
}

// results of the published placement: packets a second of 64 and 1024 bytes, and of ChaCha10.
func results(p *processor) [3]float64 {
	short, long := profileOf(64-frameOverhead), profileOf(1024-frameOverhead)
	alone := profileOfChaCha(10, chaCha10Frame-ethernetHeader)
	return [3]float64{
		p.contended(&short, publishedPlacement), p.contended(&long, publishedPlacement),
		p.contended(&alone, publishedChaCha10Placement),
	}
}

// sensitivity is the effect of each choice alone.
func sensitivity() []choice {
	before := work
	base := results(&networkProcessor)
	all := choices()
	for i := range all {
		c := &all[i]
		for _, v := range []float64{c.low, c.high} {
			p := networkProcessor
			p.memories = append([]memory(nil), p.memories...)
			c.set(&p, v)
			r := results(&p)
			for k := range r {
				change := r[k]/base[k] - 1
				c.lowest[k], c.highest[k] = math.Min(c.lowest[k], change), math.Max(c.highest[k], change)
			}
			work = before
		}
	}
	return all
}
