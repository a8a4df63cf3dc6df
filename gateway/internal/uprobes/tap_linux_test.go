//go:build amd64 || arm64

package uprobes

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"
	"unsafe"
)

// session stands in for crypto/tls.Config. The function below has the arguments of (*Config).writeKeyLog.
type session struct{ sum int }

//go:noinline
func (s *session) writeKeyLog(label string, random, secret []byte) {
	s.sum += len(label) + len(random) + len(secret)
}

// tapped returns a Tap at writeKeyLog of this process.
func tapped(t *testing.T) *Tap {
	t.Helper()
	tap, err := New("")
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, fs.ErrNotExist) {
		t.Skipf("not run: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(tap.Close)
	f, err := os.Open("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := tap.Attach(f, Probe{Kind: Go, Offset: offsetOf(t, f, reflect.ValueOf((*session).writeKeyLog).Pointer())}, os.Getpid()); err != nil {
		t.Fatal(err)
	}
	return tap
}

// A hostile process's arguments are refused and counted, and do not keep out later ones.
func TestHostileArguments(t *testing.T) {
	tap := tapped(t)
	var s session
	random, secret := bytes.Repeat([]byte{0xab}, 32), bytes.Repeat([]byte{0xcd}, 48)
	nowhere := unsafe.Slice((*byte)(unsafe.Pointer(&random[0])), 32)
	(*[3]uintptr)(unsafe.Pointer(&nowhere))[0] = 8 // an address where nothing is
	const label = "CLIENT_RANDOM"
	for _, c := range []struct {
		name           string
		label          string
		random, secret []byte
		unreadable     uint64
		refused        uint64
	}{
		{"another label", "EVIL\n" + label, random, secret, 0, 1},
		{"no label", "", random, secret, 0, 1},
		{"a long label", strings.Repeat("x", 1000), random, secret, 1, 0},
		{"no secret", label, random, nil, 0, 1},
		{"a short secret", label, random, secret[:31], 0, 1},
		{"a secret of TLS 1.2 as long as one of TLS 1.3", label, random, secret[:32], 0, 1},
		{"a long secret", label, random, make([]byte, 1<<20), 1, 0},
		{"half a random", label, random[:16], secret, 0, 0},
		{"a random nowhere", label, nowhere, secret, 1, 0},
		{"a secret nowhere", label, random, nowhere, 1, 0},
	} {
		var before, after Counts
		tap.Count(&before)
		s.writeKeyLog(c.label, c.random, c.secret)
		s.writeKeyLog("SERVER_TRAFFIC_SECRET_0", random, secret[:32])
		got, err := tap.Read(nil, &after)
		if err != nil {
			t.Fatal(err)
		}
		if want := "SERVER_TRAFFIC_SECRET_0 " + strings.Repeat("ab", 32) + " " + strings.Repeat("cd", 32) + "\n"; string(got) != want {
			t.Errorf("%s: %q", c.name, got)
		}
		tap.Count(&after)
		if after.Unreadable-before.Unreadable != c.unreadable || after.Refused != c.refused {
			t.Errorf("%s: %d unreadable, %d refused", c.name, after.Unreadable-before.Unreadable, after.Refused)
		}
	}
}

// A process that sends without end has a budget in each period, and the ring ends when nothing is read. All that is dropped is counted; a call
// that a signal interrupts may count twice.
func TestFlood(t *testing.T) {
	tap := tapped(t)
	var s session
	random, secret := make([]byte, 32), make([]byte, 48)
	const calls, budget, period = 50000, 4096, 100 * time.Millisecond
	begin := time.Now()
	for range calls {
		s.writeKeyLog("CLIENT_RANDOM", random, secret)
	}
	most := budget * uint64(time.Since(begin)/period+2)
	var c Counts
	if err := tap.Count(&c); err != nil {
		t.Fatal(err)
	}
	if c.Sent == 0 || c.Sent > 1<<20/eventBytes || c.OverBudget+c.Full == 0 || c.Sent+c.Full > most || c.Sent+c.OverBudget+c.Full < calls {
		t.Errorf("%+v of %d, with a budget of %d", c, calls, most)
	}
	for range c.Sent {
		if _, err := tap.Read(nil, &c); err != nil {
			t.Fatal(err)
		}
	}
}

// After Stop a reader ends, and after Close nothing can be attached.
func TestStop(t *testing.T) {
	tap := tapped(t)
	go tap.Stop()
	var c Counts
	if _, err := tap.Read(nil, &c); !errors.Is(err, os.ErrClosed) {
		t.Errorf("%v", err)
	}
	tap.Close()
	f, err := os.Open("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := tap.Attach(f, Probe{}, 0); !errors.Is(err, os.ErrClosed) {
		t.Errorf("attached to a closed tap: %v", err)
	}
}

// Any event becomes one line of known words and hexadecimal digits, or none.
func FuzzLine(f *testing.F) {
	e := make([]byte, eventBytes)
	copy(e[labelAt:], "CLIENT_RANDOM")
	e[4], e[5] = 13, 48
	f.Add(e)
	f.Fuzz(func(t *testing.T, e []byte) {
		got, err := line(nil, e)
		if err != nil && len(got) > 0 || bytes.Count(got, []byte("\n")) > 1 || bytes.ContainsFunc(got, func(r rune) bool { return r > 'z' || r < ' ' && r != '\n' }) {
			t.Errorf("%q: %q, %v", e, got, err)
		}
	})
}
