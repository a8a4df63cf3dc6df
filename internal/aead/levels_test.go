package aead

import (
	"crypto/aes"
	"crypto/cipher"
	"encoding/binary"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/sealane/sealane/internal/dispatch"
	"github.com/sealane/sealane/internal/kernel"
	"github.com/sealane/sealane/internal/randomseed"
	"github.com/sealane/sealane/internal/rfc8439"
)

var (
	long = flag.Duration("long", 0, "how long to stress each level")
	seed = flag.Uint64("seed", randomseed.Of(), "of the random cases")
)

func TestMain(m *testing.M) {
	flag.Parse()
	fmt.Printf("seed %d\n", *seed)
	os.Exit(m.Run())
}

func newRand() *rand.Rand { return rand.New(rand.NewPCG(*seed, 0)) }

func random(r *rand.Rand, n int) []byte {
	b := make([]byte, (n+7)&^7)
	for i := 0; i < n; i += 8 {
		binary.LittleEndian.PutUint64(b[i:], r.Uint64())
	}
	return b[:n:n]
}

// A variant is one of our ciphers with a reference: package rfc8439, which replaces x/crypto, or the standard library.
type variant struct {
	name                        string
	table                       *dispatch.Table
	keySize, nonceSize, tagSize int
	maxText                     uint64
	errOpen                     error
	ours                        func(level kernel.Level, key []byte) (cipher.AEAD, error)
	peer                        func(key []byte) (cipher.AEAD, error)
}

var variants = []variant{
	{"ChaCha20", &kernel.ChaCha20Poly1305Levels, keySize, nonceSize, tagSize, maxText, errOpen, NewChaCha20Poly1305, rfc8439.New},
	{"XChaCha20", &kernel.ChaCha20Poly1305Levels, keySize, nonceSizeX, tagSize, maxText, errOpen, NewXChaCha20Poly1305, rfc8439.NewX},
	gcmVariant("AES128GCM", 16, 12, 16),
	gcmVariant("AES192GCM", 24, 12, 16),
	gcmVariant("AES256GCM", 32, 12, 16),
	gcmVariant("AES128GCMNonce1", 16, 1, 16),
	gcmVariant("AES256GCMNonce16", 32, 16, 16),
	gcmVariant("AES192GCMTag12", 24, 12, 12),
	gcmVariant("AES256GCMNonce100", 32, 100, 16),
	gcmVariant("AES128GCMNonce113", 16, 113, 16),
	gcmVariant("AES128GCMTag15", 16, 12, 15),
}

// usual reports whether the variant has the usual nonce and tag sizes. The others need no long texts of their own.
func (v *variant) usual() bool {
	return (v.nonceSize == nonceSize || v.nonceSize == nonceSizeX) && v.tagSize == tagSize
}

func gcmVariant(name string, keySize, nonceSize, tagSize int) variant {
	return variant{
		name, &kernel.AESGCMLevels, keySize, nonceSize, tagSize, gcmMaxText, errGCMOpen,
		func(level kernel.Level, key []byte) (cipher.AEAD, error) {
			return NewAESGCM(level, key, nonceSize, tagSize)
		},
		func(key []byte) (cipher.AEAD, error) {
			block, err := aes.NewCipher(key)
			if err != nil {
				return nil, err
			}
			if tagSize != 16 {
				return cipher.NewGCMWithTagSize(block, tagSize)
			}
			return cipher.NewGCMWithNonceSize(block, nonceSize)
		},
	}
}

// forEach runs f for every variant and level, and skips levels that the CPU lacks.
func forEach(t *testing.T, f func(t *testing.T, v variant, level kernel.Level)) {
	for _, v := range variants {
		for _, row := range v.table.Rows {
			t.Run(v.name+"/"+row.Name, func(t *testing.T) {
				skipUnsupported(t, row)
				f(t, v, kernel.Level(row.Level))
			})
		}
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

// panics returns the panic message of f, or "".
func panics(f func()) (message string) {
	defer func() {
		if r := recover(); r != nil {
			message = fmt.Sprint(r)
		}
	}()
	f()
	return ""
}
