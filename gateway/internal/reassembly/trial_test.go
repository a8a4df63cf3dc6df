package reassembly

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/sealane/sealane/gateway/internal/held"
	"github.com/sealane/sealane/gateway/internal/keys"
	"github.com/sealane/sealane/gateway/internal/tls"
	"github.com/sealane/sealane/gateway/internal/traffic"
)

// A connection is read with one pair of beginnings after the other until a record opens. Before that, nothing is
// delivered, counted or reported to the store.
func TestTrialOfBeginnings(t *testing.T) {
	for _, suite := range []uint16{traffic.AES128, traffic.ChaCha20} {
		s := traffic.NewSession(suite, rand.New(rand.NewPCG(1, 1)))
		store := keys.NewStore(10)
		(&keys.Log{Store: store}).Write(s.KeyLog())
		dec := tls.NewDecrypter(store)
		said, opened := 0, 0
		dec.Plaintext = func(*tls.Conn, uint8, []byte) { said++ }
		dec.Lost = func(*tls.Conn, uint8, int) { said++ }
		dec.Opened = func(*tls.Conn) { opened++ }
		r := New(dec, 1<<20)
		var c tls.Conn
		next := [2]uint32{100, 200}
		p := Pair{TLS: &c, Next: [2]*uint32{&next[0], &next[1]}}
		r.Begin(&p)
		hello, flight := s.ClientHello(), s.ServerFlight(1000)
		forged := bytes.Clone(hello)
		forged[20] ^= 1 // of its random
		first := tls.Frame(flight) + 20
		r.Segment(&p, tls.Client, 100, forged, nil, 1)
		r.Segment(&p, tls.Server, 200, flight[:first], nil, 2)
		r.Segment(&p, tls.Client, 100, hello, nil, 3)
		if opened > 0 || !p.Contested() {
			t.Fatalf("suite %x: a record opened that is not whole", suite)
		}
		d := p.Dir[tls.Server]
		r.order++
		d.held.Insert(&r.Pool, 200+uint32(first), held.Class{}, r.order, 0, flight[first:])
		read := 0
		for _, client := range slices.Backward(r.candidates(&p, p.Dir[0], tls.Client, false)) { // the likeliest last
			for _, server := range r.candidates(&p, d, tls.Server, false) {
				if opened > 0 {
					break
				}
				read++
				stats := dec.Stats
				proved := r.read(&p, &client, &server, true, false)
				if stats.Trials = dec.Stats.Trials; !proved && (said+opened > 0 || stats != dec.Stats || c.Opened(0) || c.Opened(1)) {
					t.Errorf("suite %x: beginnings with which no record opens: %d callbacks, %+v", suite, said+opened, dec.Stats)
				}
			}
		}
		if read < 2 || opened != 1 {
			t.Errorf("suite %x: after %d pairs of beginnings %d connections were opened", suite, read, opened)
		}
	}
}
