package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sealane/sealane/gateway/internal/output"
)

// lab is some network namespaces on a line, each joined to the next, with nginx in the last.
type lab struct {
	t     *testing.T
	dir   string
	names []string
}

func need(t *testing.T, programs ...string) {
	t.Helper()
	os.Setenv("PATH", os.Getenv("PATH")+":/usr/sbin:/sbin")
	for _, p := range programs {
		if _, err := exec.LookPath(p); err != nil {
			t.Skipf("not run: there is no %s", p)
		}
	}
}

func (l *lab) command(ns int, name string, args ...string) *exec.Cmd {
	return exec.Command("ip", append([]string{"netns", "exec", l.names[ns], name}, args...)...)
}

func (l *lab) run(name string, args ...string) {
	l.t.Helper()
	if out, err := exec.Command(name, args...).CombinedOutput(); err != nil {
		l.t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
}

// newLab joins namespace i to i+1 by interfaces right0... and left0...; the first and the last have addresses.
func newLab(t *testing.T, size int) *lab {
	t.Helper()
	need(t, "ip", "nginx", "curl", "tshark", "openssl")
	l := &lab{t: t, dir: t.TempDir()}
	for i := range size {
		name := fmt.Sprintf("sealane-%d-%d", os.Getpid(), i)
		if out, err := exec.Command("ip", "netns", "add", name).CombinedOutput(); err != nil {
			t.Skipf("not run: no network namespaces here: %s", bytes.TrimSpace(out))
		}
		l.names = append(l.names, name)
		t.Cleanup(func() { exec.Command("ip", "netns", "del", name).Run() })
		l.run("ip", "-n", name, "link", "set", "lo", "up")
	}
	for i := range size - 1 {
		l.run("ip", "link", "add", "right", "netns", l.names[i], "type", "veth", "peer", "name", "left", "netns", l.names[i+1])
		l.run("ip", "-n", l.names[i], "link", "set", "right", "up")
		l.run("ip", "-n", l.names[i+1], "link", "set", "left", "up")
	}
	l.run("ip", "-n", l.names[0], "address", "add", "10.99.0.1/24", "dev", "right")
	l.run("ip", "-n", l.names[size-1], "address", "add", "10.99.0.2/24", "dev", "left")
	l.nginx(size - 1)
	return l
}

func (l *lab) file(name string) string { return filepath.Join(l.dir, name) }

func (l *lab) nginx(ns int) {
	l.run("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
		"-subj", "/CN=sealane.test", "-keyout", l.file("key.pem"), "-out", l.file("cert.pem"))
	os.Mkdir(l.file("www"), 0o755)
	os.WriteFile(l.file("www/large"), bytes.Repeat([]byte("0123456789abcdef"), 1<<16), 0o644)
	os.WriteFile(l.file("www/secret-page"), []byte("meant for one client only\n"), 0o644)
	conf := fmt.Sprintf(`daemon off; user root; pid %[1]s/pid; error_log %[1]s/error.log; worker_processes 1;
events { worker_connections 256; }
http { access_log off; client_body_temp_path %[1]s/b; proxy_temp_path %[1]s/p; fastcgi_temp_path %[1]s/f; uwsgi_temp_path %[1]s/u; scgi_temp_path %[1]s/s;
  server { listen 10.99.0.2:443 ssl; listen 10.99.0.2:8443 ssl http2; ssl_certificate %[1]s/cert.pem; ssl_certificate_key %[1]s/key.pem; ssl_protocols TLSv1.2 TLSv1.3; root %[1]s/www;
    location = /slow { alias %[1]s/www/large; limit_rate 30k; } } }
`, l.dir)
	os.WriteFile(l.file("nginx.conf"), []byte(conf), 0o600)
	cmd := l.command(ns, "nginx", "-c", l.file("nginx.conf"), "-e", l.file("error.log"))
	if err := cmd.Start(); err != nil {
		l.t.Fatal(err)
	}
	l.t.Cleanup(func() { cmd.Process.Signal(os.Interrupt); cmd.Wait() })
	if !eventually(func() bool { _, err := os.Stat(l.file("pid")); return err == nil }) {
		l.t.Fatal("nginx did not start")
	}
}

// curl asks for a page and returns its length; an empty keyLog keeps the keys secret.
func (l *lab) curl(keyLog, page string, args ...string) (int, error) {
	cmd := l.command(0, "curl", append([]string{"-sk", "--http1.1", "--max-time", "60", "https://10.99.0.2/" + page}, args...)...)
	cmd.Env = os.Environ()
	if keyLog != "" {
		cmd.Env = append(cmd.Env, "SSLKEYLOGFILE="+keyLog)
	}
	out, err := cmd.Output()
	return len(out), err
}

// eventually reports whether a condition becomes true within a minute. On an idle machine it does at once.
func eventually(is func() bool) bool {
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		if is() {
			return true
		}
		if time.Now().After(deadline) {
			return false
		}
	}
}

// process is a program that runs beside the test, and its output.
type process struct {
	*exec.Cmd
	mu   sync.Mutex
	said bytes.Buffer
	done chan struct{}
}

func (p *process) text() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.said.String()
}

func (p *process) waitFor(t *testing.T, what string, n int) bool {
	t.Helper()
	if eventually(func() bool { return strings.Count(p.text(), what) >= n }) {
		return true
	}
	t.Errorf("%d times %q was to come, and it is\n%s", n, what, p.text())
	return false
}

func (p *process) stop() {
	p.Process.Signal(os.Interrupt)
	<-p.done
}

func start(t *testing.T, cmd *exec.Cmd) *process {
	t.Helper()
	p := &process{Cmd: cmd, done: make(chan struct{})}
	r, w := io.Pipe()
	cmd.Stdout, cmd.Stderr = w, w
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		s := bufio.NewScanner(r)
		for s.Scan() {
			p.mu.Lock()
			p.said.WriteString(s.Text() + "\n")
			p.mu.Unlock()
		}
	}()
	go func() { cmd.Wait(); w.Close(); close(p.done) }()
	t.Cleanup(func() {
		p.stop()
		if t.Failed() {
			t.Logf("%s:\n%s", cmd.Args, p.text())
		}
	})
	return p
}

func (l *lab) gateway(ns int, args ...string) *process {
	cmd := l.command(ns, os.Args[0], append([]string{"live"}, args...)...)
	cmd.Env = append(os.Environ(), "SEALANE_GATEWAY_TEST_MAIN=1")
	p := start(l.t, cmd)
	p.waitFor(l.t, "msg=reading", 1)
	return p
}

// tshark prints the HTTP requests and answers that it finds on an interface. Its messages come before it captures. It
// captures once the kernel has one more packet socket for every protocol (ETH_P_ALL, 0003) on this interface.
func (l *lab) tshark(ns int, name string) *process {
	before := l.readers(ns, name)
	p := start(l.t, l.command(ns, "tshark", "-l", "-Y", "http", "-T", "fields", "-e", "http.request.uri",
		"-e", "http.response.code", "-e", "http.content_length", "-i", name))
	p.waitFor(l.t, "Capturing on", 1)
	if !eventually(func() bool { return l.readers(ns, name) > before }) {
		l.t.Errorf("tshark does not read %s", name)
	}
	return p
}

// readers counts the packet sockets that take all of an interface (/proc/net/packet: address, references, type, protocol, interface, running).
func (l *lab) readers(ns int, name string) (n int) {
	if err := l.in(ns, func() error {
		i, err := net.InterfaceByName(name)
		if err != nil {
			return err
		}
		table, err := os.ReadFile("/proc/thread-self/net/packet")
		for _, line := range strings.Split(string(table), "\n") {
			if f := strings.Fields(line); len(f) > 5 && f[3] == "0003" && f[4] == strconv.Itoa(i.Index) && f[5] == "1" {
				n++
			}
		}
		return err
	}); err != nil {
		l.t.Fatal(err)
	}
	return n
}

func TestLive(t *testing.T) {
	l := newLab(t, 2)
	keyLog := l.file("keys.log")
	os.WriteFile(keyLog, nil, 0o600)
	l.run("ip", "-n", l.names[1], "link", "add", "out", "type", "veth", "peer", "name", "tool")
	l.run("ip", "-n", l.names[1], "link", "set", "out", "up")
	l.run("ip", "-n", l.names[1], "link", "set", "tool", "up")
	g := l.gateway(1, "--interface", "left", "--keys", keyLog, "--tap", "plain", "--output-interface", "out", "--serve", "127.0.0.1:57012",
		"--metrics", "127.0.0.1:9101", "--audit", l.file("audit"), "--keys-socket", l.file("keys.sock"), "--workers", "2",
		"--key-wait", "30s") // this machine may be busy
	onTAP, onVeth := l.tshark(1, "plain"), l.tshark(1, "tool")
	overIP := start(t, l.command(1, "tshark", "-l", "-i", "TCP@127.0.0.1:57012", "-Y", "http", "-T", "fields", "-e", "http.request.uri"))
	g.waitFor(t, "reader connected", 1)
	for i, suite := range []string{"TLS_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256"} {
		page := []string{"secret-page", "large", "secret-page?again"}[i]
		if n, err := l.curl(keyLog, page, "--tls13-ciphers", suite); err != nil || n < 20 {
			t.Fatalf("curl: %d bytes, %v", n, err)
		}
	}
	if _, err := l.curl(keyLog, "old", "--tls-max", "1.2"); err != nil {
		t.Fatal(err)
	}
	for name, p := range map[string]*process{"TAP": onTAP, "interface": onVeth} {
		for _, want := range []string{"/secret-page\n", "/secret-page?again", "/large", "/old", "\t200\t1048576", "\t200\t26", "\t404"} {
			if !p.waitFor(t, strings.TrimSuffix(want, "\n"), 1) {
				t.Errorf("not on %s: %q", name, want)
			}
		}
	}
	overIP.waitFor(t, "/large", 1)

	// The keys of another connection arrive over the socket.
	other := l.file("other.log")
	if _, err := l.curl(other, "by-socket"); err != nil {
		t.Fatal(err)
	}
	// They arrive after the connection, within --key-wait.
	b, err := os.ReadFile(other)
	if err != nil {
		t.Fatal(err)
	}
	c, err := net.Dial("unix", l.file("keys.sock"))
	if err != nil {
		t.Fatal(err)
	}
	c.Write(b)
	c.Close()
	onTAP.waitFor(t, "/by-socket", 1)

	// The counters. Connections end when they are over, although the keys of some arrive later.
	var out []byte
	if !eventually(func() bool { // some times a second
		out, _ = l.command(1, "curl", "-s", "http://127.0.0.1:9101/metrics").Output()
		return strings.Contains(string(out), "sealane_gateway_connections_decrypted_total 5") &&
			strings.Contains(string(out), `sealane_gateway_directions_total{lost="",state="reading"} 10`)
	}) {
		t.Errorf("metrics:\n%s", out)
	}
	g.stop()
	audit, _ := os.ReadFile(l.file("audit"))
	if !strings.Contains(string(audit), `"client_direction":"reading","server_direction":"reading"`) {
		t.Errorf("no states of directions in the audit log:\n%s", audit)
	}
	if n := strings.Count(string(audit), `"msg":"decrypted"`); n != 5 {
		t.Errorf("%d connections in the audit log:\n%s", n, audit)
	}
	if !strings.Contains(g.text(), "decrypted=5 without_keys=0") {
		t.Error("not all connections were decrypted")
	}
}

// TestChromium reads the requests of a browser that writes its keys to a given file.
func TestChromium(t *testing.T) {
	need(t, "chromium")
	l := newLab(t, 2)
	keyLog := l.file("keys.log")
	os.WriteFile(keyLog, nil, 0o600)
	g := l.gateway(1, "--interface", "left", "--keys", keyLog, "--tap", "plain", "--key-wait", "30s")
	onTAP := l.tshark(1, "plain")
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	browser := exec.CommandContext(ctx, "ip", "netns", "exec", l.names[0], "chromium", "--headless", "--no-sandbox", "--disable-gpu",
		"--ignore-certificate-errors", "--user-data-dir="+l.file("profile"), "--ssl-key-log-file="+keyLog, "--dump-dom",
		"https://10.99.0.2/secret-page?browser")
	browser.WaitDelay = time.Second
	page, err := browser.Output()
	if err != nil || !bytes.Contains(page, []byte("meant for one client only")) {
		t.Fatalf("chromium: %v\n%s", err, page)
	}
	onTAP.waitFor(t, "/secret-page?browser", 1)
	onTAP.waitFor(t, "\t200\t26", 1)
	g.stop()
	if !strings.Contains(g.text(), "without_keys=0") {
		t.Error("not all connections were decrypted")
	}
}

// datagrams sends some from the first namespace to the last, and returns how many arrive.
func (l *lab) datagrams(n int) int {
	var to, from net.PacketConn
	if err := errors.Join(l.in(2, func() (err error) {
		to, err = net.ListenPacket("udp", "10.99.0.2:7777")
		return err
	}), l.in(0, func() (err error) {
		from, err = net.ListenPacket("udp", "10.99.0.1:7777")
		return err
	})); err != nil {
		l.t.Fatal(err)
	}
	defer to.Close()
	defer from.Close()
	for range n {
		from.WriteTo([]byte("datagram"), &net.UDPAddr{IP: net.IPv4(10, 99, 0, 2), Port: 7777})
	}
	arrived := 0
	b := make([]byte, 100)
	for to.SetReadDeadline(time.Now().Add(30 * time.Second)); ; {
		if _, _, err := to.ReadFrom(b); err != nil {
			return arrived
		}
		if arrived++; arrived >= n { // no more are to come
			to.SetReadDeadline(time.Now().Add(time.Second))
		}
	}
}

// quic sends packets like the first of a client (RFC 9000, section 17.2.2), and returns how many of them arrive.
func (l *lab) quic() int {
	var to, from net.PacketConn
	if err := errors.Join(l.in(2, func() (err error) {
		to, err = net.ListenPacket("udp", "10.99.0.2:443")
		return err
	}), l.in(0, func() (err error) {
		from, err = net.ListenPacket("udp", "10.99.0.1:0")
		return err
	})); err != nil {
		l.t.Fatal(err)
	}
	defer to.Close()
	defer from.Close()
	initial := append([]byte{0xc0, 0, 0, 0, 1, 8, 1, 2, 3, 4, 5, 6, 7, 8, 0, 0, 0x44, 0x9e}, make([]byte, 1182)...)
	for range 10 {
		from.WriteTo(initial, &net.UDPAddr{IP: net.IPv4(10, 99, 0, 2), Port: 443})
	}
	n := 0
	for to.SetReadDeadline(time.Now().Add(500 * time.Millisecond)); ; n++ {
		if _, _, err := to.ReadFrom(make([]byte, 1500)); err != nil {
			return n
		}
	}
}

func TestInline(t *testing.T) {
	for _, c := range []string{"pass 1", "drop 1", "pass 2", "drop 2"} {
		unread, workers, _ := strings.Cut(c, " ")
		t.Run(c, func(t *testing.T) {
			l := newLab(t, 3)
			keyLog := l.file("keys.log")
			os.WriteFile(keyLog, nil, 0o600)
			if _, err := l.curl(keyLog, "secret-page", "--connect-timeout", "1"); err == nil {
				t.Fatal("there is a way around the gateway")
			}
			args := []string{"--cpus", map[string]string{"1": "0", "2": "0,1"}[workers], "--inline", "left=right", "--unread", unread, "--workers", workers, "--keys", keyLog, "--tap", "plain", "--key-wait", "30s"}
			if unread == "drop" {
				args = append(args, "--allow", "proto=udp,net=10.99.0.2,port=7777")
			}
			g := l.gateway(1, args...)
			shark := l.tshark(1, "plain")
			for _, page := range []string{"secret-page", "large"} {
				if n, err := l.curl(keyLog, page); err != nil || n < 20 {
					t.Fatalf("curl: %d bytes of %s, %v", n, page, err)
				}
				shark.waitFor(t, "/"+page, 1)
			}
			shark.waitFor(t, "\t200\t1048576", 1)
			// No packet is duplicated or loops.
			if n := l.datagrams(10); n != 10 {
				t.Errorf("of 10 datagrams %d arrived", n)
			}
			// The gateway uses the keys of this connection only if none of it may pass unread. With the keys, the
			// decrypted plaintext shows what passed, besides the server's view.
			others := l.file("others.log")
			os.WriteFile(others, nil, 0o600)
			beside := l.gateway(2, "--interface", "left", "--keys", others, "--write", l.file("beside.pcap"), "--key-wait", "30s")
			n, err := l.curl(others, "large", "--max-time", map[string]string{"pass": "60", "drop": "2"}[unread])
			switch unread {
			case "pass":
				if n != 1<<20 {
					t.Errorf("%d bytes passed, %v", n, err)
				}
			case "drop":
				if n != 0 {
					t.Errorf("%d bytes passed", n)
				}
				if n := l.quic(); n != 0 {
					t.Errorf("%d datagrams of QUIC passed", n)
				}
			}
			if unread == "pass" {
				eventually(func() bool { return fileHas(l.file("beside.pcap"), "GET /large", 1) })
			}
			beside.stop()
			plain, _ := os.ReadFile(l.file("beside.pcap"))
			if asked := bytes.Contains(plain, []byte("GET /large")); asked != (unread == "pass") {
				t.Errorf("the request came through: %v", asked)
			}
			g.stop()
			if !strings.Contains(g.text(), "decrypted=2 without_keys=1") {
				t.Error("of three connections two were to be decrypted")
			}
		})
	}
}

// TestInlineVLAN has frames with VLAN tags go through, which the kernel takes out of them on the way in.
func TestInlineVLAN(t *testing.T) {
	l := newLab(t, 3)
	l.gateway(1, "--inline", "left=right", "--unread", "drop", "--allow", "proto=udp,net=10.99.0.2,port=7")
	shark := start(t, l.command(2, "tshark", "-l", "-n", "-i", "left", "-Y", "udp.port==7", "-T", "fields", "-e", "vlan.id", "-e", "vlan.priority", "-e", "udp.length",
		"-e", "ieee8021ad.id"))
	shark.waitFor(t, "Capturing on", 1)
	for range 1200 {
		if err := l.in(0, func() error {
			out, err := output.NewInterface("right", false, &output.Counts{}, func(err error) { t.Error(err) })
			if err != nil {
				return err
			}
			defer out.Close()
			for i, tags := range []string{"", "81006007", "81000007" + "81000009", "88a80007" + "81000009"} {
				frame := "020000000002" + "020000000001" + tags + "0800" + fmt.Sprintf("4500%04x0000000040110000", 28+i) + "0a6300010a630002" +
					fmt.Sprintf("00070007%04x0000", 8+i) + strings.Repeat("00", 40)
				b, err := hex.DecodeString(frame)
				if err != nil {
					return err
				}
				out.Send(b)
			}
			out.Flush()
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(shark.text(), "\t11\t") { // it has begun
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	for _, want := range []string{"\t\t8\t", "7\t3\t9\t", "7,9\t0,0\t10\t", "9\t0\t11\t7\n"} {
		shark.waitFor(t, want, 1)
	}
}

// Impossible settings are refused before anything is opened.
func TestLiveFlags(t *testing.T) {
	for flags, says := range map[string]string{
		"": "nothing to read", "--interface lo --unread drop": "--inline", "--inline a=b --allow proto=udp": "--unread drop",
		"--inline a=b --unread drop --allow what=1": "terms are", "--inline a=b --hold 0": "1 to 64",
		"--interface lo --cpus 0,1": "2 processors for 1 workers", "--interface lo --cpus x": "neither", "--interface lo --cpus 0-1,1 --workers 3": "twice",
		"--interface lo --memory 100": "at least", "--interface lo --flows 1000000": "--memory 1024", "--inline lo=lo": "two interfaces", "--interface lo --workers 0": "1 to 1024",
		"--interface lo --ring 0": "1 to 4096", "--interface lo --ring 4096 --workers 1024": "more than half", "--interface lo --flows 0": "--flows 0",
		"--interface lo --max-keys -1": "--max-keys -1", "--interface lo --key-wait -1s": "0 or more", "--interface lo --output-interface lo": "its own output",
		"--interface lo --segment 0": "1 to 65000", "--interface lo --mark-mac 1": "Ethernet", "--interface none.such": "no such network interface",
	} {
		if said, ok := run(t, append([]string{"live"}, strings.Fields(flags)...)...); ok || !strings.Contains(said, says) || strings.Contains(said, "goroutine") {
			t.Errorf("%s: %s", flags, said)
		}
	}
}

// TestWithoutRoot runs the gateway as another user, with the two capabilities that it needs.
func TestWithoutRoot(t *testing.T) {
	need(t, "setpriv", "ip")
	if os.Getuid() != 0 {
		t.Skip("not run: only root can become somebody else")
	}
	dir, err := os.MkdirTemp("/tmp", "sealane")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	os.Chmod(dir, 0o755)
	program := filepath.Join(dir, "gateway")
	b, err := os.ReadFile(os.Args[0])
	if err == nil {
		err = os.WriteFile(program, b, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		capabilities string
		works        bool
	}{{"+net_raw,+net_admin", true}, {"-all", false}} {
		cmd := exec.Command("unshare", "-n", "setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--inh-caps="+c.capabilities,
			"--ambient-caps="+c.capabilities, program, "live", "--interface", "lo", "--promiscuous")
		cmd.Env = append(os.Environ(), "SEALANE_GATEWAY_TEST_MAIN=1")
		p := start(t, cmd)
		eventually(func() bool { return p.text() != "" })
		if reading := strings.Contains(p.text(), "msg=reading"); reading != c.works {
			t.Errorf("with %s: %s", c.capabilities, p.text())
		}
		p.stop()
	}
}

// TestInterfaceGone takes an interface away and brings it back; meanwhile the other one is read, and the status page is shown.
func TestInterfaceGone(t *testing.T) {
	need(t, "ip")
	l := &lab{t: t, dir: t.TempDir(), names: []string{fmt.Sprintf("sealane-%d-gone", os.Getpid())}}
	if out, err := exec.Command("ip", "netns", "add", l.names[0]).CombinedOutput(); err != nil {
		t.Skipf("not run: no network namespaces here: %s", bytes.TrimSpace(out))
	}
	t.Cleanup(func() { exec.Command("ip", "netns", "del", l.names[0]).Run() })
	come := func() {
		l.run("ip", "-n", l.names[0], "link", "add", "here", "type", "veth", "peer", "name", "there")
		l.run("ip", "-n", l.names[0], "link", "set", "here", "up")
		l.run("ip", "-n", l.names[0], "link", "set", "there", "up")
	}
	come()
	l.run("ip", "-n", l.names[0], "link", "add", "stays", "type", "veth", "peer", "name", "sends")
	l.run("ip", "-n", l.names[0], "link", "set", "stays", "up")
	l.run("ip", "-n", l.names[0], "link", "set", "sends", "up")
	g := l.gateway(0, "--interface", "here,stays", "--status")
	g.waitFor(t, "bytes of plaintext", 2)
	l.run("ip", "-n", l.names[0], "link", "del", "here")
	g.waitFor(t, "cannot read", 1)
	time.Sleep(600 * time.Millisecond)
	if n := strings.Count(g.text(), "cannot read"); n != 1 {
		t.Errorf("it was said %d times", n)
	}
	if err := l.in(0, func() error {
		out, err := output.NewInterface("sends", false, &output.Counts{}, func(err error) { t.Error(err) })
		if err != nil {
			return err
		}
		defer out.Close()
		for range 7000 {
			out.Send(make([]byte, 60))
		}
		out.Flush()
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	read := regexp.MustCompile(`packets +7\d\d\d `)
	if !eventually(func() bool { return read.MatchString(g.text()) }) {
		t.Fatal("the other interface is not read")
	}
	come()
	g.waitFor(t, "reading again", 1)
}

// TestOutputInterfaceGone removes the interface for plaintext, and brings it back.
func TestOutputInterfaceGone(t *testing.T) {
	l := newLab(t, 2)
	keyLog := l.file("keys.log")
	os.WriteFile(keyLog, nil, 0o600)
	come := func() {
		l.run("ip", "-n", l.names[1], "link", "add", "out", "type", "veth", "peer", "name", "tool")
		l.run("ip", "-n", l.names[1], "link", "set", "out", "up")
		l.run("ip", "-n", l.names[1], "link", "set", "tool", "up")
	}
	come()
	g := l.gateway(1, "--interface", "left", "--keys", keyLog, "--output-interface", "out", "--key-wait", "30s")
	l.run("ip", "-n", l.names[1], "link", "del", "out")
	for range 2 {
		if _, err := l.curl(keyLog, "secret-page"); err != nil {
			t.Fatal(err)
		}
	}
	g.waitFor(t, "output stopped", 1)
	come()
	shark := l.tshark(1, "tool")
	for i := 0; !strings.Contains(shark.text(), "\t200\t26"); i++ {
		if i == 200 {
			t.Fatal("nothing comes")
		}
		if _, err := l.curl(keyLog, "secret-page"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(200 * time.Millisecond)
	}
	if n := strings.Count(g.text(), "output stopped"); n != 1 {
		t.Errorf("it was said %d times", n)
	}
}

// TestFlowsBySocket has a connection's keys given with its addresses, in the middle of it.
func TestFlowsBySocket(t *testing.T) {
	l := newLab(t, 2)
	g := l.gateway(1, "--interface", "left", "--api", l.file("api"), "--write", l.file("plain.pcap"))
	client := http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", l.file("api"))
	}}}
	do := func(method, query, body string) (int, string) {
		req, _ := http.NewRequest(method, "http://gateway/flows"+query, strings.NewReader(body))
		r, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Body.Close()
		b, _ := io.ReadAll(r.Body)
		return r.StatusCode, string(b)
	}
	if st, err := os.Stat(l.file("api")); err != nil || st.Mode().Perm()&0o077 != 0 {
		t.Errorf("others may connect: %v, %v", st.Mode(), err)
	}
	good := `{"source":"10.99.0.1:5000","destination":"10.99.0.2:443","suite":"TLS_AES_128_GCM_SHA256","key":"` + strings.Repeat("00", 16) +
		`","iv":"` + strings.Repeat("00", 12) + `","next":7}`
	if code, b := do("PUT", "", good); code != 204 {
		t.Errorf("PUT: %d %s", code, b)
	}
	for _, bad := range []string{"", "{}", `{"source":"x"}`, strings.Replace(good, `"key":"00`, `"key":"0g`, 1), strings.Replace(good, `"key":"00`, `"key":"`, 1),
		strings.Replace(good, "AES_128", "AES_129", 1), "[" + good + ",{}]"} {
		if code, _ := do("PUT", "", bad); code != 400 {
			t.Errorf("PUT %.60s: %d", bad, code)
		}
	}
	var all []map[string]any
	code, b := do("GET", "", "")
	if err := json.Unmarshal([]byte(b), &all); code != 200 || err != nil || len(all) != 1 || all[0]["next"] != 7.0 || all[0]["key"] != nil {
		t.Errorf("GET: %d %s", code, b)
	}
	which := "?source=10.99.0.1:5000&destination=10.99.0.2:443"
	if code, _ := do("DELETE", which, ""); code != 204 {
		t.Errorf("DELETE: %d", code)
	}
	if code, _ := do("DELETE", which, ""); code != 404 {
		t.Errorf("DELETE again: %d", code)
	}
	if code, _ := do("GET", which, ""); code != 404 {
		t.Errorf("GET: %d", code)
	}

	// A download that is on its way, from the server's secret. It is the server that takes its time: a slow reader would
	// have much of the page in buffers before the key is given.
	keyLog := l.file("keys.log")
	cmd := l.command(0, "curl", "-sk", "--http1.1", "--local-port", "5001", "--tls13-ciphers", "TLS_AES_256_GCM_SHA384",
		"-o", l.file("page"), "https://10.99.0.2/slow")
	cmd.Env = append(os.Environ(), "SSLKEYLOGFILE="+keyLog)
	curl := start(t, cmd)
	var secret string
	eventually(func() bool {
		b, _ := os.ReadFile(keyLog)
		for line := range strings.Lines(string(b)) {
			if f := strings.Fields(line); strings.HasSuffix(line, "\n") && len(f) == 3 && f[0] == "SERVER_TRAFFIC_SECRET_0" {
				secret = f[2]
			}
		}
		return secret != ""
	})
	body := `{"source":"10.99.0.2:443","destination":"10.99.0.1:5001","from":"server","suite":"TLS_AES_256_GCM_SHA384","secret":"` + secret + `"}`
	if code, b := do("PUT", "", body); code != 204 {
		t.Errorf("PUT: %d %s", code, b)
	}
	eventually(func() bool { return fileHas(l.file("plain.pcap"), "0123456789abcdef", 1000) })
	curl.stop()
	g.stop()
	plain, _ := os.ReadFile(l.file("plain.pcap"))
	if n := bytes.Count(plain, []byte("0123456789abcdef")); n < 1000 {
		t.Errorf("%d lines of the page were read", n)
	}
	if strings.Contains(g.text(), secret) {
		t.Error("the secret is in the log")
	}
}
