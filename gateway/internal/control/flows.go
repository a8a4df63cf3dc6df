// Package control is the gateway's interface to other programs: flows with their keys, and metrics.
package control

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"time"

	"golang.org/x/net/netutil"

	"github.com/sealane/sealane/gateway/internal/engine"
	"github.com/sealane/sealane/gateway/internal/tls"
)

// A flow is one direction of a connection, as JSON.
type flow struct {
	Source      string  `json:"source"`
	Destination string  `json:"destination"`
	From        string  `json:"from,omitempty"`  // sender of this direction: client or server
	Suite       string  `json:"suite,omitempty"` // IANA name
	Key         digits  `json:"key,omitempty"`   // write-only
	IV          digits  `json:"iv,omitempty"`
	Secret      digits  `json:"secret,omitempty"`   // traffic secret; replaces key and iv
	Next        uint64  `json:"next"`               // number of the next record
	Sequence    *uint32 `json:"sequence,omitempty"` // TCP sequence number of its first byte, if known
	State       string  `json:"state,omitempty"`
}

// digits are hexadecimal in JSON. They are not stored as a string, which could not be wiped.
type digits []byte

func (d *digits) UnmarshalJSON(b []byte) error {
	if len(b) < 2 || b[0] != '"' || b[len(b)-1] != '"' || len(b)%2 != 0 {
		return errors.New("not hexadecimal digits")
	}
	clear(*d) // the field may occur twice
	*d = make([]byte, len(b)/2-1)
	if _, err := hex.Decode(*d, b[1:len(b)-1]); err != nil {
		clear(*d)
		return errors.New("not hexadecimal digits") // omits the digits
	}
	return nil
}

// wipe wipes the keys.
func (f *flow) wipe() {
	clear(f.Key)
	clear(f.IV)
	clear(f.Secret)
}

var suites = map[string]uint16{
	"TLS_AES_128_GCM_SHA256": 0x1301, "TLS_AES_256_GCM_SHA384": 0x1302, "TLS_CHACHA20_POLY1305_SHA256": 0x1303,
	"TLS_AES_128_CCM_SHA256": 0x1304, "TLS_AES_128_CCM_8_SHA256": 0x1305,
	"TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256": 0xc02b, "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384": 0xc02c,
	"TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256": 0xc02f, "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384": 0xc030,
	"TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256": 0xcca8, "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256": 0xcca9,
}

var states = [...]string{"waiting", "reading", "ended"}

func (f *flow) key() (*engine.Key, error) {
	source, err := netip.ParseAddrPort(f.Source)
	if err != nil {
		return nil, fmt.Errorf("source: %w", err)
	}
	destination, err := netip.ParseAddrPort(f.Destination)
	if err != nil {
		return nil, fmt.Errorf("destination: %w", err)
	}
	k := &engine.Key{Source: source, Destination: destination}
	switch f.From {
	case "client":
	case "server":
		k.FromServer = true
	case "":
		k.FromServer = source.Port() < destination.Port()
	default:
		return nil, fmt.Errorf("from: %q is neither client nor server", f.From)
	}
	suite, ok := suites[f.Suite]
	if !ok {
		return nil, fmt.Errorf("suite: %q is not known", f.Suite)
	}
	k.Given = tls.Given{Suite: suite, Key: f.Key, IV: f.IV, Secret: f.Secret, Next: f.Next}
	if err := k.Given.Complete(); err != nil {
		return nil, err
	}
	if f.Sequence != nil {
		k.Given.Aligned, k.Sequence = true, *f.Sequence
	}
	return k, nil
}

func flowOf(k *engine.Key) flow {
	state, next := k.State()
	f := flow{Source: k.Source.String(), Destination: k.Destination.String(), From: "client", Next: next, State: states[state]}
	if k.FromServer {
		f.From = "server"
	}
	for name, n := range suites {
		if n == k.Given.Suite {
			f.Suite = name
		}
	}
	return f
}

// readAll reads everything, and leaves no copies behind.
func readAll(r io.Reader) ([]byte, error) {
	b := make([]byte, 0, 4096)
	for {
		n, err := r.Read(b[len(b):cap(b)])
		b = b[:len(b)+n]
		if err == io.EOF {
			return b, nil
		}
		if err != nil {
			clear(b)
			return nil, err
		}
		if len(b) == cap(b) {
			old := b
			b = append(make([]byte, 0, 2*cap(old)), old...)
			clear(old)
		}
	}
}

// leastFlow is shorter than any flow: two endpoints, a suite and a secret.
const leastFlow = 100

// elements returns the number of elements if b is a JSON list. Parsed elements would take much more memory than their
// text.
func elements(b []byte) int {
	n, depth, quoted := 1, 0, false
	for i := 0; i < len(b); i++ {
		switch c := b[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '[' || c == '{':
			depth++
		case c == ']' || c == '}':
			depth--
		case c == ',' && depth == 1:
			n++
		}
	}
	return n
}

// decode parses a request: one flow or a list of them.
func decode(r io.Reader) (many []flow, err error) {
	b, err := readAll(r)
	defer clear(b)
	if err != nil {
		return nil, err
	}
	many = make([]flow, 1)
	if bytes.HasPrefix(bytes.TrimSpace(b), []byte("[")) {
		if n := elements(b); n > len(b)/leastFlow+1 {
			return nil, fmt.Errorf("%d elements in %d bytes: not all of them can be flows", n, len(b))
		}
		many = nil
		err = json.Unmarshal(b, &many)
	} else {
		err = json.Unmarshal(b, &many[0])
	}
	return many, err
}

const (
	maxRequest = 4 << 20
	maxAtOnce  = 4 // requests that are read concurrently
)

// Serve runs a handler for connections to l until l is closed. A client that is silent, slow, does not read, or
// connects too often delays others only for a limited time.
func Serve(l net.Listener, h http.Handler) *http.Server {
	return serve(l, h, 10*time.Second, 30*time.Second)
}

const connections = 64

func serve(l net.Listener, h http.Handler, header, request time.Duration) *http.Server {
	s := &http.Server{Handler: h, ReadHeaderTimeout: header, ReadTimeout: request, WriteTimeout: 2 * request, IdleTimeout: request,
		ErrorLog: slog.NewLogLogger(slog.Default().Handler(), slog.LevelWarn)}
	go s.Serve(netutil.LimitListener(l, connections))
	return s
}

// Flows serves the table of given keys:
//
//	PUT /flows     adds a flow, or either all or none of a list of flows
//	GET /flows     returns all flows, or with ?source=...&destination=... one; never keys
//	DELETE /flows  with ?source=...&destination=... deletes one
//
// It holds lock, unless nil, while it changes or reads the table, and never while it waits for the client.
func Flows(table *engine.Keys, lock sync.Locker) http.Handler {
	if lock == nil {
		lock = new(sync.Mutex)
	}
	mux := http.NewServeMux()
	fail := func(w http.ResponseWriter, code int, err error) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(code)
		json.NewEncoder(w).Encode(map[string]string{"error": err.Error()})
	}
	room := make(chan struct{}, maxAtOnce)
	mux.HandleFunc("PUT /flows", func(w http.ResponseWriter, r *http.Request) {
		room <- struct{}{}
		defer func() { <-room }()
		flows, err := decode(http.MaxBytesReader(w, r.Body, maxRequest))
		taken := 0
		defer func() {
			for i := range flows[taken:] {
				flows[taken+i].wipe()
			}
		}()
		if err != nil {
			fail(w, http.StatusBadRequest, err)
			return
		}
		var ks []*engine.Key
		for i := range flows {
			k, err := flows[i].key()
			if err != nil {
				fail(w, http.StatusBadRequest, fmt.Errorf("flow %d: %w", i, err))
				return
			}
			// Derived keys were filled in, and belong to the flow from now on.
			flows[i].Key, flows[i].IV = k.Given.Key, k.Given.IV
			ks = append(ks, k)
		}
		lock.Lock()
		err = table.Put(ks...)
		lock.Unlock()
		if err != nil {
			fail(w, http.StatusInsufficientStorage, err)
			return
		}
		taken = len(ks)
		for _, k := range ks {
			slog.Info("flow given", "flow", k.String())
		}
		w.WriteHeader(http.StatusNoContent)
	})
	one := func(w http.ResponseWriter, r *http.Request) (s, d netip.AddrPort, ok bool) {
		s, err := netip.ParseAddrPort(r.URL.Query().Get("source"))
		if err == nil {
			d, err = netip.ParseAddrPort(r.URL.Query().Get("destination"))
		}
		if err != nil {
			fail(w, http.StatusBadRequest, fmt.Errorf("source and destination: %w", err))
		}
		return s, d, err == nil
	}
	missing := errors.New("no such flow")
	mux.HandleFunc("GET /flows", func(w http.ResponseWriter, r *http.Request) {
		all := []flow{}
		if r.URL.RawQuery == "" {
			lock.Lock()
			for _, k := range table.All() {
				all = append(all, flowOf(k))
			}
			lock.Unlock()
		} else {
			s, d, ok := one(w, r)
			if !ok {
				return
			}
			lock.Lock()
			if k := table.Get(s, d); k != nil {
				all = append(all, flowOf(k))
			}
			lock.Unlock()
			if len(all) == 0 {
				fail(w, http.StatusNotFound, missing)
				return
			}
		}
		w.Header().Set("Content-Type", "application/json")
		json.NewEncoder(w).Encode(all)
	})
	mux.HandleFunc("DELETE /flows", func(w http.ResponseWriter, r *http.Request) {
		s, d, ok := one(w, r)
		if !ok {
			return
		}
		lock.Lock()
		there := table.Delete(s, d)
		lock.Unlock()
		if !there {
			fail(w, http.StatusNotFound, missing)
			return
		}
		w.WriteHeader(http.StatusNoContent)
	})
	return mux
}
