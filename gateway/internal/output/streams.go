package output

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// files are the two streams of a connection.
type files struct {
	name [2]string
	gaps string
	made [3]bool // by this connection: the two, and gaps
}

// Streams is a Sink that writes the bytes of each connection to files in a folder: ADDRESS_PORT-ADDRESS_PORT.client for
// what the client sent, .server for what the server sent. Connections with the same addresses one after another get a
// number in between, and so do those whose files are there from before: nothing is ever written over or deleted. Where bytes are missing, a file just goes on; a third file, .gaps, lists the places.
//
// It opens and closes a file for each piece, so that the number of connections does not matter. It is meant for looking
// at captures, not for speed.
type Streams struct {
	dir    string
	used   map[string]int // how often addresses were used
	failed func(error)
	err    error
}

const maxUsed = 1 << 16

func there(base string) bool {
	for _, end := range []string{".client", ".server", ".gaps"} {
		if _, err := os.Lstat(base + end); err == nil {
			return true
		}
	}
	return false
}

// NewStreams returns a Sink that writes to a folder, which must be there.
func NewStreams(dir string, failed func(error)) *Streams {
	return &Streams{dir: dir, used: make(map[string]int), failed: failed}
}

func (s *Streams) fail(err error) {
	if s.err == nil {
		s.err = err
		s.failed(err)
	}
}

// Err returns the error after which nothing more was written.
func (s *Streams) Err() error { return s.err }

func (s *Streams) open(f *Flow) *files {
	if f.files == nil {
		base := strings.NewReplacer(":", ".", "[", "", "]", "").Replace(
			fmt.Sprintf("%v_%d-%v_%d", f.Client.Addr(), f.Client.Port(), f.Server.Addr(), f.Server.Port()))
		if len(s.used) == maxUsed {
			clear(s.used)
		}
		name := func() string {
			if n := s.used[base]; n > 1 {
				return filepath.Join(s.dir, fmt.Sprintf("%s.%d", base, n))
			}
			return filepath.Join(s.dir, base)
		}
		// What is there already is evidence.
		for s.used[base]++; there(name()); {
			s.used[base]++
		}
		base = name()
		f.files = &files{name: [2]string{base + ".client", base + ".server"}, gaps: base + ".gaps"}
	}
	return f.files
}

// append adds to a file, which has to be new unless it was made already: where others may write to the folder, they cannot have put
// something in its place, such as a link to another file.
func (s *Streams) append(name string, made *bool, data []byte) {
	if s.err != nil {
		return
	}
	how := os.O_WRONLY | os.O_APPEND | noFollow
	if !*made {
		how |= os.O_CREATE | os.O_EXCL
	}
	w, err := os.OpenFile(name, how, 0o600)
	if err != nil {
		s.fail(err)
		return
	}
	*made = true
	_, err = w.Write(data)
	if e := w.Close(); err == nil {
		err = e
	}
	if err != nil {
		s.fail(err)
	}
}

// Data implements Sink.
func (s *Streams) Data(f *Flow, side uint8, data []byte) {
	x := s.open(f)
	s.append(x.name[side], &x.made[side], data)
}

// Gap implements Sink.
func (s *Streams) Gap(f *Flow, side uint8, n int) {
	x := f.files
	if x == nil {
		return
	}
	name := x.name[side]
	at := int64(0)
	if st, err := os.Lstat(name); err == nil {
		at = st.Size()
	}
	s.append(x.gaps, &x.made[2], fmt.Appendf(nil, "%s: about %d bytes of records are missing at %d\n", filepath.Ext(name)[1:], n, at))
}

// End implements Sink.
func (s *Streams) End(f *Flow) { f.files = nil }

// Flush implements Sink.
func (s *Streams) Flush() {}
