package engine

import (
	"bytes"
	"crypto/ecdh"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	stdtls "crypto/tls"
	"crypto/x509"
	"encoding/binary"
	"io"
	"math/big"
	mathrand "math/rand/v2"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/sealane/sealane/gateway/internal/capture"
	"github.com/sealane/sealane/gateway/internal/keys"
	"github.com/sealane/sealane/gateway/internal/traffic"
)

// tapped is one end of a connection whose bytes are captured.
type tapped struct {
	net.Conn
	side int
	mu   *sync.Mutex
	conn *traffic.Conn
}

func (c *tapped) Write(b []byte) (int, error) {
	c.mu.Lock()
	c.conn.Send(c.side, b)
	c.mu.Unlock()
	return c.Conn.Write(b)
}

type locked struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *locked) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(b)
}

func certificate(t *testing.T) stdtls.Certificate {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	c := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), DNSNames: []string{"sealane.test", "public.test"}}
	b, err := x509.CreateCertificate(rand.Reader, c, c, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	return stdtls.Certificate{Certificate: [][]byte{b}, PrivateKey: key}
}

// talk makes a connection with Go's TLS, in which each side sends twice, and returns its packets.
func talk(t *testing.T, number int, server, client *stdtls.Config, said [2][]byte) []capture.Frame {
	t.Helper()
	var frames []capture.Frame
	var mu sync.Mutex
	conn := traffic.NewConn(number, &frames)
	conn.Open()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	b, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	a, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	defer b.Close()
	deadline := time.Now().Add(time.Minute)
	a.SetDeadline(deadline)
	b.SetDeadline(deadline)
	s := stdtls.Server(&tapped{a, traffic.Server, &mu, conn}, server)
	c := stdtls.Client(&tapped{b, traffic.Client, &mu, conn}, client)
	served := make(chan error, 1)
	go func() {
		served <- func() error {
			for range 2 {
				if _, err := io.ReadFull(s, make([]byte, len(said[0]))); err != nil {
					return err
				}
				if _, err := s.Write(said[1]); err != nil {
					return err
				}
			}
			return nil
		}()
	}()
	for range 2 {
		if _, err := c.Write(said[0]); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(c, make([]byte, len(said[1]))); err != nil {
			t.Fatal(err)
		}
	}
	if err := <-served; err != nil {
		t.Fatal(err)
	}
	mu.Lock()
	defer mu.Unlock()
	conn.Close()
	return frames
}

// echConfig is a configuration of encrypted ClientHellos (RFC 9849, section 4), with its key.
func echConfig(t *testing.T) (list []byte, key stdtls.EncryptedClientHelloKey) {
	k, err := ecdh.X25519().GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	be := binary.BigEndian
	body := []byte{7}                                   // identifier
	body = be.AppendUint16(body, 0x0020)                // X25519, HKDF-SHA256
	body = be.AppendUint16(body, 32)                    //
	body = append(body, k.PublicKey().Bytes()...)       //
	body = append(body, 0, 4, 0, 1, 0, 1)               // HKDF-SHA256, AES-128-GCM
	body = append(body, 32, byte(len("public.test")))   // longest name, public name
	body = append(append(body, "public.test"...), 0, 0) // no extensions
	config := be.AppendUint16([]byte{0xfe, 0x0d}, uint16(len(body)))
	config = append(config, body...)
	return append(be.AppendUint16(nil, uint16(len(config))), config...),
		stdtls.EncryptedClientHelloKey{Config: config, PrivateKey: k.Bytes(), SendAsRetry: true}
}

// Handshakes of all kinds, made by Go's TLS: client certificates, HelloRetryRequest, resumption, encrypted ClientHellos.
func TestHandshakes(t *testing.T) {
	cert := certificate(t)
	echList, echKey := echConfig(t)
	both := func(f func(*stdtls.Config)) func(s, c *stdtls.Config) {
		return func(s, c *stdtls.Config) { f(s); f(c) }
	}
	for name, c := range map[string]struct {
		set         func(s, c *stdtls.Config)
		connections int
		unread      int
	}{
		"plain":              {func(s, c *stdtls.Config) {}, 1, 0},
		"client certificate": {func(s, c *stdtls.Config) { s.ClientAuth, c.Certificates = stdtls.RequireAnyClientCert, s.Certificates }, 1, 0},
		"client certificate, TLS 1.2": {func(s, c *stdtls.Config) {
			s.ClientAuth, c.Certificates, c.MaxVersion = stdtls.RequireAnyClientCert, s.Certificates, stdtls.VersionTLS12
		}, 1, 0},
		"HelloRetryRequest": {func(s, c *stdtls.Config) { s.CurvePreferences = []stdtls.CurveID{stdtls.CurveP521} }, 1, 0},
		"resumption":        {func(s, c *stdtls.Config) { c.ClientSessionCache = stdtls.NewLRUClientSessionCache(1) }, 3, 0},
		// Go logs no line for resumed TLS 1.2 sessions; OpenSSL does.
		"resumption, TLS 1.2": {func(s, c *stdtls.Config) {
			c.ClientSessionCache, c.MaxVersion = stdtls.NewLRUClientSessionCache(1), stdtls.VersionTLS12
		}, 3, 2},
		"small records": {both(func(c *stdtls.Config) { c.DynamicRecordSizingDisabled = false }), 1, 0},
		"large records": {both(func(c *stdtls.Config) { c.DynamicRecordSizingDisabled = true }), 1, 0},
		"no AEAD": {func(s, c *stdtls.Config) {
			c.MaxVersion, c.CipherSuites = stdtls.VersionTLS12, []uint16{stdtls.TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA}
		}, 1, 1},
		// The inner content of an encrypted ClientHello cannot be seen. It includes the random by which key logs name
		// the connection.
		"encrypted ClientHello": {func(s, c *stdtls.Config) {
			s.EncryptedClientHelloKeys, c.EncryptedClientHelloConfigList = []stdtls.EncryptedClientHelloKey{echKey}, echList
			c.MinVersion = stdtls.VersionTLS13
		}, 1, 1},
		"encrypted ClientHello, HelloRetryRequest": {func(s, c *stdtls.Config) {
			s.EncryptedClientHelloKeys, c.EncryptedClientHelloConfigList = []stdtls.EncryptedClientHelloKey{echKey}, echList
			s.CurvePreferences, c.MinVersion = []stdtls.CurveID{stdtls.CurveP521}, stdtls.VersionTLS13
		}, 1, 1},
	} {
		for _, suite := range []uint16{stdtls.TLS_AES_128_GCM_SHA256, stdtls.TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256} {
			var log locked
			server := &stdtls.Config{Certificates: []stdtls.Certificate{cert}, KeyLogWriter: &log}
			client := &stdtls.Config{InsecureSkipVerify: true, ServerName: "sealane.test", CipherSuites: []uint16{suite}}
			if suite == stdtls.TLS_AES_128_GCM_SHA256 {
				client.CipherSuites = []uint16{stdtls.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256} // in TLS 1.2
			}
			if c.set(server, client); client.EncryptedClientHelloConfigList != nil {
				pool := x509.NewCertPool()
				leaf, _ := x509.ParseCertificate(cert.Certificate[0])
				pool.AddCert(leaf)
				client.InsecureSkipVerify, client.RootCAs = false, pool
			}
			var frames []capture.Frame
			said := [2][]byte{bytes.Repeat([]byte("question "), 20), bytes.Repeat([]byte("answer "), 9000)}
			for i := range c.connections {
				frames = append(frames, talk(t, 1+100*i, server, client, said)...)
			}
			store, got := keys.NewStore(10), &collector{}
			(&keys.Log{Store: store}).Write(log.b.Bytes())
			w := NewWorker(store, got, Options{Flows: 10})
			w.Frames(frames)
			w.Close()
			if read := c.connections - c.unread; len(got.streams) != read || int(w.Stats.Decrypted) != read || int(w.Stats.Undecrypted) != c.unread {
				t.Errorf("%s: %d connections, %+v", name, len(got.streams), w.Stats)
			}
			for _, s := range got.streams {
				for side := range 2 {
					if want := bytes.Repeat(said[side], 2); !bytes.Equal(s.bytes(side), want) {
						t.Errorf("%s, side %d: %d bytes of %d, %+v", name, side, len(s.bytes(side)), len(want), w.Stats.TLS)
					}
				}
			}
			if n := w.Stats.TLS.BadRecords + w.Stats.TLS.LostBytes; n > 0 {
				t.Errorf("%s: %+v", name, w.Stats.TLS)
			}
		}
	}
}

// Records within the limits of RFC 8446 are read. Only those beyond the limits are lost.
func TestRecordsAtTheEdges(t *testing.T) {
	ccs := []byte{20, 3, 3, 0, 1, 1}
	for _, suite := range []uint16{traffic.AES128, traffic.AES256, traffic.ChaCha20} {
		for name, c := range map[string]struct {
			records func(s *traffic.Session, side int) []byte
			says    string
			bad     uint64
			noType  uint64
			lost    bool
		}{
			"as large as can be": {func(s *traffic.Session, side int) []byte {
				return s.Seal(side, 23, bytes.Repeat([]byte("x"), 1<<14), 0)
			}, string(bytes.Repeat([]byte("x"), 1<<14)), 0, 0, false},
			"padded as far as can be": {func(s *traffic.Session, side int) []byte { return s.Seal(side, 23, []byte("x"), 1<<14-1) }, "x", 0, 0, false},
			"nothing":                 {func(s *traffic.Session, side int) []byte { return s.Seal(side, 23, nil, 0) }, "", 0, 0, false},
			"nothing but padding":     {func(s *traffic.Session, side int) []byte { return s.Seal(side, 23, nil, 1<<14) }, "", 0, 0, false},
			"no type":                 {func(s *traffic.Session, side int) []byte { return s.Seal(side, 0, nil, 100) }, "", 0, 1, false},
			"ticket": {func(s *traffic.Session, side int) []byte {
				return s.Seal(side, 22, append([]byte{4, 0, 1, 0}, make([]byte, 256)...), 0)
			}, "", 0, 0, false},
			"ticket in two records": {func(s *traffic.Session, side int) []byte {
				m := append([]byte{4, 0, 1, 0}, make([]byte, 256)...)
				return append(s.Seal(side, 22, m[:3], 0), s.Seal(side, 22, m[3:], 50)...)
			}, "", 0, 0, false},
			"certificates after the handshake": {func(s *traffic.Session, side int) []byte {
				var b []byte
				for _, kind := range []byte{13, 11, 15, 20} { // CertificateRequest, Certificate, CertificateVerify, Finished
					b = append(b, s.Seal(side, 22, append([]byte{kind, 0, 0, 40}, make([]byte, 40)...), 0)...)
				}
				return b
			}, "", 0, 0, false},
			// They are not authenticated, and forbidden after the handshake (RFC 8446, section 5).
			"ChangeCipherSpec": {func(s *traffic.Session, side int) []byte { return append(append(ccs[:6:6], ccs...), ccs...) }, "", 1, 0, true},
			"warning":          {func(s *traffic.Session, side int) []byte { return s.Seal(side, 21, []byte{1, 90}, 0) }, "", 0, 0, false},
			"larger than a record may be": {func(s *traffic.Session, side int) []byte {
				return s.Seal(side, 23, bytes.Repeat([]byte("x"), 1<<14), 300)
			}, "", 1, 0, true},
		} {
			var frames []capture.Frame
			s, conn := traffic.NewSession(suite, mathrand.New(mathrand.NewPCG(1, 1))), traffic.NewConn(5, &frames)
			conn.MSS = 20000
			conn.Handshake(s, 1000)
			for side := range 2 {
				b := append(s.Data(side, []byte("before "), 100), c.records(s, side)...)
				conn.Send(side, append(b, s.Data(side, []byte(" after"), 100)...))
			}
			conn.Close()
			got, stats := runFrames(frames, s.KeyLog(), Options{Flows: 10})
			for side := range 2 {
				if b := string(got.streams[0].bytes(side)); b != "before "+c.says+" after" {
					t.Errorf("%#x, %s, side %d: %d bytes, %.60q", suite, name, side, len(b), b)
				}
			}
			if got := stats.TLS; got.BadRecords != 2*c.bad || got.BadPadding != 2*c.noType || (got.LostBytes > 0) != c.lost {
				t.Errorf("%#x, %s: %+v", suite, name, got)
			}
		}
	}
}
