package output

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// A Roll writes a capture to one file after another. The first has the requested name. Later files, and the first one
// if that exists already, have a number before the extension: plain.pcap, plain.1.pcap and so on. Existing files are
// never overwritten. It is safe for concurrent use.
type Roll struct {
	// Header returns the start of each file except the first, whose start comes from the writer.
	Header func() []byte
	// Began, if set, is called with the names of files.
	Began func(name string)

	mu      sync.Mutex
	name    string
	rule    Rule
	f       *os.File
	written int64
	begun   time.Time
	again   bool
	now     func() time.Time
}

// A Rule decides when a Roll starts another file, and how many files remain. A zero field means no limit.
type Rule struct {
	Size  int64         // bytes
	Every time.Duration // age of the file
	Keep  int           // files with this name, with or without number; those with the lowest numbers are deleted
}

// NewRoll starts the first file. A pipe or device is written directly, and never ends.
func NewRoll(name string, rule Rule) (*Roll, error) {
	r := &Roll{name: name, rule: rule, now: time.Now}
	if st, err := os.Stat(name); err == nil && !st.Mode().IsRegular() {
		r.f, err = os.OpenFile(name, os.O_WRONLY, 0)
		r.rule = Rule{}
		r.name = ""
		return r, err
	}
	return r, r.begin()
}

// Name returns the name of the current file.
func (r *Roll) Name() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.f.Name()
}

// Set changes the rule.
func (r *Roll) Set(rule Rule) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.name != "" {
		r.rule = rule
	}
}

// Next starts another file for the following data.
func (r *Roll) Next() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.again = r.name != ""
}

// Write accepts whole packets.
func (r *Roll) Write(b []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.written > 0 && (r.again || r.rule.Size > 0 && r.written+int64(len(b)) > r.rule.Size || r.rule.Every > 0 && r.now().Sub(r.begun) >= r.rule.Every) {
		old := r.f
		if err := r.begin(); err != nil {
			r.f = old
			return 0, err
		}
		if err := old.Close(); err != nil {
			return 0, err
		}
		if r.Header != nil {
			n, err := r.f.Write(r.Header())
			r.written = int64(n)
			if err != nil {
				return 0, err
			}
		}
	}
	n, err := r.f.Write(b)
	r.written += int64(n)
	return n, err
}

// Close closes the last file.
func (r *Roll) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.f.Close()
}

// begin creates a file with a number that has not been used.
func (r *Roll) begin() error {
	numbers, err := r.numbers()
	if err != nil {
		return err
	}
	n := 0
	if len(numbers) > 0 {
		n = numbers[len(numbers)-1] + 1
	}
	for ; ; n++ {
		f, err := os.OpenFile(r.at(n), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if errors.Is(err, fs.ErrExist) {
			continue // another process has just created it
		}
		if err != nil {
			return err
		}
		r.f, r.written, r.begun, r.again = f, 0, r.now(), false
		break
	}
	if r.rule.Keep > 0 {
		numbers = append(numbers, n)
		for _, old := range numbers[:max(0, len(numbers)-r.rule.Keep)] {
			if err := os.Remove(r.at(old)); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
	}
	if r.Began != nil {
		r.Began(r.f.Name())
	}
	return nil
}

func (r *Roll) at(n int) string {
	if n == 0 {
		return r.name
	}
	end := filepath.Ext(r.name)
	return fmt.Sprintf("%s.%d%s", strings.TrimSuffix(r.name, end), n, end)
}

// numbers returns the numbers of existing files, in order.
func (r *Roll) numbers() (all []int, err error) {
	names, err := os.ReadDir(filepath.Dir(r.name))
	if err != nil {
		return nil, err
	}
	base, end := filepath.Base(r.name), filepath.Ext(r.name)
	stem := strings.TrimSuffix(base, end)
	for _, e := range names {
		if e.Name() == base {
			all = append(all, 0)
			continue
		}
		middle, ok := strings.CutPrefix(e.Name(), stem+".")
		if !ok {
			continue
		}
		if middle, ok = strings.CutSuffix(middle, end); !ok {
			continue
		}
		if n, err := strconv.Atoi(middle); err == nil && n > 0 && n < 1e9 && strconv.Itoa(n) == middle {
			all = append(all, n)
		}
	}
	slices.Sort(all)
	return all, nil
}
