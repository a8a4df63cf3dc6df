package keys

import (
	"sync"
	"sync/atomic"
)

// A Store holds secrets by the client random of their connection. It is safe for concurrent use.
type Store struct {
	mu      sync.RWMutex
	byHello map[[32]byte]*Secrets
	order   [][32]byte // oldest first, a ring
	head    int
	evicted uint64

	changes      atomic.Uint64
	secrets, bad atomic.Uint64
}

// Lines returns how many lines of key logs held a secret, and how many were no key log lines.
func (s *Store) Lines() (secrets, bad uint64) { return s.secrets.Load(), s.bad.Load() }

// NewStore returns a store for at most limit connections. When it is full, the oldest secrets make room.
func NewStore(limit int) *Store {
	return &Store{byHello: make(map[[32]byte]*Secrets), order: make([][32]byte, 0, limit)}
}

// Add puts in a secret. One that differs from another of the same random and label is kept beside it.
func (s *Store) Add(random *[32]byte, l Label, secret []byte) { s.AddFrom(random, l, secret, "") }

// From tells where the first secret of a connection came from.
func (s *Store) From(random *[32]byte) string {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if e := s.byHello[*random]; e != nil {
		return e.from
	}
	return ""
}

// AddFrom is Add, with what to call where it comes from.
func (s *Store) AddFrom(random *[32]byte, l Label, secret []byte, from string) {
	s.mu.Lock()
	e := s.byHello[*random]
	if e == nil {
		e = &Secrets{from: from}
		if len(s.order) < cap(s.order) {
			s.order = append(s.order, *random)
		} else {
			oldest := &s.order[s.head]
			if o := s.byHello[*oldest]; o != nil {
				o.Wipe()
				delete(s.byHello, *oldest)
				s.evicted++
			}
			*oldest = *random
			s.head = (s.head + 1) % len(s.order)
		}
		s.byHello[*random] = e
	}
	news := e.add(l, secret)
	s.mu.Unlock()
	if news {
		s.changes.Add(1)
	}
}

// Get copies the secrets of a connection, and tells whether there are any.
func (s *Store) Get(random *[32]byte, into *Secrets) bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	e := s.byHello[*random]
	if e == nil {
		return false
	}
	into.copyOf(e)
	return true
}

// Has tells whether there are secrets of a connection.
func (s *Store) Has(random *[32]byte) bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.byHello[*random] != nil
}

// Forget wipes the secrets of a connection. If there are those of others with the same random, they stay until newer ones need
// their place.
func (s *Store) Forget(random *[32]byte) {
	s.mu.Lock()
	if e := s.byHello[*random]; e != nil && !e.Ambiguous() {
		e.Wipe()
		delete(s.byHello, *random)
	}
	s.mu.Unlock()
}

// Changes grows with each secret added: who found none need not ask again before.
func (s *Store) Changes() uint64 { return s.changes.Load() }

// Size returns the number of connections with secrets, and how many had to make room for others.
func (s *Store) Size() (connections int, evicted uint64) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return len(s.byHello), s.evicted
}
