package keys

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// wait waits until the store has want connections.
func wait(t *testing.T, s *Store, want int) {
	t.Helper()
	n := 0
	for range 1000 {
		if n, _ = s.Size(); n == want {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
	t.Fatalf("%d connections, not %d", n, want)
}

func follow(t *testing.T, name string, check func(*os.File) error) (*Store, chan error) {
	ctx, cancel := context.WithCancel(context.Background())
	s, warnings, done := NewStore(100), make(chan error, 10), make(chan struct{})
	go func() {
		Follow(ctx, name, &Log{Store: s}, check, func(err error) { warnings <- err })
		close(done)
	}()
	t.Cleanup(func() {
		cancel()
		select {
		case <-done:
		case <-time.After(time.Minute):
			t.Error("it does not end")
		}
	})
	return s, warnings
}

func add(t *testing.T, name, text string) {
	t.Helper()
	f, err := os.OpenFile(name, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	f.WriteString(text)
	f.Close()
}

// The first keys of a file that is not there yet come as soon as later ones: live waits for 50 ms. Any of some files may do, as
// the machine may be busy.
func TestFollowNewFile(t *testing.T) {
	least := time.Hour
	for i := 0; i < 40 && least > 40*time.Millisecond; i++ {
		name := filepath.Join(t.TempDir(), "keys")
		s, warnings := follow(t, name, CheckMode)
		<-warnings
		time.Sleep(20 * time.Millisecond)
		add(t, name, line(ClientTraffic, 1, 32))
		begin := time.Now()
		for s.Changes() == 0 && time.Since(begin) < time.Second {
			time.Sleep(time.Millisecond)
		}
		least = min(least, time.Since(begin))
	}
	if least > 40*time.Millisecond {
		t.Errorf("keys of a new file take %v", least)
	}
}

// A file that is not there yet, grows in pieces, is cut off, and gives its name to another.
func TestFollowFile(t *testing.T) {
	name := filepath.Join(t.TempDir(), "keys")
	s, warnings := follow(t, name, CheckMode)
	if err := <-warnings; !os.IsNotExist(err) {
		t.Error(err)
	}
	l := line(ClientTraffic, 1, 32)
	add(t, name, l[:50])
	time.Sleep(400 * time.Millisecond)
	add(t, name, l[50:])
	wait(t, s, 1)
	os.Truncate(name, 0)
	time.Sleep(400 * time.Millisecond)
	add(t, name, line(ClientTraffic, 2, 32))
	wait(t, s, 2)
	os.Rename(name, name+".1")
	add(t, name, line(ClientTraffic, 3, 32))
	wait(t, s, 3)
	if _, bad := s.Lines(); bad != 0 {
		t.Errorf("%d bad lines", bad)
	}
}

func TestFollowRefusesReadable(t *testing.T) {
	name := filepath.Join(t.TempDir(), "keys")
	add(t, name, line(ClientTraffic, 1, 32))
	os.Chmod(name, 0o644)
	s, warnings := follow(t, name, CheckMode)
	if err := <-warnings; !strings.Contains(err.Error(), "0644") {
		t.Error(err)
	}
	time.Sleep(300 * time.Millisecond)
	if n, _ := s.Size(); n != 0 {
		t.Error("keys were read nevertheless")
	}
	os.Chmod(name, 0o600)
	wait(t, s, 1)
}

func TestFollowPipe(t *testing.T) {
	name := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(name, 0o600); err != nil {
		t.Skip("not run: ", err)
	}
	s, _ := follow(t, name, CheckMode)
	for i := byte(1); i < 4; i++ { // each opens the pipe anew
		add(t, name, line(ClientTraffic, i, 32))
		wait(t, s, int(i))
	}
}

func TestSocket(t *testing.T) {
	path := filepath.Join(t.TempDir(), "socket")
	for range 2 { // the second time the path is there already, and no process listens
		l, err := ListenUnix(path, "")
		if err != nil {
			t.Fatal(err)
		}
		if st, err := os.Stat(path); err != nil || st.Mode().Perm() != 0o600 {
			t.Errorf("%v, %v", st.Mode(), err)
		}
		if _, err := ListenUnix(path, ""); err == nil {
			t.Error("two listen at the same path")
		}
		s := NewStore(10)
		ended := make(chan *Log, 4)
		go Serve(l, s, func(log *Log) { ended <- log })
		for i := byte(1); i < 3; i++ {
			c, err := net.Dial("unix", path)
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprint(c, "nonsense\n", strings.TrimSpace(line(ClientTraffic, i, 32)))
			c.Close()
			log := <-ended
			if log.Secrets+log.Bad == 0 {
				log = <-ended // the first results from the attempt to listen
			}
			if log.Secrets != 1 || log.Bad != 1 {
				t.Errorf("%d secrets, %d bad", log.Secrets, log.Bad)
			}
			wait(t, s, int(i))
		}
		l.(*net.UnixListener).SetUnlinkOnClose(false)
		l.Close()
	}
}

// A socket for a group: only its members may connect. A group that is not there is an error.
func TestSocketGroup(t *testing.T) {
	path := filepath.Join(t.TempDir(), "socket")
	if _, err := ListenUnix(path, "no such group"); err == nil || !strings.Contains(err.Error(), "no such group") {
		t.Error(err)
	}
	if _, err := os.Stat(path); err == nil {
		t.Error("it listens all the same")
	}
	if os.Getuid() != 0 {
		t.Skip("not run: only root may give files away")
	}
	for _, group := range []string{"daemon", "1"} {
		l, err := ListenUnix(path, group)
		if err != nil {
			t.Fatal(err)
		}
		st, err := os.Stat(path)
		if err != nil || st.Mode().Perm() != 0o660 || st.Sys().(*syscall.Stat_t).Gid != 1 {
			t.Errorf("%v, %+v", st, err)
		}
		l.Close()
	}
}

// A client cannot take all files that the process may open: more connections wait, and are accepted when one has ended.
func TestServeManyIdle(t *testing.T) {
	path := filepath.Join(t.TempDir(), "keys")
	l, err := ListenUnix(path, "")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	store := NewStore(10)
	go Serve(l, store, func(*Log) {})
	var idle []net.Conn
	for range maxWriters {
		c, err := net.Dial("unix", path)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		idle = append(idle, c)
	}
	c, err := net.Dial("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	random := [32]byte{1}
	fmt.Fprintf(c, "CLIENT_TRAFFIC_SECRET_0 %x %x\n", random, random)
	time.Sleep(50 * time.Millisecond)
	if store.Has(&random) {
		t.Fatal("one more was taken: there is no bound")
	}
	idle[0].Close()
	for begin := time.Now(); !store.Has(&random); time.Sleep(time.Millisecond) {
		if time.Since(begin) > time.Minute {
			t.Fatal("no connection was accepted when another had ended")
		}
	}
}
