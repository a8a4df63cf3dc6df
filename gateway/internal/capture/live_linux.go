package capture

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"runtime"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/sealane/sealane/gateway/internal/packet"
)

// A Live reads packets of an interface from a ring that the kernel fills (TPACKET_V3, see packet(7) and the kernel's
// packet_mmap.rst). Rings in the same group share the packets; normally both directions of a connection go to the same
// ring.
type Live struct {
	fd       int
	ring     []byte
	block    int // next block to check
	link     packet.LinkType
	tags     bool // VLAN tags are put back into frames
	incoming bool
	err      error // found by Wait
	frames   []Frame
	drops    atomic.Uint64
	count    atomic.Uint64
}

const (
	liveBlock  = 1 << 20
	liveBlocks = 64
	// After this time, the kernel hands over a block that is not full.
	liveTimeout = 2 * time.Millisecond
)

// LiveOptions are the options of a ring.
type LiveOptions struct {
	Group       *uint16           // shared by the rings of an interface; the first one finds 0 there and sets it. nil: a single ring
	Placement   *packet.Placement // how the group distributes packets
	Promiscuous bool
	Incoming    bool // omit packets that this machine sends
	Blocks      int  // memory, in MiB; 64 if 0
	Headers     bool // prefix each frame with its pending checksum and segmentation work: see Whole
}

// OpenLive opens a ring on an interface. It needs CAP_NET_RAW.
func OpenLive(name string, o LiveOptions) (*Live, error) {
	face, err := net.InterfaceByName(name)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if o.Blocks == 0 {
		o.Blocks = liveBlocks
	}
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("%s: packet socket: %w (it needs CAP_NET_RAW)", name, err)
	}
	l := &Live{fd: fd, link: packet.LinkEthernet, tags: o.Headers, incoming: o.Incoming}
	fail := func(what string, err error) (*Live, error) {
		l.Close()
		return nil, fmt.Errorf("%s: %s: %w", name, what, err)
	}
	if err := unix.SetsockoptInt(fd, unix.SOL_PACKET, unix.PACKET_VERSION, unix.TPACKET_V3); err != nil {
		return fail("TPACKET_V3", err)
	}
	if o.Headers {
		if err := unix.SetsockoptInt(fd, unix.SOL_PACKET, unix.PACKET_VNET_HDR, 1); err != nil {
			return fail("PACKET_VNET_HDR", err)
		}
		if err := unix.SetsockoptInt(fd, unix.SOL_PACKET, unix.PACKET_RESERVE, tagBytes); err != nil {
			return fail("PACKET_RESERVE", err)
		}
	}
	req := unix.TpacketReq3{
		Block_size: liveBlock, Block_nr: uint32(o.Blocks), Frame_size: 1 << 16, Frame_nr: uint32(o.Blocks) * (liveBlock >> 16),
		Retire_blk_tov: uint32(liveTimeout / time.Millisecond),
	}
	if err := unix.SetsockoptTpacketReq3(fd, unix.SOL_PACKET, unix.PACKET_RX_RING, &req); err != nil {
		return fail("ring", err)
	}
	if l.ring, err = unix.Mmap(fd, 0, o.Blocks*liveBlock, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED); err != nil {
		return fail("mmap", err)
	}
	if o.Incoming {
		if err := unix.SetsockoptInt(fd, unix.SOL_PACKET, unix.PACKET_IGNORE_OUTGOING, 1); err != nil {
			return fail("PACKET_IGNORE_OUTGOING", err)
		}
	}
	const all = 0x0300 // ETH_P_ALL in network order
	if err := unix.Bind(fd, &unix.SockaddrLinklayer{Protocol: all, Ifindex: face.Index}); err != nil {
		return fail("bind", err)
	}
	if o.Promiscuous {
		m := unix.PacketMreq{Ifindex: int32(face.Index), Type: unix.PACKET_MR_PROMISC}
		if err := unix.SetsockoptPacketMreq(fd, unix.SOL_PACKET, unix.PACKET_ADD_MEMBERSHIP, &m); err != nil {
			return fail("promiscuous mode", err)
		}
	}
	if o.Group != nil {
		if err := l.share(&o); err != nil {
			return fail("fan-out", err)
		}
		if err := l.setPlacement(o.Placement); err != nil {
			return fail("fan-out", err)
		}
	}
	return l, nil
}

// share adds the ring to a group. The first ring asks the kernel for an unused number.
func (l *Live) share(o *LiveOptions) error {
	// A listener gets reassembled fragments; a forwarder needs the fragments themselves.
	kind := unix.PACKET_FANOUT_CBPF
	if !o.Headers {
		kind |= unix.PACKET_FANOUT_FLAG_DEFRAG
	}
	if o.Incoming {
		kind |= unix.PACKET_FANOUT_FLAG_IGNORE_OUTGOING // the group does not inherit its members' option
	}
	if *o.Group != 0 {
		// If all other members are gone, the kernel creates a group with that number again.
		return unix.SetsockoptInt(l.fd, unix.SOL_PACKET, unix.PACKET_FANOUT, int(*o.Group)|kind<<16)
	}
	if err := unix.SetsockoptInt(l.fd, unix.SOL_PACKET, unix.PACKET_FANOUT, (kind|unix.PACKET_FANOUT_FLAG_UNIQUEID)<<16); err != nil {
		return err
	}
	n, err := unix.GetsockoptInt(l.fd, unix.SOL_PACKET, unix.PACKET_FANOUT)
	*o.Group = uint16(n)
	return err
}

// ErrGone means that the interface has disappeared or is down.
var ErrGone = errors.New("the interface is gone or down")

// Read waits for packets, at most for wait, and calls each with those of one block. Their memory returns to the kernel
// after each call.
func (l *Live) Read(wait time.Duration, each func([]Frame)) error {
	head := (*unix.TpacketHdrV1)(unsafe.Pointer(&l.ring[l.block*liveBlock+8]))
	if atomic.LoadUint32(&head.Block_status)&unix.TP_STATUS_USER == 0 {
		if wait == 0 || l.err != nil {
			return l.err
		}
		if err := Wait(wait, l); err != nil {
			return err
		}
		if l.err != nil || atomic.LoadUint32(&head.Block_status)&unix.TP_STATUS_USER == 0 {
			return l.err
		}
	}
	block := l.ring[l.block*liveBlock : (l.block+1)*liveBlock]
	l.frames = l.frames[:0]
	at := int(head.Offset_to_first_pkt)
	for range head.Num_pkts {
		if at < 0 || at+int(unsafe.Sizeof(unix.Tpacket3Hdr{})) > len(block) {
			break
		}
		h := (*unix.Tpacket3Hdr)(unsafe.Pointer(&block[at]))
		begin := at + int(h.Mac)
		end := begin + int(h.Snaplen)
		if begin < at || end > len(block) {
			break
		}
		// struct sockaddr_ll follows the header; in older kernels, groups also get sent packets.
		if kind := at + (int(unsafe.Sizeof(*h))+15)&^15 + 10; l.incoming && kind < len(block) && block[kind] == unix.PACKET_OUTGOING {
			if h.Next_offset == 0 {
				break
			}
			at += int(h.Next_offset)
			continue
		}
		if l.tags && h.Status&unix.TP_STATUS_VLAN_VALID != 0 && begin-virtioHeader-tagBytes > at && end-begin >= 14 {
			tag(block[begin-virtioHeader-tagBytes:end], h)
			begin -= tagBytes
		}
		l.frames = append(l.frames, Frame{
			Time: int64(h.Sec)*1e9 + int64(h.Nsec), Data: block[begin:end:end], Link: l.link,
		})
		if h.Next_offset == 0 {
			break
		}
		at += int(h.Next_offset)
	}
	l.count.Add(uint64(len(l.frames)))
	each(l.frames)
	runtime.KeepAlive(block)
	atomic.StoreUint32(&head.Block_status, unix.TP_STATUS_KERNEL)
	l.block = (l.block + 1) % (len(l.ring) / liveBlock)
	return nil
}

const tagBytes = 4

// tag puts the VLAN tag, which the kernel stores separately, back into a frame. b has room before the virtio header.
func tag(b []byte, h *unix.Tpacket3Hdr) {
	copy(b, b[tagBytes:][:virtioHeader+12])
	kind := uint16(0x8100)
	if h.Status&unix.TP_STATUS_VLAN_TPID_VALID != 0 {
		kind = h.Hv1.Vlan_tpid
	}
	binary.BigEndian.PutUint16(b[virtioHeader+12:], kind)
	binary.BigEndian.PutUint16(b[virtioHeader+14:], uint16(h.Hv1.Vlan_tci))
	// Flags, segmentation type, length of the headers, segment size, start of the checksum, and its destination.
	if b[1] != 0 {
		binary.NativeEndian.PutUint16(b[2:], binary.NativeEndian.Uint16(b[2:])+tagBytes)
	}
	const needsChecksum = 1
	if b[0]&needsChecksum != 0 {
		binary.NativeEndian.PutUint16(b[6:], binary.NativeEndian.Uint16(b[6:])+tagBytes)
	}
}

// Wait waits until one of the rings has packets, at most for wait. Rings may be nil. If an interface is gone, Read
// reports it.
func Wait(wait time.Duration, rings ...*Live) error {
	fds := make([]unix.PollFd, 0, 2)
	for _, l := range rings {
		fd := int32(-1) // no ring
		if l != nil {
			fd = int32(l.fd)
		}
		fds = append(fds, unix.PollFd{Fd: fd, Events: unix.POLLIN | unix.POLLERR})
	}
	n, err := unix.Poll(fds, int(wait/time.Millisecond))
	if err == unix.EINTR || err == nil && n == 0 {
		return nil
	}
	if err != nil {
		return err
	}
	for i, l := range rings {
		if fds[i].Revents&unix.POLLERR != 0 {
			// Reading the error clears it.
			if e, err := unix.GetsockoptInt(l.fd, unix.SOL_SOCKET, unix.SO_ERROR); err == nil && e != 0 {
				l.err = fmt.Errorf("%w: %w", ErrGone, unix.Errno(e))
			}
		}
	}
	return nil
}

// Counts returns how many packets were read, and how many the kernel dropped because the ring was full.
func (l *Live) Counts() (packets, drops uint64) {
	if s, err := unix.GetsockoptTpacketStatsV3(l.fd, unix.SOL_PACKET, unix.PACKET_STATISTICS); err == nil {
		l.drops.Add(uint64(s.Drops)) // the kernel counts since the last query
	}
	return l.count.Load(), l.drops.Load()
}

// Close releases the ring.
func (l *Live) Close() {
	if l.ring != nil {
		unix.Munmap(l.ring)
		l.ring = nil
	}
	unix.Close(l.fd)
}
