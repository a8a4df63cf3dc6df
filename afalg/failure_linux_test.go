package afalg

import (
	"bytes"
	"crypto/cipher"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/sealane/sealane"
	"github.com/sealane/sealane/aesgcm"
	"github.com/sealane/sealane/chacha20poly1305"
)

// lossless seals and opens packets, in place and apart, and a forged one, with a key whose operations fail. The results
// must be the same as without failure. It returns how many packets were processed in the process.
func lossless(t *testing.T, what string, a *AEAD, process cipher.AEAD) uint64 {
	t.Helper()
	r := rand.New(rand.NewPCG(18, 19))
	nonce, text, ad := fill(nonceSize, r), fill(500, r), fill(9, r)
	want := process.Seal(nil, nonce, text, ad)
	before := a.InProcess()
	if got := a.Seal(nil, nonce, text, ad); !bytes.Equal(got, want) {
		t.Errorf("%s: sealed wrongly", what)
	}
	inPlace := append(make([]byte, 0, len(want)), text...)
	if got := a.Seal(inPlace[:0], nonce, inPlace, ad); !bytes.Equal(got, want) {
		t.Errorf("%s: sealed wrongly in place", what)
	}
	if got, err := a.Open(nil, nonce, want, ad); err != nil || !bytes.Equal(got, text) {
		t.Errorf("%s: opened wrongly: %v", what, err)
	}
	if got, err := a.Open(inPlace[:0], nonce, inPlace[:len(want)], ad); err != nil || !bytes.Equal(got, text) {
		t.Errorf("%s: opened wrongly in place: %v", what, err)
	}
	want[7] ^= 1
	out := bytes.Repeat([]byte{1}, 500)
	if got, err := a.Open(out[:0], nonce, want, ad); got != nil || err == nil || err.Error() != errOpen.Error() || !bytes.Equal(out, make([]byte, 500)) {
		t.Errorf("%s: forged: %v", what, err)
	}
	return a.InProcess() - before
}

// TestSystemCallsFail makes each system call of a packet fail, with a seccomp filter on one thread.
func TestSystemCallsFail(t *testing.T) {
	for _, c := range []struct {
		call   string
		number uintptr
		errors []unix.Errno
	}{
		{"accept", unix.SYS_ACCEPT4, []unix.Errno{unix.ENOMEM, unix.EMFILE, unix.ENFILE}},
		{"sendmsg", unix.SYS_SENDMSG, []unix.Errno{unix.ENOMEM, unix.EAGAIN, unix.EINTR, unix.ENOKEY, unix.EINVAL}},
		{"read", unix.SYS_READV, []unix.Errno{unix.ENOMEM, unix.EINTR, unix.EIO, unix.EINVAL, unix.ETIMEDOUT}},
	} {
		for _, errno := range c.errors {
			each(t, func(t *testing.T, algorithm Algorithm) {
				a, process := pair(t, algorithm, make([]byte, 32))
				done := make(chan error)
				go func() {
					runtime.LockOSThread() // never unlocked, so the thread ends with this function
					if err := fail(c.number, errno); err != nil {
						done <- err
						return
					}
					if n := lossless(t, fmt.Sprint(c.call, ": ", errno), a, process); n != 5 {
						t.Errorf("%s: %v: %d packets were done in the process", c.call, errno, n)
					}
					done <- nil
				}()
				if err := <-done; err != nil {
					t.Skip("NOT RUN: ", err)
				}
				if n := lossless(t, "afterwards", a, process); n != 0 {
					t.Errorf("%s: %v: afterwards %d packets were done in the process", c.call, errno, n)
				}
			})
		}
	}
}

// fail makes a system call fail in this thread from now on.
func fail(number uintptr, errno unix.Errno) error {
	filter := []unix.SockFilter{
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: 0}, // system call number
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jf: 1, K: uint32(number)},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ERRNO | uint32(errno)},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW},
	}
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	if _, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0, uintptr(unsafe.Pointer(&program))); errno != 0 {
		return errno
	}
	return nil
}

// TestShort: an operation transfers fewer bytes than a packet has.
func TestShort(t *testing.T) {
	each(t, func(t *testing.T, algorithm Algorithm) {
		a, process := pair(t, algorithm, make([]byte, 32))
		answers := func(b []byte) func(o *operation) error {
			return func(o *operation) error {
				ends, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
				if err != nil {
					return err
				}
				defer unix.Close(ends[0])
				defer unix.Close(ends[1])
				if err := unix.Dup3(ends[0], o.fd, unix.O_CLOEXEC); err != nil {
					return err
				}
				_, err = unix.Write(ends[1], b)
				return err
			}
		}
		for what, breakIt := range map[string]func(o *operation) error{
			"no answer":      answers(nil),
			"a short answer": answers(make([]byte, 50)),
			"room for less than the packet": func(o *operation) error {
				return unix.SetsockoptInt(o.fd, unix.SOL_SOCKET, unix.SO_SNDBUF, 0)
			},
		} {
			o := a.take()
			if o == nil {
				t.Fatal("no operation")
			}
			if err := breakIt(o); err != nil {
				t.Fatal(what, ": ", err)
			}
			a.give(o, nil)
			r := rand.New(rand.NewPCG(20, 21))
			nonce, text := fill(nonceSize, r), fill(40000, r)
			want := process.Seal(nil, nonce, text, nil)
			inPlace := append(make([]byte, 0, len(want)), text...) // a short answer must leave it intact
			if got := a.Seal(inPlace[:0], nonce, inPlace, nil); !bytes.Equal(got, want) {
				t.Errorf("%s: sealed wrongly", what)
			}
			if n := lossless(t, what, a, process); n != 0 {
				t.Errorf("%s: afterwards %d packets were done in the process", what, n)
			}
		}
		if n := a.InProcess(); n != 3 {
			t.Errorf("%d packets were done in the process, want 3", n)
		}
	})
}

// TestWithout runs on kernels that lack AF_ALG or the ciphers, as the variable says.
func TestWithout(t *testing.T) {
	lacks := os.Getenv("SEALANE_AFALG_WITHOUT")
	want := map[string]unix.Errno{"af_alg": unix.EAFNOSUPPORT, "drivers": unix.ENOENT}[lacks]
	if want == 0 {
		t.Skip("NOT RUN: the kernel lacks nothing on purpose")
	}
	for _, s := range Available() {
		t.Log(s.Why)
		if s.Usable || !strings.Contains(s.Why, want.Error()) || s.Driver != "" || s.Hardware {
			t.Errorf("%+v", s)
		}
		if a, err := New(s.Algorithm, make([]byte, 32)); a != nil || !errors.Is(err, ErrUnsupported) || !errors.Is(err, want) {
			t.Errorf("%s: %v", s.Algorithm, err)
		}
	}
	selections := Selections()
	if len(selections) != len(algorithms) {
		t.Errorf("%d selections: this test wants SEALANE_AFALG=auto", len(selections))
	}
	for _, s := range selections {
		if s.Kernel || s.Why == "" {
			t.Errorf("%+v", s)
		}
	}
	for _, build := range []func([]byte) (cipher.AEAD, error){chacha20poly1305.New, aesgcm.New} {
		a, err := build(make([]byte, 32))
		if err != nil || strings.Contains(sealane.Implementation(a), "af_alg") {
			t.Fatal(err, sealane.Implementation(a))
		}
		sealed := a.Seal(nil, make([]byte, 12), []byte("text"), nil)
		if got, err := a.Open(nil, make([]byte, 12), sealed, nil); err != nil || string(got) != "text" {
			t.Error(err)
		}
	}
}
