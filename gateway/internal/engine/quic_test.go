package engine

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/http2/hpack"
)

// decryptQUIC reads one of the captures of QUIC.
func decryptQUIC(t testing.TB, name string, workers int) (*collector, Stats) {
	t.Helper()
	file, err := os.ReadFile(filepath.Join(testdata, "quic", name+".pcap"))
	if err != nil {
		t.Fatal(err)
	}
	log, err := os.ReadFile(filepath.Join(testdata, "quic", name+".keys"))
	if err != nil {
		t.Fatal(err)
	}
	return decrypt(t, bytes.NewReader(file), log, workers)
}

// Each stream of QUIC appears as a connection of its own, however many workers there are. Connections continue after
// they migrate.
func TestQUICStreams(t *testing.T) {
	for _, c := range []struct {
		name    string
		streams int // with an answer
	}{{"q-v1", 3}, {"q-v2", 3}, {"q-ipv6", 3}, {"q-migration", 5}, {"q-rebinding", 5}, {"q-chacha", 2}, {"q-aes256", 2}, {"q-py0rtt", 3}, {"q-pyupdate", 7}, {"q-update", 3}} {
		for _, workers := range []int{1, 3} {
			got, stats := decryptQUIC(t, c.name, workers)
			answers, names := 0, map[string]bool{}
			for _, s := range got.streams {
				if names[s.name] {
					t.Errorf("%s: two streams are %s", c.name, s.name)
				}
				if names[s.name] = true; !s.ended || s.gaps() > 0 {
					t.Errorf("%s: stream %s has ended: %v, %d gaps", c.name, s.name, s.ended, s.gaps())
				}
				if said, answer := s.bytes(0), s.bytes(1); len(said) > 0 {
					if answers++; string(answer) != "you said: "+strings.ToUpper(string(said)) {
						t.Errorf("%s: stream %s: %d bytes and an answer of %d", c.name, s.name, len(said), len(answer))
					}
				}
			}
			if answers != c.streams || stats.QUIC.Refused > 0 || stats.QUIC.Decrypted == 0 || stats.QUIC.StreamBytes == 0 {
				t.Errorf("%s, %d workers: %d streams with answers, want %d; %+v", c.name, workers, answers, c.streams, stats.QUIC)
			}
		}
	}
}

// An exchange is a request and its answer in HTTP/2.
type exchange2 struct {
	fields  [2]map[string]string
	body    [2][]byte
	trailer map[string]string
	ended   [2]bool
}

// http2Of parses the data of both sides of a connection: frames of RFC 9113, section 6.
func http2Of(t *testing.T, s *stream) map[uint32]*exchange2 {
	t.Helper()
	const data, headers, settings, endStream = 0, 1, 4, 1
	all := map[uint32]*exchange2{}
	for side := range 2 {
		b := s.bytes(side)
		if side == 0 {
			var ok bool
			if b, ok = bytes.CutPrefix(b, []byte("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")); !ok {
				t.Fatalf("the client begins with %.40q", b)
			}
		}
		decoder := hpack.NewDecoder(4096, nil)
		for len(b) > 0 {
			size := int(b[0])<<16 | int(b[1])<<8 | int(b[2])
			kind, flags, id := b[3], b[4], binary.BigEndian.Uint32(b[5:])
			payload := b[9:][:size]
			b = b[9+size:]
			x := all[id]
			if x == nil {
				x = new(exchange2)
				if kind != settings {
					all[id] = x
				}
			}
			switch kind {
			case headers:
				list, err := decoder.DecodeFull(payload)
				if err != nil {
					t.Fatal(err)
				}
				fields := map[string]string{}
				for _, h := range list {
					fields[h.Name] = h.Value
				}
				if x.fields[side] != nil {
					x.trailer = fields
				} else {
					x.fields[side] = fields
				}
			case data:
				x.body[side] = append(x.body[side], payload...)
			case settings:
			default:
				t.Errorf("side %d: a frame of type %d", side, kind)
			}
			x.ended[side] = x.ended[side] || flags&endStream != 0
		}
	}
	return all
}

// HTTP/3 is delivered as HTTP/2, whether or not QPACK has entries in its dynamic table.
func TestHTTP3(t *testing.T) {
	got, stats := decryptQUIC(t, "q-h3", 1)
	if len(got.streams) != 1 {
		t.Fatalf("%d connections", len(got.streams))
	}
	sizes := map[string]int{"/bytes/16": 16, "/bytes/5000": 4992, "/bytes/20000": 20000, "/none": 19}
	posted := strings.Repeat("what is posted. ", 300)
	all := http2Of(t, got.streams[0])
	for id, x := range all {
		path := x.fields[0][":path"]
		if x.ended != [2]bool{true, true} {
			t.Errorf("stream %d has ended: %v", id, x.ended)
		}
		if path == "/echo" {
			if x.fields[0][":method"] != "POST" || string(x.body[0]) != posted || string(x.body[1]) != posted || x.trailer["x-sum"] != "after the body" {
				t.Errorf("%v, %d and %d bytes, %v", x.fields, len(x.body[0]), len(x.body[1]), x.trailer)
			}
			continue
		}
		want, status := strings.Repeat("0123456789abcdef", sizes[path]/16), "200"
		if path == "/none" {
			want, status = "404 page not found\n", "404"
		}
		if x.fields[0][":authority"] != "quic.example" || x.fields[1][":status"] != status || string(x.body[1]) != want {
			t.Errorf("%v, %d bytes", x.fields, len(x.body[1]))
		}
	}
	if len(all) != 5 || stats.HTTP3.Headers != 11 || stats.HTTP3.Unreadable+stats.HTTP3.Cut != 0 {
		t.Errorf("%d streams, %+v", len(all), stats.HTTP3)
	}
	got, stats = decryptQUIC(t, "q-pyh3", 1)
	all = http2Of(t, got.streams[0])
	for id, x := range all {
		path := fmt.Sprintf("/page/%d", (id-1)/2%3)
		want := "you asked for " + path + ". " + strings.Repeat("body ", 500)
		if x.fields[0][":path"] != path || x.fields[0]["user-agent"] != "a client with a long name" || x.fields[1]["server"] != "aioquic of the tests" ||
			x.fields[1]["x-path"] != path || string(x.body[1]) != want || x.ended != [2]bool{true, true} {
			t.Errorf("stream %d: %v, %d bytes, ended %v", id, x.fields, len(x.body[1]), x.ended)
		}
	}
	if len(all) != 6 || stats.HTTP3.Headers != 12 || stats.HTTP3.Unreadable+stats.HTTP3.Cut != 0 {
		t.Errorf("%d streams, %+v", len(all), stats.HTTP3)
	}
	got, stats = decryptQUIC(t, "q-curl", 1)
	all = http2Of(t, got.streams[0])
	for id, x := range all {
		path, method, body := fmt.Sprintf("/page/%d", id/2), "GET", ""
		if id == 5 {
			path, method, body = "/upload", "POST", strings.Repeat("curl says this. ", 600)
		}
		if x.fields[0][":path"] != path || x.fields[0][":method"] != method || string(x.body[0]) != body || x.fields[1]["x-path"] != path ||
			string(x.body[1]) != "you asked for "+path+". "+strings.Repeat("body ", 500) || x.ended != [2]bool{true, true} {
			t.Errorf("stream %d: %v, %d and %d bytes, ended %v", id, x.fields, len(x.body[0]), len(x.body[1]), x.ended)
		}
	}
	if len(all) != 3 || stats.HTTP3.Headers != 6 || stats.HTTP3.Unreadable+stats.HTTP3.Cut != 0 {
		t.Errorf("%d streams, %+v", len(all), stats.HTTP3)
	}
	pages := map[string]string{"/upload": "thanks\n", "/index.html": `<html><body>page of nginx<script src="/page0.js"></script><img src="/page1"></body></html>`}
	for n := range 2 {
		var page strings.Builder
		for i := range 400 {
			fmt.Fprintf(&page, "page %d line %d of nginx\n", n, i)
		}
		pages[fmt.Sprintf("/page%d", n)] = page.String()
	}
	pages["/page0.js"] = "/*\n" + pages["/page0"] + "*/\n"
	for name, paths := range map[string][]string{"q-nginx": {"/page0", "/page1", "/upload"}, "q-chromium": {"/favicon.ico", "/index.html", "/page0.js", "/page1"}} {
		got, stats = decryptQUIC(t, name, 1)
		var asked []string
		for _, stream := range got.streams {
			for id, x := range http2Of(t, stream) {
				path, posted := x.fields[0][":path"], ""
				asked = append(asked, path)
				if path == "/favicon.ico" && x.fields[1][":status"] == "404" { // nginx's message for a missing page
					continue
				}
				if path == "/upload" {
					posted = pages["/page0"]
				}
				if string(x.body[0]) != posted || string(x.body[1]) != pages[path] || x.fields[1][":status"] != "200" {
					t.Errorf("%s, stream %d: %v, %d and %d bytes", name, id, x.fields, len(x.body[0]), len(x.body[1]))
				}
			}
		}
		if slices.Sort(asked); !slices.Equal(asked, paths) || stats.HTTP3.Unreadable+stats.HTTP3.Cut != 0 {
			t.Errorf("%s: %v, %+v", name, asked, stats.HTTP3)
		}
	}
}
