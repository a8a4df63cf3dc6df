package main

import (
	"bytes"
	"encoding/pem"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A client may present any certificates, including those of others. A certificate that another client presented first
// does not keep a chain from being written. The number of files is limited.
func TestChains(t *testing.T) {
	dir := t.TempDir()
	o := outputs{chains: dir}
	write := o.chain()
	of := func(name string) (n int, text []byte) {
		b, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		for block, rest := pem.Decode(b); block != nil; block, rest = pem.Decode(rest) {
			n, text = n+1, append(text, block.Bytes...)
		}
		return n, text
	}
	names := func() (all []string) {
		found, _ := filepath.Glob(filepath.Join(dir, "*.pem"))
		for _, f := range found {
			all = append(all, filepath.Base(f))
		}
		return all
	}
	real := [][]byte{[]byte("leaf"), []byte("authority")}
	write("f1", [][]byte{real[0], []byte("junk")})
	for range 3 {
		write("f1", real)
	}
	if all := names(); len(all) != 2 {
		t.Fatalf("%q", all)
	}
	for _, name := range names() {
		n, text := of(name)
		if second := strings.Contains(name, "-"); n != 2 || second != bytes.Equal(text, []byte("leafauthority")) {
			t.Errorf("%s: %d certificates, %q", name, n, text)
		}
	}
	// In the next run they are there, and stay.
	o = outputs{chains: dir}
	write = o.chain()
	write("f1", real)
	write("f1", [][]byte{real[0], []byte("junk")})
	if all := names(); len(all) != 2 {
		t.Errorf("%q", all)
	}
	// A link is not followed.
	secret := filepath.Join(t.TempDir(), "secret")
	if os.WriteFile(secret, []byte("secret"), 0o600) == nil && os.Symlink(secret, filepath.Join(dir, "f2.pem")) == nil {
		write("f2", real)
		if b, _ := os.ReadFile(secret); string(b) != "secret" {
			t.Errorf("%q was written through a link", b)
		}
	}
	before := len(names())
	for i := range maxChains + 100 {
		write(fmt.Sprintf("n%d", i), [][]byte{fmt.Append(nil, i)})
	}
	if n := len(names()) - before; n > maxChains || n < maxChains-10 {
		t.Errorf("%d files for %d chains", n, maxChains+100)
	}
}
