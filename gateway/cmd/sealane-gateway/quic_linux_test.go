package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// quicProgram builds test/quic, a client and a server with quic-go.
func quicProgram(t *testing.T) string {
	t.Helper()
	need(t, "go")
	program := t.TempDir() + "/quic"
	cmd := exec.Command("go", "build", "-o", program, ".")
	cmd.Dir = "../../test/quic"
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=-mod=readonly", "GOARCH=", "GOOS=")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return program
}

// Live connections are read, and appear in the audit and in the metrics, like those of TCP. No sender repeats packets
// that the kernel drops when this machine is too busy to read them. The test then tries downloads an eighth as long.
func TestLiveQUIC(t *testing.T) {
	program := quicProgram(t)
	for size, dropped := 3<<20, true; dropped; size /= 8 {
		if size < 1<<12 {
			t.Fatal("packets of the shortest download were not read in time")
		}
		t.Run(strconv.Itoa(size), func(t *testing.T) { dropped = liveQUIC(t, program, size) })
	}
}

// drops returns the metric of packets that the kernel dropped on an interface.
var drops = regexp.MustCompile(`\nsealane_gateway_interface_lost_frames_total\{interface="left",reason="ring full"\} [1-9]`)

// liveQUIC reads two downloads, and returns whether the kernel dropped a packet of them.
func liveQUIC(t *testing.T, program string, size int) (dropped bool) {
	l := newLab(t, 2)
	start(t, l.command(1, program, "serve", "10.99.0.2:443", strconv.Itoa(size))).waitFor(t, "listening", 1)
	keyLog := l.file("keys.log")
	os.WriteFile(keyLog, nil, 0o600)
	g := l.gateway(1, "--interface", "left", "--keys", keyLog, "--streams", l.file("streams"), "--metrics", "127.0.0.1:9101", "--audit", l.file("audit"),
		"--write-encrypted", l.file("encrypted.pcapng"), "--workers", "2", "--key-wait", "30s")
	for range 2 {
		cmd := l.command(0, program, "get", "10.99.0.2:443", "120")
		cmd.Env = append(os.Environ(), "SSLKEYLOGFILE="+keyLog)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	var out []byte
	done := fmt.Sprintf("sealane_gateway_quic_stream_bytes_total %v\n", float64(2*size))
	if !eventually(func() bool {
		out, _ = l.command(1, "curl", "-s", "http://127.0.0.1:9101/metrics").Output()
		dropped = drops.Match(out)
		return dropped || strings.Contains(string(out), "sealane_gateway_quic_connections_decrypted_total 2") && strings.Contains(string(out), done)
	}) {
		t.Errorf("metrics:\n%s", out)
	}
	if g.stop(); dropped {
		return true
	}
	files, _ := filepath.Glob(l.file("streams/*"))
	for _, name := range files {
		if b, err := os.ReadFile(name); err != nil || len(b) != size || !strings.HasSuffix(name, ".server") || len(bytes.Trim(b, "\x00")) > 0 {
			t.Errorf("%s: %d bytes, %v", name, len(b), err)
		}
	}
	audit, _ := os.ReadFile(l.file("audit"))
	if len(files) != 2 || strings.Count(string(audit), `"msg":"decrypted"`) != 2 || strings.Count(string(audit), `"over":"quic"`) != 4 || strings.Count(string(audit), `"alpn":"sealane-test"`) < 2 || strings.Count(string(audit), `"ja4":"q13`) != 4 {
		t.Errorf("files %q, audit:\n%s", files, audit)
	}
	// tshark cannot read all of it: the sender's datagrams are merged.
	if b, err := os.ReadFile(l.file("encrypted.pcapng")); err != nil || bytes.Count(b, []byte("SERVER_TRAFFIC_SECRET_0")) != 2 {
		t.Errorf("%d secrets are in what was written, %v", bytes.Count(b, []byte("SERVER_TRAFFIC_SECRET_0")), err)
	}
	return false
}

// arrived returns how many UDP datagrams a namespace has received for any address.
func (l *lab) arrived(ns int) (n int) {
	l.t.Helper()
	out, err := l.command(ns, "cat", "/proc/net/snmp").Output()
	if err != nil {
		l.t.Fatal(err)
	}
	var names []string
	for line := range strings.Lines(string(out)) {
		words := strings.Fields(line)
		if words[0] != "Udp:" {
			continue
		}
		if names == nil {
			names = words
			continue
		}
		for i, name := range names {
			if name == "InDatagrams" || name == "NoPorts" || name == "InErrors" {
				v, err := strconv.Atoi(words[i])
				if err != nil {
					l.t.Fatal(err)
				}
				n += v
			}
		}
	}
	return n
}

// A real client and server of QUIC are on both sides of the gateway. When closed, it lets no datagram through either
// way, whatever else is allowed. With a rule, the whole download passes, which shows that datagrams would have been
// counted.
func TestInlineQUIC(t *testing.T) {
	program := quicProgram(t)
	l := newLab(t, 3)
	const size = 3 << 20
	server := start(t, l.command(2, program, "serve", "10.99.0.2:443", strconv.Itoa(size)))
	server.waitFor(t, "listening", 1)
	for _, c := range []struct {
		name   string
		args   []string
		passes bool
	}{
		{"closed", []string{"--unread", "drop"}, false},
		{"closed, another port allowed, 2 workers", []string{"--unread", "drop", "--workers", "2", "--allow", "proto=udp,port=53", "--allow", "proto=tcp,port=443"}, false},
		{"closed, allowed and denied", []string{"--unread", "drop", "--allow", "proto=udp,port=443", "--deny", "net=10.99.0.0/24"}, false},
		{"closed, allowed", []string{"--unread", "drop", "--allow", "proto=udp,port=443"}, true},
		{"closed, allowed, 2 workers", []string{"--unread", "drop", "--workers", "2", "--allow", "proto=udp,net=10.99.0.2,port=443"}, true},
		{"open, 2 workers", []string{"--workers", "2"}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := *l
			l.t = t
			there, back := l.arrived(2), l.arrived(0)
			g := l.gateway(1, append([]string{"--inline", "left=right"}, c.args...)...)
			patience := "1"
			if c.passes {
				patience = "120"
			}
			out, err := l.command(0, program, "get", "10.99.0.2:443", patience).CombinedOutput()
			g.stop()
			there, back = l.arrived(2)-there, l.arrived(0)-back
			if c.passes {
				if err != nil || !strings.Contains(string(out), strconv.Itoa(size)+" bytes") {
					t.Errorf("the download: %v, %s", err, out)
				}
				if there == 0 || back < size/1500 {
					t.Errorf("%d datagrams to the server and %d to the client were counted", there, back)
				}
				return
			}
			if err == nil || there != 0 || back != 0 {
				t.Errorf("%d datagrams came to the server, %d to the client; the client: %v, %s", there, back, err, out)
			}
		})
	}
}
