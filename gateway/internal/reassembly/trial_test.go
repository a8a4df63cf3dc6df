package reassembly

import (
	"bytes"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/sealane/sealane/gateway/internal/held"
	"github.com/sealane/sealane/gateway/internal/keys"
	"github.com/sealane/sealane/gateway/internal/tls"
	"github.com/sealane/sealane/gateway/internal/traffic"
)

// Beginnings are read in a connection of their own: a trial says with which of them a record opens, and changes nothing of the real one,
// delivers nothing and tells the store nothing.
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
		all := [2][]candidate{r.candidates(&p, p.Dir[0], tls.Client, false), r.candidates(&p, d, tls.Server, false)}
		results := map[int]int{}
		try := func() (changed bool) {
			for i := range all[0] {
				for j := range all[1] {
					conn, dirs, stats := c, [2]Direction{*p.Dir[0], *p.Dir[1]}, dec.Stats
					results[r.tryBoth(&p, &all[0][i], &all[1][j], false)]++
					for side, d := range p.Dir { // its price is paid, and it is known which records did not open
						dirs[side].credit, dirs[side].failed = d.credit, d.failed
					}
					stats.Trials = dec.Stats.Trials
					changed = changed || !reflect.DeepEqual(conn, c) || stats != dec.Stats || next != [2]uint32{*p.Next[0], *p.Next[1]} ||
						!reflect.DeepEqual(dirs, [2]Direction{*p.Dir[0], *p.Dir[1]})
				}
			}
			return changed
		}
		if try() || said+opened > 0 {
			t.Errorf("suite %x: a trial changed something", suite)
		}
		if results[proved] == 0 || results[proved] == len(all[0])*len(all[1]) {
			t.Errorf("suite %x: of %d and %d beginnings: %v", suite, len(all[0]), len(all[1]), results)
		}
		r.trials.Dec, r.trials.Dec.Trial = dec, false
		if !try() || opened == 0 {
			t.Errorf("suite %x: a reading that is none of a trial changed nothing", suite)
		}
	}
}
