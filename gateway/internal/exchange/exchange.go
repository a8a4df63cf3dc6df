// Package exchange hands packets over between cores. Each pair of cores has memory of its own, whose owner is the one or the other, so
// that no lock is shared; the packets that one core gives another stay in order.
package exchange

import (
	"sync/atomic"
	"time"
)

const (
	batches    = 4 // of each pair
	batchItems = 512
	// Bytes of a batch, unless a packet is longer: the most, fewer if all of them together were too many, and the least.
	mostBytes  = 256 << 10
	leastBytes = 16 << 10
	allBytes   = 64 << 20
)

// An Item is a packet, with other facts about it.
type Item[T any] struct {
	Data  []byte
	About T
}

type batch[T any] struct {
	items  []Item[T]
	ends   []int // of their data, in memory
	memory []byte
}

// A Mesh joins cores, each to each.
type Mesh[T any] struct {
	full, free [][]chan *batch[T] // by who gives, and who takes
	giving     atomic.Int64       // cores that may still give something
	bytes      int                // of a batch
}

// New joins the cores. Each of them has to call Receive again and again, and in the end End.
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

// Most returns how many bytes of packets a Mesh of that many cores may keep; of more than 32 cores it is more, if each has much for each
// other one.
func Most(cores int) int { return min(cores*(cores-1)*batches*batchBytes(cores), allBytes) }

func batchBytes(cores int) int { return min(max(allBytes/batches/cores/cores, leastBytes), mostBytes) }

// A Port is one core's part of a Mesh. It belongs to one goroutine.
type Port[T any] struct {
	Moved atomic.Uint64 // packets given to others

	mesh *Mesh[T]
	self int
	made []int // batches, by who takes
	open []*batch[T]
	take func([]Item[T])
}

// Port returns a core's part. take gets the packets of others; they are valid until it returns.
func (m *Mesh[T]) Port(self int, take func([]Item[T])) *Port[T] {
	return &Port[T]{mesh: m, self: self, made: make([]int, len(m.full)), open: make([]*batch[T], len(m.full)), take: take}
}

// Give copies a packet, for another core. If that one is behind, it waits, and meanwhile takes the packets that others give. All do so, so no core
// waits forever.
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
	p.mesh.full[p.self][to] <- b // it has room for all that there are
	p.open[to] = nil
}

// Flush hands over what was given so far.
func (p *Port[T]) Flush() {
	for to, b := range p.open {
		if b != nil {
			p.flush(to)
		}
	}
}

// End gives nothing more, and takes what others give until they have ended as well.
func (p *Port[T]) End() {
	p.Flush()
	for p.mesh.giving.Add(-1); p.mesh.giving.Load() > 0; {
		if p.Receive() == 0 {
			time.Sleep(100 * time.Microsecond)
		}
	}
	p.Receive()
}

// Receive takes what others have handed over, and returns how many packets.
func (p *Port[T]) Receive() (n int) {
	for from, lanes := range p.mesh.full {
		for {
			select {
			case b := <-lanes[p.self]:
				n += len(b.items)
				p.take(b.items)
				clear(b.items)
				clear(b.memory) // it may have been plaintext
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
