package main

import (
	"encoding/json"
	"fmt"
	"math/bits"
	"os"
	"slices"
	"sort"
)

type kind int

// The resources that an instruction needs on a core, in the format of tools/armcost.
const (
	integer kind = iota
	integerSimple
	integerShifted
	load
	store
	multiply
	branch
	vector64
	vector128
	vectorMultiply
	aes
	aesMix
	vectorLoad
	vectorStore
	kinds
)

var kindNames = [kinds]string{"int", "int_immediate", "int_shifted", "load", "store", "multiply", "branch", "vector_64", "vector_128",
	"vector_multiply", "aes", "aes_mix", "vector_load", "vector_store"}

// core is a row of the machine table, tools/armcost/cores.json.
type core struct {
	Latency     map[string]int `json:"latency"`
	Width       int            `json:"width"`
	WideVector  int            `json:"wide_vector"`
	BeatsACycle int            `json:"beats_a_cycle"`
	Multiply    int            `json:"multiply"`
	Restricted  bool           `json:"restricted"`

	name    string
	latency [kinds]int
}

func readCores(file string) ([]core, []byte, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, nil, err
	}
	var table struct {
		Cores map[string]core `json:"cores"`
	}
	if err := json.Unmarshal(text, &table); err != nil {
		return nil, nil, fmt.Errorf("%s: %w", file, err)
	}
	var cores []core
	for name, c := range table.Cores {
		c.name = name
		for k := range c.latency {
			c.latency[k] = 1
			if n, ok := c.Latency[kindNames[k]]; ok {
				c.latency[k] = n
			}
		}
		if c.Width < 1 || c.WideVector < 1 || c.BeatsACycle < 1 || c.Multiply < 1 {
			return nil, nil, fmt.Errorf("%s: %s: width, wide_vector, beats_a_cycle and multiply are at least 1", file, name)
		}
		cores = append(cores, c)
	}
	sort.Slice(cores, func(i, j int) bool { return cores[i].name < cores[j].name })
	return cores, text, nil
}

// without64 has the cores without arm64, which do not count there.
var without64 = map[string]bool{"cortex-a7": true}

// coresOf returns the cores that run the output of the file.
func (s *source) coresOf(cores []core) []core {
	if !s.arm64 {
		return cores
	}
	return slices.DeleteFunc(slices.Clone(cores), func(c core) bool { return without64[c.name] })
}

// step is an instruction with its registers chosen, in the form that the search and the model need.
type step struct {
	line
	reads, writes set
	accumulates   bool
	address       set
	kind          kind
	beats         int
	memory        access
}

func (a *step) conflicts(b *step) bool {
	return a.writes&(b.reads|b.writes) != 0 || a.reads&b.writes != 0 || a.memory.conflicts(b.memory)
}

const (
	noPipe = iota
	memoryPipe
	multiplier
	vectorPipe
	pipes
)

func (c *core) pipe(s *step) (pipe, busy int) {
	switch s.kind {
	case load, store, vectorLoad, vectorStore:
		return memoryPipe, (s.beats + c.BeatsACycle - 1) / c.BeatsACycle
	case multiply:
		return multiplier, c.Multiply
	case vector64:
		return vectorPipe, 1
	case vector128, vectorMultiply, aes, aesMix:
		return vectorPipe, c.WideVector
	}
	return noPipe, 0
}

func (c *core) mayPair(a, b kind) bool {
	if c.Restricted {
		simple := func(k kind) bool { return k == integerSimple || k == branch }
		return a < vector64 && b < vector64 && (simple(a) || simple(b))
	}
	return a != branch || b != branch
}

const unitBits = 64

// cycles models an in-order core as tools/armcost's scoreboard does; the test holds the two together.
func (c *core) cycles(steps []step, times int) int {
	var ready, addend [unitBits]int
	var pipeReady [pipes]int
	now, issued := 0, 0
	var first kind
	var previous *step
	for range times {
		for i := range steps {
			s := &steps[i]
			if s.kind == aesMix && previous != nil && previous.kind == aes && s.writes == previous.writes {
				previous = nil // AESMC after its AESE is issued with it
				continue
			}
			previous = s
			pipe, busy := c.pipe(s)
			earliest := max(now, pipeReady[pipe])
			for left := s.reads; left != 0; left &= left - 1 {
				u := bits.TrailingZeros64(uint64(left))
				at := ready[u]
				if s.accumulates && s.writes&(1<<u) != 0 {
					at = addend[u]
				}
				earliest = max(earliest, at)
			}
			if earliest == now && issued > 0 && (issued >= c.Width || !c.mayPair(first, s.kind)) {
				earliest++
			}
			if earliest > now {
				now, issued = earliest, 0
			}
			if issued == 0 {
				first = s.kind
			}
			issued++
			for left := s.writes; left != 0; left &= left - 1 {
				u := bits.TrailingZeros64(uint64(left))
				latency := c.latency[s.kind]
				if s.address&(1<<u) != 0 {
					latency = 1
				}
				ready[u], addend[u] = now+latency, now+latency
				if s.kind == multiply {
					addend[u] = now + busy
				}
			}
			if pipe != noPipe {
				pipeReady[pipe] = now + busy
			}
			if c.Restricted && s.kind >= vector64 && busy > 1 {
				now += busy - 1
				issued = c.Width
			}
		}
	}
	return now + 1
}
