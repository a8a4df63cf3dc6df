//go:build amd64 || arm64

package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"github.com/sealane/sealane/gateway/internal/uprobes"
)

func init() { commands = append(commands, keysCommand) }

// tapped are the flags of the command keys.
type tapped struct {
	pids   []int
	paths  []string
	cgroup string
	socket string
	write  string
}

func keysCommand() *cobra.Command {
	t := new(tapped)
	cmd := &cobra.Command{
		Use:   "keys",
		Short: "Take keys from running programs",
		Long: "keys attaches to the TLS libraries of running programs, and passes the keys of their connections on to live. The programs need no " +
			"change, setting or restart. It supports OpenSSL 1.1.1 to 4, BoringSSL, GnuTLS, and Go's crypto/tls, in libraries and linked into programs, on x86-64 and arm64. It needs root.",
		Example: "  sealane-gateway keys --pid $(pidof haproxy) --socket /run/sealane-gateway/keys\n" +
			"  sealane-gateway keys --path /usr/lib/x86_64-linux-gnu/libssl.so.3 --write keys.log\n" +
			"  sealane-gateway keys --cgroup /sys/fs/cgroup/system.slice/nginx.service --socket /run/sealane-gateway/keys",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return t.run(cmd.Context()) },
	}
	f := cmd.Flags()
	f.IntSliceVar(&t.pids, "pid", nil, "this process; may be given more than once")
	f.StringSliceVar(&t.paths, "path", nil, "all processes that run this program or library; may be given more than once")
	f.StringVar(&t.cgroup, "cgroup", "", "all processes in this cgroup, a folder of cgroup 2 such as /sys/fs/cgroup/system.slice/nginx.service")
	f.StringVar(&t.socket, "socket", "", "pass keys to this socket: --keys-socket of live")
	f.StringVar(&t.write, "write", "", "append keys to this key log, of mode 0600")
	return cmd
}

// withoutBPF is the advice for kernels where this does not work.
const withoutBPF = "keys needs root, and a kernel that is not locked down. Without them, LD_PRELOAD=sealane_keylog.so makes programs with OpenSSL " +
	"write a key log, and some others can write one: see docs/gateway-keys.md"

func (t *tapped) run(ctx context.Context) error {
	ways := 0
	for _, given := range []bool{len(t.pids) > 0, len(t.paths) > 0, t.cgroup != ""} {
		if given {
			ways++
		}
	}
	if ways != 1 {
		return errors.New("which processes? One of --pid, --path and --cgroup")
	}
	if (t.socket == "") == (t.write == "") {
		return errors.New("where to? One of --socket and --write")
	}
	unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0) // no keys in core dumps
	out, err := t.open(ctx)
	if err != nil {
		return err
	}
	defer out.Close()
	tap, err := uprobes.New(t.cgroup)
	if err != nil {
		return t.explain(err)
	}
	defer tap.Close()
	w := &uprobes.Watch{Tap: tap, Found: func(path, library string) {
		slog.Info("taking keys", "library", library, "file", path)
	}}
	n, err := t.look(w)
	if err != nil {
		return t.explain(err)
	}
	if n == 0 && t.cgroup == "" {
		return errors.New("no supported TLS library in these processes: OpenSSL, BoringSSL, GnuTLS, or Go's crypto/tls")
	}
	var counts uprobes.Counts
	context.AfterFunc(ctx, tap.Stop)
	go func() { // libraries may be loaded and processes started later
		for len(t.paths) == 0 && ctx.Err() == nil {
			select {
			case <-ctx.Done():
			case <-time.After(time.Second):
				if _, err := t.look(w); err != nil && ctx.Err() == nil {
					slog.Warn("no more keys from new processes", "error", err)
					return
				}
			}
		}
	}()
	line := make([]byte, 0, 512)
	told, counted := uint64(0), time.Now()
	for {
		line, err = tap.Read(line[:0], &counts)
		if errors.Is(err, os.ErrClosed) {
			break
		}
		if err == nil {
			err = out.write(line)
		}
		clear(line)
		if err != nil {
			return err
		}
		if time.Since(counted) < time.Second {
			continue
		}
		counted = time.Now()
		tap.Count(&counts)
		if lost := counts.OverBudget + counts.Full; lost > told+told/4 { // limits the log lines that a flooding process can cause
			told = lost
			slog.Warn("keys dropped", "process_sent_too_many", counts.OverBudget, "not_read_in_time", counts.Full)
		}
	}
	tap.Count(&counts)
	slog.Info("done", "keys", counts.Sent-counts.Refused, "unreadable", counts.Unreadable+counts.Refused, "dropped", counts.OverBudget+counts.Full)
	return nil
}

func (t *tapped) explain(err error) error {
	if errors.Is(err, fs.ErrPermission) {
		return fmt.Errorf("%w\n%s", err, withoutBPF)
	}
	return err
}

// look attaches to new processes and libraries.
func (t *tapped) look(w *uprobes.Watch) (n int, err error) {
	for _, path := range t.paths {
		if err := w.Path(path); err != nil {
			return n, err
		}
		n++
	}
	if t.cgroup != "" {
		return w.Cgroup(t.cgroup)
	}
	alive := 0
	for _, pid := range t.pids {
		more, err := w.Process(pid, true)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return n, fmt.Errorf("process %d: %w", pid, err)
		}
		alive++
		n += more
	}
	if len(t.pids) > 0 && alive == 0 {
		return n, fmt.Errorf("process %v: it no longer exists", t.pids)
	}
	return n, nil
}

// lines is the destination of key log lines.
type lines struct {
	ctx    context.Context
	socket string
	c      net.Conn
	f      *os.File
}

func (t *tapped) open(ctx context.Context) (*lines, error) {
	l := &lines{ctx: ctx, socket: t.socket}
	var err error
	if t.write != "" {
		l.f, err = os.OpenFile(t.write, os.O_WRONLY|os.O_APPEND|os.O_CREATE|unix.O_NOFOLLOW, 0o600)
		if err == nil {
			if err = new(keySources).check(l.f); err != nil {
				l.f.Close()
			}
		}
	} else {
		l.c, err = net.Dial("unix", t.socket)
	}
	return l, err
}

// write passes a line on. While the gateway is away it waits, and the kernel's ring holds as many lines as fit.
func (l *lines) write(line []byte) error {
	if l.f != nil {
		_, err := l.f.Write(line)
		return err
	}
	for said := false; ; {
		if l.c != nil {
			if _, err := l.c.Write(line); err == nil {
				return nil
			}
			l.c.Close()
		}
		var err error
		if l.c, err = net.Dial("unix", l.socket); err == nil {
			continue
		}
		l.c = nil
		if !said {
			slog.Warn("the gateway is away", "socket", l.socket, "error", err)
			said = true
		}
		select {
		case <-l.ctx.Done():
			return nil
		case <-time.After(100 * time.Millisecond):
		}
	}
}

func (l *lines) Close() {
	if l.f != nil {
		l.f.Close()
	}
	if l.c != nil {
		l.c.Close()
	}
}
