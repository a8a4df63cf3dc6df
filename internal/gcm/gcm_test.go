package gcm

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"math/rand/v2"
	"os"
	"runtime"
	"sync/atomic"
	"testing"
	"unsafe"

	"github.com/sealane/sealane/internal/kernel"
	"github.com/sealane/sealane/internal/randomseed"
)

// seal and open are the standard library's functions of that name after the change.
func seal(k *Key, out, nonce, text, data []byte, tagBytes int) {
	var tag [tagSize]byte
	run(k, out, nonce, text, data, &tag, Sealing)
	copy(out[len(text):len(text)+tagBytes], tag[:])
}

func open(k *Key, out, nonce, ciphertext, tag, data []byte) bool {
	var want [tagSize]byte
	run(k, out, nonce, ciphertext, data, &want, Opening)
	return Same(&want, tag)
}

func run(k *Key, out, nonce, in, data []byte, tag *[tagSize]byte, flags uint64) {
	var args Args
	args.Key = k.Pointer()
	args.Out, args.In = unsafe.Pointer(unsafe.SliceData(out)), unsafe.Pointer(unsafe.SliceData(in))
	args.Bytes, args.Total = uint64(len(in)), uint64(len(in))
	args.AD, args.ADBytes = unsafe.Pointer(unsafe.SliceData(data)), uint64(len(data))
	args.Nonce, args.Tag, args.Flags = unsafe.Pointer(unsafe.SliceData(nonce)), unsafe.Pointer(tag), flags
	k.Run(&args, len(nonce))
}

// TestPeer compares every level with the standard library: keys, nonces, tags and texts of all sorts of lengths, in place
// and apart; and forgeries.
func TestPeer(t *testing.T) {
	seed := randomseed.Of()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	random := func(n int) []byte {
		b := make([]byte, n)
		for i := range b {
			b[i] = byte(r.Uint32())
		}
		return b
	}
	for _, row := range kernel.AESGCMLevels.Rows {
		t.Run(row.Name, func(t *testing.T) {
			if lacks := row.Lacks(); lacks != nil {
				t.Skipf("NOT RUN: needs %v, which this CPU lacks", lacks)
			}
			for i, n := range []int{0, 1, 15, 16, 17, 63, 64, 255, 1420, 4095, 4096, 4097, 8192, 16384, 65535, 65536, 65537, 131072, 140000} {
				for j, nonceBytes := range []int{12, 12, 1, 16, 113, 200} {
					raw := random(16 + 8*((i+j)%3))
					tagBytes := 16
					if j == 1 {
						tagBytes = 12 + i%5
					}
					block, err := aes.NewCipher(raw)
					if err != nil {
						t.Fatal(err)
					}
					peer, err := cipher.NewGCMWithNonceSize(block, nonceBytes)
					if nonceBytes == 12 {
						peer, err = cipher.NewGCMWithTagSize(block, tagBytes)
					}
					if err != nil {
						t.Fatal(err)
					}
					k := Key{level: kernel.Level(row.Level)}
					kernel.AESGCMSetup(k.level, &k.key, raw)
					moved := k // a key may be copied
					nonce, text, data := random(nonceBytes), random(n), random(r.IntN(40))
					// Go 1.26 writes 16 bytes of tag, even if the tag is shorter.
					want := peer.Seal(make([]byte, 0, n+16), nonce, text, data)
					out := make([]byte, n+tagBytes)
					if j%2 == 0 {
						copy(out, text)
						seal(&k, out, nonce, out[:n], data, tagBytes)
					} else {
						seal(&moved, out, nonce, text, data, tagBytes)
					}
					if !bytes.Equal(out, want) {
						t.Fatalf("%d bytes, nonce of %d, tag of %d: sealed wrongly", n, nonceBytes, tagBytes)
					}
					opened := make([]byte, n)
					if !open(&moved, opened, nonce, want[:n], want[n:], data) || !bytes.Equal(opened, text) {
						t.Fatalf("%d bytes, nonce of %d, tag of %d: opened wrongly", n, nonceBytes, tagBytes)
					}
					want[r.IntN(len(want))] ^= 1 << r.IntN(8)
					if open(&k, opened, nonce, want[:n], want[n:], data) {
						t.Fatalf("%d bytes, nonce of %d, tag of %d: a forgery is opened", n, nonceBytes, tagBytes)
					}
				}
			}
		})
	}
}

// TestLongData seals with much associated data, as TestPreempted of package aead does. Another goroutine must
// run in the meantime.
func TestLongData(t *testing.T) {
	var k Key
	if testing.Short() || raceEnabled || unsafe.Sizeof(uintptr(0)) < 8 || os.Getenv("SEALANE_TEST_EXEC") != "" || !k.Init(make([]byte, 16)) {
		t.Skip("NOT RUN: needs a kernel on a real CPU of 64 bits")
	}
	b, err := aes.NewCipher(make([]byte, 16))
	if err != nil {
		t.Fatal(err)
	}
	peer, err := cipher.NewGCM(b)
	if err != nil {
		t.Fatal(err)
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	var turns, stop atomic.Int64
	go func() {
		for stop.Load() == 0 {
			turns.Add(1)
			runtime.Gosched()
		}
	}()
	defer stop.Store(1)
	data, nonce, text := make([]byte, 1<<28), make([]byte, nonceSize), make([]byte, 100)
	out := make([]byte, len(text)+tagSize)
	runtime.Gosched()
	before := turns.Load()
	seal(&k, out, nonce, text, data, tagSize)
	if turns.Load() == before {
		t.Error("no other goroutine ran while the data was authenticated")
	}
	for _, n := range []int{4096, 4097, 65536, 65537, 65551} {
		seal(&k, out, nonce, text, data[:n], tagSize)
		if !bytes.Equal(out, peer.Seal(nil, nonce, text, data[:n])) {
			t.Errorf("%d bytes of associated data: sealed wrongly", n)
		}
	}
}

// TestInit sets a key for the level of this process, and never for portable code, because the standard library's own is
// faster.
func TestInit(t *testing.T) {
	var k Key
	level, _ := kernel.AESGCMLevels.Choose()
	if want := kernel.Level(level) != kernel.Portable; k.Init(make([]byte, 16)) != want || k.Ready() != want {
		t.Fatalf("level %q, ready: %v", kernel.AESGCMLevels.Name(level), k.Ready())
	}
	if !k.Ready() {
		if k != (Key{}) {
			t.Error("the key was written")
		}
		return
	}
	if k.Level() != kernel.AESGCMLevels.Name(level) {
		t.Errorf("level %q", k.Level())
	}
	if raceEnabled { // the race detector allocates
		return
	}
	if n := testing.AllocsPerRun(100, func() {
		var out [80]byte
		seal(&k, out[:], out[:12], out[:64], nil, 16)
		open(&k, out[:64], out[:12], out[:64], out[64:], nil)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
