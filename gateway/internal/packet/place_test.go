package packet

import (
	"math/rand/v2"
	"testing"
)

// Usual of a frame equals Hash of the connection that Parse finds in it, in both directions. Connections are spread
// over cores evenly.
func TestPlacement(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	p := &Placement{Keys: [3]uint32{0x9e3779b1, 0x85ebca6b, 0xc2b2ae35}}
	const cores, conns = 4, 4000
	var load [cores]int
	for i := range conns {
		v6 := i%2 == 1
		var a, b [16]byte
		for k := range a {
			a[k], b[k] = byte(r.Uint32()), byte(r.Uint32())
		}
		if !v6 {
			copy(a[:12], []byte{10: 0xff, 11: 0xff})
			copy(b[:12], []byte{10: 0xff, 11: 0xff})
			if i%4 == 0 { // one server, and clients with successive addresses
				a[12], a[13], a[14], a[15] = 10, 0, byte(i>>8), byte(i)
				b[12], b[13], b[14], b[15] = 10, 9, 9, 9
			}
		}
		from, to := uint16(r.Uint32()), uint16(443)
		var hashes []uint32
		for back := range 2 {
			var template Template
			vlan := uint16(i % 3 * 5)
			if back == 0 {
				template.Init(&[12]byte{}, vlan, v6, &a, &b, from, to)
			} else {
				template.Init(&[12]byte{}, vlan, v6, &b, &a, to, from)
			}
			frame := make([]byte, template.Size()+100)
			template.Build(frame, 1, 1, ACK, 1, frame[:100], false)
			var s Segment
			if v := Parse(&s, LinkEthernet, frame); v != TCP {
				t.Fatal(v)
			}
			h, ok := p.Usual(frame)
			if !ok || h != p.Hash(&s.Tuple) {
				t.Fatalf("connection %d: %x, %v, and %x", i, h, ok, p.Hash(&s.Tuple))
			}
			hashes = append(hashes, h)
			// A fragment is not usual.
			if !v6 {
				at := 14
				if vlan != 0 {
					at = 18
				}
				frame[at+6] |= 0x20
				if _, ok := p.Usual(frame); ok {
					t.Fatal("a fragment")
				}
			}
		}
		if hashes[0] != hashes[1] {
			t.Fatalf("connection %d: %x, and back %x", i, hashes[0], hashes[1])
		}
		load[hashes[0]%cores]++
	}
	for core, n := range load {
		if n < conns/cores*4/5 || n > conns/cores*6/5 {
			t.Errorf("core %d has %d of %d", core, n, conns)
		}
	}
	if q := NewPlacement(); q.Keys == NewPlacement().Keys {
		t.Error("keys are not random")
	}
}
