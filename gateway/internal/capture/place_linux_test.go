package capture

import (
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sealane/sealane/gateway/internal/packet"
	"github.com/sealane/sealane/gateway/internal/wrap"
)

// Of these tunnels the kernel's program has no idea: they are in two, or rare.
var outermost = []string{"VXLAN-GPE with IP", "MPLS in GRE", "LLC/SNAP"}

// The kernel's program puts the packets of a connection on the core that packet.Placement gives. It does so on the
// incoming and the outgoing interface, and in tunnels as well. Other tunneled packets of two endpoints all go to one
// core, whatever their ports are.
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
	type outcome struct {
		seen    int
		tunnels [members]int
		within  map[int]int
		wrong   map[string]int
	}
	outcomes := map[string]*outcome{}
	for name := range rings {
		outcomes[name] = &outcome{within: map[int]int{}, wrong: map[string]int{}}
	}
	// A ring's blocks end every two milliseconds, however full they are. Packets are therefore read as they arrive,
	// even if they are sent slowly.
	drain := func(wait time.Duration) {
		for name, all := range rings {
			o := outcomes[name]
			for i, l := range all {
				if err := l.Read(wait, func(frames []Frame) {
					for _, f := range frames {
						h, ok := p.Usual(f.Data)
						var s packet.Segment
						switch verdict := packet.Parse(&s, f.Link, f.Data); {
						case verdict == packet.TCP && (!ok || f.Data[5] == 4):
							kind := int(s.Tuple.Addr[0][14] | s.Tuple.Addr[1][14])
							if p.Hash(&s.Tuple)%members != uint32(i) {
								o.wrong[wrap.Tunnels[kind].Name]++
							}
							o.seen++
							o.within[i]++
						case ok && int(h%members) != i:
							t.Errorf("%s: a packet that belongs to %d is at %d", name, h%members, i)
						case ok:
							o.seen++
						case len(f.Data) > 36 && f.Data[23] == 17:
							o.seen++
							o.tunnels[i]++
						}
					}
				}); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
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
		drain(0)
	}
	// Connections in tunnels, both directions of each, with the ports that their senders choose.
	const each = 12
	inside := 0
	for i := range wrap.Tunnels {
		tunnel := &wrap.Tunnels[i]
		for conn := range each {
			a, b := [16]byte{10: 0xff, 11: 0xff, 12: 10, 14: byte(i), 15: byte(conn)}, [16]byte{10: 0xff, 11: 0xff, 12: 10, 13: 9, 15: 1}
			if conn%3 == 2 {
				a[0], b[0] = 0xfd, 0xfd
			}
			for back := range 2 {
				var template packet.Template
				template.Init(&[12]byte{2, 0, 0, 0, 0, 5, 2, 0, 0, 0, 0, 6}, 0, conn%3 == 2, &a, &b, [2]uint16{uint16(1000 + conn), 443}[back], [2]uint16{443, uint16(1000 + conn)}[back])
				frame := make([]byte, template.Size()+40)
				template.Build(frame, 1, 1, packet.ACK, uint16(i), frame[:40], true)
				frame = tunnel.Around(frame, uint32(20+conn))
				if frame[12] == 8 && frame[13] == 0 && frame[23] == 17 {
					frame[34], frame[35] = byte(r.Uint32()), byte(r.Uint32())
				}
				if err := unix.Sendto(fd, frame, 0, &unix.SockaddrLinklayer{Ifindex: face.Index, Protocol: uint16(frame[12])<<0 | uint16(frame[13])<<8}); err != nil {
					t.Fatal(err)
				}
				drain(0)
				inside++
				a, b = b, a
			}
		}
	}
	for begin := time.Now(); time.Since(begin) < time.Minute; drain(10 * time.Millisecond) {
		if !slices.ContainsFunc([]string{near, far}, func(name string) bool { return outcomes[name].seen < tcp+udp+inside }) {
			break
		}
	}
	for name, o := range outcomes {
		seen, tunnels, within, wrong := o.seen, o.tunnels, o.within, o.wrong
		if seen != tcp+udp+inside {
			t.Errorf("%s: %d packets of %d", name, seen, tcp+udp+inside)
		}
		for tunnel, n := range wrong {
			if !slices.Contains(outermost, tunnel) {
				t.Errorf("%s: %s: %d of %d packets are not where their connection belongs", name, tunnel, n, 2*each)
			}
		}
		for _, tunnel := range outermost {
			if wrong[tunnel] == 0 {
				t.Errorf("%s: %s is dealt out by what is in it: this test sees nothing, or the table is old", name, tunnel)
			}
		}
		if len(within) != members {
			t.Errorf("%s: %v connections in tunnels", name, within)
		}
		if max(tunnels[0], tunnels[1], tunnels[2]) != udp {
			t.Errorf("%s: tunnels are spread: %v", name, tunnels)
		}
	}
}
