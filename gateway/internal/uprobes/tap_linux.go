//go:build amd64 || arm64

package uprobes

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"unsafe"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/ringbuf"
	"github.com/cilium/ebpf/rlimit"
	"golang.org/x/sys/unix"
)

// A Tap captures secrets from programs. Attach, Read and Stop may run concurrently.
type Tap struct {
	spec   *ebpf.CollectionSpec
	shared map[string]*ebpf.Map
	group  *os.File
	loaded map[Probe]*ebpf.Program // keyed by everything except Library and Offset
	events []int                   // perf file descriptors
	ring   *ringbuf.Reader
	record ringbuf.Record
	kind   uint32 // perf's type number of uprobes

	mu     sync.Mutex // protects loaded, events and closed
	closed bool
}

// Counts count events: sent; unreadable; dropped because their process sent too many, or because the ring was full.
// Refused ones were sent, but are not valid key log lines.
type Counts struct{ Sent, Unreadable, OverBudget, Full, Refused uint64 }

const pmu = "/sys/bus/event_source/devices/uprobe/type"

// New returns a Tap without attachments. With a cgroup, which is a folder of cgroup 2, secrets of other processes are
// ignored. It needs CAP_BPF and CAP_PERFMON.
func New(cgroup string) (*Tap, error) {
	t := &Tap{loaded: make(map[Probe]*ebpf.Program), shared: make(map[string]*ebpf.Map)}
	if err := t.open(cgroup); err != nil {
		t.Close()
		return nil, err
	}
	return t, nil
}

func (t *Tap) open(cgroup string) error {
	number, err := os.ReadFile(pmu)
	if err != nil {
		return fmt.Errorf("this kernel has no uprobes: %w", err)
	}
	n, err := strconv.ParseUint(strings.TrimSpace(string(number)), 10, 32)
	if err != nil {
		return fmt.Errorf("%s: %w", pmu, err)
	}
	t.kind = uint32(n)
	rlimit.RemoveMemlock() // required before Linux 5.11; if it fails, loading reports that
	if t.spec, err = ebpf.LoadCollectionSpecFromReader(bytes.NewReader(object)); err != nil {
		return err
	}
	for name, m := range t.spec.Maps {
		if strings.HasPrefix(name, ".") {
			continue // constants
		}
		if t.shared[name], err = ebpf.NewMap(m); err != nil {
			return fmt.Errorf("map %s: %w", name, err)
		}
	}
	if cgroup != "" {
		if t.group, err = os.Open(cgroup); err != nil {
			return err
		}
		if err := t.shared["cgroup"].Put(uint32(0), uint32(t.group.Fd())); err != nil {
			return fmt.Errorf("%s: %w: it is a folder of cgroup 2", cgroup, err)
		}
	}
	t.ring, err = ringbuf.NewReader(t.shared["events"])
	return err
}

// program returns the program for probes of this type.
func (t *Tap) program(p Probe) (*ebpf.Program, error) {
	p.Library, p.Offset = "", 0
	if loaded := t.loaded[p]; loaded != nil {
		return loaded, nil
	}
	spec := t.spec.Copy()
	grouped := uint32(0)
	if t.group != nil {
		grouped = 1
	}
	for name, value := range map[string]uint32{"kind": uint32(p.Kind), "random_at": p.RandomAt, "pointer_at": p.PointerAt, "grouped": grouped} {
		if err := spec.Variables[name].Set(value); err != nil {
			return nil, err
		}
	}
	c, err := ebpf.NewCollectionWithOptions(spec, ebpf.CollectionOptions{MapReplacements: t.shared})
	if err != nil {
		return nil, err
	}
	loaded := c.DetachProgram("sealane_keys")
	c.Close()
	t.loaded[p] = loaded
	return loaded, nil
}

// Attach captures the secrets of a process at a location in a file that it runs, or those of all processes if pid is 0.
func (t *Tap) Attach(f *os.File, p Probe, pid int) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return os.ErrClosed
	}
	program, err := t.program(p)
	if err != nil {
		return err
	}
	if pid == 0 {
		pid = -1
	}
	// This goes through the open file, because its name may now belong to another file. Package link requires the
	// file to be executable, which libraries on Debian are not.
	path, err := unix.BytePtrFromString(fmt.Sprintf("/proc/self/fd/%d", f.Fd()))
	if err != nil {
		return err
	}
	attr := unix.PerfEventAttr{Type: t.kind, Size: uint32(unsafe.Sizeof(unix.PerfEventAttr{})), Ext1: uint64(uintptr(unsafe.Pointer(path))), Ext2: p.Offset}
	cpu := 0
	if pid > 0 {
		cpu = -1
	}
	event, err := unix.PerfEventOpen(&attr, pid, cpu, -1, unix.PERF_FLAG_FD_CLOEXEC)
	runtime.KeepAlive(path)
	runtime.KeepAlive(f)
	if err != nil {
		return fmt.Errorf("%s: uprobe: %w", f.Name(), err)
	}
	err = unix.IoctlSetInt(event, unix.PERF_EVENT_IOC_SET_BPF, program.FD())
	if err == nil {
		err = unix.IoctlSetInt(event, unix.PERF_EVENT_IOC_ENABLE, 0)
	}
	if err != nil {
		unix.Close(event)
		return fmt.Errorf("%s: uprobe: %w", f.Name(), err)
	}
	t.events = append(t.events, event)
	return nil
}

// event is struct event.
const (
	labelAt    = 8
	randomAt   = labelAt + 40
	secretAt   = randomAt + 32
	eventBytes = secretAt + 48
)

// known are the accepted labels, and whether their secret belongs to TLS 1.2.
var known = map[string]bool{
	"CLIENT_RANDOM": true, "CLIENT_EARLY_TRAFFIC_SECRET": false, "CLIENT_HANDSHAKE_TRAFFIC_SECRET": false, "SERVER_HANDSHAKE_TRAFFIC_SECRET": false,
	"CLIENT_TRAFFIC_SECRET_0": false, "SERVER_TRAFFIC_SECRET_0": false, "EXPORTER_SECRET": false, "EARLY_EXPORTER_SECRET": false,
	"CLIENT_TRAFFIC_SECRET_N": false, "SERVER_TRAFFIC_SECRET_N": false,
}

var errNoLine = errors.New("no line of a key log")

// line appends an event as a key log line. Later secrets of KeyUpdate, which can be derived from the first, give
// neither an error nor a line.
func line(into, e []byte) ([]byte, error) {
	if len(e) != eventBytes || e[4] > randomAt-labelAt || e[5] > eventBytes-secretAt {
		return into, errNoLine
	}
	label, secret := e[labelAt:labelAt+int(e[4])], e[secretAt:secretAt+int(e[5])]
	old, ok := known[string(label)]
	if !ok || len(secret) != 48 && (old || len(secret) != 32) {
		return into, errNoLine
	}
	if bytes.HasSuffix(label, []byte("_N")) {
		return into, nil
	}
	into = append(append(into, label...), ' ')
	into = append(hex.AppendEncode(into, e[randomAt:secretAt]), ' ')
	return append(hex.AppendEncode(into, secret), '\n'), nil
}

// Read waits for a secret, and returns into with its key log line. It counts and skips invalid lines. It returns
// os.ErrClosed after Stop.
func (t *Tap) Read(into []byte, c *Counts) ([]byte, error) {
	for n := len(into); ; {
		if err := t.ring.ReadInto(&t.record); err != nil {
			return into, err
		}
		var err error
		into, err = line(into, t.record.RawSample)
		clear(t.record.RawSample)
		if err != nil {
			c.Refused++
		} else if len(into) > n {
			return into, nil
		}
	}
}

// Count updates the counters from the kernel.
func (t *Tap) Count(c *Counts) error {
	var all [4]uint64
	for i := range all {
		var perCPU []uint64
		if err := t.shared["counts"].Lookup(uint32(i), &perCPU); err != nil {
			return err
		}
		for _, n := range perCPU {
			all[i] += n
		}
	}
	c.Sent, c.Unreadable, c.OverBudget, c.Full = all[0], all[1], all[2], all[3]
	return nil
}

// Stop makes Read return os.ErrClosed. The counters remain.
func (t *Tap) Stop() { t.ring.Close() }

// Close detaches from all programs.
func (t *Tap) Close() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return
	}
	t.closed = true
	for _, e := range t.events {
		unix.Close(e)
	}
	if t.ring != nil {
		t.ring.Close()
	}
	for _, p := range t.loaded {
		p.Close()
	}
	for _, m := range t.shared {
		m.Close()
	}
	if t.group != nil {
		t.group.Close()
	}
}
