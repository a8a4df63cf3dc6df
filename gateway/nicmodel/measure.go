package main

import (
	"crypto/cipher"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unsafe"

	"github.com/sealane/sealane/chacha20poly1305"
)

// measurements of one machine, as they are kept in measured.json.
type measurements struct {
	CPU      string
	Caches   []int     // bytes: L1 data, L2, L3
	Latency  []float64 // ns: of each cache, of memory, and of half as much as the last cache holds
	Messages []measuredMessage
}

type measuredMessage struct {
	Bytes int
	One   float64            // ns to open a packet, all of one flow
	Flows map[string]float64 // ns, the flow taken at random, by the number of flows
}

// line is the size of a cache line, so that each step of a chase waits for one.
type line struct {
	next *line
	_    [56]byte
}

// A chase is a chain of pointers through this much memory in random order. Pages are the program's own, so address
// translation is part of the time.
type chase struct{ at *line }

func newChase(bytes int) *chase {
	lines := make([]line, bytes/int(unsafe.Sizeof(line{})))
	order := rand.Perm(len(lines))
	for i, at := range order {
		lines[at].next = &lines[order[(i+1)%len(order)]]
	}
	return &chase{&lines[order[0]]}
}

// latency is the least time of a step over some runs.
func (c *chase) latency() float64 {
	const steps = 100_000
	best := time.Duration(1 << 62)
	p := c.at
	for range 8 {
		start := time.Now()
		for range steps / 8 {
			p = p.next.next.next.next.next.next.next.next
		}
		best = min(best, time.Since(start))
	}
	c.at = p
	return float64(best.Nanoseconds()) / steps
}

// flowTime opens packets of flows taken at random, and returns the least ns a packet over some runs.
func flowTime(messageBytes int, aeads []cipher.AEAD) float64 {
	nonce := make([]byte, chacha20poly1305.NonceSize)
	header := make([]byte, 5)
	sealed := aeads[0].Seal(nil, nonce, make([]byte, messageBytes), header)
	out := make([]byte, 0, len(sealed))
	const packets = 4000
	best, random := time.Duration(1<<62), rand.Uint64()
	for range max(10, len(aeads)*3/2/packets) { // each AEAD is used before the measurement
		start := time.Now()
		for range packets {
			random ^= random << 13
			random ^= random >> 7
			random ^= random << 17
			if _, err := aeads[random%uint64(len(aeads))].Open(out, nonce, sealed, header); err != nil {
				panic(err)
			}
		}
		best = min(best, time.Since(start))
	}
	return float64(best.Nanoseconds()) / packets
}

func measure() (*measurements, error) {
	// The process's time is spent on one processor, or caches would change under it.
	runtime.LockOSThread()
	var one [16]uint64
	one[0] = 1
	if _, _, errno := syscall.RawSyscall(syscall.SYS_SCHED_SETAFFINITY, 0, unsafe.Sizeof(one), uintptr(unsafe.Pointer(&one))); errno != 0 {
		return nil, fmt.Errorf("binding to a processor: %w", errno)
	}
	m := &measurements{CPU: cpuName()}
	for _, index := range []string{"index0", "index2", "index3"} {
		text, err := os.ReadFile(filepath.Join("/sys/devices/system/cpu/cpu0/cache", index, "size"))
		if err != nil {
			return nil, fmt.Errorf("caches: %w", err)
		}
		n, err := strconv.Atoi(strings.TrimSuffix(strings.TrimSpace(string(text)), "K"))
		if err != nil {
			return nil, fmt.Errorf("caches: %w", err)
		}
		m.Caches = append(m.Caches, n<<10)
	}
	aeads := make([]cipher.AEAD, flowCounts[len(flowCounts)-1])
	for i := range aeads {
		var err error
		if aeads[i], err = chacha20poly1305.New(make([]byte, chacha20poly1305.KeySize)); err != nil {
			return nil, err
		}
	}
	// Other processors share the third level, and perhaps other machines on the same hardware, at varying times. So
	// there are several rounds, and the quietest counts for each figure. This processor's share of that level shows
	// at half its size.
	m.Messages = make([]measuredMessage, 2)
	var chases []*chase
	for _, n := range []int{m.Caches[0] / 2, m.Caches[1] / 2, m.Caches[2] / 8, 2 * m.Caches[2], m.Caches[2] / 2} {
		chases = append(chases, newChase(n))
	}
	const rounds = 5
	latency := make([][]float64, len(chases))
	times := map[[2]int][]float64{}
	sizes := []int{64, 1024}
	for range rounds {
		for i, c := range chases {
			latency[i] = append(latency[i], c.latency())
		}
		for _, n := range sizes {
			for _, flows := range append([]int{1}, flowCounts...) {
				times[[2]int{n, flows}] = append(times[[2]int{n, flows}], flowTime(n, aeads[:flows]))
			}
		}
	}
	for _, l := range latency {
		m.Latency = append(m.Latency, slices.Min(l))
	}
	for i, n := range sizes {
		m.Messages[i] = measuredMessage{Bytes: n, One: slices.Min(times[[2]int{n, 1}]), Flows: map[string]float64{}}
		for _, flows := range flowCounts {
			m.Messages[i].Flows[strconv.Itoa(flows)] = slices.Min(times[[2]int{n, flows}])
		}
	}
	return m, nil
}

func cpuName() string {
	text, _ := os.ReadFile("/proc/cpuinfo")
	fields := map[string]string{}
	for _, l := range strings.Split(string(text), "\n") {
		if name, value, ok := strings.Cut(l, ":"); ok && fields[strings.TrimSpace(name)] == "" {
			fields[strings.TrimSpace(name)] = strings.TrimSpace(value)
		}
	}
	return fmt.Sprintf("%s, family %s, model %s", fields["model name"], fields["cpu family"], fields["model"])
}

// core derives the processor from the measurements. At half the last cache's size a share x of the accesses hits,
// where x L3 + (1 - x) DRAM is the latency measured there. That share is this processor's.
func (m *measurements) core() *core {
	c := &core{name: "x86 core (" + m.CPU + ")", busy: map[int]float64{}, source: "measured"}
	for i, name := range []string{"L1", "L2", "L3", "DRAM"} {
		level := memory{name: name, latency: m.Latency[i]}
		if i < len(m.Caches) {
			level.bytes = m.Caches[i]
		}
		c.memories = append(c.memories, level)
	}
	last, dram, half := &c.memories[2], m.Latency[3], m.Latency[4]
	last.bytes = int(float64(last.bytes) / 2 * min(1, max(0, (dram-half)/(dram-last.latency))))
	for _, message := range m.Messages {
		c.busy[message.Bytes] = message.One
	}
	return c
}
