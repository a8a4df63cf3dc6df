package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/http3"
)

// Each recording is a connection, or a few, on a wire in memory. All names with their captures:
//
//	v1, v2        both versions; streams of both kinds and sides, several packets each
//	retry         the server asks for the address to be proven
//	negotiation   the client begins with version 2, the server has version 1
//	idle-ids      the client's connection IDs have no bytes
//	0rtt          the second connection begins with 0-RTT packets; 0rtt-rejected: the server does not take them
//	update        enough packets for key updates
//	migration     the client probes another address and moves there
//	rebinding     the client's port changes under it
//	reset         the server forgets the connection, and resets it statelessly
//	h3            HTTP/3, several requests at a time
//	ipv6          as v1
var recordings = map[string]func(*recording) error{
	"v1": func(r *recording) error { return r.plain(nil) },
	"v2": func(r *recording) error {
		r.client.Versions, r.server.Versions = []quic.Version{quic.Version2}, []quic.Version{quic.Version2}
		return r.plain(nil)
	},
	"retry": func(r *recording) error { r.retry = true; return r.plain(nil) },
	"negotiation": func(r *recording) error {
		r.client.Versions, r.server.Versions = []quic.Version{quic.Version2, quic.Version1}, []quic.Version{quic.Version1}
		return r.plain(nil)
	},
	"idle-ids":      func(r *recording) error { r.clientIDs = 0; return r.plain(nil) },
	"0rtt":          func(r *recording) error { return r.early(true) },
	"0rtt-rejected": func(r *recording) error { return r.early(false) },
	"update":        func(r *recording) error { r.size = 200 << 10; return r.plain(nil) },
	"migration":     func(r *recording) error { return r.plain(r.migrate) },
	"rebinding":     func(r *recording) error { return r.plain(r.rebind) },
	"reset":         func(r *recording) error { return r.forget() },
	"h3":            func(r *recording) error { return r.http() },
	"ipv6":          func(r *recording) error { r.addresses = [2]string{"2001:db8::1", "2001:db8::2"}; return r.plain(nil) },
}

type recording struct {
	wire           wire
	keys           bytes.Buffer
	keysMu         sync.Mutex
	client, server quic.Config
	addresses      [2]string
	clientIDs      int
	retry          bool
	size           int
	transports     []*quic.Transport
	socket         *end // the client's
}

func (r *recording) Write(b []byte) (int, error) {
	r.keysMu.Lock()
	defer r.keysMu.Unlock()
	return r.keys.Write(b)
}

func record(folder string, names []string) error {
	if len(names) == 0 {
		for name := range recordings {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		f := recordings[name]
		if f == nil {
			return fmt.Errorf("%s: there is no such recording", name)
		}
		r := &recording{addresses: [2]string{"192.0.2.1", "192.0.2.2"}, clientIDs: 4, size: 12 << 10}
		r.client.MaxIdleTimeout, r.server.MaxIdleTimeout = 5*time.Second, 5*time.Second
		r.server.Allow0RTT = true
		err := f(r)
		for _, t := range r.transports {
			t.Close()
		}
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		base := filepath.Join(folder, "q-"+name)
		r.keysMu.Lock()
		log := r.keys.Bytes()
		r.keysMu.Unlock()
		if err := errors.Join(r.wire.write(base+".pcap"), os.WriteFile(base+".keys", log, 0o600)); err != nil {
			return err
		}
		fmt.Println(base, len(r.wire.frames), "datagrams")
	}
	return nil
}

func (r *recording) transport(side, ids, port int) *quic.Transport {
	e := r.wire.open(r.addresses[side], port)
	if side == 0 {
		r.socket = e
	}
	t := &quic.Transport{Conn: e, ConnectionIDLength: ids, StatelessResetKey: &quic.StatelessResetKey{1, 2, 3}}
	if side == 1 && r.retry {
		t.VerifySourceAddress = func(net.Addr) bool { return true }
	}
	r.transports = append(r.transports, t)
	return t
}

// serve answers each bidirectional stream with a greeting and its bytes in upper case, and sends a stream of its own.
func (r *recording) serve(ids int) (*quic.EarlyListener, error) {
	config, err := serverConfig(protocol)
	if err != nil {
		return nil, err
	}
	config.KeyLogWriter = r
	listener, err := r.transport(1, ids, 443).ListenEarly(config, &r.server)
	if err != nil {
		return nil, err
	}
	go func() {
		for {
			conn, err := listener.Accept(context.Background())
			if err != nil {
				return
			}
			go answer(conn)
		}
	}()
	return listener, nil
}

func answer(conn *quic.Conn) {
	if own, err := conn.OpenUniStream(); err == nil {
		fmt.Fprintf(own, "a stream of the server's, %d bytes of which follow\n", 5000)
		own.Write(bytes.Repeat([]byte("server "), 5000/7))
		own.Close()
	}
	for {
		stream, err := conn.AcceptStream(context.Background())
		if err != nil {
			return
		}
		go func() {
			b, err := io.ReadAll(stream)
			if err != nil {
				return
			}
			io.WriteString(stream, "you said: ")
			stream.Write(bytes.ToUpper(b))
			stream.Close()
		}()
	}
}

// ask sends requests on a few streams at a time and reads the answers.
func (r *recording) ask(conn *quic.Conn, streams, size int) error {
	errs := make(chan error, streams)
	for i := range streams {
		text := bytes.Repeat(fmt.Appendf(nil, "stream %d of this connection. ", i), size/28)
		go func() {
			errs <- func() error {
				stream, err := conn.OpenStreamSync(context.Background())
				if err != nil {
					return err
				}
				if _, err := stream.Write(text); err != nil {
					return err
				}
				stream.Close()
				b, err := io.ReadAll(stream)
				if err == nil && len(b) != len(text)+10 {
					err = fmt.Errorf("%d bytes came of %d", len(b), len(text)+10)
				}
				return err
			}()
		}()
	}
	for range streams {
		if err := <-errs; err != nil {
			return err
		}
	}
	return nil
}

func (r *recording) clientTLS() *tls.Config {
	return &tls.Config{InsecureSkipVerify: true, NextProtos: []string{protocol}, KeyLogWriter: r, ServerName: "quic.example", ClientSessionCache: tls.NewLRUClientSessionCache(10)}
}

func (r *recording) dial(config *tls.Config) (*quic.Conn, *quic.Transport, error) {
	t := r.transport(0, r.clientIDs, 50001)
	conn, err := t.Dial(context.Background(), r.transports[0].Conn.LocalAddr(), config, &r.client)
	return conn, t, err
}

func (r *recording) plain(between func(*quic.Conn, *quic.Transport) error) error {
	if _, err := r.serve(8); err != nil {
		return err
	}
	conn, t, err := r.dial(r.clientTLS())
	if err != nil {
		return err
	}
	if err := r.ask(conn, 3, r.size/3); err != nil {
		return err
	}
	if between != nil {
		if err := between(conn, t); err != nil {
			return err
		}
		if err := r.ask(conn, 2, r.size/3); err != nil {
			return err
		}
	}
	return r.bye(conn)
}

func (r *recording) bye(conn *quic.Conn) error {
	time.Sleep(50 * time.Millisecond) // for the server's stream
	err := conn.CloseWithError(0, "bye")
	time.Sleep(50 * time.Millisecond)
	return err
}

func (r *recording) migrate(conn *quic.Conn, _ *quic.Transport) error {
	r.addresses[0] = "198.51.100.7"
	path, err := conn.AddPath(r.transport(0, r.clientIDs, 50002))
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	if err := path.Probe(ctx); err != nil {
		return err
	}
	return path.Switch()
}

func (r *recording) rebind(*quic.Conn, *quic.Transport) error {
	r.wire.move(r.socket, 60001)
	return nil
}

func (r *recording) early(accept bool) error {
	if _, err := r.serve(8); err != nil {
		return err
	}
	config := r.clientTLS()
	conn, t, err := r.dial(config)
	if err != nil {
		return err
	}
	if err := r.ask(conn, 1, 300); err != nil {
		return err
	}
	if err := r.bye(conn); err != nil {
		return err
	}
	r.server.Allow0RTT = accept
	server := r.transports[0].Conn.LocalAddr()
	if !accept {
		// The server has lost its ticket keys and its session state.
		r.transports[0].Close()
		if _, err := r.serve(8); err != nil {
			return err
		}
	}
	t = r.transport(0, r.clientIDs, 50003)
	conn, err = t.DialEarly(context.Background(), server, config, &r.client)
	if err != nil {
		return err
	}
	err = r.ask(conn, 2, 1500)
	if !accept {
		if !errors.Is(err, quic.Err0RTTRejected) {
			return fmt.Errorf("0-RTT packets were not rejected: %v", err)
		}
		if conn, err = conn.NextConnection(context.Background()); err != nil {
			return err
		}
		err = r.ask(conn, 1, 1000)
	}
	if err != nil {
		return err
	}
	return r.bye(conn)
}

func (r *recording) forget() error {
	if _, err := r.serve(8); err != nil {
		return err
	}
	conn, _, err := r.dial(r.clientTLS())
	if err != nil {
		return err
	}
	if err := r.ask(conn, 1, 300); err != nil {
		return err
	}
	time.Sleep(50 * time.Millisecond)
	// Another server, with the same key for tokens, takes its place. The old one sends nothing more.
	r.wire.open("192.0.2.99", 9)
	old := r.transports[0].Conn.(*end)
	e := r.wire.open(r.addresses[1], 443)
	old.w = &wire{}
	t := &quic.Transport{Conn: e, ConnectionIDLength: 8, StatelessResetKey: &quic.StatelessResetKey{1, 2, 3}}
	r.transports = append(r.transports, t)
	config, err := serverConfig(protocol)
	if err != nil {
		return err
	}
	if _, err := t.Listen(config, &r.server); err != nil {
		return err
	}
	err = r.ask(conn, 1, 300)
	var reset *quic.StatelessResetError
	if !errors.As(err, &reset) {
		return fmt.Errorf("there was no reset: %v", err)
	}
	return nil
}

func (r *recording) http() error {
	config, err := serverConfig(http3.NextProtoH3)
	if err != nil {
		return err
	}
	config.KeyLogWriter = r
	mux := http.NewServeMux()
	mux.HandleFunc("GET /bytes/{n}", func(w http.ResponseWriter, q *http.Request) {
		n, _ := strconv.Atoi(q.PathValue("n"))
		w.Header().Set("Content-Type", "text/plain")
		w.Header().Set("X-Sealane", strings.Repeat("a header that is long ", 10))
		io.WriteString(w, strings.Repeat("0123456789abcdef", n/16))
	})
	mux.HandleFunc("POST /echo", func(w http.ResponseWriter, q *http.Request) {
		w.Header().Set("Trailer", "X-Sum")
		io.Copy(w, q.Body)
		w.Header().Set("X-Sum", "after the body")
	})
	server := &http3.Server{TLSConfig: config, Handler: mux, QUICConfig: &r.server}
	listener, err := r.transport(1, 8, 443).ListenEarly(config, &r.server)
	if err != nil {
		return err
	}
	go server.ServeListener(listener)
	client := r.transport(0, r.clientIDs, 50001)
	round := &http3.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true, KeyLogWriter: r, ServerName: "quic.example"}, QUICConfig: &r.client,
		Dial: func(ctx context.Context, _ string, tlsConfig *tls.Config, config *quic.Config) (*quic.Conn, error) {
			return client.DialEarly(ctx, r.transports[0].Conn.LocalAddr(), tlsConfig, config)
		}}
	h := &http.Client{Transport: round}
	get := func(path string) error {
		a, err := h.Get("https://quic.example" + path)
		if err != nil {
			return err
		}
		defer a.Body.Close()
		_, err = io.Copy(io.Discard, a.Body)
		return err
	}
	errs := make(chan error, 4)
	for _, path := range []string{"/bytes/16", "/bytes/5000", "/none", "/bytes/20000"} {
		go func() { errs <- get(path) }()
	}
	for range 4 {
		if err := <-errs; err != nil {
			return err
		}
	}
	a, err := h.Post("https://quic.example/echo", "application/octet-stream", strings.NewReader(strings.Repeat("what is posted. ", 300)))
	if err != nil {
		return err
	}
	defer a.Body.Close()
	if _, err := io.Copy(io.Discard, a.Body); err != nil {
		return err
	}
	time.Sleep(50 * time.Millisecond)
	round.Close()
	time.Sleep(50 * time.Millisecond)
	return nil
}
