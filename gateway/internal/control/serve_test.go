package control

import (
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

// Those who ask again and again and never listen, as many as there may be, are not waited for without an end.
func TestServeDeaf(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Skip("not run: ", err)
	}
	much := strings.Repeat("x", 1<<20)
	s := serve(l, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, much) }), 100*time.Millisecond, 200*time.Millisecond)
	defer s.Close()
	for range connections {
		c, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		c.Write([]byte(strings.Repeat("GET / HTTP/1.1\r\nHost: a\r\n\r\n", 100)))
	}
	client := http.Client{Timeout: 20 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	r, err := client.Get("http://" + l.Addr().String())
	if err != nil {
		t.Fatal("no other client is answered: ", err)
	}
	defer r.Body.Close()
	if n, err := io.Copy(io.Discard, r.Body); n != 1<<20 || err != nil {
		t.Errorf("%d bytes, %v", n, err)
	}
}
