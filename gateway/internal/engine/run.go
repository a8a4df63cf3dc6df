package engine

import (
	"io"
	"sync"

	"github.com/sealane/sealane/gateway/internal/capture"
	"github.com/sealane/sealane/gateway/internal/packet"
)

// Run reads a capture to its end. One worker runs in this goroutine. Several workers have a goroutine each, and get the
// frames of their connections from every block. Run closes the workers.
//
// The effects of Reader.Secrets precede the handling of the frames after the secrets.
func Run(r *capture.Reader, workers []*Worker, stop func() bool) error {
	defer func() {
		for _, w := range workers {
			w.Close()
		}
	}()
	if len(workers) == 1 {
		var b capture.Block
		for !stop() {
			if err := r.ReadBlock(&b); err != nil {
				return end(err)
			}
			workers[0].Frames(b.Frames)
		}
		return nil
	}
	return runMany(r, workers, stop)
}

func end(err error) error {
	if err == io.EOF {
		return nil
	}
	return err
}

// A share is a block with the assignment of its frames to workers.
type share struct {
	block  capture.Block
	frames [][]capture.Frame // by worker
	whole  []byte            // packets reassembled from fragments
	left   sync.WaitGroup
}

// runMany distributes whole blocks: one message to each worker per megabyte of packets.
func runMany(r *capture.Reader, workers []*Worker, stop func() bool) error {
	const blocks = 4
	free := make(chan *share, blocks)
	for range blocks {
		free <- &share{frames: make([][]capture.Frame, len(workers))}
	}
	inputs := make([]chan *share, len(workers))
	var running sync.WaitGroup
	for i, w := range workers {
		inputs[i] = make(chan *share, blocks)
		running.Add(1)
		go func() {
			defer running.Done()
			for s := range inputs[i] {
				w.Frames(s.frames[i])
				s.left.Done()
			}
		}()
	}
	// Fragments are reassembled here, because only the whole packet shows its connection.
	var segment packet.Segment
	var clock clock
	parser := packet.Parser{OneNetwork: workers[0].o.OneNetwork}
	defer func() {
		// Counters of packets that the workers' own parsers did not see.
		p := &workers[0].parser
		p.Fragments = parser.Fragments
		p.Tunnels.SharedZones += parser.Tunnels.SharedZones
	}()
	defer running.Wait()
	defer func() {
		for _, in := range inputs {
			close(in)
		}
	}()
	for !stop() {
		s := <-free
		// The memory of a block is reused when all workers are finished with it.
		s.left.Wait()
		if err := r.ReadBlock(&s.block); err != nil {
			return end(err)
		}
		for i := range s.frames {
			s.frames[i] = s.frames[i][:0]
		}
		s.whole = s.whole[:0]
		for _, f := range s.block.Frames {
			i := 0
			switch parser.Parse(&segment, f.Link, f.Data, clock.pass(f.Time)) {
			case packet.TCP:
				i = Shard(segment.Tuple.Hash(), len(workers))
				if segment.Whole {
					begin := len(s.whole)
					s.whole = segment.AppendFrame(s.whole)
					f.Data, f.Link = s.whole[begin:len(s.whole):len(s.whole)], packet.LinkWhole
				}
			case packet.Fragment:
				f.Link = packet.LinkPart
			case packet.UDP:
				i = 0 // QUIC connections migrate to other addresses, so one worker has them all
			}
			s.frames[i] = append(s.frames[i], f)
		}
		parser.Release()
		s.left.Add(len(workers))
		for _, in := range inputs {
			in <- s
		}
		free <- s
	}
	return nil
}

// Shard returns which of n workers has the connections with a hash. A worker's table uses the other half of the hash.
func Shard(hash uint64, n int) int { return int(hash >> 32 * uint64(n) >> 32) }
