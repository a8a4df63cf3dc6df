package afalg

import (
	"encoding/binary"
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

// newTransform opens the socket that holds a key.
func newTransform(algorithm Algorithm, key []byte) (int, error) {
	fd, err := bound(string(algorithm))
	if err != nil {
		return -1, err
	}
	if err := setUp(fd, key); err != nil {
		unix.Close(fd)
		return -1, err
	}
	return fd, nil
}

// bound opens a socket for an algorithm, given its name or the name of a driver.
func bound(name string) (int, error) {
	fd, err := unix.Socket(unix.AF_ALG, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return -1, fmt.Errorf("socket: %w", err)
	}
	if err := unix.Bind(fd, &unix.SockaddrALG{Type: "aead", Name: name}); err != nil {
		unix.Close(fd)
		return -1, fmt.Errorf("bind: %w", err)
	}
	return fd, nil
}

func setUp(fd int, key []byte) error {
	if err := setKey(fd, key); err != nil {
		return fmt.Errorf("set key: %w", err)
	}
	// The kernel takes the tag size from the length of the option, and does not read its bytes.
	if err := unix.SetsockoptString(fd, unix.SOL_ALG, unix.ALG_SET_AEAD_AUTHSIZE, string(make([]byte, tagSize))); err != nil {
		return fmt.Errorf("set tag size: %w", err)
	}
	return nil
}

// setKey does not use unix.SetsockoptString, which would leave the key in an immutable string.
func setKey(fd int, key []byte) error {
	_, _, errno := unix.Syscall6(unix.SYS_SETSOCKOPT, uintptr(fd), unix.SOL_ALG, unix.ALG_SET_KEY,
		uintptr(unsafe.Pointer(unsafe.SliceData(key))), uintptr(len(key)), 0)
	if errno != 0 {
		return errno
	}
	return nil
}

// An operation is a socket that processes one packet at a time, with its buffers. It keeps no pointer to a caller's
// memory after a packet.
type operation struct {
	fd      int
	message unix.Msghdr
	in      [2]unix.Iovec // associated data, text
	out     [2]unix.Iovec
	control []byte
	ad      []byte  // receives the associated data from the kernel
	none    [1]byte // receives an empty output: a read of 0 bytes would not run the packet
	text    []byte  // output of an in-place packet: a failure must leave the input intact
}

// Offsets in the control messages: the direction, the nonce, and the size of the associated data.
var (
	opAt      = unix.CmsgLen(0)
	ivAt      = unix.CmsgSpace(4) + unix.CmsgLen(0) // struct af_alg_iv: a length and the bytes
	assocAt   = unix.CmsgSpace(4) + unix.CmsgSpace(4+nonceSize) + unix.CmsgLen(0)
	controlSz = unix.CmsgSpace(4) + unix.CmsgSpace(4+nonceSize) + unix.CmsgSpace(4)
)

func newOperation(transform int) (*operation, error) {
	fd, _, errno := unix.Syscall6(unix.SYS_ACCEPT4, uintptr(transform), 0, 0, unix.SOCK_CLOEXEC, 0, 0)
	if errno != 0 {
		return nil, errno
	}
	o := &operation{fd: int(fd), control: make([]byte, controlSz)}
	header := func(at, kind, size int) {
		h := (*unix.Cmsghdr)(unsafe.Pointer(&o.control[at-unix.CmsgLen(0)]))
		h.Level, h.Type = unix.SOL_ALG, int32(kind)
		h.SetLen(unix.CmsgLen(size))
	}
	header(opAt, unix.ALG_SET_OP, 4)
	header(ivAt, unix.ALG_SET_IV, 4+nonceSize)
	header(assocAt, unix.ALG_SET_AEAD_ASSOCLEN, 4)
	binary.NativeEndian.PutUint32(o.control[ivAt:], nonceSize)
	o.message.Control = &o.control[0]
	o.message.SetControllen(len(o.control))
	return o, nil
}

func (o *operation) close() { unix.Close(o.fd) }

// run sends ad and input, and reads the expected amount of output. After EBADMSG, which means a wrong tag, the
// operation can be used again; after any other error its state is unknown.
func (o *operation) run(direction uint32, output, nonce, input, ad []byte) error {
	raceRead(nonce, input, ad)
	raceWrite(output)
	binary.NativeEndian.PutUint32(o.control[opAt:], direction)
	copy(o.control[ivAt+4:], nonce)
	binary.NativeEndian.PutUint32(o.control[assocAt:], uint32(len(ad)))
	if len(ad) > len(o.ad) {
		o.ad = make([]byte, len(ad)+64)
	}
	n := vector(&o.in, ad, input)
	o.message.Iov = &o.in[0]
	o.message.SetIovlen(n)
	// The socket's buffer holds a packet. If it did not, a blocking send would never return, since there is no other
	// reader.
	sent, _, errno := unix.Syscall(unix.SYS_SENDMSG, uintptr(o.fd), uintptr(unsafe.Pointer(&o.message)), unix.MSG_DONTWAIT)
	if errno == 0 && int(sent) != len(ad)+len(input) {
		errno = unix.EMSGSIZE
	}
	if errno == 0 {
		n = vector(&o.out, o.ad[:len(ad)], output)
		if len(ad)+len(output) == 0 {
			n = vector(&o.out, o.none[:])
		}
		var read uintptr
		read, _, errno = unix.Syscall(unix.SYS_READV, uintptr(o.fd), uintptr(unsafe.Pointer(&o.out[0])), uintptr(n))
		if errno == 0 && int(read) != len(ad)+len(output) {
			errno = unix.EIO
		}
	}
	o.in, o.out = [2]unix.Iovec{}, [2]unix.Iovec{}
	if errno != 0 {
		return errno
	}
	return nil
}

// vector fills v with the non-empty buffers, and returns their number. If all are empty, it uses one empty buffer.
func vector(v *[2]unix.Iovec, buffers ...[]byte) int {
	n := 0
	for _, b := range buffers {
		if len(b) > 0 {
			v[n].Base = &b[0]
			v[n].SetLen(len(b))
			n++
		}
	}
	return max(n, 1)
}
