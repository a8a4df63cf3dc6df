package listen

import (
	"io"
	"net"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"testing"
)

// full is a listener of a process that has too many files open, at first.
type full struct {
	net.Listener
	left atomic.Int32
}

func (f *full) Accept() (net.Conn, error) {
	if f.left.Add(-1) >= 0 {
		return nil, &net.OpError{Op: "accept", Net: "unix", Err: syscall.EMFILE}
	}
	return f.Listener.Accept()
}

func TestEach(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Skip("not run: ", err)
	}
	f := &full{Listener: l}
	f.left.Store(3)
	said, ended := make(chan string, 1), make(chan bool)
	go func() {
		Each(f, func(c net.Conn) {
			b, _ := io.ReadAll(c)
			c.Close()
			said <- string(b)
		})
		close(ended)
	}()
	for _, text := range []string{"one", "two"} {
		c, err := net.Dial("unix", path)
		if err != nil {
			t.Fatal(err)
		}
		io.WriteString(c, text)
		c.Close()
		if got := <-said; got != text {
			t.Errorf("%q, want %q", got, text)
		}
	}
	if f.left.Load() > 0 {
		t.Error("no error came")
	}
	l.Close()
	<-ended
}
