// Package keys parses TLS secrets, and stores them until a connection needs them.
package keys

import (
	"bytes"
	"crypto/subtle"
	"encoding/hex"
)

// MaxSecret is the size of the longest secret, in bytes: the master secret of TLS 1.2, and traffic secrets with
// SHA-384.
const MaxSecret = 48

// A Label is the purpose of a secret.
type Label uint8

// Labels, in the order of their use in a connection.
const (
	Master          Label = iota // TLS 1.2
	Early                        // 0-RTT data from the client
	ClientHandshake              //
	ServerHandshake              //
	ClientTraffic                // application data, before the first KeyUpdate
	ServerTraffic                //
	labels
)

// Names in the NSS key log format, https://www.ietf.org/archive/id/draft-ietf-tls-keylogfile-05.html.
var labelNames = [labels]string{
	"CLIENT_RANDOM", "CLIENT_EARLY_TRAFFIC_SECRET", "CLIENT_HANDSHAKE_TRAFFIC_SECRET",
	"SERVER_HANDSHAKE_TRAFFIC_SECRET", "CLIENT_TRAFFIC_SECRET_0", "SERVER_TRAFFIC_SECRET_0",
}

// Names of other secrets, which are not needed and not reported.
var otherNames = []string{"EXPORTER_SECRET", "EARLY_EXPORTER_SECRET", "RSA", "PMS_CLIENT_RANDOM", "ECH_SECRET", "ECH_CONFIG"}

func (l Label) String() string { return labelNames[l] }

// Secrets are those of the connections with one client random. Normally that is one connection. But an attacker who
// knows a random can make another connection with it. A server's log then has the secrets of both, and only a tag
// shows which are right.
type Secrets struct {
	bytes [labels][MaxSecret]byte
	sizes [labels]uint8
	more  []another
	from  string // source of the first secret
}

// another is a further secret with an existing label and random.
type another struct {
	label  Label
	size   uint8
	secret [MaxSecret]byte
}

// MaxSecrets is the limit of secrets with one label for one random; the oldest is replaced.
const MaxSecrets = 8

// Candidate returns the n-th secret of a label, or nil. The first is that of Get.
func (s *Secrets) Candidate(l Label, n int) []byte {
	if n == 0 {
		return s.Get(l)
	}
	for i := range s.more {
		if a := &s.more[i]; a.label == l {
			if n--; n == 0 {
				return a.secret[:a.size]
			}
		}
	}
	return nil
}

// Ambiguous reports whether a label has more than one secret.
func (s *Secrets) Ambiguous() bool { return len(s.more) > 0 }

// Get returns a secret, or nil. It points into s.
func (s *Secrets) Get(l Label) []byte {
	if s.sizes[l] == 0 {
		return nil
	}
	return s.bytes[l][:s.sizes[l]]
}

// add adds a secret, and reports whether it is new.
func (s *Secrets) add(l Label, secret []byte) bool {
	if s.sizes[l] == 0 {
		s.sizes[l] = uint8(copy(s.bytes[l][:], secret))
		return true
	}
	n := 0
	for ; ; n++ {
		x := s.Candidate(l, n)
		if x == nil {
			break
		}
		if subtle.ConstantTimeCompare(x, secret) == 1 {
			return false
		}
	}
	a := another{label: l}
	a.size = uint8(copy(a.secret[:], secret))
	if n == MaxSecrets {
		for i := range s.more {
			if s.more[i].label == l {
				clear(s.bytes[l][:])
				s.sizes[l] = uint8(copy(s.bytes[l][:], s.more[i].secret[:s.more[i].size]))
				s.more[i] = s.more[len(s.more)-1]
				s.more[len(s.more)-1] = a
				return true
			}
		}
	}
	more := append(append(make([]another, 0, len(s.more)+1), s.more...), a)
	clear(s.more)
	s.more = more
	return true
}

// copyOf makes s an independent copy of o.
func (s *Secrets) copyOf(o *Secrets) {
	more := s.more[:0]
	*s = *o
	s.more = append(more, o.more...)
}

// Wipe wipes all secrets.
func (s *Secrets) Wipe() {
	clear(s.more)
	*s = Secrets{more: s.more[:0]}
}

// A Log parses the NSS key log format in pieces of any size, and stores the secrets in a Store.
type Log struct {
	Store *Store
	From  string // name of the source

	// Secrets, Ignored and Bad count lines that held a secret, that held nothing of use, and that were no key log lines.
	// They are for the caller of Write; Store has them for all logs together.
	Secrets, Ignored, Bad uint64

	partial  []byte // the beginning of a line
	overlong bool
}

// A line is at most a label, a random and a secret in hexadecimal digits, and some spaces.
const maxLine = 512

// Write takes in a piece of the log. It never fails.
func (l *Log) Write(p []byte) (int, error) {
	n := len(p)
	for {
		end := bytes.IndexByte(p, '\n')
		if end < 0 {
			break
		}
		line := p[:end]
		p = p[end+1:]
		if len(l.partial) > 0 || l.overlong {
			l.keep(line)
			line = l.partial
		}
		l.line(line)
		clear(l.partial)
		l.partial, l.overlong = l.partial[:0], false
	}
	l.keep(p)
	return n, nil
}

func (l *Log) keep(p []byte) {
	if len(l.partial)+len(p) > maxLine {
		l.overlong = true
		clear(l.partial)
		l.partial = l.partial[:0]
		return
	}
	if l.partial == nil && len(p) > 0 {
		l.partial = make([]byte, 0, maxLine)
	}
	l.partial = append(l.partial, p...)
}

// Flush processes an unterminated last line. Half a line does no harm: its secret has the wrong length, or opens no
// record.
func (l *Log) Flush() {
	if len(l.partial) > 0 || l.overlong {
		l.Write([]byte{'\n'})
	}
}

func (l *Log) line(line []byte) {
	if l.overlong || len(line) > maxLine {
		l.Bad++
		l.Store.bad.Add(1)
		return
	}
	line = bytes.TrimSpace(line)
	if len(line) == 0 || line[0] == '#' {
		return
	}
	name, rest, _ := bytes.Cut(line, []byte{' '})
	label, ok := labelOf(name)
	if !ok {
		if known(name) {
			l.Ignored++
		} else {
			l.Bad++
			l.Store.bad.Add(1)
		}
		return
	}
	hexRandom, hexSecret, _ := bytes.Cut(bytes.TrimLeft(rest, " \t"), []byte{' '})
	hexSecret = bytes.TrimLeft(hexSecret, " \t")
	var random [32]byte
	var secret [MaxSecret]byte
	defer clear(secret[:])
	size := len(hexSecret) / 2
	// 32 bytes with SHA-256, 48 with SHA-384 and in TLS 1.2.
	right := size == 48 || size == 32 && label != Master
	if len(hexRandom) != 64 || !right {
		l.Bad++
		l.Store.bad.Add(1)
		return
	}
	if _, err := hex.Decode(random[:], hexRandom); err != nil {
		l.Bad++
		l.Store.bad.Add(1)
		return
	}
	if _, err := hex.Decode(secret[:], hexSecret); err != nil {
		l.Bad++
		l.Store.bad.Add(1)
		return
	}
	l.Secrets++
	l.Store.secrets.Add(1)
	l.Store.AddFrom(&random, label, secret[:size], l.From)
}

// Append appends the secrets of a connection to b as key log lines, except for labels in done, and adds their labels to
// done.
func (s *Secrets) Append(b []byte, random *[32]byte, done *uint8) []byte {
	for l := range labels {
		if *done>>l&1 != 0 {
			continue
		}
		for n := 0; ; n++ {
			secret := s.Candidate(l, n)
			if secret == nil {
				break
			}
			*done |= 1 << l
			b = append(append(b, l.String()...), ' ')
			b = append(hex.AppendEncode(b, random[:]), ' ')
			b = append(hex.AppendEncode(b, secret), '\n')
		}
	}
	return b
}

func labelOf(name []byte) (Label, bool) {
	for i, n := range labelNames {
		if string(name) == n {
			return Label(i), true
		}
	}
	return 0, false
}

func known(name []byte) bool {
	for _, n := range otherNames {
		if string(name) == n {
			return true
		}
	}
	// OpenSSL writes the secrets after each KeyUpdate, which can be derived from the first.
	return bytes.HasPrefix(name, []byte("CLIENT_TRAFFIC_SECRET_")) || bytes.HasPrefix(name, []byte("SERVER_TRAFFIC_SECRET_"))
}
