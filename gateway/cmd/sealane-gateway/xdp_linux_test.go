package main

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	ctls "crypto/tls"
	"crypto/x509"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/link"
	"golang.org/x/sys/unix"
)

// TestXDP: a server registers its live connections with the gateway, which receives copies of the server's packets on
// an interface, as from a switch. curl fetches pages. The gateway reads the same bytes as curl. This also holds if
// the interface has two queues, each of which receives packets of the other's connections.
func TestXDP(t *testing.T) {
	t.Run("one queue", func(t *testing.T) { testXDP(t, 1) })
	t.Run("two queues", func(t *testing.T) { testXDP(t, 2) })
}

func testXDP(t *testing.T, queues int) {
	need(t, "ip", "curl", "ethtool")
	l := &lab{t: t, dir: t.TempDir()}
	for i := range 2 {
		name := fmt.Sprintf("sealane-x%d-%d", os.Getpid(), i)
		if out, err := exec.Command("ip", "netns", "add", name).CombinedOutput(); err != nil {
			t.Skipf("not run: no network namespaces here: %s", bytes.TrimSpace(out))
		}
		l.names = append(l.names, name)
		t.Cleanup(func() { exec.Command("ip", "netns", "del", name).Run() })
	}
	n := strconv.Itoa(queues)
	l.run("ip", "link", "add", "right", "netns", l.names[0], "type", "veth", "peer", "name", "left", "netns", l.names[1], "numtxqueues", n, "numrxqueues", n)
	l.run("ip", "-n", l.names[1], "link", "add", "mirror", "numtxqueues", n, "numrxqueues", n, "type", "veth", "peer", "name", "tap", "numtxqueues", n, "numrxqueues", n)
	l.run("ip", "-n", l.names[0], "address", "add", "10.99.0.1/24", "dev", "right")
	l.run("ip", "-n", l.names[1], "address", "add", "10.99.0.2/24", "dev", "left")
	for ns, faces := range [][]string{{"right"}, {"left", "mirror", "tap"}} {
		for _, face := range faces {
			l.run("ip", "-n", l.names[ns], "link", "set", face, "up")
			for _, feature := range []string{"tx", "tso", "gso", "gro"} { // packets as they are on a wire
				l.command(ns, "ethtool", "-K", face, feature, "off").Run()
			}
		}
	}
	api := l.file("api.sock")
	cmd := l.command(1, os.Args[0], "xdp", "--interface", "tap", "--api", api, "--streams", l.file("streams"), "--cpus", []string{"0", "0,1"}[queues-1])
	cmd.Env = append(os.Environ(), "SEALANE_GATEWAY_TEST_MAIN=1")
	p := start(t, cmd)
	for range 1200 {
		if strings.Contains(p.text(), "on the packet path") {
			break
		}
		select {
		case <-p.done:
			if s := p.text(); strings.Contains(s, "operation not permitted") || strings.Contains(s, "not supported") {
				t.Skipf("not run: XDP is not permitted here: %s", s)
			}
			t.Fatalf("the gateway ended: %s", p.text())
		case <-time.After(50 * time.Millisecond):
		}
	}

	if out, _ := exec.Command("ip", "-n", l.names[1], "-d", "link", "show", "tap").Output(); !bytes.Contains(out, []byte("promiscuity 1")) {
		t.Errorf("the interface does not take all packets: %s", out)
	}

	client := &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", api)
	}}}
	page := bytes.Repeat([]byte("meant for one client only; "), 4000)
	fetch := func(t *testing.T, suite string, page []byte) {
		t.Helper()
		address, failed := l.server(suite, page, client)
		out, err := l.command(0, "curl", "-sk", "--http1.1", "--max-time", "60", "--tls13-ciphers", suite, "https://"+address+"/").Output()
		if err != nil || !bytes.Equal(out, page) {
			t.Fatalf("curl: %d bytes, %v", len(out), err)
		}
		if err := <-failed; err != nil {
			t.Fatal(err)
		}
		var got []byte
		for range 1200 {
			files, _ := filepath.Glob(l.file("streams/*"))
			got = nil
			for _, f := range files {
				b, _ := os.ReadFile(f)
				if bytes.Contains(b, page) {
					return
				}
				got = append(got, b...)
			}
			time.Sleep(50 * time.Millisecond)
		}
		t.Errorf("the gateway has read %d bytes: %.300q", len(got), got)
	}
	for _, suite := range []string{"TLS_CHACHA20_POLY1305_SHA256", "TLS_AES_128_GCM_SHA256"} {
		t.Run(suite, func(t *testing.T) { fetch(t, suite, page) })
	}
	if queues > 1 {
		// The queue and the owner of a connection are hashes with different keys. Among 28 connections they differ at
		// least once.
		for i := range 28 {
			fetch(t, []string{"TLS_CHACHA20_POLY1305_SHA256", "TLS_AES_128_GCM_SHA256"}[i%2], fmt.Appendf(nil, "page %d; %s", i, page[:5000]))
		}
	}
	p.stop()
	t.Log(p.text())
	if !strings.Contains(p.text(), "opened_in_kernel=") || strings.Contains(p.text(), "opened_in_kernel=0 ") {
		t.Error("the program has opened nothing")
	}
	if queues > 1 {
		for q := range queues {
			if m := regexp.MustCompile(fmt.Sprintf("queue=%d packets=([0-9]+) of_other_queues_connections=([0-9]+)", q)).FindStringSubmatch(p.text()); m == nil || m[1] == "0" || m[2] == "0" {
				t.Errorf("queue %d: %v", q, m)
			}
		}
	}
}

// in runs f on a thread in a namespace. Sockets made there stay there.
func (l *lab) in(ns int, f func() error) error {
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // forever: the thread ends with the goroutine
		file, err := os.Open("/var/run/netns/" + l.names[ns])
		if err == nil {
			err = unix.Setns(int(file.Fd()), unix.CLONE_NEWNET)
			file.Close()
		}
		if err == nil {
			err = f()
		}
		done <- err
	}()
	return <-done
}

// mirror sends a copy of each packet that leaves one interface out of another.
func (l *lab) mirror(from, to *net.Interface) error {
	program, err := ebpf.NewProgram(&ebpf.ProgramSpec{Type: ebpf.SchedCLS, License: "Dual BSD/GPL", Instructions: asm.Instructions{
		asm.Mov.Imm(asm.R2, int32(to.Index)),
		asm.Mov.Imm(asm.R3, 0),
		asm.FnCloneRedirect.Call(),
		asm.Mov.Imm(asm.R0, 0), // TC_ACT_OK
		asm.Return(),
	}})
	if err != nil {
		return err
	}
	defer program.Close()
	attached, err := link.AttachTCX(link.TCXOptions{Program: program, Attach: ebpf.AttachTCXEgress, Interface: from.Index})
	if err == nil {
		l.t.Cleanup(func() { attached.Close() })
	}
	return err
}

// server answers one request over TLS, after it has registered the direction of the answer.
func (l *lab) server(suite string, page []byte, api *http.Client) (address string, failed chan error) {
	l.t.Helper()
	var listener net.Listener
	if err := l.in(1, func() error {
		left, err := net.InterfaceByName("left")
		if err != nil {
			return err
		}
		mirror, err := net.InterfaceByName("mirror")
		if err != nil {
			return err
		}
		if err := l.mirror(left, mirror); err != nil {
			return err
		}
		listener, err = net.Listen("tcp4", "10.99.0.2:0")
		return err
	}); err != nil {
		l.t.Skipf("not run: nothing copies packets here: %v", err)
	}
	l.t.Cleanup(func() { listener.Close() })
	failed = make(chan error, 1)
	go func() { failed <- l.answer(listener, suite, page, api) }()
	return listener.Addr().String(), failed
}

func (l *lab) answer(listener net.Listener, suite string, page []byte, api *http.Client) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour)}
	certificate, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return err
	}
	raw, err := listener.Accept()
	if err != nil {
		return err
	}
	defer raw.Close()
	var log bytes.Buffer
	c := ctls.Server(raw, &ctls.Config{
		Certificates: []ctls.Certificate{{Certificate: [][]byte{certificate}, PrivateKey: key}}, KeyLogWriter: &log,
		MinVersion: ctls.VersionTLS13, SessionTicketsDisabled: true, // a ticket would be record 0
	})
	request := make([]byte, 4096)
	if _, err := c.Read(request); err != nil { // the handshake, and the request
		return err
	}
	if err := l.register(raw.(*net.TCPConn), suite, log.String(), api); err != nil {
		return err
	}
	head := fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Length: %d\r\nConnection: close\r\n\r\n", len(page))
	if _, err := c.Write([]byte(head)); err != nil {
		return err
	}
	for len(page) > 0 {
		n := min(len(page), 1000)
		if _, err := c.Write(page[:n]); err != nil {
			return err
		}
		page = page[n:]
	}
	return c.Close()
}

// register passes the direction from a server to the gateway, starting at the current position.
func (l *lab) register(c *net.TCPConn, suite, log string, api *http.Client) error {
	var secret []byte
	for _, line := range strings.Split(log, "\n") {
		if f := strings.Fields(line); len(f) == 3 && f[0] == "SERVER_TRAFFIC_SECRET_0" {
			secret, _ = hex.DecodeString(f[2])
		}
	}
	expand := func(label string, n int) string { // RFC 8446, 7.1
		info := binary.BigEndian.AppendUint16(nil, uint16(n))
		info = append(info, byte(6+len(label)))
		info = append(append(info, "tls13 "+label...), 0)
		b, err := hkdf.Expand(sha256.New, secret, string(info), n)
		if err != nil {
			return ""
		}
		return hex.EncodeToString(b)
	}
	keyBytes := 32
	if strings.Contains(suite, "AES_128") {
		keyBytes = 16
	}
	sequence, err := nextSequence(c)
	if err != nil {
		return err
	}
	body, err := json.Marshal(map[string]any{"source": c.LocalAddr().String(), "destination": c.RemoteAddr().String(), "from": "server",
		"suite": suite, "key": expand("key", keyBytes), "iv": expand("iv", 12), "next": 0, "sequence": sequence})
	if err != nil {
		return err
	}
	r, err := http.NewRequest("PUT", "http://sealane/flows", bytes.NewReader(body))
	if err != nil {
		return err
	}
	answer, err := api.Do(r)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusNoContent {
		return fmt.Errorf("PUT /flows: %s", answer.Status)
	}
	// The gateway registers it at once; until it has, packets pass it by.
	for range 3000 {
		answer, err := api.Get("http://sealane/flows")
		if err != nil {
			return err
		}
		var flows []struct{ Source, State string }
		err = json.NewDecoder(answer.Body).Decode(&flows)
		answer.Body.Close()
		if err != nil {
			return err
		}
		for _, f := range flows {
			if f.Source == c.LocalAddr().String() && f.State == "reading" {
				return nil
			}
		}
		time.Sleep(20 * time.Millisecond)
	}
	return errors.New("the flow is not read")
}

// nextSequence returns the next sequence number of a connection, which the kernel reports in repair mode.
func nextSequence(c *net.TCPConn) (uint32, error) {
	raw, err := c.SyscallConn()
	if err != nil {
		return 0, err
	}
	const (
		tcpRepair, tcpRepairQueue, tcpQueueSeq = 19, 20, 21
		sendQueue                              = 2
	)
	number := 0
	var errs []error
	err = raw.Control(func(fd uintptr) {
		errs = append(errs, unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, tcpRepair, 1), unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, tcpRepairQueue, sendQueue))
		n, err := unix.GetsockoptInt(int(fd), unix.IPPROTO_TCP, tcpQueueSeq)
		number = n
		errs = append(errs, err, unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, tcpRepair, -1)) // off, without a window probe
	})
	return uint32(number), errors.Join(append(errs, err)...)
}
