package capture

import (
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sealane/sealane/gateway/internal/packet"
)

// The kernel's program puts the packets of a connection where packet.Placement has them, both on the interface that they come in from
// and on that which they go out of; and all tunnels between two endpoints to one, whatever their ports are.
func TestPlacement(t *testing.T) {
	near, far := fmt.Sprintf("slp%da", os.Getpid()%100000), fmt.Sprintf("slp%db", os.Getpid()%100000)
	if out, err := exec.Command("ip", "link", "add", near, "type", "veth", "peer", "name", far).CombinedOutput(); err != nil {
		t.Skipf("not run: no interfaces here: %v %s", err, out)
	}
	defer exec.Command("ip", "link", "del", near).Run()
	for _, name := range []string{near, far} {
		os.WriteFile("/proc/sys/net/ipv6/conf/"+name+"/disable_ipv6", []byte("1"), 0o644)
		if out, err := exec.Command("ip", "link", "set", name, "up").CombinedOutput(); err != nil {
			t.Fatalf("%v %s", err, out)
		}
	}
	const members = 3
	rings := make(map[string][]*Live)
	p := &packet.Placement{Keys: [3]uint32{0x9e3779b1, 0x85ebca6b, 0xc2b2ae35}}
	for _, name := range []string{near, far} {
		var group uint16
		for range members {
			l, err := OpenLive(name, LiveOptions{Group: &group, Placement: p, Blocks: 8})
			if err != nil {
				t.Skipf("not run: %v", err)
			}
			defer l.Close()
			rings[name] = append(rings[name], l)
		}
	}
	face, err := net.InterfaceByName(near)
	if err != nil {
		t.Fatal(err)
	}
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	r := rand.New(rand.NewPCG(1, 1))
	const tcp, udp = 300, 60
	for i := range tcp + udp {
		var a, b [16]byte
		for k := range a {
			a[k], b[k] = byte(r.Uint32()), byte(r.Uint32())
		}
		v6 := i%2 == 1
		if !v6 {
			copy(a[:12], []byte{10: 0xff, 11: 0xff})
			copy(b[:12], []byte{10: 0xff, 11: 0xff})
		}
		if i >= tcp {
			a, b = [16]byte{10: 0xff, 11: 0xff, 12: 10, 15: 1}, [16]byte{10: 0xff, 11: 0xff, 12: 10, 15: 2}
			if i%4 > 1 {
				a, b = b, a
			}
			v6 = false
		}
		var template packet.Template
		template.Init(&[12]byte{2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2}, 0, v6, &a, &b, uint16(r.Uint32()), 4789)
		frame := make([]byte, template.Size()+40)
		template.Build(frame, 1, 1, packet.ACK, uint16(i), frame[:40], true)
		if i >= tcp {
			frame[23] = 17
		}
		if err := unix.Sendto(fd, frame, 0, &unix.SockaddrLinklayer{Ifindex: face.Index, Protocol: uint16(frame[12])<<0 | uint16(frame[13])<<8}); err != nil {
			t.Fatal(err)
		}
	}
	for name, all := range rings {
		seen, tunnels := 0, [members]int{}
		for begin := time.Now(); seen < tcp+udp && time.Since(begin) < 20*time.Second; {
			for i, l := range all {
				if err := l.Read(10*time.Millisecond, func(frames []Frame) {
					for _, f := range frames {
						h, ok := p.Usual(f.Data)
						switch {
						case ok && int(h%members) != i:
							t.Errorf("%s: a packet that belongs to %d is at %d", name, h%members, i)
						case ok:
							seen++
						case len(f.Data) > 36 && f.Data[23] == 17:
							seen++
							tunnels[i]++
						}
					}
				}); err != nil {
					t.Fatal(err)
				}
			}
		}
		if seen != tcp+udp {
			t.Errorf("%s: %d packets of %d", name, seen, tcp+udp)
		}
		if max(tunnels[0], tunnels[1], tunnels[2]) != udp {
			t.Errorf("%s: tunnels are spread: %v", name, tunnels)
		}
	}
}
