package main

// Caches place data by themselves: each level holds its share of the data that packets use at random, the nearest level first.
// The rest of a packet's time is the AEAD's with all data in the nearest level, which is measured or taken from elsewhere.

// A core is a processor that is one of its kind: the memories are its caches, and the last one is without end.
type core struct {
	name     string
	memories []memory
	busy     map[int]float64 // ns of a packet, by bytes of its message, all in the first level
	source   string          // of the figures
}

// The data of a flow: an entry in the table, followed by the AEAD with its key.
const (
	entryBytes = 16
	aeadBytes  = 48
	// Entry and AEAD are read one after the other, since one holds the address of the other. No work on the packet
	// can be done before, so the waits add up, and nothing hides them.
	dependentReads = 2
)

// wait is how long a packet of a random flow waits, among that many flows.
func (c *core) wait(flows int) float64 {
	total, left := float64(flows*(entryBytes+aeadBytes)), float64(flows*(entryBytes+aeadBytes))
	first, wait := c.memories[0].latency, 0.0
	for i, m := range c.memories {
		here := left
		if i < len(c.memories)-1 {
			here = min(left, float64(m.bytes))
		}
		wait += dependentReads * (m.latency - first) * here / total
		left -= here
	}
	return wait
}

// rate is packets a second.
func (c *core) rate(messageBytes, flows int) float64 {
	p := processor{engines: 1, threads: 1}
	return p.rate(cost{busy: c.busy[messageBytes], wait: c.wait(flows)})
}

var flowCounts = []int{1000, 4000, 16000, 64000, 250000, 1000000}

// dpuCore is an ARM Cortex-A72 as in data processing units, at 2.5 GHz. Latencies are of the order known for such
// parts. None was available, so no measurement checks this model. Cycles of the AEAD are those modeled in
// bench/results, arm64, with interpolation between lengths.
var dpuCore = core{
	name: "DPU core (Cortex-A72, 2.5 GHz)",
	memories: []memory{
		{name: "L1", bytes: 32 << 10, latency: 1.6},
		{name: "L2", bytes: 512 << 10, latency: 8},
		{name: "L3", bytes: 6 << 20, latency: 30},
		{name: "DRAM", latency: 120},
	},
	busy:   map[int]float64{64: 1154 / 2.5, 1024: (1578 + (5095-1578)*(1024-256)/(1420-256.0)) / 2.5},
	source: "cycles modeled",
}
