package output

import (
	"encoding/binary"
	"io"
	"sync"
)

// A File is a capture that several cores write to. The packets of one core stay in order. Cores alternate in pieces of
// up to 256 KiB, so packets of different connections are not sorted by time. It is safe for concurrent use.
//
// Cores share nothing: each fills its own memory, and hands it to its own goroutine for writing. Only these goroutines
// are synchronized.
type File struct {
	ng    bool
	lanes []*filePackets // those with a goroutine

	mu     sync.Mutex
	w      io.Writer
	err    error
	failed func(error)
	Bytes  uint64

	running sync.WaitGroup // counts the lanes
}

// NewFile writes the header of a capture to w, in pcapng if ng. At the first error it stops writing, and calls failed.
func NewFile(w io.Writer, ng bool, failed func(error)) *File {
	f := &File{w: w, ng: ng, failed: failed}
	f.write(f.Header())
	return f
}

// Header returns the start of a capture: Ethernet frames, with times in nanoseconds.
func (f *File) Header() []byte {
	le := binary.LittleEndian
	const snap = 1 << 18
	if !f.ng {
		h := make([]byte, 24)
		le.PutUint32(h, 0xa1b23c4d)
		le.PutUint16(h[4:], 2)
		le.PutUint16(h[6:], 4)
		le.PutUint32(h[16:], snap)
		le.PutUint32(h[20:], 1)
		return h
	}
	h := make([]byte, 28+32)
	le.PutUint32(h, 0x0a0d0d0a)
	le.PutUint32(h[4:], 28)
	le.PutUint32(h[8:], 0x1a2b3c4d)
	le.PutUint16(h[12:], 1)
	le.PutUint64(h[16:], ^uint64(0)) // unknown length
	le.PutUint32(h[24:], 28)
	i := h[28:]
	le.PutUint32(i, 1)
	le.PutUint32(i[4:], 32)
	le.PutUint16(i[8:], 1)
	le.PutUint32(i[12:], snap)
	le.PutUint16(i[16:], 9) // if_tsresol
	le.PutUint16(i[18:], 1)
	i[20] = 9
	le.PutUint32(i[28:], 32)
	return h
}

func (f *File) write(b []byte) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.err != nil || len(b) == 0 {
		return
	}
	n, err := f.w.Write(b)
	f.Bytes += uint64(n)
	if err != nil {
		f.err = err
		f.failed(err)
	}
}

// Err returns the error that stopped the writing, if any.
func (f *File) Err() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.err
}

// Core returns the writer for a single core. It writes synchronously.
func (f *File) Core() Packets {
	return &filePackets{file: f, buf: make([]byte, fileBuffer)}
}

// Lane returns the writer for one of several cores. It waits for the others or the file only if all of its memory,
// fileBuffers times 256 KiB, is full. Call it before the first core writes. Close ends all lanes.
func (f *File) Lane() Packets {
	p := &filePackets{file: f, buf: make([]byte, fileBuffer), full: make(chan []byte, fileBuffers), free: make(chan []byte, fileBuffers)}
	for range fileBuffers - 1 {
		p.free <- nil
	}
	f.lanes = append(f.lanes, p)
	f.running.Add(1)
	go func() {
		defer f.running.Done()
		for b := range p.full {
			f.write(b)
			p.free <- b[:cap(b)]
		}
	}()
	return p
}

// Close writes the remaining data after all cores have stopped, and returns Err.
func (f *File) Close() error {
	for _, p := range f.lanes {
		if p.used > 0 {
			p.full <- p.buf[:p.used]
		}
		close(p.full)
	}
	f.lanes = nil
	f.running.Wait()
	return f.Err()
}

const (
	fileBuffer  = 256 << 10
	fileBuffers = 4
)

type filePackets struct {
	file *File
	buf  []byte
	used int
	// For a lane: memory to write, and written memory. Each channel has room for all buffers.
	full, free chan []byte
}

const (
	recordHeader   = 16
	enhancedHeader = 28
)

func (p *filePackets) header() int {
	if p.file.ng {
		return enhancedHeader
	}
	return recordHeader
}

func (p *filePackets) Room(n int) []byte {
	if p.used+n+enhancedHeader+8 > len(p.buf) {
		p.pass(true)
	}
	return p.buf[p.used+p.header():][:n]
}

func (p *filePackets) Commit(n int, time int64) {
	le := binary.LittleEndian
	h := p.buf[p.used:]
	if !p.file.ng {
		le.PutUint32(h, uint32(time/1e9))
		le.PutUint32(h[4:], uint32(time%1e9))
		le.PutUint32(h[8:], uint32(n))
		le.PutUint32(h[12:], uint32(n))
		p.used += recordHeader + n
		return
	}
	padded := (n + 3) &^ 3
	total := enhancedHeader + padded + 4
	le.PutUint32(h, 6)
	le.PutUint32(h[4:], uint32(total))
	le.PutUint32(h[8:], 0)
	le.PutUint32(h[12:], uint32(uint64(time)>>32))
	le.PutUint32(h[16:], uint32(time))
	le.PutUint32(h[20:], uint32(n))
	le.PutUint32(h[24:], uint32(n))
	clear(h[enhancedHeader+n : enhancedHeader+padded])
	le.PutUint32(h[enhancedHeader+padded:], uint32(total))
	p.used += total
}

// Flush implements Packets. While a lane has data waiting to be written, further data is gathered.
func (p *filePackets) Flush() { p.pass(false) }

// pass writes the data or hands it over; with need, as soon as other memory is available.
func (p *filePackets) pass(need bool) {
	if p.used == 0 {
		return
	}
	if p.full == nil {
		p.file.write(p.buf[:p.used])
		p.used = 0
		return
	}
	if !need && len(p.free) < fileBuffers-1 {
		return
	}
	next := <-p.free
	if next == nil {
		next = make([]byte, fileBuffer)
	}
	p.full <- p.buf[:p.used]
	p.buf, p.used = next, 0
}
