package main

import (
	"bytes"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The test program is the command as well.
func TestMain(m *testing.M) {
	if os.Getenv("SEALANE_GATEWAY_TEST_MAIN") != "" {
		main()
		return
	}
	if os.Getenv("SEALANE_GATEWAY_TEST_CLIENT") != "" {
		testClient()
		return
	}
	os.Exit(m.Run())
}

const testdata = "../../testdata/"

// run runs the command, and returns its output and whether it succeeded.
func run(t *testing.T, args ...string) (string, bool) {
	t.Helper()
	cmd := exec.Command(os.Args[0], args...)
	cmd.Env = append(os.Environ(), "SEALANE_GATEWAY_TEST_MAIN=1")
	out, err := cmd.CombinedOutput()
	return string(out), err == nil
}

// keyFile copies a key log to where only we can read it.
func keyFile(t *testing.T, name string) string {
	b, err := os.ReadFile(testdata + name)
	if err != nil {
		t.Fatal(err)
	}
	copied := filepath.Join(t.TempDir(), "keys")
	if err := os.WriteFile(copied, b, 0o600); err != nil {
		t.Fatal(err)
	}
	return copied
}

func TestRead(t *testing.T) {
	keys := keyFile(t, "s-aes128.keys")
	dir := t.TempDir()
	for _, c := range []struct {
		name string
		args []string
		says string
		ok   bool
	}{
		{"capture", []string{testdata + "s-aes128.pcap", "--keys", keys, "--write", dir + "/a.pcap"}, "decrypted=1", true},
		{"progress, many cores", []string{testdata + "s-aes128.pcap", "--keys", keys, "--write", dir + "/b.pcapng", "--progress", "--workers", "3"}, "decrypted=1", true},
		{"keys inside", []string{testdata + "s-aes128-dsb.pcapng", "--streams", dir + "/streams"}, "decrypted=1", true},
		{"no keys", []string{testdata + "s-aes128.pcap"}, "without_keys=1", true},
		{"disk full", []string{testdata + "s-aes128.pcap", "--keys", keys, "--write", "/dev/full"}, "no space left", false},
		{"no capture", []string{keys}, "neither pcap nor pcapng", false},
		{"missing", []string{dir + "/none"}, "no such file", false},
		{"marks", []string{testdata + "s-aes128.pcap", "--keys", keys, "--write", dir + "/marked.pcap", "--mark-vlan", "7", "--mark-mac", "02:00:00:00:00:77"}, "decrypted=1", true},
		{"bad mark", []string{testdata + "s-aes128.pcap", "--mark-mac", "ff:ff:ff:ff:ff:ff"}, "one Ethernet interface", false},
		{"bad VLAN", []string{testdata + "s-aes128.pcap", "--mark-vlan", "4095"}, "the largest is 4094", false},
		{"no room for keys", []string{testdata + "s-aes128.pcap", "--max-keys", "0"}, "--max-keys 0", false},
		{"no room for connections", []string{testdata + "s-aes128.pcap", "--flows", "-1"}, "--flows -1", false},
		{"no workers", []string{testdata + "s-aes128.pcap", "--workers", "0"}, "--workers 0", false},
		{"bad port", []string{testdata + "s-aes128.pcap", "--map-port", "x=1"}, "two port numbers", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			said, ok := run(t, append([]string{"read"}, c.args...)...)
			if ok != c.ok || !strings.Contains(said, c.says) {
				t.Errorf("success %v; it says %s", ok, said)
			}
			if n := strings.Count(said, "output stopped"); n > 1 {
				t.Errorf("the same error %d times", n)
			}
		})
	}
	os.Chmod(keys, 0o644)
	if said, ok := run(t, "read", testdata+"s-aes128.pcap", "--keys", keys); ok || !strings.Contains(said, "0644") {
		t.Errorf("keys that all can read were taken: %s", said)
	}
	if _, ok := run(t, "read", testdata+"s-aes128.pcap", "--keys", keys, "--allow-readable-keys"); !ok {
		t.Error("--allow-readable-keys does not work")
	}
	// The output is a readable capture without anything left to decrypt.
	for _, name := range []string{"/a.pcap", "/b.pcapng"} {
		if said, ok := run(t, "read", dir+name); !ok || !strings.Contains(said, "malformed") && !strings.Contains(said, "connections=1") {
			t.Errorf("%s: %s", name, said)
		}
	}
}

// A failure to write the audit log is reported once.
func TestAuditDiskFull(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip("not run: there is no /dev/full")
	}
	defer full.Close()
	var said bytes.Buffer
	before := slog.Default()
	slog.SetDefault(slog.New(slog.NewTextHandler(&said, nil)))
	defer slog.SetDefault(before)
	audit := slog.New(slog.NewJSONHandler(&reporting{Writer: full, name: "audit"}, nil))
	for range 3 {
		audit.Info("decrypted")
	}
	if n := strings.Count(said.String(), "no space left"); n != 1 {
		t.Errorf("said %d times: %s", n, said.String())
	}
}
