package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"
	"github.com/spf13/pflag"
	"golang.org/x/sys/unix"
)

// An appended is a file that is only appended to, and that another file may replace while it is written.
type appended struct {
	name string
	mu   sync.Mutex
	f    *os.File
}

func openAppended(name string) (*appended, error) {
	a := &appended{name: name}
	return a, a.reopen()
}

// reopen continues with the file that now has this name, or with the old one if that fails. It does not follow links:
// otherwise a user with write access to the folder could have lines appended to any file. "-" is standard output.
func (a *appended) reopen() error {
	f := os.Stdout
	if a.name != "-" {
		var err error
		if f, err = os.OpenFile(a.name, os.O_WRONLY|os.O_APPEND|os.O_CREATE|unix.O_NOFOLLOW, 0o600); errors.Is(err, unix.ELOOP) {
			return fmt.Errorf("%s is a symbolic link, which is not followed", a.name)
		} else if err != nil {
			return err
		}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.f != nil && a.f != os.Stdout {
		a.f.Close()
	}
	a.f = f
	return nil
}

func (a *appended) Write(b []byte) (int, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.f.Write(b)
}

func (a *appended) Close() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.f == os.Stdout {
		return nil
	}
	return a.f.Close()
}

// notify sends a state to the service manager, if one is running.
func notify(state string) {
	if _, err := daemon.SdNotify(false, state); err != nil {
		slog.Warn("service manager", "error", err)
	}
}

// manage reports to the service manager while all cores make progress, and handles SIGHUP, until ctx is done.
func (l *live) manage(ctx context.Context) {
	hangup := make(chan os.Signal, 1)
	signal.Notify(hangup, syscall.SIGHUP)
	defer signal.Stop(hangup)
	var watch <-chan time.Time
	if every, err := daemon.SdWatchdogEnabled(false); err == nil && every > 0 {
		t := time.NewTicker(every / 3)
		defer t.Stop()
		watch = t.C
	}
	beats := make([]uint64, len(l.cores))
	notify(daemon.SdNotifyReady)
	for {
		select {
		case <-ctx.Done():
			notify(daemon.SdNotifyStopping)
			return
		case <-hangup:
			notify(daemon.SdNotifyReloading)
			l.reload(ctx)
			notify(daemon.SdNotifyReady)
		case <-watch:
			if alive(beats, l.beats()) {
				notify(daemon.SdNotifyWatchdog)
			} else {
				slog.Error("a core makes no progress")
			}
		}
	}
}

func (l *live) beats() []uint64 {
	now := make([]uint64, len(l.cores))
	for i, c := range l.cores {
		now[i] = c.beat.Load()
	}
	return now
}

// alive reports whether all cores have made progress since the last call, and records their progress.
func alive(before, now []uint64) bool {
	for i := range now {
		if now[i] == before[i] {
			return false
		}
	}
	copy(before, now)
	return true
}

// reloadable are the settings that take effect on SIGHUP.
var reloadable = []string{"keys", "write-size", "write-every", "write-keep"}

// reload reopens files, and applies the settings that can change while the gateway runs.
func (l *live) reload(ctx context.Context) {
	slog.Info("reloading")
	for _, r := range l.out.rolls {
		r.Next()
	}
	if l.auditFile != nil {
		if err := l.auditFile.reopen(); err != nil {
			slog.Error("the audit continues in the old file", "file", l.audit, "error", err)
		}
	}
	if l.config.file == "" {
		return
	}
	fresh := &live{}
	cmd := fresh.command()
	f := cmd.Flags()
	f.AddFlagSet(cmd.InheritedFlags())
	f.StringVar(new(string), "log", "", "") // a flag of all commands
	if err := loadConfig(f, l.config.file); err == nil {
		err = fresh.check()
		if err != nil {
			slog.Error("the configuration is invalid: nothing changes", "error", err)
			return
		}
	} else {
		slog.Error("the configuration is invalid: nothing changes", "error", err)
		return
	}
	for _, name := range changed(l.flags, f, l.config.argv) {
		if !slices.Contains(reloadable, name) {
			slog.Warn("this setting changes only at the next start", "setting", name)
		}
	}
	if !l.config.argv["keys"] {
		for _, name := range fresh.keys.files {
			if !slices.Contains(l.keys.files, name) {
				l.keys.files = append(l.keys.files, name)
				l.keys.followFile(ctx, l.store, name)
				slog.Info("another key log", "file", name)
			}
		}
	}
	if !l.config.argv["write-size"] {
		l.out.size = fresh.out.size
	}
	if !l.config.argv["write-every"] {
		l.out.every = fresh.out.every
	}
	if !l.config.argv["write-keep"] {
		l.out.keep = fresh.out.keep
	}
	for _, r := range l.out.rolls {
		r.Set(l.out.rule())
	}
}

// changed returns the names of flags whose values differ, except those set on the command line.
func changed(before, after *pflag.FlagSet, argv map[string]bool) (names []string) {
	after.VisitAll(func(f *pflag.Flag) {
		old := before.Lookup(f.Name)
		if old != nil && !argv[f.Name] && f.Name != "log" && !slices.Contains(notInFiles, f.Name) && old.Value.String() != f.Value.String() {
			names = append(names, f.Name)
		}
	})
	return names
}
