package main

import (
	"crypto/tls"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestDoctor(t *testing.T) {
	dir := t.TempDir()
	good, other := keyFile(t, "s-aes128.keys"), keyFile(t, "s-chacha.keys")
	readable := filepath.Join(dir, "readable")
	whole, err := os.ReadFile(testdata + "s-aes128.pcap")
	if err != nil {
		t.Fatal(err)
	}
	log, _ := os.ReadFile(good)
	for name, b := range map[string][]byte{readable: log, dir + "/cut.pcap": whole[:len(whole)-7], dir + "/empty": nil} {
		if err := os.WriteFile(name, b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	os.Chmod(readable, 0o644)
	const capture = testdata + "s-aes128.pcap"
	for _, c := range []struct {
		name string
		args []string
		says string
		ok   bool
	}{
		{"all is well", []string{capture, "--keys", good}, "All TLS connections are decrypted.", true},
		{"keys inside", []string{testdata + "s-aes128-dsb.pcapng"}, "All TLS connections are decrypted.", true},
		{"no keys", []string{capture}, "no keys (1): There are no keys at all.", true},
		{"keys of another connection", []string{capture, "--keys", other}, "keys of other connections (1)", true},
		{"no such log", []string{capture, "--keys", dir + "/none"}, "no such key log (1)", true},
		{"a folder", []string{capture, "--keys", dir}, "unreadable key log (1)", true},
		{"empty log", []string{capture, "--keys", dir + "/empty"}, "empty key log (1)", true},
		{"readable log", []string{capture, "--keys", readable}, "key log of everybody (1)", true},
		{"damaged capture", []string{dir + "/cut.pcap", "--keys", good}, "damaged capture (1)", true},
		{"no capture", []string{good}, "damaged capture (1): The capture cannot be read to its end: neither pcap nor pcapng", true},
		{"missing capture", []string{dir + "/none.pcap"}, "no such file", false},
		{"nothing", nil, "name a capture", false},
		{"both", []string{capture, "--interface", "lo"}, "name a capture", false},
		{"no time", []string{"--interface", "lo", "--for", "0s"}, "--for 0s", false},
		{"no interface", []string{"--interface", "no-such-one"}, "\"ip link\" lists", false},
	} {
		said, ok := run(t, append([]string{"doctor"}, c.args...)...)
		if ok != c.ok || !strings.Contains(said, c.says) {
			t.Errorf("%s: success %v; it says %s", c.name, ok, said)
		}
		if c.says != "All TLS connections are decrypted." && strings.Contains(said, "All TLS connections are decrypted.") && c.name != "readable log" && c.name != "damaged capture" {
			t.Errorf("%s: it says that all is well: %s", c.name, said)
		}
	}
}

// The doctor reads an interface; a user without the permission gets instructions.
func TestDoctorInterface(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("not run: only root may read interfaces")
	}
	certificate := selfSigned(t)
	l, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{certificate}})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				io.Copy(c, c)
			}()
		}
	}()
	name := filepath.Join(t.TempDir(), "keys")
	log, err := os.OpenFile(name, os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	stop := make(chan struct{})
	go func() {
		for {
			select {
			case <-stop:
				return
			case <-time.After(50 * time.Millisecond):
			}
			if c, err := tls.Dial("tcp", l.Addr().String(), &tls.Config{InsecureSkipVerify: true, KeyLogWriter: log}); err == nil {
				c.Write([]byte("hello"))
				c.Read(make([]byte, 5))
				c.Close()
			}
		}
	}()
	defer close(stop)
	if said, ok := run(t, "doctor", "--interface", "lo", "--for", "700ms"); !ok || !strings.Contains(said, "no keys (") || !strings.Contains(said, ":"+port) {
		t.Errorf("success %v: %s", ok, said)
	}
	// Checksums on lo are left to a network card that does not exist.
	if said, ok := run(t, "doctor", "--interface", "lo", "--for", "700ms", "--keys", name); !ok || strings.Contains(said, " 0 decrypted") || !strings.Contains(said, "offload (") {
		t.Errorf("success %v: %s", ok, said)
	}
	if said, ok := powerless(t, "doctor", "--interface", "lo"); ok || !strings.Contains(said, "run it with sudo") {
		t.Errorf("success %v: %s", ok, said)
	}
}

// powerless runs the command as root without any capability.
func powerless(t *testing.T, args ...string) (string, bool) {
	t.Helper()
	need(t, "setpriv")
	cmd := itself(args...)
	cmd = exec.Command("setpriv", append([]string{"--bounding-set=-all", "--inh-caps=-all"}, cmd.Args...)...)
	cmd.Env = append(os.Environ(), "SEALANE_GATEWAY_TEST_MAIN=1")
	out, err := cmd.CombinedOutput()
	return string(out), err == nil
}

// itself is this program as the command.
func itself(args ...string) *exec.Cmd {
	cmd := exec.Command(os.Args[0], args...)
	cmd.Env = append(os.Environ(), "SEALANE_GATEWAY_TEST_MAIN=1")
	return cmd
}
