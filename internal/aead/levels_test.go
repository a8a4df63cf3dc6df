package aead

import (
	"crypto/cipher"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/chacha20poly1305"

	"github.com/sealane/sealane/internal/dispatch"
	"github.com/sealane/sealane/internal/kernel"
)

var (
	long = flag.Bool("long", false, "run stress and random tests for longer")
	seed = flag.Uint64("seed", uint64(time.Now().UnixNano()), "of the random cases")
)

func TestMain(m *testing.M) {
	flag.Parse()
	fmt.Printf("seed %d\n", *seed)
	os.Exit(m.Run())
}

func newRand() *rand.Rand { return rand.New(rand.NewPCG(*seed, 0)) }

func random(r *rand.Rand, n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return b
}

// A variant is one of the two ciphers, ours and x/crypto's.
type variant struct {
	name      string
	nonceSize int
	ours      func(level kernel.Level, key []byte) (cipher.AEAD, error)
	peer      func(key []byte) (cipher.AEAD, error)
}

var variants = []variant{
	{"ChaCha20", nonceSize, NewChaCha20Poly1305, chacha20poly1305.New},
	{"XChaCha20", nonceSizeX, NewXChaCha20Poly1305, chacha20poly1305.NewX},
}

// forEach runs f for every level and variant. Levels that the CPU lacks are skipped by name.
func forEach(t *testing.T, f func(t *testing.T, v variant, level kernel.Level)) {
	for _, row := range kernel.ChaCha20Poly1305Levels.Rows {
		t.Run(row.Name, func(t *testing.T) {
			skipUnsupported(t, row)
			for _, v := range variants {
				t.Run(v.name, func(t *testing.T) { f(t, v, kernel.Level(row.Level)) })
			}
		})
	}
}

func skipUnsupported(t testing.TB, row dispatch.Row) {
	if lacks := row.Lacks(); lacks != nil {
		t.Skipf("NOT RUN: level %s needs %s, which this CPU lacks", row.Name, strings.Join(lacks, " "))
	}
}

func must(t testing.TB, a cipher.AEAD, err error) cipher.AEAD {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// panics returns what f panics with, or "".
func panics(f func()) (message string) {
	defer func() {
		if r := recover(); r != nil {
			message = fmt.Sprint(r)
		}
	}()
	f()
	return ""
}
