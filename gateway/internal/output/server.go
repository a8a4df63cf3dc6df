package output

import (
	"net"
	"sync"
	"time"

	"github.com/sealane/sealane/gateway/internal/listen"
)

// A Server sends every client a capture of the plaintext since its connection: PCAP-over-IP. A slow reader loses whole
// packets, never parts. If there are too many readers, one that has taken no data for long is disconnected.
type Server struct {
	*File
	listener net.Listener
	counts   *Counts
	events   ServerEvents
	mu       sync.Mutex
	readers  map[*reader]struct{}
	closed   bool
	limit    int           // limit of pending bytes for all readers; each has an equal share
	linger   time.Duration // how long Close waits for readers
	running  sync.WaitGroup
	now      func() time.Time
}

// ServerEvents are called, unless nil, for events of readers.
type ServerEvents struct {
	Connected func(net.Addr)
	TooSlow   func(net.Addr) // once per reader
	Evicted   func(net.Addr) // it read nothing for long, and a new reader needs its place
	Refused   func(net.Addr) // there are too many readers, and all of them read
}

// A reader is a connected client. Its goroutine takes all pending data at once.
type reader struct {
	conn    net.Conn
	waiting []byte
	writing int       // bytes currently being written to the connection
	since   time.Time // when the connection last accepted or got data, while writing is not 0
	news    sync.Cond // of Server.mu
	slow    bool
}

const (
	maxReaders = 16
	// After this time without progress, a reader loses its place to a new one.
	maxStuck = 5 * time.Second
	// The size of a single write. Each completed write counts as progress.
	portion = 64 << 10
)

// ServerBytes is the limit of pending bytes in a Server.
const ServerBytes = 64 << 20

// NewServer serves clients that connect to l.
func NewServer(l net.Listener, counts *Counts, events ServerEvents) *Server {
	s := &Server{listener: l, counts: counts, events: events, readers: make(map[*reader]struct{}), limit: ServerBytes, linger: 3 * time.Second, now: time.Now}
	s.File = NewFile(s, false, func(error) {})
	go s.accept()
	return s
}

func (s *Server) accept() {
	listen.Each(s.listener, func(c net.Conn) {
		r := &reader{conn: c, waiting: s.Header()}
		r.news.L = &s.mu
		s.mu.Lock()
		var evicted *reader
		if len(s.readers) == maxReaders {
			evicted = s.evict()
		}
		if s.closed || len(s.readers) == maxReaders {
			full := !s.closed
			s.mu.Unlock()
			c.Close()
			if full && s.events.Refused != nil {
				s.events.Refused(c.RemoteAddr())
			}
			return
		}
		s.readers[r] = struct{}{}
		s.running.Add(1)
		s.mu.Unlock()
		if evicted != nil && s.events.Evicted != nil {
			s.events.Evicted(evicted.conn.RemoteAddr())
		}
		if s.events.Connected != nil {
			s.events.Connected(c.RemoteAddr())
		}
		go s.serve(r)
	})
}

// evict disconnects the reader that has not made progress for the longest time, if that is at least maxStuck, and
// returns it, or nil. The caller holds the lock. A reader without pending data keeps its place.
func (s *Server) evict() (longest *reader) {
	now := s.now()
	for r := range s.readers {
		if r.writing > 0 && now.Sub(r.since) >= maxStuck && (longest == nil || r.since.Before(longest.since)) {
			longest = r
		}
	}
	if longest != nil {
		delete(s.readers, longest)
		longest.conn.Close() // ends its Write
	}
	return longest
}

// give writes bytes to a reader, and records progress.
func (s *Server) give(r *reader, b []byte) error {
	for len(b) > 0 {
		n := min(len(b), portion)
		if _, err := r.conn.Write(b[:n]); err != nil {
			return err
		}
		b = b[n:]
		s.mu.Lock()
		if r.since = s.now(); len(b) == 0 {
			r.writing = 0
		}
		s.mu.Unlock()
	}
	return nil
}

func (s *Server) serve(r *reader) {
	defer s.running.Done()
	defer r.conn.Close()
	var b []byte
	for {
		s.mu.Lock()
		for len(r.waiting) == 0 && !s.closed {
			r.news.Wait()
		}
		b, r.waiting = r.waiting, b[:0]
		r.writing, r.since = len(b), s.now()
		s.mu.Unlock()
		if len(b) == 0 {
			return // closed, with no data left
		}
		if err := s.give(r, b); err != nil {
			s.mu.Lock()
			delete(s.readers, r)
			s.mu.Unlock()
			return
		}
		if cap(b) > 1<<20 {
			b = nil
		}
	}
}

// Readers returns the number of connected readers.
func (s *Server) Readers() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.readers)
}

// Write accepts whole packets from File.
func (s *Server) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.File == nil {
		return len(b), nil // the header, which each reader gets when it connects
	}
	share := s.limit / max(1, len(s.readers))
	for r := range s.readers {
		if len(r.waiting)+r.writing+len(b) > share {
			s.counts.Unread.Add(uint64(len(b)))
			if !r.slow && s.events.TooSlow != nil {
				r.slow = true
				s.events.TooSlow(r.conn.RemoteAddr())
			}
			continue
		}
		r.waiting = append(r.waiting, b...)
		r.news.Signal()
	}
	return len(b), nil
}

// Close is called after all cores have stopped. It gives readers a few seconds to take the pending data.
func (s *Server) Close() error {
	err := s.listener.Close()
	s.File.Close()
	s.mu.Lock()
	s.closed = true
	for r := range s.readers {
		r.conn.SetWriteDeadline(time.Now().Add(s.linger))
		r.news.Signal()
	}
	s.mu.Unlock()
	s.running.Wait()
	return err
}
