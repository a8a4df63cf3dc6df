//go:build !race

package kernel

import (
	"crypto/aes"
	"encoding/binary"
	"math/bits"
	"runtime"
	"runtime/debug"
	"testing"
	"unsafe"
)

const (
	deadBytes  = 10 << 10      // a kernel's frame, and more
	scrubBytes = 3 * deadBytes // those bytes and leftAfter's frame
)

// leftBehind runs kernel and counts the 4-byte words of secret that its frame leaves on the stack.
func leftBehind[A any](kernel func(*A), a *A, secret map[uint32]bool) int {
	scrub()
	return leftAfter(kernel, a, secret)
}

// leftAfter has its own frame, which scrub has cleared, because some of its slots are never written.
//
//go:noinline
func leftAfter[A any](kernel func(*A), a *A, secret map[uint32]bool) (count int) {
	var dead [deadBytes]byte
	kernel(a)
	copyDead(&dead)
	for i := 0; i < deadBytes; i += 4 {
		if secret[binary.LittleEndian.Uint32(dead[i:])] {
			count++
		}
	}
	return count
}

// each returns the minimum of a few counts: a kernel leaves the same words each time. If a signal preempts the test
// before the stack is copied, it stores registers there, which no kernel clears.
func each(count func() int) int {
	least := count()
	for i := 0; i < 4 && least > 0; i++ {
		least = min(least, count())
	}
	return least
}

// scrub clears data of earlier calls, such as portable code, from the future frames of leftAfter and the kernel.
//
//go:noinline
func scrub() {
	var frame [scrubBytes]byte
	clearAll(&frame)
}

// clearAll must be a call, because the compiler would omit writes to a frame that does not escape.
//
//go:noinline
func clearAll(frame *[scrubBytes]byte) { clear(frame[:]) }

// copyDead copies the stack below dead, a variable of its caller: the bytes that the last callee left.
//
//go:noinline
//go:nosplit
func copyDead(dead *[deadBytes]byte) {
	for i := 0; i < deadBytes; i += 8 {
		*(*uint64)(unsafe.Pointer(&dead[i])) = *(*uint64)(unsafe.Add(unsafe.Pointer(dead), i-deadBytes))
	}
}

// leaks runs packets of many lengths, and returns how many secret words remain: of the key, the keystream including the
// one-time key, and the plaintext.
func leaks(c *primitive, kernel func(*PacketArgs)) (count int) {
	r := newRand()
	for _, n := range []int{0, 1, 16, 64, 65, 128, 200, 256, 300, 512, 576, 1000, 1024, 1420, 1536, 2048, 3000} {
		p := c.newPacket(r, n, 40)
		secret := make(map[uint32]bool)
		p.addSecrets(secret)
		count += each(func() int { return p.leaks(kernel, secret) })
	}
	return count
}

// leaks sets up p's key, and runs p whole and as a first part.
func (p *packet) leaks(kernel func(*PacketArgs), secret map[uint32]bool) (count int) {
	var key GCMKey
	p.setup(func(a *PacketArgs) { count += leftBehind(kernel, a, secret) }, unsafe.Pointer(&key))
	for _, flags := range []uint64{p.flags() | FlagLast, p.flags()} {
		var tag [16]byte
		var state State
		out, bytes := make([]byte, len(p.text)), uint64(len(p.text))
		if flags&FlagLast == 0 {
			bytes &^= 63
		}
		count += leftBehind(kernel, &PacketArgs{
			Out: unsafe.Pointer(unsafe.SliceData(out)), In: unsafe.Pointer(unsafe.SliceData(p.text)), Bytes: bytes,
			AD: unsafe.Pointer(&p.ad[0]), ADBytes: 40, Key: unsafe.Pointer(&key), Nonce: unsafe.Pointer(&p.nonce),
			Tag: unsafe.Pointer(&tag), State: &state, Total: bytes, Flags: flags,
		}, secret)
	}
	return count
}

// addSecrets adds the words of the packet's key, the keystream including the one-time key, and the plaintext.
func (p *packet) addSecrets(secret map[uint32]bool) {
	zeroes := *p
	zeroes.text, zeroes.ad = make([]byte, len(p.text)), nil
	stream, _ := zeroes.want()
	if p.of.gcm {
		p.addAESSecrets(secret, stream)
		return
	}
	var first [64]byte
	var c chaCha20
	var last [16]byte
	copy(last[4:], p.nonce[:])
	c.init(&p.key, &last)
	c.xor(first[:], first[:])
	for _, b := range [][]byte{p.key[:], first[:], stream, p.text} {
		for ; len(b) >= 4; b = b[4:] {
			secret[binary.LittleEndian.Uint32(b)] = true
		}
	}
	r0, r2 := binary.LittleEndian.Uint32(first[0:]), binary.LittleEndian.Uint32(first[8:])
	secret[r0&0x0fffffff], secret[r2&0x0ffffffc] = true, true
}

// addAESSecrets adds the words of the round keys, the hash key, the encrypted J0, the keystream and the plaintext, in
// both byte orders.
func (p *packet) addAESSecrets(secret map[uint32]bool, stream []byte) {
	var w [4 * (aesRounds + 1)]uint32
	aesExpand(&w, p.key[:], p.rounds)
	add := func(x uint32) { secret[x], secret[bits.ReverseBytes32(x)] = true, true }
	for _, x := range w[:4*p.rounds+4] {
		add(x)
	}
	block, err := aes.NewCipher(p.key[:4*p.rounds-24])
	if err != nil {
		panic(err)
	}
	var h, mask [16]byte
	block.Encrypt(h[:], h[:])
	copy(mask[:], p.nonce[:])
	if !p.j0 {
		binary.BigEndian.PutUint32(mask[12:], 1)
	}
	block.Encrypt(mask[:], mask[:])
	for _, b := range [][]byte{h[:], mask[:], stream, p.text} {
		for ; len(b) >= 4; b = b[4:] {
			add(binary.LittleEndian.Uint32(b))
		}
	}
}

// batchLeaks is leaks for batch kernels.
func batchLeaks(c *primitive, level Level, kernel func(*BatchArgs)) (count int) {
	r := newRand()
	for _, n := range []int{0, 1, 16, 64, 65, 128, 200, 256, 300, 576, 1000} {
		secret := make(map[uint32]bool)
		lanes, tags, keys := make([]Lane, 21), make([][16]byte, 21), make([]GCMKey, 21)
		for i := range lanes {
			p := c.newPacket(r, n-n*i/50, 13*(i/4))
			p.j0 = false
			p.addSecrets(secret)
			p.setup(c.atLevel(level), unsafe.Pointer(&keys[i]))
			out := make([]byte, len(p.text))
			l := Lane{
				Out: unsafe.Pointer(unsafe.SliceData(out)), In: unsafe.Pointer(unsafe.SliceData(p.text)), Bytes: uint64(len(out)),
				AD: unsafe.Pointer(unsafe.SliceData(p.ad)), ADBytes: uint64(len(p.ad)), Key: unsafe.Pointer(&keys[i]), Nonce: unsafe.Pointer(&p.nonce),
			}
			l.Tag[0] = unsafe.Pointer(&tags[i])
			lanes[i] = l
		}
		a := Batch(lanes, 0)
		count += each(func() int { return leftBehind(kernel, &a, secret) })
	}
	return count
}

func TestBatchWipe(t *testing.T) {
	forEachBatch(t, func(t *testing.T, level Level) {
		if n := withoutCollector(func() int { return batchLeaks(ofChaCha20, level, batchAtLevel(t, level)) }); n > chance {
			t.Errorf("%d secret words are left on the stack", n)
		}
	})
	if n := batchLeaks(ofChaCha20, Portable, func(a *BatchArgs) { leave((*[32]byte)(a.lanes()[7].Key)[8:16]) }); n <= chance {
		t.Error("a key that is left on the stack is not found")
	}
}

// A random word equals a secret word with a probability of 2^-32 for each of them.
const chance = 1

// withoutCollector runs a count without the garbage collector, which shrinks stacks: the kernel's stack would grow
// again, into memory that was not scrubbed.
func withoutCollector(count func() int) int {
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	runtime.GC() // waits for one in progress
	return count()
}

func TestWipe(t *testing.T) {
	forEach(t, func(t *testing.T, c *primitive, level Level) {
		if level == Portable {
			t.Skip("NOT RUN: the compiler's spill slots are not wiped in portable Go")
		}
		if n := withoutCollector(func() int { return leaks(c, c.atLevel(level)) }); n > chance {
			t.Errorf("%d secret words are left on the stack", n)
		}
	})
}

// TestWipeFaults leaves secrets behind on purpose.
func TestWipeFaults(t *testing.T) {
	for _, f := range []struct {
		name  string
		of    *primitive
		leave func(a *PacketArgs)
	}{
		{"key", ofChaCha20, func(a *PacketArgs) { leave((*[32]byte)(a.Key)[8:16]) }},
		{"text", ofChaCha20, func(a *PacketArgs) { leave((*[64]byte)(a.In)[:min(4, a.Bytes)]) }},
		{"raw key", ofAESGCM, func(a *PacketArgs) {
			if a.Flags&FlagSetup != 0 {
				leave((*GCMKey)(a.Key).Schedule[8:16])
			}
		}},
		{"text", ofAESGCM, func(a *PacketArgs) {
			if a.Bytes >= 4 {
				leave((*[4]byte)(a.In)[:])
			}
		}},
	} {
		if n := leaks(f.of, f.leave); n <= chance {
			t.Errorf("%s: a %s that is left on the stack is not found", f.of.table.Primitive, f.name)
		}
	}
}

// leave copies secret to its frame.
//
//go:noinline
func leave(secret []byte) byte {
	var frame [512]byte
	copy(frame[:], secret)
	return frame[len(secret)]
}
