package aead

import (
	"bytes"
	"math/rand/v2"
	"os"
	"runtime"
	"sync/atomic"
	"testing"
	"unsafe"

	"github.com/sealane/sealane/internal/kernel"
	"github.com/sealane/sealane/internal/packet"
)

// inOneCall seals with one call of the portable kernel, whatever the length.
func inOneCall(v variant, key, nonce, text, ad []byte) []byte {
	out := make([]byte, len(text)+tagSize)
	a := kernel.PacketArgs{
		Out: unsafe.Pointer(&out[0]), In: unsafe.Pointer(unsafe.SliceData(text)), Bytes: uint64(len(text)),
		AD: unsafe.Pointer(&ad[0]), ADBytes: uint64(len(ad)), Key: unsafe.Pointer(&key[0]), Nonce: unsafe.Pointer(&nonce[0]),
		Tag: unsafe.Pointer(&out[len(text)]), Total: uint64(len(text)), Flags: kernel.FlagFirst | kernel.FlagLast,
	}
	if v.table == &kernel.ChaCha20Poly1305Levels {
		var o oneTime
		if v.nonceSize == nonceSizeX {
			o.derive((*[keySize]byte)(key), (*[nonceSizeX]byte)(nonce))
			a.Key, a.Nonce = unsafe.Pointer(&o.key), unsafe.Pointer(&o.nonce)
		}
		kernel.ChaCha20Poly1305(kernel.Portable, &a)
		return out
	}
	var k kernel.GCMKey
	kernel.AESGCMSetup(kernel.Portable, &k, key)
	a.Key = unsafe.Pointer(&k)
	if v.nonceSize == gcmNonceSize {
		a.Flags |= kernel.FlagNonce
	} else {
		var j0 [16]byte
		kernel.AESGCMNonce(kernel.Portable, &k, &j0, nonce)
		a.Nonce = unsafe.Pointer(&j0)
	}
	kernel.AESGCM(kernel.Portable, &a)
	return append(out[:len(text):len(text)], out[len(text):len(text)+v.tagSize]...)
}

// TestLongAD uses associated data that is processed in parts, with long and short texts.
func TestLongAD(t *testing.T) {
	const part = packet.PartBytes
	lengths := []int{part - 1, part, part + 1, part + 15, part + 16, part + 63, part + 64, part + 65, part + 4095, part + 4096, part + 4097, part + 8200, 3*part + 77}
	texts := []int{0, 100, part + 77}
	if raceEnabled || testing.Short() {
		lengths, texts = []int{part + 1, part + 4096 + 79}, []int{100, part + 77}
	}
	forEach(t, func(t *testing.T, v variant, level kernel.Level) {
		r := newRand()
		lengths := lengths
		if !v.usual() {
			lengths = []int{part + 1, part + 4096 + 79}
		}
		for i, adBytes := range lengths {
			checkOneCall(t, r, v, level, v.nonceSize, texts[i%len(texts)], adBytes)
		}
	})
}

// TestLongNonce uses nonces that are processed in parts, which only AES-GCM accepts.
func TestLongNonce(t *testing.T) {
	const part = packet.PartBytes
	for _, nonceBytes := range []int{part - 1, part, part + 1, part + 16, part + 64, part + 79, part + 4096, 2*part + 5001} {
		v := gcmVariant("AES128GCM", 16, nonceBytes, 16)
		for _, row := range v.table.Rows {
			t.Run(row.Name, func(t *testing.T) {
				skipUnsupported(t, row)
				checkOneCall(t, newRand(), v, kernel.Level(row.Level), nonceBytes, 100, 13)
			})
		}
	}
}

func checkOneCall(t *testing.T, r *rand.Rand, v variant, level kernel.Level, nonceBytes, n, adBytes int) {
	t.Helper()
	key, nonce, text, ad := random(r, v.keySize), random(r, nonceBytes), random(r, n), random(r, adBytes)
	a, err := v.ours(level, key)
	a = must(t, a, err)
	want := inOneCall(v, key, nonce, text, ad)
	got := a.Seal(nil, nonce, text, ad)
	if !bytes.Equal(got, want) {
		t.Fatalf("%d bytes of text, %d of associated data, a nonce of %d: sealed differently than in one call", n, adBytes, nonceBytes)
	}
	if opened, err := a.Open(nil, nonce, got, ad); err != nil || !bytes.Equal(opened, text) {
		t.Fatalf("%d bytes of text, %d of associated data: %v", n, adBytes, err)
	}
	ad[len(ad)-1] ^= 1
	if _, err := a.Open(nil, nonce, got, ad); err != v.errOpen {
		t.Fatalf("%d bytes of text, %d of associated data: the last byte of it is not authentic: %v", n, adBytes, err)
	}
}

// TestPreempted uses one processor, a gigabyte of associated data, and a goroutine that counts, which must run in the
// meantime. In the planted fault, one kernel call gets all of the data, and the goroutine does not run.
func TestPreempted(t *testing.T) {
	if testing.Short() || raceEnabled || runtime.GOOS != "linux" || unsafe.Sizeof(uintptr(0)) < 8 || os.Getenv("SEALANE_TEST_EXEC") != "" {
		t.Skip("NOT RUN: needs Linux on a real CPU of 64 bits")
	}
	ad := zeroes(t, 1<<30)
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	var turns, stop atomic.Int64
	go func() {
		for stop.Load() == 0 {
			turns.Add(1)
			runtime.Gosched()
		}
	}()
	defer stop.Store(1)
	for i := range variants {
		v := &variants[i]
		level, ok := v.table.Choose()
		if !ok || !v.usual() || kernel.Level(level) == kernel.Portable { // Go code can be preempted anywhere
			continue
		}
		a, err := v.ours(kernel.Level(level), make([]byte, v.keySize))
		a = must(t, a, err)
		nonce, buf := make([]byte, v.nonceSize), make([]byte, 64)
		runtime.Gosched()
		before := turns.Load()
		a.Seal(buf[:0], nonce, nil, ad)
		if turns.Load() == before {
			t.Errorf("%s: no other goroutine ran while a gigabyte was authenticated", v.name)
		}
	}
	level, _ := kernel.ChaCha20Poly1305Levels.Choose()
	if level == uint8(kernel.Portable) {
		return
	}
	var key [keySize]byte
	var tag [tagSize]byte
	args := kernel.PacketArgs{
		AD: unsafe.Pointer(&ad[0]), ADBytes: uint64(len(ad)), Key: unsafe.Pointer(&key), Nonce: unsafe.Pointer(&key), Tag: unsafe.Pointer(&tag),
		Flags: kernel.FlagFirst | kernel.FlagLast,
	}
	// Go's code around a call can be preempted, which happens on a busy machine.
	for range 20 {
		runtime.Gosched()
		before := turns.Load()
		kernel.ChaCha20Poly1305(kernel.Level(level), &args)
		if turns.Load() == before {
			return
		}
	}
	t.Error("others ran during each of 20 calls of a kernel: the test proves nothing")
}
