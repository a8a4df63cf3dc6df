package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// These are Suricata's rules for faults of TCP and IP. The gateway's packets must trigger none of them.
const suricataRules = "/etc/suricata/rules/"

var wrongWithTCP = []string{"stream-events.rules", "decoder-events.rules"}

const ownRules = `
alert http any any -> any any (msg:"in a request"; http.uri; content:"secret-page"; sid:1000001; rev:1;)
alert http any any -> any any (msg:"in a body"; http.response_body; content:"meant for one client only"; sid:1000002; rev:1;)
`

const suricataConfig = `%YAML 1.1
---
stats: {enabled: yes, interval: 100}
outputs:
  - eve-log: {enabled: yes, filetype: regular, filename: eve.json, types: [alert, {http: {extended: yes}}, http2, anomaly, stats]}
pcap-file: {checksum-checks: yes}
af-packet:
  - {interface: default, cluster-type: cluster_flow, tpacket-v3: yes, block-size: 1048576, ring-size: 65536, checksum-checks: yes}
stream: {checksum-validation: yes, reassembly: {depth: 0}}
app-layer: {protocols: {http: {enabled: yes}, http2: {enabled: yes}}}
`

// seen is Suricata's log.
type seen struct {
	requests []string // the request, status, bytes of the answer
	alerts   map[string]int
	tcp      map[string]int // statistics
	drops    int            // packets that Suricata itself lost
}

// suricata writes the configuration, and returns the options that all runs have.
func suricata(t *testing.T) (args []string) {
	t.Helper()
	need(t, "suricata")
	dir := t.TempDir()
	rules := []byte(ownRules)
	for _, name := range wrongWithTCP {
		b, err := os.ReadFile(suricataRules + name)
		if err != nil || bytes.Count(b, []byte("sid:")) < 20 {
			t.Skipf("not run: no rules of Suricata's: %v", err)
		}
		rules = append(rules, b...)
	}
	os.WriteFile(filepath.Join(dir, "yaml"), []byte(suricataConfig), 0o600)
	os.WriteFile(filepath.Join(dir, "rules"), rules, 0o600)
	return []string{"-c", filepath.Join(dir, "yaml"), "-S", filepath.Join(dir, "rules"), "-k", "all"}
}

func readEve(t *testing.T, dir string) *seen {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, "eve.json"))
	if err != nil {
		t.Fatal(err)
	}
	s := &seen{alerts: make(map[string]int)}
	for line := range bytes.Lines(b) {
		var e struct {
			Kind  string `json:"event_type"`
			Alert struct{ Signature string }
			HTTP  struct {
				URL    string
				Status int
				Length int
			}
			Stats struct {
				TCP     map[string]int
				Capture struct {
					Drops int `json:"kernel_drops"`
				}
			}
		}
		if err := json.Unmarshal(line, &e); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		switch e.Kind {
		case "alert":
			s.alerts[e.Alert.Signature]++
		case "anomaly":
			s.alerts[string(line)]++
		case "http", "http2":
			if e.HTTP.URL != "" {
				s.requests = append(s.requests, fmt.Sprintf("%s %d %d", e.HTTP.URL, e.HTTP.Status, e.HTTP.Length))
			}
		case "stats":
			s.tcp, s.drops = e.Stats.TCP, e.Stats.Capture.Drops
		}
	}
	slices.Sort(s.requests)
	return s
}

// readWith has Suricata read a capture of plaintext.
func readWith(t *testing.T, args []string, capture string) *seen {
	t.Helper()
	dir := t.TempDir()
	if out, err := exec.Command("suricata", append(args, "-r", capture, "-l", dir)...).CombinedOutput(); err != nil {
		t.Fatalf("suricata: %v\n%s", err, out)
	}
	return readEve(t, dir)
}

// wrong returns Suricata's complaints.
func (s *seen) wrong() string {
	var all []string
	for name, n := range s.alerts {
		if !strings.HasPrefix(name, "in a ") {
			all = append(all, fmt.Sprintf("%d times %s", n, name))
		}
	}
	for _, name := range []string{"invalid_checksum", "reassembly_gap", "ack_unseen_data", "overlap", "midstream_pickups"} {
		if n := s.tcp[name]; n > 0 {
			all = append(all, fmt.Sprintf("%s %d", name, n))
		}
	}
	if len(s.tcp) == 0 {
		all = append(all, "no statistics")
	}
	slices.Sort(all)
	return strings.Join(all, ", ")
}

// Suricata finds all requests in all captures, and nothing to complain about.
func TestSuricataFiles(t *testing.T) {
	args := suricata(t)
	for name, want := range map[string][]string{
		"s-aes128": {"/s100k.txt 200 100000"}, "s-aes256": {"/s100k.txt 200 100000"}, "s-chacha": {"/s100k.txt 200 100000"},
		"s-12gcm": {"/s20k.txt 200 20000"}, "s-12chacha": {"/s20k.txt 200 20000"}, "s-hrr": {"/s20k.txt 200 20000"},
		"s-padding": {"/s20k.txt 200 20000"}, "s-0rtt": {"/s1k.txt 200 1000", "/s200.txt 200 200"},
		"s-keyupdate": {"/s1k.txt 200 1000", "/s200.txt 200 200", "/s20k.txt 200 20000"},
		"s-resume":    slices.Repeat([]string{"/s200.txt 200 200"}, 5), "s-50conns": slices.Repeat([]string{"/s200.txt 200 200"}, 50),
		// HTTP/3
		"quic/q-chromium": {"/favicon.ico 404 555", "/index.html 200 90", "/page0.js 200 9896", "/page1 200 9890"},
		"quic/q-nginx":    {"/page0 200 9890", "/page1 200 9890", "/upload 200 7"},
	} {
		plain := filepath.Join(t.TempDir(), "plain.pcap")
		if out, ok := run(t, "read", testdata+name+".pcap", "--keys", keyFile(t, name+".keys"), "--write", plain); !ok {
			t.Fatal(out)
		}
		s := readWith(t, args, plain)
		if !slices.Equal(s.requests, want) {
			t.Errorf("%s: %q", name, s.requests)
		}
		if w := s.wrong(); w != "" {
			t.Errorf("%s: %s", name, w)
		}
	}
	// Faults are found: a hole, and missing checksums.
	for _, c := range [][]string{
		{"reassembly_gap", "s-aes128-lost1", "--segment", "16384"},
		{"invalid_checksum", "s-aes128", "--no-checksums"},
	} {
		plain := filepath.Join(t.TempDir(), "plain.pcap")
		if out, ok := run(t, append([]string{"read", testdata + c[1] + ".pcap", "--keys", keyFile(t, "s-aes128.keys"), "--write", plain}, c[2:]...)...); !ok {
			t.Fatal(out)
		}
		if w := readWith(t, args, plain).wrong(); !strings.Contains(w, c[0]) {
			t.Errorf("no %s: %q", c[0], w)
		}
	}
}

// Suricata finds all requests on the interfaces where plaintext arrives, and in PCAP-over-IP.
func TestSuricataLive(t *testing.T) {
	args := suricata(t)
	l := newLab(t, 2)
	keyLog := l.file("keys.log")
	os.WriteFile(keyLog, nil, 0o600)
	l.run("ip", "-n", l.names[1], "link", "add", "out", "type", "veth", "peer", "name", "tool")
	l.run("ip", "-n", l.names[1], "link", "set", "out", "up")
	l.run("ip", "-n", l.names[1], "link", "set", "tool", "up")
	g := l.gateway(1, "--interface", "left", "--keys", keyLog, "--tap", "plain", "--output-interface", "out", "--serve", "127.0.0.1:57012",
		"--write", l.file("plain.pcap"), "--key-wait", "2s")
	all := make(map[string]*process)
	for i, name := range []string{"plain", "tool"} {
		os.Mkdir(l.file(name), 0o700)
		p := start(t, l.command(1, "suricata", append(args, "--af-packet="+name, "--set", fmt.Sprintf("af-packet.0.cluster-id=%d", 40+i), "-l", l.file(name))...))
		p.waitFor(t, "Engine started", 1)
		all[name] = p
	}
	os.Mkdir(l.file("served"), 0o700)
	all["served"] = start(t, l.command(1, "bash", append([]string{"-c", `cat </dev/tcp/127.0.0.1/57012 | suricata "$@" -r /dev/stdin`, "suricata",
		"-l", l.file("served")}, args...)...))
	g.waitFor(t, "reader connected", 1)

	var want []string
	get := func(page string, bytes int, args ...string) {
		want = append(want, fmt.Sprintf("/%s 200 %d", page, bytes))
		if _, err := l.curl(keyLog, page, args...); err != nil {
			t.Fatalf("curl %s: %v", page, err)
		}
	}
	for _, suite := range []string{"TLS_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256"} {
		get("secret-page?"+suite, 26, "--tls13-ciphers", suite)
		get("large?"+suite, 1<<20, "--tls13-ciphers", suite)
	}
	for _, suite := range []string{"ECDHE-ECDSA-AES128-GCM-SHA256", "ECDHE-ECDSA-AES256-GCM-SHA384", "ECDHE-ECDSA-CHACHA20-POLY1305"} {
		get("secret-page?"+suite, 26, "--tls-max", "1.2", "--ciphers", suite)
	}
	get("secret-page?one", 26, "--next", "-k", "--http2", "https://10.99.0.2:8443/secret-page?two")
	want = append(want, "/secret-page?two 200 26")
	slices.Sort(want)
	pages := len(slices.DeleteFunc(slices.Clone(want), func(s string) bool { return strings.HasPrefix(s, "/large") }))

	for name := range all {
		for range 200 { // a removed interface loses its unread packets
			if b, _ := os.ReadFile(filepath.Join(l.file(name), "eve.json")); bytes.Count(b, []byte(`"event_type":"http`)) >= len(want) {
				break
			}
			time.Sleep(50 * time.Millisecond)
		}
	}
	g.stop() // all connections and servers end
	<-all["served"].done
	for name, p := range all {
		p.stop()
		s := readEve(t, l.file(name))
		if s.drops > 0 {
			t.Logf("%s: Suricata did not get to %d packets", name, s.drops)
			continue
		}
		if !slices.Equal(s.requests, want) {
			t.Errorf("%s: %q, and it was %q", name, s.requests, want)
		}
		if w := s.wrong(); w != "" {
			t.Errorf("%s: %s", name, w)
		}
		if !maps.Equal(s.alerts, map[string]int{"in a request": pages, "in a body": pages}) {
			t.Errorf("%s: alerts %v", name, s.alerts)
		}
	}
	if s := readWith(t, args, l.file("plain.pcap")); !slices.Equal(s.requests, want) || s.wrong() != "" {
		t.Errorf("file: %q %s", s.requests, s.wrong())
	}
}
