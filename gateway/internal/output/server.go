package output

import (
	"net"
	"sync"
	"time"

	"github.com/sealane/sealane/gateway/internal/listen"
)

// A Server gives every client a capture of the plaintext from then on: PCAP-over-IP. A slow reader
// loses whole packets, never parts of them. A reader that has taken nothing for long is disconnected when there are too many.
type Server struct {
	*File
	listener net.Listener
	counts   *Counts
	events   ServerEvents
	mu       sync.Mutex
	readers  map[*reader]struct{}
	closed   bool
	limit    int           // bytes that wait for all readers together, at most: each has an equal share
	linger   time.Duration // so long may the last bytes take, when it is closed
	running  sync.WaitGroup
	now      func() time.Time
}

// ServerEvents are told about readers, unless nil.
type ServerEvents struct {
	Connected func(net.Addr)
	TooSlow   func(net.Addr) // once for each
	Evicted   func(net.Addr) // it read nothing for long, and another one wants its place
	Refused   func(net.Addr) // there are too many, and all of them read
}

// reader is one who is connected. Its goroutine takes all that waits at once.
type reader struct {
	conn    net.Conn
	waiting []byte
	writing int       // bytes that the connection is given now
	since   time.Time // when it took something last, or was given something, while writing is not 0
	news    sync.Cond // of Server.mu
	slow    bool
}

const (
	maxReaders = 16
	// A reader that takes none of its data for this time loses its place to a new one.
	maxStuck = 5 * time.Second
	// It is given so much at a time: each of these that it takes is a sign of life.
	portion = 64 << 10
)

// ServerBytes is how much a Server keeps for its readers at most.
const ServerBytes = 64 << 20

// NewServer serves those who connect to l.
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

// evict ends the reader that has longest taken none of its data, if that is maxStuck or more, and returns it, or nil. It needs the
// lock. A reader that has read all data, or that has none to read, keeps its place.
func (s *Server) evict() (longest *reader) {
	now := s.now()
	for r := range s.readers {
		if r.writing > 0 && now.Sub(r.since) >= maxStuck && (longest == nil || r.since.Before(longest.since)) {
			longest = r
		}
	}
	if longest != nil {
		delete(s.readers, longest)
		longest.conn.Close() // which ends its Write
	}
	return longest
}

// give gives a reader bytes, and notes when it takes some of them.
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
			return // closed, and nothing is left
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

// Readers returns how many are connected.
func (s *Server) Readers() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.readers)
}

// Write takes whole packets from File.
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

// Close is called when no core writes any more. It lets all readers have what is there, if they take it in a few seconds, and ends.
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
