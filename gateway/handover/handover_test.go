package handover_test

import (
	"bytes"
	"math/rand/v2"
	"net/netip"
	"testing"

	"github.com/sealane/sealane/gateway/handover"
	"github.com/sealane/sealane/gateway/internal/capture"
	"github.com/sealane/sealane/gateway/internal/packet"
	"github.com/sealane/sealane/gateway/internal/traffic"
)

// one is a direction with records of different sizes in packets that know nothing of them.
type one struct {
	flow  handover.Flow
	plain []byte
	ends  []int // of records, in bytes of the stream
	text  []int // of records, in bytes of plaintext
	parts []capture.Frame
}

func newOne(r *rand.Rand, suite uint16) *one {
	o := &one{}
	s, c := traffic.NewSession(suite, r), traffic.NewConn(1, &o.parts)
	c.Handshake(s, 500)
	o.flow.Suite = suite
	o.flow.Key, o.flow.IV, o.flow.Number = s.Keys(traffic.Server)
	o.parts = nil
	var stream []byte
	for range 40 {
		data := make([]byte, 1+r.IntN(3000))
		for i := range data {
			data[i] = byte(r.Uint32())
		}
		stream = append(stream, s.Data(traffic.Server, data, 1<<14)...)
		o.plain = append(o.plain, data...)
		o.ends, o.text = append(o.ends, len(stream)), append(o.text, len(o.plain))
	}
	for len(stream) > 0 {
		c.MSS = 1 + r.IntN(2000)
		n := min(len(stream), c.MSS)
		before := len(o.parts)
		c.Send(traffic.Server, stream[:n])
		o.parts = o.parts[:before+1] // without acknowledgements
		stream = stream[n:]
	}
	var g packet.Segment
	packet.Parse(&g, packet.LinkEthernet, o.parts[0].Data)
	o.flow.Source, o.flow.Destination, o.flow.Sequence = g.Tuple.Endpoint(g.Side), g.Tuple.Endpoint(1-g.Side), g.Seq
	return o
}

func TestFeed(t *testing.T) {
	for i := range 60 {
		r := rand.New(rand.NewPCG(7, uint64(i)))
		o := newOne(r, []uint16{traffic.AES128, traffic.AES256, traffic.ChaCha20}[i%3])
		var got []byte
		p := handover.New(handover.Options{Plaintext: func(_, _ netip.AddrPort, b []byte) { got = append(got, b...) },
			Lost: func(_, _ netip.AddrPort, n int) { t.Errorf("run %d: %d bytes lost", i, n) }})
		if v := p.Feed(o.parts[0].Data, 0); v != handover.Unregistered {
			t.Fatalf("not registered: %v", v)
		}
		if err := p.Put(o.flow); err != nil {
			t.Fatal(err)
		}
		// Some change places, some come twice.
		for j := 1; j < len(o.parts); j++ {
			if r.IntN(4) == 0 {
				o.parts[j-1], o.parts[j] = o.parts[j], o.parts[j-1]
			}
		}
		for j := range o.parts {
			v := p.Feed(o.parts[j].Data, int64(j))
			if v != handover.Taken && v != handover.Held {
				t.Fatalf("run %d: verdict %d", i, v)
			}
			if v == handover.Taken && r.IntN(4) == 0 {
				if v := p.Feed(o.parts[j].Data, int64(j)); v != handover.Repeated {
					t.Fatalf("run %d: again: verdict %d", i, v)
				}
			}
		}
		if !bytes.Equal(got, o.plain) {
			t.Fatalf("run %d: %d bytes of %d", i, len(got), len(o.plain))
		}
		number, sequence, ok := p.Position(o.flow.Source, o.flow.Destination)
		if !ok || number != o.flow.Number+uint64(len(o.ends)) || sequence != o.flow.Sequence+uint32(o.ends[len(o.ends)-1]) {
			t.Fatalf("run %d: ends at %d, %d, %v", i, number, sequence, ok)
		}
	}
}

// The filter opens some records and reports its position, from which the path continues.
func TestThereAndBack(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	o := newOne(r, traffic.ChaCha20)
	var got []byte
	p := handover.New(handover.Options{Plaintext: func(_, _ netip.AddrPort, b []byte) { got = append(got, b...) }})
	if err := p.Put(o.flow); err != nil {
		t.Fatal(err)
	}
	const opened = 10 // by the filter
	if err := p.Advance(o.flow.Source, o.flow.Destination, o.flow.Number+opened, o.flow.Sequence+uint32(o.ends[opened-1])); err != nil {
		t.Fatal(err)
	}
	for _, f := range o.parts {
		p.Feed(f.Data, 0)
		number, sequence, ok := p.Position(o.flow.Source, o.flow.Destination)
		if n := number - o.flow.Number; ok && (n > opened && sequence != o.flow.Sequence+uint32(o.ends[n-1]) || n < opened) {
			t.Fatalf("record %d begins at %d", n, sequence)
		}
	}
	if !bytes.Equal(got, o.plain[o.text[opened-1]:]) {
		t.Errorf("%d bytes of %d", len(got), len(o.plain)-o.text[opened-1])
	}
	if err := p.Advance(o.flow.Source, o.flow.Destination, 1, o.flow.Sequence); err != handover.ErrBehind {
		t.Errorf("back: %v", err)
	}
	p.Delete(o.flow.Source, o.flow.Destination)
	if v := p.Feed(o.parts[0].Data, 0); v != handover.Unregistered {
		t.Errorf("deleted: verdict %d", v)
	}
}

func TestForged(t *testing.T) {
	o := newOne(rand.New(rand.NewPCG(4, 4)), traffic.AES128)
	o.flow.Key[0] ^= 1
	p := handover.New(handover.Options{Plaintext: func(_, _ netip.AddrPort, b []byte) { t.Errorf("%d bytes delivered", len(b)) }})
	if err := p.Put(o.flow); err != nil {
		t.Fatal(err)
	}
	var last handover.Verdict
	for _, f := range o.parts {
		last = p.Feed(f.Data, 0)
	}
	if last != handover.Refused {
		t.Errorf("verdict %d", last)
	}
	o.flow.Key = o.flow.Key[1:]
	if p.Put(o.flow) == nil {
		t.Error("a key of 15 bytes was taken")
	}
}

// After a KeyUpdate, a direction with a known secret is read on here. It does not return to the filter, which has the
// old keys.
func TestKeyUpdate(t *testing.T) {
	for _, suite := range []uint16{traffic.AES128, traffic.AES256, traffic.ChaCha20} {
		for _, known := range []bool{true, false} {
			var frames []capture.Frame
			s, c := traffic.NewSession(suite, rand.New(rand.NewPCG(1, 1))), traffic.NewConn(1, &frames)
			c.Handshake(s, 500)
			frames = nil
			f := handover.Flow{Suite: suite}
			f.Key, f.IV, f.Number = s.Keys(traffic.Server)
			if known {
				f.Secret = s.Secret(traffic.Server)
			}
			send := func(b []byte) { // one packet, and its acknowledgement
				c.Send(traffic.Server, b)
				frames = frames[:len(frames)-1]
			}
			send(s.Data(traffic.Server, []byte("before "), 100))
			send(s.KeyUpdate(traffic.Server))
			send(s.Data(traffic.Server, []byte("after"), 100))
			var g packet.Segment
			packet.Parse(&g, packet.LinkEthernet, frames[0].Data)
			f.Source, f.Destination, f.Sequence = g.Tuple.Endpoint(g.Side), g.Tuple.Endpoint(1-g.Side), g.Seq
			var got []byte
			p := handover.New(handover.Options{Plaintext: func(_, _ netip.AddrPort, b []byte) { got = append(got, b...) }})
			if err := p.Put(f); err != nil {
				t.Fatal(err)
			}
			for i, frame := range frames {
				p.Feed(frame.Data, 0)
				if _, _, ok := p.Position(f.Source, f.Destination); ok != (i == 0) {
					t.Errorf("%#x, packet %d: may be given back: %v", suite, i, ok)
				}
			}
			if want := map[bool]string{true: "before after", false: "before "}[known]; string(got) != want {
				t.Errorf("%#x, secret known %v: %q", suite, known, got)
			}
		}
	}
}
