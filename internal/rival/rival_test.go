package rival

import (
	"crypto/cipher"
	"errors"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sealane/sealane/internal/aead"
	"github.com/sealane/sealane/internal/kernel"
)

// slow makes Seal of a cipher take longer.
type slow struct {
	cipher.AEAD
	by time.Duration
}

func (s slow) Seal(dst, nonce, plaintext, ad []byte) []byte {
	for start := time.Now(); time.Since(start) < s.by; {
	}
	return s.AEAD.Seal(dst, nonce, plaintext, ad)
}

// wrong changes what a cipher seals, or opens what is forged.
type wrong struct {
	cipher.AEAD
	at int // a byte of what is sealed, from its end; 0 for none
}

func (w wrong) Seal(dst, nonce, plaintext, ad []byte) []byte {
	sealed := w.AEAD.Seal(dst, nonce, plaintext, ad)
	if w.at > 0 {
		sealed[len(sealed)-w.at] ^= 1
	}
	return sealed
}

func (w wrong) Open(dst, nonce, ciphertext, ad []byte) ([]byte, error) {
	text, err := w.AEAD.Open(dst, nonce, ciphertext, ad)
	if w.at == 0 && err != nil {
		return make([]byte, len(ciphertext)-w.Overhead()), nil
	}
	return text, err
}

// needClock skips a test where the clock cannot tell short times.
func needClock(t *testing.T) {
	start := time.Now()
	for time.Since(start) == 0 {
	}
	if step := time.Since(start); step > 100*time.Microsecond {
		t.Skip("NOT RUN: the clock goes in steps of ", step)
	}
}

type maker = func(level kernel.Level, key []byte) (cipher.AEAD, error)

// with changes what a maker makes.
func with(make maker, change func(cipher.AEAD) cipher.AEAD) maker {
	return func(level kernel.Level, key []byte) (cipher.AEAD, error) {
		a, err := make(level, key)
		if err != nil {
			return nil, err
		}
		return change(a), nil
	}
}

func slower(make maker) maker {
	return with(make, func(a cipher.AEAD) cipher.AEAD { return slow{a, time.Millisecond} })
}

func TestChoice(t *testing.T) {
	if os.Getenv("SEALANE_CPU") != "" || os.Getenv("SEALANE_ASM") != "" {
		t.Skip("NOT RUN: nothing is compared in this environment") // TestEnvironment says so of such
	}
	needClock(t)
	plain, extended := aead.NewChaCha20Poly1305, aead.NewXChaCha20Poly1305
	fails := func(kernel.Level, []byte) (cipher.AEAD, error) { return nil, errors.New("no cipher") }
	forging := func(at int) func(cipher.AEAD) cipher.AEAD {
		return func(a cipher.AEAD) cipher.AEAD { return wrong{a, at} }
	}
	for _, c := range []struct {
		name         string
		ours, theirs maker
		want, made   bool
	}{
		{"theirs is slow", plain, slower(plain), false, true},
		{"ours is slow", slower(plain), plain, true, true},
		{"ours is slow, long nonces", slower(extended), extended, true, true},
		{"theirs makes another tag", slower(plain), with(plain, forging(1)), false, true},
		{"theirs makes another text", slower(plain), with(plain, forging(30)), false, true},
		{"theirs opens forgeries", slower(plain), with(plain, forging(0)), false, true},
		{"theirs has other nonces", slower(plain), extended, false, false},
		{"ours makes none", fails, plain, false, false},
		{"theirs makes none", slower(plain), fails, false, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			choice := Choice{Ours: c.ours}
			keys := 0
			their := func(key []byte) (cipher.AEAD, error) { keys++; return c.theirs(kernel.Portable, key) }
			for range 2 {
				if got := choice.Theirs(kernel.Portable, their); got != c.want {
					t.Errorf("theirs: %v, by %+v", got, choice.Last())
				}
			}
			last := choice.Last()
			if keys > 1 || last.Beaten != c.want || last.Made != c.made || c.made != (last.Ours[1] > 0 && last.Theirs[1] > 0) {
				t.Errorf("made %d keys, %+v", keys, last)
			}
		})
	}
}

// TestOnce makes the first key in many places at once.
func TestOnce(t *testing.T) {
	choice := Choice{Ours: slower(aead.NewChaCha20Poly1305)}
	var made, found atomic.Int32
	var wait sync.WaitGroup
	for range 4 * runtime.GOMAXPROCS(0) {
		wait.Add(1)
		go func() {
			defer wait.Done()
			if choice.Theirs(kernel.Portable, func(key []byte) (cipher.AEAD, error) {
				made.Add(1)
				return aead.NewChaCha20Poly1305(kernel.Portable, key)
			}) {
				found.Add(1)
			}
		}()
	}
	wait.Wait()
	if n := found.Load(); made.Load() != 1 || n != 0 && n != int32(4*runtime.GOMAXPROCS(0)) {
		t.Errorf("compared %d times; %d of all use theirs", made.Load(), n)
	}
}

// TestEnvironment: who names a level gets it, whatever it costs.
func TestEnvironment(t *testing.T) {
	if os.Getenv("SEALANE_TEST_RIVAL") != "" {
		choice := Choice{Ours: slower(aead.NewChaCha20Poly1305)}
		theirs := choice.Theirs(kernel.Portable, func(key []byte) (cipher.AEAD, error) { return aead.NewChaCha20Poly1305(kernel.Portable, key) })
		t.Logf("theirs: %v, compared: %v", theirs, choice.Last().Made)
		return
	}
	needClock(t)
	for environ, want := range map[string]string{
		"SEALANE_CPU=": "theirs: true, compared: true", "SEALANE_CPU=portable": "theirs: false, compared: false",
		"SEALANE_ASM=0": "theirs: false, compared: false", "SEALANE_ASM=1": "theirs: true, compared: true",
	} {
		command := append(strings.Fields(os.Getenv("SEALANE_TEST_EXEC")), os.Args[0], "-test.run=^TestEnvironment$", "-test.v") // what go test -exec was given
		cmd := exec.Command(command[0], command[1:]...)
		cmd.Env = append(os.Environ(), "SEALANE_TEST_RIVAL=1", "GORACE=atexit_sleep_ms=0", "SEALANE_CPU=", "SEALANE_ASM=", environ)
		if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), want) {
			t.Errorf("%s: %v, want %q in\n%s", environ, err, want, out)
		}
	}
}

// TestNoAllocations: a key after the first costs nothing more.
func TestNoAllocations(t *testing.T) {
	choice := Choice{Ours: aead.NewChaCha20Poly1305}
	their := func(key []byte) (cipher.AEAD, error) { return aead.NewChaCha20Poly1305(kernel.Portable, key) }
	choice.Theirs(kernel.Portable, their)
	if n := testing.AllocsPerRun(100, func() { choice.Theirs(kernel.Portable, their) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
