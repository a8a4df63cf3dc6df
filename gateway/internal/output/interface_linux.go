package output

import (
	"fmt"
	"net"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// An Interface sends frames on a network interface. It belongs to one core.
type Interface struct {
	fd      int
	name    string // "" if it is a TAP interface
	headers bool
	counts  *Counts
	failed  func(error)
	warned  bool
	tried   time.Time // to open it again
	anew    bool      // it was, and nothing was sent since
	buf     []byte
	used    int
	msgs    []message
	vecs    []unix.Iovec
}

// message is struct mmsghdr.
type message struct {
	head unix.Msghdr
	_    uint32
	_    [4]byte
}

const interfaceFrames = 64

// NewInterface opens an interface for sending. With headers, each frame begins with a struct virtio_net_hdr, as those of
// capture.Whole do. It needs CAP_NET_RAW.
func NewInterface(name string, headers bool, counts *Counts, failed func(error)) (*Interface, error) {
	fd, err := openInterface(name, headers)
	if err != nil {
		return nil, err
	}
	return newInterface(fd, name, headers, counts, failed), nil
}

func openInterface(name string, headers bool) (fd int, err error) {
	face, err := net.InterfaceByName(name)
	if err != nil {
		return -1, fmt.Errorf("%s: %w", name, err)
	}
	fd, err = unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return -1, fmt.Errorf("%s: packet socket: %w (it needs CAP_NET_RAW)", name, err)
	}
	if headers {
		err = unix.SetsockoptInt(fd, unix.SOL_PACKET, unix.PACKET_VNET_HDR, 1)
	}
	if err == nil {
		err = unix.Bind(fd, &unix.SockaddrLinklayer{Ifindex: face.Index}) // of no protocol: it receives nothing
	}
	if err != nil {
		unix.Close(fd)
		return -1, fmt.Errorf("%s: %w", name, err)
	}
	return fd, nil
}

// OpenTAP makes a TAP interface that is up, on which the packets sent here arrive. It needs CAP_NET_ADMIN. The
// interface disappears when fd is closed; each core may use it through NewTAP.
func OpenTAP(name string, mtu int) (fd int, err error) {
	fail := func(err error) (int, error) {
		unix.Close(fd)
		return -1, fmt.Errorf("TAP interface %s: %w", name, err)
	}
	if fd, err = unix.Open("/dev/net/tun", unix.O_RDWR|unix.O_CLOEXEC, 0); err != nil {
		return -1, fmt.Errorf("TAP interface %s: /dev/net/tun: %w", name, err)
	}
	req, err := unix.NewIfreq(name)
	if err != nil {
		return fail(err)
	}
	req.SetUint16(unix.IFF_TAP | unix.IFF_NO_PI)
	if err := unix.IoctlIfreq(fd, unix.TUNSETIFF, req); err == unix.EPERM {
		return fail(fmt.Errorf("%w (it needs CAP_NET_ADMIN)", err))
	} else if err != nil {
		return fail(err)
	}
	s, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return fail(err)
	}
	defer unix.Close(s)
	req.SetUint32(uint32(mtu))
	if err := unix.IoctlIfreq(s, unix.SIOCSIFMTU, req); err != nil {
		return fail(fmt.Errorf("MTU %d: %w", mtu, err))
	}
	up, err := unix.NewIfreq(name)
	if err != nil {
		return fail(err)
	}
	up.SetUint16(unix.IFF_UP)
	if err := unix.IoctlIfreq(s, unix.SIOCSIFFLAGS, up); err != nil {
		return fail(err)
	}
	return fd, nil
}

// NewTAP sends to the interface that OpenTAP made.
func NewTAP(fd int, counts *Counts, failed func(error)) *Interface {
	return newInterface(fd, "", false, counts, failed)
}

func newInterface(fd int, name string, headers bool, counts *Counts, failed func(error)) *Interface {
	return &Interface{
		fd: fd, name: name, headers: headers, counts: counts, failed: failed, buf: make([]byte, fileBuffer),
		msgs: make([]message, interfaceFrames), vecs: make([]unix.Iovec, 0, interfaceFrames),
	}
}

// Room implements Packets.
func (i *Interface) Room(n int) []byte {
	if i.used+n > len(i.buf) || len(i.vecs) == interfaceFrames {
		i.Flush()
	}
	return i.buf[i.used:][:n]
}

// Commit implements Packets.
func (i *Interface) Commit(n int, _ int64) {
	i.Send(i.buf[i.used : i.used+n])
	i.used += n
}

// Send sends a frame that stays as it is until Flush.
func (i *Interface) Send(frame []byte) {
	if len(i.vecs) == interfaceFrames {
		i.flush()
	}
	v := unix.Iovec{Base: unsafe.SliceData(frame)}
	v.SetLen(len(frame))
	i.vecs = append(i.vecs, v)
}

// Flush implements Packets.
func (i *Interface) Flush() {
	i.flush()
	i.used = 0
}

func (i *Interface) flush() {
	for n := range i.vecs {
		i.msgs[n].head = unix.Msghdr{Iov: &i.vecs[n], Iovlen: 1}
	}
	all := 0 // all cores share the counters
	for at := 0; at < len(i.vecs); {
		var sent uintptr
		var errno unix.Errno
		if i.name == "" {
			v := &i.vecs[at]
			_, _, errno = unix.Syscall(unix.SYS_WRITE, uintptr(i.fd), uintptr(unsafe.Pointer(v.Base)), uintptr(v.Len))
			sent = 1
		} else {
			sent, _, errno = unix.Syscall6(unix.SYS_SENDMMSG, uintptr(i.fd), uintptr(unsafe.Pointer(&i.msgs[at])), uintptr(len(i.vecs)-at), 0, 0, 0)
		}
		switch {
		case errno == 0:
			all += int(sent)
			if i.anew {
				i.anew, i.warned = false, false
			}
			at += int(sent)
		case errno == unix.EINTR:
		default:
			i.counts.Dropped.Add(1)
			at++
			if !i.warned {
				i.warned = true
				i.failed(errno)
			}
			if errno == unix.ENXIO || errno == unix.ENODEV || errno == unix.ENETDOWN {
				i.again()
			}
		}
	}
	if all > 0 {
		i.counts.Sent.Add(uint64(all))
	}
	clear(i.vecs)
	i.vecs = i.vecs[:0]
}

// again opens an interface that is gone, if another has its name.
func (i *Interface) again() {
	if i.name == "" || time.Since(i.tried) < 200*time.Millisecond {
		return
	}
	i.tried = time.Now()
	if fd, err := openInterface(i.name, i.headers); err == nil {
		unix.Close(i.fd)
		i.fd, i.anew = fd, true
	}
}

// Close closes the socket of an interface. A TAP interface is closed by its opener.
func (i *Interface) Close() error {
	if i.name == "" {
		return nil
	}
	return unix.Close(i.fd)
}
