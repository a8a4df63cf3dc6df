//go:build unix

package main

import (
	"bytes"
	"crypto/tls"
	"strings"
	"testing"
)

// TestDownload has files arrive whole, and other suites than the wanted one refused.
func TestDownload(t *testing.T) {
	suite := ""
	for _, name := range []string{"TLS_AES_128_GCM_SHA256", "TLS_CHACHA20_POLY1305_SHA256"} {
		if got, err := run(3<<20+5, name, ""); err == nil && got.Bytes == 3<<20+5 && got.Suite == name && got.Seconds > 0 {
			suite = name
		} else if err == nil || !strings.Contains(err.Error(), "the connection has ") {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
	if suite == "" {
		t.Error("no suite works")
	}
	if _, err := run(1, tls.CipherSuiteName(tls.TLS_RSA_WITH_AES_128_CBC_SHA), ""); err == nil {
		t.Error("any suite is right")
	}
}

// TestCheck gives the client files that are not the one it asked for.
func TestCheck(t *testing.T) {
	file := append(bytes.Clone(block), block...)
	clear(file[:8])
	clear(file[len(block):][:8])
	file[len(block)] = 1
	size := int64(len(file))
	if err := check(bytes.NewReader(file), size); err != nil {
		t.Error(err)
	}
	if check(bytes.NewReader(file), size-1) == nil || check(bytes.NewReader(file), size+1) == nil {
		t.Error("another size is taken")
	}
	for _, at := range []int{0, 1000, len(block), len(file) - 1} {
		file[at] ^= 1
		if check(bytes.NewReader(file), size) == nil {
			t.Errorf("a wrong byte at %d is taken", at)
		}
		file[at] ^= 1
	}
}
