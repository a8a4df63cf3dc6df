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

// How many packets of a key the kernel works on at a time. Each takes a file descriptor, from the first use on; packets
// beyond are done in the process.
const poolSize = 8

// AEAD is a key in the Linux kernel. It is safe for concurrent use. Seal and Open do not allocate if dst has the
// capacity and packets need no more associated data than those before.
type AEAD struct {
	algorithm Algorithm
	inProcess cipher.AEAD
	done      atomic.Uint64 // packets done in the process
	automatic bool          // one of automaticKeys

	transform struct {
		sync.Mutex     // held to accept and to close, not for a packet
		fd         int // -1 once closed
	}
	closed atomic.Bool
	spare  [poolSize]atomic.Pointer[operation]
	open   atomic.Int32 // operations that exist
}

// New gives the kernel a copy of the key: 32 bytes for ChaCha20Poly1305, 16, 24 or 32 for AESGCM. The first call for an
// algorithm tests it with known answers.
//
// The result takes one file descriptor, and up to eight more as packets are in the works at the same time; Close, or its
// becoming unreachable, gives them back. The key is also kept in the process, for what the kernel cannot do.
// Errors wrap [ErrUnsupported], [ErrKnownAnswer] or [ErrKeySize], or are the kernel's.
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

// inProcessOf returns the cipher that does what the kernel does not.
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

// Driver returns the name of the kernel's implementation as /proc/crypto had it when the algorithm was first used.
func (a *AEAD) Driver() string { return supportOf(a.algorithm).Driver }

// Implementation returns "af_alg" and the driver, for github.com/sealane/sealane.Implementation.
func (a *AEAD) Implementation() string { return "af_alg " + a.Driver() }

// InProcess returns how many packets the kernel did not do.
func (a *AEAD) InProcess() uint64 { return a.done.Load() }

// Close gives the file descriptors back, and the kernel wipes its copy of the key. Packets that are in the works come to
// their end. Seal and Open go on to work, in the process. Closing again does nothing.
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

// take returns an operation that is not in use, or nil.
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

// give takes an operation back; with an error other than that of a wrong tag it is not used again.
func (a *AEAD) give(o *operation, err error) {
	if err == nil || errors.Is(err, unix.EBADMSG) {
		for i := range a.spare {
			if a.spare[i].CompareAndSwap(nil, o) {
				// Close may have looked at this place before.
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

// Seal is that of [cipher.AEAD]. It panics if the nonce is not 12 bytes, the plaintext is too long for the algorithm, or
// the output overlaps the additional data, or the plaintext elsewhere than exactly at its start.
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

// Open is that of [cipher.AEAD], with Seal's panics. If it fails, the bytes that the plaintext would have filled are
// zero.
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

// takeFor returns an operation for a packet, or nil if the process has to do it: it is too long, or wrong, and then the
// cipher in the process panics.
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

// do is run, by way of memory of our own where output takes the input's place: if it fails, the input is still whole.
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

// extend appends n bytes to b, and returns the whole and the new part.
func extend(b []byte, n int) (all, added []byte) {
	if total := len(b) + n; cap(b) >= total {
		all = b[:total]
	} else {
		all = make([]byte, total)
		copy(all, b)
	}
	return all, all[len(b):]
}
