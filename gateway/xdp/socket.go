//go:build linux

package xdp

import (
	"errors"
	"fmt"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Sizes of a socket's memory, in frames and bytes.
const (
	frames     = 4096
	frameBytes = 4096
	headroom   = 256 // reserved by the kernel before a packet; it ends with the metadata
)

// A Socket receives a queue's packets from the XDP program (AF_XDP, Documentation/networking/af_xdp.rst). It is not
// safe for concurrent use.
type Socket struct {
	fd         int
	memory     []byte
	maps       [][]byte
	fill       ring
	receive    ring
	completion ring
	free       []uint64
}

// ring is a queue shared with the kernel: the indices of producer and consumer, and the entries.
type ring struct {
	producer, consumer *uint32
	flags              *uint32
	entries            unsafe.Pointer
	mask               uint32
}

// OpenSocket opens a socket for a queue of an interface that p is attached to.
func (p *Program) OpenSocket(index, queue int) (*Socket, error) {
	fd, err := unix.Socket(unix.AF_XDP, unix.SOCK_RAW|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("xdp: socket: %w", err)
	}
	s := &Socket{fd: fd}
	if err := s.setUp(index, queue); err != nil {
		return nil, errors.Join(fmt.Errorf("xdp: socket of interface %d, queue %d: %w", index, queue, err), s.Close())
	}
	if err := p.Socket(queue, fd); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

func (s *Socket) setUp(index, queue int) error {
	var err error
	s.memory, err = unix.Mmap(-1, 0, frames*frameBytes, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS|unix.MAP_POPULATE)
	if err != nil {
		return err
	}
	s.maps = append(s.maps, s.memory)
	region := unix.XDPUmemReg{Addr: uint64(uintptr(unsafe.Pointer(&s.memory[0]))), Len: uint64(len(s.memory)), Size: frameBytes, Headroom: headroom}
	if err := s.option(unix.XDP_UMEM_REG, unsafe.Pointer(&region), unsafe.Sizeof(region)); err != nil {
		return err
	}
	for _, o := range []int{unix.XDP_UMEM_FILL_RING, unix.XDP_UMEM_COMPLETION_RING, unix.XDP_RX_RING} {
		if err := unix.SetsockoptInt(s.fd, unix.SOL_XDP, o, frames); err != nil {
			return err
		}
	}
	var offsets unix.XDPMmapOffsets
	size := uint32(unsafe.Sizeof(offsets))
	if _, _, errno := unix.Syscall6(unix.SYS_GETSOCKOPT, uintptr(s.fd), unix.SOL_XDP, unix.XDP_MMAP_OFFSETS,
		uintptr(unsafe.Pointer(&offsets)), uintptr(unsafe.Pointer(&size)), 0); errno != 0 {
		return errno
	}
	if s.fill, err = s.mapRing(offsets.Fr, unix.XDP_UMEM_PGOFF_FILL_RING, 8); err != nil {
		return err
	}
	if s.completion, err = s.mapRing(offsets.Cr, unix.XDP_UMEM_PGOFF_COMPLETION_RING, 8); err != nil {
		return err
	}
	if s.receive, err = s.mapRing(offsets.Rx, unix.XDP_PGOFF_RX_RING, int(unsafe.Sizeof(unix.XDPDesc{}))); err != nil {
		return err
	}
	for i := range frames {
		s.free = append(s.free, uint64(i*frameBytes))
	}
	s.refill()
	return unix.Bind(s.fd, &unix.SockaddrXDP{Ifindex: uint32(index), QueueID: uint32(queue)})
}

func (s *Socket) option(name int, value unsafe.Pointer, size uintptr) error {
	if _, _, errno := unix.Syscall6(unix.SYS_SETSOCKOPT, uintptr(s.fd), unix.SOL_XDP, uintptr(name), uintptr(value), size, 0); errno != 0 {
		return errno
	}
	return nil
}

func (s *Socket) mapRing(o unix.XDPRingOffset, page int64, entry int) (ring, error) {
	m, err := unix.Mmap(s.fd, page, int(o.Desc)+frames*entry, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED|unix.MAP_POPULATE)
	if err != nil {
		return ring{}, err
	}
	s.maps = append(s.maps, m)
	at := func(offset uint64) *uint32 { return (*uint32)(unsafe.Pointer(&m[offset])) }
	return ring{producer: at(o.Producer), consumer: at(o.Consumer), flags: at(o.Flags), entries: unsafe.Pointer(&m[o.Desc]), mask: frames - 1}, nil
}

// refill returns free frames to the kernel.
func (s *Socket) refill() {
	at := atomic.LoadUint32(s.fill.producer)
	room := frames - (at - atomic.LoadUint32(s.fill.consumer))
	n := min(room, uint32(len(s.free)))
	entries := unsafe.Slice((*uint64)(s.fill.entries), frames)
	for i := range n {
		entries[(at+i)&s.fill.mask] = s.free[len(s.free)-1]
		s.free = s.free[:len(s.free)-1]
	}
	atomic.StoreUint32(s.fill.producer, at+n)
}

// Receive calls handle for every available packet. It waits for one for at most the given milliseconds, or forever if
// that is -1. handle may write to the packet, whose memory returns to the socket after the call.
func (s *Socket) Receive(milliseconds int, handle func(packet []byte, meta Meta, ok bool)) (packets int, err error) {
	at := atomic.LoadUint32(s.receive.consumer)
	n := atomic.LoadUint32(s.receive.producer) - at
	if n == 0 {
		fds := []unix.PollFd{{Fd: int32(s.fd), Events: unix.POLLIN}}
		if _, err := unix.Poll(fds, milliseconds); err != nil && err != unix.EINTR {
			return 0, fmt.Errorf("xdp: %w", err)
		}
		n = atomic.LoadUint32(s.receive.producer) - at
	}
	entries := unsafe.Slice((*unix.XDPDesc)(s.receive.entries), frames)
	for i := range n {
		d := entries[(at+i)&s.receive.mask]
		if d.Addr >= metaBytes && d.Addr+uint64(d.Len) <= uint64(len(s.memory)) {
			meta, ok := ParseMeta(s.memory[d.Addr-metaBytes : d.Addr])
			handle(s.memory[d.Addr:d.Addr+uint64(d.Len)], meta, ok)
			clear(s.memory[d.Addr-metaBytes : d.Addr]) // the next packet there may have no metadata
		}
		s.free = append(s.free, d.Addr&^(frameBytes-1))
	}
	atomic.StoreUint32(s.receive.consumer, at+n)
	s.refill()
	return int(n), nil
}

// Wait waits for packets of any of the sockets for at most the given milliseconds.
func Wait(milliseconds int, sockets ...*Socket) error {
	fds := make([]unix.PollFd, len(sockets))
	for i, s := range sockets {
		fds[i] = unix.PollFd{Fd: int32(s.fd), Events: unix.POLLIN}
	}
	if _, err := unix.Poll(fds, milliseconds); err != nil && err != unix.EINTR {
		return fmt.Errorf("xdp: %w", err)
	}
	return nil
}

// Close wipes and frees the socket's memory, which has contained plaintext.
func (s *Socket) Close() error {
	var errs []error
	if s.fd >= 0 {
		errs = append(errs, unix.Close(s.fd))
		s.fd = -1
	}
	clear(s.memory)
	for _, m := range s.maps {
		errs = append(errs, unix.Munmap(m))
	}
	s.memory, s.maps = nil, nil
	return errors.Join(errs...)
}
