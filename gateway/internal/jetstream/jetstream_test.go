package jetstream

import (
	"context"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/sealane/sealane/gateway/internal/keys"
)

// wait waits for so many connections in the store.
func wait(t *testing.T, s *keys.Store, want int) {
	t.Helper()
	n := 0
	for range 1000 {
		if n, _ = s.Size(); n == want {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
	t.Fatalf("%d connections, not %d", n, want)
}

func line(random byte) string {
	return fmt.Sprintf("CLIENT_TRAFFIC_SECRET_0 %064x %s\n", random, strings.Repeat("5a", 32))
}

func TestNATS(t *testing.T) {
	run := func(port int, dir string) *server.Server {
		t.Helper()
		n, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: port, JetStream: true, StoreDir: dir, NoSigs: true, NoLog: true})
		if err != nil {
			t.Fatal(err)
		}
		n.Start()
		if !n.ReadyForConnections(20 * time.Second) {
			t.Fatal("the server does not start")
		}
		return n
	}
	dir := t.TempDir()
	n := run(-1, dir)
	url := n.ClientURL()
	publish := func(subject, text string) {
		t.Helper()
		c, err := nats.Connect(url)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		js, err := jetstream.New(c)
		if err != nil {
			t.Fatal(err)
		}
		ctx := context.Background()
		if _, err := js.CreateOrUpdateStream(ctx, jetstream.StreamConfig{Name: "TLSKEYS", Subjects: []string{"keys.>"}, Storage: jetstream.FileStorage}); err != nil {
			t.Fatal(err)
		}
		if _, err := js.Publish(ctx, subject, []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	s := keys.NewStore(100)
	if err := Subscribe(ctx, url, "TLSKEYS", "keys.web", &keys.Log{Store: s}, func(error) {}); err == nil {
		t.Error("there is no such stream")
	}
	publish("keys.web", line(1)) // before anybody listens
	if err := Subscribe(ctx, url, "TLSKEYS", "keys.web", &keys.Log{Store: s}, func(err error) { t.Log(err) }); err != nil {
		t.Fatal(err)
	}
	wait(t, s, 1)
	publish("keys.mail", line(2)) // for others
	publish("keys.web", line(3)+strings.TrimSpace(line(4)))
	wait(t, s, 3)
	// The server goes and comes back.
	port := n.Addr().(*net.TCPAddr).Port
	n.Shutdown()
	n.WaitForShutdown()
	n = run(port, dir)
	defer n.Shutdown()
	publish("keys.web", line(5))
	wait(t, s, 4)
}
