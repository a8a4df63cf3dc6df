//go:build unix

package main

import (
	"bytes"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

// TestFile reads the generated file in all ways that the server and the client do.
func TestFile(t *testing.T) {
	const size = 3<<20 + 17
	whole, err := io.ReadAll(newFile(size))
	if err != nil || len(whole) != size {
		t.Fatal(len(whole), err)
	}
	if bytes.Equal(whole[:1<<20], whole[1<<20:2<<20]) || !bytes.Equal(whole[8:1<<20], whole[1<<20+8:2<<20]) {
		t.Error("mebibytes differ in their number, and only there")
	}
	if odd, err := io.ReadAll(iotest.OneByteReader(io.LimitReader(newFile(size), 100))); err != nil || !bytes.Equal(odd, whole[:100]) {
		t.Error("single bytes differ", err)
	}
	f := newFile(size)
	if end, err := f.Seek(0, io.SeekEnd); err != nil || end != size {
		t.Error(end, err)
	}
	if at, err := f.Seek(-20, io.SeekCurrent); err != nil || at != size-20 {
		t.Error(at, err)
	}
	if rest, err := io.ReadAll(f); err != nil || !bytes.Equal(rest, whole[size-20:]) {
		t.Error("the end differs", err)
	}
	if _, err := f.Seek(-1, io.SeekStart); err == nil {
		t.Error("seeks before the start")
	}
}

// TestDownload sends a small file through the tunnel, and one that differs from the expected file.
func TestDownload(t *testing.T) {
	const size = 1<<20 + 5
	want, err := checksum(newFile(size))
	if err != nil {
		t.Fatal(err)
	}
	got, err := run(size, want, "")
	if err != nil || got.SHA256 != want || got.Bytes != size || got.Seconds <= 0 {
		t.Fatal(got, err)
	}
	if _, err := run(size-1, want, ""); err == nil || !strings.Contains(err.Error(), "the file arrived with SHA-256") {
		t.Error("another file is taken for the right one", err)
	}
}
