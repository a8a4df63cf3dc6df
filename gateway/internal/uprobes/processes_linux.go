//go:build amd64 || arm64

package uprobes

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// Limits on the data that a process can make this package examine.
const (
	maxMaps    = 64 << 10 // lines of its memory map
	maxFiles   = 512      // mapped as code
	maxTargets = 8192     // files of all processes
)

// A Watch attaches a Tap to the libraries of processes, and remembers which it has seen.
type Watch struct {
	Tap *Tap
	// Found, if set, is called for each file that is attached.
	Found func(path, library string)

	seen map[target]bool
}

// A target is a file, for one process or for all.
type target struct {
	device, inode uint64
	pid           int
}

// Path attaches to a file for all processes.
func (w *Watch) Path(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = w.file(f, path, 0)
	return err
}

// Process attaches to the files that a process runs: only for this process, or for all if alone is false. It returns
// the number of new files with a TLS library. If the process has ended, the error is fs.ErrNotExist.
func (w *Watch) Process(pid int, alone bool) (n int, err error) {
	maps, err := os.Open(fmt.Sprintf("/proc/%d/maps", pid))
	if err != nil {
		return 0, err
	}
	defer maps.Close()
	files := make(map[string]bool)
	var refused error
	lines := bufio.NewScanner(maps)
	for i := 0; lines.Scan() && i < maxMaps && len(files) < maxFiles; i++ {
		// address perms offset device inode path
		f := strings.Fields(lines.Text())
		if len(f) < 6 || !strings.Contains(f[1], "x") || f[4] == "0" || files[f[3]+f[4]] {
			continue
		}
		files[f[3]+f[4]] = true
		only := 0
		if alone {
			only = pid
		}
		// This opens the mapping itself, because its file may have another name or none in the process's namespace.
		// The name of the mapping has no leading zeros.
		var from, to uint64
		if n, err := fmt.Sscanf(f[0], "%x-%x", &from, &to); n != 2 || err != nil {
			continue
		}
		opened, err := open(fmt.Sprintf("/proc/%d/map_files/%x-%x", pid, from, to))
		if err != nil {
			refused = err
			continue
		}
		attached, err := w.file(opened, f[5], only)
		opened.Close()
		switch {
		case attached:
			n++
		case errors.Is(err, errAttach):
			return n, err
		}
	}
	if err := lines.Err(); err != nil && !errors.Is(err, syscall.ESRCH) {
		return n, err
	}
	if n == 0 && errors.Is(refused, fs.ErrPermission) {
		return 0, refused
	}
	return n, nil
}

// Cgroup attaches to the files that the processes in a cgroup run.
func (w *Watch) Cgroup(folder string) (n int, err error) {
	err = filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return nil // it may have ended
		}
		b, _ := os.ReadFile(filepath.Join(path, "cgroup.procs"))
		for _, text := range strings.Fields(string(b)) {
			pid, err := strconv.Atoi(text)
			if err != nil {
				continue
			}
			more, err := w.Process(pid, false)
			if n += more; errors.Is(err, errAttach) {
				return err
			}
		}
		return nil
	})
	return n, err
}

// open opens a file for reading if it is a regular one.
func open(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	if st, err := f.Stat(); err != nil || !st.Mode().IsRegular() {
		f.Close()
		return nil, fmt.Errorf("%s: no regular file", path)
	}
	return f, nil
}

// errAttach means that the kernel refused, which it will also do for the next file.
var errAttach = errors.New("the kernel refuses")

// file attaches to a file, and reports whether it was new and has a TLS library.
func (w *Watch) file(f *os.File, name string, pid int) (bool, error) {
	st, err := f.Stat()
	if err != nil {
		return false, err
	}
	sys, ok := st.Sys().(*syscall.Stat_t)
	if !ok {
		return false, fmt.Errorf("%s: no inode", name)
	}
	t := target{sys.Dev, sys.Ino, pid}
	if w.seen[t] {
		return false, nil
	}
	if w.seen == nil {
		w.seen = make(map[target]bool)
	}
	if len(w.seen) == maxTargets {
		return false, fmt.Errorf("%s: more than %d files", name, maxTargets)
	}
	w.seen[t] = true
	probes, err := Find(f)
	if err != nil {
		return false, err
	}
	for _, p := range probes {
		if err := w.Tap.Attach(f, p, pid); err != nil {
			return false, fmt.Errorf("%w: %w", errAttach, err)
		}
	}
	if w.Found != nil {
		w.Found(name, probes[0].Library)
	}
	return true, nil
}
