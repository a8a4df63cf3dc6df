package keys

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/user"
	"strconv"
	"time"

	"github.com/sealane/sealane/gateway/internal/listen"
)

// CheckMode returns an error for a key log that other users may read.
func CheckMode(f *os.File) error {
	st, err := f.Stat()
	if err != nil {
		return err
	}
	if mode := st.Mode(); !mode.IsDir() && mode.Perm()&0o077 != 0 {
		return fmt.Errorf("%s has mode %04o: others can read these keys; chmod 600 it, or give --allow-readable-keys",
			f.Name(), mode.Perm())
	}
	return nil
}

// Intervals at which a file is checked for new data, and for another file with its name.
const (
	followPause  = 2 * time.Millisecond
	followRename = 250 * time.Millisecond
)

// Follow reads a growing key log until ctx is done. A file is read from its start, even if it is truncated, replaced,
// or created later. A named pipe is read repeatedly. check is called for each opened file.
func Follow(ctx context.Context, name string, log *Log, check func(*os.File) error, warn func(error)) {
	var last string
	complain := func(err error) {
		if s := err.Error(); s != last { // once per cause
			last = s
			warn(err)
		}
	}
	for ctx.Err() == nil {
		// A pipe is also opened for writing, so that it does not end when its first writer does.
		f, err := os.OpenFile(name, openFlags(name), 0)
		if err == nil {
			if err = check(f); err == nil {
				err = followFile(ctx, f, name, log)
			}
			f.Close()
		}
		if err != nil {
			complain(err)
		}
		if errors.Is(err, os.ErrNotExist) {
			pause(ctx, followPause) // also before the first keys
		} else {
			pause(ctx, followRename)
		}
	}
}

func openFlags(name string) int {
	if st, err := os.Stat(name); err == nil && st.Mode()&os.ModeNamedPipe != 0 {
		return os.O_RDWR
	}
	return os.O_RDONLY
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// followFile returns nil when another file has the name.
func followFile(ctx context.Context, f *os.File, name string, log *Log) error {
	st, err := f.Stat()
	if err != nil {
		return err
	}
	if !st.Mode().IsRegular() {
		stop := context.AfterFunc(ctx, func() { f.SetReadDeadline(time.Now()) })
		defer stop()
		_, err := io.Copy(log, f)
		if ctx.Err() != nil || errors.Is(err, os.ErrDeadlineExceeded) {
			return nil
		}
		return err
	}
	buf := make([]byte, 64<<10)
	defer clear(buf)
	var at int64
	looked := time.Now()
	for ctx.Err() == nil {
		n, err := f.Read(buf)
		log.Write(buf[:n])
		at += int64(n)
		if err != nil && err != io.EOF {
			return err
		}
		if n > 0 {
			continue
		}
		if time.Since(looked) > followRename {
			looked = time.Now()
			if now, err := f.Stat(); err == nil && now.Size() < at {
				f.Seek(0, io.SeekStart)
				at = 0
			}
			if other, err := os.Stat(name); err == nil && !os.SameFile(st, other) {
				log.Flush()
				return nil
			}
		}
		pause(ctx, followPause)
	}
	return nil
}

// ListenUnix creates a Unix socket to which only this user can connect, and the members of group unless it is "". It
// replaces a socket that another process left behind.
func ListenUnix(path, group string) (net.Listener, error) {
	number := -1
	if group != "" {
		g, err := user.LookupGroup(group)
		if err != nil {
			if g, err = user.LookupGroupId(group); err != nil {
				return nil, fmt.Errorf("group %q: %w", group, err)
			}
		}
		if number, err = strconv.Atoi(g.Gid); err != nil {
			return nil, err
		}
	}
	if c, err := net.Dial("unix", path); err == nil {
		c.Close()
		return nil, fmt.Errorf("%s: somebody listens there already", path)
	}
	if st, err := os.Lstat(path); err == nil && st.Mode()&os.ModeSocket != 0 {
		os.Remove(path)
	}
	old := umask(0o177)
	l, err := net.Listen("unix", path)
	umask(old)
	if err == nil && group != "" {
		// First the owner, then the permission to connect.
		if err = os.Chown(path, -1, number); err == nil {
			err = os.Chmod(path, 0o660)
		}
		if err != nil {
			l.Close()
			return nil, fmt.Errorf("group %s: %w", group, err)
		}
	}
	return l, err
}

// The limit of concurrent key log writers; further ones wait.
const maxWriters = 256

// Serve reads key logs from clients until l is closed. It calls done once per connection, with the line counters.
func Serve(l net.Listener, store *Store, done func(*Log)) {
	room := make(chan struct{}, maxWriters)
	listen.Each(l, func(c net.Conn) {
		room <- struct{}{}
		go func() {
			defer func() { <-room }()
			defer c.Close()
			log := &Log{Store: store, From: "socket"}
			io.Copy(log, c)
			log.Flush()
			done(log)
		}()
	})
}
