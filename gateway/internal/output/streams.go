package output

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// files are the two stream files of a connection.
type files struct {
	name [2]string
	gaps string
	made [3]bool // files created by this connection: the two streams, and gaps
}

// Streams is a Sink that writes the bytes of each connection to files in a folder. ADDRESS_PORT-ADDRESS_PORT.client
// has the client's data, and .server the server's. Later connections with the same addresses, and those whose files
// exist already, get a number in between. Files are never overwritten or deleted. Missing bytes leave no gap in a
// file; a third file, .gaps, lists their positions.
//
// It opens and closes a file for each piece, so the number of connections is not limited. It is meant for examining
// captures, not for speed.
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

// NewStreams returns a Sink that writes to a folder, which must exist.
func NewStreams(dir string, failed func(error)) *Streams {
	return &Streams{dir: dir, used: make(map[string]int), failed: failed}
}

func (s *Streams) fail(err error) {
	if s.err == nil {
		s.err = err
		s.failed(err)
	}
}

// Err returns the error that stopped the writing, if any.
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
		// Existing files are evidence.
		for s.used[base]++; there(name()); {
			s.used[base]++
		}
		base = name()
		f.files = &files{name: [2]string{base + ".client", base + ".server"}, gaps: base + ".gaps"}
	}
	return f.files
}

// append appends to a file. If this connection has not created the file, it must not exist. Otherwise another user of
// the folder could put a link to another file there.
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
