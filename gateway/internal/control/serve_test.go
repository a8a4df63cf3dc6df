package control

import (
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

// The maximum number of clients ask repeatedly and never read the answers. The server does not wait for them
// indefinitely. On a busy machine the limits are short for other clients too, so one of those asks until an answer
// arrives in time.
func TestServeDeaf(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Skip("not run: ", err)
	}
	much := strings.Repeat("x", 1<<20)
	s := serve(l, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/little" {
			io.WriteString(w, "x")
		} else {
			io.WriteString(w, much)
		}
	}), 100*time.Millisecond, 200*time.Millisecond)
	defer s.Close()
	for range connections {
		c, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		c.Write([]byte(strings.Repeat("GET / HTTP/1.1\r\nHost: a\r\n\r\n", 100)))
	}
	client := http.Client{Timeout: time.Minute, Transport: &http.Transport{DisableKeepAlives: true}}
	for deadline := time.Now().Add(10 * time.Minute); ; {
		r, err := client.Get("http://" + l.Addr().String() + "/little")
		if err == nil {
			body, failed := io.ReadAll(r.Body)
			r.Body.Close()
			if err = failed; err == nil && string(body) == "x" {
				return
			}
		}
		if time.Now().After(deadline) {
			t.Fatal("no other client is answered: ", err)
		}
	}
}
