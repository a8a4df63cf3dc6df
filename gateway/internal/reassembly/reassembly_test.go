package reassembly

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/sealane/sealane/gateway/internal/keys"
	"github.com/sealane/sealane/gateway/internal/tls"
)

// protectedFrom finds the first protected record.
func TestProtectedFrom(t *testing.T) {
	rec := func(kind byte, n int) string {
		return string([]byte{kind, 3, 3, byte(n >> 8), byte(n)}) + string(make([]byte, n))
	}
	for _, c := range []struct {
		b string
		n int
	}{
		{"", 0}, {"\x16\x03", 0}, {rec(22, 10) + rec(23, 30), 15}, {rec(22, 10) + rec(20, 1) + rec(22, 40), 21},
		{rec(22, 10)[:9], 9}, {rec(22, 10) + "junk, junk", 15},
	} {
		if n := protectedFrom([]byte(c.b)); n != c.n {
			t.Errorf("%s: %d, it should be %d", fmt.Sprintf("% x", c.b), n, c.n)
		}
	}
}

// Other directions hold all memory, and the largest one has been released. A direction without held segments cannot
// free any, so its new segment is dropped.
func TestNoRoomForAnybody(t *testing.T) {
	const limit = 10 << 10
	r := New(tls.NewDecrypter(keys.NewStore(1)), limit)
	pairs := make([]Pair, 3)
	conns, next := make([]tls.Conn, len(pairs)), make([][2]uint32, len(pairs))
	send := func(i int, seq uint32, n int) Result {
		return r.Segment(&pairs[i], tls.Server, seq, bytes.Repeat([]byte{22}, n), nil, 1)
	}
	for i := range pairs {
		p := &pairs[i]
		p.TLS = &conns[i]
		p.Next = [2]*uint32{&next[i][0], &next[i][1]}
		r.Begin(p)
	}
	for k := range uint32(2) { // the first one holds most
		send(0, 100+k*1000, 700)
	}
	for k := range uint32(2) {
		send(1, 100+k*1000, 600)
	}
	if r.largest != pairs[0].Dir[tls.Server] || r.Pool.Room(700) {
		t.Fatalf("%d bytes of %d are held", r.Pool.Held, limit)
	}
	r.Pool.Limit = r.Pool.Held / 2
	r.Release(&pairs[0])
	if r.largest != nil || r.Pool.Room(700) {
		t.Fatalf("%d bytes of %d are held by who is left", r.Pool.Held, r.Pool.Limit)
	}
	evicted := r.Stats.Evicted
	if send(2, 100, 700); r.Stats.Evicted == evicted || len(pairs[2].Dir[tls.Server].held.Segs) != 0 {
		t.Errorf("it is held all the same: %+v", r.Stats)
	}
}
