package main

import (
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// The kernel's own VXLAN runs over an interface that is too small for it. Tunneled packets arrive in fragments, and
// one core reads them.
func TestLiveTunnel(t *testing.T) {
	need(t, "ethtool")
	l := newLab(t, 2)
	for ns, face := range []string{"right", "left"} {
		own, other := string(rune('1'+ns)), string(rune('2'-ns))
		l.run("ip", "-n", l.names[ns], "address", "flush", "dev", face)
		l.run("ip", "-n", l.names[ns], "address", "add", "10.97.0."+own+"/24", "dev", face)
		if out, err := exec.Command("ip", "-n", l.names[ns], "link", "add", "vx", "type", "vxlan", "id", "42", "dstport", "4789",
			"local", "10.97.0."+own, "remote", "10.97.0."+other, "df", "unset").CombinedOutput(); err != nil {
			t.Skipf("not run: no VXLAN here: %s", out)
		}
		l.run("ip", "-n", l.names[ns], "address", "add", "10.99.0."+own+"/24", "dev", "vx")
		l.run("ip", "-n", l.names[ns], "link", "set", "vx", "mtu", "1500", "up")
		for _, feature := range []string{"tx", "tso", "gso", "gro"} { // packets as they are on a wire
			l.command(ns, "ethtool", "-K", "vx", feature, "off").Run()
			l.command(ns, "ethtool", "-K", face, feature, "off").Run()
		}
	}
	keyLog := l.file("keys.log")
	os.WriteFile(keyLog, nil, 0o600)
	g := l.gateway(1, "--interface", "left", "--keys", keyLog, "--streams", l.file("streams"), "--key-wait", "30s", "--metrics", "127.0.0.1:9101")
	if n, err := l.curl(keyLog, "large"); err != nil || n != 1<<20 {
		t.Fatalf("curl: %d bytes, %v", n, err)
	}
	zeroes := []string{`fragmented_packets_total{outcome="whole"} 0`, `tunnels_total{kind="vxlan"} 0`}
	var left []string
	if !eventually(func() bool { // counts are published ten times a second
		metrics, err := l.command(1, "curl", "-s", "http://127.0.0.1:9101/metrics").Output()
		left = slices.DeleteFunc(slices.Clone(zeroes), func(zero string) bool { return err == nil && !strings.Contains(string(metrics), zero) })
		return len(left) == 0
	}) {
		t.Errorf("still %q", left)
	}
	g.stop()
	if !strings.Contains(g.text(), "decrypted=1 without_keys=0") || strings.Contains(g.text(), "holes") {
		t.Errorf("not all was read")
	}
}
