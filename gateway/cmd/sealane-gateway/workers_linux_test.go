package main

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sealane/sealane/gateway/internal/capture"
	"github.com/sealane/sealane/gateway/internal/output"
	"github.com/sealane/sealane/gateway/internal/packet"
	"github.com/sealane/sealane/gateway/internal/traffic"
	"github.com/sealane/sealane/gateway/internal/wrap"
)

// outer makes the headers around a frame like those of a network. Both directions swap the outer addresses. The
// sender chooses the UDP port for each connection, as VXLAN and GENEVE do (RFC 7348, section 5), so that ports differ
// by direction.
func outer(frame []byte, side, conn int) {
	var udp int
	switch {
	case binary.BigEndian.Uint16(frame[12:]) == 0x0800 && string(frame[26:30]) == "\xc0\x00\x02\x01":
		if side == traffic.Server {
			copy(frame[26:34], "\xc0\x00\x02\x02\xc0\x00\x02\x01")
			if conn%4 == 3 { // another way back: the sum for the header's checksum is as it was
				copy(frame[26:34], "\xc0\x02\x00\x02\xc0\x00\x02\x01")
			}
		}
		if frame[23] == 17 {
			udp = 34
		}
	case binary.BigEndian.Uint16(frame[12:]) == 0x86dd:
		if side == traffic.Server {
			var source [16]byte
			copy(source[:], frame[22:38])
			copy(frame[22:38], frame[38:54])
			copy(frame[38:54], source[:])
		}
		if frame[20] == 17 {
			udp = 54
		}
	}
	if udp > 0 {
		binary.BigEndian.PutUint16(frame[udp:], uint16(30000+(conn*2+side)*7919%30000))
	}
}

func init() {
	if os.Getenv("SEALANE_GATEWAY_TEST_ELSEWHERE") != "" {
		kernels = func(p *packet.Placement) *packet.Placement {
			p.Keys = [3]uint32{0x9e3779b1, 0x85ebca6b, 0xc2b2ae35}
			return &packet.Placement{Keys: [3]uint32{0x27d4eb2f, 0x165667b1, 0xd3a2646d}}
		}
	}
}

// The kernel may place packets on any core while interfaces appear and disappear. Here it always uses the same core
// for the same ports. A closed gateway still forwards the data that it reads, and reads each connection once.
func TestInlineElsewhere(t *testing.T) {
	t.Setenv("SEALANE_GATEWAY_TEST_ELSEWHERE", "1")
	l := newLab(t, 3)
	keyLog := l.file("keys.log")
	os.WriteFile(keyLog, nil, 0o600)
	g := l.gateway(1, "--inline", "left=right", "--unread", "drop", "--workers", "2", "--keys", keyLog, "--write", l.file("plain.pcap"))
	const pages = 6
	for i := range pages {
		if n, err := l.curl(keyLog, "large", "--local-port", strconv.Itoa(41000+i), "--tls13-ciphers", []string{"TLS_AES_128_GCM_SHA256", "TLS_CHACHA20_POLY1305_SHA256"}[i%2]); err != nil || n != 1<<20 {
			t.Fatalf("curl: %d bytes, %v", n, err)
		}
	}
	g.stop()
	if !strings.Contains(g.text(), fmt.Sprintf("decrypted=%d without_keys=0", pages)) {
		t.Errorf("not all were read")
	}
	if !strings.Contains(g.text(), "passed from one core to another") {
		t.Error("the kernel has put all packets where they belong: this test sees nothing")
	}
}

// pinned returns on which processors threads of a process may run that may run on one only.
func pinned(t *testing.T, pid int) (all []string) {
	threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/status", pid))
	for _, name := range threads {
		b, err := os.ReadFile(name)
		if err != nil {
			continue // it has ended
		}
		for line := range strings.Lines(string(b)) {
			if list, ok := strings.CutPrefix(line, "Cpus_allowed_list:"); ok && !strings.ContainsAny(list, ",-") {
				all = append(all, strings.TrimSpace(list))
			}
		}
	}
	slices.SortFunc(all, func(a, b string) int { return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b)) })
	return all
}

// --cpus binds each worker's thread to a processor of its own; without it threads are not bound.
func TestProcessors(t *testing.T) {
	var may unix.CPUSet
	if err := unix.SchedGetaffinity(0, &may); err != nil {
		t.Fatal(err)
	}
	var two []string
	for cpu := 0; cpu < 1024 && len(two) < 2; cpu++ {
		if may.IsSet(cpu) {
			two = append(two, strconv.Itoa(cpu))
		}
	}
	if len(two) < 2 {
		t.Skip("not run: there is one processor")
	}
	need(t, "ip")
	l := &lab{t: t, dir: t.TempDir(), names: []string{fmt.Sprintf("sealane-p%d", os.Getpid())}}
	if out, err := exec.Command("ip", "netns", "add", l.names[0]).CombinedOutput(); err != nil {
		t.Skipf("not run: no network namespaces here: %s", out)
	}
	t.Cleanup(func() { exec.Command("ip", "netns", "del", l.names[0]).Run() })
	l.run("ip", "-n", l.names[0], "link", "set", "lo", "up")
	for _, cpus := range []string{"", two[1] + "," + two[0]} {
		args := []string{"--interface", "lo", "--workers", "2"}
		var want []string
		if cpus != "" {
			args, want = append(args, "--cpus", cpus), two
		}
		g := l.gateway(0, args...)
		var got []string
		if !eventually(func() bool { got = pinned(t, g.Process.Pid); return slices.Equal(got, want) }) {
			t.Errorf("--cpus %q: threads on processors %v", cpus, got)
		}
		g.stop()
	}
}

// Several cores read all connections in tunnels of all kinds. Some tunnels use UDP with ports that differ by
// direction, and some packets are fragments, in or outside tunnels. Each connection belongs to one core, whichever
// core received its packets.
func TestLiveWorkers(t *testing.T) {
	need(t, "ip", "curl")
	const conns, text = 4, 3000
	r := rand.New(rand.NewPCG(1, 1))
	var frames [][]byte
	var log []byte
	total, id := 0, uint16(0)
	add := func(change func(frame []byte, side int) [][]byte) {
		for range conns {
			var all []capture.Frame
			s, c := traffic.NewSession([]uint16{traffic.AES128, traffic.ChaCha20}[total%2], r), traffic.NewConn(total, &all)
			c.MSS = 1200
			log = append(log, s.KeyLog()...)
			c.Handshake(s, 1000)
			c.Send(traffic.Client, s.Data(traffic.Client, make([]byte, 100), 1<<14))
			c.Send(traffic.Server, s.Data(traffic.Server, make([]byte, text-100), 1<<14))
			c.Close()
			for _, f := range all {
				var seg packet.Segment
				if packet.Parse(&seg, f.Link, f.Data) != packet.TCP {
					t.Fatal("no segment")
				}
				side := traffic.Client
				if seg.Tuple.Port[seg.Side] == 443 {
					side = traffic.Server
				}
				frames = append(frames, change(f.Data, side)...)
			}
			total++
		}
	}
	split := func(frame []byte) (parts [][]byte) {
		id++
		ip := frame[14:]
		for _, p := range wrap.Split(ip, len(ip)/2, id) {
			parts = append(parts, wrap.Ether(wrap.Type(p), p))
		}
		return parts
	}
	add(func(frame []byte, _ int) [][]byte { return [][]byte{frame} })
	add(func(frame []byte, _ int) [][]byte { return split(frame) })
	// Only some packets are in fragments, which the kernel cannot put where the others are.
	n := 0
	add(func(frame []byte, _ int) [][]byte {
		if n++; n%3 == 0 && len(frame) > 100 {
			return split(frame)
		}
		return [][]byte{frame}
	})
	for i := range wrap.Tunnels {
		tunnel := &wrap.Tunnels[i]
		for _, fragments := range []bool{false, true} {
			add(func(frame []byte, side int) [][]byte {
				b := tunnel.Around(frame, 42)
				outer(b, side, total)
				if kind := binary.BigEndian.Uint16(b[12:]); fragments && (kind == 0x0800 || kind == 0x86dd) && len(b) < 1500 {
					return split(b)
				}
				return [][]byte{b}
			})
		}
	}
	for _, workers := range []string{"1", "2", "4"} {
		t.Run(workers, func(t *testing.T) {
			l := &lab{t: t, dir: t.TempDir(), names: []string{fmt.Sprintf("sealane-w%d-%s", os.Getpid(), workers)}}
			if out, err := exec.Command("ip", "netns", "add", l.names[0]).CombinedOutput(); err != nil {
				t.Skipf("not run: no network namespaces here: %s", out)
			}
			t.Cleanup(func() { exec.Command("ip", "netns", "del", l.names[0]).Run() })
			l.run("ip", "-n", l.names[0], "link", "set", "lo", "up")
			l.run("ip", "-n", l.names[0], "link", "add", "near", "mtu", "9000", "type", "veth", "peer", "name", "far", "mtu", "9000")
			l.command(0, "sysctl", "-qw", "net.ipv6.conf.all.disable_ipv6=1").Run()
			l.run("ip", "-n", l.names[0], "link", "set", "near", "up")
			l.run("ip", "-n", l.names[0], "link", "set", "far", "up")
			keys := l.file("keys.log")
			os.WriteFile(keys, log, 0o600)
			// As fast as a link of some 100 Mbit/s; slower, if this machine has so little time that packets are not read in time.
			var g *process
			for pace := 2 * time.Millisecond; pace < time.Second; pace *= 4 {
				g = l.gateway(0, "--interface", "far", "--workers", workers, "--keys", keys, "--key-wait", "5s", "--metrics", "127.0.0.1:9101",
					"--write", l.file(fmt.Sprintf("plain%d.pcap", pace)))
				if err := l.in(0, func() error {
					out, err := output.NewInterface("near", false, &output.Counts{}, func(err error) { t.Error(err) })
					if err != nil {
						return err
					}
					defer out.Close()
					for i, f := range frames {
						out.Send(f)
						if i%64 == 63 {
							out.Flush()
							time.Sleep(pace)
						}
					}
					out.Flush()
					return nil
				}); err != nil {
					t.Fatal(err)
				}
				want := fmt.Sprintf("\nsealane_gateway_plaintext_bytes_total %d\n", total*text)
				var metrics []byte
				for range 300 {
					metrics, _ = l.command(0, "curl", "-s", "http://127.0.0.1:9101/metrics").Output()
					if strings.Contains(string(metrics), want) {
						break
					}
					time.Sleep(100 * time.Millisecond)
				}
				g.stop()
				if !strings.Contains(g.text(), "not read in time") {
					break
				}
			}
			if !strings.Contains(g.text(), fmt.Sprintf("decrypted=%d without_keys=0", total)) ||
				!strings.Contains(g.text(), fmt.Sprintf("plaintext_bytes=%d", total*text)) {
				t.Errorf("of %d connections, %d bytes, not all were read", total, total*text)
			}
			// This shows that the kernel alone did not place them.
			if _, count, ok := strings.Cut(g.text(), "passed from one core to another\" count="); ok {
				n, _, _ := strings.Cut(count, "\n")
				t.Logf("of %d packets, passed from one core to another %s", len(frames), n)
			}
			if given := strings.Contains(g.text(), "passed from one core to another"); given != (workers != "1") {
				t.Errorf("packets were given from core to core: %v", given)
			}
		})
	}
}
