package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sealane/sealane/gateway/internal/capture"
	"github.com/sealane/sealane/gateway/internal/traffic"
)

// manager is a service manager, as far as it listens.
type manager struct {
	conn  *net.UnixConn
	heard chan string
}

func newManager(t *testing.T, path string) *manager {
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	m := &manager{conn, make(chan string, 1000)}
	t.Cleanup(func() { conn.Close() })
	go func() {
		b := make([]byte, 4096)
		for {
			n, err := conn.Read(b)
			if err != nil {
				return
			}
			m.heard <- string(b[:n])
		}
	}()
	return m
}

func (m *manager) waitFor(t *testing.T, what string) {
	t.Helper()
	limit := time.After(time.Minute)
	for {
		select {
		case s := <-m.heard:
			if strings.Contains(s, what) {
				return
			}
		case <-limit:
			t.Fatalf("%q was not told", what)
		}
	}
}

// A gateway as a service takes settings from a file and notifies the manager. On SIGHUP it continues with other files
// and applies changed settings. The audit describes the connections, certificates are kept, and tshark reads the
// written plaintext without keys.
func TestService(t *testing.T) {
	l := newLab(t, 2)
	keyLog, second := l.file("keys.log"), l.file("second.log")
	os.WriteFile(keyLog, nil, 0o600)
	os.WriteFile(second, nil, 0o600)
	config := func(keys string) {
		os.WriteFile(l.file("gateway.toml"), []byte(`interface = ["left"]
keys = [`+keys+`]
write = "`+l.file("plain.pcap")+`"
write-encrypted = "`+l.file("all.pcapng")+`"
certificates = "`+l.file("certificates")+`"
audit = "`+l.file("audit")+`"
key-wait = "30s"
keep-ports = true
log = "json"
`), 0o600)
	}
	config(`"` + keyLog + `"`)
	m := newManager(t, l.file("notify"))
	cmd := l.command(1, os.Args[0], "live", "--config", l.file("gateway.toml"))
	cmd.Env = append(os.Environ(), "SEALANE_GATEWAY_TEST_MAIN=1", "NOTIFY_SOCKET="+l.file("notify"), "WATCHDOG_USEC=300000")
	p := start(t, cmd)
	m.waitFor(t, "READY=1")
	m.waitFor(t, "WATCHDOG=1")
	m.waitFor(t, "WATCHDOG=1")
	if _, err := l.curl(keyLog, "secret-page", "--connect-to", "sealane.test:443:10.99.0.2:443", "https://sealane.test/secret-page"); err != nil {
		t.Fatal(err)
	}
	if !eventually(func() bool { return fileHas(l.file("plain.pcap"), "GET /secret-page", 2) }) {
		t.Error("two connections were not read")
	}

	// logrotate moves the audit away, and another key log appears.
	os.Rename(l.file("audit"), l.file("audit.1"))
	config(`"` + keyLog + `", "` + second + `"]
flows = 1000
write-keep = 7
mark-vlan = 9
map-port = ["443=80", "8443=8080"`)
	p.Process.Signal(syscall.SIGHUP)
	m.waitFor(t, "RELOADING=1")
	m.waitFor(t, "READY=1")
	p.waitFor(t, "another key log", 1)
	for _, name := range []string{"flows", "mark-vlan"} {
		p.waitFor(t, `changes only at the next start","setting":"`+name+`"`, 1)
	}
	if strings.Contains(p.text(), `"setting":"keys"`) || strings.Contains(p.text(), `"setting":"map-port"`) {
		t.Error("what has not changed, or has at once, is said to be for the next start")
	}
	if _, err := l.curl(second, "after", "--tls-max", "1.2"); err != nil {
		t.Fatal(err)
	}
	// It is written before files change again.
	if !eventually(func() bool { return fileHas(l.file("plain.1.pcap"), "GET /after", 1) }) {
		t.Error("a connection was not read")
	}
	// A configuration that is not right changes nothing.
	os.WriteFile(l.file("gateway.toml"), []byte("interface = 7"), 0o600)
	p.Process.Signal(syscall.SIGHUP)
	p.waitFor(t, "nothing changes", 1)
	p.stop()
	m.waitFor(t, "STOPPING=1")

	// The audit.
	var lines []map[string]any
	for _, name := range []string{"audit.1", "audit"} {
		f, err := os.Open(l.file(name))
		if err != nil {
			t.Fatal(err)
		}
		for s := bufio.NewScanner(f); s.Scan(); {
			var line map[string]any
			if err := json.Unmarshal(s.Bytes(), &line); err != nil {
				t.Error(err)
			}
			if line["msg"] == "ended" {
				lines = append(lines, line)
			}
		}
		f.Close()
	}
	if len(lines) != 3 {
		t.Fatalf("%d connections ended: %v", len(lines), lines)
	}
	for _, line := range lines {
		for _, name := range []string{"ja3", "ja3s", "ja3s_string", "ja4"} {
			if line[name] == nil {
				t.Errorf("no %s: %v", name, line)
			}
		}
	}
	for i, want := range []map[string]any{
		{"version": "TLS 1.3", "alpn": "http/1.1", "certificate": "CN=sealane.test", "certificate_issuer": "CN=sealane.test", "keys": "file", "state": "readable"},
		{"version": "TLS 1.3", "alpn": "http/1.1", "sni": "sealane.test", "certificate": "CN=sealane.test"},
		{"version": "TLS 1.2", "alpn": "http/1.1", "certificate": "CN=sealane.test", "certificate_issuer": "CN=sealane.test", "keys": "file"},
	} {
		found := false
		for _, line := range lines {
			all := true
			for name, v := range want {
				all = all && line[name] == v
			}
			found = found || all
		}
		if !found {
			t.Errorf("no connection is %v: %v", want, lines)
		}
		id, _ := lines[i]["community_id"].(string)
		cipher, _ := lines[i]["cipher"].(string)
		n, _ := lines[i]["server_bytes"].(float64)
		if !strings.HasPrefix(id, "1:") || len(id) != 30 || !strings.HasPrefix(cipher, "TLS_") || n < 100 {
			t.Errorf("connection %d: %v", i, lines[i])
		}
	}

	// The certificate.
	out, err := exec.Command("openssl", "x509", "-in", l.file("cert.pem"), "-outform", "der").Output()
	if err != nil {
		t.Fatal(err)
	}
	kept, _ := filepath.Glob(l.file("certificates/*.pem"))
	if len(kept) != 1 {
		t.Fatalf("certificates: %v", kept)
	}
	same, err := exec.Command("openssl", "x509", "-in", kept[0], "-outform", "der").Output()
	if err != nil || !bytes.Equal(out, same) || !strings.HasPrefix(filepath.Base(kept[0]), lines[0]["certificate_sha256"].(string)) {
		t.Errorf("%s is another certificate (%v)", kept[0], err)
	}

	// The output before and after SIGHUP, on the ports of the connections.
	for _, c := range []struct{ name, uri, port string }{{"plain.pcap", "/secret-page", "443"}, {"plain.1.pcap", "/after", "443"}} {
		out, err := exec.Command("tshark", "-n", "-r", l.file(c.name), "-d", "tcp.port==443,http", "-Y", "http.request", "-T", "fields", "-e", "http.request.uri", "-e", "tcp.dstport").Output()
		if err != nil || !strings.Contains(string(out), c.uri+"\t"+c.port) {
			t.Errorf("%s: %v %s", c.name, err, out)
		}
	}
	// Packets wait for their keys: those of the first connection may be in the first file or in the next.
	archives, _ := filepath.Glob(l.file("all*.pcapng"))
	var said []byte
	for _, name := range archives {
		if st, err := os.Stat(name); err != nil || st.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v %v", name, st, err)
		}
		out, err := exec.Command("tshark", "-n", "-r", name, "-Y", "http.request", "-T", "fields", "-e", "http.request.uri").Output()
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		said = append(said, out...)
	}
	if len(archives) < 2 || !strings.Contains(string(said), "/secret-page") || !strings.Contains(string(said), "/after") {
		t.Errorf("%v: tshark has %s", archives, said)
	}
}

func fileHas(name, what string, n int) bool {
	b, _ := os.ReadFile(name)
	return bytes.Count(b, []byte(what)) >= n
}

// A core that hangs is not alive.
func TestAlive(t *testing.T) {
	before := []uint64{0, 0}
	for i, c := range []struct {
		now  []uint64
		want bool
	}{{[]uint64{5, 5}, true}, {[]uint64{6, 5}, false}, {[]uint64{7, 5}, false}, {[]uint64{8, 6}, true}} {
		if alive(before, c.now) != c.want {
			t.Errorf("%d: %v", i, c.now)
		}
	}
}

// In captures that contain their keys, tshark decrypts all suites as it does with the key log.
func TestWriteEncrypted(t *testing.T) {
	need(t, "tshark")
	dir := t.TempDir()
	for _, name := range []string{"s-12chacha", "s-50conns", "quic/q-retry"} {
		keys := keyFile(t, name+".keys")
		file := filepath.Join(dir, filepath.Base(name)+".pcapng")
		if said, ok := run(t, "read", testdata+name+".pcap", "--keys", keys, "--write-encrypted", file, "--workers", "2"); !ok {
			t.Fatal(said)
		}
		show := func(args ...string) string {
			out, err := exec.Command("tshark", append(args, "-n", "-d", "tcp.port==443,tls", "-Y", "tls || quic", "-T", "fields", "-e", "tcp.srcport", "-e", "tls.app_data", "-e", "quic.stream_data", "-e", "http.request.uri", "-e", "data.len")...).Output()
			if err != nil {
				t.Fatal(err)
			}
			return string(out)
		}
		want := show("-r", testdata+name+".pcap", "-o", "tls.keylog_file:"+keys)
		without := show("-r", testdata+name+".pcap")
		got := show("-r", file)
		if name == "s-50conns" { // cores take turns
			want, got = sorted(want), sorted(got)
		}
		if got != want || want == without {
			t.Errorf("%s: tshark shows %d bytes, with the key log %d, without %d", name, len(got), len(want), len(without))
		}
	}
}

// However long the packets of a capture took, the keys come before them. A single pass through the file can decrypt
// everything.
func TestWriteEncryptedSlow(t *testing.T) {
	var frames []capture.Frame
	var log []byte
	r := rand.New(rand.NewPCG(1, 1))
	for i := range 3 {
		s, c := traffic.NewSession(traffic.AES128, r), traffic.NewConn(i, &frames)
		c.Step = 300e6 // each packet much later than the one before
		log = append(log, s.KeyLog()...)
		c.Handshake(s, 1000)
		c.Send(traffic.Server, s.Data(traffic.Server, make([]byte, 5000), 1<<14))
		c.Close()
	}
	dir := t.TempDir()
	in, keys, out := filepath.Join(dir, "in.pcap"), filepath.Join(dir, "keys"), filepath.Join(dir, "out.pcapng")
	os.WriteFile(in, traffic.Pcap(frames), 0o600)
	os.WriteFile(keys, log, 0o600)
	for _, workers := range []string{"1", "2"} {
		os.Remove(out)
		if said, ok := run(t, "read", in, "--keys", keys, "--write-encrypted", out, "--workers", workers); !ok {
			t.Fatal(said)
		}
		b, err := os.ReadFile(out)
		if err != nil {
			t.Fatal(err)
		}
		file, err := capture.NewReader(bytes.NewReader(b))
		if err != nil {
			t.Fatal(err)
		}
		secrets, packets := 0, 0
		file.Secrets = func(b []byte) { secrets += bytes.Count(b, []byte("TRAFFIC_SECRET_0")) }
		for block := new(capture.Block); file.ReadBlock(block) == nil; {
			if secrets != 3*2 {
				t.Fatalf("%d secrets are in front of packets %d and on", secrets, packets)
			}
			packets += len(block.Frames)
		}
		if packets != len(frames) {
			t.Errorf("%d packets of %d", packets, len(frames))
		}
	}
}

func sorted(s string) string {
	lines := strings.Split(s, "\n")
	for i := range lines {
		for j := i; j > 0 && lines[j] < lines[j-1]; j-- {
			lines[j], lines[j-1] = lines[j-1], lines[j]
		}
	}
	return strings.Join(lines, "\n")
}

// The audit is written to the named file, and never through a link placed there at any time.
func TestAuditLinks(t *testing.T) {
	dir := t.TempDir()
	name, other := filepath.Join(dir, "audit"), filepath.Join(dir, "other")
	os.WriteFile(other, []byte("as it was"), 0o600)
	link := func() {
		os.Remove(name)
		if err := os.Symlink(other, name); err != nil {
			t.Fatal(err)
		}
	}
	link()
	if _, err := openAppended(name); err == nil || !strings.Contains(err.Error(), "is a symbolic link") {
		t.Errorf("a link is opened: %v", err)
	}
	os.Remove(name)
	a, err := openAppended(name)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	io.WriteString(a, "one\n")
	os.Rename(name, name+".1")
	link() // before SIGHUP
	if err := a.reopen(); err == nil {
		t.Error("a link is opened anew")
	}
	io.WriteString(a, "two\n")
	for file, want := range map[string]string{other: "as it was", name + ".1": "one\ntwo\n"} {
		if b, _ := os.ReadFile(file); string(b) != want {
			t.Errorf("%s has %q", file, b)
		}
	}
}
