package afalg

import (
	"crypto/cipher"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"github.com/sealane/sealane/internal/alias"
	"github.com/sealane/sealane/internal/inprocess"
)

// poolSize is the number of packets of a key that the kernel processes at a time. Each takes a file descriptor from its
// first use on. Further packets are processed in the process.
const poolSize = 8

// AEAD is a key in the Linux kernel. It is safe for concurrent use. Seal and Open do not allocate if dst has enough
// capacity and the associated data is no longer than in earlier packets.
type AEAD struct {
	algorithm Algorithm
	inProcess cipher.AEAD
	done      atomic.Uint64 // packets processed in the process
	automatic bool          // counted in automaticKeys

	transform struct {
		sync.Mutex     // held during accept and close, not during a packet
		fd         int // -1 once closed
	}
	closed atomic.Bool
	spare  [poolSize]atomic.Pointer[operation]
	open   atomic.Int32 // number of existing operations
}

// New gives the kernel a copy of the key: 32 bytes for ChaCha20Poly1305, or 16, 24 or 32 bytes for AESGCM. The first
// call for an algorithm runs its known-answer tests.
//
// An AEAD takes one file descriptor, and up to eight more for packets in progress at the same time. Close releases
// them, and so does the garbage collector. The process also keeps the key, for packets that the kernel cannot process.
// Errors wrap [ErrUnsupported], [ErrKnownAnswer] or [ErrKeySize], or come from the kernel.
func New(algorithm Algorithm, key []byte) (*AEAD, error) {
	inProcess, err := inProcessOf(algorithm, key)
	if err != nil {
		return nil, err
	}
	if s := supportOf(algorithm); s.err != nil {
		return nil, s.err
	}
	return newAEAD(algorithm, key, inProcess)
}

// inProcessOf returns the in-process cipher for packets that the kernel cannot process.
func inProcessOf(algorithm Algorithm, key []byte) (cipher.AEAD, error) {
	switch {
	case algorithm == ChaCha20Poly1305 && len(key) == 32:
		return inprocess.ChaCha20Poly1305(key)
	case algorithm == AESGCM && (len(key) == 16 || len(key) == 24 || len(key) == 32):
		return inprocess.AESGCM(key)
	case algorithm == ChaCha20Poly1305 || algorithm == AESGCM:
		return nil, fmt.Errorf("%w: %d bytes for %s", ErrKeySize, len(key), algorithm)
	}
	return nil, fmt.Errorf("%w: %q", ErrUnsupported, string(algorithm))
}

func newAEAD(algorithm Algorithm, key []byte, inProcess cipher.AEAD) (*AEAD, error) {
	fd, err := newTransform(algorithm, key)
	if err != nil {
		return nil, fmt.Errorf("afalg: %s: %w", algorithm, err)
	}
	a := &AEAD{algorithm: algorithm, inProcess: inProcess}
	a.transform.fd = fd
	runtime.SetFinalizer(a, func(a *AEAD) { _ = a.Close() })
	return a, nil
}

// NonceSize returns 12.
func (a *AEAD) NonceSize() int { return nonceSize }

// Overhead returns 16.
func (a *AEAD) Overhead() int { return tagSize }

// Driver returns the name of the kernel's implementation in /proc/crypto, as of the first use of the algorithm.
func (a *AEAD) Driver() string { return supportOf(a.algorithm).Driver }

// Implementation returns "af_alg" and the driver; [github.com/sealane/sealane.Implementation] calls it.
func (a *AEAD) Implementation() string { return "af_alg " + a.Driver() }

// InProcess returns the number of packets that were processed in the process and not by the kernel.
func (a *AEAD) InProcess() uint64 { return a.done.Load() }

// Close releases the file descriptors, and the kernel wipes its copy of the key. Packets in progress are completed.
// Seal and Open continue to work, in the process. Closing again does nothing.
func (a *AEAD) Close() error {
	if a.closed.Swap(true) {
		return nil
	}
	runtime.SetFinalizer(a, nil)
	if a.automatic {
		automaticKeys.Add(-1)
	}
	a.transform.Lock()
	defer a.transform.Unlock()
	fd := a.transform.fd
	a.transform.fd = -1
	for i := range a.spare {
		if o := a.spare[i].Swap(nil); o != nil {
			o.close()
		}
	}
	return unix.Close(fd)
}

// take returns an unused operation, or nil if there is none.
func (a *AEAD) take() *operation {
	if a.closed.Load() {
		return nil
	}
	for i := range a.spare {
		if a.spare[i].Load() != nil {
			if o := a.spare[i].Swap(nil); o != nil {
				return o
			}
		}
	}
	if a.open.Add(1) > poolSize {
		a.open.Add(-1)
		return nil
	}
	a.transform.Lock()
	defer a.transform.Unlock()
	if a.transform.fd >= 0 {
		if o, err := newOperation(a.transform.fd); err == nil {
			return o
		}
	}
	a.open.Add(-1)
	return nil
}

// give returns an operation to the pool. After an error other than a wrong tag, it closes the operation.
func (a *AEAD) give(o *operation, err error) {
	if err == nil || errors.Is(err, unix.EBADMSG) {
		for i := range a.spare {
			if a.spare[i].CompareAndSwap(nil, o) {
				// Close may already have checked this slot.
				if !a.closed.Load() || !a.spare[i].CompareAndSwap(o, nil) {
					return
				}
				break
			}
		}
	}
	o.close()
	a.open.Add(-1)
}

// Seal implements [cipher.AEAD]. It panics if the nonce is not 12 bytes, or if the plaintext is too long for the
// algorithm. It also panics if the output overlaps the additional data, or overlaps the plaintext without starting at
// the same byte.
func (a *AEAD) Seal(dst, nonce, plaintext, additionalData []byte) []byte {
	total := len(plaintext) + tagSize
	if o := a.takeFor(dst, nonce, plaintext, additionalData, total); o != nil {
		all, out := extend(dst, total)
		err := o.do(unix.ALG_OP_ENCRYPT, out, nonce, plaintext, additionalData)
		a.give(o, err)
		if err == nil {
			runtime.KeepAlive(a)
			return all
		}
	}
	a.done.Add(1)
	return a.inProcess.Seal(dst, nonce, plaintext, additionalData)
}

// Open implements [cipher.AEAD], with the panics of Seal. If it fails, the bytes that the plaintext would have filled
// are zero.
func (a *AEAD) Open(dst, nonce, ciphertext, additionalData []byte) ([]byte, error) {
	total := len(ciphertext) - tagSize
	if total >= 0 {
		if o := a.takeFor(dst, nonce, ciphertext, additionalData, total); o != nil {
			all, out := extend(dst, total)
			err := o.do(unix.ALG_OP_DECRYPT, out, nonce, ciphertext, additionalData)
			a.give(o, err)
			runtime.KeepAlive(a)
			if err == nil {
				return all, nil
			}
			if errors.Is(err, unix.EBADMSG) {
				clear(out)
				return nil, errOpen
			}
		}
	}
	a.done.Add(1)
	opened, err := a.inProcess.Open(dst, nonce, ciphertext, additionalData)
	if err != nil {
		return nil, errOpen
	}
	return opened, nil
}

// takeFor returns an operation for a packet, or nil if the process must handle it. That is so if the packet is
// too long, or if its arguments are wrong and the in-process cipher will panic.
func (a *AEAD) takeFor(dst, nonce, input, ad []byte, total int) *operation {
	if len(nonce) != nonceSize || len(ad)+max(len(input), total) > MaxPacket {
		return nil
	}
	if room := cap(dst) - len(dst); room >= total && total > 0 {
		out := dst[len(dst) : len(dst)+total]
		if alias.Overlap(out, ad) || alias.Inexact(out, input) {
			return nil
		}
	}
	return a.take()
}

// do calls run. In place, the output goes to a separate buffer first, so that the input survives a failure.
func (o *operation) do(direction uint32, output, nonce, input, ad []byte) error {
	if !alias.Overlap(output, input) {
		return o.run(direction, output, nonce, input, ad)
	}
	if len(output) > len(o.text) {
		o.text = make([]byte, len(output)+256)
	}
	text := o.text[:len(output)]
	err := o.run(direction, text, nonce, input, ad)
	if err == nil {
		copy(output, text)
	}
	clear(text)
	return err
}

// extend appends n bytes to b, and returns the whole slice and the new part.
func extend(b []byte, n int) (all, added []byte) {
	if total := len(b) + n; cap(b) >= total {
		all = b[:total]
	} else {
		all = make([]byte, total)
		copy(all, b)
	}
	return all, all[len(b):]
}
