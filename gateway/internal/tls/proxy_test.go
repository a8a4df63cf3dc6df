package tls

import (
	"strings"
	"testing"
)

func TestProxyHeader(t *testing.T) {
	two := "\r\n\r\n\x00\r\nQUIT\n"
	for _, c := range []struct {
		b string
		n int
	}{
		{"PROXY TCP4 192.0.2.1 192.0.2.2 1 2\r\n\x16\x03", 36},
		{"PROXY UNKNOWN\r\n", 15},
		{"PROXY TCP4 192.0.2.1 192.0.2.2 1 2", 0},
		{"PROXY " + strings.Repeat("x", 200) + "\r\n", 0},
		{"PROX", 0},
		{two + "\x21\x11\x00\x0cabcdefghijkl\x16\x03", 28},
		{two + "\x20\x00\x00\x00", 16},
		{two + "\x21\x11\x00\x0cabcdefghijk", 0}, // not whole
		{two + "\x31\x11\x00\x00", 0},            // another version
		{two + "\x21\x11\xff\xff" + strings.Repeat("x", 70000), 0},
		{two[:11], 0},
		{"\x16\x03\x01", 0},
		{"", 0},
	} {
		if n := ProxyHeader([]byte(c.b)); n != c.n {
			t.Errorf("%.40q: %d, want %d", c.b, n, c.n)
		}
	}
}
