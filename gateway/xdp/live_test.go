//go:build linux

package xdp

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/link"
	"golang.org/x/sys/unix"
)

// A wire is a pair of interfaces, one here and one in a network namespace of its own.
type wire struct {
	t         testing.TB
	namespace string
	there     string
	here      *net.Interface
}

// Other processes may run these tests at the same time.
var (
	network      = fmt.Sprintf("10.%d.%d.", 200+os.Getpid()>>8%50, os.Getpid()&255)
	addressHere  = network + "1"
	addressThere = network + "2"
)

func command(t testing.TB, line string) {
	t.Helper()
	words := strings.Fields(line)
	if out, err := exec.Command(words[0], words[1:]...).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", line, err, out)
	}
}

func newWire(t testing.TB) *wire {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("NOT RUN: needs root, to make interfaces and network namespaces")
	}
	if _, err := exec.LookPath("ip"); err != nil {
		t.Skip("NOT RUN: needs iproute2")
	}
	w := &wire{t: t, namespace: fmt.Sprintf("sealane%d", os.Getpid())}
	if out, err := exec.Command("ip", "netns", "add", w.namespace).CombinedOutput(); err != nil {
		t.Skipf("NOT RUN: network namespaces are not permitted here: %s", out)
	}
	t.Cleanup(func() { _ = exec.Command("ip", "netns", "del", w.namespace).Run() })
	here, there := "slh"+fmt.Sprint(os.Getpid()%100000), "slt"+fmt.Sprint(os.Getpid()%100000)
	w.there = there
	command(t, "ip link add "+here+" type veth peer name "+there+" netns "+w.namespace)
	t.Cleanup(func() { _ = exec.Command("ip", "link", "del", here).Run() })
	command(t, "ip addr add "+addressHere+"/24 dev "+here)
	command(t, "ip link set "+here+" up")
	command(t, "ip -n "+w.namespace+" addr add "+addressThere+"/24 dev "+there)
	command(t, "ip -n "+w.namespace+" link set "+there+" up")
	// Segments as they would be on a wire: no larger than the MTU, with checksums.
	for _, feature := range []string{"tx", "tso", "gso", "gro"} {
		if _, err := exec.LookPath("ethtool"); err != nil {
			t.Skip("NOT RUN: needs ethtool")
		}
		_ = exec.Command("ethtool", "-K", here, feature, "off").Run()
		_ = exec.Command("ip", "netns", "exec", w.namespace, "ethtool", "-K", there, feature, "off").Run()
	}
	var err error
	w.here, err = net.InterfaceByName(here)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// in runs f on a thread that is in the namespace; sockets made there stay there.
func (w *wire) in(f func()) {
	w.t.Helper()
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // forever: the thread ends with the goroutine
		file, err := os.Open("/var/run/netns/" + w.namespace)
		if err == nil {
			err = unix.Setns(int(file.Fd()), unix.CLONE_NEWNET)
			file.Close()
		}
		if err == nil {
			f()
		}
		done <- err
	}()
	if err := <-done; err != nil {
		w.t.Skipf("NOT RUN: %v", err)
	}
}

// connect returns both ends of a TCP connection over the wire, and the direction from there to here.
func (w *wire) connect() (here, there *net.TCPConn, tuple Tuple) {
	w.t.Helper()
	l, err := net.Listen("tcp4", addressHere+":0")
	if err != nil {
		w.t.Fatal(err)
	}
	defer l.Close()
	w.in(func() {
		c, err := net.DialTimeout("tcp4", l.Addr().String(), time.Minute)
		if err == nil {
			there = c.(*net.TCPConn)
		}
	})
	if there == nil {
		w.t.Fatal("no connection")
	}
	c, err := l.Accept()
	if err != nil {
		w.t.Fatal(err)
	}
	here = c.(*net.TCPConn)
	w.t.Cleanup(func() { here.Close(); there.Close() })
	return here, there, Tuple{netip.MustParseAddrPort(there.LocalAddr().String()), netip.MustParseAddrPort(here.LocalAddr().String())}
}

// loseAcknowledgements drops every eighth packet or so that the other end receives, so that it retransmits data that
// arrived here.
func (w *wire) loseAcknowledgements() {
	w.t.Helper()
	program, err := ebpf.NewProgram(&ebpf.ProgramSpec{Type: ebpf.XDP, License: "Dual BSD/GPL", Instructions: asm.Instructions{
		asm.FnGetPrandomU32.Call(),
		asm.And.Imm(asm.R0, 7),
		asm.Mov.Reg(asm.R1, asm.R0),
		asm.Mov.Imm(asm.R0, xdpPass),
		asm.JNE.Imm(asm.R1, 0, "end"),
		asm.Mov.Imm(asm.R0, xdpDrop),
		asm.Return().WithSymbol("end"),
	}})
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { program.Close() })
	w.in(func() {
		there, err := net.InterfaceByName(w.there)
		if err != nil {
			w.t.Error(err)
			return
		}
		l, err := link.AttachXDP(link.XDPOptions{Program: program, Interface: there.Index, Flags: link.XDPGenericMode})
		if err != nil {
			w.t.Error(err)
			return
		}
		w.t.Cleanup(func() { l.Close() })
	})
}

// sequence returns the next sequence number of a connection, which the kernel reports in repair mode.
func sequence(t testing.TB, c *net.TCPConn) uint32 {
	t.Helper()
	raw, err := c.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	const (
		tcpRepair, tcpRepairQueue, tcpQueueSeq = 19, 20, 21
		sendQueue                              = 2
	)
	var number int
	var failed error
	err = raw.Control(func(fd uintptr) {
		try := func(err error) {
			if failed == nil {
				failed = err
			}
		}
		try(unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, tcpRepair, 1))
		try(unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, tcpRepairQueue, sendQueue))
		n, err := unix.GetsockoptInt(int(fd), unix.IPPROTO_TCP, tcpQueueSeq)
		number = n
		try(err)
		try(unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, tcpRepair, -1)) // off, without a window probe
	})
	if err := errors.Join(err, failed); err != nil {
		t.Skipf("NOT RUN: no TCP repair mode: %v", err)
	}
	return uint32(number)
}

// acknowledged waits until a connection has nothing left to send again: with the next record it would go into one segment.
func acknowledged(t testing.TB, c *net.TCPConn) {
	t.Helper()
	raw, err := c.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(100 * time.Microsecond) {
		left := -1
		if err := raw.Control(func(fd uintptr) { left, err = unix.IoctlGetInt(int(fd), unix.SIOCOUTQ) }); err != nil {
			t.Fatal(err)
		}
		if left == 0 {
			return
		}
	}
	t.Fatal("a record is not acknowledged")
}

// TestLive sends records over a real connection, one per segment. The host's socket receives plaintext, although
// segments are lost and retransmitted. Segments that are not one record never arrive.
func TestLive(t *testing.T) {
	for _, generic := range []bool{false, true} {
		t.Run(fmt.Sprintf("generic %v", generic), func(t *testing.T) {
			p, w := load(t, false), newWire(t)
			if err := p.Attach(w.here.Index, generic); err != nil {
				t.Skipf("NOT RUN: %v", err)
			}
			here, there, tuple := w.connect()
			if err := there.SetNoDelay(true); err != nil {
				t.Fatal(err)
			}
			s := newSender(t, tuple)
			s.flow.Number = 0
			s.flow.Sequence = sequence(t, there)
			if err := p.Put(tuple, s.flow); err != nil {
				t.Fatal(err)
			}
			w.loseAcknowledgements()
			var want []byte
			const records = 60
			for n := range uint64(records) {
				c := content(int(n*37) % 1300)
				record := s.record(n, 23, 0, c)
				want = append(want, plain(record, c)...)
				if _, err := there.Write(record); err != nil {
					t.Fatal(err)
				}
				got := make([]byte, len(record))
				if err := here.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
					t.Fatal(err)
				}
				for read := 0; read < len(got); {
					k, err := here.Read(got[read:])
					if err != nil {
						f, counts, _ := p.Get(tuple)
						t.Fatalf("record %d: %v; %d, %+v", n, err, f.Number, counts)
					}
					read += k
				}
				acknowledged(t, there)
				if !bytes.Equal(got, want[len(want)-len(got):]) {
					t.Fatalf("record %d: received %x", n, got)
				}
			}
			f, counts, err := p.Get(tuple)
			if err != nil || f.Number != records || counts.Opened != records || counts.Again == 0 || counts.Forged != 0 {
				t.Errorf("%d, %+v, %v", f.Number, counts, err)
			}
			t.Logf("%+v", counts)

			// Two records in one segment are not opened here, and without a program in user space they do not arrive.
			if _, err := there.Write(append(s.record(records, 23, 0, content(9)), s.record(records+1, 23, 0, content(9))...)); err != nil {
				t.Fatal(err)
			}
			if err := here.SetReadDeadline(time.Now().Add(300 * time.Millisecond)); err != nil {
				t.Fatal(err)
			}
			if k, err := here.Read(make([]byte, 100)); err == nil {
				t.Errorf("%d bytes passed that were not authenticated", k)
			}
		})
	}
}

// TestHandOver moves a flow to user space and back. Records that span segments are reassembled and opened there, and
// the flow continues in XDP.
func TestHandOver(t *testing.T) {
	p, w := load(t, false), newWire(t)
	if err := p.Attach(w.here.Index, false); err != nil {
		t.Skipf("NOT RUN: %v", err)
	}
	socket, err := p.OpenSocket(w.here.Index, 0)
	if err != nil {
		t.Skipf("NOT RUN: %v", err)
	}
	defer func() {
		if err := socket.Close(); err != nil {
			t.Error(err)
		}
	}()
	_, there, tuple := w.connect()
	if err := there.SetNoDelay(true); err != nil {
		t.Fatal(err)
	}
	s := newSender(t, tuple)
	s.flow.Number, s.flow.Sequence, s.flow.ToUser = 0, sequence(t, there), true
	if err := p.Put(tuple, s.flow); err != nil {
		t.Fatal(err)
	}
	type packet struct {
		bytes []byte
		meta  Meta
	}
	var got []packet
	receive := func(n int) {
		t.Helper()
		got = nil
		for deadline := time.Now().Add(time.Minute); len(got) < n; {
			if time.Now().After(deadline) {
				f, counts, err := p.Get(tuple)
				t.Fatalf("%d packets of %d: %d, %+v, %v", len(got), n, f.Number, counts, err)
			}
			if _, err := socket.Receive(100, func(b []byte, meta Meta, ok bool) {
				if !ok {
					t.Error("a packet without metadata")
					return
				}
				sequence := binary.BigEndian.Uint32(b[14+20+4:])
				for _, g := range got { // TCP sends unacknowledged bytes again
					if binary.BigEndian.Uint32(g.bytes[14+20+4:]) == sequence {
						return
					}
				}
				got = append(got, packet{bytes.Clone(b), meta})
			}); err != nil {
				t.Fatal(err)
			}
		}
	}
	// In XDP, the plaintext to user space.
	record := s.record(0, 23, 0, content(500))
	if _, err := there.Write(record); err != nil {
		t.Fatal(err)
	}
	receive(1)
	if m := got[0].meta; m.Kind != Opened || m.Number != 0 || !bytes.Equal(got[0].bytes[m.Payload:], plain(record, content(500))) {
		t.Fatalf("%+v", m)
	}
	// A record that spans segments arrives unchanged. TCP repeats the first segment, because it was not acknowledged.
	long := s.record(1, 23, 0, content(4000))
	if _, err := there.Write(long); err != nil {
		t.Fatal(err)
	}
	pieces := map[uint32][]byte{}
	start := s.flow.Sequence + uint32(len(record))
	have := func() (all []byte) {
		for at := start; ; {
			piece, ok := pieces[at]
			if !ok || len(all) >= len(long) {
				return all
			}
			all = append(all, piece...)
			at += uint32(len(piece))
		}
	}
	for deadline := time.Now().Add(time.Minute); len(have()) < len(long); {
		if time.Now().After(deadline) {
			t.Fatalf("%d bytes of %d", len(have()), len(long))
		}
		if _, err := socket.Receive(100, func(b []byte, m Meta, ok bool) {
			if ok && m.Kind == Untouched {
				pieces[binary.BigEndian.Uint32(b[14+20+4:])] = bytes.Clone(b[m.Payload:])
			}
		}); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(have()[:len(long)], long) {
		t.Fatal("the pieces are not the record")
	}
	// User space opened it; the flow returns.
	s.flow.Number, s.flow.Sequence = 2, start+uint32(len(long))
	if err := p.Put(tuple, s.flow); err != nil {
		t.Fatal(err)
	}
	record = s.record(2, 23, 0, content(77))
	if _, err := there.Write(record); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(time.Minute); ; {
		opened := false
		if _, err := socket.Receive(100, func(b []byte, m Meta, ok bool) {
			if ok && m.Kind == Opened {
				opened = m.Number == 2 && bytes.Equal(b[m.Payload:], plain(record, content(77)))
			}
		}); err != nil {
			t.Fatal(err)
		}
		if opened {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal("after the return nothing is opened")
		}
	}
}
