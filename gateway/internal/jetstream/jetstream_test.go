package jetstream

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nkeys"

	"github.com/sealane/sealane/gateway/internal/keys"
)

// wait waits until the store has want connections.
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

// Keys that cross a network come through TLS, from a server that is known.
func TestNATSThroughTLS(t *testing.T) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		IsCA: true, BasicConstraintsValid: true}
	cert, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	ca := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert}), 0o600); err != nil {
		t.Fatal(err)
	}
	n, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: -1, JetStream: true, StoreDir: t.TempDir(), NoSigs: true, NoLog: true, TLS: true,
		Username: "gateway", Password: "secret", TLSTimeout: 10,
		TLSConfig: &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{cert}, PrivateKey: key}}}})
	if err != nil {
		t.Fatal(err)
	}
	n.Start()
	defer n.Shutdown()
	if !n.ReadyForConnections(time.Minute) {
		t.Fatal("the server does not start")
	}
	url := fmt.Sprintf("tls://gateway:secret@%v", n.Addr())
	c, err := nats.Connect(url, nats.RootCAs(ca))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	js, err := jetstream.New(c)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := js.CreateStream(t.Context(), jetstream.StreamConfig{Name: "TLSKEYS", Subjects: []string{"keys"}}); err != nil {
		t.Fatal(err)
	}
	if _, err := js.Publish(t.Context(), "keys", []byte(line(1))); err != nil {
		t.Fatal(err)
	}
	s := keys.NewStore(10)
	none := func(error) {}
	if err := Subscribe(t.Context(), url, "TLSKEYS", "", &keys.Log{Store: s}, none); err == nil {
		t.Error("a server without a certificate chain is trusted")
	}
	if err := Subscribe(t.Context(), strings.Replace(url, "secret", "guess", 1), "TLSKEYS", "", &keys.Log{Store: s}, none, nats.RootCAs(ca)); err == nil {
		t.Error("any password will do")
	}
	if err := Subscribe(t.Context(), url, "TLSKEYS", "", &keys.Log{Store: s}, none, nats.RootCAs(ca)); err != nil {
		t.Fatal(err)
	}
	wait(t, s, 1)
}

// The server starts after the gateway, and asks for credentials, which come from a file.
func TestFollowWithCredentials(t *testing.T) {
	pair := func(kind func() (nkeys.KeyPair, error)) (nkeys.KeyPair, string) {
		k, err := kind()
		if err != nil {
			t.Fatal(err)
		}
		p, err := k.PublicKey()
		if err != nil {
			t.Fatal(err)
		}
		return k, p
	}
	must := func(s string, err error) string {
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	operator, operatorKey := pair(nkeys.CreateOperator)
	_, systemKey := pair(nkeys.CreateAccount)
	account, accountKey := pair(nkeys.CreateAccount)
	user, userKey := pair(nkeys.CreateUser)
	oc := jwt.NewOperatorClaims(operatorKey)
	oc.SystemAccount = systemKey
	claims, err := jwt.DecodeOperatorClaims(must(oc.Encode(operator)))
	if err != nil {
		t.Fatal(err)
	}
	resolver := &server.MemAccResolver{}
	for _, key := range []string{systemKey, accountKey} {
		ac := jwt.NewAccountClaims(key)
		if key == accountKey {
			ac.Limits.JetStreamLimits.DiskStorage, ac.Limits.JetStreamLimits.MemoryStorage = -1, -1
		}
		if err := resolver.Store(key, must(ac.Encode(operator))); err != nil {
			t.Fatal(err)
		}
	}
	seed, err := user.Seed()
	if err != nil {
		t.Fatal(err)
	}
	file, err := jwt.FormatUserConfig(must(jwt.NewUserClaims(userKey).Encode(account)), seed)
	if err != nil {
		t.Fatal(err)
	}
	creds := filepath.Join(t.TempDir(), "gateway.creds")
	if err := os.WriteFile(creds, file, 0o600); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := l.Addr().(*net.TCPAddr).Port
	l.Close()
	url := fmt.Sprintf("nats://127.0.0.1:%d", port)
	s := keys.NewStore(10)
	warned := make(chan error, 100)
	go Follow(t.Context(), url, "TLSKEYS", "", &keys.Log{Store: s}, func(err error) { warned <- err }, nats.UserCredentials(creds))
	if err := <-warned; !errors.Is(err, nats.ErrNoServers) {
		t.Errorf("no server listens, and the error is %v", err)
	}
	n, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: port, JetStream: true, StoreDir: t.TempDir(), NoSigs: true, NoLog: true,
		TrustedOperators: []*jwt.OperatorClaims{claims}, AccountResolver: resolver, SystemAccount: systemKey})
	if err != nil {
		t.Fatal(err)
	}
	n.Start()
	defer n.Shutdown()
	if !n.ReadyForConnections(time.Minute) {
		t.Fatal("the server does not start")
	}
	if _, err := nats.Connect(url); err == nil {
		t.Fatal("the server asks for nothing")
	}
	c, err := nats.Connect(url, nats.UserCredentials(creds))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	js, err := jetstream.New(c)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := js.CreateStream(t.Context(), jetstream.StreamConfig{Name: "TLSKEYS", Subjects: []string{"keys"}}); err != nil {
		t.Fatal(err)
	}
	if _, err := js.Publish(t.Context(), "keys", []byte(line(1))); err != nil {
		t.Fatal(err)
	}
	wait(t, s, 1)
	if n := len(warned); n > 4 {
		t.Errorf("%d messages about few causes", n)
	}
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
		if !n.ReadyForConnections(time.Minute) {
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
	// Messages about the end of the server may come after the end of the test.
	var mutex sync.Mutex
	ended := false
	t.Cleanup(func() {
		mutex.Lock()
		defer mutex.Unlock()
		ended = true
	})
	report := func(err error) {
		mutex.Lock()
		defer mutex.Unlock()
		if !ended {
			t.Log(err)
		}
	}
	if err := Subscribe(ctx, url, "TLSKEYS", "keys.web", &keys.Log{Store: s}, report); err != nil {
		t.Fatal(err)
	}
	wait(t, s, 1)
	publish("keys.mail", line(2)) // for others
	publish("keys.web", line(3)+strings.TrimSpace(line(4)))
	wait(t, s, 3)
	// The server stops and starts again.
	port := n.Addr().(*net.TCPAddr).Port
	n.Shutdown()
	n.WaitForShutdown()
	n = run(port, dir)
	defer n.Shutdown()
	publish("keys.web", line(5))
	wait(t, s, 4)
}

// keysStream is one that anybody may make.
var keysStream = jetstream.StreamConfig{Name: "TLSKEYS", Subjects: []string{"keys"}}

// start starts a server without TLS.
func start(t *testing.T) *server.Server {
	t.Helper()
	n, err := server.NewServer(&server.Options{
		Host: "127.0.0.1", Port: -1, JetStream: true, StoreDir: t.TempDir(), NoSigs: true, NoLog: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	n.Start()
	t.Cleanup(n.Shutdown)
	if !n.ReadyForConnections(time.Minute) {
		t.Fatal("the server does not start")
	}
	return n
}

// streams returns the streams on a server, as a client sees them.
func streams(t *testing.T, n *server.Server) jetstream.JetStream {
	t.Helper()
	c, err := nats.Connect(n.ClientURL())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	js, err := jetstream.New(c)
	if err != nil {
		t.Fatal(err)
	}
	return js
}

// A stream that is deleted and made anew does not blind the gateway: its messages begin with number 1 then.
func TestStreamDeleted(t *testing.T) {
	n := start(t)
	js := streams(t, n)
	create := func(lines ...byte) {
		t.Helper()
		if _, err := js.CreateStream(t.Context(), keysStream); err != nil {
			t.Fatal(err)
		}
		for _, b := range lines {
			if _, err := js.Publish(t.Context(), "keys", []byte(line(b))); err != nil {
				t.Fatal(err)
			}
		}
	}
	create(1, 2, 3, 4, 5)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	s := keys.NewStore(100)
	go Follow(ctx, n.ClientURL(), "TLSKEYS", "", &keys.Log{Store: s}, func(err error) {})
	wait(t, s, 5)
	for i := range 2 {
		if err := js.DeleteStream(t.Context(), "TLSKEYS"); err != nil {
			t.Fatal(err)
		}
		if i == 1 {
			time.Sleep(2 * time.Second)
		}
		create(byte(6+2*i), byte(7+2*i))
		begin := time.Now()
		wait(t, s, 7+2*i)
		t.Logf("found after %v", time.Since(begin).Round(time.Millisecond))
	}
}

// Large messages of other clients, and many of them, are ignored. Repeated messages of a server are logged a few
// times.
func TestLargeMessages(t *testing.T) {
	n := start(t)
	js := streams(t, n)
	if _, err := js.CreateStream(t.Context(), keysStream); err != nil {
		t.Fatal(err)
	}
	for i := range 40 {
		text := strings.Repeat([]string{"\n", "x", line(9)[:90], "CLIENT_RANDOM "}[i%4], 1<<20/[]int{1, 1, 90, 14}[i%4])
		if _, err := js.Publish(t.Context(), "keys", []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := js.Publish(t.Context(), "keys", []byte(line(1))); err != nil {
		t.Fatal(err)
	}
	s := keys.NewStore(100)
	if err := Subscribe(t.Context(), n.ClientURL(), "TLSKEYS", "", &keys.Log{Store: s}, func(error) {}); err != nil {
		t.Fatal(err)
	}
	wait(t, s, 1)
	told := 0
	warn := sparing(func(error) { told++ })
	for i := range 10000 {
		warn(fmt.Errorf("cause %d", i/2))
	}
	if told != 10 {
		t.Errorf("%d of 5000 causes were told", told)
	}
}
