package h3

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"testing"
)

func unhex(t *testing.T, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.ReplaceAll(s, " ", ""))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestAppendixB has the examples of RFC 9204, appendix B.
func TestAppendixB(t *testing.T) {
	var d table
	const offered = 220
	decode := func(section string, want ...string) {
		t.Helper()
		var got []string
		err := d.decode(unhex(t, section), offered, func(f field) { got = append(got, f.name+": "+f.value) })
		if len(want) == 1 && want[0] == "blocked" {
			if err != errBlocked {
				t.Errorf("%s: %v", section, err)
			}
			return
		}
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %q, %v", section, got, err)
		}
	}
	check := func(entries ...string) {
		t.Helper()
		var got []string
		size := 0
		for _, f := range d.entries {
			got = append(got, f.name+": "+f.value)
			size += f.size()
		}
		if !slices.Equal(got, entries) || size != d.bytes || d.broken || len(d.partial) > 0 {
			t.Errorf("entries %q of %d bytes", got, d.bytes)
		}
	}
	decode("0000 510b 2f69 6e64 6578 2e68 746d 6c", ":path: /index.html") // B.1
	decode("0381 10 11", "blocked")
	for _, b := range unhex(t, "3fbd01 c00f 7777 772e 6578 616d 706c 652e 636f 6d c10c 2f73 616d 706c 652f 7061 7468") {
		d.instructions([]byte{b}) // B.2, in single bytes
	}
	check(":authority: www.example.com", ":path: /sample/path")
	decode("0381 10 11", ":authority: www.example.com", ":path: /sample/path")
	d.instructions(unhex(t, "4a63 7573 746f 6d2d 6b65 790c 6375 7374 6f6d 2d76 616c 7565")) // B.3
	check(":authority: www.example.com", ":path: /sample/path", "custom-key: custom-value")
	d.instructions(unhex(t, "02")) // B.4
	decode("0500 80 c1 81", ":authority: www.example.com", ":path: /", "custom-key: custom-value")
	d.instructions(unhex(t, "810d 6375 7374 6f6d 2d76 616c 7565 32")) // B.5
	check(":path: /sample/path", "custom-key: custom-value", ":authority: www.example.com", "custom-key: custom-value2")
}

// Malformed instructions break the table, and nothing is inserted any more.
func TestBrokenTable(t *testing.T) {
	for _, s := range []string{"3fffffffffffffffffffffff01", "00", "80 00", "c0 01 61", "ff ff ff ff ff 7f 00", "3f e1 1f ff 7f ff ff ff 7f"} {
		var d table
		d.instructions(unhex(t, s))
		d.instructions(bytes.Repeat([]byte{0xff}, 20))
		if !d.broken && len(d.partial) == 0 || len(d.entries) > 0 {
			t.Errorf("%s: broken: %v, %d entries, %x is left", s, d.broken, len(d.entries), d.partial)
		}
	}
}

// recorder stores the output of a connection, frame by frame.
type recorder struct{ frames []string }

func (r *recorder) emit(role uint8, b []byte) {
	side := "client"
	if role == server {
		side = "server"
	}
	if rest, ok := bytes.CutPrefix(b, []byte(preface)); ok {
		b = rest
	}
	r.frames = append(r.frames, fmt.Sprintf("%s %d:%d %d", side, b[3], b[4], be.Uint32(b[5:])))
}

func frameOf(kind byte, b string) []byte {
	return append([]byte{kind, 0x40 | byte(len(b)>>8), byte(len(b))}, b...)
}

const (
	getRequest = "\x00\x00\xd1\xd7\xc1" // :method GET, :scheme https, :path /
	okAnswer   = "\x00\x00\xd9"         // :status 200
)

// A request and its answer, in pieces of each size, give the same frames.
func TestPieces(t *testing.T) {
	request := frameOf(frameHeaders, getRequest)
	answer := slices.Concat(frameOf(frameHeaders, okAnswer), frameOf(0x21, "grease"), frameOf(frameData, strings.Repeat("body ", 100)), frameOf(frameHeaders, "\x00\x00\x21a\x01b"))
	want := []string{"client 4:0 0", "client 1:4 1", "client 0:1 1", "server 4:0 0", "server 1:4 1", "server 1:5 1"}
	for size := 1; size < 200; size++ {
		var r recorder
		var stats Stats
		c := New(&stats, r.emit)
		for role, b := range [][]byte{request, answer} {
			for part := range slices.Chunk(b, size) {
				c.Data(0, uint8(role), part)
			}
			c.End(0, uint8(role), false)
		}
		got := slices.DeleteFunc(r.frames, func(s string) bool { return s == "server 0:0 1" })
		if !slices.Equal(got, want) || stats.Bytes != 500 || stats.Headers != 3 || stats.Cut+stats.Unreadable != 0 || c.held != 0 || len(c.streams) != 0 {
			t.Fatalf("pieces of %d bytes: %q, %+v, %d bytes held", size, r.frames, stats, c.held)
		}
	}
}

// A request that refers to an entry waits for it, with everything after it.
func TestBlocked(t *testing.T) {
	var r recorder
	var stats Stats
	c := New(&stats, r.emit)
	c.Data(3, server, append([]byte{typeControl}, frameOf(frameSettings, "\x01\x40\xdc")...)) // 220 bytes
	c.Data(0, client, frameOf(frameHeaders, "\x02\x80\x10"))
	c.Data(0, client, frameOf(frameData, "behind it"))
	c.End(0, client, false)
	if len(r.frames) != 0 || c.held == 0 {
		t.Fatalf("%q", r.frames)
	}
	c.Data(2, client, []byte("\x02\x3f\xbd\x01\xc0\x01a"))
	if want := []string{"client 4:0 0", "client 1:4 1", "client 0:0 1", "client 0:1 1"}; !slices.Equal(r.frames, want) || c.held != 0 || stats.Unreadable != 0 {
		t.Errorf("%q, %+v, %d bytes held", r.frames, stats, c.held)
	}
	c.Data(4, client, frameOf(frameHeaders, "\x05\x80\x10"))
	c.Lost(2, client)
	if last := r.frames[len(r.frames)-1]; last != "client 3:0 3" || stats.Unreadable != 1 {
		t.Errorf("without its entry the stream ends with %q; %+v", last, stats)
	}
}

// A hole ends a stream with a reset, once.
func TestLost(t *testing.T) {
	var r recorder
	var stats Stats
	c := New(&stats, r.emit)
	c.Data(0, client, frameOf(frameHeaders, getRequest))
	c.Data(0, server, frameOf(frameHeaders, okAnswer))
	c.Lost(0, server)
	c.Data(0, server, frameOf(frameData, "unknown"))
	c.Lost(0, server)
	c.End(0, server, false)
	c.End(0, client, false)
	if got := strings.Join(r.frames, ", "); got != "client 4:0 0, client 1:4 1, server 4:0 0, server 1:4 1, server 3:0 1, client 0:1 1" || stats.Cut != 1 || len(c.streams) != 0 {
		t.Errorf("%s, %+v", got, stats)
	}
}

// FuzzHTTP3 has bytes of any kind on four streams, one of each kind: held bytes stay within bounds, and the output is frames.
func FuzzHTTP3(f *testing.F) {
	f.Add(slices.Concat([]byte{0, 10}, frameOf(frameHeaders, getRequest), []byte{7, 3}, frameOf(frameData, "x")))
	f.Add([]byte("\x02\x08\x02\x3f\xbd\x01\xc0\x01a\x00\x08\x01\x40\x03\x02\x80\x10\x00"))
	f.Add([]byte("\x03\x07\x00\x04\x40\x03\x01\x40\xdc\x04\x20\x01\x40\x03\x05\x80\x10"))
	f.Fuzz(func(t *testing.T, b []byte) {
		var stats Stats
		c := New(&stats, func(_ uint8, b []byte) {
			if rest, ok := bytes.CutPrefix(b, []byte(preface)); ok {
				b = rest
			}
			if len(b) < 9 || int(b[0])<<16|int(b[1])<<8|int(b[2]) != len(b)-9 || len(b) > 9+http2Frame {
				t.Fatalf("a frame of %d bytes begins %x", len(b), b[:min(len(b), 9)])
			}
		})
		for len(b) >= 2 {
			which, n := b[0], int(b[1])
			b = b[2:]
			n = min(n, len(b))
			stream, role := uint64(which&3)+uint64(which>>5)*4, which>>2&1
			switch {
			case which&0x18 == 0x18:
				c.Lost(stream, role)
			case which&0x18 == 0x10:
				c.End(stream, role, which&4 != 0)
			default:
				c.Data(stream, role, b[:n])
				b = b[n:]
			}
			if c.Held() > maxKept+2*maxTable+1<<20 {
				t.Fatalf("%d bytes are held", c.Held())
			}
		}
	})
}

// FuzzQPACK has instructions and a field section of any bytes.
func FuzzQPACK(f *testing.F) {
	f.Add([]byte("\x3f\xbd\x01\xc0\x0fwww.example.com\xc1\x0c/sample/path"), []byte("\x03\x81\x10\x11"), uint16(220))
	f.Add([]byte("\x3f\xbd\x01\x4acustom-key\x0ccustom-value\x02"), []byte("\x03\x00\x80\x81"), uint16(220))
	f.Add([]byte(nil), []byte("\x00\x00\x51\x0b/index.html"), uint16(0))
	f.Fuzz(func(t *testing.T, instructions, section []byte, offered uint16) {
		var d table
		for part := range slices.Chunk(instructions, 7) {
			d.instructions(part)
			if d.bytes > d.capacity || d.capacity > maxTable {
				t.Fatalf("%d bytes in a table of %d", d.bytes, d.capacity)
			}
		}
		sum := 0
		d.decode(section, uint64(offered), func(f field) { sum += f.size() })
		if sum > maxHeader {
			t.Fatalf("a header of %d bytes", sum)
		}
	})
}
