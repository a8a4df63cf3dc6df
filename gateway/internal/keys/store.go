package keys

import (
	"sync"
	"sync/atomic"
	"time"
)

// A Store holds secrets by client random. It is safe for concurrent use.
type Store struct {
	// Linger is how long secrets stay after the last connection that used them. Set it before the first use of a store.
	Linger time.Duration

	mu      sync.RWMutex
	byHello map[[32]byte]*entry
	order   [][32]byte // ring, oldest first
	head    int
	evicted uint64
	left    []leaver // in order
	number  uint64   // number of the last of them
	timer   *time.Timer

	changes      atomic.Uint64
	secrets, bad atomic.Uint64
}

// An entry belongs to one client random.
type entry struct {
	Secrets
	users int    // active connections with an opened record
	uses  int    // the same, including ended ones
	left  uint64 // number of the leaver if there are no users
	// When the first connections sent the random in their hello.
	claims  [Claims]int64
	claimed uint8
}

// Claims is the number of connections with one client random that are considered the same: a mirror may send one
// several times.
const Claims = 2

// A leaver has no users left.
type leaver struct {
	random [32]byte
	number uint64
	at     time.Time
}

// Lines returns how many key log lines contained a secret, and how many were invalid.
func (s *Store) Lines() (secrets, bad uint64) { return s.secrets.Load(), s.bad.Load() }

// NewStore returns a store for at most limit connections. When it is full, the oldest secrets are evicted.
func NewStore(limit int) *Store {
	return &Store{byHello: make(map[[32]byte]*entry), order: make([][32]byte, 0, limit), Linger: linger}
}

// Add adds a secret. If the random and label have another secret, both are kept.
func (s *Store) Add(random *[32]byte, l Label, secret []byte) { s.AddFrom(random, l, secret, "") }

// From returns the source of a connection's first secret.
func (s *Store) From(random *[32]byte) string {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if e := s.byHello[*random]; e != nil {
		return e.from
	}
	return ""
}

// AddFrom is Add with the name of the source.
func (s *Store) AddFrom(random *[32]byte, l Label, secret []byte, from string) {
	s.mu.Lock()
	e := s.byHello[*random]
	if e == nil {
		e = &entry{Secrets: Secrets{from: from}}
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
	if news {
		e.left = 0 // another connection will follow
	}
	s.mu.Unlock()
	if news {
		s.changes.Add(1)
	}
}

// Get copies the secrets of a connection, and reports whether there are any.
func (s *Store) Get(random *[32]byte, into *Secrets) bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	e := s.byHello[*random]
	if e == nil {
		return false
	}
	into.copyOf(&e.Secrets)
	return true
}

// Has reports whether there are secrets of a connection.
func (s *Store) Has(random *[32]byte) bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.byHello[*random] != nil
}

// Mirrors may send a connection over two paths, to different cores; the second copy may be this much later. NewStore
// sets Linger to it.
const linger = 2 * time.Second

// Use records that a record of a connection was opened with its secrets. They stay until Forget is called as often, and
// slightly longer. It returns the number of such connections so far.
func (s *Store) Use(random *[32]byte) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.byHello[*random]
	if e == nil {
		return 1
	}
	e.users++
	e.uses++
	e.left = 0
	return e.uses
}

// Claim reports whether a random has secrets, and whether a connection with that random is among the first ones,
// given the time of its hello. An earlier connection that asks later counts as well.
func (s *Store) Claim(random *[32]byte, at int64) (first, known bool) {
	if !s.Has(random) {
		return false, false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.byHello[*random]
	if e == nil {
		return false, false
	}
	latest := 0
	for i, other := range e.claims[:e.claimed] {
		if other == at {
			return true, true
		}
		if other > e.claims[latest] {
			latest = i
		}
	}
	switch {
	case e.claimed < Claims:
		e.claims[e.claimed] = at
		e.claimed++
		return true, true
	case at < e.claims[latest]:
		e.claims[latest] = at
		return true, true
	}
	return false, true
}

// Forget records the end of a connection that called Use. When no connection with this random is left, and none starts
// within Linger, the secrets are wiped. If there are secrets of other connections with the same random, they stay until
// newer ones need the room.
func (s *Store) Forget(random *[32]byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.byHello[*random]
	if e == nil {
		return
	}
	if e.users--; e.users > 0 || e.Ambiguous() {
		return
	}
	e.users = 0
	if len(s.left) >= max(cap(s.order)/4, 1) {
		s.leave(len(s.left)/8 + 1) // those that wait for their connection need the room
	}
	s.number++
	e.left = s.number
	s.left = append(s.left, leaver{*random, s.number, time.Now()})
	if s.Linger <= 0 {
		s.leave(len(s.left))
	} else if s.timer == nil {
		s.timer = time.AfterFunc(s.Linger, s.tidy)
	}
}

// leave wipes the secrets of the first n leavers that have not returned.
func (s *Store) leave(n int) {
	for i := range s.left[:n] {
		l := &s.left[i]
		if e := s.byHello[l.random]; e != nil && e.left == l.number {
			e.Wipe()
			delete(s.byHello, l.random)
		}
	}
	s.left = s.left[:copy(s.left, s.left[n:])]
}

// tidy wipes the secrets of leavers after Linger.
func (s *Store) tidy() {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for n < len(s.left) && time.Since(s.left[n].at) >= s.Linger {
		n++
	}
	s.leave(n)
	if s.timer = nil; len(s.left) > 0 {
		s.timer = time.AfterFunc(max(s.Linger-time.Since(s.left[0].at), time.Millisecond), s.tidy)
	}
}

// Unused appends to all the randoms with which no connection has opened a record, newest first. It examines four times
// as many as it returns.
func (s *Store) Unused(all [][32]byte, most int) [][32]byte {
	s.mu.RLock()
	defer s.mu.RUnlock()
	for i := range min(len(s.order), 4*most) {
		random := s.order[(s.head+len(s.order)-1-i)%len(s.order)]
		if e := s.byHello[random]; e != nil && e.uses == 0 && len(all) < most {
			all = append(all, random)
		}
	}
	return all
}

// Changes increases with each added secret: a caller that found none need not ask again before.
func (s *Store) Changes() uint64 { return s.changes.Load() }

// Size returns the number of connections with secrets, and how many were evicted.
func (s *Store) Size() (connections int, evicted uint64) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return len(s.byHello), s.evicted
}
