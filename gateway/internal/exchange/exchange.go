// Package exchange hands packets over between cores. Each pair of cores has its own memory, which one of them owns at a
// time, so no lock is shared. Packets from one core to another stay in order.
package exchange

import (
	"sync/atomic"
	"time"
)

const (
	batches    = 4 // for each pair of cores
	batchItems = 512
	// Sizes of a batch in bytes, unless a packet is longer: the maximum, a limit for all batches together, and the
	// minimum.
	mostBytes  = 256 << 10
	leastBytes = 16 << 10
	allBytes   = 64 << 20
)

// An Item is a packet with additional information.
type Item[T any] struct {
	Data  []byte
	About T
}

type batch[T any] struct {
	items  []Item[T]
	ends   []int // ends of their data in memory
	memory []byte
}

// A Mesh connects each core to each other core.
type Mesh[T any] struct {
	full, free [][]chan *batch[T] // indexed by sender, then receiver
	giving     atomic.Int64       // cores that have not ended yet
	bytes      int                // size of a batch
}

// New connects the cores. Each core must call Receive repeatedly, and finally End.
func New[T any](cores int) *Mesh[T] {
	m := &Mesh[T]{bytes: batchBytes(cores)}
	m.giving.Store(int64(cores))
	for range cores {
		var full, free []chan *batch[T]
		for range cores {
			full, free = append(full, make(chan *batch[T], batches)), append(free, make(chan *batch[T], batches))
		}
		m.full, m.free = append(m.full, full), append(m.free, free)
	}
	return m
}

// Most returns the largest number of packet bytes in a Mesh of that many cores. Above 32 cores it can be exceeded if
// all cores send much to all others.
func Most(cores int) int { return min(cores*(cores-1)*batches*batchBytes(cores), allBytes) }

func batchBytes(cores int) int { return min(max(allBytes/batches/cores/cores, leastBytes), mostBytes) }

// A Port is one core's end of a Mesh. It belongs to one goroutine.
type Port[T any] struct {
	Moved atomic.Uint64 // packets given to other cores

	mesh *Mesh[T]
	self int
	made []int // batches by receiver
	open []*batch[T]
	take func([]Item[T])
}

// Port returns a core's end. take gets packets from other cores; they are valid only during the call.
func (m *Mesh[T]) Port(self int, take func([]Item[T])) *Port[T] {
	return &Port[T]{mesh: m, self: self, made: make([]int, len(m.full)), open: make([]*batch[T], len(m.full)), take: take}
}

// Give copies a packet for another core. If that core is behind, Give waits, and meanwhile takes packets from others.
// All cores do so, which prevents deadlocks.
func (p *Port[T]) Give(to int, data []byte, about T) {
	b := p.open[to]
	if b != nil && (len(b.memory)+len(data) > p.mesh.bytes && len(b.items) > 0 || len(b.items) == batchItems) {
		p.flush(to)
		b = nil
	}
	if b == nil {
		b = p.another(to)
		p.open[to] = b
	}
	b.memory = append(b.memory, data...)
	b.ends = append(b.ends, len(b.memory))
	b.items = append(b.items, Item[T]{About: about})
	p.Moved.Add(1)
}

// another returns an empty batch.
func (p *Port[T]) another(to int) *batch[T] {
	free := p.mesh.free[p.self][to]
	for {
		select {
		case b := <-free:
			return b
		default:
		}
		if p.made[to] < batches {
			p.made[to]++
			return new(batch[T])
		}
		if p.Receive() > 0 {
			continue
		}
		select {
		case b := <-free:
			return b
		case <-time.After(50 * time.Microsecond):
		}
	}
}

func (p *Port[T]) flush(to int) {
	b := p.open[to]
	begin := 0
	for i, end := range b.ends {
		b.items[i].Data = b.memory[begin:end:end]
		begin = end
	}
	p.mesh.full[p.self][to] <- b // has room for all batches
	p.open[to] = nil
}

// Flush hands over all pending packets.
func (p *Port[T]) Flush() {
	for to, b := range p.open {
		if b != nil {
			p.flush(to)
		}
	}
}

// End stops giving, and takes packets until all other cores have ended too.
func (p *Port[T]) End() {
	p.Flush()
	for p.mesh.giving.Add(-1); p.mesh.giving.Load() > 0; {
		if p.Receive() == 0 {
			time.Sleep(100 * time.Microsecond)
		}
	}
	p.Receive()
}

// Receive takes the packets that others have handed over, and returns their number.
func (p *Port[T]) Receive() (n int) {
	for from, lanes := range p.mesh.full {
		for {
			select {
			case b := <-lanes[p.self]:
				n += len(b.items)
				p.take(b.items)
				clear(b.items)
				clear(b.memory) // may contain plaintext
				b.items, b.ends, b.memory = b.items[:0], b.ends[:0], b.memory[:0]
				if cap(b.memory) > 2*p.mesh.bytes {
					b.memory = nil
				}
				p.mesh.free[from][p.self] <- b
				continue
			default:
			}
			break
		}
	}
	return n
}
