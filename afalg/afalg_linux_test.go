package afalg

import (
	"bytes"
	"crypto/cipher"
	"errors"
	"math/rand/v2"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sealane/sealane"
	"github.com/sealane/sealane/aesgcm"
	"github.com/sealane/sealane/chacha20poly1305"
	"github.com/sealane/sealane/internal/kernel"
)

// TestMain also runs in the process that TestAuto starts.
func TestMain(m *testing.M) {
	if os.Getenv("SEALANE_AFALG_CHILD") == "" {
		os.Exit(m.Run())
	}
	if os.Getenv("SEALANE_AFALG_CHILD") == "chosen" {
		for _, a := range algorithms {
			selections[a] = func() Selection { return Selection{a, true, "by the test"} }
		}
	}
	key, nonce, text := make([]byte, 32), make([]byte, nonceSize), []byte("text")
	for _, c := range []struct {
		algorithm Algorithm
		build     func([]byte) (cipher.AEAD, error)
	}{{ChaCha20Poly1305, chacha20poly1305.New}, {AESGCM, aesgcm.New}} {
		a, err := c.build(key)
		if err != nil {
			panic(err)
		}
		inProcess, err := inProcessOf(c.algorithm, key)
		if err != nil {
			panic(err)
		}
		sealed := a.Seal(nil, nonce, text, nonce)
		opened, err := a.Open(nil, nonce, sealed, nonce)
		if !bytes.Equal(sealed, inProcess.Seal(nil, nonce, text, nonce)) || !bytes.Equal(opened, text) || err != nil {
			panic("wrong")
		}
		println(string(c.algorithm), "uses", sealane.Implementation(a))
		if k, ok := a.(*AEAD); ok && k.InProcess() != 0 {
			panic("the kernel did not do it")
		}
	}
	for _, s := range Selections() {
		println(string(s.Algorithm), s.Kernel, s.Why)
	}
	os.Exit(0)
}

// TestDecide: the kernel gets only AES-GCM, only from an engine that does all of it, and only on CPUs without AES
// instructions.
func TestDecide(t *testing.T) {
	engine := Support{Algorithm: AESGCM, Usable: true, Driver: "gcm-aes-caam", Hardware: true}
	with := func(change func(s *Support)) Support {
		s := engine
		change(&s)
		return s
	}
	for _, c := range []struct {
		support Support
		level   kernel.Level
		want    string // part of the reason; "" if the kernel is chosen
	}{
		{engine, kernel.NEON, ""},
		{engine, kernel.ARMv6, ""},
		{engine, kernel.Portable, ""},
		{with(func(s *Support) { s.Driver = "pcrypt(gcm-aes-caam)" }), kernel.NEON, ""},
		{engine, kernel.CE, "has AES instructions"},
		{engine, kernel.CE32, "has AES instructions"},
		{engine, kernel.AESNI, "has AES instructions"},
		{with(func(s *Support) { s.Algorithm = ChaCha20Poly1305 }), kernel.Portable, "more instructions"},
		{with(func(s *Support) { s.Driver = "gcm_base(ctr-aes-omap,ghash-neon)" }), kernel.NEON, "AES alone"},
		{with(func(s *Support) { s.Driver, s.Hardware = "gcm-aes-neonbs", false }), kernel.NEON, "no crypto engine's"},
		{with(func(s *Support) { s.Driver, s.Hardware = "", false }), kernel.NEON, "not known"},
		{Support{Algorithm: AESGCM, Why: "wrong answers", Hardware: true}, kernel.NEON, "wrong answers"},
	} {
		if got := decide(c.support, c.level); got.Kernel != (c.want == "") || got.Algorithm != c.support.Algorithm || !strings.Contains(got.Why, c.want) || got.Why == "" {
			t.Errorf("%+v, level %v: %+v, want %q", c.support, c.level, got, c.want)
		}
	}
}

// TestAuto: without the variable, the kernel is never a candidate. No test machine has an engine.
func TestAuto(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	run := func(value string, environ ...string) string {
		cmd := exec.Command(self)
		if emulator := strings.Fields(os.Getenv("SEALANE_TEST_EXEC")); len(emulator) > 0 { // the argument of go test -exec
			cmd = exec.Command(emulator[0], append(emulator[1:], self)...)
		}
		cmd.Env = append(append(os.Environ(), "SEALANE_AFALG_CHILD=1", "SEALANE_AFALG="+value), environ...)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return string(out)
	}
	for _, value := range []string{"", "off", "0", "yes"} {
		if out := run(value); strings.Count(out, " uses ") != 2 || strings.Contains(out, "af_alg") || strings.Contains(out, " false ") {
			t.Errorf("%q: %s", value, out)
		}
	}
	need(t, ChaCha20Poly1305)
	out := run("auto")
	t.Log(out)
	if strings.Contains(out, "uses af_alg") || strings.Count(out, " false ") != len(algorithms) {
		t.Errorf("auto: %s", out)
	}
	if out := run("auto", "SEALANE_AFALG_CHILD=chosen"); strings.Count(out, " uses af_alg ") != len(algorithms) {
		t.Errorf("auto, and the kernel was chosen: %s", out)
	}
	if out := run("off", "SEALANE_AFALG_CHILD=chosen"); strings.Contains(out, "af_alg") {
		t.Errorf("off: %s", out)
	}
}

func descriptors(t *testing.T) int {
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skip("NOT RUN: ", err)
	}
	return len(entries)
}

func TestClose(t *testing.T) {
	need(t, ChaCha20Poly1305)
	nonce := make([]byte, nonceSize)
	before := descriptors(t)
	a, err := New(ChaCha20Poly1305, make([]byte, 32))
	if err != nil {
		t.Fatal(err)
	}
	sealed := a.Seal(nil, nonce, []byte("text"), nil)
	inKernel(t, a)
	if got := descriptors(t); got != before+2 {
		t.Errorf("%d descriptors more, want 2", got-before)
	}
	for range 2 {
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	}
	if got := descriptors(t); got != before {
		t.Errorf("%d descriptors are left after Close", got-before)
	}
	if !bytes.Equal(a.Seal(nil, nonce, []byte("text"), nil), sealed) || a.InProcess() != 1 {
		t.Error("closed, it does not seal")
	}
	for range 20 {
		a, err := New(AESGCM, make([]byte, 16))
		if err != nil {
			t.Fatal(err)
		}
		a.Seal(nil, nonce, nil, nil)
	}
	for range 100 {
		runtime.GC()
		time.Sleep(5 * time.Millisecond)
		if descriptors(t) <= before {
			return
		}
	}
	t.Errorf("%d descriptors are left by unreachable ciphers", descriptors(t)-before)
}

func TestConcurrent(t *testing.T) {
	each(t, func(t *testing.T, algorithm Algorithm) {
		a, process := pair(t, algorithm, fill(32, rand.New(rand.NewPCG(5, 6))))
		concurrently(t, a, process)
	})
}

// concurrently has more packets in progress than the kernel gets.
func concurrently(t *testing.T, a *AEAD, process cipher.AEAD) {
	var wait sync.WaitGroup
	for g := range 3 * poolSize {
		wait.Add(1)
		go func() {
			defer wait.Done()
			r := rand.New(rand.NewPCG(7, uint64(g)))
			for range 20 {
				nonce, text, ad := fill(nonceSize, r), fill(r.IntN(3000), r), fill(r.IntN(20), r)
				sealed := a.Seal(nil, nonce, text, ad)
				if !bytes.Equal(sealed, process.Seal(nil, nonce, text, ad)) {
					t.Error("sealed wrongly")
					return
				}
				if got, err := a.Open(nil, nonce, sealed, ad); err != nil || !bytes.Equal(got, text) {
					t.Error("opened wrongly: ", err)
					return
				}
				sealed[r.IntN(len(sealed))] ^= 4
				if _, err := a.Open(nil, nonce, sealed, ad); err == nil {
					t.Error("a forged packet was opened")
					return
				}
			}
		}()
	}
	wait.Wait()
	if n := a.open.Load(); n > poolSize {
		t.Errorf("%d operations are open", n)
	}
}

// TestCloseInUse closes the key while packets are in progress.
func TestCloseInUse(t *testing.T) {
	need(t, ChaCha20Poly1305)
	before := descriptors(t)
	want := ""
	for range 20 {
		a, err := New(ChaCha20Poly1305, make([]byte, 32))
		if err != nil {
			t.Fatal(err)
		}
		var wait sync.WaitGroup
		for range 4 {
			wait.Add(1)
			go func() {
				defer wait.Done()
				for range 30 {
					got := string(a.Seal(nil, make([]byte, nonceSize), []byte("text"), nil))
					if len(got) != 20 || want != "" && got != want {
						t.Error("sealed wrongly")
					}
				}
			}()
		}
		time.Sleep(200 * time.Microsecond)
		if err := a.Close(); err != nil {
			t.Error(err)
		}
		wait.Wait()
		want = string(a.Seal(nil, make([]byte, nonceSize), []byte("text"), nil))
	}
	if got := descriptors(t); got > before {
		t.Errorf("%d descriptors are left", got-before)
	}
}

// TestDescriptorsExhausted: without file descriptors, no packet is lost.
func TestDescriptorsExhausted(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 9))
	a, process := pair(t, ChaCha20Poly1305, fill(32, r))
	var old unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &old); err != nil {
		t.Fatal(err)
	}
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 3, Max: old.Max}); err != nil {
		t.Fatal(err)
	}
	nonce, text := fill(nonceSize, r), fill(1420, r)
	got := a.Seal(nil, nonce, text, nil)
	_, errNew := New(ChaCha20Poly1305, make([]byte, 32))
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &old); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, process.Seal(nil, nonce, text, nil)) || a.InProcess() != 1 {
		t.Errorf("sealed wrongly, or not in the process: %d", a.InProcess())
	}
	if !errors.Is(errNew, unix.EMFILE) {
		t.Errorf("New: %v", errNew)
	}
	if !bytes.Equal(a.Seal(nil, nonce, text, nil), got) || a.InProcess() != 1 {
		t.Error("with descriptors again the kernel is not used again")
	}
}

// TestAutomaticKeys: auto leaves most descriptors to the program.
func TestAutomaticKeys(t *testing.T) {
	need(t, ChaCha20Poly1305)
	var old unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &old); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = unix.Setrlimit(unix.RLIMIT_NOFILE, &old) }()
	const room = 3
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 4 * (1 + poolSize) * room, Max: old.Max}); err != nil {
		t.Fatal(err)
	}
	key := make([]byte, 32)
	process, err := inProcessOf(ChaCha20Poly1305, key)
	if err != nil {
		t.Fatal(err)
	}
	var taken []*AEAD
	for i := range room + 2 {
		a, ok := automatically(ChaCha20Poly1305, key, process).(*AEAD)
		if ok != (i < room) {
			t.Errorf("key %d is in the kernel: %v", i, ok)
		}
		if ok {
			taken = append(taken, a)
		}
	}
	for _, a := range taken {
		a.Close()
		a.Close()
	}
	if n := automaticKeys.Load(); n != 0 {
		t.Errorf("%d keys are counted after all were closed", n)
	}
}

// TestBrokenSocket: a failed operation is not used again, and its packet is not lost, even in place.
func TestBrokenSocket(t *testing.T) {
	each(t, func(t *testing.T, algorithm Algorithm) {
		r := rand.New(rand.NewPCG(10, 11))
		a, process := pair(t, algorithm, fill(32, r))
		nonce, text := fill(nonceSize, r), fill(500, r)
		want := process.Seal(nil, nonce, text, nil)
		for i := range 3 {
			o := a.take()
			if o == nil {
				t.Fatal("no operation")
			}
			pipe := make([]int, 2)
			if err := unix.Pipe2(pipe, unix.O_CLOEXEC); err != nil {
				t.Fatal(err)
			}
			if err := unix.Dup3(pipe[0], o.fd, unix.O_CLOEXEC); err != nil { // replaces the socket by a pipe
				t.Fatal(err)
			}
			unix.Close(pipe[0])
			unix.Close(pipe[1])
			a.give(o, nil)
			inPlace := append(make([]byte, 0, 516), text...)
			if got := a.Seal(inPlace[:0], nonce, inPlace, nil); !bytes.Equal(got, want) || a.InProcess() != uint64(i+1) {
				t.Errorf("sealed wrongly, or not in the process: %d", a.InProcess())
			}
			if got, err := a.Open(nil, nonce, want, nil); err != nil || !bytes.Equal(got, text) || a.InProcess() != uint64(i+1) {
				t.Errorf("opened wrongly, or not in the kernel: %v, %d", err, a.InProcess())
			}
		}
	})
}

// TestKnownAnswers: wrong answers of a kernel are detected, and differ from a missing driver.
func TestKnownAnswers(t *testing.T) {
	if err := test("gcm(nothing)", knownAnswers[AESGCM]); !errors.Is(err, ErrUnsupported) {
		t.Errorf("a missing driver: %v", err)
	}
	each(t, func(t *testing.T, algorithm Algorithm) {
		need(t, algorithm)
		for _, answer := range knownAnswers[algorithm] {
			if err := test(algorithm, []knownAnswer{answer}); err != nil {
				t.Error(err)
			}
			answer.sealed = strings.Replace(answer.sealed, "5", "6", 1)
			if err := test(algorithm, []knownAnswer{answer}); !errors.Is(err, ErrKnownAnswer) {
				t.Errorf("a wrong answer: %v", err)
			}
		}
	})
}

// TestAvailable: a usable algorithm has a driver, and any other has a reason.
func TestAvailable(t *testing.T) {
	for _, s := range Available() {
		t.Logf("%+v", s)
		if s.Usable != (s.Why == "") {
			t.Errorf("%+v", s)
		}
		if s.Usable && os.Getenv("SEALANE_AFALG_REQUIRED") != "" && (s.Driver == "" || s.Priority == 0 || s.Hardware) {
			t.Errorf("%+v", s)
		}
		if _, err := New(s.Algorithm, make([]byte, 32)); (err == nil) != s.Usable {
			t.Errorf("%s: New says %v", s.Algorithm, err)
		}
	}
}
