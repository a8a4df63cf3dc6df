package output

import (
	"bytes"
	"net"
	"sync"
	"sync/atomic"
)

// A Server gives everyone who connects a capture of what is decrypted from then on: PCAP-over-IP. Who reads too slowly
// loses whole pieces, never parts of packets.
type Server struct {
	*File
	listener  net.Listener
	connected func(net.Addr)
	mu        sync.Mutex
	readers   map[chan []byte]struct{}
	closed    bool
	Dropped   atomic.Uint64 // pieces that somebody was too slow for
}

// So many pieces of at most fileBuffer bytes wait for a reader.
const serverPieces = 256

// NewServer serves those who connect to l, and tells connected about each.
func NewServer(l net.Listener, connected func(net.Addr)) *Server {
	s := &Server{listener: l, connected: connected, readers: make(map[chan []byte]struct{})}
	s.File = NewFile(s, false, func(error) {})
	go s.accept()
	return s
}

func (s *Server) accept() {
	for {
		c, err := s.listener.Accept()
		if err != nil {
			return
		}
		pieces := make(chan []byte, serverPieces)
		s.mu.Lock()
		if s.closed {
			s.mu.Unlock()
			c.Close()
			return
		}
		s.readers[pieces] = struct{}{}
		s.mu.Unlock()
		s.connected(c.RemoteAddr())
		go s.serve(c, pieces)
	}
}

func (s *Server) serve(c net.Conn, pieces chan []byte) {
	defer c.Close()
	_, err := c.Write(s.Header())
	for err == nil {
		p, ok := <-pieces
		if !ok {
			return
		}
		_, err = c.Write(p)
	}
	s.mu.Lock()
	delete(s.readers, pieces)
	s.mu.Unlock()
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
	if len(s.readers) == 0 || s.File == nil {
		return len(b), nil // the header comes before there is a File
	}
	p := bytes.Clone(b)
	for pieces := range s.readers {
		select {
		case pieces <- p:
		default:
			s.Dropped.Add(1)
		}
	}
	return len(b), nil
}

// Close lets all readers have what is there, and ends.
func (s *Server) Close() error {
	err := s.listener.Close()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	for pieces := range s.readers {
		close(pieces)
	}
	s.readers = nil
	return err
}
